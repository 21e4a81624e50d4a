"""Known failures do not fail a run; an entry that no longer holds is one line, and fails it where it is strict."""

import pytest
from junitparser import JUnitXml

from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw

ROW = "executePix.document.masked"
PART = ("-k", "executePix.document or executePix.name")
REASON = "masked from 2.4 on"
SCOPE = f"everything permitted, only -k {PART[1]} -m not property"


class ShowsTheDocument(Raw):
    """The tax document is not masked."""

    def __init__(self):
        super().__init__()
        whole = self.service.execution_result
        self.service.execution_result = lambda transfer: {**whole(transfer), "document": "12345678909"}


@pytest.fixture
def ended(tmp_path):
    """Runs the suite with these known failures against a service that breaks one requirement, or none."""

    def run_with(service, *known, **changes):
        with service() as raw:
            return run(write_profile(tmp_path, raw.base_url, known_failures=list(known), **changes), *PART)

    return run_with


def test_a_known_failure_does_not_fail_the_run(ended):
    """It is shown as known, with its reason, in every report."""
    result = ended(ShowsTheDocument, {"id": ROW, "reason": REASON, "until": "2099-01-31"})
    row = next(row for row in result.document["requirements"] if row["id"] == ROW)
    cases = {case.name: case for suite in JUnitXml.fromfile(str(result.folder / "junit.xml")) for case in suite}

    assert (result.status, result.document["verdict"]) == (0, "partial"), result.output
    assert (row["verdict"], row["known_failure"]) == ("fail", REASON)
    assert f"PARTIAL, {SCOPE}: no failure except 1 known failure, 7 of 7 tested" in result.output
    assert "  documented   1 known failure, 6 pass\n" in result.output
    assert f"FAIL {ROW} [known: {REASON}]" in result.output
    assert cases[ROW].is_skipped
    assert REASON in (result.folder / "report.html").read_text()


def test_a_known_failure_that_passes_is_a_warning(ended):
    """The run is green, and the entry to delete is named in every report."""
    result = ended(Raw, {"id": ROW, "reason": REASON, "until": "2020-01-31"})
    note = f"known_failures: {ROW}: passes; delete the entry"

    assert (result.status, result.notes) == (0, [note]), result.output
    assert f"note: {note}" in result.output
    assert note in (result.folder / "report.html").read_text()
    assert "known_failures lists it, and it passes" in (result.folder / "junit.xml").read_text()


def test_a_strict_known_failure_that_passes_fails_the_run(ended):
    """In every report it is that requirement which is red."""
    result = ended(Raw, {"id": ROW, "reason": REASON, "strict": True})
    message = "strict: known_failures lists it, and it passes; delete the entry"

    assert (result.status, result.rows("fail")) == (1, {ROW: message}), result.output
    assert result.document["headline"].startswith(
        f"NON-CONFORMANT, {SCOPE}: 1 documented requirement fails, 7 of 7 tested"
    )
    assert message in (result.folder / "junit.xml").read_text()
    assert message in (result.folder / "report.html").read_text()
    assert "reproduce:" not in result.output


def test_a_known_failure_past_its_day_fails_the_run(ended):
    """The requirement is red again, for pytest too, and one line says why."""
    result = ended(ShowsTheDocument, {"id": ROW, "reason": REASON, "until": "2020-01-31"})

    assert (result.status, list(result.rows("fail"))) == (1, [ROW]), result.output
    assert result.notes == [f"known_failures: {ROW}: its last day 2020-01-31 has passed"]
    assert "1 failed" in result.output


def test_a_selection_that_leaves_a_known_failure_out_says_nothing_of_it(service, tmp_path):
    """Neither that it passes nor that its day is over."""
    entry = {"id": ROW, "reason": REASON, "until": "2020-01-31", "strict": True}
    result = run(write_profile(tmp_path, service.base_url, known_failures=[entry]), "-k", "listAccounts.exists")

    assert (result.status, result.notes) == (0, []), result.output


def test_an_entry_without_a_row_is_refused(ended):
    """An id that does not exist is one line and exit status 4, before any request."""
    result = ended(Raw, {"id": "executePix.document.hidden", "reason": REASON})

    assert result.status == 4
    assert "known_failures.0.id: no such requirement; did you mean " in result.output


def test_another_failure_still_fails_the_run(ended):
    """What is not listed counts as ever."""
    result = ended(ShowsTheDocument, {"id": "executePix.name.type", "reason": REASON})

    assert result.status == 1
    assert f"FAIL {ROW}\n" in result.output
