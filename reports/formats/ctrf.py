"""ctrf-report.json, the Common Test Report Format (https://ctrf.io): a test a requirement, and one for the run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from reports.formats.conformance_json import Document
from reports.formats.entries import explanation, figures, observations_of, properties, provenance, reproduced_by
from reports.moments import read_moment
from reports.observations.drift_text import fails_by_drift
from reports.provenance import VERSION
from reports.verdicts import Entry, Verdict, fails, is_told_by_none

FORMAT = "0.0.0"
TOOL = "pix-conformance"
STATUSES = {
    Verdict.FAIL: "failed",
    Verdict.WARN: "passed",
    Verdict.PASS: "passed",
    Verdict.OBSERVED: "passed",
    Verdict.NOT_EXERCISED: "pending",
    Verdict.OUT_OF_SCOPE: "skipped",
    Verdict.UNTESTABLE: "skipped",
}
"""What a verdict is there. A known failure is skipped; `rawStatus` has the verdict itself."""


def ctrf(document: Document) -> str:
    """The text of ctrf-report.json for the content of a conformance.json."""
    tests = [_of_the_run(document), *_tests(document)]
    told = document["provenance"]
    report = {
        "reportFormat": "CTRF",
        "specVersion": FORMAT,
        "timestamp": told["finished"],
        "generatedBy": f"{TOOL} {VERSION}",
        "results": {
            "tool": {"name": TOOL, "version": VERSION},
            "summary": _summary(document, tests),
            "tests": tests,
            "environment": _environment(document),
        },
    }
    return json.dumps(report, indent=1) + "\n"


def _summary(document: Document, tests: list[Document]) -> Document:
    counted = Counter(test["status"] for test in tests)
    start = _milliseconds(document["provenance"]["started"])
    statuses = ("passed", "failed", "pending", "skipped", "other")
    return {
        "tests": len(tests),
        **{status: counted[status] for status in statuses},
        "start": start,
        "stop": start + round(document["duration_s"] * 1000),
    }


def _environment(document: Document) -> Document:
    told = document["provenance"]
    job = {"buildUrl": told["ci_job"]} if told["ci_job"] else {}
    return {"testEnvironment": document["environment"]["name"], **job, "extra": provenance(document)}


def _of_the_run(document: Document) -> Document:
    """The run: failed where its verdict is none on the service, where no requirement says why it is not green, and
    where drift fails it."""
    return {
        "name": "run",
        "status": "failed" if is_told_by_none(document) or fails_by_drift(document) else "passed",
        "duration": round(document["duration_s"] * 1000),
        "suite": [TOOL],
        "rawStatus": document["verdict"],
        "message": document["headline"],
        "stdout": list(figures(document)),
    }


def _tests(document: Document) -> Iterator[Document]:
    reproduce, observed = reproduced_by(document), observations_of(document)
    for entry in document["requirements"]:
        yield {
            "name": entry["id"],
            "status": _status(entry),
            "duration": round(entry["elapsed_s"] * 1000),
            "suite": [TOOL, entry["operation"] or "general"],
            "rawStatus": entry["verdict"],
            "tags": [entry["level"], *["known-failure"] * ("known_failure" in entry)],
            "extra": properties(entry, document["provenance"]["seed"]),
            **_found(entry, reproduce.get(entry["id"], "")),
            **({"stdout": observed[entry["id"]]} if entry["id"] in observed else {}),
        }


def _status(entry: Entry) -> str:
    known = entry["verdict"] == Verdict.FAIL and not fails(entry)
    return "skipped" if known else STATUSES[entry["verdict"]]


def _found(entry: Entry, reproduce: str) -> dict[str, str]:
    if entry["verdict"] not in (Verdict.FAIL, Verdict.WARN):
        return {"message": entry["message"]} if entry["message"] else {}
    known = f"known failure: {entry['known_failure']}: " if "known_failure" in entry else ""
    return {"message": f"{known}{entry['message']}", "trace": explanation(entry, reproduce)}


def _milliseconds(moment: str) -> int:
    return round(read_moment(moment).timestamp() * 1000)
