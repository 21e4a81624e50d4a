"""junit.xml as CI systems read it: no run that is not green looks green, and every skipped entry says why."""

import json
import os
import signal
import socket
from xml.etree import ElementTree

import pytest

from reports.junit import junit
from reports.verdicts import RunVerdict
from spec.requirements import ledger
from tests.selftest.services import hostile
from tests.selftest.services.running import run, started, write_profile
from tests.selftest.services.waiting import PausesAt, await_event

MAY_HOLD = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, {"testcase"}),
    "testcase": ({"name", "classname", "time"}, {"skipped", "error", "failure", "system-out"}),
    **dict.fromkeys(("skipped", "error", "failure"), ({"message", "type"}, set())),
    "system-out": (set(), set()),
}
"""Attributes and children by element: what junit-10.xsd of Jenkins allows, as far as it is used here."""
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


def suite_of(text):
    """The one testsuite, once its elements, attributes and counts are those that CI systems expect."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        attributes, children = MAY_HOLD[element.tag]
        assert set(element.attrib) <= attributes, element.tag
        assert {child.tag for child in element} <= children, element.tag
    (suite,) = root
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    assert {name: suite.get(name) for name in counted} == {
        name: str(len(list(suite.iter(tag)))) for name, tag in counted.items()
    }
    return suite


def results(suite):
    """The result of each case by name: its element and message; None for one that passed."""
    found = {case.get("name"): [child for child in case if child.tag != "system-out"] for case in suite}
    assert len(found) == len(suite)
    return {name: (of[0].tag, of[0].get("message")) if of else None for name, of in found.items()}


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


def written(folder):
    """The results in the file of a run, of which each skipped one has a reason."""
    found = results(suite_of((folder / "report" / "junit.xml").read_text()))
    assert not [name for name, result in found.items() if result and (result[1] or ": ").endswith(": ")]
    return found


def headline(folder, verdict):
    """The headline in the conformance.json of a run, which ended with that verdict."""
    document = json.loads((folder / "report" / "conformance.json").read_text())
    assert document["verdict"] == verdict
    return document["headline"]


def test_the_file_of_a_green_run(tmp_path):
    """One case for each requirement after that of the run, and none is red."""
    run(write_profile(tmp_path, "embedded", auth=None))
    found = written(tmp_path)

    assert list(found) == ["run", *ledger()]
    assert {result[0] for result in found.values() if result} <= {"skipped"}


def test_the_file_of_an_unreachable_run(tmp_path):
    """Nobody listens: the run is an error, and each requirement says why it was not tested."""
    with socket.socket() as held:  # bound and not listening: nobody else gets the port meanwhile
        held.bind(("127.0.0.1", 0))
        run(write_profile(tmp_path, f"http://127.0.0.1:{held.getsockname()[1]}"))
    found = written(tmp_path)

    assert found["run"] == ("error", headline(tmp_path, "unreachable"))
    assert found["executePix.digit.type"] == (
        "skipped",
        "not-exercised: the target cannot be reached: the connection is refused",
    )


@pytest.mark.parametrize(
    ("options", "verdict"),
    [(("-k", "listAccounts"), "incomplete"), (("-k", "nothingOfThatName"), "nothing-selected")],
)
def test_the_file_of_a_run_that_tested_nothing(options, verdict, tmp_path):
    """A service that never answers what was asked, and a selection of nothing."""
    with hostile.RedirectsInALoop() as service:
        run(write_profile(tmp_path, service.base_url), *options)

    assert written(tmp_path)["run"] == ("error", headline(tmp_path, verdict))


def test_the_file_of_an_interrupted_run(tmp_path):
    """The run was stopped in its middle."""
    with PausesAt(20) as service, started(write_profile(tmp_path, service.base_url)) as process:
        await_event(service.reached, process)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate()

    assert written(tmp_path)["run"] == ("error", headline(tmp_path, "interrupted"))
