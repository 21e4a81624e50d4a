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
from tests.selftest.junit_files import results_in_file
from tests.selftest.proof.trial import CONFORMANCE
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import ROOT, clean_environment, write_profile
from tests.selftest.shared_runs import PYTEST_OPTIONS, run_in_this_process, run_with_files, shared_run


def test_the_default_run_needs_no_set_up(tmp_path):
    """The exit status is 0, and the last lines name the verdict and the report.

    Only the owner can read the files. -v shows no variable of a CI system, because some of them name people.
    """
    options = ["-vv", "-p", "no:cacheprovider", "-k", "executePix.document or getBalance", f"--report-dir={tmp_path}"]
    variables = clean_environment(CI_PROJECT_PATH="maria/pix")
    command = [sys.executable, "-m", "pytest", *options]
    process = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, umask=0)

    assert process.returncode == 0, process.stdout
    assert re.search(r"(?m)^PARTIAL, everything permitted, only -k .*: no failure, ", process.stdout)
    assert f"report: {tmp_path}/report.html" in process.stdout
    assert "maria" not in process.stdout
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_without_a_path_the_conformance_tests_are_collected(tmp_path):
    """pytest finds them if the rootdir is another folder with other tests."""
    options = ["-p", "no:cacheprovider", "-q", "--collect-only", f"--rootdir={tmp_path}", "-k", "executePix.branch"]
    status, output, _ = run_pytest(options, clean_environment())

    assert status == 0, output
    assert "test_execution.py" in output
    assert "selftest" not in output


def test_the_files_have_a_line_for_every_requirement():
    """Requirements stand in the order of the document, and each names exchanges of the report. junit.xml begins with
    the run itself.
    """
    run = shared_run("clean")
    document, cases = run.document, results_in_file(run.folder)
    numbers = {exchange["number"] for exchange in document["exchanges"]}

    assert document["verdict"] == "conformant"
    assert run.status == document["exit_status"] == 0
    assert [row["id"] for row in document["requirements"]] == list(requirements())
    assert {number for row in document["requirements"] for number in row["exchanges"]} <= numbers
    assert list(cases) == ["run", *requirements()]
    assert {result[0] for result in cases.values() if result} <= {"skipped"}
    assert document["generated"]["seed"] == 1


def test_a_failure_is_printed_once():
    """The suite prints the failure. Without -v pytest does not print it a second time."""
    output = shared_run("failing").output
    lines_with_failure = [line for line in output.splitlines() if "executePix.digit.type" in line]

    assert [line.partition(" ")[0] for line in lines_with_failure] == ["FAIL"]
    assert "test_execution" not in output


def test_a_dead_server_is_unreachable():
    """The exit status is 7. The reports have no failure, and say why nothing was tested."""
    run = shared_run("unreachable")
    why = "the target cannot be reached: the connection is refused"
    cases = results_in_file(run.folder)

    assert (run.status, run.document["verdict"]) == (7, "unreachable")
    assert run.messages_with_verdict("fail") == {}
    assert f"! {run.run.base_url} cannot be reached: the connection is refused; look at address" in run.output
    assert f"{run.document['headline']}\n" in run.output
    assert cases["run"] == ("error", run.document["headline"])
    assert cases["listAccounts.exists"] == ("skipped", f"not-exercised: {why}")


def test_an_unreachable_run_counts_the_selected_requirements(tmp_path):
    """The headline of a CI job and its annotation count the selected requirements and name the cause."""
    selected = ["executePix.bank.type", "executePix.digit.type", "executePix.id.type"]
    run = run_with_files(tmp_path, None, "-k", " or ".join(selected))
    [annotation] = workflow_commands(document_of(run.run))

    assert run.messages_with_verdict("not-exercised").keys() == set(selected)
    assert "::the target could not be reached; " in annotation
    assert "no failure, 0 of 3 requirements tested" in annotation
    assert "cannot be reached: the connection is refused; look at address" in step_summary(document_of(run.run))


@pytest.mark.parametrize(("selection", "status"), [("-k=executePix and createPix", 5), ("tests/nowhere.py", 4)])
def test_a_selection_without_a_test_has_no_verdict(selection, status, tmp_path):
    """If no test matches, the exit status is 5.

    If the path does not exist, pytest says so, and the exit status is 4.
    """
    run = run_with_files(tmp_path, Service, selection)

    assert run.status == status
    assert ("NOTHING-SELECTED" in run.output) is (status == 5)


def test_an_address_other_than_that_of_the_profile_has_a_line(service, tmp_path, monkeypatch):
    """The run and the plan name the address of --base-url, which is no sandbox.

    An address that differs from the profile's by a slash or capitals is the same. The profile of the embedded sandbox
    only reads elsewhere.
    """
    monkeypatch.setenv("PIX_TOKEN", service.sandbox.token)
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", service.sandbox.token)
    profile = write_profile(tmp_path, "http://127.0.0.1:9", transactions={"codes": ["SBX-PHONE-1"]})
    options = [f"--environment={profile}", "--no-report", "-k=listAccounts or executePix.document"]
    other_address = run_in_this_process(*options, f"--base-url={service.base_url}")
    planned = run_in_this_process(*options, f"--base-url={service.base_url}", "--plan")
    write_profile(tmp_path, service.base_url)
    same_address = run_in_this_process(*options, f"--base-url=HTTP{service.base_url[4:]}/")
    embedded_profile = run_in_this_process(
        "--no-report", "-k=listAccounts or executePix.document", f"--base-url={service.base_url}"
    )
    address_in_words = f"at {service.base_url} (of --base-url, not that of the profile), not a sandbox: "
    second_lines = [
        re.search(r"(?m)^[A-Z-]+, .*\n(.*)$", run.output)[1] for run in (other_address, same_address, embedded_profile)
    ]

    assert [address_in_words in line for line in second_lines] == [True, False, True]
    assert f"profile at {service.base_url}, not a sandbox: " in second_lines[1]
    assert f"would send to {address_in_words[3:-2]}, " in planned.output
    assert service.executions == []
    [line] = re.findall("^! (--base-url: .*)$", embedded_profile.output, re.MULTILINE)
    assert line == (
        "--base-url: environments/sandbox.yaml is for the embedded sandbox, this run only reads; keys, codes and bodies "
        f"stay there. `python -m environments new NAME` writes a profile for {service.base_url}"
    )


# Options that send nothing


@pytest.fixture
def pytest_that_sends_nothing(tmp_path, capsys, monkeypatch):
    """Runs pytest with these options in this process: its exit status, and what it printed.

    The test fails if the token was fetched or a file was written.
    """
    monkeypatch.chdir(ROOT)

    def run_pytest_here(*options, base_url="http://127.0.0.1:9"):
        auth = {"token_command": ["touch", str(tmp_path / "token-was-fetched")]}
        profile = write_profile(tmp_path, base_url, auth=auth).rename(tmp_path / "nothing-is-sent.yaml")
        paths = [] if any("tests/" in option for option in options) else [str(CONFORMANCE / "test_deletion.py")]
        status = pytest.main([*PYTEST_OPTIONS, f"--environment={profile}", *options, *paths])
        assert list(tmp_path.iterdir()) == [profile]
        assert not (RUNS / profile.stem).exists()
        return int(status), capsys.readouterr()

    return run_pytest_here


@pytest.mark.parametrize("option", ["--collect-only", "--fixtures", "--setup-plan", "--help", "--plan"])
def test_options_that_only_list_send_and_write_nothing(option, pytest_that_sends_nothing):
    """No token is fetched, no request is sent, no folder is made, and the link `latest` stays."""
    status, printed = pytest_that_sends_nothing(option)

    assert (status, printed.err) == (0, "")
    assert "CONFORMANT" not in printed.out
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
def test_wrong_options_print_one_line(options, pytest_that_sends_nothing, monkeypatch):
    """The line says what to use instead, and the exit status is 4. No token is fetched and nothing is sent."""
    monkeypatch.delenv("PIX_TOKEN", raising=False)
    status, printed = pytest_that_sends_nothing(*options.split())
    lines = [line for line in printed.err.splitlines() if line and "pytest debug information" not in line]

    assert status == 4
    assert [line[: len(REFUSED[options]) + 7] for line in lines] == [f"ERROR: {REFUSED[options]}"]


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
def test_variables_count_as_given(variable, value, line, pytest_that_sends_nothing, monkeypatch):
    """An option in a variable is refused like one on the command line. pytest may print a line of its own beside
    that.
    """
    monkeypatch.setenv(variable, value)
    status, printed = pytest_that_sends_nothing()

    assert status == 4
    assert f"ERROR: {line}" in printed.err.splitlines()
