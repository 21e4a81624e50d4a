"""`pytest --explain ID` and `pytest --list` tell of requirements and of the last run, and send nothing."""

import json
import re

import pytest

from reports.outputs.conformance_json import FILE, as_json, document_of
from reports.result.run import Run
from reports.result.verdicts import RequirementResult, Verdict
from reports.sentences.explanation import fix_for, fixes, is_for, last_run_about
from reports.sentences.language import catalogues, language
from spec.interface import operations
from spec.message import Date
from spec.requirements import requirements
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.services.running import write_profile
from tests.selftest.shared_runs import run_in_this_process
from tests.traffic.phases import ALL

MASKED, DIGIT = "executePix.document.masked", "executePix.digit.present"
WRONG = RequirementResult(MASKED, Verdict.FAIL, "expected a masked tax document", (7,))
TESTABLE = [requirement for requirement in requirements().values() if not requirement.untestable]


def test_every_testable_requirement_has_a_fix_and_a_scenario():
    """The fix has no placeholder left, and every language has it.

    If one is missing, add the id to an entry of reports/sentences/fixes.yaml.
    """
    fix_by_id = {requirement.id: fix_for(requirement) for requirement in TESTABLE}

    assert [
        requirement.id for requirement in TESTABLE if not any(is_for(entry, requirement) for entry in fixes())
    ] == []
    assert [id for id, text in fix_by_id.items() if re.search(r"\{(field|request|type)}|  ", str(text))] == []
    assert [id for id, text in fix_by_id.items() for tag in catalogues() if language(tag).text(text) == str(text)] == []
    assert [requirement.id for requirement in TESTABLE if not is_served(requirement.id)] == []


def is_served(requirement_id):
    """True if a scenario sends requests for the requirement. Requests to any operation serve a general requirement."""
    rest = requirement_id.partition(".")[2]
    ids = [requirement_id, *(f"{name}.{rest}" for name in operations() if requirement_id.startswith("general."))]
    return any(scenario.is_for(id) for scenario in ALL for id in ids)


# -- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def run_with_options(tmp_path):
    """Runs pytest with options. The test fails if the token of its profile is fetched or a file is written."""
    token, report = tmp_path / "token-was-fetched", tmp_path / "report"
    permitted = {"auth": {"token_command": ["touch", str(token)]}, "allow": ["read", "execute"]}
    profile = write_profile(tmp_path, "https://staging.example.test", **permitted)
    before = sorted(report.iterdir()) if report.exists() else []
    yield lambda *options: run_in_this_process(f"--environment={profile}", f"--report-dir={report}", *options)
    assert not token.exists()
    assert {path.name for path in report.glob("*")} <= {FILE, *(path.name for path in before)}


@pytest.fixture
def line_of_last_run(tmp_path):
    """Writes the file of a last run with odd characters.

    Gives the line about that run, in which no character ends the line, and no value of the profile is shown.
    """
    odd_selection = "seen for ac-0001\x1b[31m\r\n##[error] red\u202e"
    run = Run(
        SANDBOX_PROFILE,
        "https://staging.example.test",
        results=[WRONG],
        narrowed=True,
        selected={MASKED},
        selection=odd_selection,
    )
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / FILE).write_text(as_json(document_of(run)))
    started = Date(json.loads((tmp_path / "report" / FILE).read_text())["started"])
    shown_selection = "only seen for <account>\\x1b[31m\\r # #[error] red\\u202e"
    return f"sandbox at https://staging.example.test ({shown_selection}), {started}: non-conformant; {tmp_path}/report/report.html"


def test_a_requirement_is_explained(run_with_options, line_of_last_run):
    """The explanation has the statement, the requests, the last run, and the usual fix."""
    result = run_with_options("--explain", MASKED)

    assert result.status == 0
    assert result.output.rstrip("\n").splitlines() == [
        f"{MASKED} (documented)",
        "  The tax document of the counterparty is partly masked.",
        "  Resources and their fields, Execution result, row 8",
        "",
        "How it is exercised",
        "  GET /v1/execute/pix/{transactionId}: needs execute in allow; it may move money",
        "  executePix: a code that does not exist; a supplied code; the same code that does not exist, right before a "
        "valid one; a code that the run prepared",
        "  createPix: a transfer that the run executes",
        "",
        "What the last run saw",
        f"  {line_of_last_run}",
        "  fail",
        "",
        "What usually fixes it",
        f"  {fix_for(requirements()[MASKED])}",
    ]


def test_the_list_is_the_requirements_with_verdicts(run_with_options, line_of_last_run):
    """Requirements stand by section, with the verdict of the last run or `-`."""
    lines = run_with_options("--list", "-v").output.splitlines()

    assert [line.split()[1] for line in lines if line.startswith("  ")] == list(requirements())
    assert {f"  fail           {MASKED}", f"  -              {DIGIT}"} <= set(lines)
    headings = dict.fromkeys(requirement.heading for requirement in requirements().values())
    assert [line for line in lines if line and not line.startswith(" ")] == [line_of_last_run, *headings]


def test_a_fresh_machine_has_no_earlier_run(tmp_path):
    """A link to a run that was deleted counts as no run."""
    (tmp_path / "latest").symlink_to(tmp_path / "deleted")

    for folder in (tmp_path / "staging", tmp_path):
        assert last_run_about([], folder, str).line == f"no earlier run of {folder.name} yet"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (f"--explain={MASKED[:-1]}", f'{MASKED[:-1]}: no such requirement; did you mean "{MASKED}"?'),
        ("--explain=\x1b[31mxyzzy\n9", "\\x1b[31mxyzzy 9: no such requirement; pytest --list names them all"),
        ("--explain=", "name one; pytest --list names them all"),
        ("--list --plan", "--list and --plan each print something; name one of them"),
    ],
)
def test_a_wrong_id_prints_one_line(options, line, run_with_options):
    """The line names the nearest id, and the exit status is 4."""
    result = run_with_options(*options.split(" "))
    start = "" if "--plan" in options else "--explain: "

    assert result.status == 4
    assert result.output.strip() == f"ERROR: {start}{line}"
