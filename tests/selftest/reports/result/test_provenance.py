"""Where a run came from: digests that tell profiles apart and give no value away, the commit, the CI job, the service."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.model import Header, PixKey, Transactions
from reports.result.provenance import CHECKOUT, ci_job, commit_of, profile_digest
from tests.selftest.hand_made import SANDBOX_PROFILE


def test_the_digest_of_a_profile_follows_its_settings():
    """The digest depends on address, permissions and limits."""
    changed_profiles = (
        replace(SANDBOX_PROFILE, allow=frozenset({"read"})),
        replace(SANDBOX_PROFILE, base_url="https://other.example.test"),
    )
    limited = replace(SANDBOX_PROFILE, limits=replace(SANDBOX_PROFILE.limits, parallel=1))

    assert len(set(map(profile_digest, (SANDBOX_PROFILE, *changed_profiles, limited)))) == 4


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
    """The digest does not depend on accounts, keys, codes or values of headers, so nobody can find them by trying."""
    assert len({profile_digest(replace(SANDBOX_PROFILE, **{name: value})) for value in values}) == 1


def git(folder, *arguments):
    """Run git in this folder."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.test")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_says_if_files_were_changed(tmp_path, monkeypatch):
    """A changed file adds `+dirty`, an untracked file does not.

    A folder inside another work tree has no commit, and without git there is none.
    """
    (tmp_path / "file").write_text("one")
    for arguments in (["init"], ["add", "."], ["commit", "--message=one"]):
        git(tmp_path, *arguments)
    (tmp_path / "suite").mkdir()
    (tmp_path / "another").write_text("not tracked")
    clean = commit_of(tmp_path)
    (tmp_path / "file").write_text("two")
    commit_after_change = commit_of(tmp_path)
    commit_of_subfolder = commit_of(tmp_path / "suite")
    monkeypatch.setenv("PATH", "")

    assert len(clean) == 40
    assert [commit_after_change, commit_of_subfolder, commit_of(CHECKOUT)] == [f"{clean}+dirty", None, None]


JENKINS = "https://jenkins.bank.test/job/canary/12/"


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
        (f"BUILD_URL={JENKINS}{'a' * 500}", None),
        ("GITHUB_RUN_ID=1", None),
    ],
)
def test_the_address_of_the_job(variables, link):
    """The address of a job on each well-known CI system.

    A malformed address, or one with credentials or a secret, is left out.
    """
    assert ci_job(dict(variable.split("=", 1) for variable in variables.split()), str) == link
    assert ci_job({"BUILD_URL": JENKINS}, lambda text: text.replace("canary", "<key>")) is None
