"""Generated traffic: every class of mistakes is met, each finding stands under its requirement, a seed repeats a run."""

from collections import Counter
from dataclasses import replace

import pytest

from environments.profiles.loading import load
from environments.sandbox import Request, Response, Service
from spec.interface import MARK, operations
from tests.harness.selection import ids_of
from tests.selftest.generated_runs import STATEFUL, generate
from tests.selftest.mistakes import FAILURE, MISTAKES, FallsOver, Watchful, named_operation
from tests.selftest.planned import plan_of
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.mutants.robustness_faults import Falls
from tests.selftest.recorded_runs import record
from tests.traffic.drawing import draw_cases

MOST_REQUESTS = 950


class Counting(Watchful):
    """It also counts what was sent to which operation."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: Counter[str] = Counter()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        self.sent[named_operation(self, request)] += 1
        return super().finish(request, operation, response)


def test_a_run_at_its_default_settings_meets_every_class_of_mistakes():
    """No seed takes it beyond so many requests. It reaches every operation, as often as its plan says but for a few: the
    service may know a key, and from some tokens no form can be made."""
    service = Counting()
    trial = try_in_memory(service, generated=True, examples=None)
    plan = plan_of(load("sandbox"), generated=True)
    shares = {name: (count, len(plan.to(name))) for name, count in service.sent.items() if name}

    assert (trial.exit_status, trial.errors) == (0, ())
    assert {(one, name) for one, names in MISTAKES.items() for name in names} - service.met.keys() == set()
    assert 600 < service.sent.total() <= MOST_REQUESTS
    assert shares.keys() == operations().keys()
    assert {name: share for name, share in shares.items() if not 0.7 * share[1] <= share[0] <= share[1] + 9} == {}


@pytest.mark.parametrize(
    ("operation", "mistake"),
    [
        ("executePix", "a percent-encoded argument"),
        ("registerPixKey", "half a surrogate pair"),
        ("deletePixKey", "an array"),
        ("listEntries", "a wrong token"),
    ],
)
def test_server_error_is_found(operation, mistake):
    """A service that answers one class of mistakes with 500 fails that requirement and no other."""
    trial = try_in_memory(FallsOver(operation, mistake), ids=ids_of(operation), generated=True, examples=None)

    assert (trial.exit_status, trial.failing) == (1, {f"{operation}.serverError"})


class DropsUnknownAccounts(Falls):
    """The sandbox, which drops the connection when the balance of an unknown account is read."""

    OPERATIONS = ("getBalance",)

    def trips(self, request: Request) -> bool:
        return MARK in request.path


def test_many_dropped_mistakes_in_a_row_are_no_target_that_is_gone():
    """A service that drops mistakes alone is not robust, and what comes after is tested."""
    trial = generate(DropsUnknownAccounts(), "-k", "getBalance or listEntries")

    assert (trial.exit_status, trial.failing) == (1, {"getBalance.connection"})
    assert trial.rows["listEntries.connection"].verdict == "pass"


class Dies(DropsUnknownAccounts):
    """The sandbox, which answers a number of requests and drops all that come after."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        self.left -= 1
        return self.FALL if self.left < 0 else response


@pytest.mark.parametrize("after", [2, 11])
def test_a_service_that_dies_among_sequences_is_unreachable(after):
    """Whichever step it dies at, the run ends with exit status 7 and no error of its own."""
    trial = generate(Dies(after), STATEFUL, "--seed=2")

    assert (trial.exit_status, trial.errors) == (7, ())


class SometimesWrong(Service):
    """The sandbox, which answers every fourth success of one operation with something else."""

    def __init__(self, operation: str, wrong: bytes) -> None:
        super().__init__()
        self.operation, self.wrong, self.count = operation, wrong, 0

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != self.operation or response.status != 200:
            return response
        self.count += 1
        return replace(response, body=self.wrong) if self.count % 4 == 0 else response


@pytest.mark.parametrize(
    ("operation", "wrong", "requirement"),
    [
        ("deletePixKey", b'{"code": 0, "data": []}', "envelope.data.type"),
        ("getBalance", b"[]", "envelope.shape"),
    ],
)
def test_one_wrong_success_in_four_is_found(operation, wrong, requirement):
    """At the default settings. It fails, or warns as the document describes no read."""
    ids = ids_of(f"registerPixKey or {operation}")
    trial = try_in_memory(SometimesWrong(operation, wrong), ids=ids, generated=True, examples=None)

    assert f"{operation}.{requirement}" in trial.failing | trial.warned


def test_a_seed_repeats_the_requests():
    """In the same order; another one draws others."""
    first, again, other = (draw_cases("registerPixKey", load("sandbox"), seed, 20) for seed in ("5", "5", "6"))

    assert first == again
    assert first != other


class FallsOverAQuote(Watchful):
    """The sandbox, which knows no account when it is asked for a balance, and fails where the account has a quote."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != "getBalance":
            return response
        return FAILURE if MISTAKES[operation]["a quote"](request) else Response(404, b"{}", response.headers)


def test_a_finding_is_told_once_with_its_smallest_example_and_the_seed(tmp_path):
    """The exchange is evidence, and the report says which operation never accepted a generated request."""
    run = record(tmp_path, falls_over_a_quote, "-m", "property", "-k", "getBalance", "--seed=11")
    failing = [row for row in run.document["requirements"] if row["verdict"] == "fail"]
    numbers = {exchange["number"] for exchange in run.document["exchanges"]}

    assert [row["id"] for row in failing] == ["getBalance.serverError"]
    assert set(failing[0]["exchanges"]) <= numbers
    assert failing[0]["message"].count("expected no server error for an invalid request (GET), got status 500") == 1
    assert "smallest: exchange" in failing[0]["message"]
    assert "--seed=11" in failing[0]["message"]
    assert any(note.startswith("getBalance: no generated request was ever accepted") for note in run.document["notes"])


def falls_over_a_quote(token):
    """The service, with this token."""
    service = FallsOverAQuote()
    service.token = token
    return service


def test_what_the_budget_cut_is_said(tmp_path):
    """Where limits.requests is spent the report says which item was cut, and after how many requests."""
    run = record(tmp_path, Service, "-m", "property", "-k", "executePix", limits={"requests": 12})
    (note,) = [note for note in run.document["notes"] if "limits" in note]

    assert run.document["generated"]["cut"][0].startswith("executePix was cut after ")
    assert note.startswith("limits.requests (12) is spent: not all requests to executePix")
