"""What a run tells GitHub: ids, statements, words and counts of the suite, escaped; a service gives no command."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from environments.profiles.model import KnownFailure
from reports.observed.behaviour import Drift
from reports.observed.comparison import compared
from reports.observed.earlier_runs import record_of
from reports.outputs.conformance_json import document_of
from reports.outputs.github import error_command, step_summary, workflow_commands
from reports.result.grants import Grants
from reports.result.run import LeftKey, Note, NoteKind, Observation
from spec.facts import words_as_facts
from spec.findings import finding
from tests.selftest.hand_made import SANDBOX_PROFILE, run_with_results
from tests.selftest.reports.observed.test_comparison import earlier_run
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, response_bytes

STATUS, DATA, EXTRA = "executePix.json", "executePix.envelope.data.present", "executePix.fields.extra"
OPERATORS = "the operator's own words"
PROFILE = replace(
    SANDBOX_PROFILE,
    base_url="https://operator.example.test",
    allow=frozenset({"read"}),
    known_failures=(KnownFailure(DATA, OPERATORS),),
)
NO_JSON = finding("json", error=OPERATORS)
FAILING = (
    (STATUS, "fail", NO_JSON),
    ("registerPixKey.json", "fail", NO_JSON),
    (DATA, "fail", finding("missing", name=OPERATORS)),
)
WARNING = (EXTRA, "warn", finding("other-fields", names=OPERATORS))
PASSING = (STATUS, "pass"), ("registerPixKey.json", "out-of-scope", OPERATORS)


def document_with_words_of_others(*rows, **state):
    """The document of a run in which each text that is not the suite's own is OPERATORS."""
    state = {"selection": OPERATORS, "ci_job": OPERATORS, "requests": 12, "executions": 1, "seed": 7, **state}
    run = run_with_results(*rows, profile=PROFILE, unsent={OPERATORS: ["executePix"]}, **state)
    run.base_url = OPERATORS
    return document_of(run)


@pytest.mark.parametrize(
    ("title", "message", "line"),
    [
        ("a: b, c", "50%, a: b", "::error title=a%3A b%2C c::50%25, a: b"),
        ("a\nb", "one\r\n::error::two", "::error title=a%0Ab::one%0D%0A::error::two"),
    ],
)
def test_a_command_is_escaped(title, message, line):
    """The runner of GitHub reads it as one command, whatever its text has."""
    assert error_command(title, message) == line


def test_each_failing_cause_is_an_error():
    """The line names the leading requirement and how many more there are. Known failures and warnings have none."""
    (line,) = workflow_commands(document_with_words_of_others(*FAILING, WARNING))

    assert line.startswith(f"::error title={STATUS} and 1 more::documented: The response to a successful execution is ")


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ({}, "partial"),
        ({"ended_by": "limits.duration"}, "incomplete"),
        ({"unreachable": "gone"}, "unreachable"),
        ({"interrupted": True}, "interrupted"),
    ],
)
def test_a_run_without_a_verdict_on_the_service_is_an_error(state, verdict):
    """A red job has a line that says why."""
    lines = list(workflow_commands(document_with_words_of_others(*PASSING, **state)))

    assert [re.sub("::(the target could not be reached; )?read only; .*", "", line) for line in lines] == (
        [f"::error title=PIX conformance%3A {verdict}"] if verdict != "partial" else []
    )


def test_an_incomplete_run_says_why():
    """The annotation and the summary give the reason of the headline."""
    run_document = document_with_words_of_others(*PASSING, grants=Grants({"executePix": Counter({"401": 7})}))
    (command,) = workflow_commands(run_document)

    assert "; no operation succeeded; no failure, 1 of 2 requirements tested" in command
    assert "; no operation succeeded; no failure, 1 of 2 requirements tested" in step_summary(run_document)


@pytest.mark.parametrize(
    "state",
    [{"unreachable": "the connection is refused"}, {"errors": ["the suite failed at x: KeyError: 'y'"]}],
    ids=str,
)
def test_the_summary_of_a_red_job_has_alerts_if_no_requirement_explains_it(state):
    """The summary also has the environment and the target. Nothing in the alerts is Markdown."""
    alert = Note(NoteKind.SET_UP, "the token was refused\n``` <img>: export another one")
    run_document = document_of(run_with_results(*PASSING, profile=PROFILE, notes=[alert], **state))
    lines = step_summary(run_document).splitlines()
    start = lines.index("```text")
    block = lines[start + 1 : lines.index("```", start)]

    assert block[0].startswith("staging at http://127.0.0.1:1, not a sandbox: 0 transfers executed")
    assert "! the token was refused ``` <img>: export another one" in block
    assert [line for line in block if state.get("unreachable", state.get("errors", [""])[0]) in line]


@pytest.mark.parametrize("selection", [None, OPERATORS])
def test_the_summary_says_that_requirements_were_selected(selection):
    """The summary does not repeat the words of the selection, because the operator wrote them."""
    names_a_part = "only a part of the requirements was selected" in step_summary(
        document_with_words_of_others(*PASSING, selection=selection)
    )

    assert names_a_part is (selection is not None)


DRIFT = [Drift(id=id, situation=OPERATORS, place="", was=OPERATORS, now="") for id in (STATUS, DATA, DATA)]


def test_the_whole_summary():
    """Alerts by kind, counts, failures, known failures, warnings, drift and changes, in Markdown.

    No word of the operator or the service is public.
    """
    whole = document_with_words_of_others(
        *FAILING, WARNING,
        notes=[Note(NoteKind.OUTCOME_UNKNOWN, f"{OPERATORS} {number}") for number in (1, 2)],
        not_cleaned_up=[LeftKey(OPERATORS, OPERATORS, False, (1,))],
        observations=[Observation("executePix.status.values", words_as_facts(OPERATORS))],
        drift=DRIFT, record=record_of("staging", {}).model_copy(update={"accepted": "2026-11-20"}),
    )  # fmt: skip
    changes = compared(earlier_run(started="2026-11-20T10:00:00Z"), whole, str)
    changes = changes.model_copy(update={"comparable": True, "line": "since then: 1 newly failing"})
    whole = whole.model_copy(update={"comparison": changes})
    text = step_summary(whole)
    parts = (
        "\n\n- 2 alerts: the outcome of an execution is unknown\n- 1 alert: keys that the run registered are left\n\n| level |",
        "| documented | 3 | 0 | 0 | 0 | 0 | 0 | 0 |\n| implied | 0 | 1 | 0 | 0 | 0 | 0 | 0 |\n",
        f"### Failing\n\n| requirement | level | statement | got |\n|---|---|---|---|\n| `{STATUS}` and 1 more | documented | The ",
        " | … |\n\n### Known failures",
        f"### Known failures\n\n| requirement | level | statement | got |\n|---|---|---|---|\n| `{DATA}` | documented | ",
        " | no such member |\n\n### Warnings",
        f"### Warnings\n\n| requirement | level | statement | got |\n|---|---|---|---|\n| `{EXTRA}` | implied | ",
        f"### Drift since the record of 2026-11-20: 3 places\n\n- `{DATA}`: 2 places\n- `{STATUS}`: 1 place\n\n",
        "\nChanges since then: 1 newly failing.\n",
    )

    assert [part for part in parts if part not in text] == []
    assert text.endswith(f"\nSuite {whole.suite.version}, seed 7. The report has the evidence.\n")
    assert [text_shown for text_shown in (text, *workflow_commands(whole)) if OPERATORS in text_shown] == []


# -- whole runs -----------------------------------------------------------------------------------------------------

INJECTED = "::error title=removed::by the service"


class GivesCommands(SocketService):
    """Answers with broken JSON whose lines the runner of GitHub would take for commands."""

    def answer(self, connection, request):
        response = self.sandbox.respond(request)
        lines = f"no JSON\n{INJECTED}\n  {INJECTED}\n##[error]x\n".encode()
        connection.sendall(response_bytes(replace(response, body=lines) if response.status == 200 else response))


@pytest.fixture
def variables_of_job(tmp_path):
    """The variables of a job whose summary has a line already."""
    (tmp_path / "summary.md").write_text("before\n")
    return {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}


def test_a_service_gives_no_commands(variables_of_job, tmp_path):
    """The lines of the service are not printed, and while tests run GitHub takes no command.

    The summary is appended and has no address.
    """
    with GivesCommands() as service:
        result = run_suite(
            write_profile(tmp_path, service.base_url), "-vv", "-k", "executePix.json", **variables_of_job
        )
    stop, start, *commands = (line.partition(" ")[0] for line in result.output.splitlines() if line.strip()[:2] == "::")
    text = (tmp_path / "summary.md").read_text()

    assert result.status == 1
    assert INJECTED not in result.output
    assert stop.removeprefix("::stop-commands") == start.removesuffix("::")
    assert commands == ["::error"]
    assert result.output.rindex("\n::") < result.output.rindex("\nverdict: ")
    assert text.startswith("before\n## PIX conformance: non-conformant\n")
    assert "| `executePix.json` | documented |" in text
    assert INJECTED not in text
    assert "127.0.0.1" not in text


def test_a_wrong_command_line_is_in_the_summary(variables_of_job, tmp_path):
    """The summary has the line that pytest prints, and the environment."""
    profile = write_profile(tmp_path, "http://127.0.0.1:9")
    result = run_suite(profile, "-k", "nowhere", **variables_of_job)
    text = (tmp_path / "summary.md").read_text()

    assert result.status == 4
    assert text == (
        f"before\n## PIX conformance: no run\n\n```text\n{profile}\n"
        "error: -k: nowhere: no such requirement; pytest --list names them all\n```\n"
    )
