"""Known failures do not fail a run; entries that no longer hold do, each in one line."""

from __future__ import annotations

import pytest
from junitparser import JUnitXml

from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw

ROW = "executePix.document.masked"
PART = ("-k", "executePix.document or executePix.name")
REASON = "masked from 2.4 on"


class ShowsTheDocument(Raw):
    """The tax document is not masked."""

    def __init__(self):
        super().__init__()
        whole = self.service.execution_result
        self.service.execution_result = lambda transfer: {**whole(transfer), "document": "12345678909"}


@pytest.fixture
def ended(tmp_path):
    """Runs the suite with these known failures against a service that breaks one row, or none."""

    def run_with(service, *known, **changes):
        with service() as raw:
            return run(write_profile(tmp_path, raw.base_url, known_failures=list(known), **changes), *PART)

    return run_with


def test_a_known_failure_does_not_fail_the_run(ended):
    """It is shown as known, with its reason, in every report."""
    result = ended(ShowsTheDocument, {"id": ROW, "reason": REASON, "until": "2099-01-31"})
    row = next(row for row in result.document["requirements"] if row["id"] == ROW)
    cases = {case.name: case for suite in JUnitXml.fromfile(str(result.folder / "junit.xml")) for case in suite}

    assert (result.status, result.document["verdict"]) == (0, "conformant"), result.output
    assert (row["verdict"], row["known_failure"]) == ("fail", REASON)
    assert f"FAIL {ROW} [known: {REASON}]" in result.output
    assert cases[ROW].is_skipped
    assert REASON in (result.folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("service", "entry", "note"),
    [
        (Raw, {"id": ROW, "reason": REASON}, f"known_failures: {ROW}: passes; remove the entry"),
        (
            ShowsTheDocument,
            {"id": ROW, "reason": REASON, "until": "2020-01-31"},
            f"known_failures: {ROW}: its last day 2020-01-31 has passed",
        ),
    ],
    ids=["passes", "is past its date"],
)
def test_an_entry_that_no_longer_holds_fails_the_run(service, entry, note, ended):
    """One that passes and one past its date: one line each, and exit status 1."""
    result = ended(service, entry)

    assert result.status == 1
    assert [line for line in result.notes if line.startswith(note)]
    assert f"! {note}" in result.output


def test_an_entry_without_a_row_is_refused(ended):
    """An id that does not exist is one line and exit status 4, before any request."""
    result = ended(Raw, {"id": "executePix.document.hidden", "reason": REASON})

    assert result.status == 4
    assert "known_failures: executePix.document.hidden: no such row in spec/requirements.yaml" in result.output


def test_another_failure_still_fails_the_run(ended):
    """What is not listed counts as ever."""
    result = ended(ShowsTheDocument, {"id": "executePix.name.type", "reason": REASON})

    assert result.status == 1
    assert f"FAIL {ROW}\n" in result.output
