"""The files of a run: one that fails does not take the others with it, and SHA256SUMS tells of those that were written."""

import hashlib
import os
import re
import signal
import subprocess

import pytest

from reports import writing
from reports.writing import OUTPUTS, PAGE, SUMS, write_outputs, write_sums
from tests.selftest.services.running import run, started, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.services.waiting import PausesAt, await_event

FILES = {*OUTPUTS, PAGE}


def fails(document):
    raise ValueError("no such thing")


@pytest.fixture
def formats(monkeypatch):
    """Three formats, of which the second one fails."""
    made = {"a.json": lambda document: "a", "b.xml": fails, "c.svg": lambda document: "c"}
    monkeypatch.setattr(writing, "OUTPUTS", made)


def test_a_format_that_fails(formats, tmp_path):
    """The others are written; what an earlier run left of it is gone."""
    (tmp_path / "b.xml").write_text("of an earlier run")
    failed = write_outputs(tmp_path, {})

    assert failed == {"b.xml": "ValueError: no such thing"}
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "c.svg"}


def test_a_file_that_cannot_be_written(formats, tmp_path):
    """A folder stands in its place."""
    (tmp_path / "a.json").mkdir()
    failed = write_outputs(tmp_path, {})

    assert failed["a.json"] == "Is a directory"
    assert (tmp_path / "c.svg").read_text() == "c"


def test_the_sums_are_those_of_the_files_of_the_run(formats, tmp_path):
    """What else lies in the folder is none of them."""
    write_outputs(tmp_path, {})
    (tmp_path / PAGE).write_text("page")
    (tmp_path / "notes.txt").write_text("of somebody else")
    digest = write_sums(tmp_path)
    lines = (tmp_path / SUMS).read_text().splitlines()

    assert [line.split("  ")[1] for line in lines] == ["a.json", "c.svg", PAGE]
    assert lines[0].split("  ")[0] == hashlib.sha256(b"a").hexdigest()
    assert digest == hashlib.sha256((tmp_path / SUMS).read_bytes()).hexdigest()


def test_what_is_no_file_has_no_sum(formats, tmp_path):
    """A folder in the place of the page does not take the sums of the files with it."""
    write_outputs(tmp_path, {})
    (tmp_path / PAGE).mkdir()
    write_sums(tmp_path)

    assert [line.split("  ")[1] for line in (tmp_path / SUMS).read_text().splitlines()] == ["a.json", "c.svg"]


def test_a_run_that_could_write_nothing_has_no_sums(tmp_path):
    """Those of an earlier run are gone, and the terminal prints no digest of an empty list."""
    (tmp_path / SUMS).write_text("of an earlier run")

    assert write_sums(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


# -- of whole runs --------------------------------------------------------------------------------------------------


def assert_checked(folder, output):
    """The tool that reads the file says that each is as it was written, and the terminal has the digest."""
    checked = subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert {line.removesuffix(": OK") for line in checked.stdout.splitlines()} == FILES
    assert {path.name for path in folder.iterdir()} == {*FILES, SUMS}

    told = re.findall(r"^SHA256 \(SHA256SUMS\) = ([0-9a-f]{64})$", output, re.MULTILINE)
    assert told == [hashlib.sha256((folder / SUMS).read_bytes()).hexdigest()]


def test_the_digests_of_a_run(tmp_path):
    """Of every file, as it is when the run has ended."""
    with Raw() as raw:
        result = run(write_profile(tmp_path, raw.base_url), "-k", "executePix.document")

    assert_checked(result.folder, result.output)


def test_the_digests_of_a_run_without_a_target(tmp_path):
    """pytest asks for no summary after it: there is one all the same, once, and below it the digest."""
    result = run(write_profile(tmp_path, "http://127.0.0.1:1"))

    assert result.status == 7
    assert result.output.count("UNREACHABLE") == 1
    assert_checked(result.folder, result.output)


def test_the_digests_of_an_interrupted_run(tmp_path):
    """Its files are complete, too."""
    with PausesAt(20) as service, started(write_profile(tmp_path, service.base_url)) as process:
        await_event(service.reached, process)
        os.kill(process.pid, signal.SIGTERM)
        output, _ = process.communicate()

    assert process.returncode == 2
    assert_checked(tmp_path / "report", output)


def test_without_files_there_is_no_digest(tmp_path):
    """--no-report."""
    with Raw() as raw:
        result = run(write_profile(tmp_path, raw.base_url), "-k", "executePix.document", "--no-report")

    assert "SHA256" not in result.output
    assert not result.folder.exists()
