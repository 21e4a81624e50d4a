"""What a run tells GitHub: ids, statements, words and counts of the suite, escaped; a service gives no command."""

from collections import Counter
from dataclasses import replace

import pytest

from environments.profiles.model import KnownFailure
from reports.observed.behaviour import Drift
from reports.observed.earlier_runs import record_of
from reports.outputs.conformance_json import document_of
from reports.outputs.github import error_command, step_summary, workflow_commands
from reports.result.answer_counts import AnswersToValidToken
from reports.result.document import ComparedRun, Comparison
from reports.result.provenance import VERSION
from reports.result.run import LeftKey, Note, NoteKind, Observation
from reports.result.verdicts import RunVerdict
from spec.facts import words_as_facts
from spec.findings import finding
from spec.requirements import requirements
from tests.selftest.hand_made import SANDBOX_PROFILE, run_with_results
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, response_bytes

IS_JSON, DATA, EXTRA = "executePix.json", "executePix.envelope.data.present", "executePix.fields.extra"
WORDS_OF_OTHERS = "the operator's own words"
PROFILE = replace(
    SANDBOX_PROFILE,
    base_url="https://operator.example.test",
    allow=frozenset({"read"}),
    known_failures=(KnownFailure(DATA, WORDS_OF_OTHERS),),
)
NO_JSON = finding("json", error=WORDS_OF_OTHERS)
FAILING = (
    (IS_JSON, "fail", NO_JSON),
    ("registerPixKey.json", "fail", NO_JSON),
    (DATA, "fail", finding("missing", name=WORDS_OF_OTHERS)),
)
WARNING = (EXTRA, "warn", finding("other-fields", names=WORDS_OF_OTHERS))
PASSING = (IS_JSON, "pass"), ("registerPixKey.json", "out-of-scope", WORDS_OF_OTHERS)


def document_with_words_of_others(*rows, **state):
    """The document of a run in which each text that the suite did not write itself is WORDS_OF_OTHERS.

    `rows` are results of requirements, such as those of FAILING. `state` are attributes of the run.
    """
    state = {
        "selection": WORDS_OF_OTHERS,
        "ci_job": WORDS_OF_OTHERS,
        "requests": 12,
        "executions": 1,
        "seed": 7,
        **state,
    }
    run = run_with_results(*rows, profile=PROFILE, unsent={WORDS_OF_OTHERS: ["executePix"]}, **state)
    run.base_url = WORDS_OF_OTHERS
    return document_of(run)


@pytest.mark.parametrize(
    ("title", "message", "line"),
    [
        ("a: b, c", "50%, a: b", "::error title=a%3A b%2C c::50%25, a: b"),
        ("a\nb", "one\r\n::error::two", "::error title=a%0Ab::one%0D%0A::error::two"),
    ],
)
def test_a_command_is_escaped(title, message, line):
    """A line for GitHub Actions stays one command, even if its title or message has colons, commas, percent signs or
    line ends.

    GitHub reads `::error title=…::…` as a command. %3A is a colon, %2C a comma, %0A a line end.
    """
    command = error_command(title, message)

    assert command == line


def test_each_failing_cause_is_an_error():
    """Two requirements that fail for one cause make one error line for GitHub, which names the first and counts the
    others.

    In FAILING both are "the answer is no JSON". Known failures, which the profile lists, and warnings make no line.
    """
    [line] = workflow_commands(document_with_words_of_others(*FAILING, WARNING))

    assert line.startswith(
        f"::error title={IS_JSON} and 1 more::documented: The response to a successful execution is "
    )


def titles_of_errors(document):
    """The titles of the error lines that GitHub gets for a run. Each line is `::error title=…::…`."""
    lines = workflow_commands(document)
    return [line.removeprefix("::error title=").partition("::")[0] for line in lines]


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ({"ended_by": "limits.duration"}, "incomplete"),
        ({"unreachable": "gone"}, "unreachable"),
        ({"interrupted": True}, "interrupted"),
    ],
)
def test_a_run_that_broke_off_is_an_error(state, verdict):
    """A run that broke off gives GitHub one error line, whose title has the verdict of the run, such as "incomplete".

    A limit of the profile, an unreachable service or the user ended the run. No requirement fails, so no other line
    explains why the job is red. %3A is a colon.
    """
    document = document_of(run_with_results(*PASSING, profile=PROFILE, **state))

    assert titles_of_errors(document) == [f"PIX conformance%3A {verdict}"]


def test_a_partial_run_is_no_error():
    """A run in which nothing fails, and that tested only a part of the requirements, gives GitHub no error line."""
    document = document_of(run_with_results(*PASSING, profile=PROFILE))

    assert document.verdict == "partial"
    assert titles_of_errors(document) == []


def test_an_incomplete_run_says_why():
    """If no operation succeeded, the error line for GitHub and the summary of the job both give this as the reason."""
    all_answers_401 = AnswersToValidToken({"executePix": Counter({"401": 7})})
    run_document = document_with_words_of_others(*PASSING, answers_to_valid_token=all_answers_401)
    reason = "; no operation succeeded; no failure, 1 of 2 requirements tested"

    [command] = workflow_commands(run_document)

    assert reason in command
    assert reason in step_summary(run_document)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"unreachable": "the connection is refused"}, "the connection is refused"),
        ({"errors": ["the suite failed at x: KeyError: 'y'"]}, "the suite failed at x: KeyError: 'y'"),
    ],
    ids=["the service is unreachable", "the suite failed"],
)
def test_the_summary_of_a_red_job_has_alerts_if_no_requirement_explains_it(state, reason):
    """If a run is red although no requirement fails, the summary on GitHub has the alerts, the target and the reason.

    An alert is a note that a reader must see first. It stands in a block of plain text, so that Markdown in it does
    nothing.
    """
    alert = Note(NoteKind.WRONG_SET_UP, "the token was refused\n``` <img>: export another one")
    run_document = document_of(run_with_results(*PASSING, profile=PROFILE, notes=[alert], **state))
    lines = step_summary(run_document).splitlines()
    start = lines.index("```text") + 1
    end = lines.index("```", start)
    block = lines[start:end]

    assert block[0].startswith("staging at http://127.0.0.1:1, not a sandbox: 0 transfers executed")
    assert "! the token was refused ``` <img>: export another one" in block
    assert reason in "\n".join(block)


@pytest.mark.parametrize("selection", [None, WORDS_OF_OTHERS], ids=["all requirements", "selected requirements"])
def test_the_summary_says_that_requirements_were_selected(selection):
    """The summary on GitHub says that only a part of the requirements was selected, if the run had a selection.

    The summary does not repeat the selection itself, because the operator wrote it.
    """
    run_has_a_selection = selection is not None

    summary = step_summary(document_with_words_of_others(*PASSING, selection=selection))
    summary_says_so = "only a part of the requirements was selected" in summary

    assert summary_says_so is run_has_a_selection
    assert WORDS_OF_OTHERS not in summary


def statement_of(requirement_id):
    """The statement of a requirement, with its place in the interface document."""
    requirement = requirements()[requirement_id]
    return f"{requirement.text} ({requirement.section})"


DRIFT = [Drift(id=id, situation=WORDS_OF_OTHERS, place="", was=WORDS_OF_OTHERS, now="") for id in (IS_JSON, DATA, DATA)]
WHOLE_SUMMARY = f"""\
## PIX conformance: non-conformant

read only; only a part of the requirements was selected; fails 2 documented requirements besides 1 known failure, 3 of 3 \
requirements tested; not all requests were sent; not a sandbox: 1 transfer executed, 12 requests.

- 2 alerts: the outcome of an execution is unknown
- 1 alert: keys that the run registered are left

| level | fail | warn | pass | observed | not-exercised | out-of-scope | untestable |
|---|---:|---:|---:|---:|---:|---:|---:|
| documented | 3 | 0 | 0 | 0 | 0 | 0 | 0 |
| implied | 0 | 1 | 0 | 0 | 0 | 0 | 0 |

### Failing

| requirement | level | statement | got |
|---|---|---|---|
| `{IS_JSON}` and 1 more | documented | {statement_of(IS_JSON)} | … |

### Known failures

| requirement | level | statement | got |
|---|---|---|---|
| `{DATA}` | documented | {statement_of(DATA)} | no such member |

### Warnings

| requirement | level | statement | got |
|---|---|---|---|
| `{EXTRA}` | implied | {statement_of(EXTRA)} | … |

### Drift since the record of 2026-11-20: 3 places

- `{DATA}`: 2 places
- `{IS_JSON}`: 1 place

Changes since then: 1 newly failing.

Suite {VERSION}, seed 7. The report has the evidence.
"""


def test_the_whole_summary():
    """The summary on GitHub has each kind of part, and no word of the operator or the service.

    The parts are alerts, counts by level, failures, known failures, warnings, drift and changes. Drift is a difference
    from what an earlier run observed. Three documented requirements fail: two because an answer is no JSON, and a known
    one. One implied requirement warns. Every text that the suite did not write itself is WORDS_OF_OTHERS here.
    """
    whole = document_with_words_of_others(
        *FAILING, WARNING,
        notes=[Note(NoteKind.OUTCOME_UNKNOWN, f"{WORDS_OF_OTHERS} {number}") for number in (1, 2)],
        not_cleaned_up=[LeftKey(WORDS_OF_OTHERS, WORDS_OF_OTHERS, False, (1,))],
        observations=[Observation("executePix.status.values", words_as_facts(WORDS_OF_OTHERS))],
        drift=DRIFT, record=record_of("staging", {}).model_copy(update={"accepted": "2026-11-20"}),
    )  # fmt: skip
    earlier = ComparedRun(
        environment=WORDS_OF_OTHERS,
        started="2026-11-20T10:00:00Z",
        suite_version="0.1.0",
        verdict=RunVerdict.CONFORMANT,
    )
    changes = Comparison(
        compared_with=earlier, comparable=True, line="since then: 1 newly failing", worse=False,
        newly_failing=(), fixed=(), newly_exercised=(), no_longer_exercised=(), newly_warning=(), no_longer_warning=(),
    )  # fmt: skip
    whole = whole.model_copy(update={"comparison": changes})

    summary = step_summary(whole)
    texts_with_words_of_others = [text for text in (summary, *workflow_commands(whole)) if WORDS_OF_OTHERS in text]

    assert summary == WHOLE_SUMMARY
    assert texts_with_words_of_others == []


# -- whole runs -----------------------------------------------------------------------------------------------------

COMMAND_OF_SERVICE = "::error title=removed::by the service"


class GivesCommands(SocketService):
    """Answers with broken JSON whose lines the runner of GitHub would take for commands."""

    def answer(self, connection, request):
        """Send the answer of the sandbox. If it is a success, its body has lines that look like commands."""
        response = self.sandbox.respond(request)
        if response.status == 200:
            lines = f"no JSON\n{COMMAND_OF_SERVICE}\n  {COMMAND_OF_SERVICE}\n##[error]x\n"
            response = replace(response, body=lines.encode())
        connection.sendall(response_bytes(response))


@pytest.fixture
def variables_of_job(tmp_path):
    """The variables of a job whose summary has a line already."""
    (tmp_path / "summary.md").write_text("before\n")
    return {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}


def test_a_service_gives_no_commands(variables_of_job, tmp_path):
    """If a service answers with lines that look like commands of GitHub Actions, no such line is printed.

    While tests run, GitHub is told to ignore commands: `::stop-commands::TOKEN` begins this time, and `::TOKEN::` with
    the same random token ends it. Then the run prints its own error, and its verdict as the last line. It adds its
    summary to that of the job, without the answer of the service and without its address.
    """
    with GivesCommands() as service:
        result = run_suite(
            write_profile(tmp_path, service.base_url), "-vv", "-k", "executePix.json", **variables_of_job
        )
    lines_with_commands = [line.strip() for line in result.output.splitlines() if line.strip().startswith("::")]
    stop, start, command = lines_with_commands
    token_of_stop = stop.removeprefix("::stop-commands::")
    token_of_start = start.removeprefix("::").removesuffix("::")
    place_of_command = result.output.rindex("\n::")
    place_of_verdict = result.output.rindex("\nverdict: ")
    summary = (tmp_path / "summary.md").read_text()
    private_texts_in_summary = [text for text in (COMMAND_OF_SERVICE, "127.0.0.1") if text in summary]

    assert result.status == 1
    assert COMMAND_OF_SERVICE not in result.output
    assert token_of_stop == token_of_start
    assert token_of_stop != ""
    assert command.startswith("::error ")
    assert place_of_command < place_of_verdict
    assert summary.startswith("before\n## PIX conformance: non-conformant\n")
    assert "| `executePix.json` | documented |" in summary
    assert private_texts_in_summary == []


def test_a_wrong_command_line_is_in_the_summary(variables_of_job, tmp_path):
    """If the command line is wrong, no run is started, and the summary of the GitHub job has the error line of pytest.

    The line above it names the environment. The summary is appended to what the job wrote before.
    """
    profile = write_profile(tmp_path, "http://127.0.0.1:9")
    result = run_suite(profile, "-k", "nowhere", **variables_of_job)
    text = (tmp_path / "summary.md").read_text()

    assert result.status == 4
    assert text == (
        f"before\n## PIX conformance: no run\n\n```text\n{profile}\n"
        "error: -k: nowhere: no such requirement; pytest --list names them all\n```\n"
    )
