"""Where a run came from: digests that tell profiles apart and give no value away, the commit, the CI job, the service."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.model import Header, PixKey, Transactions
from reports.result.provenance import CHECKOUT, ci_job, commit_of, profile_digest
from tests.selftest.hand_made import SANDBOX_PROFILE


@pytest.mark.parametrize(
    "setting",
    [
        {"allow": frozenset({"read"})},
        {"base_url": "https://other.example.test"},
        {"limits": replace(SANDBOX_PROFILE.limits, parallel=1)},
    ],
    ids=["permissions", "address", "limits"],
)
def test_the_digest_of_a_profile_follows_its_settings(setting):
    """Two profiles that differ in address, permissions or limits have different digests.

    A report shows the digest, so that a reader can tell if two runs used the same settings.
    """
    changed_profile = replace(SANDBOX_PROFILE, **setting)

    assert profile_digest(changed_profile) != profile_digest(SANDBOX_PROFILE)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("accounts", [("0001",), ("0002",)]),
        ("pix_keys", [(PixKey("CPF", "39053344705"),), (PixKey("CPF", "12345678909"),)]),
        ("transactions", [Transactions(("A",)), Transactions(("B",))]),
        ("headers", [(Header("X-Tenant", text=text),) for text in ("north", "south")]),
        ("path", [Path("here.yaml"), Path("there/here.yaml")]),
    ],
)
def test_a_digest_gives_no_value_away(name, values):
    """Two profiles that differ only in accounts, keys, codes, values of headers or the folder have the same digest.

    So nobody can find these values by trying values until the digest fits.
    """
    one_value, another_value = values

    digest = profile_digest(replace(SANDBOX_PROFILE, **{name: one_value}))
    digest_of_another_value = profile_digest(replace(SANDBOX_PROFILE, **{name: another_value}))

    assert digest == digest_of_another_value


def git(folder, *arguments):
    """Run git with these arguments in this folder. An error of git raises CalledProcessError."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.test")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_says_if_files_were_changed(tmp_path, monkeypatch):
    """The commit that a report names ends with `+dirty` if a file under version control was changed. A new file does
    not count.

    A folder that is only a part of a work tree has no commit, and without git there is none.
    """
    (tmp_path / "file").write_text("one")
    for arguments in (["init"], ["add", "."], ["commit", "--message=one"]):
        git(tmp_path, *arguments)
    (tmp_path / "suite").mkdir()
    (tmp_path / "another").write_text("not tracked")

    commit_with_new_file = commit_of(tmp_path)
    (tmp_path / "file").write_text("two")
    commit_after_change = commit_of(tmp_path)
    commit_of_subfolder = commit_of(tmp_path / "suite")
    monkeypatch.setenv("PATH", "")
    commit_without_git = commit_of(CHECKOUT)

    assert re.fullmatch("[0-9a-f]{40}", commit_with_new_file)
    assert commit_after_change == f"{commit_with_new_file}+dirty"
    assert (commit_of_subfolder, commit_without_git) == (None, None)


@pytest.mark.parametrize(
    ("variables", "link"),
    [
        (
            "GITHUB_SERVER_URL=https://github.com GITHUB_REPOSITORY=bank/pix GITHUB_RUN_ID=19876543210",
            "https://github.com/bank/pix/actions/runs/19876543210",
        ),
        ("CI_JOB_URL=https://gitlab.com/bank/pix/-/jobs/11987654321", "https://gitlab.com/bank/pix/-/jobs/11987654321"),
        ("BUILD_URL=http://jenkins.bank.test:8080/job/pix/12/", "http://jenkins.bank.test:8080/job/pix/12/"),
        (
            "SYSTEM_COLLECTIONURI=https://dev.azure.com/bank/ SYSTEM_TEAMPROJECT=pix BUILD_BUILDID=77",
            "https://dev.azure.com/bank/pix/_build/results?buildId=77",
        ),
        ("CIRCLE_BUILD_URL=https://circleci.com/gh/bank/pix/9", "https://circleci.com/gh/bank/pix/9"),
        ("BUILDKITE_BUILD_URL=https://buildkite.com/bank/pix/builds/9", "https://buildkite.com/bank/pix/builds/9"),
        ("", None),
        ("BUILD_URL=", None),
        ("BUILD_URL=https://user:word@jenkins.bank.test/job/1/", None),
        ("BUILD_URL=javascript:alert(1)", None),
        ('BUILD_URL=https://jenkins.bank.test/"><script>', None),
        (f"BUILD_URL=https://jenkins.bank.test/job/{'a' * 500}/", None),
        ("GITHUB_RUN_ID=1", None),
    ],
    ids=[
        "GitHub",
        "GitLab",
        "Jenkins",
        "Azure",
        "CircleCI",
        "Buildkite",
        "no CI system",
        "empty",
        "with a password",
        "no http address",
        "with markup",
        "too long",
        "a part of the variables is missing",
    ],
)
def test_the_address_of_the_job(variables, link):
    """A report links to the CI job that made it. The address comes from the variables of the CI system.

    An address that is malformed, too long, or has a password is left out.
    """
    name_and_value = [variable.split("=", 1) for variable in variables.split()]
    variables_of_job = dict(name_and_value)

    def leave_unchanged(text):  # there is no secret to redact
        return text

    assert ci_job(variables_of_job, clean=leave_unchanged) == link


def test_the_address_of_a_job_with_a_secret_is_left_out():
    """If the address of the CI job has a secret value of the profile, the report has no link to the job."""

    def replace_secrets(text):  # "canary" is a key of the profile
        return text.replace("canary", "<key>")

    link = ci_job({"BUILD_URL": "https://jenkins.bank.test/job/canary/12/"}, clean=replace_secrets)

    assert link is None
