"""The pipelines for GitHub and GitLab do what docs/pipelines.md says.

The tests run the commands of the pipelines in a folder that has no more than a runner would have. Fakes take the place
of the other programs of a runner, such as `curl`.
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from environments.sandbox import Server, Service
from spec.requirements import read_yaml
from tests.selftest.promises.test_stopped_runs import StopsAnswering
from tests.selftest.services.forking import ROOT
from tests.selftest.services.running import TOKEN_VARIABLES, clean_environment, write_profile
from tests.selftest.services.waiting import await_event

pytestmark = pytest.mark.slow
GITHUB = ROOT / ".github/workflows/conformance.yml"
GITLAB = ROOT / "docs/pipelines/gitlab-ci.yml"
PAGE = ROOT / "docs/pipelines.md"
STEPS_OF_GITHUB = {
    step["name"]: step["run"]
    for job in read_yaml(GITHUB)["jobs"].values()
    for step in job["steps"]
    if "name" in step and "run" in step
}
FETCH_STEP_OF_GITHUB = STEPS_OF_GITHUB["Fetch the journal, and the last report of this branch"]
SCRIPT_OF_GITLAB = "\n".join(part for part in read_yaml(GITLAB)["conformance"]["script"] if ".ci/install" not in part)
FAKE_TOOLS = {
    "gh": """case "$1" in
  api) case "$2" in *name=journal-*) cat "$FAKE/journals.json" ;; *) cat "$FAKE/reports.json" ;; esac ;;
  run) mkdir -p "$7" && cp -R "$FAKE/$5/." "$7" ;;
esac""",
    "curl": """put= out= ; for url; do case "$last" in --upload-file) put=$url ;; --output) out=$url ;; esac; last=$url; done
file=$FAKE/$(echo "$url" | tr -c 'A-Za-z0-9.\\n' _)
if [ "$put" ]; then cp "$put" "$file"; elif [ -e "$file" ]; then cp "$file" "$out"; printf 200; else printf 404; fi""",
    "python": """case "$CHECK $*" in
  real*) ;; *"-m environments check "*) echo checked; exit "$CHECK" ;; *"-m reports compare"*) exit "$COMPARE" ;;
esac
exec "$PYTHON" "$@\"""",
    "pytest": """[ "$STATUS" = real ] && exec "$PYTHON" -m pytest -c "$ROOT/pyproject.toml" --rootdir="$ROOT" "$ROOT/tests/conformance" "$@"
echo "pytest $*"; mkdir -p runs/staging; echo "$STATUS" > runs/staging/conformance.json; exit "$STATUS\"""",
}
"""By program of a runner, a shell script that takes its place.

| program | the script |
|---|---|
| `python` | for a check of the profile: prints `checked`, and ends with the exit status in the variable CHECK |
| `pytest` | prints its command, writes the exit status in STATUS in the place of a report, and ends with that status |
| `gh`, `curl` | give the files that a test put into the folder of the fakes; `curl` also stores files there |
"""
REAL_RUN = {"STATUS": "real"}
"""With this variable the fake `pytest` runs the suite."""
REAL_COMMANDS = {"CHECK": "real", **REAL_RUN}
"""With these variables the check of the profile and the run are those of the suite, and no fakes."""


class Checkout:
    """A folder with the scripts of the pipelines, as a runner has it (`folder`), and one with fake programs (`fake`)."""

    def __init__(self, folder):
        """Make both folders below this one, with the scripts of `.ci` and the fake programs."""
        self.folder = folder / "checkout"
        self.fake = folder / "fake"
        shutil.copytree(ROOT / ".ci", self.folder / ".ci")
        (self.folder / "environments").mkdir()
        self.fake.mkdir()
        for name, text in FAKE_TOOLS.items():
            (self.fake / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.fake / name).chmod(0o755)

    def start(self, script, **variables):
        """Start a script of a pipeline as a runner does, and return its process.

        `variables` are variables of the environment, which replace those that a runner usually sets.
        """
        variables_of_runner = {
            "PATH": f"{self.fake}:{os.environ['PATH']}", "FAKE": str(self.fake), "ENVIRONMENT": "staging",
            "ROOT": str(ROOT), "PYTHONPATH": str(ROOT), "PYTHON": sys.executable,
            "CHECK": "0", "STATUS": "0", "COMPARE": "0", "NEW_JOURNAL": "false", "OPTIONS": "--seed=1", "PAUSES": "0 0",
            "GITHUB_OUTPUT": str(self.fake / "output"), "GITHUB_STEP_SUMMARY": str(self.fake / "summary"),
            "GITHUB_REPOSITORY": "bank/pix-conformance", "GITHUB_REF_NAME": "main", "CI_PROJECT_DIR": str(self.folder),
            "CI_JOB_TOKEN": "job", "CI_COMMIT_REF_SLUG": "main", "PACKAGES": "https://gitlab.example/packages",
        }  # fmt: skip
        environment = clean_environment(**TOKEN_VARIABLES | variables_of_runner | variables)
        return subprocess.Popen(
            ["bash", "-eo", "pipefail", "-c", script], cwd=self.folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def sh(self, script, **variables):
        """Run a script of a pipeline to its end, and return its exit status and what it printed."""
        with self.start(script, **variables) as process:
            output, _ = process.communicate()
        return process.returncode, output

    def run(self, **variables):
        """Run the step of the GitHub pipeline that runs the suite. Returns its exit status and what it printed.

        The step starts a new journal (the file with the codes that were sent), unless NEW_JOURNAL is "false".
        """
        return self.sh(STEPS_OF_GITHUB["Run"], **{"NEW_JOURNAL": "true"} | variables)

    @property
    def outputs_for_later_steps(self):
        """The lines that the steps of GitHub wrote for later steps, such as "left=report"."""
        file = self.fake / "output"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def checkout(tmp_path):
    """A folder with the scripts of the pipelines, and fake programs of a runner."""
    return Checkout(tmp_path)


# The files


def test_no_expression_is_part_of_a_command():
    """No command of the GitHub workflow contains an expression `${{ … }}`.

    Text that somebody types into an input, or the name of a branch, would be run as a command.
    """
    commands_with_expressions = [command for command in STEPS_OF_GITHUB.values() if "${{" in command]

    assert commands_with_expressions == []


def test_actions_are_pinned_by_commit():
    """The workflows name each action of GitHub by a commit, with its version beside it: `actions/cache@… # v4.2.0`.

    All workflows name the same commit of an action. A name such as `v4` is a tag, which can be moved to other code. That
    code would run beside the token.
    """
    action_lines = set()
    for page in (*GITHUB.parent.glob("*.yml"), PAGE):
        action_lines.update(re.findall(r"uses: +(actions/.+)", page.read_text()))
    matches = [re.fullmatch(r"(actions/[a-z-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in action_lines]

    assert all(matches), action_lines
    names_of_actions = {match[1] for match in matches}
    assert len(names_of_actions) == len(action_lines)


# GitHub


def test_the_first_run_begins_a_journal(checkout):
    """The first run of the GitHub pipeline starts a journal if NEW_JOURNAL is true. Otherwise its exit status is 4.

    The journal is a file with the transaction codes that were sent, so that no run sends one again. After the run, the
    journal and the report are where later steps look for them. The fake of GitHub has no files of earlier runs.
    """
    for name in ("journals", "reports"):
        (checkout.fake / f"{name}.json").write_text('{"artifacts": []}')
    with Server(Service(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
        write_profile(checkout.folder, server.base_url).rename(checkout.folder / "environments/staging.yaml")
        fetch_status, _ = checkout.sh(FETCH_STEP_OF_GITHUB)
        refused_status, refused_output = checkout.run(NEW_JOURNAL="false")
        variables = {
            "ENVIRONMENT": "environments/staging.yaml",
            "XDG_STATE_HOME": str(checkout.folder),  # no files of the user are read or written
            "FIRST": "journal",  # `python -m environments journal` runs first, and prints what the journal has
        }
        status, output = checkout.run(**REAL_COMMANDS, OPTIONS="-k listAccounts", **variables)

    files_of_report = set(os.listdir(checkout.folder / "runs/staging"))

    assert (fetch_status, refused_status, status) == (0, 4, 0), output
    assert "the journal of earlier runs is missing" in refused_output
    assert checkout.outputs_for_later_steps == []  # no report to compare with: only a selection was tested
    assert re.search(r"codes in (?s:.*)ready: pytest --environment=environments/staging.yaml --plan", output)
    assert files_of_report >= {"report.html", "conformance.json", "junit.xml"}
    assert (checkout.folder / "reports/runs/staging/journal-kept").exists()


def artifact(*, run, day, branch="main", fork=False, expired=False):
    """An artifact (a file that a run stored) as the API of GitHub lists it.

    `run` is the number of the run that stored it, and `day` its day in November 2026.
    """
    id_of_head_repository = 2 if fork else 1
    workflow_run = {
        "id": run, "repository_id": 1, "head_repository_id": id_of_head_repository, "head_branch": branch,
    }  # fmt: skip
    return {"expired": expired, "created_at": f"2026-11-{day}T10:00:00Z", "workflow_run": workflow_run}


def let_github_list_an_artifact(checkout, name, *, file, run):
    """Let the fake of GitHub list an artifact (a stored file) of this run for staging, and give its only file."""
    listed = {"artifacts": [artifact(run=run, day=20)]}
    (checkout.fake / f"{name}s.json").write_text(json.dumps(listed))
    (checkout.fake / f"{name}-staging").mkdir()
    (checkout.fake / f"{name}-staging/{file}").touch()


def test_a_later_run_takes_the_journal_and_compares(checkout):
    """A later run of the GitHub pipeline fetches the journal and the last report of its branch.

    The run is compared with that report, unless the report cannot be read (COMPARE is 2). The journal is a file with
    the transaction codes that were sent. The fake of the check prints `checked`, and the fake of pytest its command,
    with the options of the job (--seed=1).
    """
    let_github_list_an_artifact(checkout, "journal", file="journal-kept", run=7)
    let_github_list_an_artifact(checkout, "report", file="conformance.json", run=7)
    result_of_fetch = checkout.sh(FETCH_STEP_OF_GITHUB)
    command = "pytest --environment=staging --report-dir=runs/staging "
    command_with_report = f"{command}--compare-with=previous/conformance.json --seed=1\n"

    result_of_run = checkout.run(NEW_JOURNAL="false")
    result_with_unreadable_report = checkout.run(COMPARE="2")

    assert result_of_fetch == (0, "journal-staging is that of run 7\nreport-staging is that of run 7\n")
    assert result_of_run == (0, f"checked\n{command_with_report}")
    assert result_with_unreadable_report == (0, f"checked\n{command}--seed=1\n")


@pytest.mark.parametrize(
    ("status_of_check", "number_of_checks"),
    [(7, 3), (4, 1)],
    ids=["the service cannot be reached: three checks", "the profile is wrong: one check"],
)
def test_a_failing_check_starts_no_run(status_of_check, number_of_checks, checkout):
    """Before a run the pipeline checks the profile, which moves no money. If the check fails, no run is started.

    The check is repeated while its exit status is 7. GitHub shows an error, and the step has the status of the check.
    """
    status, output = checkout.run(CHECK=str(status_of_check))

    assert (output.count("checked"), output.count("pytest ")) == (number_of_checks, 0)
    assert output.count("::error ") == 1
    assert (checkout.fake / "summary").exists()
    assert (status, checkout.outputs_for_later_steps) == (status_of_check, [])


def test_a_check_that_is_incomplete_starts_a_run(checkout):
    """If the check before a run ends with exit status 6, which is incomplete, the run is started, and no error is shown."""
    status, output = checkout.run(CHECK="6")

    assert (output.count("checked"), output.count("pytest ")) == (1, 1)
    assert output.count("::error ") == 0
    assert not (checkout.fake / "summary").exists()
    assert (status, checkout.outputs_for_later_steps) == (0, ["left=report"])


def test_the_summary_says_why_there_was_no_run(checkout):
    """If the check of the profile fails, the summary of the GitHub job has the first error line of the check.

    It also has the name of the environment, but no address, because nobody has checked the address yet. Here the token
    is missing.
    """
    profile = write_profile(checkout.folder, "http://127.0.0.1:9", sandbox=None)
    profile.rename(checkout.folder / "environments/staging.yaml")
    variables = {"ENVIRONMENT": "environments/staging.yaml", "XDG_STATE_HOME": str(checkout.folder)}
    status, output = checkout.run(**REAL_COMMANDS, PIX_TOKEN="", **variables)
    summary = (checkout.fake / "summary").read_text()

    (error,) = (line for line in output.splitlines() if line.startswith("error: ") and "PIX_TOKEN" in line)
    assert status == 4
    assert "staging: no run was started: the check of the profile ended with exit status 4" in summary
    assert f"```text\n{error}\n```" in summary
    assert f"; {error}" in re.search("^::error .*", output, re.MULTILINE)[0]


@pytest.mark.parametrize("option", ["", "--base-url=https://canary:pa55word@127.0.0.1:9", "https://canary:pa55word@h"])
def test_no_password_in_an_address_is_shown(option, checkout):
    """An address with a password is refused with exit status 4, and neither the log nor the summary shows the password.

    The address stands in the profile or in an option.
    """
    profile = write_profile(checkout.folder, "http://127.0.0.1:9", sandbox=None)
    text = profile.read_text() if option else profile.read_text().replace("http://", "https://canary:pa55word@")
    (checkout.folder / "environments/staging.yaml").write_text(text)
    variables = {"ENVIRONMENT": "environments/staging.yaml", "XDG_STATE_HOME": str(checkout.folder), "OPTIONS": option}
    status, output = checkout.run(**REAL_COMMANDS, **variables)
    summary = (checkout.fake / "summary").read_text()

    assert status == 4, output
    assert "error: " in summary
    assert "pa55word" not in output + summary


def test_a_check_that_breaks_off_is_no_verdict(checkout):
    """If the check of the profile ends with 1, which Python uses for an unexpected error, the step ends with 3.

    Exit status 1 would be a verdict on the service.
    """
    status, _ = checkout.run(CHECK="1")

    assert status == 3


def test_a_kept_journal_has_its_key_in_a_variable(checkout):
    """If the profile keeps the journal (`journal: kept`) and no variable has its key, the step ends with exit status 4.

    The journal has a digest of each sent code, made with the key. Without the key no later run would find a code in it.
    """
    (checkout.folder / "environments/staging.yaml").write_text("journal: kept\n")

    status, _ = checkout.run()

    assert status == 4


@pytest.mark.parametrize(
    ("status_of_run", "outputs_for_later_steps"),
    [(1, ["left=report"]), (6, [])],
    ids=["a verdict: later runs are compared with it", "incomplete: no later run is compared with it"],
)
def test_the_exit_status_of_a_run_is_that_of_the_step(status_of_run, outputs_for_later_steps, checkout):
    """The step of the GitHub pipeline ends with the exit status of the run. The summary names a run without a report.

    The output `left=report` tells later steps to keep the report, so that a later run can be compared with it.
    """
    status_of_step, _ = checkout.run(STATUS=str(status_of_run))
    summary = (checkout.fake / "summary").read_text()

    assert status_of_step == status_of_run
    assert checkout.outputs_for_later_steps == outputs_for_later_steps
    assert f"staging: ended without a report, exit status {status_of_run}: " in summary


def test_the_newest_artifact_of_the_branch_counts():
    """The pipeline of GitHub takes the newest artifact (stored file) of its branch.

    An artifact that has expired is left out, and so is one of a fork: a pull request from a fork could store a journal
    that lacks codes that were sent.
    """
    module_spec = importlib.util.spec_from_file_location("fetch", ROOT / ".ci/fetch.py")
    fetch = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(fetch)
    artifacts = [
        artifact(run=1, day=20), artifact(run=3, day=22), artifact(run=2, day=21),
        artifact(run=4, day=23, branch="release"), artifact(run=5, day=24, expired=True), artifact(run=6, day=25, fork=True),
    ]  # fmt: skip

    newest_of_all, newest_of_main = fetch.newest(artifacts), fetch.newest(artifacts, "main")

    assert (newest_of_all["id"], newest_of_main["id"]) == (4, 3)
    assert fetch.newest([]) is None


# GitLab


def test_the_gitlab_job_keeps_journal_and_report(checkout):
    """The GitLab job keeps journal and report after a failing run, too, and the next job uses both.

    The journal is a file with the transaction codes that were sent. The exit status of the job is that of the run. The
    fake of pytest writes its exit status in the place of a report, so the report of the first run is "1".
    """
    status_without_journal, _ = checkout.sh(SCRIPT_OF_GITLAB)
    first_status, first_output = checkout.sh(SCRIPT_OF_GITLAB, NEW_JOURNAL="true", STATUS="1")
    for folder in ("reports", "runs", "previous"):  # the next job starts in a fresh folder; GitLab keeps the packages
        shutil.rmtree(checkout.folder / folder)
    second_status, second_output = checkout.sh(SCRIPT_OF_GITLAB)

    statuses = (status_without_journal, first_status, second_status)
    report_of_first_run = (checkout.folder / "previous/conformance.json").read_text()

    assert statuses == (4, 1, 0), first_output + second_output
    assert report_of_first_run == "1\n"
    assert "--compare-with=previous/conformance.json --seed=1" in second_output


def test_the_key_of_the_journal_is_not_kept(checkout):
    """Both pipelines keep all files beside the journal except for its keys: GitLab in a package, GitHub as an artifact.

    The journal has a digest of each sent code, made with the key. A person who has the key could find codes by trying.
    """
    folder = checkout.folder / "reports/runs/staging"
    folder.mkdir(parents=True)
    for name in ("journal.jsonl", "journal.key", "keys-of-the-journal.jsonl", "keys-of-the-journal.key"):
        (folder / name).touch()
    checkout.sh(SCRIPT_OF_GITLAB, NEW_JOURNAL="true")
    names_kept = subprocess.check_output(["tar", "-tzf", checkout.folder / "journal.tgz"], text=True).split()
    [step] = [step for step in read_yaml(GITHUB)["jobs"]["run"]["steps"] if step.get("name") == "Keep the journal"]

    assert sorted(names_kept) == ["./journal-kept", "./journal.jsonl", "./keys-of-the-journal.jsonl"]
    assert "!reports/runs/${{ matrix.environment }}/*.key" in step["with"]["path"].split("\n")


@pytest.mark.parametrize("script", [STEPS_OF_GITHUB["Run"], SCRIPT_OF_GITLAB], ids=["GitHub", "GitLab"])
def test_a_cancelled_job_ends_after_its_run(script, checkout):
    """If a job is cancelled, the run is stopped, and writes its report before the job ends.

    GitHub sends SIGINT and then SIGTERM, and GitLab sends SIGTERM alone. Here both scripts get both signals. The service
    of this test does not answer from the thirtieth request on, so that the job is cancelled in the middle of its run.
    """
    path = "environments/staging.yaml"
    variables = {"ENVIRONMENT": path, "NEW_JOURNAL": "true", "OPTIONS": "-k registerPixKey", **REAL_RUN}
    with StopsAnswering(30) as service:
        write_profile(checkout.folder, service.base_url).rename(checkout.folder / path)
        with checkout.start(script, **variables) as process:
            await_event(service.unanswered_request_arrived, process)
            process.send_signal(signal.SIGINT)
            process.terminate()  # sends SIGTERM
            process.wait()
            document = json.loads((checkout.folder / "runs/staging/conformance.json").read_text())

    assert document["verdict"] == "interrupted"


def test_nothing_is_allowed_to_fail():
    """The GitLab job has neither `allow_failure`, which hides failures, nor `retry`, because a run may move money."""
    forbidden_settings = {"allow_failure", "retry"} & read_yaml(GITLAB)["conformance"].keys()

    assert forbidden_settings == set()


# What a person who starts a pipeline may choose

REFUSED_OPTIONS = {
    "another address": ("--base-url=https://elsewhere.example", "--base-url: the address is not in also_at"),
    "another address after a blank": ("--base-url https://elsewhere.example", "--base-url is no option"),
    "a second address": (
        "--base-url={permitted_address} --base-url=https://elsewhere.example",
        "--base-url: the address is not in",
    ),
    "another profile": ("--environment=/tmp/mine.yaml", "--environment is no option"),
    "a plugin": ("-p mine", "-p is no option"),
    "a setting": ("-o addopts=--base-url=https://elsewhere.example", "-o is no option"),
    "a configuration": ("-c /tmp/pytest.ini", "-c is no option"),
    "a test": ("/tmp/test_mine.py", "a word (not repeated here) is no option"),
    "an option as a value": ("-k --base-url=https://elsewhere.example", "-k: expected a value"),
    "an option that begins alike": ("--new-journal=x", "--new-journal is no option"),
    "a path after a blank": ("--seed /tmp/test_mine.py", "--seed is no option"),
}
"""By what is wrong, the options of a job (the variable OPTIONS), and how the reason for their refusal begins."""
REFUSED_FIRST_COMMANDS = {
    "another address": ("check {path} --base-url=https://elsewhere.example", "FIRST: check is no command"),
    "another address of a command": (
        "journal --base-url=https://elsewhere.example",
        "--base-url: the address is not in",
    ),
    "another profile": ("cleanup /tmp/mine.yaml --yes", "FIRST: a word (not repeated here) is neither"),
    "a profile that is made": ("new mine --base-url=https://elsewhere.example", "FIRST: new is no command"),
    "a second line": ("journal\ncheck", "FIRST: check is neither"),
    "an option as a name": ("journal --settle --base-url=x", "FIRST: --settle: expected the name of an entry"),
}
"""By what is wrong, the command that a job runs first (the variable FIRST), and how the reason for its refusal begins."""


@pytest.fixture
def staging(checkout):
    """The path of the profile of a job, from the folder of the checkout. It permits a second address (`also_at`)."""
    path = checkout.folder / "environments/staging.yaml"
    write_profile(checkout.folder, "http://127.0.0.1:9", also_at=["http://127.0.0.1:9/preview"]).rename(path)
    return "environments/staging.yaml"


@pytest.mark.parametrize("script", [STEPS_OF_GITHUB["Run"], SCRIPT_OF_GITLAB], ids=["GitHub", "GitLab"])
@pytest.mark.parametrize(("options", "reason"), REFUSED_OPTIONS.values(), ids=REFUSED_OPTIONS)
def test_a_pipeline_takes_no_option_that_could_send_the_token_elsewhere(options, reason, script, checkout, staging):
    """A person who starts a pipeline cannot choose an address that the profile does not have, a profile or a plugin.

    Such an option, for example `--base-url=https://elsewhere.example`, ends the job with exit status 4 before anything
    is sent. The profile permits a second address. One case names it, and a wrong address after it.
    """
    options_of_job = options.format(permitted_address="http://127.0.0.1:9/preview")
    status, output = checkout.sh(script, NEW_JOURNAL="true", ENVIRONMENT=staging, OPTIONS=options_of_job)

    signs_of_a_start = [text for text in ("checked", "pytest --") if text in output]  # printed by the fakes

    assert status == 4
    assert f"no run was started: {reason}" in output
    assert signs_of_a_start == []


@pytest.mark.parametrize(("first_command", "reason"), REFUSED_FIRST_COMMANDS.values(), ids=REFUSED_FIRST_COMMANDS)
def test_a_pipeline_takes_no_first_command_that_could_send_the_token_elsewhere(
    first_command, reason, checkout, staging
):
    """The variable FIRST of a pipeline permits only commands about the journal of its own environment.

    Any other command ends the job with exit status 4. For example, `check` with another address would send the token to
    that address.
    """
    status, output = checkout.run(ENVIRONMENT=staging, FIRST=first_command.format(path=staging))

    assert status == 4
    assert f"no run was started: {reason}" in output
    assert "checked" not in output


@pytest.mark.parametrize("name", ["PYTEST_ADDOPTS", "PYTEST_BASE_URL", "PYTEST_PLUGINS"])
def test_a_pipeline_takes_nothing_from_variables_of_pytest(name, checkout):
    """A pipeline ends with exit status 4 if a variable such as PYTEST_ADDOPTS is set.

    pytest would take options from the variable, and anyone who starts a pipeline of GitLab may set any variable.
    """
    status, output = checkout.run(**{name: "--base-url=https://elsewhere.example"})

    assert status == 4
    assert f"no run was started: {name} gives pytest what a pipeline does not take" in output
    assert "checked" not in output


@pytest.mark.parametrize(
    "options",
    [
        "-k executePix",
        "-m property --parallel=2 --seed=1 --examples=3 --new-journal",
        "--resend-code=code.txt",
        "{option_with_permitted_address}",
    ],
)
def test_a_pipeline_takes_the_options_of_the_list(options, checkout, staging):
    """A pipeline gives permitted options to pytest as they are, such as -k, or an address that the profile permits.

    The profile permits the address in `also_at`. Before the run, the job runs the command in FIRST.
    """
    options_of_job = options.format(option_with_permitted_address="--base-url=http://127.0.0.1:9/preview/")
    status, output = checkout.run(ENVIRONMENT=staging, OPTIONS=options_of_job, FIRST=f"journal {staging}")

    assert status == 0, output
    assert output.count(f"{options_of_job}\n") == 1


def test_no_token_is_an_argument_of_curl():
    """No curl command of the GitLab job has the token of the job as an argument.

    Every process of a machine can read the arguments of the other processes.
    """
    commands = [line for line in GITLAB.read_text().splitlines() if "curl -" in line]

    commands_with_token = [line for line in commands if "$CI_JOB_TOKEN" in line.partition("curl ")[2]]

    assert len(commands) == 2
    assert commands_with_token == []


def test_no_checkout_keeps_its_credentials():
    """No checkout step of a GitHub workflow keeps the credentials of git, because a later step could push with them."""
    workflows = [read_yaml(path) for path in GITHUB.parent.glob("*.yml")]
    steps = []
    for workflow in workflows:
        for job in workflow["jobs"].values():
            steps += job["steps"]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]

    settings = [step["with"]["persist-credentials"] for step in checkouts]

    assert settings == [False, False]


def test_a_deployment_is_tested_by_the_default_branch():
    """After a deployment GitHub runs the suite of the default branch, whichever branch was deployed.

    Otherwise the author of the deployed branch would choose the profile, whose commands run beside the token.
    """
    checkout_step, *_ = read_yaml(GITHUB)["jobs"]["run"]["steps"]

    assert checkout_step["with"]["ref"] == (
        "${{ inputs.suite-ref || (github.event_name == 'deployment_status' && !inputs.suite && "
        "github.event.repository.default_branch) || '' }}"
    )


@pytest.mark.parametrize(
    "text", ["x; touch {made}", "$(touch {made})", "`touch {made}`", "$(shell touch {made})", "'; touch {made}; '"]
)
@pytest.mark.parametrize("is_argument", [True, False], ids=["argument of make", "variable of the environment"])
def test_make_runs_nothing_that_an_environment_is_called(text, is_argument, tmp_path):
    """`make` gives the name of an environment to pytest as one argument, and never runs it as a command of the shell.

    The name here is a command that would make a file. It is set as an argument of make, or as a variable. The fake
    pytest prints the number of its arguments, and the first one.
    """
    file_of_attack = tmp_path / "made"
    bin_folder = tmp_path / ".venv/bin"
    bin_folder.mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.txt", ".venv/ready"):
        (tmp_path / name).touch()
    (bin_folder / "pytest").write_text('#!/bin/sh\nprintf "%s\\n" "$#" "$1"\n')
    (bin_folder / "pytest").chmod(0o755)
    name = text.format(made=file_of_attack)
    arguments = [f"ENVIRONMENT={name}"] if is_argument else []
    variables = {} if is_argument else {"ENVIRONMENT": name}
    process = subprocess.run(
        ["make", *arguments], cwd=tmp_path, env=clean_environment(**variables), capture_output=True, text=True
    )

    assert not file_of_attack.exists()
    assert process.stdout.endswith(f"1\n--environment={name}\n"), process.stdout + process.stderr


# What is installed


OPTIONS_OF_INSTALL = "--require-hashes --only-binary=:all: --requirement requirements.txt"
"""Options of pip: it installs only wheels, and only those whose hash is in requirements.txt."""


def test_pipelines_install_as_the_readme_says():
    """The pipelines, README.md and docs/staging.md install packages with the same options of pip.

    The pipelines call `.ci/install`, which hides secrets from pip, and never pip itself.
    """
    installers = {}  # by file, the programs that install with these options
    for path in (GITHUB, GITLAB, ROOT / "README.md", ROOT / "docs/staging.md"):
        installers[path.name] = re.findall(rf"(pip|\.ci/)\W?install {OPTIONS_OF_INSTALL}", path.read_text())
    pipelines_that_call_pip = [path.name for path in (GITHUB, GITLAB) if "pip install" in path.read_text()]

    assert installers == {
        "conformance.yml": [".ci/"],
        "gitlab-ci.yml": [".ci/"],
        "README.md": ["pip"],
        "staging.md": ["pip"],
    }
    assert pipelines_that_call_pip == []


def test_installers_do_not_see_the_token(tmp_path):
    """pip runs without the token and other secrets: it gets only the variables that Python and pip need."""
    python = tmp_path / ".venv/bin/python"
    log = tmp_path / "log"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nenv > "{log}"; echo "$@" >> "{log}"\n')
    python.chmod(0o755)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    permitted = {"PIP_INDEX_URL": "https://mirror.example/simple", "HTTPS_PROXY": "http://proxy.example:3128"}
    secrets = {**TOKEN_VARIABLES, "VAULT_TOKEN": "v"}
    subprocess.run(
        [tmp_path / ".ci/install", "--requirement", "x y.txt"],
        env=clean_environment(**permitted, **secrets),
        check=True,
    )
    names = {line.partition("=")[0] for line in log.read_text().splitlines()}

    secrets_that_pip_sees = names & secrets.keys()

    assert secrets_that_pip_sees == set()
    assert names >= {"PATH", "HOME", *permitted}
    assert log.read_text().endswith("-m pip install --quiet --disable-pip-version-check --requirement x y.txt\n")
