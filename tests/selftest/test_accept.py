"""What a run does with the record beside its profile: it compares, and with --accept it writes."""

import os
import signal
import socket
import stat
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import yaml

from environments.profiles.model import today
from environments.sandbox import Service
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import TOKEN, arguments, environment, run, started, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.test_record import BAD, TEXT
from tests.selftest.test_stopped_runs import HANGS_S

ACCOUNTS, BALANCE = "listAccounts.shape", "getBalance.shape"
SHAPES = ("-k", f"{ACCOUNTS} or {BALANCE}")
LINE = f"{ACCOUNTS}: 200 application/json → 201 application/json"


class Changed(Service):
    """Its list of accounts is answered with 201; a warning, and drift."""

    def finish(self, request, operation, response):
        response = super().finish(request, operation, response)
        return replace(response, status=201) if operation == "listAccounts" and response.status == 200 else response


class Refusing(Service):
    """It takes every token for a wrong one."""

    def __init__(self, token):
        super().__init__(token=f"another-{token}")


@pytest.fixture
def ended(tmp_path):
    """Runs the suite at one address: against the sandbox, or against another service."""
    with Raw() as raw:

        def run_against(*options, service=Service, **changes):
            raw.service = service(token=TOKEN["PIX_TOKEN"])
            return run(write_profile(tmp_path, raw.base_url, **changes), *options)

        yield run_against


@pytest.fixture
def record(tmp_path):
    """The path of the record."""
    return tmp_path / "profile.observed.yaml"


def observed(path):
    return yaml.safe_load(path.read_text())["observations"]


def run_case(result):
    """The results of the run's own test case in junit.xml: tags and what they say."""
    cases = ElementTree.parse(result.folder / "junit.xml").iter("testcase")
    (case,) = (case for case in cases if case.get("name") == "run")
    return {part.tag: part.text for part in case if part.tag != "properties"}


def test_a_run_writes_what_it_observed(ended, record):
    """Together the profile, for its owner alone; conformance.json has the same, and the terminal names the file."""
    result = ended(*SHAPES, "--accept")

    assert observed(record) == result.document["observed"]
    assert list(observed(record)) == [ACCOUNTS, BALANCE]
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert f"\naccepted: {record} (2 requirements)\n" in result.output
    assert (result.status, result.document["record"]["suite_version"]) == (0, "0.1.0")
    assert sorted(path.name for path in record.parent.iterdir()) == [
        "cache",
        "profile.observed.yaml",
        "profile.yaml",
        "report",
    ]


def test_drift_is_told_and_fails_nothing(ended, record):
    """On the terminal, in the headline, on the page, in conformance.json and in junit.xml."""
    ended(*SHAPES, "--accept")
    before = record.read_text()
    result = ended(*SHAPES, service=Changed)
    page = (result.folder / "report.html").read_text()

    assert (result.status, result.document["verdict"]) == (0, "partial"), result.output
    assert result.document["drift"] == [
        {"id": ACCOUNTS, "situation": "", "place": "", "was": "200 application/json", "is": "201 application/json"}
    ]
    assert f"; drift since the record of {today()}: 1 place" in result.document["headline"]
    assert f": 1 place\n     {LINE}\n" in result.output
    assert 'id="drift"' in page
    assert "201 application/json" in page
    assert LINE in run_case(result)["system-out"]
    assert record.read_text() == before


def test_the_same_service_does_not_drift(ended):
    """Nor does what a run did not exercise."""
    ended(*SHAPES, "--accept")
    same = ended(*SHAPES)
    drift = [ended(*options).document["drift"] for options in (SHAPES, ("-k", "getBalance or listEntries"))]
    drift.append(ended("-k", BALANCE, service=Changed).document["drift"])

    assert drift == [[], [], []]
    assert "drift" not in same.output
    assert 'id="drift"' not in (same.folder / "report.html").read_text()


def test_drift_fails_where_the_profile_says_so(ended):
    """The run is a failure in junit.xml; what breaks a requirement comes first."""
    ended(*SHAPES, "--accept")
    result = ended(*SHAPES, service=Changed, drift="fail")

    assert (result.status, result.document["verdict"], result.document["exit_status"]) == (1, "drifted", 1)
    assert result.document["headline"].startswith("DRIFTED, ")
    assert "tested; drift since the record of " in result.document["headline"]
    assert LINE in run_case(result)["failure"]

    result = ended("-k", "listAccounts", service=Changed, drift="fail", fail_on=["implied"])

    assert LINE in run_case(result)["system-out"]
    assert (result.status, result.document["verdict"]) == (1, "non-conformant")


def test_a_narrower_run_keeps_what_it_did_not_exercise(ended, record):
    """What it exercised is as it is now."""
    ended(*SHAPES, "--accept")
    balance = observed(record)[BALANCE]
    result = ended("-k", ACCOUNTS, "--accept", service=Changed)
    found = result.document["drift"]
    again = ended(*SHAPES, service=Changed, drift="fail")

    assert observed(record)[BALANCE] == balance
    assert observed(record)[ACCOUNTS][""][""] == ["201 application/json"]
    assert "(2 requirements)" in result.output
    assert (found, again.status, again.document["drift"]) == ([], 0, [])


def test_nothing_observed_is_not_accepted(ended, record):
    """One line says why, and the record stays."""
    record.write_text(TEXT)
    result = ended("-k", "listAccounts.status", "--accept")

    assert f"\nnot accepted: nothing was observed; {record} is not written\n" in result.output
    assert (result.status, record.read_text()) == (0, TEXT)


def test_a_target_that_is_gone_is_not_accepted(tmp_path, record):
    """Of what does not answer nothing is known."""
    with socket.socket() as taken:  # nobody else can listen there
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = run(write_profile(tmp_path, gone), *SHAPES, "--accept")

    assert "\nnot accepted: the target could not be reached; " in result.output
    assert (result.status, record.exists()) == (7, False)


@pytest.mark.parametrize("fail_on", [["documented"], ["documented", "implied"]])
def test_what_a_wrong_token_was_answered_is_not_accepted(fail_on, ended, record):
    """Every request looks refused then, whatever the verdict of the run."""
    result = ended(
        "-k", "executePix.refusal or getBalance or listAccounts", "--accept", service=Refusing, fail_on=fail_on
    )

    assert result.document["observed"]
    assert f"\nnot accepted: no operation granted anything; {record} is not written\n" in result.output
    assert not record.exists()


def test_a_run_that_is_stopped_is_not_accepted(tmp_path, record):
    """It may have seen a part of what varies."""
    with Raw() as raw:
        raw.greet = lambda connection: os.kill(process.pid, signal.SIGINT) or True
        with started(write_profile(tmp_path, raw.base_url), "--accept") as process:
            output = process.communicate(timeout=HANGS_S)[0]

    assert "\nnot accepted: the run was interrupted; " in output
    assert not record.exists()


def test_a_record_that_cannot_be_written_is_said(ended, record):
    """And the run is not green."""
    record.mkdir()
    (record / "kept").touch()
    result = ended(*SHAPES, "--accept")

    assert (result.status, result.output.count("ERROR: ")) == (4, 1)


@pytest.mark.parametrize("name", ["a list", "an alias", "a later format", "no place", "not UTF-8"])
@pytest.mark.parametrize("options", [(), ("--accept",)], ids=["compared", "accepted"])
def test_a_record_that_cannot_be_read_is_one_line_and_exit_4(name, options, tmp_path, record):
    """Before any request, also where it is to be written anew: what it holds would be lost."""
    content, why = BAD[name]
    record.write_bytes(content if isinstance(content, bytes) else content.encode())
    with Raw() as raw:
        ended = run_pytest(arguments(write_profile(tmp_path, raw.base_url), *SHAPES, *options), environment(**TOKEN))

    said = (ended.stdout + ended.stderr).strip().splitlines()
    assert (ended.returncode, raw.seen) == (4, [])
    assert [line for line in said if line.startswith("ERROR: ")] == said
    assert why in said[0]


def test_entries_of_no_requirement_are_dropped(ended, record):
    """Of a record that another version of the suite wrote; what the run did not exercise stays."""
    record.write_text(TEXT.replace("executePix.status.values", "executePix.gone"))
    ended(*SHAPES, "--accept")

    assert list(observed(record)) == [ACCOUNTS, BALANCE, "executePix.unknownCode"]


NOTHING_SENT = ("--plan", "--list", "--collect-only", "--setup-plan", "--fixtures", "--explain=listAccounts.shape")


def test_a_record_is_no_profile(tmp_path, record):
    """It is refused like any file that is none."""
    record.write_text(TEXT)
    ended = run_pytest(["--plan", f"--environment={record}"], environment(**TOKEN))

    assert ended.stderr.startswith(f"ERROR: {record}:")
    assert ended.returncode == 4
