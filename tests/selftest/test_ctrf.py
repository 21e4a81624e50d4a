"""ctrf-report.json: a status for each requirement and one for the run, with counts that agree."""

import json

import pytest

from reports.formats.ctrf import ctrf
from tests.selftest.test_junit import FAILING, SHOWN, document, row, with_finding


def report_of(document):
    """The report, once its counts are those of its tests."""
    moments = {"started": "2026-11-21T21:26:38Z", "finished": "2026-11-21T21:26:39Z", "ci_job": None}
    document["provenance"] |= moments
    report = json.loads(ctrf(document))
    tests, summary = report["results"]["tests"], report["results"]["summary"]
    counted = {name: sum(test["status"] == name for test in tests) for name in summary if name in STATUSES}
    assert summary == {**counted, "tests": len(tests), "start": 1795296398000, "stop": 1795296399250}
    return report


STATUSES = ("passed", "failed", "pending", "skipped", "other")


def test_of(document, name):
    (found,) = (test for test in report_of(document)["results"]["tests"] if test["name"] == name)
    return found


test_of.__test__ = False


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (row(), "passed"),
        (row("warn", "seen twice"), "passed"),
        (row("observed", "404"), "passed"),
        (FAILING, "failed"),
        (row("fail", "8", known_failure="fixed in 2.4"), "skipped"),
        (row("not-exercised", "supply accounts"), "pending"),
        (row("out-of-scope", "needs execute in allow"), "skipped"),
        (row("untestable", "no exchange shows it"), "skipped"),
    ],
    ids=lambda value: value["verdict"] if isinstance(value, dict) else value,
)
def test_the_status_of_a_verdict(entry, status):
    """The verdict itself is there, too."""
    found = test_of(document("conformant", entry), entry["id"])

    assert (found["status"], found["rawStatus"]) == (status, entry["verdict"])
    assert (found["duration"], found["suite"]) == (250, ["pix-conformance", "executePix"])


def test_a_failure_says_why():
    """Message, expected and got, and how to reproduce it; level and statement stand beside it."""
    found = test_of(with_finding("non-conformant", FAILING), FAILING["id"])

    assert (found["message"], found["trace"]) == ("expected 7, got 8", SHOWN)
    assert found["tags"] == ["documented"]
    assert found["extra"]["statement"] == "It is text."


def test_a_known_failure_is_tagged():
    """Its reason is said."""
    found = test_of(document("conformant", row("fail", "8", known_failure="fixed in 2.4")), "executePix.digit.type")

    assert found["tags"] == ["documented", "known-failure"]
    assert found["message"] == "known failure: fixed in 2.4: 8"


@pytest.mark.parametrize(
    ("verdict", "status"), [("conformant", "passed"), ("unreachable", "failed"), ("incomplete", "failed")]
)
def test_the_run_is_a_test(verdict, status):
    """It fails where no requirement says why the run is not green."""
    found = test_of(document(verdict, row(), notes=["a note"]), "run")

    assert (found["status"], found["message"]) == (status, f"the headline of {verdict}")
    assert found["stdout"] == ["12 requests, 1 execution", "a note"]


@pytest.mark.parametrize(("word", "status"), [("warn", "passed"), ("fail", "failed")])
def test_drift_is_counted(word, status):
    """In numbers; what it was stands in the other files."""
    seen = {"id": "executePix.refusal", "situation": "", "place": "", "was": "401 of the service", "is": "403"}
    told = document("conformant", row()) | {"drift": [seen], "environment": {"name": "staging", "drift": word}}
    found = test_of(told, "run")

    assert (found["status"], found["stdout"][1]) == (status, "drift since the record of 20 Nov: 1 place")
    assert "of the service" not in json.dumps(report_of(told))


def test_observations_are_output():
    """One line each."""
    seen = {"observed": {"executePix.digit.type": {"": [{"status": 404}], "again": [{"text": "refused"}]}}}

    assert test_of(document("conformant", row("observed", "404", exchanges=[1])) | seen, "executePix.digit.type")[
        "stdout"
    ] == [
        "observed: 404",
        "observed: again: refused",
        "exchange 1",
    ]
