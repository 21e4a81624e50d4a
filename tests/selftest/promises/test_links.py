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
def folder_of_user(tmp_path):
    """A folder of the user with one file, to which links lead. The test fails if content or mode of either changed."""
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("mine")
    (folder / "file").chmod(0o644)
    yield folder
    file = folder / "file"
    assert file.read_text() == "mine"
    assert file.stat().st_mode & 0o777 == 0o644
    assert folder.stat().st_mode & 0o777 == 0o755
    assert [*folder.iterdir()] == [file]


def refusal_line(*options):
    """The one line of a run that ends with exit status 4 before anything is sent."""
    result = run_in_this_process(*PART, *options)
    assert result.status == 4
    assert result.run is None
    return result.output.strip()


def test_a_file_of_the_report_that_is_a_link_is_replaced(folder_of_user, tmp_path, monkeypatch):
    """Each file of the report, and the record, takes the place of the link, and only its owner can read it.

    The summary of a CI job is not written through a link: the run says so, and is not green.
    """
    report, record_file = tmp_path / "report", tmp_path / "staging.observed.yaml"
    report.mkdir(mode=0o700)
    files = [record_file, *(report / name for name in (*OUTPUTS, PAGE, SUMS))]
    for file in files:
        file.symlink_to(folder_of_user / ("absent" if file is record_file else "file"))
    (tmp_path / "summary").symlink_to(folder_of_user / "file")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    result = run_with_files(tmp_path, Service, *PART, "--accept", allow=["read"])

    assert result.status == 3, result.output
    assert f"the summary of the job cannot be written to {result.folder}: {os.strerror(40)}" in result.output
    assert [file for file in files if file.is_symlink() or file.stat().st_mode & 0o777 != 0o600] == []
    assert all(file.stat().st_size > len("mine") for file in files)


@pytest.mark.parametrize("below", ["", "below"], ids=["the folder", "one above it"])
def test_a_report_folder_behind_a_link_is_refused(below, folder_of_user, tmp_path):
    """The line names the link. A link above the report folder is refused, too."""
    (tmp_path / "link").symlink_to(folder_of_user)

    assert refusal_line(f"--report-dir={tmp_path / 'link' / below}") == (
        f"ERROR: --report-dir: {tmp_path / 'link'} is a symbolic link; name the folder that it leads to"
    )


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_report_folder_that_others_can_write_is_refused(mode, tmp_path):
    """The line says how to change the mode, and nothing is written."""
    tmp_path.chmod(mode)

    assert refusal_line(f"--report-dir={tmp_path}") == (
        f"ERROR: --report-dir: {tmp_path} can be written by others; chmod go-w it, or name another folder"
    )
    assert [*tmp_path.iterdir()] == []


def test_latest_is_replaced_and_not_followed(folder_of_user, monkeypatch, tmp_path):
    """A link named `latest` that leads elsewhere is replaced by a link to the new run."""
    monkeypatch.setattr(writing, "RUNS", tmp_path / "runs")
    folder = run_folder("staging", datetime.now(UTC))
    make_folder(folder)
    folder.with_name("latest").symlink_to(folder_of_user)
    point_latest(folder)

    assert folder.with_name("latest").resolve() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "v/cache/nodeids"], ids=["the folder", "a file in it"])
def test_a_cache_of_pytest_behind_a_link_is_refused(name, folder_of_user, tmp_path, monkeypatch):
    """The line names the link, for the cache folder and for a file in it."""
    monkeypatch.setattr(
        "tests.selftest.shared_runs.PYTEST_OPTIONS", [*PYTEST_OPTIONS[:-2], "-o", f"cache_dir={tmp_path / 'cache'}"]
    )
    link = tmp_path / "cache" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder_of_user / "file" if name else folder_of_user)

    assert refusal_line("--no-report") == (
        f"ERROR: cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider"
    )
