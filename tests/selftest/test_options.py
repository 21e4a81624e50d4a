"""Options of pytest in a conformance run: some are refused, and some only list tests, which opens and writes nothing."""

import secrets

import pytest

from reports.writing import RUNS
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import arguments, environment, run, write_profile

LISTS = ["--collect-only", "--fixtures", "--fixtures-per-test", "--setup-plan", "--help", "--markers", "--cache-show"]


@pytest.mark.parametrize("option", LISTS)
def test_what_only_lists_opens_and_writes_nothing(option, service, tmp_path):
    """No token is fetched, no request is sent, no folder is made, and `latest` stays where it is."""
    token = ["touch", str(tmp_path / "token-was-fetched")]
    profile = write_profile(tmp_path, service.base_url, auth={"token_command": token})
    result = run(profile, option)

    assert (result.status, service.seen) == (0, [])
    assert "CONFORMANT" not in result.output
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["profile.yaml"]


def test_listing_moves_no_latest(tmp_path):
    """Without --report-dir, too, the folder of reports is as it was; pytest keeps nothing of it either."""
    profile = write_profile(tmp_path, "embedded", auth=None)
    profile = profile.rename(tmp_path / f"listed-{secrets.token_hex(4)}.yaml")
    line = [part for part in arguments(profile, "--collect-only") if not part.startswith("--report-dir")]
    done = run_pytest(line, environment())

    assert "test_execution.py::" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == [profile.name]
    assert not (RUNS / profile.stem).exists()


def test_a_wrong_profile_lists_nothing(tmp_path):
    """Exit status 4 and one line, as in a run."""
    result = run(write_profile(tmp_path, "bank.example"), "--collect-only")

    assert result.status == 4
    assert result.output.strip() == (
        f"ERROR: {tmp_path / 'profile.yaml'}:14: base_url: not an address; expected http(s)://host[:port][/prefix]"
    )


HTML = "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR"
JUNIT = "--junitxml: a run writes its own junit.xml; leave it out, and name the folder with --report-dir=DIR"
PROCESSES = "-n: a run is one process; --parallel=N puts N requests on the wire at once"
SETUP = "--setup-only sends requests and judges no answer; use --plan to see what would be sent"


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--html=x.html", HTML),
        ("--junitxml=x.xml", JUNIT),
        ("--junit-xml=x.xml", JUNIT),
        ("--setup-only", SETUP),
        ("--collect-only --html=x.html", HTML),
        ("-n 2", PROCESSES),
        ("-p xdist -n2", PROCESSES),
        ("-p xdist --dist=load --tx=2*popen", PROCESSES),
        ("--plan -n2", PROCESSES),
        ("tests/conformance tests/selftest/test_options.py -n2", PROCESSES),
        ("--base-url=", "--base-url is empty; give it a value, or leave it out"),
        ("--report-language=", "--report-language is empty; give it a value, or leave it out"),
    ],
)
@pytest.mark.parametrize("given", ["on the command line", "in PYTEST_ADDOPTS"])
def test_an_option_that_goes_past_the_report_or_says_nothing_is_refused(option, line, given, service, tmp_path):
    """Exit status 4, one line that says what to use instead, and no request."""
    variables = {"PYTEST_ADDOPTS": option} if given == "in PYTEST_ADDOPTS" else {}
    result = run(write_profile(tmp_path, service.base_url), *([] if variables else option.split()), **variables)

    assert (result.status, service.seen) == (4, [])
    assert result.output.strip() == f"ERROR: {line}"
    assert not result.folder.exists()


@pytest.mark.parametrize(
    ("option", "variables", "line"),
    [
        ("--debug={}/debug.log", {}, "--debug writes tokens and codes to a file; leave it out"),
        ("--pastebin=all", {}, "--pastebin publishes what is printed before known values are hidden; leave it out"),
        ("--showlocals", {}, "--showlocals prints answers of the service as they are; leave it out"),
        ("-q", {"PYTEST_DEBUG": "1"}, "PYTEST_DEBUG has tokens and codes written down; unset it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_writes_what_may_not_be_shown_is_refused(option, variables, line, service, tmp_path):
    """Before a token is read; what pytest says of its trace stands beside the line."""
    result = run(write_profile(tmp_path, service.base_url), option.format(tmp_path), **variables)

    assert (result.status, service.seen) == (4, [])
    assert f"ERROR: {line}" in result.output.splitlines()


def test_an_option_of_the_ini_file_is_refused(service, tmp_path):
    """What a project adds to every command line counts as given."""
    plugins = "--import-mode=importlib --disable-plugin-autoload -p pytest_base_url.plugin"
    result = run(write_profile(tmp_path, service.base_url), "-o", f"addopts={plugins} --junitxml=x.xml")

    assert (result.status, result.output.strip(), service.seen) == (4, f"ERROR: {JUNIT}", [])


def test_self_tests_may_write_both(tmp_path):
    """The suite's own tests give no verdict, and have no report of their own."""
    files = [f"--html={tmp_path / 'x.html'}", f"--junitxml={tmp_path / 'x.xml'}"]
    line = arguments(write_profile(tmp_path, "embedded", auth=None), *files, "tests/selftest/test_masking.py")
    done = run_pytest(line, environment())

    assert done.returncode == 0, done.stdout
    assert {"x.html", "x.xml"} <= {path.name for path in tmp_path.iterdir()}
