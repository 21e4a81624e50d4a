"""junit.xml as CI systems read it: no run that is not green looks green, and every skipped entry says why."""

import json
import os
import signal

import pytest

from reports.junit import junit
from reports.verdicts import RunVerdict
from tests.selftest.junit_files import results, suite_of, written
from tests.selftest.services import hostile
from tests.selftest.services.running import run, started, write_profile
from tests.selftest.services.waiting import PausesAt, await_event

NOTE = "the token was refused by every operation (401): the set-up is at fault, check auth"


def row(verdict="pass", message="", **more):
    """A requirement in conformance.json."""
    shared = {"operation": "executePix", "level": "documented", "text": "It is text.", "section": "Resources"}
    return {"id": "executePix.digit.type", "verdict": verdict, "message": message, **shared, **more}


def document(verdict, *rows, notes=()):
    """As much of a conformance.json as is read here."""
    return {
        "environment": {"name": "staging"},
        "started": "2026-11-21T21:26:38Z",
        "duration_s": 1.25,
        "verdict": verdict,
        "exit_status": RunVerdict(verdict).exit_status,
        "headline": f"the headline of {verdict}",
        "notes": list(notes),
        "requirements": list(rows),
    }


@pytest.mark.parametrize("verdict", ["unreachable", "interrupted", "internal-error", "incomplete", "nothing-selected"])
def test_a_run_without_a_verdict_on_the_service_is_an_error(verdict):
    """The case of the run says what became of it, whatever the requirements are."""
    suite = suite_of(junit(document(verdict, row(), notes=[NOTE])))

    assert results(suite) == {"run": ("error", f"the headline of {verdict}"), "executePix.digit.type": None}
    assert suite.find(".//error").get("type") == verdict
    assert suite.find(".//error").text == NOTE


def test_a_conformant_run_is_green():
    """The case of the run is there in every file, so that CI sees it turn red and green; it has the time of the run."""
    suite = suite_of(junit(document("conformant", row(), row("warn", "seen twice", id="executePix.id.type"))))

    assert results(suite) == {"run": None, "executePix.digit.type": None, "executePix.id.type": None}
    assert (suite.get("time"), suite.find("testcase").get("time")) == ("1.25", "1.25")


@pytest.mark.parametrize("verdict", ["non-conformant", "not-robust"])
def test_a_failure_of_the_service_stands_with_its_requirement(verdict):
    """The run is no second failure of the same fault."""
    suite = suite_of(junit(document(verdict, row("fail", "digit is 7"))))

    assert results(suite) == {"run": None, "executePix.digit.type": ("failure", "digit is 7")}


def test_what_fails_no_requirement_fails_the_run():
    """An entry of known_failures that no longer holds: the run is not green, and no requirement is red."""
    note = "known_failures: executePix.digit.type: passes; remove the entry"
    suite = suite_of(junit(document("non-conformant", row(), notes=[note])))

    assert results(suite)["run"] == ("error", "the headline of non-conformant")
    assert suite.find(".//error").text == note


@pytest.mark.parametrize(
    ("verdict", "message", "said"),
    [
        ("not-exercised", "supply accounts", "not-exercised: supply accounts"),
        ("out-of-scope", "needs execute in allow", "out-of-scope: needs execute in allow"),
        ("untestable", "no exchange shows it", "untestable: no exchange shows it"),
    ],
)
def test_a_skipped_entry_has_a_reason(verdict, message, said):
    """The verdict, and why."""
    suite = suite_of(junit(document("incomplete", row(verdict, message))))

    assert results(suite)["executePix.digit.type"] == ("skipped", said)


def test_a_known_failure_is_skipped_with_its_reason():
    """It does not fail the run."""
    suite = suite_of(junit(document("conformant", row("fail", "digit is 7", known_failure="fixed in 2.4"))))

    assert results(suite)["executePix.digit.type"] == ("skipped", "known failure: fixed in 2.4: digit is 7")
    assert results(suite)["run"] is None


# -- files of whole runs ------------------------------------------------------------------------------------------


def headline(folder, verdict):
    """The headline in the conformance.json of a run, which ended with that verdict."""
    document = json.loads((folder / "report" / "conformance.json").read_text())
    assert document["verdict"] == verdict
    return document["headline"]


@pytest.mark.parametrize(
    ("options", "verdict"),
    [(("-k", "listAccounts"), "incomplete"), (("-k", "nothingOfThatName"), "nothing-selected")],
)
def test_the_file_of_a_run_that_tested_nothing(options, verdict, tmp_path):
    """A service that never answers what was asked, and a selection of nothing."""
    with hostile.RedirectsInALoop() as service:
        run(write_profile(tmp_path, service.base_url), *options)

    assert written(tmp_path / "report")["run"] == ("error", headline(tmp_path, verdict))


def test_the_file_of_an_interrupted_run(tmp_path):
    """The run was stopped in its middle."""
    with PausesAt(20) as service, started(write_profile(tmp_path, service.base_url)) as process:
        await_event(service.reached, process)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate()

    assert written(tmp_path / "report")["run"] == ("error", headline(tmp_path, "interrupted"))
