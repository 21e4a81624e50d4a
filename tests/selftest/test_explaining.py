"""`pytest --explain ID` and `pytest --list` tell of requirements and of the last run, and send nothing."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from environments.profiles.loading import load
from reports.explanation import fits, fix_for, fixes, last_run
from reports.formats.conformance_json import FILE, as_json, document_of
from reports.language import catalogues, language
from reports.page.rendering import summary_html
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from reports.wording import moment_in_words
from spec.requirements import requirements
from tests.selftest.services.forking import ROOT
from tests.selftest.services.running import arguments, environment, run, write_profile
from tests.traffic.phases import scenarios_of

MASKED, DIGIT = "executePix.document.masked", "executePix.digit.present"
SANDBOX = load("sandbox", folder=ROOT / "environments")
WRONG = RequirementResult(
    MASKED, Verdict.FAIL, "expected a masked tax document, got one with every character visible", (7,)
)
TESTABLE = [one for one in requirements().values() if not one.untestable]


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


def started(folder):
    """When the run in the folder started, for people."""
    return moment_in_words(json.loads((folder / "report" / FILE).read_text("utf-8"))["started"])


@pytest.mark.parametrize("requirement", TESTABLE, ids=lambda one: one.id)
def test_every_testable_requirement_has_a_fix_and_a_scenario(requirement):
    """With its placeholders filled in, and in every language: give its id to an entry of reports/fixes.yaml."""
    assert any(fits(entry, requirement) for entry in fixes()), "no entry of reports/fixes.yaml fits"
    assert not re.search(r"\{(field|request|type)}|  ", str(fix_for(requirement)))
    assert all(language(tag).text(fix_for(requirement)) != str(fix_for(requirement)) for tag in catalogues())
    assert scenarios_of(requirement.id)


@pytest.mark.parametrize("entry", fixes(), ids=lambda entry: entry.get("level") or entry["ids"][0])
def test_every_fix_is_used(entry):
    """Each entry is the first that fits some requirement, each of its patterns fits one, and its text is a whole one."""
    patterns = entry.get("ids", [])

    assert entry in [next(each for each in fixes() if fits(each, one)) for one in TESTABLE]
    assert [each for each in patterns if not any(fits({"ids": [each]}, one) for one in TESTABLE)] == []
    assert entry["fix"].endswith(".")


@pytest.mark.parametrize(
    ("requirement", "start"),
    [
        ("executePix.envelope.code.present", "Make the envelope in one place for all operations, and give it the member code "),
        ("registerPixKey.Key.spelling", "Name the field Key exactly so, letter case included. "),
        ("registerPixKey.body.account", "Read account from the JSON body under exactly this name, and take it as a string. "),
        ("registerPixKey.pixKeyType.CNPJ", "Register keys of the type CNPJ. "),
        ("registerPixKey.pixKeyType.EVP", "Refuse EVP, or have it documented as a second name of RANDOM. "),
        ("createPix.exists", "Serve POST /v1/pix. "),
        ("executePix.status.values", "There is nothing to fix: the interface document leaves this open. "),
    ],
)  # fmt: skip
def test_a_fix_names_what_it_is_about(requirement, start):
    """The field, the key type or the request of the requirement."""
    assert str(fix_for(requirements()[requirement])).startswith(start)


@pytest.mark.parametrize(("tag", "title"), [("en", "What usually fixes it"), ("pt-BR", "O que em geral corrige")])
def test_the_page_has_the_same_fixes(tag, title):
    """Every requirement that an exchange can show has one, folded up, in its row; so has a finding."""
    run = Run(replace(SANDBOX, language=tag), "https://staging.example.test")
    run.results += [WRONG]
    page = summary_html(run)
    row = re.search(rf'<tr id="{re.escape(MASKED)}".*?</tr>', page, re.DOTALL)[0]
    finding = re.search(rf'<article [^>]*id="finding-{re.escape(MASKED)}".*?</article>', page, re.DOTALL)[0]
    fix = language(tag).text(fix_for(requirements()[MASKED]))

    assert page.count('<details class="explained">') == len(TESTABLE) + 1
    assert all(f"<p>{fix}</p>" in place and title in place for place in (row, finding))


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
        "How it is exercised",
        "  GET /v1/execute/pix/{transactionId}: needs execute in allow; it moves money, or may do so",
        f"  scenarios: {', '.join(scenarios_of(MASKED))}",
        "",
        "What the last run saw",
        f"  sandbox at https://staging.example.test, {started(tmp_path)}: non-conformant; {tmp_path}/report/report.html",
        "  fail",
        "",
        "What usually fixes it",
        f"  {fix_for(requirements()[MASKED])}",
    ]
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == before
    assert not (tmp_path / "token-was-fetched").exists()


def test_what_no_exchange_can_show_is_explained(profile):
    """It is said why; there is nothing to fix."""
    output = run(profile, "--explain=general.scope").output

    assert "  no exchange can show it: a property of the interface document, not of a service\n" in output
    assert "What usually fixes it" not in output


@pytest.mark.parametrize("options", [[], ["-q"], ["-v"], ["--collect-only"], ["-m", "property"]], ids=" ".join)
def test_the_list_is_the_ledger_with_verdicts(options, profile, tmp_path):
    """By section, whatever else is on the command line; `-` where the run has no verdict."""
    tell(tmp_path / "report", WRONG, narrowed=True, selection="-k executePix.document.masked")
    listed = run(profile, "--list", *options)
    lines = listed.output.splitlines()
    narrowed = "sandbox at https://staging.example.test (only -k executePix.document.masked)"

    assert listed.status == 0
    assert [line.split()[1] for line in lines if line.startswith("  ")] == list(requirements())
    assert f"  fail           {MASKED}" in lines
    assert f"  -              {DIGIT}" in lines
    assert [line for line in lines if line and not line.startswith(" ")] == [
        f"{narrowed}, {started(tmp_path)}: non-conformant; {tmp_path}/report/report.html",
        *dict.fromkeys(one.heading for one in requirements().values()),
    ]


def test_a_group_is_listed(profile):
    """One requirement of it is explained where `-k` leaves no other; `-k` narrows the list, too."""
    lists = [
        run(profile, *options).output
        for options in (["--explain=executePix.document"], ["--list", "-k", "executePix.document"])
    ]
    explained = run(profile, "--explain=executePix", "-k", "executePix.digit.type")

    assert lists[0] == lists[1]
    ids = [line.split()[1] for line in lists[0].splitlines() if line.startswith("  ")]
    assert ids == [id for id in requirements() if id.startswith("executePix.document.")]
    assert explained.output.startswith("executePix.digit.type (documented)\n")
    assert run(profile, "--list", "-k", "noSuchRequirement").status == 4


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "--explain=executePix.documnt.masked",
            '--explain: executePix.documnt.masked: no such requirement; did you mean "executePix.document.masked"?',
        ),
        (
            "--explain=GENERAL.VERSIONPREFX",
            '--explain: GENERAL.VERSIONPREFX: no such requirement; did you mean "general.versionPrefix"?',
        ),
        (
            "--explain=versionPrefix",
            '--explain: versionPrefix: no such requirement; did you mean "general.versionPrefix"?',
        ),
        (
            "--explain=\x1b[31mxyzzy\n9",
            "--explain: \\x1b[31mxyzzy 9: no such requirement; pytest --list names them all",
        ),
        ("--explain -q", "--explain: name one; pytest --list names them all"),
        ("--explain=", "--explain: name one; pytest --list names them all"),
        ("--list --plan", "--list and --plan each print something; name one of them"),
    ],
)
def test_a_wrong_id_is_one_line(options, line, profile):
    """Exit status 4, and the nearest ids."""
    refused = run(profile, *options.split(" "))

    assert (refused.status, refused.output.strip()) == (4, f"ERROR: {line}")


# -- the last run ---------------------------------------------------------------------------------------------------


def test_no_last_run(tmp_path):
    """It is said plainly, with the place where one is looked for."""
    found = last_run(tmp_path, str)

    assert found.line == f"no last run: {tmp_path}: no such file; expected the conformance.json of a run, or its folder"
    assert found.verdicts == {}


def test_the_last_run_of_the_environment(tmp_path):
    """`latest` leads to it."""
    tell(tmp_path / "20261122T000000Z-0000", WRONG)
    (tmp_path / "latest").symlink_to("20261122T000000Z-0000")
    found = last_run(tmp_path / "latest", str)

    assert found.verdicts[MASKED] == "fail"
    assert found.line.endswith(f"; {tmp_path}/latest/report.html")


def test_what_the_file_says_is_redacted_and_made_visible(profile, tmp_path):
    """A file from elsewhere colours nothing, ends no line, and shows nothing that the profile keeps."""
    odd = "seen for ac-0001\x1b[31m\r\n##[error] red\u202e"
    tell(tmp_path / "report", WRONG, narrowed=True, selection=odd)
    explained = run(profile, "--explain", DIGIT)

    assert "(only seen for <account>\\x1b[31m\\r # #[error] red\\u202e), " in explained.output


def test_a_pipe_may_be_closed(profile):
    """A reader that has enough ends the list in silence, also by the last line: pytest would write one more, into a pipe
    that may be closed by then."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "pytest", *arguments(profile, "--list")]
    closed = subprocess.run(command, cwd=ROOT, env=environment(), stdout=write, stderr=subprocess.PIPE)
    os.close(write)

    assert (closed.returncode, closed.stderr) == (0, b"")
