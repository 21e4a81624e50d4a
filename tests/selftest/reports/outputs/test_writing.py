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
from tests.selftest.junit_files import written
from tests.selftest.recorded_runs import FailsInManyWays, record, recorded

FILES = {*OUTPUTS, PAGE}


def fails(document):
    raise ValueError("no such thing")


def test_a_format_that_fails(monkeypatch, tmp_path):
    """The others are written; what an earlier run left of it is gone. Sums are those of the files that the run wrote."""
    makes = {"a.json": "a", "c.svg": "c", "folder.txt": ""}
    made = {name: lambda document, text=text: text for name, text in makes.items()} | {"b.xml": fails}
    monkeypatch.setattr(writing, "OUTPUTS", made)
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
    """The tool that reads the file says that each is as it was written. The terminal has one summary."""
    ended = recorded(name)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS], cwd=ended.folder, capture_output=True, text=True
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert {line.removesuffix(": OK") for line in checked.stdout.splitlines()} == FILES
    assert {path.name for path in ended.folder.iterdir()} == {*FILES, SUMS}
    assert ended.output.splitlines().count(ended.document["headline"]) == 1


def test_folders_of_runs_within_a_second_sort_by_time():
    """The newest run is found by the name of its folder, also if a pipeline starts two runs in one second."""
    start = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
    folders = [run_folder("staging", start + timedelta(milliseconds=number)) for number in range(50)]

    assert sorted(folders) == folders


MASKED, PASSING, REASON = "executePix.document.masked", "executePix.document.type", "masked from 2.4 on"


@pytest.mark.parametrize(("until", "status"), [("2099-01-31", 0), ("2020-01-31", 1)])
def test_a_known_failure_in_every_report(until, status, tmp_path):
    """It fails neither the run nor its test until its day is over. An entry that passes is to be deleted."""
    entries = [{"id": MASKED, "reason": REASON, "until": until}, {"id": PASSING, "reason": REASON}]
    ended = record(tmp_path, FailsInManyWays, "-k", "executePix.document", known_failures=entries)
    row = next(row for row in ended.document["requirements"] if row["id"] == MASKED)
    delete = f"known_failures: {PASSING}: passes: delete its entry"
    is_known = not status

    assert (ended.status, row["verdict"], row.get("known_failure")) == (status, "fail", REASON if is_known else None)
    assert f"FAIL {MASKED}{f' [known: {REASON}]' * is_known}\n" in ended.output
    assert (": no failure except 1 known failure, " in ended.document["headline"]) == is_known
    assert written(ended.folder)[MASKED][0] == ("skipped" if is_known else "failure")
    assert (REASON in ended.text(PAGE), delete in ended.text(PAGE)) == (is_known, True)
    assert delete in ended.document["notes"]
    assert (
        f"known_failures: {MASKED}: the last day of this known failure, {until}, has passed" in ended.document["notes"]
    ) == (not is_known)


def test_the_document_of_a_run_is_built_once(tmp_path):
    """Every output is made from it. If a part of the report cannot be written, the others say so, and the run is not
    green."""
    (tmp_path / "report").mkdir(mode=0o700)
    (tmp_path / "report" / "junit.xml").mkdir()
    (tmp_path / "report" / "junit.xml" / "kept").touch()
    with mock.patch.object(reporter, "document_of", wraps=document_of) as building:
        ended = record(tmp_path, Service, "-k", "listAccounts.json", allow=["read"])

    assert building.call_count == 1
    assert (ended.status, ended.document["verdict"], ended.document["exit_status"]) == (3, "internal-error", 3)
    assert ended.document["headline"].startswith("INTERNAL-ERROR: a part of the report cannot be written")
    assert "junit.xml cannot be written" in ended.output
