"""junit.xml as CI systems read it: no run that is not green looks green, and every skipped entry says why."""

import json
import os
import signal

import pytest

from reports.formats.junit import junit
from reports.verdicts import RunVerdict
from tests.selftest.junit_files import case_of, results, suite_of, written
from tests.selftest.services import hostile
from tests.selftest.services.running import run, started, write_profile
from tests.selftest.services.waiting import PausesAt, await_event

NOTE = "the token was refused by every operation (401): the set-up is at fault, check auth"


def row(verdict="pass", message="", **more):
    """A requirement in conformance.json."""
    shared = {"operation": "executePix", "level": "documented", "text": "It is text.", "section": "Resources"}
    shared |= {"exchanges": [], "elapsed_s": 0.25}
    return {"id": "executePix.digit.type", "verdict": verdict, "message": message, **shared, **more}


def document(verdict, *rows, notes=()):
    """As much of a conformance.json as is read here."""
    return {
        "environment": {"name": "staging", "drift": "warn", "sandbox": False},
        "provenance": {"suite_version": "0.1.0", "suite_commit": None, "seed": 7, "service_version": []},
        "traffic": {"requests": 12, "executions": 1, "unknown_outcomes": 0},
        "left_behind": [],
        "drift": [],
        "record": {"accepted": "2026-11-20", "suite_version": "0.1.0"},
        "findings": [],
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
    assert (
        suite.find(".//error").text
        == f"the headline of {verdict}\nno sandbox: 1 transfer executed, 12 requests\n{NOTE}"
    )


@pytest.mark.parametrize("verdict", ["conformant", "partial"])
def test_a_run_in_which_nothing_failed_is_green(verdict):
    """The case of the run is there in every file, so that CI sees it turn red and green; its time is what no test took."""
    suite = suite_of(junit(document(verdict, row(), row("warn", "seen twice", id="executePix.id.type"))))

    assert results(suite) == {"run": None, "executePix.digit.type": None, "executePix.id.type": None}
    assert suite.get("time") == "1.25"
    assert [case.get("time") for case in suite.findall("testcase")] == ["0.75", "0.25", "0.25"]
    assert case_of(suite, "run")[0] == {
        "system-out": f"the headline of {verdict}\nno sandbox: 1 transfer executed, 12 requests"
    }


def test_tests_that_ran_at_the_same_time():
    """They took longer together than the run did."""
    suite = suite_of(junit(document("conformant", row(elapsed_s=1.5))))

    assert [each.get("time") for each in (suite, *suite.findall("testcase"))] == ["1.25", "0.0", "1.5"]


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
    assert suite.find(".//error").text.endswith(f"\n{note}")


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


FAILING = row("fail", "expected 7, got 8", expected="7", got="8", exchanges=[3, 4])
SHOWN = """\
expected 7, got 8
expected: 7
got: 8
statement: It is text. (Resources)
exchanges 3 and 4
reproduce:
curl x"""


def with_finding(verdict, entry):
    """A run whose finding has the requirement among others."""
    finding = {"requirements": ["executePix.digit.present", entry["id"]], "reproduce": "curl x"}
    return document(verdict, entry) | {"findings": [finding]}


def test_a_failure_says_all_in_its_text():
    """GitLab shows the text of the element and no attribute: the message, expected, got, and how to reproduce it."""
    suite = suite_of(junit(with_finding("non-conformant", FAILING)))
    texts, told = case_of(suite, "executePix.digit.type")

    assert texts == {"failure": SHOWN}
    assert told == {
        "statement": "It is text.", "section": "Resources", "level": "documented", "verdict": "fail", "seed": "7",
    }  # fmt: skip


def test_what_is_known_of_the_run_is_with_its_suite():
    """What is not known is left out."""
    suite = suite_of(junit(document("conformant", row())))
    told = {each.get("name"): each.get("value") for each in suite.find("properties")}

    assert told == {"verdict": "conformant", "suite_version": "0.1.0", "seed": "7"}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (row("warn", "seen twice"), "warn: seen twice\nstatement: It is text. (Resources)"),
        (row("observed", "404 or 409; again: refused"), "observed: 404 or 409; again: refused"),
        (row("pass", "seen once and not again"), "pass: seen once and not again"),
    ],
    ids=["warning", "observation", "remark"],
)
def test_warnings_and_observations_are_output(entry, said):
    """They fail nothing."""
    suite = suite_of(junit(document("conformant", entry)))

    assert case_of(suite, entry["id"])[0] == {"system-out": said}


DRIFT = [{"id": "executePix.refusal", "situation": "with a bad token", "place": "", "was": "401", "is": "403"}]
SAID = "executePix.refusal, with a bad token: 401 → 403"


@pytest.mark.parametrize(("word", "tag"), [("warn", "system-out"), ("fail", "failure")])
def test_drift_is_told_by_the_run(word, tag):
    """In what it says, or as its failure where the profile has it fail."""
    verdict = "drifted" if word == "fail" else "conformant"
    drifting = document(verdict, row()) | {
        "drift": DRIFT,
        "environment": {"name": "staging", "drift": word, "sandbox": False},
    }
    found = case_of(suite_of(junit(drifting)), "run")[0]

    assert SAID in found[tag]
    assert "drift since the record of 2026-11-20: 1 place" in found[tag]
    assert list(found) == [tag]


def test_what_xml_cannot_hold_is_escaped():
    """A selection, a reason of the profile or a message may have control characters."""
    entry = row("fail", "a\x00b\ud800\u200b", known_failure="c\x1b")
    suite = suite_of(junit(document("conformant", entry) | {"headline": "\x07 bell"}))

    assert results(suite)["executePix.digit.type"] == ("skipped", "known failure: c\\x1b: a\\x00b\\ud800\\u200b")


# -- files of whole runs ------------------------------------------------------------------------------------------


def headline(folder, verdict):
    """The headline in the conformance.json of a run, which ended with that verdict."""
    document = json.loads((folder / "report" / "conformance.json").read_text())
    assert document["verdict"] == verdict
    return document["headline"]


@pytest.mark.parametrize(
    ("options", "verdict"),
    [(("-k", "listAccounts"), "incomplete"), (("-k", "listAccounts and createPix"), "nothing-selected")],
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
