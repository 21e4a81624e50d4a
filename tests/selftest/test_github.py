"""What a run tells GitHub: ids, statements, words and counts of the suite, escaped; a service gives no command."""

import json
import re
from dataclasses import replace

import pytest

from reports.formats.github import error_command, step_summary, workflow_commands
from reports.verdicts import RunVerdict
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes

STATUS, DATA = "executePix.status", "executePix.envelope.data.present"
TEXT = "The response to a successful execution has status 200. (Response envelope, row 1)"
OPERATORS = "the operator's own words"


def row(requirement_id=STATUS, verdict="fail", **more):
    return {"id": requirement_id, "verdict": verdict, "level": "documented", **more}


def finding(*requirement_ids, **more):
    shared = {"requirements": list(requirement_ids), "level": "documented", "verdict": "fail"}
    return {"cause": requirement_ids[0], "message": OPERATORS, "text": OPERATORS, **shared, **more}


WHERE = {"sandbox": False, "fail_on": ["documented"]}


def document(verdict, *rows, findings=(), **more):
    """As much of a conformance.json as is read here; what is not the suite's own is in the operator's words."""
    return {
        "environment": {"name": OPERATORS, "base_url": OPERATORS, "allow": ["read"], "drift": "warn", **WHERE},
        "provenance": {"seed": 7, "ci_job": OPERATORS},
        "suite": {"version": "0.1.0", "proof": ""},
        "verdict": verdict,
        "exit_status": RunVerdict(verdict).exit_status,
        "headline": OPERATORS,
        "incomplete": OPERATORS,
        "notes": [OPERATORS],
        "selection": OPERATORS,
        "cut": [{"why": OPERATORS, "operations": []}],
        "traffic": {"requests": 12, "executions": 1, "unknown_outcomes": 0},
        "alerts": [],
        "coverage": {"documented": {"tested": 2, "testable": 3}},
        "counts": {"documented": {"fail": 1, "pass": 1}},
        "requirements": list(rows),
        "findings": list(findings),
        "comparison": None,
        "drift": [],
        "record": {"accepted": "2026-11-20", "suite_version": "0.1.0"},
        "started": "2026-11-22T10:00:00Z",
        **more,
    }


FAILING = document("non-conformant", row(), findings=[finding(STATUS)])


@pytest.mark.parametrize(
    ("title", "message", "line"),
    [
        ("id", "plain text", "::error title=id::plain text"),
        ("a: b, c", "50%, a: b", "::error title=a%3A b%2C c::50%25, a: b"),
        ("a\nb", "one\r\n::error::two", "::error title=a%0Ab::one%0D%0A::error::two"),
    ],
    ids=["plain", "signs", "lines"],
)
def test_a_command_is_escaped(title, message, line):
    """As the runner of GitHub reads it: one line, whatever it says."""
    assert error_command(title, message) == line


def test_each_failing_cause_is_an_error():
    """It names the requirement that leads, and how many more there are; known failures and warnings are none."""
    known, warning = finding("executePix.exists"), finding("createPix.json", verdict="warn")
    found = [finding(STATUS, "executePix.json"), finding(DATA), known | {"known_failure": "later"}, warning]
    lines = list(workflow_commands(document("non-conformant", row(), findings=found)))

    assert [re.match(r"::error title=([\w. ]+)::documented: ", line)[1] for line in lines] == [
        f"{STATUS} and 1 more",
        DATA,
    ]


@pytest.mark.parametrize(
    ("verdict", "errors"),
    [("conformant", 0), ("partial", 0), ("incomplete", 1), ("unreachable", 1), ("interrupted", 1)],
)
def test_a_run_without_a_verdict_on_the_service_is_an_error(verdict, errors):
    """A job that is red says why."""
    lines = list(workflow_commands(document(verdict, row(verdict="pass"))))

    assert len(lines) == errors
    assert all(line.startswith(f"::error title=PIX conformance%3A {verdict}::read only; ") for line in lines)


def test_a_partial_run_is_not_called_conformant():
    """The summary says how much was tested, where, and how many transfers were executed."""
    text = step_summary(document("partial", row(verdict="pass")))

    assert text.startswith("## PIX conformance: partial\n\nread only; ")
    assert "; no failure, 2 of 3 tested; " in text
    assert "; no sandbox: 1 transfer executed, 12 requests.\n" in text
    assert "conformant" not in text


def test_the_summary_counts_alerts():
    """By kind, as their texts may name what is not public."""
    alerts = [{"kind": kind, "text": OPERATORS} for kind in ("outcome-unknown", "outcome-unknown", "left")]
    text = step_summary(document("partial", row(verdict="pass"), alerts=alerts))

    assert "\n\n- 2 alerts: outcome unknown\n- 1 alert: left\n\n| level |" in text
    assert OPERATORS not in text


def test_the_summary():
    """Verdict, what it rests on, counts, and what fails; in Markdown."""
    text = step_summary(FAILING)

    assert text.startswith("## PIX conformance: non-conformant\n\nread only; ")
    assert "| documented | 1 | 0 | 1 | 0 | 0 | 0 | 0 |\n" in text
    assert (
        f"### Failing\n\n| requirement | level | statement |\n|---|---|---|\n| `{STATUS}` | documented | The " in text
    )
    assert text.endswith("\nSuite 0.1.0, seed 7. The report has the evidence.\n")


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        ({"comparable": True, "newly_failing": [STATUS], "fixed": [DATA, DATA]}, "Since the last comparable run: 1 newly failing and 2 fixed."),
        ({"comparable": True, "newly_failing": [], "fixed": []}, "Since the last comparable run: no requirement newly fails or is fixed."),
        ({"comparable": False, "newly_failing": [STATUS], "fixed": []}, ""),
        (None, ""),
    ],
    ids=["changed", "the same", "not comparable", "none"],
)  # fmt: skip
def test_the_summary_counts_what_changed(comparison, said):
    """Since the last comparable run."""
    lines = [line for line in step_summary(FAILING | {"comparison": comparison}).splitlines() if "comparable" in line]

    assert lines == [said] * bool(said)


def test_the_summary_counts_what_drifts():
    """By requirement; what it was is told in the report."""
    places = [
        {"id": id, "situation": OPERATORS, "place": "", "was": OPERATORS, "is": ""} for id in (STATUS, DATA, DATA)
    ]
    text = step_summary(document("partial", row(verdict="pass"), drift=places))

    assert (
        f"### Drift since the record of 2026-11-20: 3 places\n\n- `{DATA}`: 2 places\n- `{STATUS}`: 1 place\n\n" in text
    )
    assert OPERATORS not in text


def test_nothing_of_others_is_public():
    """Neither the service, nor its address, nor what the operator wrote."""
    known = finding(DATA, known_failure=OPERATORS)
    whole = document("non-conformant", row(), row(DATA, known_failure=OPERATORS), findings=[finding(STATUS), known])
    texts = [step_summary(whole), *workflow_commands(whole), *workflow_commands(document("incomplete"))]

    assert "### Known failures" in texts[0]
    assert not [text for text in texts if OPERATORS in text]


# -- whole runs -----------------------------------------------------------------------------------------------------

INJECTED = "::error title=removed::by the service"


class GivesCommands(Raw):
    """Its answers are broken, and have lines that the runner of GitHub would take for commands."""

    def answer(self, connection, request):
        response = self.service.respond(request)
        lines = f"no JSON\n{INJECTED}\n  {INJECTED}\n##[error]x\n".encode()
        connection.sendall(as_bytes(replace(response, body=lines) if response.status == 200 else response))


def commands_in(output):
    """The commands that the runner of GitHub takes from what is printed."""
    taken, token = [], ""
    for line in output.splitlines():
        found = re.match(r"\s*::(\S+?)(?: [^:]*)?::(.*)", line)
        if token:
            token = "" if line.strip() == f"::{token}::" else token
        elif found and found[1] == "stop-commands":
            token = found[2]
        elif found:
            taken.append(line)
    return taken, token


@pytest.fixture
def job(tmp_path):
    """The variables of a job, whose summary has a line already."""
    (tmp_path / "summary.md").write_text("before\n")
    return {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}


def test_a_service_gives_no_commands(job, tmp_path):
    """Its lines are printed while none is taken; then come the annotations, and lines are commands again."""
    with GivesCommands() as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", "executePix.json", **job)
    taken, token = commands_in(result.output)

    assert result.status == 1
    assert INJECTED in result.output
    assert (len(taken), token) == (1, "")
    assert taken[0].startswith("::error title=executePix.json::documented: ")


def test_a_service_gives_no_commands_where_nobody_says_that_a_job_runs(tmp_path):
    """In a container, a run does not know which system reads what it prints."""
    with GivesCommands() as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", "executePix.json")

    assert result.status == 1
    assert INJECTED in result.output
    assert commands_in(result.output) == ([], "")
    assert "##" not in result.output


def test_the_summary_of_a_run(job, tmp_path):
    """It is appended, once, and names no address."""
    with GivesCommands() as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", "executePix.json", **job)
    text = (tmp_path / "summary.md").read_text()

    assert text == f"before\n{step_summary(result.document)}"
    assert "127.0.0.1" not in text


@pytest.mark.parametrize("ends", ["unreachable", "not written"])
def test_a_run_that_ends_early(ends, job, tmp_path):
    """It says so, too; without files, nothing is appended."""
    options = ["--no-report"] if ends == "not written" else []
    result = run(write_profile(tmp_path, "http://127.0.0.1:1"), *options, **job)
    taken, token = commands_in(result.output)

    assert [line[:46] for line in taken] == ["::error title=PIX conformance%3A unreachable::"[:46]]
    assert token == ""
    assert (tmp_path / "summary.md").read_text().count("PIX conformance") == len(["once"] if not options else [])


def test_a_summary_that_cannot_be_written(job, tmp_path):
    """The files of the run are written all the same, and one line says what is missing."""
    job["GITHUB_STEP_SUMMARY"] = str(tmp_path)
    with Raw() as raw:
        result = run(write_profile(tmp_path, raw.base_url), "-k", "executePix.document", **job)

    assert result.status == 3
    assert result.output.count("the summary of the job cannot be written") == 1
    assert json.loads((result.folder / "conformance.json").read_text())["verdict"] == "internal-error"


def test_elsewhere_there_are_no_commands(tmp_path):
    """Without the variables of a job, nothing of this is printed."""
    with Raw() as raw:
        result = run(write_profile(tmp_path, raw.base_url), "-k", "executePix.document")

    assert "::" not in result.output
