"""Generated requests: they make every class of mistakes, and a finding stands under the requirement that is broken."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
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


"""Requests that a run at its default settings may send."""


def path_parameter(request: Request) -> bytes:
    """The last segment of the path, in which `%41` and the like are decoded once."""
    return unquote_to_bytes(request.path.rsplit("/", 1)[-1])


NO_JSON = object()
"""In the place of the value of a body that is no JSON."""


def value_of_body(request: Request) -> Any:
    """The value of the body as JSON, such as a dictionary; NO_JSON if the body is no JSON."""
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError):
        return NO_JSON


def lacks_member(name: str, request: Request) -> bool:
    """True if the body is a JSON object without this member."""
    body = value_of_body(request)
    return isinstance(body, dict) and name not in body


IsMade = Callable[[Request], bool]
"""A function that returns True if a request makes a mistake."""
MISTAKES_IN_PATH_AND_HEADERS: Mapping[str, IsMade] = {
    "a percent-encoded path": lambda request: "%" in request.path,
    "a broken percent-encoding": lambda request: "%zz" in request.path,
    "not ASCII": lambda request: not path_parameter(request).isascii(),
    "a quote": lambda request: b"'" in path_parameter(request),
    "a query": lambda request: bool(request.query),
    "an empty header": lambda request: request.headers.get("authorization") == "",
}
MISTAKES_IN_BODY: Mapping[str, IsMade] = {
    "malformed JSON": lambda request: bool(request.body) and value_of_body(request) is NO_JSON,
    "an array": lambda request: isinstance(value_of_body(request), list),
    "deep nesting": lambda request: request.body.count(b"[") > 900 or request.body.count(b"{") > 900,
    "a large body": lambda request: len(request.body) > 100 * 1024,
}
MISTAKES: Mapping[str, Mapping[str, IsMade]] = {
    "executePix": MISTAKES_IN_PATH_AND_HEADERS,
    "registerPixKey": {**MISTAKES_IN_PATH_AND_HEADERS, **MISTAKES_IN_BODY},
    "deletePixKey": MISTAKES_IN_BODY,
    "listEntries": MISTAKES_IN_PATH_AND_HEADERS,
    "createPix": MISTAKES_IN_BODY,
    "transferP2p": {**MISTAKES_IN_BODY, "no payer": partial(lacks_member, "from")},
}
"""By operation, classes of mistakes of a client, each with a function that recognizes a request with the mistake.

They were written without looking at the code that generates requests, so that they are independent of it.
"""


class Watchful(Service):
    """The sandbox, which counts the requests to each operation, and notes which mistakes they have.

    `mistakes` has pairs of an operation and the name of a mistake in MISTAKES.
    """

    def __init__(self) -> None:
        """No request was counted yet."""
        super().__init__()
        self.number_of_requests: Counter[str] = Counter()
        self.mistakes: set[tuple[str, str]] = set()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """The answer of the sandbox. The request and its mistakes are noted.

        `operation` is None if the path cannot be read, so the operation is looked up by method and path here. It is
        empty for an undocumented path.
        """
        operation_of_path = ""
        for method, name, _ in self.routes_of(request.path):
            if method == request.method:
                operation_of_path = name
                break
        self.number_of_requests[operation_of_path] += 1
        for mistake, is_made_in in MISTAKES.get(operation_of_path, {}).items():
            if is_made_in(request):
                self.mistakes.add((operation_of_path, mistake))
        return response


@pytest.fixture(scope="module")
def service_after_default_run():
    """The sandbox after a whole run at the default settings, with generated requests. No requirement failed in it."""
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
    """A run sends each operation at least 0.6 of the requests in its plan (--plan), and at most 20 more.

    It sends fewer if the service knows a key already, or if some forms of a wrong token cannot be made. It sends more
    because the plan does not know the RANDOM keys that the service makes.
    """
    plan = plan_of(load("sandbox"), generated=True)
    requests_by_operation = service_after_default_run.number_of_requests
    unlike_the_plan = {}
    for operation in operations():
        planned = len(plan.requests_to(operation))
        sent = requests_by_operation[operation]
        is_about_as_planned = 0.6 * planned <= sent <= planned + BEYOND_THE_PLAN
        if not is_about_as_planned:
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
        """True if the suite made up the account in the path, so that the service does not know it."""
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
        """`failure` is the answer to createPix without an account."""
        super().__init__()
        self.failure = failure

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """The answer of the sandbox, or the failure if the body of createPix has no account."""
        if operation == "createPix" and lacks_member("account", request):
            return self.failure
        return response


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


class CutsCents(Service):
    """The sandbox, which cuts an amount to whole cents: for a floating-point number, 0.29 has 28 of them."""

    def order(self, operation, body):
        """The transfer that a body asks for, with too few cents."""
        order = super().order(operation, body)
        return {**order, "cents": max(1, int(float(body["value"]) * 100))}


def test_an_amount_that_a_sequence_prepared_comes_back():
    """A drawn sequence prepares a transfer of 0.29 and executes it. A service that moves 0.28 gets a warning."""
    trial = try_in_memory(CutsCents(), ids=ids_selected_by("executePix"), generated=True, examples=None)

    assert trial.warned == {"executePix.value.matches"}


class FallsOverAQuote(Service):
    """The sandbox, which answers every request for a balance with 404, or with 500 if its account has a quote."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """The answer of the sandbox. For a balance it is 500 if the account has a quote, and else 404."""
        if operation != "getBalance":
            return response
        has_quote = b"'" in path_parameter(request)
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
