"""The command line as its users meet it: options, exit statuses, the last lines and the files."""

import json
import subprocess
import sys

import pytest

from environments.sandbox import Server, Service
from spec.requirements import requirements
from tests.selftest.junit_files import written
from tests.selftest.services.forking import ROOT, run_pytest
from tests.selftest.services.running import environment, sandbox_at

OPTIONS = ["-q", "-p", "no:cacheprovider", "-m", "not property"]


def run(*arguments, **variables):
    """Run pytest from the checkout."""
    return run_pytest([*OPTIONS, *arguments], environment(**variables))


@pytest.fixture(scope="module")
def sandbox_run(tmp_path_factory):
    """One run against the embedded sandbox, started as a user would."""
    folder = tmp_path_factory.mktemp("report")
    command = [sys.executable, "-m", "pytest", *OPTIONS, f"--report-dir={folder}"]
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True), folder


class WithoutDigit(Service):
    """The execution result has no digit."""

    def execution_result(self, transfer):
        return {name: value for name, value in super().execution_result(transfer).items() if name != "digit"}


@pytest.fixture(scope="module")
def failing_run(tmp_path_factory):
    """One run against a service that breaks one statement."""
    folder = tmp_path_factory.mktemp("report")
    service = WithoutDigit()
    with Server(service) as server:
        options = [f"--environment={sandbox_at(server.base_url, folder)}", f"--report-dir={folder}"]
        return run(*options, PIX_SANDBOX_TOKEN=service.token), folder


def test_sandbox_conforms(sandbox_run):
    """The default run passes with exit status 0."""
    assert sandbox_run[0].returncode == 0, sandbox_run[0].stdout


def test_terminal_names_verdict_and_report(sandbox_run):
    """The last lines name the verdict and where the report lies."""
    result, folder = sandbox_run

    assert "CONFORMANT" in result.stdout
    assert f"report: {folder}/report.html" in result.stdout


def test_conformance_json_has_a_line_for_every_row(sandbox_run):
    """conformance.json lists every requirement in its order."""
    document = json.loads((sandbox_run[1] / "conformance.json").read_text("utf-8"))

    assert [row["id"] for row in document["requirements"]] == list(requirements())
    assert (document["verdict"], document["exit_status"]) == ("conformant", 0)
    assert document["traffic"]["executions"] == 10
    assert document["traffic"]["requests"] <= 300  # of which at most 40 carry a wrong token


def test_evidence_numbers_lead_to_exchanges(sandbox_run):
    """Every exchange that a requirement names is listed."""
    document = json.loads((sandbox_run[1] / "conformance.json").read_text("utf-8"))
    numbers = {exchange["number"] for exchange in document["exchanges"]}

    assert {number for row in document["requirements"] for number in row["exchanges"]} <= numbers


def test_junit_has_one_case_a_requirement(sandbox_run):
    """junit.xml is written from the same results; the run itself comes first, and none is red."""
    found = written(sandbox_run[1])

    assert list(found) == ["run", *requirements()]
    assert {result[0] for result in found.values() if result} <= {"skipped"}


def test_files_are_their_owners_alone(sandbox_run):
    """Nobody else reads a report."""
    assert {path.stat().st_mode & 0o777 for path in sandbox_run[1].iterdir()} == {0o600}


def test_failure_names_row_statement_and_finding(failing_run):
    """A failing requirement is shown with its statement and what was found."""
    result, folder = failing_run
    document = json.loads((folder / "conformance.json").read_text("utf-8"))
    failing = [row["id"] for row in document["requirements"] if row["verdict"] == "fail"]

    assert result.returncode == 1
    assert failing == ["executePix.digit.present"]
    assert "FAIL executePix.digit.present" in result.stdout
    assert "digit is missing" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--environment=nope"],
            "ERROR: environments/nope.yaml: cannot be read (No such file or directory); the environments in environments are: ",
        ),
        (
            ["--verify-base-url"],
            "ERROR: --verify-base-url bypasses the checks of the suite; leave it out, every run checks the target first",
        ),
        (
            ["--examples=0"],
            "ERROR: --examples: expected a whole number from 1, got '0'",
        ),
        (
            ["--seed=x"],
            "ERROR: --seed: expected a whole number from 0, got 'x'",
        ),
        (
            ["--environment=staging.example"],
            "ERROR: environments/staging.example.yaml: PIX_TOKEN is not",
        ),
    ],
)
def test_bad_input_is_one_line(arguments, line):
    """A wrong option or profile ends with exit status 4 and one line, before any request."""
    result = run(*arguments, "--no-report")

    assert result.returncode == 4
    assert [text[: len(line)] for text in result.stderr.splitlines() if text] == [line]


def test_variables_of_ci_are_not_shown():
    """-v shows what pytest-metadata gathers: the variables of some CI systems name people."""
    result = run("-vv", "--no-report", "-k", "listAccounts.exists", CI_PROJECT_PATH="maria/pix")

    assert result.returncode == 0
    assert "maria" not in result.stdout


def test_dead_server_is_unreachable(tmp_path):
    """A dead target ends the run with exit status 7 and reports that blame nobody and say why nothing was tested."""
    result = run("--base-url=http://127.0.0.1:9", f"--report-dir={tmp_path}", PIX_SANDBOX_TOKEN="t")
    document, cases = json.loads((tmp_path / "conformance.json").read_text("utf-8")), written(tmp_path)

    assert result.returncode == 7
    assert "http://127.0.0.1:9 cannot be reached: the connection is refused; this is no verdict" in result.stdout
    assert document["verdict"] == "unreachable"
    assert f"{document['headline']}\n" in result.stdout
    assert f"report: {tmp_path / 'report.html'}\n" in result.stdout
    assert not [row for row in document["requirements"] if row["verdict"] == "fail"]
    assert cases["run"] == ("error", document["headline"])
    why = "not-exercised: the target cannot be reached: the connection is refused"
    assert cases["listAccounts.exists"] == ("skipped", why)


def test_selection_by_id():
    """-k takes a requirement or a group of requirements, and the verdict is of those alone."""
    result = run("-k", "executePix.document", "--no-report")

    assert result.returncode == 0
    scope = "everything permitted, only -k executePix.document -m not property"
    assert f"PARTIAL, {scope}: no failure, 4 of 4 tested\n" in result.stdout


def test_nothing_selected():
    """Where no test matches there is no verdict."""
    result = run("-k", "executePix and createPix", "--no-report")

    assert result.returncode == 5
    assert "NOTHING SELECTED" in result.stdout
