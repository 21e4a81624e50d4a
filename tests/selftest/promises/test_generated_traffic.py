"""Generated traffic: classes of mistakes are met, each finding stands under its requirement, a seed repeats a run."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from environments.profiles.loading import load
from environments.sandbox import Request, Response, Service
from spec.interface import SYNTHETIC_PREFIX, operations
from tests.harness.selection import ids_of
from tests.selftest.planned import BEYOND_THE_PLAN, plan_of
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.mutants.robustness_faults import DROPPED, Falls
from tests.selftest.proof.trial import try_service
from tests.selftest.proof.variants.lawful_making import DropsConnections
from tests.selftest.shared_runs import run_with_files

MOST_REQUESTS = 1_300


def argument(request: Request) -> bytes:
    """The path argument, decoded once."""
    return unquote_to_bytes(request.path.rsplit("/", 1)[-1])


def value(request: Request) -> Any:
    """The body as JSON; NotImplemented where it is none."""
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError):
        return NotImplemented


Trips = Callable[[Request], bool]
ARGUMENT: Mapping[str, Trips] = {
    "a percent-encoded argument": lambda r: "%" in r.path,
    "not ASCII": lambda r: not argument(r).isascii(),
    "a quote": lambda r: b"'" in argument(r),
    "a query": lambda r: bool(r.query),
    "an empty header": lambda r: r.headers.get("authorization") == "",
}
BODY: Mapping[str, Trips] = {
    "malformed JSON": lambda r: bool(r.body) and value(r) is NotImplemented,
    "an array": lambda r: isinstance(value(r), list),
    "deep nesting": lambda r: r.body.count(b"[") > 900 or r.body.count(b"{") > 900,
    "a large body": lambda r: len(r.body) > 100 * 1024,
}
MISTAKES: Mapping[str, Mapping[str, Trips]] = {
    "executePix": ARGUMENT,
    "registerPixKey": {**ARGUMENT, **BODY},
    "deletePixKey": BODY,
    "listEntries": ARGUMENT,
    "createPix": BODY,
    "transferP2p": {**BODY, "no payer": lambda r: isinstance(value(r), dict) and "from" not in value(r)},
}
"""By operation: a class of mistakes, and how a request of the class is told, written without looking at how cases are
generated. The mutants of the proof have one fault for each request that is written by hand."""


class Watchful(Service):
    """The sandbox, which counts what was sent to which operation, and notes which classes of mistakes it met."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: Counter[str] = Counter()
        self.met: set[tuple[str, str]] = set()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        routes = self.routes_of(request.path)  # whether or not the argument could be read
        named = next((name for method, name, _ in routes if method == request.method), "")
        self.sent[named] += 1
        self.met |= {(named, one) for one, trips in MISTAKES.get(named, {}).items() if trips(request)}
        return response


def test_a_run_at_its_default_settings_meets_every_class_of_mistakes():
    """No seed takes it beyond so many requests. It reaches every operation, as often as its plan says but for a few: the
    service may know a key, and from some tokens no form can be made."""
    service = Watchful()
    trial = try_in_memory(service, generated=True, examples=None)
    plan = plan_of(load("sandbox"), generated=True)
    shares = {name: (count, len(plan.to(name))) for name, count in service.sent.items() if name}

    assert (trial.exit_status, trial.errors) == (0, ())
    assert {(one, name) for one, names in MISTAKES.items() for name in names} - service.met == set()
    assert 600 < service.sent.total() <= MOST_REQUESTS
    assert shares.keys() == operations().keys()
    assert {
        name: share for name, share in shares.items() if not 0.6 * share[1] <= share[0] <= share[1] + BEYOND_THE_PLAN
    } == {}


class DropsUnknownAccounts(Falls):
    """The sandbox, which drops the connection when the balance of an unknown account is read."""

    OPERATIONS, FALL = ("getBalance",), DROPPED

    def trips(self, request: Request) -> bool:
        return SYNTHETIC_PREFIX in request.path


def test_many_dropped_mistakes_in_a_row_are_no_target_that_is_gone():
    """A service that drops mistakes alone is not robust, and what comes after is tested."""
    trial = try_service(DropsUnknownAccounts(), "-m", "property", "-k", "getBalance or listEntries")

    assert (trial.exit_status, trial.failing) == (1, {"getBalance.connection"})
    assert trial.rows["listEntries.connection"].verdict == "pass"


class FailsWithoutAnAccount(DropsConnections):
    """The sandbox, whose answer to an order without an account is `failure`."""

    def __init__(self, failure: Response) -> None:
        super().__init__()
        self.failure = failure

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        body = value(request)
        lacks_account = operation == "createPix" and isinstance(body, dict) and "account" not in body
        return self.failure if lacks_account else response


@pytest.mark.parametrize(
    ("end_of_id", "failure"),
    [
        ("serverError", Response(500, b"{}")),
        ("stackTrace", Response(400, b"Traceback (most recent call last)")),
        ("connection", DROPPED),
    ],
)
def test_each_robustness_requirement_alone_gets_generated_requests(end_of_id: str, failure: Response) -> None:
    """With -k and one id, the generated request that shows the fault is sent, as in a whole run."""
    requirement_id = f"createPix.{end_of_id}"
    trial = try_in_memory(FailsWithoutAnAccount(failure), ids={requirement_id}, generated=True)

    assert trial.failing == {requirement_id}


class SometimesWrong(Service):
    """The sandbox, which answers every fourth successful deletion with a list."""

    count = 0

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != "deletePixKey" or response.status != 200:
            return response
        self.count += 1
        return replace(response, body=b'{"code": 0, "data": []}') if self.count % 4 == 0 else response


def test_one_wrong_success_in_four_is_found():
    """At the default settings."""
    ids = ids_of("registerPixKey or deletePixKey")
    trial = try_in_memory(SometimesWrong(), ids=ids, generated=True, examples=None)

    assert trial.failing == {"deletePixKey.envelope.data.type"}


class FallsOverAQuote(Service):
    """The sandbox, which knows no account when it is asked for a balance, and fails where the account has a quote."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != "getBalance":
            return response
        return replace(response, status=500 if b"'" in argument(request) else 404, body=b"{}")


def test_a_finding_is_told_once_with_its_smallest_example_and_the_seed(tmp_path):
    """The exchange is evidence, and the report says which operation never accepted a generated request."""
    run = run_with_files(tmp_path, FallsOverAQuote, "-m", "property", "-k", "getBalance", "--seed=11")
    failing = [row for row in run.document["requirements"] if row["verdict"] == "fail"]
    numbers = {exchange["number"] for exchange in run.document["exchanges"]}

    assert [row["id"] for row in failing] == ["getBalance.serverError"]
    assert set(failing[0]["exchanges"]) <= numbers
    assert failing[0]["message"].count("expected no server error for an invalid request (GET), got status 500") == 1
    assert "smallest: exchange" in failing[0]["message"]
    assert "--seed=11" in failing[0]["message"]
    assert any(note.startswith("getBalance: no generated request was ever accepted") for note in run.document["notes"])
