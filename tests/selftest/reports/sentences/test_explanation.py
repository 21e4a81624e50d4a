"""`pytest --explain ID` and `pytest --list` tell of requirements and of the last run, and send nothing."""

import json
import re

import pytest

from reports.outputs.conformance_json import FILE, as_json, document_of
from reports.result.run import Run
from reports.result.verdicts import RequirementResult, Verdict
from reports.sentences.explanation import entry_is_for, fix_for, fixes, last_run_about
from reports.sentences.language import catalogues, language
from spec.interface import operations
from spec.message import Date
from spec.requirements import requirements
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.services.running import write_profile
from tests.selftest.shared_runs import run_in_this_process
from tests.traffic.phases import ALL

MASKED, DIGIT = "executePix.document.masked", "executePix.digit.present"
MASKED_FAILS = RequirementResult(MASKED, Verdict.FAIL, "expected a masked tax document", (7,))
TESTABLE = [requirement for requirement in requirements().values() if not requirement.untestable]


def test_every_testable_requirement_has_a_fix():
    """Each requirement that a run can test has a text that says how a deviation from it is usually fixed.

    If a text is missing, add the id of the requirement to an entry of reports/sentences/fixes.yaml.
    """

    def entries_for(requirement):
        return [entry for entry in fixes() if entry_is_for(entry, requirement)]

    without_fix = [requirement.id for requirement in TESTABLE if entries_for(requirement) == []]

    assert without_fix == []


def test_the_placeholders_of_every_fix_have_values():
    """A fix may have the placeholders {field}, {request} and {type}, and each of them is replaced by a text.

    If a placeholder is replaced by an empty text, two spaces are left in its place.
    """
    texts = [str(fix_for(requirement)) for requirement in TESTABLE]
    with_placeholder = [text for text in texts if re.search(r"\{(field|request|type)}", text)]
    with_empty_value = [text for text in texts if "  " in text]

    assert with_placeholder == []
    assert with_empty_value == []


@pytest.mark.parametrize("tag", catalogues())
def test_every_fix_is_translated(tag):
    """Each text about a fix differs from the English text in each language that has a catalogue, such as pt-BR."""
    fixes_in_english = {requirement.id: fix_for(requirement) for requirement in TESTABLE}
    untranslated = [id for id, fix in fixes_in_english.items() if language(tag).text(fix) == str(fix)]

    assert untranslated == []


def test_every_testable_requirement_has_a_scenario():
    """For each requirement that a run can test there is a scenario, which is code that sends requests for it."""
    without_scenario = [requirement.id for requirement in TESTABLE if not has_scenario(requirement.id)]

    assert without_scenario == []


def has_scenario(requirement_id):
    """True if a scenario sends requests for the requirement.

    For a general requirement, such as "general.json", requests to any operation count: those for "executePix.json", too.
    """
    ids = [requirement_id]
    if requirement_id.startswith("general."):
        ending = requirement_id.removeprefix("general.")
        ids += [f"{operation}.{ending}" for operation in operations()]
    return any(scenario.is_for(id) for scenario in ALL for id in ids)


# -- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def run_with_options(tmp_path):
    """A function that runs pytest with options, such as "--list".

    The test fails if the token of the profile is fetched, or if a report is written. The folder of reports may have only
    the conformance.json that `line_of_last_run` writes.
    """
    trace_of_token_command = tmp_path / "token-was-fetched"
    folder_of_reports = tmp_path / "report"
    auth = {"token_command": ["touch", str(trace_of_token_command)]}
    profile = write_profile(tmp_path, "https://staging.example.test", auth=auth, allow=["read", "execute"])

    def run(*options):
        return run_in_this_process(f"--environment={profile}", f"--report-dir={folder_of_reports}", *options)

    yield run
    names_of_files = {path.name for path in folder_of_reports.glob("*")}
    assert not trace_of_token_command.exists()
    assert names_of_files <= {FILE}


@pytest.fixture
def line_of_last_run(tmp_path):
    """The line about a last run, whose conformance.json is written here.

    The selection of that run has an account and odd characters. In the line no character ends the line, and the account
    is shown as `<account>`.
    """
    odd_selection = "seen for ac-0001\x1b[31m\r\n##[error] red\u202e"
    run = Run(
        SANDBOX_PROFILE,
        "https://staging.example.test",
        results=[MASKED_FAILS],
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
    """`pytest --explain ID` prints the statement, the requests that test it, the result of the last run, and the usual
    fix.

    The selection of the last run has an account and control characters. They are printed as `<account>` and as escapes
    such as `\\x1b`, so that they cannot change the terminal.
    """
    result = run_with_options("--explain", MASKED)

    assert result.status == 0
    assert "(only seen for <account>\\x1b[31m\\r # #[error] red\\u202e)" in result.output
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
        f"  {line_of_last_run}",  # with "…ac-0001<ESC>[31m<CR><LF>##[error]…" as "…<account>\\x1b[31m\\r # #[error]…"
        "  fail",
        "",
        "What usually fixes it",
        f"  {fix_for(requirements()[MASKED])}",
    ]


def test_the_list_is_the_requirements_with_verdicts(run_with_options, line_of_last_run):
    """`pytest --list -v` prints every requirement below the heading of its section, with its verdict in the last run,
    or `-`.
    """
    headings = dict.fromkeys(requirement.heading for requirement in requirements().values())

    lines = run_with_options("--list", "-v").output.splitlines()
    listed_ids = [line.split()[1] for line in lines if line.startswith("  ")]
    lines_without_indentation = [line for line in lines if line and not line.startswith(" ")]

    assert listed_ids == list(requirements())
    assert {f"  fail           {MASKED}", f"  -              {DIGIT}"} <= set(lines)
    assert lines_without_indentation == [line_of_last_run, *headings]


def test_a_fresh_machine_has_no_earlier_run(tmp_path):
    """If the folder of reports does not exist, or has only a link to a deleted run, the text says that there is no run."""
    absent_folder, folder_with_broken_link = tmp_path / "staging", tmp_path
    (folder_with_broken_link / "latest").symlink_to(tmp_path / "deleted")

    line_of_absent_folder = last_run_about([], absent_folder, str).line
    line_of_broken_link = last_run_about([], folder_with_broken_link, str).line

    assert line_of_absent_folder == "no earlier run of staging yet"
    assert line_of_broken_link == f"no earlier run of {folder_with_broken_link.name} yet"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--explain=executePix.document.maske", 'executePix.document.maske: no such requirement; did you mean "executePix.document.masked"?'),
        ("--explain=\x1b[31mxyzzy\n9", "\\x1b[31mxyzzy 9: no such requirement; pytest --list names them all"),
        ("--explain=", "name one; pytest --list names them all"),
    ],
    ids=["a misspelled id", "no id at all, with control characters", "an empty id"],
)  # fmt: skip
def test_a_wrong_id_prints_one_line(options, line, run_with_options):
    """`pytest --explain` with an unknown id prints one line, which names the nearest id, and ends with exit status 4."""
    result = run_with_options(options)

    assert result.status == 4
    assert result.output.strip() == f"ERROR: --explain: {line}"


def test_a_list_and_a_plan_at_once_are_refused(run_with_options):
    """`pytest --list --plan` prints one error line and ends with exit status 4, because each option prints a text."""
    result = run_with_options("--list", "--plan")

    assert result.status == 4
    assert result.output.strip() == "ERROR: --list and --plan each print something; name one of them"
