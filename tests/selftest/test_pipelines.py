"""The pipelines are valid, and the commands that they contain do what docs/pipelines.md says, in a bare directory."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from environments.sandbox import Server, Service
from tests.selftest.services.forking import ROOT
from tests.selftest.services.running import TOKEN, environment, write_profile

pytestmark = pytest.mark.slow
GITHUB = ROOT / ".github/workflows/conformance.yml"
GITLAB = ROOT / "docs/pipelines/gitlab-ci.yml"
PAGE = ROOT / "docs/pipelines.md"
FAKE_GH = """#!/bin/sh
case "$1" in
  api) case "$2" in *name=journal-*) cat "$FAKE/journals.json" ;; *) cat "$FAKE/reports.json" ;; esac ;;
  run) mkdir -p "$7" && cp -R "$FAKE/$5/." "$7" ;;
esac
"""
FAKE_CURL = """#!/bin/sh
put= out= ; for url; do case "$last" in --upload-file) put=$url ;; --output) out=$url ;; esac; last=$url; done
file=$FAKE/$(echo "$url" | tr -c 'A-Za-z0-9.\\n' _)
if [ "$put" ]; then cp "$put" "$file"; elif [ -e "$file" ]; then cp "$file" "$out"; printf 200; else printf 404; fi
"""
NONE = {"artifacts": []}


def steps_of(job):
    """The commands of a job of the workflow, by the name of the step."""
    return {
        step["name"]: step["run"] for step in yaml.safe_load(GITHUB.read_text())["jobs"][job]["steps"] if "run" in step
    }


class Checkout:
    """The files of the project in a directory of their own, with the virtual environment of the self-tests, and tools
    that stand for those of the pipeline."""

    def __init__(self, folder, base_url):
        self.folder, self.fake = folder / "checkout", folder / "fake"
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / ".venv").symlink_to(sys.prefix)
        self.fake.mkdir()
        for name, text in {"gh": FAKE_GH, "curl": FAKE_CURL}.items():
            (self.fake / name).write_text(text)
            (self.fake / name).chmod(0o755)
        self.found(journals=NONE, reports=NONE)
        write_profile(self.folder / "environments", base_url).rename(self.folder / "environments/staging.yaml")

    def found(self, **listings):
        """What the API lists."""
        for name, listing in listings.items():
            (self.fake / f"{name}.json").write_text(json.dumps(listing))

    def sh(self, script, **variables):
        """Run a script as a runner does: its exit status and output."""
        given = {
            "PATH": f"{self.fake}:{sys.prefix}/bin:{os.environ['PATH']}", "FAKE": str(self.fake), "ENVIRONMENT": "staging",
            "GITHUB_OUTPUT": str(self.fake / "output"), "GITHUB_STEP_SUMMARY": str(self.fake / "summary"),
            "GITHUB_REPOSITORY": "bank/pix-conformance", "GITHUB_REF_NAME": "main", "OPTIONS": "-k listAccounts",
            "PAUSES": "0 0", "CI_PROJECT_DIR": str(self.folder), "CI_JOB_TOKEN": "job", "CI_COMMIT_REF_SLUG": "main",
            "PACKAGES": "https://gitlab.example/packages",
        }  # fmt: skip
        ended = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=self.folder, env=environment(**TOKEN | given | variables),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout

    @property
    def document(self):
        """conformance.json of the run."""
        return json.loads((self.folder / "runs/staging/conformance.json").read_text())

    @property
    def output(self):
        """What the steps gave to later ones."""
        return (self.fake / "output").read_text().splitlines() if (self.fake / "output").exists() else []


@pytest.fixture
def service():
    """A lawful service."""
    service = Service(token=TOKEN["PIX_TOKEN"])
    with Server(service) as server:
        service.base_url = server.base_url
        yield service


@pytest.fixture
def checkout(tmp_path, service):
    """A checkout whose profile leads to the service."""
    return Checkout(tmp_path, service.base_url)


class TestTheFiles:
    @pytest.mark.parametrize("path", sorted(GITHUB.parent.glob("*.yml")), ids=lambda path: path.stem)
    def test_workflows_are_valid(self, path):
        """Against the published schema."""
        assert check("vendor.github-workflows", path) == (0, "ok -- validation done")

    def test_the_gitlab_job_is_valid(self):
        """Against the published schema."""
        assert check("vendor.gitlab-ci", GITLAB) == (0, "ok -- validation done")

    @pytest.mark.parametrize("text", re.findall(r"(?ms)^```yaml\n(.*?)^```", PAGE.read_text()) if PAGE.exists() else [])
    def test_examples_of_the_page_are_valid(self, text, tmp_path):
        """Each names the file that it goes into."""
        schema = {".github/": "vendor.github-workflows", ".gitlab-": "vendor.gitlab-ci"}[text[2:10]]
        (tmp_path / "example.yml").write_text(text)

        assert check(schema, tmp_path / "example.yml") == (0, "ok -- validation done")

    def test_no_expression_is_part_of_a_command(self):
        """What somebody types into an input, or names a branch, is never run."""
        jobs = yaml.safe_load(GITHUB.read_text())["jobs"]
        commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]

        assert [command for command in commands if "${{" in command] == []

    def test_actions_are_pinned_by_commit(self):
        """A tag that is moved runs other code beside the token. Each action has one commit, and its version beside it."""
        pages = [*GITHUB.parent.glob("*.yml"), PAGE]
        used = {line for page in pages for line in re.findall(r"uses: +(actions/.+)", page.read_text())}
        pinned = [re.fullmatch(r"(actions/[a-z-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used]

        assert all(pinned), used
        assert len({match[1] for match in pinned}) == len(used)


def check(schema, path):
    """What check-jsonschema says of a file: its exit status and last line."""
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        schema,
        "--data-transform",
        "gitlab-ci",
        str(path),
    ]
    command = (
        command if "gitlab" in schema else [part for part in command if part not in ("--data-transform", "gitlab-ci")]
    )
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, (ended.stdout + ended.stderr).strip()


class TestGitHub:
    @pytest.mark.parametrize(
        ("names", "chosen"),
        [("staging", ["staging"]), ("staging, qa production", ["staging", "qa", "production"]), ('a"b', ['a"b'])],
    )
    def test_environments_are_chosen(self, names, chosen, checkout):
        """A list for the matrix."""
        assert checkout.sh(steps_of("choose")["Choose the environments"], NAMES=names)[0] == 0
        name, _, value = checkout.output[0].partition("=")

        assert (name, json.loads(value)) == ("environments", chosen)

    def test_the_first_run_begins_a_journal(self, checkout):
        """When that is asked for; the report and the journal are where the next steps take them from."""
        steps = steps_of("run")
        fetched = checkout.sh(steps["Fetch the journal, and the last report of this branch"])
        refused = checkout.sh(steps["Run"], NEW_JOURNAL="false")
        status, output = checkout.sh(steps["Run"], NEW_JOURNAL="true")

        assert fetched[0] == 0
        assert refused[0] == 4
        assert "the journal of earlier runs is missing" in refused[1]
        assert status == 0, output
        assert checkout.output == ["left=report"]
        assert {path.name for path in (checkout.folder / "runs/staging").iterdir()} >= {
            "report.html",
            "conformance.json",
            "junit.xml",
        }
        assert (checkout.folder / "reports/runs/staging/journal-kept").exists()

    def test_a_later_run_takes_the_journal_and_compares(self, checkout):
        """With the last report of its branch."""
        steps = steps_of("run")
        checkout.sh(steps["Run"], NEW_JOURNAL="true")
        shutil.move(checkout.folder / "runs/staging", checkout.fake / "report-staging")
        shutil.move(checkout.folder / "reports/runs/staging", checkout.fake / "journal-staging")
        run = {"id": 7, "repository_id": 1, "head_repository_id": 1, "head_branch": "main"}
        kept = {"artifacts": [{"expired": False, "created_at": "2026-11-20T10:00:00Z", "workflow_run": run}]}
        checkout.found(journals=kept, reports=kept)

        fetched = checkout.sh(steps["Fetch the journal, and the last report of this branch"])
        status, output = checkout.sh(steps["Run"], NEW_JOURNAL="false")

        assert fetched == (0, "journal-staging is that of run 7\nreport-staging is that of run 7\n")
        assert status == 0, output
        assert checkout.document["comparison"]["comparable"]

    def test_a_report_that_cannot_be_compared_with_is_left_out(self, checkout):
        """A suite of another version may have written it."""
        (checkout.folder / "previous").mkdir()
        (checkout.folder / "previous/conformance.json").write_text("{}")
        status, output = checkout.sh(steps_of("run")["Run"], NEW_JOURNAL="true")

        assert status == 0, output
        assert checkout.document["comparison"] is None

    def test_a_service_that_cannot_be_reached_is_waited_for(self, tmp_path):
        """By checks, which move no money; there is no run without one that reaches it."""
        checkout = Checkout(tmp_path, "http://127.0.0.1:9")
        status, output = checkout.sh(steps_of("run")["Run"], NEW_JOURNAL="true")

        assert status == 7
        assert output.count("cannot be reached") == 3
        assert not (checkout.folder / "runs").exists()
        assert checkout.output == []

    def test_a_profile_that_is_wrong_is_not_retried(self, checkout):
        """Its problems are told once."""
        (checkout.folder / "environments/staging.yaml").write_text("base_ulr: x")
        status, output = checkout.sh(steps_of("run")["Run"], NEW_JOURNAL="true")

        assert status == 4
        assert output.count("base_ulr: unknown key") == 1

    def test_a_service_that_fails_leaves_a_report(self, checkout, service):
        """And the exit status of the run."""
        execute = service.execution_result
        service.execution_result = lambda transfer: execute(transfer) | {"document": 5}
        status, output = checkout.sh(steps_of("run")["Run"], NEW_JOURNAL="true", OPTIONS="-k executePix.document")

        assert status == 1, output
        assert checkout.output == ["left=report"]


class TestArtifacts:
    newest = staticmethod(lambda *found, branch="": _fetch().newest(list(found), branch))

    def artifact(self, number, day, branch="main", *, fork=False, expired=False):
        """An artifact as the API lists it."""
        run = {"id": number, "repository_id": 1, "head_repository_id": 2 if fork else 1, "head_branch": branch}
        return {"expired": expired, "created_at": f"2026-11-{day}T10:00:00Z", "workflow_run": run}

    def test_the_newest_counts(self):
        """In whatever order they are listed; what has expired is gone."""
        assert self.newest(self.artifact(1, 20), self.artifact(2, 22), self.artifact(3, 21))["id"] == 2
        assert self.newest(self.artifact(1, 20), self.artifact(2, 22, expired=True))["id"] == 1
        assert self.newest() is None

    def test_one_of_a_fork_does_not_count(self):
        """A pull request could upload a journal without the codes that were sent."""
        assert self.newest(self.artifact(1, 20), self.artifact(2, 22, fork=True))["id"] == 1

    def test_one_of_the_branch(self):
        """Where one is named."""
        found = self.artifact(1, 20), self.artifact(2, 22, "release")

        assert self.newest(*found, branch="main")["id"] == 1
        assert self.newest(*found)["id"] == 2


def _fetch():
    """The script that fetches artifacts."""
    spec = importlib.util.spec_from_file_location("fetch", ROOT / ".ci/fetch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestGitLab:
    job = yaml.safe_load(GITLAB.read_text())

    def script(self, name):
        """The commands of a job in one shell, without those that install."""
        return "\n".join(part for part in self.job[name]["script"] if ".ci/install" not in part)

    def test_two_runs(self, checkout):
        """The second one has the journal of the first, and is compared with it."""
        refused = checkout.sh(self.script("conformance"))
        first = checkout.sh(self.script("conformance"), NEW_JOURNAL="true")
        shutil.rmtree(checkout.folder / "reports/runs/staging")
        shutil.rmtree(checkout.folder / "runs")
        second = checkout.sh(self.script("conformance"))

        assert (refused[0], first[0], second[0]) == (4, 0, 0), first[1] + second[1]
        assert checkout.document["comparison"]["comparable"]

    def test_the_exit_status_of_the_run_is_that_of_the_job(self, checkout, service):
        """And its report is kept for the next run."""
        execute = service.execution_result
        service.execution_result = lambda transfer: execute(transfer) | {"document": 5}

        failing = {"NEW_JOURNAL": "true", "OPTIONS": "-k executePix.document"}

        assert checkout.sh(self.script("conformance"), **failing)[0] == 1
        assert [path.name for path in checkout.fake.glob("*conformance_report*")] != []

    def test_nothing_is_allowed_to_fail(self):
        """No exit status passes, and none repeats a run: it may move money."""
        assert not {"allow_failure", "retry"} & self.job["conformance"].keys()


INSTALL = "--require-hashes --only-binary=:all: --requirement requirements.txt"


def test_all_install_as_the_readme_says():
    """Wheels alone, each with its hash: make, both pipelines and the pages."""
    assert f"pip install {INSTALL}" in (ROOT / "README.md").read_text()
    assert f"pip install {INSTALL}" in (ROOT / "docs/staging.md").read_text()
    assert all(f".ci/install {INSTALL}" in path.read_text() for path in (GITHUB, GITLAB))
    assert not [path.name for path in (GITHUB, GITLAB) if "pip install" in path.read_text()]


def made(folder, target):
    """What make would run for a target where nothing is installed yet, not knowing of the make that runs the self-tests."""
    for name in ("Makefile", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    command, environment = ["make", "-n", target], {"PATH": os.environ["PATH"]}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_make_conformance_installs_what_a_run_needs_alone(tmp_path):
    """What only contributors need is installed by the commands that need it."""
    installs = [line for line in made(tmp_path, "conformance").splitlines() if "install" in line]

    assert installs == [f"PYTHON=python3 .ci/install {INSTALL}"]


@pytest.mark.parametrize("target", ["test", "quick", "lint", "proof", "bench", "screenshots"])
def test_make_installs_for_contributors(target, tmp_path):
    """Once, after what a run needs."""
    installs = [line for line in made(tmp_path, target).splitlines() if "install" in line]

    assert installs[1:] == [".ci/install --requirement constraints.txt"]


def test_installers_do_not_see_the_token(tmp_path):
    """Nor whatever else is exported: what pip and Python need is given by name."""
    python, seen = tmp_path / ".venv/bin/python", tmp_path / "seen"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nenv > "{seen}"; echo "$@" >> "{seen}"\n')
    python.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/install", tmp_path / ".ci")
    given = {
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "HTTPS_PROXY": "http://proxy.example:3128",
        "PIX_KEY": "k",
    }
    variables = environment(**TOKEN, **given, VAULT_TOKEN="v", CI_JOB_TOKEN="c")
    subprocess.run([tmp_path / ".ci/install", "--requirement", "x y.txt"], env=variables, check=True)
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}

    assert {"PATH", "HOME", "PIP_INDEX_URL", "HTTPS_PROXY"} <= names
    assert names & {"PIX_TOKEN", "PIX_KEY", "VAULT_TOKEN", "CI_JOB_TOKEN"} == set()
    assert seen.read_text().endswith("-m pip install --quiet --disable-pip-version-check --requirement x y.txt\n")
