"""Sentences that the terminal and the page share: the verdict, what it rests on, and what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from reports.result.document import ReportedRequirement, RunDocument
from reports.result.verdicts import RunVerdict, Verdict, tested_of
from reports.sentences.wording import capped, grouped, level_by_level, listed, operations_in_words
from spec.message import Date, Message, Text, in_a_row, joined, say, say_many, texts_in_values

PERMISSIONS = {
    "read": say("read"),
    "register-keys": say("register keys"),
    "delete-keys": say("delete keys"),
    "create-pix": say("create PIX transactions"),
    "transfer": say("prepare transfers"),
    "execute": say("execute transfers"),
    "fuzz": say("send generated requests"),
}
"""Every permission of a profile, as people say it."""
_MOST_EXCEPTED = 2
_MOST_LINES = 10
"""Places that a terminal lists."""
_NO_VERDICT = {
    RunVerdict.UNREACHABLE: say("the target could not be reached"),
    RunVerdict.NOTHING_SELECTED: say("no conformance test matches"),
    RunVerdict.INTERNAL_ERROR: say("the suite failed"),
}


LAST_FAILED = "--last-failed"
"""The option that selects what failed."""
_LEFT_OUT = {
    Verdict.NOT_EXERCISED: (say_many("{n} not exercised", "{n} not exercised"), "not-tested"),
    Verdict.OUT_OF_SCOPE: (say_many("{n} out of scope", "{n} out of scope"), "out-of-scope"),
    Verdict.UNTESTABLE: (say_many("{n} untestable", "{n} untestable"), "requirements"),
}
"""Verdicts that are no test: how they are counted, and the anchor of the part of the page that says more."""


@dataclass(frozen=True)
class Headline:
    """`word` is the verdict, `exception` what a green verdict does not cover, `scope` what was permitted and selected,
    `sentence` what the verdict rests on."""

    word: Text
    scope: Text
    sentence: Text
    exception: Text = ""

    def __str__(self) -> str:
        verdict = joined((self.word, self.exception), " ")
        return f"{joined((verdict, self.scope), ', ')}: {self.sentence}"


def headline(document: RunDocument) -> Headline:
    """The headline of a conformance.json."""
    verdict = document.verdict
    word = say(verdict.upper())
    if why := why_no_verdict(document):
        return Headline(word, "", joined((why, say("this is no verdict on the service"))))
    scope = [document.recorded or permitted(document.environment.allow)]
    scope += [say("only {selection}", selection=document.selection)] if document.selection else []
    return Headline(word, joined(scope, ", "), joined(_sentence(document)), exception(document))


def why_no_verdict(document: RunDocument) -> Text:
    """Reason why a run gives no verdict on the service at all; empty for any other."""
    verdict = document.verdict
    if verdict not in _NO_VERDICT:
        return ""
    if verdict == RunVerdict.NOTHING_SELECTED and LAST_FAILED in (document.selection or ""):
        return say("nothing failed when it was last tested here, so {option} selects nothing", option=LAST_FAILED)
    return document.incomplete or _NO_VERDICT[verdict]


def exception(document: RunDocument) -> Text:
    """Failures that the word "conformant" does not cover, because the profile lists them: `except 1 known failure,
    until 2027-01-31`. Empty for any other verdict, which never says that everything is right."""
    if document.verdict != RunVerdict.CONFORMANT or not known_failures(document):
        return ""
    return say("except {known}", known=_known_until(document))


def _known_until(document: RunDocument) -> Message:
    """The number of known failures, and the day after which the first of them fails a run."""
    known = [requirement for requirement in document.requirements if requirement.is_known]
    counted = known_in_words(len(known))
    last_days = [requirement.known_until for requirement in known]
    days = sorted({day for day in last_days if day is not None})
    if not days:
        return counted
    if len(days) == 1 and None not in last_days:
        return say("{known}, until {day}", known=counted, day=Date(days[0]))
    return say("{known}, the first until {day}", known=counted, day=Date(days[0]))


def run_line(document: RunDocument) -> Text:
    """The target of the run, whether its address is that of the profile, and the number of requests."""
    environment, generated = document.environment, document.generated
    where = {"name": environment.name, "base_url": environment.base_url, "sent": sent(document)}
    target = say("{name} at {base_url}, {sent}", **where)
    if environment.sandbox and environment.name == "sandbox":  # its name says it
        target = say("{name} at {base_url}: {sent}", **where | {"sent": _counts(document)})
    if environment.redirected:
        target = say("{name} at {base_url} (of --base-url, not that of the profile), {sent}", **where)
    seed = say("generated with --seed={seed}", seed=generated.seed) if generated.refused else ""
    return joined((target, seed))


def sent(document: RunDocument) -> Text:
    """Sandbox or not, the transfers executed, and the number of requests."""
    where = say("a sandbox") if document.environment.sandbox else say("not a sandbox")
    return say("{where}: {sent}", where=where, sent=_counts(document))


def _counts(document: RunDocument) -> Text:
    traffic = document.traffic
    unknown = traffic.unknown_outcomes
    parts = [
        say_many("{n} transfer executed", "{n} transfers executed", n=traffic.executions - unknown),
        say_many("{n} execution with an unknown outcome", "{n} executions with an unknown outcome", n=unknown),
        say_many("{n} request", "{n} requests", n=traffic.requests),
    ]
    return in_a_row(parts if unknown else parts[::2], ", ")


def permitted(allow: Collection[str]) -> Text:
    """Permissions of the profile in words for people: `read only`, `read and register keys`."""
    missing = [words for name, words in PERMISSIONS.items() if name not in allow]
    given = [words for name, words in PERMISSIONS.items() if name in allow]
    if not missing:
        return say("everything permitted")
    if len(missing) <= _MOST_EXCEPTED:
        return say("everything permitted except to {permissions}", permissions=listed(missing))
    if len(given) == 1:
        return say("{permission} only", permission=given[0])
    return listed(given) or say("nothing permitted")


def result_line(document: RunDocument) -> Text:
    """The failures, and the number of selected testable requirements at failing levels that were tested."""
    tested, testable = tested_of(document.coverage, document.environment.fail_on)
    known = known_failures(document)
    failing = [requirement.level for requirement in document.requirements if requirement.fails]
    failed = say("no failure")
    if failing:
        failed = say_many(
            "fails {levels} requirement", "fails {levels} requirements", n=len(failing), levels=level_by_level(failing)
        )
    if exception(document):
        failed = say("no other failure")
    elif known:
        parts = {"failed": failed, "known": _known_until(document)}
        failed = say("{failed} besides {known}", **parts) if failing else say("{failed} except {known}", **parts)
    return say("{failed}, {tested} of {testable} requirements tested", failed=failed, tested=tested, testable=testable)


def known_in_words(count: int) -> Message:
    """So many failures that the profile lists."""
    return say_many("{n} known failure", "{n} known failures", n=count)


def count_lines(document: RunDocument) -> Iterator[str]:
    """Verdicts by level, a line for each level; known failures apart."""
    for level in document.counts:
        known = known_failures(document, level)
        parts = [str(known_in_words(known))] if known else []
        parts += [f"{count} {verdict}" for verdict, count in _counts_of(document, level).items() if count]
        yield f"{level:<12} {', '.join(parts)}"


def _counts_of(document: RunDocument, level: str) -> dict[str, int]:
    """Every verdict of a level with its count, failures without those that are known."""
    known = {Verdict.FAIL: known_failures(document, level)}
    return {verdict: document.counts[level].get(verdict, 0) - known.get(verdict, 0) for verdict in Verdict}


def _sentence(document: RunDocument) -> Iterator[Text]:
    if document.verdict == RunVerdict.INTERRUPTED:
        yield say("the run was stopped")
    if document.incomplete:
        yield document.incomplete
    yield result_line(document)
    if document.drift:
        yield drift_in_words(document)
    if document.granted_nothing and document.granted:
        yield say("no request to {operations} succeeded", operations=listed(document.granted_nothing))
    if document.cut:
        cuts = [
            say("{why} ({operations})", why=cut.why, operations=operations_in_words(cut.operations))
            for cut in document.cut
        ]
        yield say("cut short, as {reasons}", reasons=listed(cuts))


def drift_in_words(document: RunDocument) -> Text:
    """Number of places that drift since the record of its day; empty if none does."""
    if not document.drift or document.record is None:
        return ""
    return say_many(
        "drift since the record of {day}: {n} place",
        "drift since the record of {day}: {n} places",
        n=len(document.drift),
        day=Date(document.record.accepted),
    )


def drift_lines(document: RunDocument) -> Iterator[str]:
    """Each place, was and is, and how many more there are."""
    lines = [
        f"{', '.join(filter(None, (drift.id, drift.situation, drift.place)))}: {drift.was} → {drift.now}"
        for drift in document.drift
    ]
    return map(str, capped(lines, _MOST_LINES))


def known_failures(document: RunDocument, level: str = "") -> int:
    """Number of failures that are listed as known, of one level or of all."""
    known = [requirement for requirement in document.requirements if requirement.is_known]
    return sum(level in ("", requirement.level) for requirement in known)


@dataclass(frozen=True)
class LeftOut:
    """Requirements with a verdict that is no test: how many there are, why, and the anchor of the part of the page that
    says more."""

    verdict: Verdict
    counted: Text
    why: Text
    anchor: str


def left_out(document: RunDocument) -> list[LeftOut]:
    """What was not tested, by verdict."""
    by_verdict = grouped(document.requirements, lambda requirement: requirement.verdict)
    return [
        LeftOut(verdict, counted.of(n=len(by_verdict[verdict])), joined(_why(verdict, by_verdict[verdict])), anchor)
        for verdict, (counted, anchor) in _LEFT_OUT.items()
        if verdict in by_verdict
    ]


def _why(verdict: Verdict, entries: list[ReportedRequirement]) -> Iterator[Text]:
    if verdict is Verdict.UNTESTABLE:
        yield say("no exchange can show them")
        return
    reasons = dict.fromkeys(requirement.message for requirement in entries)
    needed = {reason: list(texts_in_values(reason, "needed")) for reason in reasons}
    if permissions := dict.fromkeys(name for names in needed.values() for name in names):
        yield say("not in allow: {permissions}", permissions=", ".join(permissions))
    if others := [reason for reason, names in needed.items() if not names]:
        yield others[0]
        if more := len(others) - 1:
            yield say_many("{n} more reason", "{n} more reasons", n=more)
