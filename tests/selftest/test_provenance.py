"""Where a run came from: digests that tell profiles apart and give no value away, the commit, the CI job, the service."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.loading import load
from environments.profiles.model import Header, PixKey, Transactions
from reports import provenance
from reports.provenance import CHECKOUT, ci_job, commit_of, profile_digest, service_version

PROFILE = load("sandbox", folder=CHECKOUT / "environments", base_url=None)
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "bank/pix",
    "GITHUB_RUN_ID": "19876543210",
}


def unredacted(text):
    return text


# -- the profile ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"allow": frozenset({"read"})},
        {"base_url": "https://other.example.test"},
        {"limits": replace(PROFILE.limits, parallel=1)},
        {"fail_on": frozenset({"documented"})},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_profile_says_changes_its_digest(change):
    """Whom it asks, what it permits, and its limits."""
    assert profile_digest(replace(PROFILE, **change)) != profile_digest(PROFILE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"accounts": ("0001",)}, {"accounts": ("0002",)}),
        ({"pix_keys": (PixKey("CPF", "39053344705"),)}, {"pix_keys": (PixKey("CPF", "12345678909"),)}),
        ({"transactions": Transactions(("A",))}, {"transactions": Transactions(("B",))}),
        ({"headers": (Header("X-Tenant", text="north"),)}, {"headers": (Header("X-Tenant", text="south"),)}),
        ({"path": Path("here.yaml")}, {"path": Path("there/here.yaml")}),
    ],
    ids=["accounts", "keys", "codes", "header values", "folders"],
)
def test_a_digest_gives_no_value_away(one, other):
    """A reader of the report cannot try values until the digest is the same."""
    assert profile_digest(replace(PROFILE, **one)) == profile_digest(replace(PROFILE, **other))


# -- the suite ------------------------------------------------------------------------------------------------------


def git(folder, *arguments):
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.test")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A git work tree with one commit."""
    git(tmp_path, "init")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message=one")
    return tmp_path


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@needs_git
def test_the_commit_says_what_was_changed(checkout):
    """A file that is not tracked is no change."""
    clean = commit_of(checkout)
    (checkout / "another").write_text("not tracked")
    assert commit_of(checkout) == clean
    (checkout / "file").write_text("two")

    assert len(clean) == 40
    assert commit_of(checkout) == f"{clean}+dirty"


@needs_git
def test_a_folder_within_another_work_tree_has_no_commit(checkout):
    """The commit of a project that has a copy of the suite is not that of the suite."""
    (checkout / "suite").mkdir()

    assert commit_of(checkout / "suite") is None


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    """It is no failure."""
    monkeypatch.setenv("PATH", "")

    assert commit_of(checkout) is None


def test_a_git_that_does_not_answer_gives_no_commit(monkeypatch):
    """The run does not wait for it."""

    def hangs(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(provenance.subprocess, "run", hangs)

    assert commit_of(CHECKOUT) is None


# -- the CI job -----------------------------------------------------------------------------------------------------

AZURE = {"SYSTEM_COLLECTIONURI": "https://dev.azure.com/bank/", "SYSTEM_TEAMPROJECT": "pix", "BUILD_BUILDID": "77"}


@pytest.mark.parametrize(
    ("variables", "link"),
    [
        (GITHUB, "https://github.com/bank/pix/actions/runs/19876543210"),
        ({"CI_JOB_URL": "https://gitlab.com/bank/pix/-/jobs/11987654321"}, "https://gitlab.com/bank/pix/-/jobs/11987654321"),
        ({"BUILD_URL": "http://jenkins.bank.test:8080/job/pix/12/"}, "http://jenkins.bank.test:8080/job/pix/12/"),
        (AZURE, "https://dev.azure.com/bank/pix/_build/results?buildId=77"),
        ({"CIRCLE_BUILD_URL": "https://circleci.com/gh/bank/pix/9"}, "https://circleci.com/gh/bank/pix/9"),
        ({"BUILDKITE_BUILD_URL": "https://buildkite.com/bank/pix/builds/9"}, "https://buildkite.com/bank/pix/builds/9"),
        ({}, None),
        ({"BUILD_URL": ""}, None),
        ({"BUILD_URL": "https://user:word@jenkins.bank.test/job/1/"}, None),
        ({"BUILD_URL": "javascript:alert(1)"}, None),
        ({"BUILD_URL": 'https://jenkins.bank.test/"><script>'}, None),
        ({"BUILD_URL": "https://jenkins.bank.test/ /"}, None),
        ({"BUILD_URL": f"https://jenkins.bank.test/{'a' * 500}"}, None),
        ({"GITHUB_RUN_ID": "1"}, None),
    ],
)  # fmt: skip
def test_the_address_of_the_job(variables, link):
    """That of every well-known CI system; none that is malformed or has credentials."""
    assert ci_job(variables, unredacted) == link


def test_no_address_that_holds_a_secret():
    """A broken link would help nobody."""
    link = {"BUILD_URL": "https://jenkins.bank.test/job/canary/11987654321/"}

    assert ci_job(link, lambda text: text.replace("canary", "<key>")) is None
    assert ci_job(link, str) == link["BUILD_URL"]


# -- the service ----------------------------------------------------------------------------------------------------


def answer(*headers):
    return {"response": {"headers": [list(header) for header in headers]}}


def test_the_version_of_the_service():
    """Every answer that has the header agrees; what it says is cut."""
    answers = [
        answer(("Server", "bank/2.4"), ("X-Api-Version", "7" * 200), ("X-Version", "1"), ("Date", "today")),
        answer(("server", "bank/2.4"), ("X-Version", "2")),
        {"failure": "no answer in time"},
    ]

    assert service_version(answers) == [
        {"header": "Server", "value": "bank/2.4"},
        {"header": "X-Api-Version", "value": "7" * 100},
    ]


def test_a_document_tells_where_the_run_came_from():
    """It is plain data."""
    assert json.loads(json.dumps(dict(provenance.suite()))) == dict(provenance.suite())
    assert len(provenance.suite()["ledger_sha256"]) == len(provenance.suite()["schema_sha256"]) == 64
