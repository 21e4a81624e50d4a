"""Output for GitHub: a summary of the job in Markdown, and annotations as workflow commands.

The job of a public repository is public. So these texts have ids and texts of requirements, words of the suite and
counts. They have no text of the service, its address, the profile or the command line.

There is one exception. If a job is red and no requirement says why, its summary has the environment, the target and the
alerts as the terminal prints them, because nothing else would say why. An alert is an urgent note about a run, such as
"a key was not deleted". A cause is the requirement that stands for all findings with the same origin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reports.outputs.writing import open_unless_link
from reports.result.document import ReportedFinding, RunDocument
from reports.result.verdicts import Verdict
from reports.sentences.headline import (
    drift_in_words,
    exception_in_words,
    permissions_in_words,
    result_line,
    run_line,
    traffic_in_words,
    why_no_verdict,
)
from reports.sentences.wording import capped, one_line
from spec.message import Text, joined, message_of, say_many
from spec.requirements import requirements

_MOST_SHOWN = 20
"""Most lines of a table or a list. A choice: the report has all of them."""


# -- the summary of the job ---------------------------------------------------------------------------------------


def step_summary(document: RunDocument) -> str:
    """The summary of a run in Markdown. The caller appends it to the file that GitHub names in $GITHUB_STEP_SUMMARY."""
    return "\n".join(_lines_of_summary(document)) + "\n"


def _lines_of_summary(document: RunDocument) -> Iterator[str]:
    """Lines of the summary: the verdict, what is wrong, counts, findings, drift, and changes since an earlier run.

    Drift is behaviour of the service that differs from an earlier run which the user accepted.
    """
    # Such as "conformant", or "conformant except 2 known failures" if the profile lists failures as known.
    verdict_in_words = joined((document.verdict, exception_in_words(document)), " ")
    yield f"## PIX conformance: {verdict_in_words}"
    yield ""
    yield f"{sentence_about_run(document)}."
    yield ""
    if document.is_red_without_a_failure:  # only then the texts of the alerts are shown, because nothing else says why
        yield from _why_red_without_a_failure(document)
    else:
        yield from _lines_about_alerts(document)
    yield from _table_of_counts(document)
    yield from _table_of_findings("Failing", [finding for finding in document.findings if finding.fails])
    yield from _table_of_findings("Known failures", [finding for finding in document.findings if finding.is_known])
    yield from _table_of_findings(
        "Warnings", [finding for finding in document.findings if finding.verdict == Verdict.WARN]
    )
    yield from _lines_about_drift(document)
    yield from _lines_about_changes(document)
    yield f"Suite {document.suite.version}, seed {document.provenance.seed}. The report has the evidence."


def sentence_about_run(document: RunDocument) -> str:
    """One sentence about a run: permissions of the profile, failures, number of tested requirements, and requests sent.

    For example `read only; no failure, 9 of 9 requirements tested; not a sandbox: 0 transfers executed, 24 requests`.
    If the run says nothing about the service, the sentence begins with the reason, such as "the target could not be
    reached".
    """
    return str(joined(_parts_of_sentence(document)))


def _parts_of_sentence(document: RunDocument) -> Iterator[Text]:
    """The parts of the sentence about a run, in their order. A part may be empty; `joined` leaves out empty parts."""
    yield why_no_verdict(document)  # empty for a verdict on the service
    yield permissions_in_words(document.environment.allow)
    if document.selection is not None:
        yield "only a part of the requirements was selected"
    yield document.why_incomplete
    yield result_line(document)
    if document.cut:  # such as limits.requests, which was reached
        yield "not all requests were sent"
    yield traffic_in_words(document)


def _why_red_without_a_failure(document: RunDocument) -> Iterator[str]:
    """Why a run is red although no requirement fails: the environment, the target, and each alert with its advice.

    The lines are in a block of code, so that GitHub does not read Markdown in them.
    """
    yield "```text"
    yield one_line(str(run_line(document)))
    yield from (f"! {one_line(str(alert.text))}" for alert in document.alerts)
    yield "```"
    yield ""


def usage_error_summary(environment: str, error: str) -> str:
    """Markdown about a run that did not start, because the command line or the profile is wrong."""
    return f"## PIX conformance: no run\n\n```text\n{one_line(environment)}\nerror: {one_line(error)}\n```\n"


def append_to_summary(path: str, text: str) -> None:
    """Append Markdown to the summary file of a job. A symbolic link is not followed, because it could lead elsewhere.

    Raises OSError.
    """
    with open(path, "a", encoding="utf-8", opener=open_unless_link) as file:
        file.write(text)


def _lines_about_alerts(document: RunDocument) -> Iterator[str]:
    """A line for each kind of alert with its number: `- 2 alerts: not cleaned up`.

    The texts of the alerts are left out, because the summary may be public. The report has them.
    """
    number_by_kind = Counter(alert.kind for alert in document.alerts)
    for kind_of_alert, number in number_by_kind.items():
        yield f"- {say_many('{n} alert', '{n} alerts', n=number)}: {kind_of_alert}"
    if number_by_kind:
        yield ""


def _table_of_counts(document: RunDocument) -> Iterator[str]:
    """A Markdown table: for each level of requirements, such as `documented`, a row with the number of each verdict."""
    yield f"| level | {' | '.join(Verdict)} |"
    yield f"|---|{'|'.join('---:' for _ in Verdict)}|"
    for level, number_by_verdict in document.counts.items():
        numbers = [str(number_by_verdict.get(verdict, 0)) for verdict in Verdict]
        yield f"| {level} | {' | '.join(numbers)} |"
    yield ""


def _table_of_findings(title: str, findings: list[ReportedFinding]) -> Iterator[str]:
    """A Markdown table of findings under a title. No lines if there are no findings.

    Several requirements may fail for one cause. They are one finding, and so one row: its most important requirement
    (`finding.cause`) with the number of the others, its level, its statement, and what the service answered. Such as
    `| `executePix.json` and 2 more | documented | The body is JSON (Endpoints) | text |`.
    """
    if not findings:
        return
    yield f"### {title}"
    yield ""
    yield "| requirement | level | statement | got |"
    yield "|---|---|---|---|"
    for finding in findings[:_MOST_SHOWN]:
        statement = _statement(finding.cause).replace("|", "\\|")  # a plain `|` would end the cell
        cells = [f"`{finding.cause}`{_others_in_words(finding)}", finding.level, statement, _answer_in_words(finding)]
        yield f"| {' | '.join(cells)} |"
    if len(findings) > _MOST_SHOWN:
        yield f"| {len(findings) - _MOST_SHOWN} more | | | |"
    yield ""


def _lines_about_drift(document: RunDocument) -> Iterator[str]:
    """Lines about drift: the requirements whose observed behaviour differs from the record that the user accepted.

    Each has the number of places that differ. The values are left out, because the summary may be public.
    """
    if not document.drift:
        return
    number_by_id = Counter(drift.id for drift in document.drift)
    words = str(drift_in_words(document))
    title = f"{words[:1].upper()}{words[1:]}"  # a title begins with a capital letter
    yield f"### {title}"
    yield ""
    lines = [f"`{id}`: {say_many('{n} place', '{n} places', n=number)}" for id, number in number_by_id.most_common()]
    yield from (f"- {line}" for line in capped(lines, _MOST_SHOWN))
    yield ""


def _others_in_words(finding: ReportedFinding) -> str:
    """How many further requirements deviate for the same cause: ` and 2 more`; empty if there are none."""
    number_of_others = len(finding.requirements) - 1  # without the one that names the cause
    return f" and {number_of_others} more" if number_of_others else ""


def _answer_in_words(finding: ReportedFinding) -> str:
    """What the service answered, in words of the suite. Each text of the service itself becomes `…`.

    A text of the service may hold personal data, and the summary may be public.
    """

    def ellipsis(text: str) -> str:
        """What is shown instead of a text of the service, whatever the text is."""
        return "…"

    # `map` changes only the texts that are values of the message, and not the words of the suite around them.
    return str(message_of(finding.got or "").map(ellipsis))


def _statement(requirement_id: str) -> str:
    """What the interface document requires, with the section that says so: `data is an object (Endpoints)`."""
    requirement = requirements()[requirement_id]
    return f"{requirement.text} ({requirement.section})"


def _lines_about_changes(document: RunDocument) -> Iterator[str]:
    """One line: how many verdicts changed since the last comparable run.

    There is no line if the earlier run is not comparable, because that line would name an environment, and the summary
    may be public.
    """
    comparison = document.comparison
    if comparison and comparison.comparable:
        yield f"Changes {comparison.line}."
        yield ""


# -- annotations --------------------------------------------------------------------------------------------------


def workflow_commands(document: RunDocument) -> Iterator[str]:
    """Lines that GitHub shows as errors of the job when they are printed (workflow commands).

    There is one for each failing cause, and one for a run that is red although no requirement fails. GitHub shows the
    first ten of a step.
    """
    if document.is_red_without_a_failure:
        yield error_command(f"PIX conformance: {document.verdict}", sentence_about_run(document))
    for finding in document.findings:
        if finding.fails:
            statement = _statement(finding.cause)
            yield error_command(f"{finding.cause}{_others_in_words(finding)}", f"{finding.level}: {statement}")


def error_command(title: str, message: str) -> str:
    """A line that GitHub shows as an error of the job when it is printed: `::error title=…::…`.

    A colon or comma would end the title, so that these are escaped there.
    """
    return f"::error title={_escaped(title, ':', ',')}::{_escaped(message)}"


def _escaped(text: str, *more_characters: str) -> str:
    """The text as GitHub reads it in a command: `%0A` for a line end, `%25` for a percent sign.

    `more_characters` are escaped in the same way. GitHub would read them as a part of the command.
    """
    for character in ("%", "\r", "\n", *more_characters):  # first the percent sign, because escapes have one
        text = text.replace(character, f"%{ord(character):02X}")
    return text
