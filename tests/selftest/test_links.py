"""Nothing is written through a symbolic link, nor to a folder that others can write."""

import os
from datetime import UTC, datetime

import pytest

from reports import writing
from reports.writing import OUTPUTS, PAGE, SUMS, point_latest, run_folder
from tests.selftest.services.running import run, started, write_profile

PART = ("-k", "listAccounts")


@pytest.fixture
def mine(tmp_path):
    """A file and a folder of the user, to which links lead: what they are afterwards is compared."""
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("mine")
    (folder / "file").chmod(0o644)
    return folder


def is_untouched(mine):
    file = mine / "file"
    content = (file.read_text(), file.stat().st_mode & 0o777, mine.stat().st_mode & 0o777)
    return content == ("mine", 0o644, 0o755) and list(mine.iterdir()) == [file]


@pytest.mark.parametrize("name", [*OUTPUTS, PAGE, SUMS])
def test_a_file_of_the_report_that_is_a_link_is_replaced(name, service, mine, tmp_path):
    """Its target keeps content and mode; the report is a file for its owner alone."""
    profile, file = write_profile(tmp_path, service.base_url), tmp_path / "report" / name
    file.parent.mkdir(mode=0o700)
    file.symlink_to(mine / "file")
    result = run(profile, *PART)

    assert result.status == 0, result.output
    assert is_untouched(mine)
    assert (file.is_symlink(), file.stat().st_mode & 0o777) == (False, 0o600)
    assert len(file.read_text()) > len("mine")


@pytest.mark.parametrize("linked", ["report", "."], ids=["the folder", "one above it"])
def test_a_report_folder_behind_a_link_is_refused(linked, service, mine, tmp_path):
    """Exit status 4, one line, and nothing is sent or written."""
    link = tmp_path / "link"
    link.symlink_to(mine)
    folder = link if linked == "report" else link / "below"
    result = run(write_profile(tmp_path, service.base_url), *PART, f"--report-dir={folder}")

    assert (result.status, service.seen) == (4, [])
    assert result.output.strip() == (
        f"ERROR: --report-dir: {link} is a symbolic link; name the folder that it leads to"
    )
    assert is_untouched(mine)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_report_folder_that_others_can_write_is_refused(mode, service, tmp_path):
    """Exit status 4, one line, and nothing is sent or written."""
    profile, folder = write_profile(tmp_path, service.base_url), tmp_path / "report"
    folder.mkdir()
    folder.chmod(mode)
    result = run(profile, *PART)

    assert (result.status, service.seen, list(folder.iterdir())) == (4, [], [])
    assert result.output.strip() == (
        f"ERROR: --report-dir: {folder} can be written by others; chmod go-w it, or name another folder"
    )


def test_latest_is_replaced_and_not_followed(mine, monkeypatch, tmp_path):
    """A link of that name leads to the new run afterwards; where it led to is as it was."""
    monkeypatch.setattr(writing, "RUNS", tmp_path / "runs")
    folder = run_folder("staging", datetime.now(UTC))
    folder.mkdir(parents=True)
    folder.with_name("latest").symlink_to(mine)
    point_latest(folder)

    assert folder.with_name("latest").resolve() == folder
    assert is_untouched(mine)


def test_a_record_that_is_a_link_is_not_followed(service, mine, tmp_path):
    """--accept: nothing is made where it leads to."""
    record = tmp_path / "profile.observed.yaml"
    record.symlink_to(mine / "absent")
    result = run(write_profile(tmp_path, service.base_url), "-k", "listAccounts.shape", "--accept", "--no-report")

    assert "accepted: " in result.output
    assert is_untouched(mine)
    assert not record.is_symlink()


@pytest.mark.parametrize("name", ["", "v/cache/nodeids"], ids=["the folder", "a file in it"])
def test_a_cache_of_pytest_behind_a_link_is_refused(name, service, mine, tmp_path):
    """Exit status 4, one line, and nothing is sent or written."""
    link = tmp_path / "cache" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(mine if not name else mine / "file")
    result = run(write_profile(tmp_path, service.base_url), *PART)

    assert (result.status, service.seen) == (4, [])
    assert result.output.strip() == (
        f"ERROR: cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider"
    )
    assert is_untouched(mine)


def test_a_summary_of_a_job_behind_a_link_is_not_written(service, mine, tmp_path):
    """The run says so, and is not green."""
    link = tmp_path / "summary"
    link.symlink_to(mine / "file")
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(link)}
    with started(write_profile(tmp_path, service.base_url), *PART, **variables) as process:
        output, _ = process.communicate()

    assert process.returncode == 3
    assert f"the summary of the job cannot be written to {tmp_path / 'report'}: {os.strerror(40)}" in output
    assert is_untouched(mine)
