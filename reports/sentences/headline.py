"""Sentences about a run that the terminal, the page and the other outputs share.

They tell the verdict, what it is based on, and which requirements were not tested.

Pure: the document of a run (all that conformance.json has) in, messages out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from reports.result.document import ReportedRequirement, RunDocument
from reports.result.verdicts import RunVerdict, Verdict, tested_and_testable
from reports.sentences.wording import capped, count_of_each_level, grouped, joined_with_and, operations_in_words
from spec.message import Date, Message, Text, joined, joined_keeping_repeats, say, say_many, texts_in_values

PERMISSIONS = {
    "read": say("read"),
    "register-keys": say("register keys"),
    "delete-keys": say("delete keys"),
    "create-pix": say("create PIX transactions"),
    "transfer": say("prepare transfers"),
    "execute": say("execute transfers"),
    "fuzz": say("send generated requests"),
}
"""Every permission of a profile, with the words for it."""
_MOST_EXCEPTED = 2
"""If at most so many permissions are missing, the missing ones are named, because that text is shorter."""
_MOST_LINES = 10
"""Most places that drift which the terminal lists. A choice: the report lists all of them."""
_NO_VERDICT = {
    RunVerdict.UNREACHABLE: say("the target could not be reached"),
    RunVerdict.NOTHING_SELECTED: say("no conformance test matches"),
    RunVerdict.INTERNAL_ERROR: say("the suite failed"),
}
"""Reasons for a verdict that says nothing about the service."""
LAST_FAILED = "--last-failed"
"""The option of pytest that selects the tests which failed in the last run."""
_LEFT_OUT = {
    Verdict.NOT_EXERCISED: (say_many("{n} not exercised", "{n} not exercised"), "not-tested"),
    Verdict.OUT_OF_SCOPE: (say_many("{n} out of scope", "{n} out of scope"), "out-of-scope"),
    Verdict.UNTESTABLE: (say_many("{n} untestable", "{n} untestable"), "requirements"),
}
"""Verdicts of requirements that were not tested. Each has a message with their number, and the anchor of the part of
report.html that says more (the id of an HTML element, to which other parts of the page link)."""


@dataclass(frozen=True)
class Headline:
    """The verdict of a run for people.

    As a text: `CONFORMANT except 1 known failure, read only: no other failure …`.
    """

    word: Text  # the verdict in capitals
    scope: Text  # what was permitted and selected
    sentence: Text  # the failures, how much was tested, and what was cut short
    exception: Text = ""  # number of known failures, if the verdict is "conformant"; else empty

    def __str__(self) -> str:
        """The headline in one line: `CONFORMANT except 1 known failure, read only: no other failure …`."""
        verdict = joined((self.word, self.exception), " ")
        return f"{joined((verdict, self.scope), ', ')}: {self.sentence}"


def headline(document: RunDocument) -> Headline:
    """The first line that people read about a run: verdict, permissions, failures, and how much was tested.

    If the run says nothing about the service, for example because the service could not be reached, the line only says
    why.
    """
    verdict = document.verdict
    word = say(verdict.upper())
    why_none = why_no_verdict(document)
    if why_none:
        return Headline(word, "", joined((why_none, say("this is no verdict on the service"))))
    # `recorded` says how much recorded traffic was judged; it is empty for a run that sent requests.
    scope = [document.recorded or permissions_in_words(document.environment.allow)]
    if document.selection:
        scope.append(say("only {selection}", selection=document.selection))
    sentence = joined(_parts_of_sentence(document))
    return Headline(word, joined(scope, ", "), sentence, exception_in_words(document))


def why_no_verdict(document: RunDocument) -> Text:
    """Reason why a run says nothing about the service, such as "the target could not be reached".

    Empty for a run that tested the service, even if it was interrupted or is incomplete.
    """
    verdict = document.verdict
    if verdict not in _NO_VERDICT:
        return ""
    selects_what_failed = LAST_FAILED in (document.selection or "")
    if verdict == RunVerdict.NOTHING_SELECTED and selects_what_failed:
        return say("nothing failed when it was last tested here, so {option} selects nothing", option=LAST_FAILED)
    return document.why_incomplete or _NO_VERDICT[verdict]


def exception_in_words(document: RunDocument) -> Text:
    """The words after "conformant" if the profile lists failures as known: `except 1 known failure, until 2027-01-31`.

    A listed failure does not make a run fail, but "conformant" alone would hide that failure. Empty for any other
    verdict, because no other verdict says that everything is right.
    """
    if document.verdict != RunVerdict.CONFORMANT or not number_of_known_failures(document):
        return ""
    return say("except {known}", known=_known_failures_until(document))


def _known_failures_until(document: RunDocument) -> Message:
    """The number of known failures, and the last day on which they are accepted: `2 known failures, until 2027-01-31`.

    A known failure is listed in `known_failures` of the profile, with or without a last day. If the last days differ,
    the earliest is named: `2 known failures, the first until 2027-01-31`.
    """
    known_failures = [requirement for requirement in document.requirements if requirement.is_known]
    number_in_words = known_failures_in_words(len(known_failures))
    last_days = [requirement.known_until for requirement in known_failures]
    days = sorted({day for day in last_days if day is not None})
    if not days:
        return number_in_words
    all_end_on_one_day = len(days) == 1 and None not in last_days
    if all_end_on_one_day:
        return say("{known}, until {day}", known=number_in_words, day=Date(days[0]))
    return say("{known}, the first until {day}", known=number_in_words, day=Date(days[0]))


def run_line(document: RunDocument) -> Text:
    """One line about a run: name and address of the target, what was sent, and the seed of generated requests.

    With this seed a further run generates the same requests. If the user gave the address with the option --base-url,
    the line says so, because then it is not the address of the profile.
    """
    environment = document.environment
    name = environment.name
    base_url = environment.base_url
    traffic = traffic_in_words(document)
    name_says_sandbox = environment.sandbox and name == "sandbox"
    if environment.redirected:
        line = say(
            "{name} at {base_url} (of --base-url, not that of the profile), {sent}",
            name=name,
            base_url=base_url,
            sent=traffic,
        )
    elif name_says_sandbox:  # `traffic` would say again that it is a sandbox
        line = say("{name} at {base_url}: {sent}", name=name, base_url=base_url, sent=_counts_of_traffic(document))
    else:
        line = say("{name} at {base_url}, {sent}", name=name, base_url=base_url, sent=traffic)
    generated = document.generated
    # `refused` has an entry for each operation to which generated requests were sent, even if none was refused.
    seed = say("generated with --seed={seed}", seed=generated.seed) if generated.refused else ""
    return joined((line, seed))


def traffic_in_words(document: RunDocument) -> Text:
    """What a run did, in words: whether its target is a sandbox, the transfers executed, and the number of requests."""
    where = say("a sandbox") if document.environment.sandbox else say("not a sandbox")
    return say("{where}: {sent}", where=where, sent=_counts_of_traffic(document))


def _counts_of_traffic(document: RunDocument) -> Text:
    """How many transfers were executed and how many requests were sent: `2 transfers executed, 310 requests`.

    Executions without a clear answer, such as a lost connection, are counted apart: they may have moved money.
    """
    unknown = document.traffic.unknown_outcomes
    executed = document.traffic.executions - unknown
    parts = [say_many("{n} transfer executed", "{n} transfers executed", n=executed)]
    if unknown:
        outcomes = say_many(
            "{n} execution with an unknown outcome", "{n} executions with an unknown outcome", n=unknown
        )
        parts.append(outcomes)
    parts.append(say_many("{n} request", "{n} requests", n=document.traffic.requests))
    return joined_keeping_repeats(parts, ", ")


def permissions_in_words(allow: Collection[str]) -> Text:
    """Permissions of the profile in words: `read only`, `read and register keys`.

    If at most two permissions are missing, a shorter text names the missing ones: `everything permitted except to …`.
    """
    forbidden = [words for name, words in PERMISSIONS.items() if name not in allow]
    permitted = [words for name, words in PERMISSIONS.items() if name in allow]
    if not forbidden:
        return say("everything permitted")
    if len(forbidden) <= _MOST_EXCEPTED:
        return say("everything permitted except to {permissions}", permissions=joined_with_and(forbidden))
    if len(permitted) == 1:
        return say("{permission} only", permission=permitted[0])
    return joined_with_and(permitted) or say("nothing permitted")


def result_line(document: RunDocument) -> Text:
    """The failures, and how many requirements were tested: `no failure, 9 of 9 requirements tested`.

    Only requirements of the levels in `fail_on` are counted, because only their deviations make a run fail.
    """
    tested, testable = tested_and_testable(document.coverage, document.environment.fail_on)
    failures = _failures_in_words(document)
    return say(
        "{failed}, {tested} of {testable} requirements tested", failed=failures, tested=tested, testable=testable
    )


def _failures_in_words(document: RunDocument) -> Text:
    """The number of failures by level, and of failures that the profile lists as known.

    For example `fails 2 documented requirements besides 1 known failure`, or `no failure`.
    """
    if exception_in_words(document):  # the headline names the known failures already
        return say("no other failure")
    failing_levels = [requirement.level for requirement in document.requirements if requirement.fails]
    failures = say("no failure")
    if failing_levels:
        failures = say_many(
            "fails {levels} requirement",
            "fails {levels} requirements",
            n=len(failing_levels),
            levels=count_of_each_level(failing_levels),
        )
    if not number_of_known_failures(document):
        return failures
    known_failures = _known_failures_until(document)
    if failing_levels:
        return say("{failed} besides {known}", failed=failures, known=known_failures)
    return say("{failed} except {known}", failed=failures, known=known_failures)


def known_failures_in_words(count: int) -> Message:
    """Number of failures that the profile lists: `2 known failures`."""
    return say_many("{n} known failure", "{n} known failures", n=count)


def count_lines(document: RunDocument) -> Iterator[str]:
    """A line for each level with its number of requirements by verdict: `documented   1 known failure, 120 pass`.

    A level says how surely the interface document requires something, such as `documented` or `implied`.
    """
    for level, counts in document.counts.items():
        # A known failure also has the verdict `fail`. It is counted apart, because it does not make the run fail.
        number_of_known = number_of_known_failures(document, level)
        parts = [str(known_failures_in_words(number_of_known))] if number_of_known else []
        for verdict in Verdict:
            count = counts.get(verdict, 0)
            if verdict == Verdict.FAIL:
                count -= number_of_known
            if count:
                parts.append(f"{count} {verdict}")
        yield f"{level:<12} {', '.join(parts)}"


def _parts_of_sentence(document: RunDocument) -> Iterator[Text]:
    """The parts of the sentence in the headline: failures, how much was tested, drift, and requests that were not sent.

    Drift is behaviour that differs from an earlier run which the user accepted.
    """
    if document.verdict == RunVerdict.INTERRUPTED:
        yield say("the run was stopped")
    if document.why_incomplete:
        yield document.why_incomplete
    yield result_line(document)
    if document.drift:
        yield drift_in_words(document)
    if document.granted_nothing and document.granted:  # if no operation succeeded at all, the verdict says so
        yield say("no request to {operations} succeeded", operations=joined_with_and(document.granted_nothing))
    if document.cut:
        cuts = [
            say("{why} ({operations})", why=cut.why, operations=operations_in_words(cut.operations))
            for cut in document.cut
        ]
        yield say("cut short, as {reasons}", reasons=joined_with_and(cuts))


def drift_in_words(document: RunDocument) -> Text:
    """How many observed values differ from the record of an earlier run that the user accepted, and that record's day.

    For example `drift since the record of 2026-11-20: 2 places`. Empty if no value differs.
    """
    if not document.drift or document.record is None:
        return ""
    return say_many(
        "drift since the record of {day}: {n} place",
        "drift since the record of {day}: {n} places",
        n=len(document.drift),
        day=Date(document.record.accepted),
    )


def drift_lines(document: RunDocument) -> Iterator[str]:
    """Lines about values that differ from those that the user accepted earlier: `executePix.status.values: DONE → OK`.

    At most ten values have a line. One more line has the number of the others.
    """
    lines = []
    for drift in document.drift:
        # The situation is empty if the requirement has only one, and the place if the answer as a whole is meant.
        parts_of_place = [part for part in (drift.id, drift.situation, drift.place) if part]
        lines.append(f"{', '.join(parts_of_place)}: {drift.was} → {drift.now}")
    return map(str, capped(lines, _MOST_LINES))


def number_of_known_failures(document: RunDocument, level: str = "") -> int:
    """Number of failures that the profile lists as known, of this level; of all levels if `level` is empty."""
    known_failures = [requirement for requirement in document.requirements if requirement.is_known]
    return len([requirement for requirement in known_failures if level in ("", requirement.level)])


@dataclass(frozen=True)
class LeftOut:
    """Requirements that were not tested, for one kind of reason (their verdict)."""

    verdict: Verdict
    number_in_words: Text  # how many there are: `3 out of scope`
    why: Text
    anchor: str  # of the part of the page that says more


def left_out(document: RunDocument) -> list[LeftOut]:
    """For each verdict that means "not tested", such as out of scope: how many requirements have it, and why."""
    by_verdict = grouped(document.requirements, lambda requirement: requirement.verdict)
    entries = []
    for verdict, (message_with_number, anchor) in _LEFT_OUT.items():
        if verdict in by_verdict:
            requirements = by_verdict[verdict]
            number_in_words = message_with_number.with_values(n=len(requirements))  # `3 out of scope`
            why = joined(_why_left_out(verdict, requirements))
            entries.append(LeftOut(verdict, number_in_words, why, anchor))
    return entries


def _why_left_out(verdict: Verdict, requirements: list[ReportedRequirement]) -> Iterator[Text]:
    """Why the requirements of that verdict were not tested, in parts of one sentence.

    The parts are: the permissions that the profile lacks, the first reason that is not about permissions, and the
    number of further reasons. A message about permissions names them in its value `needed` (see `missing_permission` in
    wording.py). So the permissions can be read from the messages, and listed here once.
    """
    if verdict is Verdict.UNTESTABLE:
        yield say("no exchange can show them")
        return
    reasons = dict.fromkeys(requirement.message for requirement in requirements)  # each message once, in its order
    permissions_by_reason = {reason: list(texts_in_values(reason, "needed")) for reason in reasons}
    permissions = dict.fromkeys(chain(*permissions_by_reason.values()))
    if permissions:
        yield say("not in allow: {permissions}", permissions=", ".join(permissions))
    other_reasons = [reason for reason in reasons if not permissions_by_reason[reason]]
    if other_reasons:
        yield other_reasons[0]
    if len(other_reasons) > 1:
        yield say_many("{n} more reason", "{n} more reasons", n=len(other_reasons) - 1)
