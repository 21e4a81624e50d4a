"""What Schemathesis draws: bodies with the documented members, the same of a seed everywhere, and nothing that may harm."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import is_number, read_json
from tests.harness.options import DEFAULT_EXAMPLES
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.case import (
    JSON,
    TYPES_EXCEPT_RANDOM,
    Case,
    harmless_cases,
    members_with_account_of_profile,
    usual_body,
)
from tests.traffic.invalid import invalid_requests

SEED = 4
EXAMPLES = 40
"""Seed and number of examples with which most tests of this file draw. The seed has no meaning."""


@cache
def request_drawer(profile_name: str = "sandbox") -> Any:
    """What draws the requests of a run whose target is a sandbox (a test system) or a bank."""
    from tests.traffic.drawing.cases import Drawing  # it loads Schemathesis, which most self-tests do without

    return Drawing(SANDBOX if profile_name == "sandbox" else BANK)


@cache
def examples_of(operation: str, profile_name: str = "sandbox") -> list[Case]:
    """The 40 examples of an operation: its requests with one seed, without the requests of every run.

    Most examples are drawn. The requests of every run (`cases_of_every_run`) are no examples. Some of them come from
    the coverage phase of Schemathesis.
    """
    source = request_drawer(profile_name)
    of_every_run = set(source.cases_of_every_run(operation))
    cases = source.cases(operation, SEED, EXAMPLES)
    return [case for case in cases if case not in of_every_run]


def object_bodies(cases: list[Case]) -> list[Mapping[str, Any]]:
    """The bodies of these requests that are objects of JSON. Other bodies, such as an array, are left out."""
    bodies = [json.loads(case.body) for case in cases if case.body]
    return [body for body in bodies if isinstance(body, dict)]


WITH_BODIES = ["registerPixKey", "deletePixKey", *PREPARING_OPERATIONS]


def part_with_a_documented_member(operation: str, bodies: list[Mapping[str, Any]]) -> float:
    """Which part of the bodies have a documented member: 0.5 is one half."""
    members = set(usual_body(operation, SANDBOX))
    bodies_with_a_member = [body for body in bodies if members & body.keys()]
    return len(bodies_with_a_member) / len(bodies)


@pytest.mark.slow  # to draw for the sandbox, which few other tests need
@pytest.mark.parametrize("profile_name", ["bank", "sandbox"])
@pytest.mark.parametrize("operation", WITH_BODIES)
def test_drawn_bodies_hold_documented_members(operation, profile_name):
    """At least nine of ten objects that Schemathesis draws as the body of a request have a documented member.

    So most requests get beyond a check that looks for members. Some bodies are to be valid, and others not.
    """
    bodies = object_bodies(examples_of(operation, profile_name))

    assert len(bodies) > 25
    assert part_with_a_documented_member(operation, bodies) >= 0.9


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_most_bodies_that_are_not_drawn_hold_documented_members(operation):
    """At least six of ten bodies that are objects, and are not drawn at random, have a documented member.

    Some of these bodies come from the coverage phase of Schemathesis, which tries each boundary of a schema. Others are
    in the invalid requests of the suite itself.

    Of drawn bodies nine of ten have a documented member. But some of the bodies here are empty, or have only odd
    members, on purpose.
    """
    cases = [*request_drawer().cases_of_every_run(operation), *invalid_requests(operation, SANDBOX)]
    values = [read_json(case.body).value for case in cases if case.body and case.content_type == JSON]
    bodies = [value for value in values if isinstance(value, dict)]

    assert part_with_a_documented_member(operation, bodies) >= 0.6


@pytest.mark.parametrize("operation", ["registerPixKey", *PREPARING_OPERATIONS])
def test_a_third_of_the_drawn_bodies_name_the_account_of_the_profile(operation):
    """On a sandbox (a test system) at least a third of the drawn bodies name the account of the profile (the settings
    of the run).

    A service may look the account up before it reads anything else.
    """
    bodies = object_bodies(examples_of(operation))
    [name] = members_with_account_of_profile(operation, SANDBOX)
    bodies_with_account = [body for body in bodies if body.get(name) == SANDBOX.accounts[0]]

    assert len(bodies_with_account) >= len(bodies) / 3


def test_a_third_of_the_registrations_hold_all_members():
    """At least a third of the drawn registrations have exactly the three documented members.

    The others lack one, or are to be refused for another reason.
    """
    cases = examples_of("registerPixKey")
    documented_members = {"pixKey", "account", "pixKeyType"}
    bodies_with_all_members = [body for body in object_bodies(cases) if body.keys() == documented_members]

    assert len(bodies_with_all_members) >= len(cases) / 3


@pytest.mark.parametrize("member", ["from", "to", "value", "date", "description"])
def test_members_have_any_json_type(member):
    """In each run, a transfer is sent with a text, a boolean, an integer, null, an array and an object as this member.

    The interface document does not show the types of these members, so a service must answer each of them without a
    server error. Services treat all transfers alike, so it is enough if two operations together get all values:
    transferExternal those of four members, and transferInternal those of the description, which transferExternal lacks.

    These requests are the same in each run (`cases_of_every_run`). Others are drawn at random.
    """
    cases = []
    for operation in ("transferExternal", "transferInternal"):
        cases += request_drawer().cases_of_every_run(operation)
    types_of_its_values = {type(body[member]) for body in object_bodies(cases) if member in body}

    assert types_of_its_values >= {str, bool, int, type(None), list, dict}


@pytest.mark.parametrize("operation", [name for name in operations() if name != "listAccounts"])
def test_as_many_are_drawn_as_there_are_examples(operation):
    """With `examples=20` there are 20 different requests beside the requests of every run (`cases_of_every_run`).

    Some requests of every run come from the coverage phase of Schemathesis, which tries each boundary of a schema.
    listAccounts is left out, because it has neither a path parameter nor a body, so there is nothing to draw.
    """
    of_every_run = request_drawer().cases_of_every_run(operation)
    different_cases = set(request_drawer().cases(operation, seed=1, examples=20))

    assert len(different_cases) == len(of_every_run) + 20


@contextmanager
def module_loaded_from(source: Path) -> Iterator[None]:
    """Inside the `with` block the module in this file is loaded."""
    spec = spec_from_file_location(source.stem, source)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[source.stem] = module
    try:
        yield
    finally:
        del sys.modules[source.stem]


def test_a_seed_repeats_the_requests(tmp_path):
    """The same seed draws the same requests in the same order, and another seed draws others.

    That is so whatever constants the loaded Python modules have, although Hypothesis likes to draw such constants.
    """
    source = tmp_path / "constants_of_a_module.py"
    source.write_text("WORDS = " + repr([f"word {number}" for number in range(50)]))
    with_seed_5 = request_drawer().cases("transferP2p", 5, 40)
    with module_loaded_from(source):
        with_seed_5_again = request_drawer().cases("transferP2p", 5, 40)
        with_seed_6 = request_drawer().cases("transferP2p", 6, 40)

    assert with_seed_5_again == with_seed_5
    assert with_seed_6 != with_seed_5


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a JSON value at any depth. Names of members are left out."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts_in(item)


@pytest.mark.parametrize("operation", operations())
def test_the_last_check_leaves_out_no_request(operation):
    """Off a sandbox (a test system) each text in a request is made up by the suite (`pixconf-…`), or is a key type
    other than RANDOM.

    RANDOM is never sent here, because the service would make a real key for it. Only a registration may have an account
    of the profile (the settings of the run). The hooks of Schemathesis filter and change the requests of the coverage
    phase and the drawn ones when they are made. So `harmless_cases`, which checks each request once more, leaves none
    out.
    """
    accounts_of_profile = set(BANK.accounts)
    cases = [*request_drawer("bank").cases_of_every_run(operation), *examples_of(operation, "bank")]
    texts_in_requests = set()
    for case in cases:
        if case.path_parameter:
            texts_in_requests.add(case.path_parameter)
        if case.body:
            texts_in_requests |= set(texts_in(json.loads(case.body)))
    texts_not_made_up = {text for text in texts_in_requests if text and SYNTHETIC_PREFIX not in text}
    cases_that_may_be_sent = list(harmless_cases(cases, BANK))
    permitted_accounts = accounts_of_profile if operation == "registerPixKey" else set()

    assert texts_not_made_up <= {*TYPES_EXCEPT_RANDOM, *permitted_accounts}
    assert len(cases_that_may_be_sent) == len(cases)


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_the_last_check_changes_no_transfer(operation):
    """Off a sandbox (a test system) `harmless_cases`, the last check of each request, changes no request that prepares
    a transfer.

    It changes only requests about keys: if a service might register a key that cannot be deleted, such as an empty one,
    the request gets a made-up account.
    """
    cases = [*request_drawer("bank").cases_of_every_run(operation), *examples_of(operation, "bank")]

    assert list(harmless_cases(cases, BANK)) == cases


@pytest.mark.parametrize("amount", [3.01, 0, -1, True, 10**40])
def test_no_amount_is_sent_that_no_hook_filtered(amount):
    """Off a sandbox (a test system) the greatest amount is that of the profile (the settings of the run), here 3.
    `harmless_cases` leaves out a request whose amount is above 3, or not above 0.

    `harmless_cases` is the last check of a drawn request. It does not trust the functions that filter amounts before
    (the hooks of Schemathesis).
    """

    def transfer_of(value):
        """A request for a transfer of this amount."""
        return Case("transferInternal", body=json.dumps({"from": SYNTHETIC_PREFIX, "value": value}).encode())

    permitted_transfer = transfer_of(3)
    transfers_that_may_be_sent = list(harmless_cases([transfer_of(amount), permitted_transfer], BANK))

    assert transfers_that_may_be_sent == [permitted_transfer]


ALL_CLASSES = {
    "an array",
    "a text",
    "null",
    "a number",
    "an empty object",
    "a member null",
    "a member that is an object",
    "a member that is an array",
    "a boolean as a member",
}
"""The classes of invalid bodies."""


def classes_of(value: Any) -> set[str]:
    """The classes of invalid bodies to which a body with this JSON value belongs, such as {"a member null"}.

    The caller leaves out bodies that cannot be read, because `read_json` gives them the value None, as if they were
    null.
    """
    members = list(value.values()) if isinstance(value, dict) else []

    def has_a_member_of(type_of_value: type) -> bool:
        """True if a member of the body has this type."""
        return any(isinstance(member, type_of_value) for member in members)

    belongs_to = {
        "an array": isinstance(value, list),
        "a text": isinstance(value, str),
        "null": value is None,
        "a number": is_number(value),
        "an empty object": value == {},
        "a member null": None in members,
        "a member that is an object": has_a_member_of(dict),
        "a member that is an array": has_a_member_of(list),
        "a boolean as a member": has_a_member_of(bool),
    }
    return {name for name in ALL_CLASSES if belongs_to[name]}


@pytest.mark.parametrize(
    ("body", "other_body"),
    [
        (b"", b"null"),
        (b'{"pixKey": "a", "pixKey": "b"}', b'{"pixKey": "b"}'),
        (b"\xef\xbb\xbf{}", b"{}"),
        (b"[NaN]", b"[null]"),
    ],
    ids=["empty and null", "a member twice and once", "with and without a byte order mark", "NaN and null"],
)
def test_bodies_are_different_requests_if_only_a_lenient_parser_reads_them_alike(body, other_body):
    """Of two equal requests one is sent. Two requests are different if a strict parser does not read the same value in
    their bodies. Then both are sent.

    A lenient parser takes an empty body for null, for example. `_comparable_request` gives what is compared.
    """
    from tests.traffic.drawing.cases import _comparable_request

    request = _comparable_request(Case("createPix", body=body))
    other_request = _comparable_request(Case("createPix", body=other_body))

    assert request != other_request


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_each_class_of_invalid_body_goes_to_each_operation(operation):
    """Each operation gets an invalid body of each class, such as an array or a member that is null, whatever the seed
    is.

    So only requests count here that are not drawn: two seeds have them in common.
    """
    cases_of_seed_2 = set(request_drawer().cases(operation, 2, DEFAULT_EXAMPLES))
    cases_of_both_seeds = [
        case for case in request_drawer().cases(operation, 1, DEFAULT_EXAMPLES) if case in cases_of_seed_2
    ]
    cases = [*cases_of_both_seeds, *invalid_requests(operation, SANDBOX)]
    bodies = [read_json(case.body) for case in cases if case.body]
    classes_tried = set()
    for body in bodies:
        if body.readable:  # an unreadable body has no value
            classes_tried |= classes_of(body.value)

    assert classes_tried == ALL_CLASSES
