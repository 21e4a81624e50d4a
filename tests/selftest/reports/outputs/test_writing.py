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
    """Raise an error. This replaces the function that makes the text of a file of the report."""
    raise ValueError("no such thing")


def function_that_returns(text):
    """A function that makes this text from any document, in the place of one that makes a file of the report."""

    def text_of_file(document):
        return text

    return text_of_file


def sha256_of(text):
    """The SHA-256 digest of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def formats_of_which_b_xml_fails(monkeypatch):
    """Replace the files that a run writes by `a.json`, `c.svg`, `folder.txt` and `b.xml`.

    OUTPUTS has the function that makes the text of each file. The function of `b.xml` raises an error.
    """
    outputs = {
        "a.json": function_that_returns("a"),
        "c.svg": function_that_returns("c"),
        "folder.txt": function_that_returns(""),
        "b.xml": raise_value_error,
    }
    monkeypatch.setattr(writing, "OUTPUTS", outputs)


def test_a_format_that_fails_does_not_stop_the_others(formats_of_which_b_xml_fails, tmp_path):
    """If one file of the report cannot be written, the other files are written, and the failure is named.

    A file of this name that an earlier run wrote is deleted, so that nobody takes it for a new one. Here the function of
    b.xml raises an error, and a folder stands in the place of folder.txt.
    """
    (tmp_path / "b.xml").write_text("of an earlier run")
    (tmp_path / "folder.txt").mkdir()

    reason_by_failed_file = write_outputs(tmp_path, {})

    assert reason_by_failed_file == {"b.xml": "ValueError: no such thing", "folder.txt": "Is a directory"}
    assert not (tmp_path / "b.xml").exists()
    assert (tmp_path / "a.json").read_text() == "a"
    assert (tmp_path / "c.svg").read_text() == "c"


def test_the_file_of_digests_lists_the_files_that_the_run_wrote(formats_of_which_b_xml_fails, tmp_path):
    """SHA256SUMS has the digest of each file that this run wrote, and of no other file in the folder.

    Only the owner can read the files.
    """
    (tmp_path / "b.xml").write_text("of an earlier run")
    (tmp_path / "notes.txt").write_text("of somebody else")
    (tmp_path / "folder.txt").mkdir()
    write_outputs(tmp_path, {})

    write_sums(tmp_path)

    permissions = [path.stat().st_mode & 0o777 for path in (tmp_path / SUMS, tmp_path / "a.json")]
    assert (tmp_path / SUMS).read_text() == f"{sha256_of('a')}  a.json\n{sha256_of('c')}  c.svg\n"
    assert permissions == [0o600, 0o600]


@pytest.mark.parametrize("name", ["clean", "failing", "unreachable", "interrupted"])
def test_the_digests_of_a_run_match_its_files(name):
    """The program sha256sum confirms the digest of every file of a report, and the folder has no other file.

    This holds for a run that passes, fails, reaches no service, or is interrupted. Each prints its headline once.
    """
    result = shared_run(name)
    process = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS], cwd=result.folder, capture_output=True, text=True
    )

    confirmed_files = {line.removesuffix(": OK") for line in process.stdout.splitlines()}
    files_in_folder = {path.name for path in result.folder.iterdir()}

    assert process.returncode == 0, process.stdout + process.stderr
    assert confirmed_files == FILES
    assert files_in_folder == {*FILES, SUMS}
    assert result.output.splitlines().count(result.document["headline"]) == 1


def test_folders_of_runs_within_a_second_sort_by_time():
    """The names of the folders of runs sort by the start of the run, even if 50 runs start within 50 milliseconds.

    The order matters because the newest run is found by the name of its folder.
    """
    start = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
    folders = [run_folder("staging", start + timedelta(milliseconds=number)) for number in range(50)]

    assert sorted(folders) == folders


MASKED, PASSING, REASON = "executePix.document.masked", "executePix.document.type", "masked from 2.4 on"


@pytest.fixture(scope="module")
def run_before_the_last_day(tmp_path_factory):
    """A run of two requirements that the profile lists as known failures. One fails, before its last day, and one passes."""
    return run_with_known_failures(tmp_path_factory.mktemp("before"), until="2099-01-31")


@pytest.fixture(scope="module")
def run_after_the_last_day(tmp_path_factory):
    """A run of two requirements that the profile lists as known failures. One fails, after its last day, and one passes."""
    return run_with_known_failures(tmp_path_factory.mktemp("after"), until="2020-01-31")


def run_with_known_failures(folder, until):
    """A run with two entries in known_failures: MASKED, which fails, with this last day, and PASSING, which passes."""
    entries = [{"id": MASKED, "reason": REASON, "until": until}, {"id": PASSING, "reason": REASON}]
    return run_with_files(folder, FailsInManyWays, "-k", "executePix.document", known_failures=entries)


def requirement_in_document(result, requirement_id):
    """The entry of a requirement in conformance.json of a run."""
    [entry] = [entry for entry in result.document["requirements"] if entry["id"] == requirement_id]
    return entry


def test_a_known_failure_is_known_in_every_report(run_before_the_last_day):
    """A failure that the profile lists as known does not fail the run until its last day, and every report says so."""
    result = run_before_the_last_day
    requirement = requirement_in_document(result, MASKED)
    result_in_junit, _ = results_in_file(result.folder)[MASKED]
    notes_about_last_days = [note for note in result.document["notes"] if "has passed" in note]

    assert result.status == 0
    assert (requirement["verdict"], requirement["known_failure"]) == ("fail", REASON)
    assert f"FAIL {MASKED} [known: {REASON}]\n" in result.output
    assert ": no failure except 1 known failure, " in result.document["headline"]
    assert result_in_junit == "skipped"
    assert REASON in result.text(PAGE)
    assert notes_about_last_days == []


def test_a_known_failure_after_its_last_day_is_a_failure_in_every_report(run_after_the_last_day):
    """After its last day a known failure fails the run. No report calls it known, and a note names the day."""
    result = run_after_the_last_day
    requirement = requirement_in_document(result, MASKED)
    result_in_junit, _ = results_in_file(result.folder)[MASKED]
    note_about_last_day = f"known_failures: {MASKED}: the last day of this known failure, 2020-01-31, has passed"

    assert result.status == 1
    assert (requirement["verdict"], requirement.get("known_failure")) == ("fail", None)
    assert f"FAIL {MASKED}\n" in result.output
    assert ": no failure except 1 known failure, " not in result.document["headline"]
    assert result_in_junit == "failure"
    assert REASON not in result.text(PAGE)
    assert note_about_last_day in result.document["notes"]


def test_a_known_failure_that_passes_has_a_note_in_every_report(run_before_the_last_day, run_after_the_last_day):
    """If a requirement of known_failures passes, a note in conformance.json and on the page asks to delete its entry."""
    note = f"known_failures: {PASSING}: passes: delete its entry"

    for result in (run_before_the_last_day, run_after_the_last_day):
        assert note in result.document["notes"]
        assert note in result.text(PAGE)


def test_the_document_of_a_run_is_built_once(tmp_path):
    """All files of a report are made from one document. If a file cannot be written, the others say so.

    Then the exit status is 3. Here a folder that is not empty stands in the place of junit.xml.
    """
    (tmp_path / "report").mkdir(mode=0o700)
    (tmp_path / "report" / "junit.xml").mkdir()
    (tmp_path / "report" / "junit.xml" / "kept").touch()
    with mock.patch.object(reporter, "document_of", wraps=document_of) as counted_document_of:
        result = run_with_files(tmp_path, Service, "-k", "listAccounts.json", allow=["read"])

    assert counted_document_of.call_count == 1
    assert result.document["verdict"] == "internal-error"
    assert result.status == 3
    assert result.document["exit_status"] == 3
    assert result.document["headline"].startswith("INTERNAL-ERROR: a part of the report cannot be written")
    assert "junit.xml cannot be written" in result.output
