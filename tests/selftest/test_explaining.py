"""`pytest --explain ID` and `pytest --list` tell of requirements and of the last run, and send nothing."""

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.loading import load
from reports.explaining.explanation import Exercise, Exercised, explanation_of, fix_for, fixes
from reports.explaining.on_terminal import Line, last_run
from reports.formats.conformance_json import FILE, as_json, document_of
from reports.language import catalogues, language
from reports.moments import moment_in_words
from reports.page.html import summary_html
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from spec.interface import READS, operations
from spec.requirements import LEVELS, ledger
from tests.harness.explaining import EXERCISES
from tests.selftest.services.forking import ROOT, run_pytest
from tests.selftest.services.running import arguments, environment, run, write_profile

MASKED, DIGIT = "executePix.document.masked", "executePix.digit.present"
SANDBOX = load("sandbox", folder=ROOT / "environments")
WRONG = RequirementResult(
    MASKED, Verdict.FAIL, "expected a masked tax document, got one with every character visible", (7,)
)


@pytest.fixture
def profile(tmp_path):
    """A profile that needs a token and names a service that nobody may ask."""
    token = ["touch", str(tmp_path / "token-was-fetched")]
    return write_profile(
        tmp_path, "https://staging.example.test", auth={"token_command": token}, allow=["read", "execute"]
    )


def tell(folder, *results, **members):
    """Write the conformance.json of a run that found this."""
    told = Run(SANDBOX, "https://staging.example.test", **members)
    told.results += results
    told.selected |= {result.id for result in results}
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_text(as_json(document_of(told)))
    return folder


# -- what usually fixes it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "requirement", [one for one in ledger().values() if not one.untestable], ids=lambda one: one.id
)
def test_every_requirement_has_a_fix(requirement):
    """Every requirement that an exchange can show has one, with its placeholders filled in: give its id to an entry of
    reports/explaining/fixes.yaml."""
    assert any(entry.fits(requirement) for entry in fixes()), "no entry of reports/explaining/fixes.yaml fits"
    assert not re.search(r"\{(field|request|type)}|  ", str(fix_for(requirement)))


@pytest.mark.parametrize("entry", fixes(), ids=lambda entry: entry.level or entry.ids[0])
def test_every_fix_is_used(entry):
    """Each pattern of an entry is the first that fits some requirement, and each text is a whole one."""
    firsts = [next(each for each in fixes() if each.fits(one)) for one in ledger().values() if not one.untestable]
    unused = [
        ids for ids in entry.ids if not any(type(entry)(entry.fix, ids=(ids,)).fits(one) for one in ledger().values())
    ]

    assert entry in firsts
    assert unused == []
    assert entry.fix.endswith(".")


@pytest.mark.parametrize(
    ("requirement", "start"),
    [
        ("executePix.envelope.code.present", "Make the envelope in one place for all operations, and give it the member code "),
        ("registerPixKey.Key.spelling", "Name the field Key exactly so, letter case included. "),
        ("registerPixKey.body.account", "Read account from the JSON body under exactly this name, and take it as a string. "),
        ("registerPixKey.pixKeyType.CNPJ", "Register keys of the type CNPJ. "),
        ("registerPixKey.pixKeyType.EVP", "Refuse EVP, or have it documented as a second name of RANDOM. "),
        ("createPix.exists", "Serve POST /v1/pix. "),
        ("executePix.status", "Answer every success with status 200 and the envelope. "),
        ("executePix.status.type", "Send status with the JSON type that the interface document gives. "),
        ("executePix.status.values", "There is nothing to fix: the interface document leaves this open. "),
    ],
)  # fmt: skip
def test_a_fix_names_what_it_is_about(requirement, start):
    """The field, the key type or the request of the requirement."""
    assert str(fix_for(ledger()[requirement])).startswith(start)


def test_what_is_untestable_has_no_fix():
    """No exchange shows a deviation from it."""
    assert fix_for(ledger()["general.scope"]) == ""


# -- how it is exercised --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exercises(pytestconfig):
    """What exercises each requirement, as conftest.py finds it out."""
    return pytestconfig.stash[EXERCISES](SANDBOX)


@pytest.mark.parametrize("requirement", ledger().values(), ids=lambda one: one.id)
def test_every_testable_requirement_is_exercised(requirement, exercises):
    """By tests whose docstrings state facts, with requests to its operation; an untestable one by none."""
    found = exercises[requirement.id]

    assert bool(found.tests) == bool(found.operations) == (not requirement.untestable)
    assert all(test.fact.endswith(".") for test in found.tests)
    assert requirement.untestable or requirement.operation in (None, *found.operations)


def test_permissions_are_those_of_the_tests_and_the_operations(exercises):
    """The permission of the operation, that of what is needed beside it, and what a test needs more."""
    explained = explanation_of(ledger()["registerPixKey.body.required"], exercises["registerPixKey.body.required"], ())

    assert tuple(map(str, explained.requests)) == (
        "POST /v1/pix/keys/{accountId}: needs register-keys in allow",
        "in addition, DELETE /v1/pix/keys/{accountId}: needs delete-keys in allow",
        "in addition, GET /v1/pix/keys/{accountId}: needs read in allow",
    )
    assert tuple(map(str, explained.facts)) == (
        "with fuzz in allow: A registration needs each of the body fields, or does not.",
    )


@pytest.mark.parametrize("operation", ["createPix", "deletePixKey", "transferP2p"])
def test_what_only_malformed_requests_show_needs_fuzz(operation, exercises):
    """A run sends no others that these operations refuse; a read is also sent without the token."""
    explained, read = (
        tuple(map(str, explanation_of(ledger()[id], exercises[id], ()).facts))
        for id in (f"{operation}.refusal", "getBalance.refusal")
    )

    assert explained == ("with fuzz in allow: Requests are refused in these ways.",)
    assert read == ("Requests are refused in these ways.",)


def test_what_shows_a_requirement_comes_first(exercises):
    """For a requirement of no operation, too: the reads show only that the token is valid."""
    explained = explanation_of(ledger()["general.otherTokens"], exercises["general.otherTokens"], ())
    requests = tuple(map(str, explained.requests))

    assert requests[:2] == (
        "DELETE /v1/pix/keys/{accountId}: needs delete-keys in allow",
        "POST /v1/pix: needs create-pix in allow; it moves money, or may do so",
    )
    assert requests[5:] == tuple(f"in addition, {line}" for line in _reads())


def _reads():
    return (f"GET {operations()[name].path}: needs read in allow" for name in READS)


def test_generated_traffic_exercises_rules(exercises):
    """What judges by every rule exercises each rule of its operation but those of examples, after the targeted tests."""
    generated = Exercise(
        "A valid request keeps every rule of its operation, and an invalid one breaks nothing.", ("fuzz",)
    )

    assert exercises["getBalance.status"].tests[-1] == generated
    assert generated not in exercises["executePix.type.example"].tests
    assert generated not in exercises["executePix.token.required"].tests


@pytest.mark.parametrize(
    ("requirement", "fail_on", "meaning"),
    [
        (MASKED, ["documented"], ("The interface document states it.", "A deviation fails the run.")),
        (MASKED, [], ("The interface document states it.", "A deviation is a warning, and fails no run.")),
        (
            "executePix.repeated",
            ["documented"],
            (
                "The interface document says that this is not shown.",
                "Nothing can deviate. What the service does is observed; where it differs from the record, it drifts.",
            ),
        ),
        (
            "general.scope",
            ["documented"],
            (
                "The interface document states it.",
                "No exchange can show it: a property of the interface document, not of a service.",
            ),
        ),
    ],
)
def test_what_a_deviation_means(requirement, fail_on, meaning):
    """It follows from the level of the requirement and from fail_on of the profile."""
    explained = explanation_of(ledger()[requirement], Exercised(), fail_on)

    assert tuple(map(str, explained.meaning)) == meaning


@pytest.mark.parametrize("fail_on", [[], LEVELS], ids=["nothing fails", "everything fails"])
@pytest.mark.parametrize("tag", catalogues())
def test_every_explanation_is_translated(tag, fail_on, exercises):
    """Each sentence of each explanation has a translation in every language, and so have the headings."""
    explanations = [explanation_of(one, exercises[one.id], fail_on) for one in ledger().values()]
    parts = [part for each in explanations for part in each.parts.items()]
    texts = {text for title, texts in parts for text in (title, *texts)}

    assert [str(text) for text in texts if language(tag).text(text) == str(text)] == []


# -- the page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tag", "fix"), [("en", "What usually fixes it"), ("pt-BR", "O que em geral corrige")])
def test_the_page_has_the_same_explanations(tag, fix, exercises):
    """Every requirement has one, folded up, in the row of the requirement; so has a finding."""
    run = Run(replace(SANDBOX, language=tag), "https://staging.example.test")
    run.results += [WRONG]
    page = summary_html(run, exercises=exercises)
    row = re.search(rf'<tr id="{re.escape(MASKED)}".*?</tr>', page, re.DOTALL)[0]
    finding = re.search(rf'<article [^>]*id="finding-{re.escape(MASKED)}".*?</article>', page, re.DOTALL)[0]
    texts = [
        text
        for each in explanation_of(ledger()[MASKED], exercises[MASKED], SANDBOX.fail_on).parts.values()
        for text in each
    ]

    assert page.count('<details class="explained">') == len(ledger()) + 1
    assert all(f"<dd>{language(tag).text(text)}</dd>" in place for text in texts for place in (row, finding))
    assert f"<dt>{fix}</dt>" in row


# -- the command line -----------------------------------------------------------------------------------------------


def test_a_requirement_is_explained(profile, tmp_path):
    """All of it, with what the last run saw; nothing is fetched, opened or written, and no run is claimed."""
    tell(tmp_path / "report", WRONG)
    before = sorted(path.name for path in (tmp_path / "report").iterdir())
    explained = run(profile, "--explain", MASKED)

    assert explained.status == 0
    assert explained.output.rstrip("\n").splitlines() == [
        f"{MASKED} (documented)",
        "  The tax document of the counterparty is partly masked.",
        "  Resources and their fields, Execution result, row 8",
        "",
        "  What a deviation means",
        "    The interface document states it.",
        "    A deviation fails the run.",
        "",
        "  How it is exercised",
        "    GET /v1/execute/pix/{transactionId}: needs execute in allow; it moves money, or may do so",
        "",
        "  What its tests state",
        "    Status, JSON, envelope and every field of the execution result are as documented.",
        "    with fuzz in allow: A valid request keeps every rule of its operation, and an invalid one breaks nothing.",
        "",
        "  What the last run saw",
        f"    sandbox at https://staging.example.test, {started(tmp_path)}: non-conformant",
        "    fail",
        f"    {tmp_path}/report/report.html#{MASKED}",
        "",
        "  What usually fixes it",
        f"    {fix_for(ledger()[MASKED])}",
    ]
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == before
    assert not (tmp_path / "token-was-fetched").exists()


def started(folder):
    """When the run in the folder started, for people."""
    return moment_in_words(json.loads((folder / "report" / FILE).read_text("utf-8"))["started"])


@pytest.mark.parametrize("options", [[], ["-q"], ["-v"], ["--collect-only"], ["-m", "property"]], ids=" ".join)
def test_the_list_is_the_ledger_with_verdicts(options, profile, tmp_path):
    """By section, whatever else is on the command line; `-` where the run has no verdict."""
    tell(tmp_path / "report", WRONG, narrowed=True, selection="-k executePix.document.masked")
    listed = run(profile, "--list", *options)
    lines = listed.output.splitlines()

    assert listed.status == 0
    assert [line.split()[1] for line in lines if line.startswith("  ")] == list(ledger())
    assert f"  fail           {MASKED}" in lines
    assert f"  -              {DIGIT}" in lines
    assert [line for line in lines if line and not line.startswith(" ")] == [
        f"sandbox at https://staging.example.test, {started(tmp_path)}: non-conformant",
        *dict.fromkeys(one.heading for one in ledger().values()),
    ]


def test_a_selection_narrows_both(profile):
    """`-k` leaves the others out of the list, and out of a group."""
    listed = run(profile, "--list", "-k", "executePix.document")
    explained = run(profile, "--explain=executePix", "-k", "executePix.digit.type")
    nothing = run(profile, "--list", "-k", "noSuchRequirement")

    ids = [line.split()[1] for line in listed.output.splitlines() if line.startswith("  ")]
    assert ids == [id for id in ledger() if id.startswith("executePix.document.")]
    assert explained.output.startswith("executePix.digit.type (documented)\n")
    assert nothing.status == 4


def test_a_group_is_explained_where_it_is_small(profile):
    """Three requirements are explained, more are listed."""
    few, many = (run(profile, "--explain", group) for group in ("executePix.digit", "executePix.document"))

    assert [line for line in few.output.splitlines() if line.startswith("executePix")] == [
        f"executePix.digit.{what} (documented)" for what in ("present", "type", "spelling")
    ]
    assert "  -              executePix.document.partly\n\npytest --explain ID explains one of them\n" in many.output
    assert "What usually fixes it" not in many.output


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "--explain=executePix.documnt.masked",
            "--explain: executePix.documnt.masked: no such requirement; did you mean executePix.document.masked or "
            "executePix.document.type?",
        ),
        (
            "--explain executepix.DOCUMENT.masked",
            "--explain: executepix.DOCUMENT.masked: no such requirement; did you mean executePix.document.masked?",
        ),
        (
            "--explain=GENERAL.VERSIONPREFX",
            "--explain: GENERAL.VERSIONPREFX: no such requirement; did you mean general.versionPrefix?",
        ),
        (
            "--explain=versionPrefix",
            "--explain: versionPrefix: no such requirement; did you mean general.versionPrefix?",
        ),
        (
            "--explain=\x1b[31mxyzzy\n9",
            "--explain: \\x1b[31mxyzzy 9: no such requirement; pytest --list names them all",
        ),
        ("--explain -q", "--explain: name one; pytest --list names them all"),
        ("--explain=", "--explain: name one; pytest --list names them all"),
        ("--explain=executePix.json --list", "--explain and --list each print something; name one of them"),
        ("--list --plan", "--list and --plan each print something; name one of them"),
    ],
)
def test_a_wrong_id_is_one_line(options, line, profile):
    """Exit status 4, and the nearest ids."""
    refused = run(profile, *options.split(" "))

    assert (refused.status, refused.output.strip()) == (4, f"ERROR: {line}")


# -- the last run ---------------------------------------------------------------------------------------------------


def test_no_last_run(tmp_path, monkeypatch):
    """It is said plainly, with the place where one is looked for."""
    monkeypatch.setattr("reports.explaining.on_terminal.RUNS", tmp_path)
    found = last_run("staging", None, str)

    assert found.line == (
        f"no run of staging to tell of: {tmp_path}/staging/latest/conformance.json: no such file; expected the "
        "conformance.json of a run, or its folder"
    )
    assert (found.page, found.verdicts) == ("", {})


def test_a_last_run_where_nobody_may_look():
    """It is said what the system says, as for a folder without permission."""
    folder = Path("a" * 300)

    assert last_run("staging", folder, str).line == (
        f"no run of staging to tell of: {folder}/conformance.json: cannot be read: File name too long"
    )


def test_the_last_run_of_the_environment(tmp_path, monkeypatch):
    """`latest` leads to it."""
    monkeypatch.setattr("reports.explaining.on_terminal.RUNS", tmp_path)
    (tmp_path / "staging").mkdir()
    tell(tmp_path / "staging" / "20261122T000000Z-0000", WRONG)
    (tmp_path / "staging" / "latest").symlink_to("20261122T000000Z-0000")
    found = last_run("staging", None, str)

    assert found.verdicts[MASKED] == "fail"
    assert found.page == f"{tmp_path}/staging/latest/report.html"


def test_an_unreadable_last_run(profile, tmp_path):
    """It is said why; the requirement is explained all the same."""
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / FILE).write_text('{"half')
    explained = run_pytest(arguments(profile, "--explain", MASKED), environment())

    assert explained.returncode == 0
    why = f"    no run of profile to tell of: {tmp_path}/report/{FILE}: not JSON at line 1, column 2\n"
    assert f"  What the last run saw\n{why}\n  What usually fixes it\n" in explained.stdout


def test_a_last_run_about_something_else(profile, tmp_path):
    """A run that was narrowed says to what."""
    tell(tmp_path / "report", WRONG, narrowed=True, selection="-k executePix.document.masked")
    explained = run(profile, "--explain", DIGIT)

    assert (
        "    the run was not about this requirement: it was narrowed to -k executePix.document.masked\n"
        in explained.output
    )


def test_what_the_file_says_is_redacted_and_made_visible(profile, tmp_path):
    """A file from elsewhere colours nothing, ends no line, and shows nothing that the profile keeps."""
    odd = "seen for ac-0001\x1b[31m\r\n##[error] red\u202e"
    tell(tmp_path / "report", WRONG, narrowed=True, selection=odd)
    explained = run(profile, "--explain", DIGIT)

    assert ": it was narrowed to seen for <account>\\x1b[31m\\x0d # #[error] red\\u202e\n" in explained.output


# -- terminals and pipes --------------------------------------------------------------------------------------------


def test_a_line_is_wrapped_at_the_width():
    """Words stay whole, the indent is kept, and without a width nothing is wrapped."""
    line = Line("needs execute-and-more in allow", 4)
    path = "reports/runs/staging/latest/report.html"

    assert list(line.wrapped(24)) == ["    needs", "    execute-and-more in", "    allow"]
    assert list(line.wrapped(3)) == list(line.wrapped(24))
    assert list(Line(path).wrapped(24)) == [path]
    assert list(line.wrapped(None)) == ["    needs execute-and-more in allow"]
    assert list(Line().wrapped(24)) == list(Line().wrapped(None)) == [""]


def command(profile, *options):
    """The command of a run, for a process with a terminal or a pipe of its own."""
    return [sys.executable, "-m", "pytest", *arguments(profile, *options)]


def test_a_terminal_gets_colours_and_its_width(profile, tmp_path):
    """Headings are bold, a failure is red, and no line is longer than the terminal but for a single word."""
    tell(tmp_path / "report", WRONG)
    ours, theirs = pty.openpty()
    variables = environment(COLUMNS="50", TERM="xterm")
    with subprocess.Popen(command(profile, "--explain", MASKED), cwd=ROOT, env=variables, stdout=theirs, stdin=theirs):
        os.close(theirs)
        printed = read_all(ours)

    assert f"\x1b[1m{MASKED} (documented)\x1b[0m" in printed
    assert "\x1b[31m    fail\x1b[0m" in printed
    plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "").strip() for line in printed.splitlines()]
    assert all(len(line) <= 50 or " " not in line for line in plain)


def read_all(descriptor):
    """What is written to a terminal until its other side is closed."""
    found = b""
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # Linux: no one writes to it any more
            piece = b""
        if not piece:
            os.close(descriptor)
            return found.decode()
        found += piece


def test_a_pipe_gets_no_control_codes_and_may_be_closed(profile):
    """Long lines stay whole. A reader that has enough ends the list in silence, also by the last line: pytest would
    write one more, into a pipe that may be closed by then."""
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run(
        command(profile, "--list"), cwd=ROOT, env=environment(), stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    explained = run(profile, "--explain", MASKED)

    assert (closed.returncode, closed.stderr) == (0, b"")
    assert "\x1b" not in explained.output
    assert explained.output.endswith(f"    {fix_for(ledger()[MASKED])}\n")
