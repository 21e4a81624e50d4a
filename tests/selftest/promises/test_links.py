"""Nothing is written through a symbolic link, nor to a folder that others can write."""

import os
from datetime import UTC, datetime

import pytest

from environments.sandbox import Service
from reports.outputs import writing
from reports.outputs.writing import OUTPUTS, PAGE, SUMS, make_folder, point_latest, run_folder
from tests.selftest.shared_runs import PYTEST_OPTIONS, run_in_this_process, run_with_files

PART = ("-k", "listAccounts.shape")


@pytest.fixture
def mine(tmp_path):
    """A file and a folder of the user, to which links lead."""
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("mine")
    (folder / "file").chmod(0o644)
    yield folder
    content = ((folder / "file").read_text(), (folder / "file").stat().st_mode & 0o777, folder.stat().st_mode & 0o777)
    assert (content, [*folder.iterdir()]) == (("mine", 0o644, 0o755), [folder / "file"])


def refused(*options):
    """The line of a run that ends with exit status 4 before anything is sent."""
    ended = run_in_this_process(*PART, *options)
    assert (ended.status, ended.run) == (4, None)
    return ended.output.strip()


def test_a_file_of_the_report_that_is_a_link_is_replaced(mine, tmp_path, monkeypatch):
    """Its target keeps content and mode; the report is files for their owner alone. So is a record, with --accept. A
    summary of a job is not written: the run says so, and is not green."""
    report, record_file = tmp_path / "report", tmp_path / "staging.observed.yaml"
    report.mkdir(mode=0o700)
    files = [record_file, *(report / name for name in (*OUTPUTS, PAGE, SUMS))]
    for file in files:
        file.symlink_to(mine / ("absent" if file is record_file else "file"))
    (tmp_path / "summary").symlink_to(mine / "file")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    ended = run_with_files(tmp_path, Service, *PART, "--accept", allow=["read"])

    assert ended.status == 3, ended.output
    assert f"the summary of the job cannot be written to {ended.folder}: {os.strerror(40)}" in ended.output
    assert [file for file in files if file.is_symlink() or file.stat().st_mode & 0o777 != 0o600] == []
    assert all(file.stat().st_size > len("mine") for file in files)


@pytest.mark.parametrize("below", ["", "below"], ids=["the folder", "one above it"])
def test_a_report_folder_behind_a_link_is_refused(below, mine, tmp_path):
    """In one line."""
    (tmp_path / "link").symlink_to(mine)

    assert refused(f"--report-dir={tmp_path / 'link' / below}") == (
        f"ERROR: --report-dir: {tmp_path / 'link'} is a symbolic link; name the folder that it leads to"
    )


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_report_folder_that_others_can_write_is_refused(mode, tmp_path):
    """In one line."""
    tmp_path.chmod(mode)

    assert refused(f"--report-dir={tmp_path}") == (
        f"ERROR: --report-dir: {tmp_path} can be written by others; chmod go-w it, or name another folder"
    )
    assert [*tmp_path.iterdir()] == []


def test_latest_is_replaced_and_not_followed(mine, monkeypatch, tmp_path):
    """A link of that name leads to the new run afterwards."""
    monkeypatch.setattr(writing, "RUNS", tmp_path / "runs")
    folder = run_folder("staging", datetime.now(UTC))
    make_folder(folder)
    folder.with_name("latest").symlink_to(mine)
    point_latest(folder)

    assert folder.with_name("latest").resolve() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "v/cache/nodeids"], ids=["the folder", "a file in it"])
def test_a_cache_of_pytest_behind_a_link_is_refused(name, mine, tmp_path, monkeypatch):
    """In one line."""
    monkeypatch.setattr(
        "tests.selftest.shared_runs.PYTEST", [*PYTEST_OPTIONS[:-2], "-o", f"cache_dir={tmp_path / 'cache'}"]
    )
    link = tmp_path / "cache" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(mine / "file" if name else mine)

    assert refused("--no-report") == (
        f"ERROR: cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider"
    )
