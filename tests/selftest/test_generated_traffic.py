"""Generated traffic: every class of mistakes is met, each finding stands under its row, a seed repeats a run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from environments.sandbox import Request, Response, Service
from reports.writing import RUNS
from spec.interface import MARK
from tests.selftest.generated_runs import PROPERTY, ROOT, STATEFUL, Logs, generate, generated, run_apart
from tests.selftest.mistakes import MISTAKES, FallsOver, Watchful
from tests.selftest.proof.mutants.robustness_faults import Falls

CLASSES = [(operation, mistake) for operation, mistakes in MISTAKES.items() for mistake in mistakes]
FALLEN = [
    ("executePix", "an unknown argument"),
    ("executePix", "an over-long argument"),
    ("executePix", "a percent-encoded argument"),
    ("executePix", "not UTF-8"),
    ("registerPixKey", "malformed JSON"),
    ("registerPixKey", "an empty body"),
    ("registerPixKey", "no pixKey"),
    ("registerPixKey", "a number for kind"),
    ("registerPixKey", "a null key"),
    ("registerPixKey", "half a surrogate pair"),
    ("registerPixKey", "an over-long key"),
    ("registerPixKey", "text/plain"),
    ("deletePixKey", "an array"),
    ("getBalance", "an unknown argument"),
    ("transferInternal", "text for value"),
    ("createPix", "an empty object"),
    ("listEntries", "a wrong token"),
    ("executePix", "an empty Authorization"),
    ("registerPixKey", "an over-long header"),
]


class WatchfulAndCounting(Watchful, Logs):
    """Both."""


RUNS_AT_DEFAULT = {"generated traffic": "property", "everything": ""}
MOST_REQUESTS = 950


@pytest.fixture(scope="module", params=RUNS_AT_DEFAULT)
def met(request):
    """The classes of mistakes that one run met, at its default settings; and how many requests it sent."""
    service = WatchfulAndCounting()
    generate(service, "-m", RUNS_AT_DEFAULT[request.param])
    return service.met, len(service.requests)


@pytest.mark.parametrize(("operation", "mistake"), CLASSES, ids=lambda part: part.replace(" ", "-"))
def test_class_of_mistakes_is_met(operation, mistake, met):
    """A run at its default settings sends requests of the class: its generated traffic alone, and with all other tests."""
    assert met[0].get((operation, mistake), 0) > 0


def test_a_run_stays_small(met):
    """No seed takes a run at its default settings beyond this many requests."""
    assert met[1] <= MOST_REQUESTS


@pytest.mark.parametrize(("operation", "mistake"), FALLEN, ids=lambda part: part.replace(" ", "-"))
def test_server_error_is_found(operation, mistake):
    """A service that answers one class of mistakes with 500 fails that row and no other."""
    trial = generate(FallsOver(operation, mistake), "-k", operation)

    assert trial.failing == {f"{operation}.serverError"}
    assert trial.exit_status == 1


class DropsUnknownAccounts(Falls):
    """The sandbox, which drops the connection when the balance of an unknown account is read."""

    OPERATIONS = ("getBalance",)

    def trips(self, request: Request) -> bool:
        return MARK in request.path


def test_many_dropped_mistakes_in_a_row_are_no_target_that_is_gone():
    """A service that drops mistakes alone is not robust, and what comes after is tested."""
    trial = generate(DropsUnknownAccounts(), "-k", "getBalance or listEntries")

    assert trial.exit_status == 1
    assert trial.failing == {"getBalance.connection"}
    assert trial.rows["listEntries.connection"].verdict == "pass"


def test_finding_is_told_once_with_its_smallest_example_and_the_seed():
    """The message names the part of the request, the deviation, the smallest exchange and the seed."""
    trial = generate(FallsOver("registerPixKey", "a null key"), "-k", "registerPixKey", "--seed=7")
    message = str(trial.rows["registerPixKey.serverError"].message)

    assert message.count("status 500") == 1, message
    assert re.match(
        "pixKey, (null|Incorrect type): expected no server error for an invalid request .POST., got status 500", message
    )
    assert "smallest: exchange" in message
    assert "--seed=7" in message


class GrantsAnything(Service):
    """The sandbox, which registers whatever it is sent."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        result = b'{"code": 0, "data": {"Success": "true", "Message": "", "Key": null, "DocumentNumber": "1"}}'
        return Response(200, result, response.headers) if operation == "registerPixKey" else response


def test_a_service_that_grants_anything_is_judged():
    """Bodies that nobody can read are granted, and the run goes on."""
    trial = generate(GrantsAnything(), "-k", "registerPixKey or getBalance.shape")

    assert trial.errors == ()
    assert "registerPixKey.pixKeyType.undocumented" in trial.failing


class Dies(DropsUnknownAccounts):
    """The sandbox, which answers a number of requests and drops all that come after."""

    OPERATION = "listAccounts"

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        self.left -= 1
        return self.FALL if self.left < 0 else response


@pytest.mark.parametrize("after", range(2, 22, 3))
def test_a_service_that_dies_among_sequences_is_unreachable(after):
    """Whichever step it dies at, the run ends with exit status 7 and no error of its own."""
    trial = generate(Dies(after), STATEFUL, "--seed=2")

    assert trial.errors == ()
    assert trial.exit_status == 7


WITH = b'{"code": 0, "data": {"Message": "", "Key": null, '


class SometimesWrong(Service):
    """The sandbox, which answers every fourth success of one operation with something else."""

    def __init__(self, operation: str, wrong: bytes) -> None:
        super().__init__()
        self.operation, self.wrong, self.count = operation, wrong, 0

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != self.operation or response.status != 200:
            return response
        self.count += 1
        return Response(200, self.wrong, response.headers) if self.count % 4 == 0 else response


@pytest.mark.parametrize(
    ("operation", "wrong", "row"),
    [
        ("registerPixKey", WITH + b'"Success": true, "DocumentNumber": 1}}', "Success.type"),
        ("registerPixKey", WITH + b'"Success": "true"}}', "DocumentNumber.present"),
        ("registerPixKey", b'{"code": "0", "data": {}}', "envelope.code.type"),
        ("deletePixKey", b'{"code": 0, "data": []}', "envelope.data.type"),
    ],
)  # fmt: skip
def test_one_wrong_success_in_four_is_found(operation, wrong, row):
    """What is wrong in one success of four fails its row."""
    trial = generate(SometimesWrong(operation, wrong), "-k", "registerPixKey")

    assert f"{operation}.{row}" in trial.failing


@pytest.mark.parametrize("operation", ["listPixKeys", "listAccounts", "getBalance", "listEntries"])
def test_one_wrong_read_in_four_is_mentioned(operation):
    """What is wrong in one read of four warns, as the document describes no read."""
    trial = generate(SometimesWrong(operation, b"[]"), "-k", operation)

    assert f"{operation}.envelope.shape" in trial.warned


def test_seed_repeats_the_requests():
    """The same seed sends the same requests, one after the other in the same order; another one sends others. What is
    lost beside others is sent once more."""
    first, again, other = (_sent_with(seed, "--parallel=1") for seed in ("5", "5", "6"))

    assert first == again
    assert first != other
    assert set(first) == set(_sent_with("5", "--parallel=4")) == set(_sent_with("5", "--parallel=16"))


def _sent_with(seed: str, *options: str) -> list[tuple[str, str, str, bytes]]:
    service = Logs()
    generate(service, "--seed", seed, PROPERTY, *options)
    return [(seen.method, seen.path, seen.query, seen.body) for seen in service.requests]


def test_unseeded_runs_differ():
    """Two runs without a seed do not try the very same inputs, in CI neither."""
    services = Logs(), Logs()
    for service in services:
        generate(service, generated("registerPixKey"))

    assert [seen.body for seen in services[0].requests] != [seen.body for seen in services[1].requests]


def test_finding_and_seed_stand_in_the_report(tmp_path: Path):
    """The row fails with the exchange as evidence, and the report says the seed."""
    service = FallsOver("getBalance", "a quote")
    only = ("-m", "property", "-k", "getBalance or listAccounts")
    report = run_apart(service, tmp_path, *only, "--seed=11")
    failing = [row for row in report["requirements"] if row["verdict"] == "fail"]

    assert [row["id"] for row in failing] == ["getBalance.serverError"]
    assert set(failing[0]["exchanges"]) <= {exchange["number"] for exchange in report["exchanges"]}
    assert report["generated"]["seed"] == 11


def test_operation_that_accepted_nothing_is_named(tmp_path: Path):
    """The report says which operation generated traffic never got into."""
    service = NeverKnows()
    report = run_apart(service, tmp_path, "-m", "property", "-k", "getBalance")

    assert any(note.startswith("getBalance: no generated request was ever accepted") for note in report["notes"])


class NeverKnows(Service):
    """The sandbox, which knows no account when it is asked for a balance."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        return Response(404, b"{}", response.headers) if operation == "getBalance" else response


@pytest.fixture
def profile_file(tmp_path: Path):
    """A copy of the sandbox's profile under a name of its own, whose files are removed after the test."""
    path = tmp_path / f"selftest-{tmp_path.name}.yaml"
    path.write_text((ROOT / "environments/sandbox.yaml").read_text("utf-8"), "utf-8")
    yield path
    shutil.rmtree(RUNS / path.stem, ignore_errors=True)


def test_what_the_budget_cut_is_said(profile_file, tmp_path: Path):
    """Where limits.requests is spent the report says which item was cut, and after how many requests."""
    text = profile_file.read_text("utf-8")
    profile_file.write_text(re.sub(r"requests: \d+,", "requests: 12,", text), "utf-8")
    report = run_apart(Logs(), tmp_path, "-m", "property", "-k", "executePix", environment=str(profile_file))

    assert report["generated"]["cut"][0].startswith("executePix was cut after ")
    (note,) = [note for note in report["notes"] if "limits" in note]

    assert note.startswith("limits.requests (12) is spent: not all requests to executePix")


def test_targeted_tests_do_not_load_schemathesis():
    """A run of the targeted tests alone pays for neither Schemathesis nor Hypothesis."""
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "pytest",
        "-m",
        "not property",
        "-q",
        "-k",
        "general.versionPrefix",
    ]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr

    assert "tests.conformance" in told or "import time" in told
    assert re.findall(r"\| +((?:schemathesis|hypothesis)\S*)", told) == []
