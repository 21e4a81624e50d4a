"""Output of a run on the terminal: the verdict, the alerts, the findings by cause, and then less urgent lines.

The lines come from the document of the run. tests/harness/reporter.py prints them at the end of a run. The sentences
that the terminal shares with the other outputs are in reports/sentences/headline.py.

Self-tests: reports/result/test_causes.py, promises/test_command_line.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from operator import attrgetter
from shlex import quote

from environments.profiles.loading import name_for_commands
from reports.result.document import ReportedFinding, RunDocument
from reports.result.run import Run
from reports.result.verdicts import RunVerdict, Verdict
from reports.sentences.headline import count_lines, drift_in_words, drift_lines, headline, left_out, run_line
from reports.sentences.wording import capped, exchanges_in_words, first_few, grouped, joined_with_and
from spec.message import Text, joined, texts_in_values

_MOST_REASONS = 5
"""Most lines about requirements that were not exercised, one for each reason. A choice: the report has all of them."""
_MALFORMED_OPERATION = "malformed_operation"
"""Name of a value in messages that `why_invalid_requests_showed_nothing` makes (tests/traffic/robustness.py).

Such a message says why a requirement was not tested: the service answered malformed requests to an operation like valid
requests for an unknown account. The value is that operation."""
_NEXT = {
    RunVerdict.INCOMPLETE: "supply or correct what the lines above name, and run again",
    RunVerdict.PARTIAL: "pytest --plan --environment={name} names what further permissions would send",
    RunVerdict.UNREACHABLE: "python -m environments check {name} asks the address in the profile step by step",
    RunVerdict.INTERNAL_ERROR: "run it with -v to see where the suite failed",
}
"""Advice for the user after a run without a failure: what to do next, by the verdict of the run."""


def summary(document: RunDocument, run: Run, report: str) -> Iterator[str]:
    """The lines that a run prints at its end, the most important ones first and the verdict again as the last one.

    `report` is the path of the report, or the reason why a part of the report is missing; empty if no files are
    written.
    """
    yield str(headline(document))
    yield str(run_line(document))
    yield from (f"! {alert.text}" for alert in document.alerts)
    for finding in document.findings:
        if finding.verdict == Verdict.FAIL:
            yield from _lines_about_failure(finding)
        else:
            yield from _line_about_warning(finding)
    if document.comparison:
        yield str(document.comparison.line)
    yield from _lines_about_drift(document)
    yield from (f"not exercised: {line}" for line in capped(_lines_about_not_exercised(document), _MOST_REASONS))
    for entry in left_out(document):
        if entry.verdict == Verdict.OUT_OF_SCOPE:  # requirements that were not exercised have lines above
            yield f"{entry.number_in_words}: {entry.why}"
    yield from _line_about_malformed_requests_that_tested_nothing(document)
    for why, keys in grouped(document.not_cleaned_up, attrgetter("why")).items():
        first_key_and_number = joined_with_and(capped([key.what for key in keys], 1))  # `a@example.com and 2 more`
        yield f"not cleaned up: {first_key_and_number}: {why}"
    # A transfer that was prepared and not executed stays at the service, so it is not cleaned up.
    yield from (f"not cleaned up: {transfer}" for transfer in document.transfers_not_executed)
    yield from (f"note: {note}" for note in document.other_notes)
    yield from (f"  {line}" for line in count_lines(document))
    if run.acceptance_in_words:  # with --accept: what was written
        yield run.acceptance_in_words
    if report:
        yield f"report: {report}"
    next_step = _next_step(document, run)
    if next_step:
        yield f"next: {next_step}"
    yield f"verdict: {headline(document).word}, exit status {document.exit_status}"


def print_lines(lines: Iterable[str]) -> None:
    """Print the lines of a command that is no run, such as `compare`.

    A character that the encoding of the terminal lacks is escaped. If the program that reads the output ends early, as
    `head` does, all further output is dropped.
    """
    try:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:
        # Python flushes the output once more at its end. That must not fail, so the output leads nowhere from now on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _next_step(document: RunDocument, run: Run) -> str:
    """What the user should do next, in one line; empty if there is nothing to do. The first advice that applies counts.

    The conditions go from the most certain cause to the general advice for the verdict (`_NEXT`).
    """
    causes_of_failures = [finding.cause for finding in document.findings if finding.verdict == Verdict.FAIL]
    name = name_for_commands(run.profile)
    # If the service refused every request, the token is probably wrong, and a finding is not the first thing to fix.
    if causes_of_failures and not run.answers_to_valid_token.refused_all:
        return f"pytest --environment={name} --explain={causes_of_failures[0]} says what usually fixes it"
    # --base-url replaced the embedded sandbox, whose keys and codes are not for this service: it needs a profile.
    if run.profile.redirection_note:
        return f"python -m environments new NAME --base-url={quote(run.base_url)} writes a profile; check NAME tries it"
    if document.recorded:  # recorded traffic cannot be sent again, so no advice on a further run applies
        return ""
    if document.selection and document.verdict == RunVerdict.PARTIAL:
        return "run it without the selection: this verdict is about what was selected alone"
    # A message about a limit of the profile that was reached has the name of the limit in its value `setting`.
    reasons = joined((document.why_incomplete, *_lines_about_not_exercised(document)[:1]))
    limits_reached = list(texts_in_values(reasons, "setting"))
    if limits_reached and document.verdict == RunVerdict.INCOMPLETE:
        return f"raise limits.{limits_reached[0]} in {run.profile.path.name}, and run again"
    if run.answers_to_valid_token.refused_all:  # probably the token is wrong, and `check` tries the token
        return _NEXT[RunVerdict.UNREACHABLE].format(name=name)
    return _NEXT.get(document.verdict, "").format(name=name)


def _lines_about_failure(finding: ReportedFinding) -> Iterator[str]:
    """The lines about a failure: id of the requirement, statement, message, and how to reproduce it.

    Further lines have the other requirements that fail for the same cause, and the numbers of the requests.
    """
    known_failure = f" [known: {finding.known_failure}]" if finding.is_known else ""
    yield f"FAIL {finding.cause}{known_failure}"
    yield f"     {finding.text} ({finding.section})"
    yield f"     {finding.message}"
    other_requirements = finding.requirements[1:]  # the first one is `cause`
    if other_requirements:
        yield f"     also: {', '.join(other_requirements)}"
    if finding.exchanges:
        yield f"     {exchanges_in_words(finding.exchanges)}"
    if finding.reproduce:
        first_line, *other_lines = finding.reproduce.splitlines()
        yield f"     reproduce: {first_line}"
        yield from (f"     {line}" for line in other_lines)


def _line_about_warning(finding: ReportedFinding) -> Iterator[str]:
    """One line about a warning: the requirement that deviates, others with the same cause in brackets, the message."""
    other_requirements = first_few(finding.requirements[1:])  # the first one is `cause`
    in_brackets = f" ({other_requirements})" if other_requirements else ""
    yield f"WARN {finding.cause}{in_brackets}: {finding.message}"


def _lines_about_drift(document: RunDocument) -> Iterator[str]:
    """Lines about drift: in how many places the service behaves otherwise than the user accepted, and the first places.

    No lines if the service behaves as accepted, or if the user accepted nothing.
    """
    if document.drift:
        yield str(drift_in_words(document))
        yield from (f"     {line}" for line in drift_lines(document))


def _line_about_malformed_requests_that_tested_nothing(document: RunDocument) -> Iterator[str]:
    """At most one line: the operations whose malformed requests were answered as if they were not malformed.

    For example, a balance with a malformed part is asked for. Outside a sandbox it is that of an account that does not
    exist, so that the request can do no harm. The service answers 404, as it answers a valid request for that account.
    Perhaps it looked up the account first, and did not see the malformed part. Then the request tested nothing.

    The line is printed whatever the verdicts are, because the user should know how much was not tested.
    """
    operations: list[str] = []
    for entry in document.requirements:
        # Only a message about such requests has a value with this name.
        operations += texts_in_values(entry.message, _MALFORMED_OPERATION)
    if operations:
        each_once = list(dict.fromkeys(operations))
        yield (
            f"unseen outside a sandbox: malformed requests to {joined_with_and(each_once)}, answered like valid "
            "requests for an unknown account (the report names them)"
        )


def _lines_about_not_exercised(document: RunDocument) -> list[Text]:
    """A line for each reason why requirements were not exercised: first the reason that most requirements have.

    For example `executePix.id.type, executePix.date.type and 3 more: there is no transaction code`. Only requirements
    of the levels in `fail_on`, such as `documented`, are listed, because only their deviations make a run fail.
    """
    at_failing_levels = [entry for entry in document.requirements if entry.level in document.environment.fail_on]
    not_exercised = [entry for entry in at_failing_levels if entry.verdict == Verdict.NOT_EXERCISED]
    requirements_by_reason = grouped(not_exercised, attrgetter("message"))
    lines = []
    for requirements in sorted(requirements_by_reason.values(), key=len, reverse=True):
        ids_in_words = first_few([requirement.id for requirement in requirements])
        reason = requirements[0].message  # all of them have the same reason
        lines.append(joined((ids_in_words, reason), ": "))
    return lines
