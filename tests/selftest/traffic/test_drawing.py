"""What Schemathesis draws: bodies with the documented members, the same of a seed everywhere, and nothing that may harm."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from environments.profiles.loading import load
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import read_json
from tests.traffic.case import JSON, Case, documented_members, safe_cases
from tests.traffic.invalid import invalid_requests

SANDBOX = load("sandbox")
BANK = replace(SANDBOX, base_url="https://bank.example", sandbox=None)
"""The same profile, for a service that is no sandbox."""
SEEDS = (4,)
EXAMPLES = 40


@cache
def drawing(profile_name: str = "sandbox") -> Any:
    from tests.traffic.drawing import Drawing  # it loads Schemathesis, which most self-tests do without

    return Drawing(SANDBOX if profile_name == "sandbox" else BANK)


@cache
def drawn(operation: str, profile_name: str = "sandbox") -> list[Case]:
    """What a seed draws, without the coverage phase."""
    source = drawing(profile_name)
    coverage = set(source.coverage(operation))
    cases = [case for seed in SEEDS for case in source.cases(operation, seed, EXAMPLES)]
    return [case for case in cases if case not in coverage]


def objects(cases: list[Case]) -> list[Mapping[str, Any]]:
    """The bodies that are objects with members or without."""
    bodies = [json.loads(case.body) for case in cases if case.body]
    return [body for body in bodies if isinstance(body, dict)]


WITH_BODIES = ["registerPixKey", "deletePixKey", *PREPARING_OPERATIONS]


def share_that_holds_a_member(operation: str, bodies: list[Mapping[str, Any]]) -> float:
    """Share of the bodies that have a documented member."""
    members = set(documented_members(operation, SANDBOX))
    holding = [body for body in bodies if members & body.keys()]
    return len(holding) / len(bodies)


@pytest.mark.slow  # to draw for the sandbox, which few other tests need
@pytest.mark.parametrize("profile_name", ["bank", "sandbox"])
@pytest.mark.parametrize("operation", WITH_BODIES)
def test_drawn_bodies_hold_documented_members(operation, profile_name):
    """At least nine of ten objects do, whether the data is to be valid or not."""
    bodies = objects(drawn(operation, profile_name))

    assert len(bodies) > 25
    assert share_that_holds_a_member(operation, bodies) >= 0.9


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_most_bodies_that_are_not_drawn_hold_documented_members(operation):
    """At least six of ten objects of the coverage phase and of the invalid requests do, too."""
    cases = [*drawing().coverage(operation), *invalid_requests(operation, SANDBOX)]
    values = [read_json(case.body).value for case in cases if case.body and case.content_type == JSON]
    bodies = [value for value in values if isinstance(value, dict)]

    assert share_that_holds_a_member(operation, bodies) >= 0.6


def test_a_third_of_the_registrations_hold_all_members():
    """The others lack one, or are to be refused."""
    cases = drawn("registerPixKey")
    complete = [body for body in objects(cases) if body.keys() == {"pixKey", "account", "pixKeyType"}]

    assert len(complete) >= len(cases) / 3


def test_members_have_any_json_type():
    """Each member whose type is not shown has each of them, with the coverage phase."""
    cases = [*drawing().coverage("transferInternal"), *drawn("transferInternal")]
    types = {(name, type(value)) for body in objects(cases) for name, value in body.items()}
    members = ("from", "to", "value", "date", "description")

    assert {(name, kind) for name in members for kind in (str, bool, int, type(None), list, dict)} <= types


@pytest.mark.parametrize("operation", [name for name, operation in operations().items() if operation.path_parameter])
def test_as_many_are_drawn_as_there_are_examples(operation):
    """Equal ones count once."""
    coverage = drawing().coverage(operation)

    assert len(set(drawing().cases(operation, 1, 20))) == len(coverage) + 20


@contextmanager
def loaded(source: Path) -> Iterator[None]:
    """A module that is loaded from a file."""
    spec = spec_from_file_location(source.stem, source)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[source.stem] = module
    try:
        yield
    finally:
        del sys.modules[source.stem]


def test_a_seed_repeats_the_requests(tmp_path):
    """In the same order, whatever constants the loaded modules have; another one draws others."""
    source = tmp_path / "constants_of_a_module.py"
    source.write_text("WORDS = " + repr([f"word {number}" for number in range(50)]))
    first = drawing().cases("transferP2p", 5, 40)
    with loaded(source):
        same_seed, other_seed = (drawing().cases("transferP2p", seed, 40) for seed in (5, 6))

    assert first == same_seed
    assert first != other_seed


def texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item)


@pytest.mark.parametrize("operation", operations())
def test_hooks_leave_nothing_for_the_last_look(operation):
    """Outside a sandbox each text is synthetic, each amount permitted, and what is drawn may be sent: but for keys that are
    hard to delete, which name another account, `safe_cases` changes nothing."""
    own = set(BANK.accounts)
    cases = [*drawing("bank").coverage(operation), *drawn(operation, "bank")]
    named = [text for case in cases for text in (case.path_parameter or "", *texts(json.loads(case.body or b"null")))]
    strange = {text for text in named if text and SYNTHETIC_PREFIX not in text} - own

    assert strange <= {"PHONE", "EMAIL", "CNPJ", "CPF"}
    assert not own & set(named) or operation == "registerPixKey"
    assert len(list(safe_cases(cases, BANK))) == len(cases)
    if operation in PREPARING_OPERATIONS:
        assert list(safe_cases(cases, BANK)) == cases


@pytest.mark.parametrize("value", [3.01, 0, -1, True, 10**40])
def test_no_amount_is_sent_that_no_hook_filtered(value):
    """The last look does not trust the hooks."""
    cases = [
        Case("transferInternal", body=json.dumps({"from": SYNTHETIC_PREFIX, "value": amount}).encode())
        for amount in (value, 3)
    ]

    assert list(safe_cases(cases, BANK)) == cases[1:]


def is_of_class(value: Any) -> dict[str, bool]:
    """The classes of invalid bodies, and whether a body is of each."""
    members = list(value.values()) if isinstance(value, dict) else []
    return {
        "an array": isinstance(value, list),
        "a text": isinstance(value, str),
        "null": value is None,
        "a number": isinstance(value, int | float),
        "an empty object": value == {},
        "a member null": None in members,
        "a member that is an object": any(isinstance(member, dict) for member in members),
        "a member that is an array": any(isinstance(member, list) for member in members),
        "a boolean as a member": any(isinstance(member, bool) for member in members),
    }


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_each_class_of_invalid_body_goes_to_each_operation(operation):
    """With every seed: what is not in the coverage phase is an invalid request of its own."""
    cases = [*drawing().coverage(operation), *invalid_requests(operation, SANDBOX)]
    bodies = [read_json(case.body) for case in cases if case.body]
    classes = [is_of_class(body.value) for body in bodies if not body.error]

    assert [name for name in classes[0] if not any(found[name] for found in classes)] == []
