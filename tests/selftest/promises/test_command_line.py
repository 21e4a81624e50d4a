"""The command line as its users meet it: options, exit statuses, the last lines and the files."""

import re
import subprocess
import sys

import pytest

from environments.credentials import MUST_NOT_NAME_THE_SERVICE
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

WITHOUT_A_SERVICE = None
"""In the place of a service: nobody listens at the address of the profile."""


def test_the_default_run_needs_no_set_up(tmp_path):
    """pytest without a profile tests the sandbox of the suite, and prints the verdict and the path of the report.

    The exit status is 0. Only the owner can read the files. Even with -vv no variable of a CI system is printed, because
    some of them name people.
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
    """Without a path on the command line pytest collects the conformance tests, and no self-test of the suite.

    That is so even if its rootdir is another folder.
    """
    options = ["-p", "no:cacheprovider", "-q", "--collect-only", f"--rootdir={tmp_path}", "-k", "executePix.branch"]
    status, output, _ = run_pytest(options, clean_environment())

    assert status == 0, output
    assert "test_execution.py" in output
    assert "selftest" not in output


def test_conformance_json_has_every_requirement_in_the_order_of_the_document():
    """conformance.json has all requirements, in the order of the interface document.

    It also has each exchange (a request and its answer) that a requirement cites, and the seed with which a later run
    generates the same requests. A run against a service without faults is conformant, and its exit status is 0.
    """
    run = shared_run("clean")
    document = run.document
    cited_exchanges = set()
    for requirement in document["requirements"]:
        cited_exchanges |= set(requirement["exchanges"])
    exchanges_in_the_file = {exchange["number"] for exchange in document["exchanges"]}

    assert [requirement["id"] for requirement in document["requirements"]] == list(requirements())
    assert cited_exchanges <= exchanges_in_the_file
    assert (document["verdict"], document["exit_status"], run.status) == ("conformant", 0, 0)
    assert document["generated"]["seed"] == 1


def test_junit_xml_has_a_test_case_for_the_run_and_for_every_requirement():
    """junit.xml begins with the run itself, then has each requirement. If the service has no fault, none fails."""
    result_by_test_case = results_in_file(shared_run("clean").folder)
    kinds_of_results = {result[0] for result in result_by_test_case.values() if result}

    assert list(result_by_test_case) == ["run", *requirements()]
    assert kinds_of_results <= {"skipped"}


def test_a_failure_is_printed_once():
    """The suite prints a line that begins with FAIL for a failing requirement. Without -v pytest prints no second one."""
    output = shared_run("failing").output
    lines_with_failure = [line for line in output.splitlines() if "executePix.digit.type" in line]
    first_words = [line.partition(" ")[0] for line in lines_with_failure]

    assert first_words == ["FAIL"]
    assert "test_execution" not in output  # the module of that test, which pytest would name


def test_a_dead_server_is_unreachable():
    """If nobody listens at the address, the run is unreachable (exit status 7), and no requirement fails.

    The output and junit.xml say that the connection is refused.
    """
    run = shared_run("unreachable")
    headline = run.document["headline"]
    result_by_test_case = results_in_file(run.folder)

    assert (run.status, run.document["verdict"]) == (7, "unreachable")
    assert run.messages_with_verdict("fail") == {}
    assert f"! {run.run.base_url} cannot be reached: the connection is refused; look at address" in run.output
    assert f"{headline}\n" in run.output
    assert result_by_test_case["run"] == ("error", headline)
    assert result_by_test_case["listAccounts.exists"] == (
        "skipped",
        "not-exercised: the target cannot be reached: the connection is refused",
    )


def test_an_unreachable_run_counts_the_selected_requirements(tmp_path):
    """If the target of a job of GitHub Actions cannot be reached, its summary and its annotation say so.

    The annotation is the line at the top of the page of the job. It says that none of the three selected requirements was
    tested.
    """
    selected = ["executePix.bank.type", "executePix.digit.type", "executePix.id.type"]
    result = run_with_files(tmp_path, WITHOUT_A_SERVICE, "-k", " or ".join(selected))
    document = document_of(result.run)
    [annotation] = workflow_commands(document)

    assert result.messages_with_verdict("not-exercised").keys() == set(selected)
    assert "::the target could not be reached; " in annotation
    assert "no failure, 0 of 3 requirements tested" in annotation
    assert "cannot be reached: the connection is refused; look at address" in step_summary(document)


@pytest.mark.parametrize(
    ("option", "exit_status", "has_verdict"),
    [("-k=executePix and createPix", 5, True), ("tests/nowhere.py", 4, False)],
    ids=["no test matches", "the path does not exist"],
)
def test_a_run_without_a_test_is_not_green(option, exit_status, has_verdict, tmp_path):
    """If no test matches -k, the verdict is NOTHING-SELECTED, with exit status 5.

    If the path does not exist, pytest itself says so, with exit status 4 and without a verdict.
    """
    run = run_with_files(tmp_path, Service, option)

    assert run.status == exit_status
    assert ("NOTHING-SELECTED" in run.output) is has_verdict


READS_OR_EXECUTES = "-k=listAccounts or executePix.document"


def line_below_the_verdict(run):
    """The second line of the summary of a run: which target it tested."""
    return re.search(r"(?m)^[A-Z-]+, .*\n(.*)$", run.output)[1]


@pytest.fixture
def run_with_profile_for(service, tmp_path, monkeypatch):
    """A function that runs the suite with a profile for an address: `run_with_profile_for(address, "--plan")`.

    The profile has a transaction code, and calls its address a sandbox (a service without real money).
    """
    monkeypatch.setenv("PIX_TOKEN", service.sandbox.token)

    def run(address_in_the_profile, *options):
        """The result of a run whose profile names this address. `options` are further options of pytest."""
        profile = write_profile(tmp_path, address_in_the_profile, transactions={"codes": ["SBX-PHONE-1"]})
        return run_in_this_process(f"--environment={profile}", "--no-report", READS_OR_EXECUTES, *options)

    return run


def test_an_address_other_than_that_of_the_profile_has_a_line(service, run_with_profile_for):
    """If --base-url names another address than the profile, the second line of the summary says so.

    It also says that the target is no sandbox, because the profile calls only its own address a sandbox. So no code of
    the profile is sent: outside a sandbox a run sends codes only with a journal (a file of the codes that were sent),
    and this run has none.
    """
    run = run_with_profile_for("http://127.0.0.1:9", f"--base-url={service.base_url}")
    expected = f"at {service.base_url} (of --base-url, not that of the profile), not a sandbox: "

    assert expected in line_below_the_verdict(run)
    assert service.executions_with_valid_token == []


def test_a_plan_names_an_address_other_than_that_of_the_profile(service, run_with_profile_for):
    """--plan prints what a run would send. It says that the address is that of --base-url."""
    plan = run_with_profile_for("http://127.0.0.1:9", f"--base-url={service.base_url}", "--plan")
    expected = f"would send to {service.base_url} (of --base-url, not that of the profile), not a sandbox, "

    assert expected in plan.output


def test_an_address_in_capitals_and_with_a_slash_is_that_of_the_profile(service, run_with_profile_for):
    """HTTP://host/ and http://host are one address. So the summary does not say that --base-url names another address.

    The profile calls its address a sandbox, but the summary says "not a sandbox". The reason is that a run with
    --base-url never counts as one on a sandbox, even if the option names the address of the profile.
    """
    same_address = f"HTTP{service.base_url.removeprefix('http')}/"
    run = run_with_profile_for(service.base_url, f"--base-url={same_address}")

    assert f"profile at {service.base_url}, not a sandbox: " in line_below_the_verdict(run)


def test_with_base_url_the_profile_of_the_sandbox_only_reads(service, monkeypatch):
    """Without a profile, a run with the --base-url of a service only reads, and a line says so.

    Such a run has the profile of the sandbox that is a part of the suite. The codes and keys of that profile exist at no
    other service.
    """
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", service.sandbox.token)
    run = run_in_this_process("--no-report", READS_OR_EXECUTES, f"--base-url={service.base_url}")
    [line] = re.findall("^! (--base-url: .*)$", run.output, re.MULTILINE)

    assert service.executions_with_valid_token == []
    assert f"at {service.base_url} (of --base-url, not that of the profile), not a sandbox: " in line_below_the_verdict(
        run
    )
    assert line == (
        "--base-url: environments/sandbox.yaml is for the embedded sandbox, this run only reads; keys, codes and bodies "
        f"stay there. `python -m environments new NAME` writes a profile for {service.base_url}"
    )


# Options that send nothing


@pytest.fixture
def pytest_that_sends_nothing(tmp_path, capsys, monkeypatch):
    """A function that runs pytest in this process, and returns its exit status and what it printed.

    The test fails if the token was fetched or a file was written.
    """
    monkeypatch.chdir(ROOT)

    def run_pytest_here(*options, base_url="http://127.0.0.1:9"):
        """The exit status of pytest with these options, and what it printed. Nothing may be fetched or written."""
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
    """An option that only lists something ends with exit status 0 and without a verdict.

    The fixture fails if a token is fetched, or if a file or a folder is written. Only --plan says that nothing was sent.
    """
    status, printed = pytest_that_sends_nothing(option)

    assert (status, printed.err) == (0, "")
    assert "CONFORMANT" not in printed.out
    assert ("nothing was sent" in printed.out) is (option == "--plan")


HTML = "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR"
JUNIT = "--junitxml: a run writes its own junit.xml; leave it out, and name the folder with --report-dir=DIR"
PROCESSES = "-n: a run is one process; --parallel=N puts N requests on the wire at once"
LINE_BY_WRONG_OPTIONS = {
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
    "--enviroment=staging": "unrecognized arguments: --enviroment=staging; the nearest option is --environment; pytest --help lists the options",
    "-k nothing": "-k: nothing: no such requirement; pytest --list names them all",
    "--environment=nope": "environments/nope.yaml: cannot be read (No such file or directory); the environments in environments are: ",
    "--environment=staging.example": "environments/staging.example.yaml: PIX_TOKEN is not",
    "-o base_url=https://bank.example": f"the setting base_url of pytest {MUST_NOT_NAME_THE_SERVICE}",
    "--base-url=bank.example --collect-only": "--base-url: not an address; expected http(s)://host[:port][/prefix]",
}


@pytest.mark.parametrize(("options", "beginning"), LINE_BY_WRONG_OPTIONS.items(), ids=LINE_BY_WRONG_OPTIONS)
def test_wrong_options_print_one_line(options, beginning, pytest_that_sends_nothing, monkeypatch):
    """Wrong options, such as --enviroment=staging, end the run with exit status 4 and a line that says what to do.

    The fixture fails if a token is fetched or a file is written.
    """
    monkeypatch.delenv("PIX_TOKEN", raising=False)
    status, printed = pytest_that_sends_nothing(*options.split())
    # pytest itself prints the other line for --debug=FILE, before the suite refuses that option
    [line] = [line for line in printed.err.splitlines() if line and "pytest debug information" not in line]

    assert status == 4
    assert line.startswith(f"ERROR: {beginning}")


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        (
            "PYTEST_ADDOPTS",
            "--html=x.html",
            "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR",
        ),
        (
            "PYTEST_ADDOPTS",
            "--base-url=https://bank.example",
            "PYTEST_ADDOPTS names a service, which is taken from base_url of the profile or from --base-url=URL alone",
        ),
        (
            "PYTEST_BASE_URL",
            "https://bank.example",
            "PYTEST_BASE_URL names a service, which is taken from base_url of the profile or from --base-url=URL alone; "
            "unset it",
        ),
        (
            "PYTEST_BASE_URL",
            "",
            "PYTEST_BASE_URL names a service, which is taken from base_url of the profile or from --base-url=URL alone; "
            "unset it",
        ),
        ("PYTEST_DEBUG", "1", "PYTEST_DEBUG makes libraries write tokens and codes down; unset it"),
    ],
    ids=[
        "an option in PYTEST_ADDOPTS",
        "an address in PYTEST_ADDOPTS",
        "PYTEST_BASE_URL",
        "PYTEST_BASE_URL without a value",
        "PYTEST_DEBUG",
    ],
)
def test_a_wrong_option_in_a_variable_is_refused(variable, value, line, pytest_that_sends_nothing, monkeypatch):
    """An option that pytest reads from a variable of the machine is refused like one on the command line.

    One line says so, beside which pytest may print a line of its own.
    """
    monkeypatch.setenv(variable, value)
    status, printed = pytest_that_sends_nothing()

    assert status == 4
    assert f"ERROR: {line}" in printed.err.splitlines()
