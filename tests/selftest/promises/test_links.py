"""A run writes nothing through a symbolic link, and nothing to a folder in which other users can write."""

import errno
import os
from datetime import UTC, datetime

import pytest

from environments.sandbox import Service
from reports.outputs import writing
from reports.outputs.writing import OUTPUTS, PAGE, SUMS, make_folder, point_latest, run_folder
from tests.selftest.shared_runs import PYTEST_OPTIONS, run_in_this_process, run_with_files

ONE_TEST = ("-k", "listAccounts.shape")


@pytest.fixture
def folder_of_user(tmp_path):
    """A folder of the user with one file, to which the links of a test lead.

    At the end the test fails if the folder or the file changed in any way.
    """
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


def line_of_refused_run(*options):
    """Run the suite with these options, which it must refuse with exit status 4. Returns the only line that it prints."""
    result = run_in_this_process(*ONE_TEST, *options)
    assert result.status == 4
    assert result.run is None
    return result.output.strip()


def test_a_file_of_the_report_that_is_a_link_is_replaced(folder_of_user, tmp_path, monkeypatch):
    """A run writes nothing through symbolic links: each file of its report takes the place of the link.

    The same is true of the file of the observed behaviour. Only their owner can read the files. The summary of a CI job
    is not written at all if it is a link: a line says so, and the exit status is 3. The fixture `folder_of_user`, to
    which the links lead, fails if anything in it changed.
    """
    report = tmp_path / "report"
    report.mkdir(mode=0o700)
    files_of_report = [report / name for name in (*OUTPUTS, PAGE, SUMS)]
    for file in files_of_report:
        file.symlink_to(folder_of_user / "file")
    # A run reads the file of the observed behaviour at its start, so this link leads to a file that does not exist.
    file_of_behaviour = tmp_path / "staging.observed.yaml"
    file_of_behaviour.symlink_to(folder_of_user / "absent")
    files = [file_of_behaviour, *files_of_report]
    (tmp_path / "summary").symlink_to(folder_of_user / "file")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    result = run_with_files(tmp_path, Service, *ONE_TEST, "--accept", allow=["read"])
    links = [file for file in files if file.is_symlink()]
    modes = {file.stat().st_mode & 0o777 for file in files}
    smallest_size = min(file.stat().st_size for file in files)

    assert links == []
    assert modes == {0o600}
    assert smallest_size > len("mine")  # that was the content behind the link
    assert result.status == 3, result.output
    assert f"the summary of the job cannot be written to {result.folder}: {os.strerror(errno.ELOOP)}" in result.output


@pytest.mark.parametrize(
    "folder_below_the_link", ["", "below"], ids=["the folder is a link", "a folder above it is one"]
)
def test_a_report_folder_behind_a_link_is_refused(folder_below_the_link, folder_of_user, tmp_path):
    """A report folder that is a symbolic link, or is below one, ends the run with a line that names the link."""
    (tmp_path / "link").symlink_to(folder_of_user)

    assert line_of_refused_run(f"--report-dir={tmp_path / 'link' / folder_below_the_link}") == (
        f"ERROR: --report-dir: {tmp_path / 'link'} is a symbolic link; name the folder that it leads to"
    )


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777], ids=["the group writes", "others write", "all write"])
def test_a_report_folder_that_others_can_write_is_refused(mode, tmp_path):
    """A report folder in which other users can write ends the run with a line that says how to change the mode.

    Nothing is written to the folder.
    """
    tmp_path.chmod(mode)

    assert line_of_refused_run(f"--report-dir={tmp_path}") == (
        f"ERROR: --report-dir: {tmp_path} can be written by others; chmod go-w it, or name another folder"
    )
    assert [*tmp_path.iterdir()] == []


def test_latest_is_replaced_and_not_followed(folder_of_user, monkeypatch, tmp_path):
    """A link named `latest` that leads elsewhere is replaced by a link to the folder of the new run.

    Nothing changes in the folder to which the old link led; the fixture `folder_of_user` fails otherwise.
    """
    monkeypatch.setattr(writing, "RUNS", tmp_path / "runs")
    folder = run_folder("staging", datetime.now(UTC))
    make_folder(folder)
    folder.with_name("latest").symlink_to(folder_of_user)
    point_latest(folder)

    assert folder.with_name("latest").resolve() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "v/cache/nodeids"], ids=["the folder", "a file in it"])
def test_a_cache_of_pytest_behind_a_link_is_refused(name, folder_of_user, tmp_path, monkeypatch):
    """If the cache folder of pytest or a file in it is a symbolic link, the run ends with a line that names the link."""
    *options_of_other_tests, option, cache_plugin = PYTEST_OPTIONS
    assert (option, cache_plugin) == ("-p", "no:cacheprovider")  # pytest has a cache if they are left out
    options = [*options_of_other_tests, "-o", f"cache_dir={tmp_path / 'cache'}"]
    monkeypatch.setattr("tests.selftest.shared_runs.PYTEST_OPTIONS", options)
    link = tmp_path / "cache" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder_of_user / "file" if name else folder_of_user)

    assert line_of_refused_run("--no-report") == (
        f"ERROR: cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider"
    )
