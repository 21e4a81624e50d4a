"""Transfers that a run may prepare, and what its invalid and generated requests name: nobody.

The service accepts whatever it is sent, and keeps a log of its own.
"""

import json
import re
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product
from urllib.parse import unquote

import pytest

from environments.door.prepared import may_have_prepared
from environments.sandbox import Request, Response
from reports.result.run_verdict import result_of_run
from spec.exchange import Response as Answer
from spec.interface import MARK, PREPARING, operations
from spec.json_text import leaves_of
from spec.rules import ROBUSTNESS
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.selftest.services.one_run import (
    ALL_PERMISSIONS,
    ALL_TESTS,
    CODE,
    GENERATED_TESTS,
    HOW_TO_PREPARE,
    UNUSED_ADDRESS,
    FakeBank,
    ManualRun,
    profile_off_sandbox,
    report_notes,
    run_suite_in_memory,
)
from tests.selftest.services.waiting import HANG_LIMIT_S, ThreadWithResult
from tests.traffic.invalid import invalid_requests

OWN_ACCOUNTS = ("ac-0001", "ac-0002")
LIMIT = 20
AMOUNT_OF_PROFILE = {"createPix": 1.25, "transferExternal": 2.5, "transferInternal": 3, "transferP2p": 0.01}
"""The amount in the profile's body for each operation."""


class AcceptsEverything(FakeBank):
    """The sandbox, which prepares every transfer and registers every key.

    `prepared` are the operations and bodies of transfers, `named` the paths and bodies of requests about keys.
    """

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[tuple[str, object]] = []
        self.named: list[tuple[str, object]] = []

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if response.status == 401:
            return response
        if operation in PREPARING:
            self.prepared.append((operation, _body_value(request.body)))
            result = b'{"code": 0, "data": {"transactionId": "SBX-0123456789ABCDEF"}}'
            return Response(200, result, response.headers) if response.status >= 300 else response
        if operation in ("registerPixKey", "deletePixKey"):
            self.named.append((request.path, _body_value(request.body)))
        if operation == "registerPixKey":
            result = b'{"code": 0, "data": {"Success": "true", "Message": "", "Key": null, "DocumentNumber": 1}}'
            return Response(200, result, response.headers)
        return response

    @property
    def invalid(self):
        """The prepared transfers whose body names no account of the profile."""
        return [(name, value) for name, value in self.prepared if not any(own in str(value) for own in OWN_ACCOUNTS)]


def _body_value(body):
    """The body as JSON; as text if it is no JSON."""
    try:
        return json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def leaves(value):
    """Pairs of path and value in a body. A text has none."""
    return leaves_of(value) if not isinstance(value, str) else ()


def is_number(item):
    return isinstance(item, int | float) and not isinstance(item, bool)


def run_off_sandbox(service, folder, allow, **changes):
    """The model of a run off a sandbox, with generated requests."""
    limits = {"requests": 5000, "transfers": LIMIT} | changes.pop("limits", {})
    return run_suite_in_memory(
        service, profile_off_sandbox(folder, allow=allow, limits=limits, transactions=None), among=ALL_TESTS
    )


# -- how many -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service_and_model(tmp_path_factory):
    """The service, and the model of a run off a sandbox that has more bodies than `limits.transfers`."""
    service = AcceptsEverything()
    return service, run_off_sandbox(service, tmp_path_factory.mktemp("run"), ["read", "create-pix", "transfer", "fuzz"])


def test_no_more_transfers_succeed_than_the_limit(service_and_model):
    """Valid, invalid and generated bodies count, and the operations take turns."""
    service, _ = service_and_model
    counts = Counter(name for name, _ in service.prepared)

    assert len(service.prepared) == LIMIT
    assert counts == dict.fromkeys(PREPARING, LIMIT // len(PREPARING))


def test_operations_share_limits_transfers_equally(service_and_model):
    """Each operation sends one valid body, and the same number of invalid ones."""
    service, _ = service_and_model

    assert Counter(name for name, _ in service.invalid) == dict.fromkeys(PREPARING, LIMIT // len(PREPARING) - 1)


@pytest.mark.parametrize("limit", [2, 4])
def test_each_operation_keeps_a_place_for_one_valid_body(limit, service, tmp_path):
    """`transactions.prepare` does not take the last places, even if it asks for more transfers than the limit."""
    manual_run = ManualRun(service, tmp_path, transfers=limit)
    manual_run.door.budget.share_transfers(PREPARING, PREPARING)
    for _ in range(6):
        manual_run.client.send("createPix", json=HOW_TO_PREPARE["json"], valid=True)
    for operation in PREPARING:
        manual_run.client.send(operation, json={}, valid=True)

    assert Counter(request.path for request in service.received) == {operations()[name].path: 1 for name in PREPARING}


def test_classes_that_were_not_sent_are_named(service_and_model):
    """Each robustness requirement of the operation names the classes of bodies that the limit left out."""
    _, model = service_and_model
    messages = {row.id: str(result.message) for row, result in result_of_run(model).results}
    message = messages["transferP2p.serverError"]

    assert message.startswith(f"not sent, as limits.transfers ({LIMIT}) is spent: body: ")
    assert "; Content-Type: missing; query: " in message
    assert message.endswith("; generated requests")
    assert {messages[f"transferP2p.{ending}"] for ending in ROBUSTNESS} == {message}


def test_on_a_sandbox_limits_transfers_leaves_room_for_every_class(tmp_path):
    """Without limits.transfers in the profile every class of bodies is sent, whatever the service accepts."""
    service = AcceptsEverything()
    limits = {"requests": 2000, "timeout": 60}
    allow = ["read", "create-pix", "transfer", "fuzz"]
    profile = profile_off_sandbox(tmp_path, allow=allow, sandbox=UNUSED_ADDRESS, transactions=None, limits=limits)
    model = run_suite_in_memory(service, profile, among=ALL_TESTS)
    messages = {row.id: str(result.message) for row, result in result_of_run(model).results}
    robustness_ids = [f"{operation}.{ending}" for operation, ending in product(PREPARING, ROBUSTNESS)]
    transfers_by_operation = Counter(name for name, _ in service.prepared)

    assert not [note for note in report_notes(model) if "limits." in note]
    assert {messages[id] for id in robustness_ids} == {""}
    assert all(transfers_by_operation[name] > 60 for name in PREPARING)


@pytest.mark.parametrize(
    ("body", "is_sent"),
    [
        (b"[]", True),
        (b'"text"', True),
        (b"{}", True),
        (b'{"value": null}', True),
        (b'{"value": {}}', True),
        (b'{"value": 1, "to": "pixconf-to"}', False),
    ],
)
@pytest.mark.parametrize("is_sandbox", [True, False])
def test_on_a_sandbox_a_body_that_is_no_transfer_needs_no_place(body, is_sent, is_sandbox, service, tmp_path):
    """Whatever limits.transfers says: each class of such bodies is sent there. Elsewhere every body needs a place."""
    run = ManualRun(service, tmp_path, is_sandbox=is_sandbox, transfers=0)
    exchange = run.client.send("transferP2p", body=body)

    assert bool(exchange.number) is (is_sent and is_sandbox)


def test_a_limit_that_is_reached_changes_no_verdict(service_and_model):
    """Every operation was exercised, and a note says that the limit is spent."""
    _, model = service_and_model
    not_exercised = [row.id for row, result in result_of_run(model).results if result.verdict == "not-exercised"]

    assert [note for note in report_notes(model) if note.startswith(f"limits.transfers ({LIMIT}) is spent")]
    assert not [
        id for id in not_exercised if id.split(".")[0] in PREPARING and id.endswith((".exists", ".serverError"))
    ]


def test_prepared_transfers_that_stay_are_listed(service_and_model):
    """Prepared transfers with an account of the profile are counted apart from those with a synthetic account."""
    service, model = service_and_model
    numbers_by_reason = {line.partition("executed: ")[2]: int(line.split()[0]) for line in map(str, model.not_executed)}

    assert numbers_by_reason == {
        "its code was not sent": LIMIT - len(service.invalid),
        "its account is synthetic": len(service.invalid),
    }


def test_a_refusal_gives_a_place_back():
    """After a status that leaves the outcome open the place stays taken."""
    statuses_that_keep_the_place = {
        status
        for status in range(200, 600)
        if may_have_prepared(replace(execution(), response=Answer(status, (), b"")))
    }

    assert not {400, 404, 409, 422, 429} & statuses_that_keep_the_place
    assert {200, 201, 302, 408, 499, 500, 503} <= statuses_that_keep_the_place
    for login_page in (Answer(302, (), b""), Answer(200, (), b"<!doctype html>")):
        assert not may_have_prepared(replace(execution(credential="no header"), response=login_page))


def test_a_request_waits_for_a_place_that_a_refusal_gives_back(service, tmp_path, monkeypatch):
    """While only requests on the wire have places, the next request waits.

    It is sent after a refusal gives its place back.
    """
    manual_run = ManualRun(service, tmp_path, transfers=1, parallel=2)
    second_waits = threading.Event()
    wait_for = manual_run.door.ending.wait_for
    monkeypatch.setattr(
        manual_run.door.ending, "wait_for", lambda is_so: (is_so() or second_waits.set(), wait_for(is_so))
    )
    monkeypatch.setattr(
        manual_run.door.wire, "attempt", lambda _: second_waits.wait(HANG_LIMIT_S) and Answer(400, (), b"")
    )
    threads = [ThreadWithResult(partial(manual_run.client.send, "createPix", json={})) for _ in range(2)]

    assert [thread.result().response.status for thread in threads] == [400, 400]


class RefusesWhatItPrepares(AcceptsEverything):
    """Prepares each transfer, and answers with this status and data, in an envelope with code 1."""

    def __init__(self, status, data) -> None:
        super().__init__()
        self.refuses_with = status, json.dumps({"code": 1, "data": data}).encode()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        answer = super().finish(request, operation, response)
        status, body = self.refuses_with
        return Response(status, body, answer.headers) if operation in PREPARING and answer.status < 300 else answer


@pytest.mark.parametrize(
    ("status", "data", "may_be_prepared"),
    [
        (409, EXECUTION_RESULT, True),
        (400, {"transactionId": "SBX-0123456789ABCDEF"}, True),
        (200, {"transactionId": 4711}, True),
        (400, {"transactionId": None, "message": "no"}, False),
        (400, {"id": "7f", "date": 1767225600000, "type": "BUSINESS", "status": "REJECTED", "error": "E4"}, False),
    ],
)
def test_a_refusal_with_a_transfer_counts_against_the_limit(status, data, may_be_prepared, tmp_path):
    """The answer has a code or a result, so the transfer may be prepared: it counts, and the report lists it.

    A refusal without either gives its place back.
    """
    service = RefusesWhatItPrepares(status, data)
    limits = {"requests": 400, "transfers": 6}
    profile = profile_off_sandbox(tmp_path, allow=["read", "create-pix", "transfer", "fuzz", "execute"], limits=limits,
                           transactions={"prepare": HOW_TO_PREPARE})  # fmt: skip
    model = run_suite_in_memory(service, profile, "createPix or transferP2p or executePix.id.type")
    perhaps = [line for line in map(str, model.not_executed) if "perhaps prepared" in line]

    assert (len(service.prepared) <= 6) is may_be_prepared
    assert (len(perhaps) == 1) is may_be_prepared
    assert len(service.prepared) > 0


# -- what is named, off a sandbox -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A service that is no sandbox, after a run with room for every transfer."""
    service = AcceptsEverything()
    allow = sorted(ALL_PERMISSIONS - {"execute"})
    run_off_sandbox(service, tmp_path_factory.mktemp("run"), allow, limits={"transfers": 2000})
    return service


def test_invalid_bodies_name_nobody(bank):
    """A text in the place of an account or a key is synthetic or empty. A number there is 0 or -1."""
    named = [
        (path[-1], item)
        for _, value in bank.invalid
        for path, item in leaves(value)
        if path and {"from", "to", "account", "pixKey"} & set(path)
    ]

    assert len(named) > 150
    assert [item for _, item in named if isinstance(item, str) and item and not item.startswith(MARK)] == []
    assert [item for name, item in named if is_number(item) and name != "account" and item not in (0, -1)] == []


def test_no_amount_off_a_sandbox_is_above_that_of_the_profile(bank):
    """Each number under `value` is above 0, and at most the value of the profile's body for the operation."""
    amounts = [
        (name, item)
        for name, value in bank.prepared
        for path, item in leaves(value)
        if "value" in path and is_number(item)
    ]

    assert {name for name, _ in amounts} == set(PREPARING)
    assert [(name, number) for name, number in amounts if not 0 < number <= AMOUNT_OF_PROFILE[name]] == []


def test_no_key_at_the_own_account_is_hard_to_delete(bank):
    """No registration or deletion at an account of the profile has a key that is empty, long, or has control
    characters.
    """
    bodies_for_own_account = [
        value for path, value in bank.named if any(name in path or name in str(value) for name in OWN_ACCOUNTS)
    ]
    bodies_with_a_key = [
        value
        for value in bodies_for_own_account
        if isinstance(value, dict) and value.get("pixKeyType") not in ("RANDOM", "EVP")
    ]
    keys = [value["pixKey"] for value in bodies_with_a_key if isinstance(value.get("pixKey"), str)]
    bodies_without_json = [value for value in bodies_for_own_account if isinstance(value, str)]

    assert len(keys) > 20
    assert [key for key in keys if not key.strip() or key.strip() == MARK or len(key) > 200] == []
    assert [key for key in (*keys, *bodies_without_json) if re.search(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]", key)] == []


def test_no_number_is_sent_as_a_key(bank):
    """A number might be the CPF or the phone number of somebody."""
    keys = [item for _, value in bank.named for path, item in leaves(value) if "pixKey" in path]

    assert len(keys) > 20
    assert [item for item in keys if is_number(item)] == []


# -- what is named, on a sandbox too ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service_and_profile(tmp_path_factory):
    """The service and the profile of a run of generated traffic alone, on a sandbox."""
    service, changes = FakeBank(), {"sandbox": UNUSED_ADDRESS, "limits": {"requests": 5000}}
    profile = profile_off_sandbox(tmp_path_factory.mktemp("run"), allow=sorted(ALL_PERMISSIONS), **changes)
    run_suite_in_memory(service, profile, "not executePix.repeated", GENERATED_TESTS)
    return service, profile


def test_generated_requests_name_no_code(service_and_profile):
    """Every code in a path begins with the mark, in each part that a lenient reader could take.

    Only documented methods are sent.
    """
    service, profile = service_and_profile
    codes = [unquote(unquote(request.path)).partition("/v1/execute/pix/")[2] for request in service.received]
    parts = [part for code in codes if code for part in re.split(r"[/\\]", code)]

    assert parts != []
    assert [part for part in parts if not part.startswith(MARK)] == []
    assert not [request for request in service.received if profile.transactions.codes[0].encode() in request.body]
    assert {request.method for request in service.received} <= {operation.method for operation in operations().values()}
    header_names = set().union(*(request.headers for request in service.received))
    assert [name for name in header_names if "override" in name or name == "x-method"] == []


def test_requests_without_the_token_name_only_synthetic_keys_and_accounts(service_and_profile):
    """An operation may need no token, so a request without it may take effect.

    This holds for each request that writes.
    """
    service, _ = service_and_profile
    writes = [
        request.body for request in service.received if request.method != "GET" and not service.is_granted(request)
    ]

    assert writes != []
    assert [body for body in writes if MARK.encode() not in body] == []


@pytest.mark.parametrize("operation", PREPARING)
def test_no_invalid_request_holds_an_identifier_of_the_operator(operation, tmp_path):
    """A service that strips other characters from a CPF or a phone number finds none of the profile's.

    A service that ignores the Content-Type finds no amount in a targeted request.
    """
    profile = profile_off_sandbox(tmp_path, sandbox=UNUSED_ADDRESS)
    identifiers = (b"24681357928", b"98765432000198", b"5511955500777")
    bodies = [case.body for case in invalid_requests(operation, profile) if case.body]
    targeted = [_body_value(case.body) for case in invalid_requests(operation, profile, observed=True) if case.body]
    amounts = [value.get("value") for value in targeted if isinstance(value, dict)]

    assert not [body for body in bodies if any(identifier in re.sub(rb"\D", b"", body) for identifier in identifiers)]
    assert amounts != []
    assert not [amount for amount in amounts if is_number(amount) and amount >= 0]


# -- a code twice, on a sandbox ---------------------------------------------------------------------------------------


def test_only_a_prepared_code_is_executed_twice(tmp_path):
    """A sandbox alone gets the second execution.

    If money moves again, that is observed, and is the first line of the report.
    """
    service = FakeBank()
    service.check_prepared = lambda transfer: None
    transactions = {"codes": [CODE], "prepare": HOW_TO_PREPARE}
    profile = profile_off_sandbox(
        tmp_path, allow=sorted(ALL_PERMISSIONS), sandbox=UNUSED_ADDRESS, transactions=transactions
    )
    model = run_suite_in_memory(service, profile, "executePix", ALL_TESTS)
    times = Counter(service.executions)
    observed = str([observation.facts for observation in model.observations if observation.id == "executePix.repeated"])

    assert times.pop(CODE) == 1
    assert sorted(times.values())[-1:] == [2]
    assert "MONEY MOVED TWICE" in observed
    assert "MONEY MOVED TWICE" in report_notes(model)[0]
