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
from tests.harness.selection import ids_selected_by
from tests.selftest.planned import BEYOND_THE_PLAN, plan_of
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.mutants.robustness_faults import DROPPED, Falls
from tests.selftest.proof.trial import try_service
from tests.selftest.proof.variants.conforming_making import DropsConnections, profile_path
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
    "a broken percent-encoding": lambda r: "%zz" in r.path,
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
    """The sandbox, which counts the requests to each operation, and notes which mistakes they have.

    `mistakes` has pairs of an operation and the name of a mistake in MISTAKES.
    """

    def __init__(self) -> None:
        super().__init__()
        self.number_of_requests: Counter[str] = Counter()
        self.mistakes: set[tuple[str, str]] = set()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """Note the request. Its operation is that of its path, even if the argument in the path could not be read."""
        routes = self.routes_of(request.path)
        operation_of_path = next((name for method, name, _ in routes if method == request.method), "")
        self.number_of_requests[operation_of_path] += 1
        for mistake, is_made_in in MISTAKES.get(operation_of_path, {}).items():
            if is_made_in(request):
                self.mistakes.add((operation_of_path, mistake))
        return response


@pytest.fixture(scope="module")
def service_after_default_run():
    """The sandbox after a whole run at the default settings, with generated requests. The run is green."""
    service = Watchful()
    trial = try_in_memory(service, generated=True, examples=None)
    assert (trial.exit_status, trial.errors) == (0, ())
    return service


def test_a_run_at_its_default_settings_meets_every_class_of_mistakes(service_after_default_run):
    """A run sends each operation at least one request of every class of mistakes, such as a body of malformed JSON."""
    classes = {(operation, mistake) for operation, mistakes in MISTAKES.items() for mistake in mistakes}

    assert classes - service_after_default_run.mistakes == set()


def test_a_run_at_its_default_settings_sends_at_most_1300_requests(service_after_default_run):
    """A run at its default settings sends between 600 and 1,300 requests, and reaches every operation."""
    requests_by_operation = service_after_default_run.number_of_requests
    operations_reached = {name for name in requests_by_operation if name}  # "" stands for undocumented paths

    assert 600 < requests_by_operation.total() <= MOST_REQUESTS
    assert operations_reached == set(operations())


def test_a_run_sends_each_operation_about_as_many_requests_as_its_plan_says(service_after_default_run):
    """A run sends each operation at least 0.6 of the requests in its plan (--plan), and at most 15 more.

    It sends fewer if the service knows a key already, or if some forms of a wrong token cannot be made. It sends more
    because the plan does not know the RANDOM keys that the service makes.
    """
    plan = plan_of(load("sandbox"), generated=True)
    requests_by_operation = service_after_default_run.number_of_requests
    unlike_the_plan = {}
    for operation in operations():
        planned, sent = len(plan.to(operation)), requests_by_operation[operation]
        if not 0.6 * planned <= sent <= planned + BEYOND_THE_PLAN:
            unlike_the_plan[operation] = (planned, sent)

    assert unlike_the_plan == {}


@pytest.mark.parametrize("environment", ["no_deletion", "no_deletion_body"])
def test_a_run_that_may_not_delete_keys_sends_sequences(environment):
    """The sequences of a run only read if the profile does not permit deletions, or has no body for them."""
    trial = try_in_memory(Service(), profile_path(environment), generated=True)

    assert (trial.failing, trial.errors) == (set(), ())


class DropsUnknownAccounts(Falls):
    """The sandbox, which drops the connection when the balance of an unknown account is read."""

    OPERATIONS, FALL = ("getBalance",), DROPPED

    def is_affected(self, request: Request) -> bool:
        return SYNTHETIC_PREFIX in request.path


def test_a_service_that_closes_the_connection_at_each_invalid_request_counts_as_reachable():
    """A service that closes the connection at each invalid request to one operation fails a requirement of robustness.

    The run goes on, because such a service has not ended: the next operation is tested, and passes.
    """
    trial = try_service(DropsUnknownAccounts(), "-m", "property", "-k", "getBalance or listEntries")

    assert (trial.exit_status, trial.failing) == (1, {"getBalance.connection"})
    assert trial.results["listEntries.connection"].verdict == "pass"


class FailsWithoutAnAccount(DropsConnections):
    """The sandbox, whose answer to createPix without the member `account` is `failure`."""

    def __init__(self, failure: Response) -> None:
        super().__init__()
        self.failure = failure

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        body = value(request)
        lacks_account = operation == "createPix" and isinstance(body, dict) and "account" not in body
        return self.failure if lacks_account else response


@pytest.mark.parametrize(
    ("requirement_id", "failure"),
    [
        ("createPix.serverError", Response(500, b"{}")),
        ("createPix.stackTrace", Response(400, b"Traceback (most recent call last)")),
        ("createPix.connection", DROPPED),
    ],
    ids=["serverError", "stackTrace", "connection"],
)
def test_each_robustness_requirement_alone_gets_generated_requests(requirement_id: str, failure: Response) -> None:
    """If only one robustness requirement is selected (-k), generated requests are sent for it, as in a whole run.

    Only a generated request shows the fault of this service: it fails if the body has no `account`.
    """
    trial = try_in_memory(FailsWithoutAnAccount(failure), ids={requirement_id}, generated=True)

    assert trial.failing == {requirement_id}


class EveryFourthDeletionHasAList(Service):
    """The sandbox, which answers every fourth successful deletion with a list."""

    number_of_deletions = 0

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """The answer, in which `data` is a list for every fourth successful deletion."""
        if operation != "deletePixKey" or response.status != 200:
            return response
        self.number_of_deletions += 1
        is_fourth = self.number_of_deletions % 4 == 0
        return replace(response, body=b'{"code": 0, "data": []}') if is_fourth else response


def test_one_wrong_success_in_four_is_found():
    """A run at its default settings finds a fault that only every fourth successful deletion has.

    The `data` of such an answer is a list, and not an object as documented.
    """
    ids = ids_selected_by("registerPixKey or deletePixKey")
    trial = try_in_memory(EveryFourthDeletionHasAList(), ids=ids, generated=True, examples=None)

    assert trial.failing == {"deletePixKey.envelope.data.type"}


class FallsOverAQuote(Service):
    """The sandbox, which answers every request for a balance with 404, or with 500 if its account has a quote."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != "getBalance":
            return response
        has_quote = b"'" in argument(request)
        return replace(response, status=500 if has_quote else 404, body=b"{}")


@pytest.fixture(scope="module")
def run_of_balances(tmp_path_factory):
    """A run of generated requests against a service that refuses each balance, and fails on a quote in the account."""
    folder = tmp_path_factory.mktemp("run")
    return run_with_files(folder, FallsOverAQuote, "-m", "property", "-k", "getBalance", "--seed=11")


def test_the_message_of_a_finding_names_its_smallest_example_and_the_seed(run_of_balances):
    """The message of a finding of generated requests says once what was expected, however many requests show the fault.

    It names the smallest request, and the seed that repeats the run. The report has the exchanges that it cites.
    """
    [failing] = [row for row in run_of_balances.document["requirements"] if row["verdict"] == "fail"]
    message = failing["message"]
    exchanges_in_the_report = {exchange["number"] for exchange in run_of_balances.document["exchanges"]}

    assert failing["id"] == "getBalance.serverError"
    assert message.count("expected no server error for an invalid request (GET), got status 500") == 1
    assert "smallest: exchange" in message
    assert "--seed=11" in message
    assert set(failing["exchanges"]) <= exchanges_in_the_report


def test_a_note_names_an_operation_that_accepted_no_generated_request(run_of_balances):
    """A note says that getBalance accepted no generated request, because then the requests may have tested little."""
    notes = run_of_balances.document["notes"]

    assert [note for note in notes if note.startswith("getBalance: no generated request was ever accepted")] != []
