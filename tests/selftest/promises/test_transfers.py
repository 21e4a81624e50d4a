"""Transfers that a run may prepare, and what its invalid and generated requests name: nobody.

The service accepts whatever it is sent, and keeps a log of its own.
"""

import json
import re
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from urllib.parse import unquote

import pytest

from environments.door.prepared import may_have_prepared
from environments.sandbox import Request, Response
from reports.result.run_verdict import result_of_run
from spec.exchange import Response as Answer
from spec.interface import MARK, PREPARING, operations
from spec.json_text import leaves_of
from spec.rules import ROBUSTNESS
from tests.selftest.exchanges import EXECUTION, execution
from tests.selftest.services.one_run import (
    ADDRESS,
    BOTH,
    CODE,
    EVERYTHING,
    GENERATED,
    PREPARE,
    Bank,
    Run,
    bank_profile,
    notes_of,
    whole_run,
)
from tests.selftest.services.waiting import HANGS_S, Thread
from tests.traffic.invalid import invalid_requests

OWN = ("ac-0001", "ac-0002")
LIMIT = 20
MOST = {"createPix": 1.25, "transferExternal": 2.5, "transferInternal": 3, "transferP2p": 0.01}
"""The amounts of the profile's bodies."""


class AcceptsEverything(Bank):
    """The sandbox, which prepares whatever transfer it is asked for, and registers any key."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[tuple[str, object]] = []
        self.named: list[tuple[str, object]] = []

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if response.status == 401:
            return response
        if operation in PREPARING:
            self.prepared.append((operation, _read(request.body)))
            result = b'{"code": 0, "data": {"transactionId": "SBX-0123456789ABCDEF"}}'
            return Response(200, result, response.headers) if response.status >= 300 else response
        if operation in ("registerPixKey", "deletePixKey"):
            self.named.append((request.path, _read(request.body)))
        if operation == "registerPixKey":
            result = b'{"code": 0, "data": {"Success": "true", "Message": "", "Key": null, "DocumentNumber": 1}}'
            return Response(200, result, response.headers)
        return response

    @property
    def invalid(self):
        """The transfers that name no account of the profile."""
        return [(name, value) for name, value in self.prepared if not any(own in str(value) for own in OWN)]


def _read(body):
    try:
        return json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def leaves(value):
    return leaves_of(value) if not isinstance(value, str) else ()


def is_number(item):
    return isinstance(item, int | float) and not isinstance(item, bool)


def run_against(service, folder, allow, **changes):
    """The model of a run off a sandbox."""
    limits = {"requests": 5000, "transfers": LIMIT} | changes.pop("limits", {})
    return whole_run(service, bank_profile(folder, allow=allow, limits=limits, transactions=None), among=BOTH)


# -- how many -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The service, and a run off a sandbox that has more bodies than places."""
    service = AcceptsEverything()
    return service, run_against(service, tmp_path_factory.mktemp("run"), ["read", "create-pix", "transfer", "fuzz"])


def test_no_more_transfers_succeed_than_the_limit(ended):
    """All bodies count: valid, invalid and generated ones. Operations take turns."""
    service, _ = ended
    counts = Counter(name for name, _ in service.prepared)

    assert len(service.prepared) == LIMIT
    assert counts == dict.fromkeys(PREPARING, LIMIT // len(PREPARING))


def test_invalid_bodies_share_what_valid_ones_leave(ended):
    """Each operation gets one valid body, and as many invalid ones as each other."""
    service, _ = ended

    assert Counter(name for name, _ in service.invalid) == dict.fromkeys(PREPARING, LIMIT // len(PREPARING) - 1)


@pytest.mark.parametrize("limit", [2, 4])
def test_one_operation_leaves_a_place_for_the_first_valid_body_to_each_other(limit, service, tmp_path):
    """Also if transactions.prepare asks for more transfers than there is room for."""
    a_run = Run(service, tmp_path, transfers=limit)
    a_run.door.budget.share_transfers(PREPARING, PREPARING)
    for _ in range(6):
        a_run.client.send("createPix", json=PREPARE["json"], valid=True)
    for operation in PREPARING:
        a_run.client.send(operation, json={}, valid=True)

    assert Counter(seen.path for seen in service.seen) == {operations()[name].path: 1 for name in PREPARING}


def test_classes_that_were_not_sent_are_named(ended):
    """By each robustness requirement of the operation: it was tested by the others alone."""
    _, model = ended
    told = {one.id: str(result.message) for one, result in result_of_run(model).results}
    said = told["transferP2p.serverError"]

    assert said.startswith(f"not sent, as limits.transfers ({LIMIT}) is spent: body: ")
    assert "; Content-Type: missing; query: " in said
    assert said.endswith("; generated requests")
    assert {told[f"transferP2p.{what}"] for what in ROBUSTNESS} == {said}


def test_on_a_sandbox_there_is_room_for_every_class(tmp_path):
    """Without limits.transfers in the profile, whatever the service accepts."""
    service = AcceptsEverything()
    limits = {"requests": 2000, "timeout": 60}
    allow = ["read", "create-pix", "transfer", "fuzz"]
    profile = bank_profile(tmp_path, allow=allow, sandbox=ADDRESS, transactions=None, limits=limits)
    model = whole_run(service, profile, among=BOTH)
    told = {one.id: str(result.message) for one, result in result_of_run(model).results}
    sent = Counter(name for name, _ in service.prepared)

    assert not [note for note in notes_of(model) if "limits." in note]
    assert {told[f"{name}.{what}"] for name in PREPARING for what in ROBUSTNESS} == {""}
    assert all(sent[name] > 60 for name in PREPARING)


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
@pytest.mark.parametrize("sandbox", [True, False])
def test_on_a_sandbox_a_body_that_is_no_transfer_needs_no_place(body, is_sent, sandbox, service, tmp_path):
    """Whatever limits.transfers says: each class of such bodies is sent there. Elsewhere every body needs a place."""
    a_run = Run(service, tmp_path, is_sandbox=sandbox, transfers=0)
    exchange = a_run.client.send("transferP2p", body=body)

    assert bool(exchange.number) is (is_sent and sandbox)


def test_a_limit_that_is_reached_changes_no_verdict(ended):
    """What was tested stands: every operation was exercised. It is said."""
    _, model = ended
    missing = [one.id for one, result in result_of_run(model).results if result.verdict == "not-exercised"]

    assert [note for note in notes_of(model) if note.startswith(f"limits.transfers ({LIMIT}) is spent")]
    assert not [id for id in missing if id.split(".")[0] in PREPARING and id.endswith((".exists", ".serverError"))]


def test_what_stays_is_listed(ended):
    """Each transfer by its exchange, those with an account of the profile apart from the synthetic ones."""
    service, model = ended
    lines = {line.partition("executed: ")[2]: int(line.split()[0]) for line in map(str, model.not_executed)}

    assert lines == {
        "its code was not sent": LIMIT - len(service.invalid),
        "its account is synthetic": len(service.invalid),
    }


def test_a_refusal_gives_a_place_back():
    """A status that leaves the outcome open keeps it."""
    keep = {
        status
        for status in range(200, 600)
        if may_have_prepared(replace(execution(), response=Answer(status, (), b"")))
    }

    assert not {400, 404, 409, 422, 429} & keep
    assert {200, 201, 302, 408, 499, 500, 503} <= keep
    for to_log_in in (Answer(302, (), b""), Answer(200, (), b"<!doctype html>")):
        assert not may_have_prepared(replace(execution(credential="no header"), response=to_log_in))


def test_a_request_waits_for_a_place_that_a_refusal_gives_back(service, tmp_path, monkeypatch):
    """It is neither sent nor left out while only requests on the wire have places."""
    a_run, another_waits = Run(service, tmp_path, transfers=1, parallel=2), threading.Event()
    wait_for = a_run.door.ending.wait_for
    monkeypatch.setattr(a_run.door.ending, "wait_for", lambda is_so: (is_so() or another_waits.set(), wait_for(is_so)))
    monkeypatch.setattr(a_run.door.wire, "attempt", lambda _: another_waits.wait(HANGS_S) and Answer(400, (), b""))
    threads = [Thread(partial(a_run.client.send, "createPix", json={})) for _ in "12"]

    assert [thread.ended().response.status for thread in threads] == [400, 400]


class RefusesWhatItPrepares(AcceptsEverything):
    """Prepares each transfer, and answers with a refusal that has the code, or the whole result."""

    def __init__(self, status, data) -> None:
        super().__init__()
        self.refuses_with = status, json.dumps({"code": 1, "data": data}).encode()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        answer = super().finish(request, operation, response)
        status, body = self.refuses_with
        return Response(status, body, answer.headers) if operation in PREPARING and answer.status < 300 else answer


@pytest.mark.parametrize(
    ("status", "data", "prepared"),
    [
        (409, EXECUTION, True),
        (400, {"transactionId": "SBX-0123456789ABCDEF"}, True),
        (200, {"transactionId": 4711}, True),
        (400, {"transactionId": None, "message": "no"}, False),
        (400, {"id": "7f", "date": 1767225600000, "type": "BUSINESS", "status": "REJECTED", "error": "E4"}, False),
    ],
)
def test_a_refusal_with_a_transfer_counts_against_the_limit(status, data, prepared, tmp_path):
    """limits.transfers holds by the log of the service, and the report lists what was perhaps prepared. A refusal that
    has neither a code nor a result gives its place back, as every one."""
    service = RefusesWhatItPrepares(status, data)
    limits = {"requests": 400, "transfers": 6}
    profile = bank_profile(tmp_path, allow=["read", "create-pix", "transfer", "fuzz", "execute"], limits=limits,
                           transactions={"prepare": PREPARE})  # fmt: skip
    model = whole_run(service, profile, "createPix or transferP2p or executePix.id.type")
    perhaps = [str(left) for left in model.not_executed if "perhaps prepared" in str(left)]

    assert (len(service.prepared) <= 6) is prepared
    assert (len(perhaps) == 1) is prepared
    assert len(service.prepared) > 0


# -- what is named, off a sandbox -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A service that is no sandbox, after a run with room for all that it sends."""
    service = AcceptsEverything()
    allow = sorted(EVERYTHING - {"execute"})
    run_against(service, tmp_path_factory.mktemp("run"), allow, limits={"transfers": 2000})
    return service


def test_invalid_bodies_name_nobody(bank):
    """A text in the place of an account or a key is synthetic or empty, and no number but 0 or -1 stands there."""
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
    """Each number under value is above 0, and at most that of the body for the same operation."""
    sent = [
        (name, item)
        for name, value in bank.prepared
        for path, item in leaves(value)
        if "value" in path and is_number(item)
    ]

    assert {name for name, _ in sent} == set(PREPARING)
    assert [(name, number) for name, number in sent if not 0 < number <= MOST[name]] == []


def test_no_key_at_the_own_account_is_hard_to_delete(bank):
    """Neither in the path nor in the body of what a service took that takes anything for a key."""
    own = [value for path, value in bank.named if any(name in path or name in str(value) for name in OWN)]
    asked = [value for value in own if isinstance(value, dict) and value.get("pixKeyType") not in ("RANDOM", "EVP")]
    keys = [value["pixKey"] for value in asked if isinstance(value.get("pixKey"), str)]
    raw = [value for value in own if isinstance(value, str)]

    assert len(keys) > 20
    assert [key for key in keys if not key.strip() or key.strip() == MARK or len(key) > 200] == []
    assert [key for key in (*keys, *raw) if re.search(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]", key)] == []


def test_no_number_is_sent_as_a_key(bank):
    """It might be the CPF or the phone number of somebody."""
    under = [item for _, value in bank.named for path, item in leaves(value) if "pixKey" in path]

    assert len(under) > 20
    assert [item for item in under if is_number(item)] == []


# -- what is named, on a sandbox too ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The service and the profile of a run of generated traffic alone, on a sandbox."""
    service, changes = Bank(), {"sandbox": ADDRESS, "limits": {"requests": 5000}}
    profile = bank_profile(tmp_path_factory.mktemp("run"), allow=sorted(EVERYTHING), **changes)
    whole_run(service, profile, "not executePix.repeated", GENERATED)
    return service, profile


def test_generated_requests_name_no_code(generated):
    """Every code carries the mark, in each part that a lenient reader splits it into; only documented methods are sent."""
    service, profile = generated
    sent = [unquote(unquote(seen.path)).partition("/v1/execute/pix/")[2] for seen in service.seen]
    parts = [part for code in sent if code for part in re.split(r"[/\\]", code)]

    assert parts
    assert [part for part in parts if not part.startswith(MARK)] == []
    assert not [seen for seen in service.seen if profile.transactions.codes[0].encode() in seen.body]
    assert {seen.method for seen in service.seen} <= {operation.method for operation in operations().values()}
    assert not [name for seen in service.seen for name in seen.headers if "override" in name or name == "x-method"]


def test_what_is_sent_without_the_token_is_harmless_with_it(generated):
    """An operation that writes may be open: what comes without the token names a key or an account that nobody has."""
    service, _ = generated
    writes = [seen.body for seen in service.seen if seen.method != "GET" and not service.is_granted(seen)]

    assert writes
    assert [body for body in writes if MARK.encode() not in body] == []


@pytest.mark.parametrize("operation", PREPARING)
def test_no_invalid_request_holds_an_identifier_of_the_operator(operation, tmp_path):
    """A service that strips what is no digit from a CPF or a phone number finds none of them, and one that ignores the
    Content-Type finds no amount in what is targeted."""
    profile = bank_profile(tmp_path, sandbox=ADDRESS)
    identifiers = (b"24681357928", b"98765432000198", b"5511955500777")
    bodies = [case.body for case in invalid_requests(operation, profile) if case.body]
    targeted = [_read(case.body) for case in invalid_requests(operation, profile, observed=True) if case.body]
    amounts = [value.get("value") for value in targeted if isinstance(value, dict)]

    assert not [body for body in bodies if any(one in re.sub(rb"\D", b"", body) for one in identifiers)]
    assert amounts
    assert not [amount for amount in amounts if is_number(amount) and amount >= 0]


# -- a code twice, on a sandbox ---------------------------------------------------------------------------------------


def test_a_code_is_executed_twice_only_where_the_run_prepared_it(tmp_path):
    """On a sandbox one is; whether money moves again is observed, and said first."""
    service = Bank()
    service.check_prepared = lambda transfer: None
    transactions = {"codes": [CODE], "prepare": PREPARE}
    profile = bank_profile(tmp_path, allow=sorted(EVERYTHING), sandbox=ADDRESS, transactions=transactions)
    model = whole_run(service, profile, "executePix", BOTH)
    times = Counter(service.executions)
    observed = str([one.facts for one in model.observations if one.id == "executePix.repeated"])

    assert times.pop(CODE) == 1
    assert sorted(times.values())[-1:] == [2]
    assert "MONEY MOVED TWICE" in observed
    assert "MONEY MOVED TWICE" in notes_of(model)[0]
