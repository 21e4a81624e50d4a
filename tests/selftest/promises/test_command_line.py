"""The command line as its users meet it: options, exit statuses, the last lines and the files."""

import re
import subprocess
import sys

import pytest

from environments.credentials import NOT_FROM_A_VARIABLE
from environments.sandbox import Service
from reports.outputs.conformance_json import document_of
from reports.outputs.github import step_summary, workflow_commands
from reports.outputs.writing import RUNS
from spec.requirements import requirements
from tests.selftest.junit_files import written
from tests.selftest.proof.trial import CONFORMANCE
from tests.selftest.recorded_runs import PYTEST, record, recorded, run_here
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import ROOT, environment, write_profile


def test_the_default_run_needs_no_set_up(tmp_path):
    """Exit status 0; the last lines name the verdict and the report, whose files are their owner's alone. -v shows no
    variable of a CI system, some of which name people."""
    options = ["-vv", "-p", "no:cacheprovider", "-k", "executePix.document or getBalance", f"--report-dir={tmp_path}"]
    variables = environment(CI_PROJECT_PATH="maria/pix")
    command = [sys.executable, "-m", "pytest", *options]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, umask=0)

    assert ended.returncode == 0, ended.stdout
    assert re.search(r"(?m)^PARTIAL, everything permitted, only -k .*: no failure, ", ended.stdout)
    assert f"report: {tmp_path}/report.html" in ended.stdout
    assert "maria" not in ended.stdout
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_without_a_path_the_conformance_tests_are_collected(tmp_path):
    """Also if the rootdir is not the working folder, which has tests of other kinds."""
    options = ["-p", "no:cacheprovider", "-q", "--collect-only", f"--rootdir={tmp_path}", "-k", "executePix.branch"]
    status, output, _ = run_pytest(options, environment())

    assert status == 0, output
    assert "test_execution.py" in output
    assert "selftest" not in output


def test_the_files_have_a_line_for_every_requirement():
    """In the order of the requirements, with the exchanges that it names; junit.xml begins with the run itself."""
    run = recorded("clean")
    document, cases = run.document, written(run.folder)
    numbers = {exchange["number"] for exchange in document["exchanges"]}

    assert (run.status, document["verdict"], document["exit_status"]) == (0, "conformant", 0)
    assert [row["id"] for row in document["requirements"]] == list(requirements())
    assert {number for row in document["requirements"] for number in row["exchanges"]} <= numbers
    assert list(cases) == ["run", *requirements()]
    assert {result[0] for result in cases.values() if result} <= {"skipped"}
    assert document["generated"]["seed"] == 1


def test_the_result_is_said_once():
    """By the suite; without -v pytest does not say it once more."""
    output = recorded("failing").output
    cited = [line for line in output.splitlines() if "executePix.digit.type" in line]

    assert [line.partition(" ")[0] for line in cited] == ["FAIL"]
    assert "test_execution" not in output


def test_a_dead_server_is_unreachable():
    """Exit status 7 and reports that blame nobody, and say why nothing was tested."""
    run = recorded("unreachable")
    why = "the target cannot be reached: the connection is refused"
    cases = written(run.folder)

    assert (run.status, run.document["verdict"], run.rows("fail")) == (7, "unreachable", {})
    assert f"! {run.run.base_url} cannot be reached: the connection is refused; look at address" in run.output
    assert f"{run.document['headline']}\n" in run.output
    assert cases["run"] == ("error", run.document["headline"])
    assert cases["listAccounts.exists"] == ("skipped", f"not-exercised: {why}")


def test_what_is_selected_counts_although_nothing_is_reached(tmp_path):
    """In the headline of a job, and in its annotation, which names the cause."""
    selected = ["executePix.bank.type", "executePix.digit.type", "executePix.id.type"]
    run = record(tmp_path, None, "-k", " or ".join(selected))
    [annotation] = workflow_commands(document_of(run.run))

    assert run.rows("not-exercised").keys() == set(selected)
    assert "::the target could not be reached; " in annotation
    assert "no failure, 0 of 3 requirements tested" in annotation
    assert "cannot be reached: the connection is refused; look at address" in step_summary(document_of(run.run))


@pytest.mark.parametrize(("selection", "status"), [("-k=executePix and createPix", 5), ("tests/nowhere.py", 4)])
def test_nothing_selected(selection, status, tmp_path):
    """Where no test matches there is no verdict; of a path that is not there pytest says so."""
    run = record(tmp_path, Service, selection)

    assert (run.status, "NOTHING-SELECTED" in run.output) == (status, status == 5)


def test_another_address_than_that_of_the_profile_is_said(service, tmp_path, monkeypatch):
    """By the second line of the run, the plan and the check; it is no sandbox. One that is that of the profile, but for
    a slash and capitals, is not another one. What was made up for the embedded sandbox stays there, in one line."""
    monkeypatch.setenv("PIX_TOKEN", service.service.token)
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", service.service.token)
    profile = write_profile(tmp_path, "http://127.0.0.1:9", transactions={"codes": ["SBX-PHONE-1"]})
    options = [f"--environment={profile}", "--no-report", "-k=listAccounts or executePix.document"]
    other = run_here(*options, f"--base-url={service.base_url}")
    planned = run_here(*options, f"--base-url={service.base_url}", "--plan")
    write_profile(tmp_path, service.base_url)
    same = run_here(*options, f"--base-url=HTTP{service.base_url[4:]}/")
    embedded = run_here("--no-report", "-k=listAccounts or executePix.document", f"--base-url={service.base_url}")
    said = f"at {service.base_url} (of --base-url, not that of the profile), not a sandbox: "
    second_lines = [re.search(r"(?m)^[A-Z-]+, .*\n(.*)$", run.output)[1] for run in (other, same, embedded)]

    assert [said in line for line in second_lines] == [True, False, True]
    assert f"profile at {service.base_url}, not a sandbox: " in second_lines[1]
    assert f"would send to {said[3:-2]}, " in planned.output
    assert service.executions == []
    [line] = re.findall("^! (--base-url: .*)$", embedded.output, re.MULTILINE)
    assert line == (
        "--base-url: environments/sandbox.yaml is for the embedded sandbox, this run only reads; keys, codes and bodies "
        f"stay there. `python -m environments new NAME` writes a profile for {service.base_url}"
    )


# Options that send nothing


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    """Pytest with these options, in this process: its exit status, and what it printed. The token of its profile leaves
    a trace when it is fetched, and there is no other file than the profile's afterwards."""
    monkeypatch.chdir(ROOT)

    def run(*options, base_url="http://127.0.0.1:9"):
        auth = {"token_command": ["touch", str(tmp_path / "token-was-fetched")]}
        profile = write_profile(tmp_path, base_url, auth=auth).rename(tmp_path / "nothing-is-sent.yaml")
        paths = [] if any("tests/" in option for option in options) else [str(CONFORMANCE / "test_deletion.py")]
        status = pytest.main([*PYTEST, f"--environment={profile}", *options, *paths])
        assert list(tmp_path.iterdir()) == [profile]
        assert not (RUNS / profile.stem).exists()
        return int(status), capsys.readouterr()

    return run


@pytest.mark.parametrize("option", ["--collect-only", "--fixtures", "--setup-plan", "--help", "--plan"])
def test_what_only_lists_opens_and_writes_nothing(option, call):
    """No token is fetched, no request is sent, no folder is made, and `latest` stays where it is."""
    status, printed = call(option)

    assert (status, printed.err, "CONFORMANT" in printed.out) == (0, "", False)
    assert ("nothing was sent" in printed.out) is (option == "--plan")


HTML = "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR"
JUNIT = "--junitxml: a run writes its own junit.xml; leave it out, and name the folder with --report-dir=DIR"
PROCESSES = "-n: a run is one process; --parallel=N puts N requests on the wire at once"
REFUSED = {
    "--html=x.html": HTML,
    "--junit-xml=x.xml": JUNIT,
    "--setup-only": "--setup-only sends requests and judges no answer; use --plan to see what would be sent",
    "-p xdist --dist=load --tx=2*popen": PROCESSES,
    "tests/conformance tests/selftest/test_house.py -n2": PROCESSES,
    "--base-url=": "--base-url is empty; give it a value, or leave it out",
    "--verify-base-url": "--verify-base-url bypasses the checks of the suite; leave it out, every run checks the target first",
    "--debug=/dev/null": "--debug writes tokens and codes to a file; leave it out",
    "--pastebin=all": "--pastebin publishes what is printed before known values are hidden; leave it out",
    "--showlocals": "--showlocals prints answers of the service as they are; leave it out",
    "--examples=0": "--examples: expected a whole number from 1, got '0'",
    "--parallel=65": "--parallel: expected a whole number from 1 to 64, got '65'",
    "--report-language=de": "--report-language: invalid choice: 'de' (choose from ",
    "--enviroment=staging": "unrecognized arguments: --enviroment=staging; pytest --help lists the options",
    "-k nothing": "-k: nothing: no such requirement; pytest --list names them all",
    "--environment=nope": "environments/nope.yaml: cannot be read (No such file or directory); the environments in environments are: ",
    "--environment=staging.example": "environments/staging.example.yaml: PIX_TOKEN is not",
    "-o base_url=https://bank.example": f"the setting base_url of pytest {NOT_FROM_A_VARIABLE}",
    "--base-url=bank.example --collect-only": "--base-url: not an address; expected http(s)://host[:port][/prefix]",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_options_are_one_line(options, call, monkeypatch):
    """Exit status 4 and what to use instead, before a token is fetched or anything is sent."""
    monkeypatch.delenv("PIX_TOKEN", raising=False)
    status, printed = call(*options.split())
    lines = [line for line in printed.err.splitlines() if line and "pytest debug information" not in line]

    assert (status, [line[: len(REFUSED[options]) + 7] for line in lines]) == (4, [f"ERROR: {REFUSED[options]}"])


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("PYTEST_ADDOPTS", "--html=x.html", HTML),
        ("PYTEST_ADDOPTS", "--base-url=https://bank.example", f"PYTEST_ADDOPTS {NOT_FROM_A_VARIABLE}"),
        ("PYTEST_BASE_URL", "https://bank.example", f"PYTEST_BASE_URL {NOT_FROM_A_VARIABLE}; unset it"),
        ("PYTEST_BASE_URL", "", f"PYTEST_BASE_URL {NOT_FROM_A_VARIABLE}; unset it"),
        ("PYTEST_DEBUG", "1", "PYTEST_DEBUG makes libraries write tokens and codes down; unset it"),
    ],
)
def test_variables_count_as_given(variable, value, line, call, monkeypatch):
    """What pytest says of its trace stands beside the line."""
    monkeypatch.setenv(variable, value)
    status, printed = call()

    assert status == 4
    assert f"ERROR: {line}" in printed.err.splitlines()
