"""The files of a run: one that fails does not take the others with it, and SHA256SUMS tells of those that were written."""

import hashlib
import subprocess
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest

from environments.sandbox import Service
from reports.outputs import writing
from reports.outputs.conformance_json import document_of
from reports.outputs.writing import OUTPUTS, PAGE, SUMS, run_folder, write_outputs, write_sums
from tests.harness import reporter
from tests.selftest.junit_files import results_in_file
from tests.selftest.shared_runs import FailsInManyWays, run_with_files, shared_run

FILES = {*OUTPUTS, PAGE}


def raise_value_error(document):
    """A format that fails."""
    raise ValueError("no such thing")


def test_a_format_that_fails(monkeypatch, tmp_path):
    """The other files are written, and an older file of the failing format is deleted.

    SHA256SUMS has the files that the run wrote.
    """
    texts = {"a.json": "a", "c.svg": "c", "folder.txt": ""}
    formats = {name: lambda document, text=text: text for name, text in texts.items()}
    formats["b.xml"] = raise_value_error
    monkeypatch.setattr(writing, "OUTPUTS", formats)
    (tmp_path / "b.xml").write_text("of an earlier run")
    (tmp_path / "notes.txt").write_text("of somebody else")
    (tmp_path / "folder.txt").mkdir()
    failed = write_outputs(tmp_path, {})
    write_sums(tmp_path)
    sums = (tmp_path / SUMS).read_bytes()

    assert failed == {"b.xml": "ValueError: no such thing", "folder.txt": "Is a directory"}
    assert not (tmp_path / "b.xml").exists()
    assert sums.decode() == "".join(f"{hashlib.sha256(n[:1].encode()).hexdigest()}  {n}\n" for n in ("a.json", "c.svg"))
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / SUMS, tmp_path / "a.json")} == {0}


@pytest.mark.parametrize("name", ["clean", "failing", "unreachable", "interrupted"])
def test_the_digests_of_a_run(name):
    """sha256sum finds each file as it was written. The terminal has one summary."""
    result = shared_run(name)
    process = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS], cwd=result.folder, capture_output=True, text=True
    )

    assert process.returncode == 0, process.stdout + process.stderr
    assert {line.removesuffix(": OK") for line in process.stdout.splitlines()} == FILES
    assert {path.name for path in result.folder.iterdir()} == {*FILES, SUMS}
    assert result.output.splitlines().count(result.document["headline"]) == 1


def test_folders_of_runs_within_a_second_sort_by_time():
    """The newest run is found by the name of its folder, even if a pipeline starts two runs in one second."""
    start = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
    folders = [run_folder("staging", start + timedelta(milliseconds=number)) for number in range(50)]

    assert sorted(folders) == folders


MASKED, PASSING, REASON = "executePix.document.masked", "executePix.document.type", "masked from 2.4 on"


@pytest.mark.parametrize(("until", "status"), [("2099-01-31", 0), ("2020-01-31", 1)])
def test_a_known_failure_in_every_report(until, status, tmp_path):
    """A known failure fails neither the run nor its test until its last day.

    A note asks to delete an entry that passes.
    """
    entries = [{"id": MASKED, "reason": REASON, "until": until}, {"id": PASSING, "reason": REASON}]
    result = run_with_files(tmp_path, FailsInManyWays, "-k", "executePix.document", known_failures=entries)
    row = next(row for row in result.document["requirements"] if row["id"] == MASKED)
    delete = f"known_failures: {PASSING}: passes: delete its entry"
    is_known = not status

    assert result.status == status
    assert row["verdict"] == "fail"
    assert row.get("known_failure") == (REASON if is_known else None)
    known_mark = f" [known: {REASON}]" if is_known else ""
    assert f"FAIL {MASKED}{known_mark}\n" in result.output
    assert (": no failure except 1 known failure, " in result.document["headline"]) == is_known
    assert results_in_file(result.folder)[MASKED][0] == ("skipped" if is_known else "failure")
    assert (REASON in result.text(PAGE)) is is_known
    assert delete in result.text(PAGE)
    assert delete in result.document["notes"]
    assert (
        f"known_failures: {MASKED}: the last day of this known failure, {until}, has passed" in result.document["notes"]
    ) == (not is_known)


def test_the_document_of_a_run_is_built_once(tmp_path):
    """Every output is made from it. If a file cannot be written, the other files say so, and the run is not green."""
    (tmp_path / "report").mkdir(mode=0o700)
    (tmp_path / "report" / "junit.xml").mkdir()
    (tmp_path / "report" / "junit.xml" / "kept").touch()
    with mock.patch.object(reporter, "document_of", wraps=document_of) as building:
        result = run_with_files(tmp_path, Service, "-k", "listAccounts.json", allow=["read"])

    assert building.call_count == 1
    assert result.document["verdict"] == "internal-error"
    assert result.status == result.document["exit_status"] == 3
    assert result.document["headline"].startswith("INTERNAL-ERROR: a part of the report cannot be written")
    assert "junit.xml cannot be written" in result.output
