"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Each exchange stands in lines, marked where it deviates as the findings say. What cannot be seen is made visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from markupsafe import Markup

from reports.causes import finding_of_each
from reports.comparison import lists_of
from reports.document import ReportedFinding, ReportedRequirement, RunDocument
from reports.evidence import Evidence
from reports.explanation import fix_for
from reports.headline import drift_in_words, exception, headline, left_out, permitted, result_line, run_line
from reports.json_tokens import is_json_like, tokens
from reports.page.figures import by_heading, tile, timeline
from reports.page.templates import template
from reports.run import NoteKind, Run
from reports.show import BYTE_ORDER_MARK, CUT, printable
from reports.verdicts import TESTED, RunVerdict, Verdict
from reports.wording import grouped, level_by_level
from spec.findings import Finding
from spec.interface import operations
from spec.json_text import pointer, read_json
from spec.message import Message, joined, say
from spec.requirements import requirements

DIGESTED = {"Requirements": "ledger_sha256", "Schema": "schema_sha256", "Profile": "profile_sha256"}
"""The digests of the provenance."""
_GENERAL = "general"
"""The filter of what belongs to no operation."""


def summary_html(run: Run, document: RunDocument) -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped."""
    parts = {**_verdict(run, document), **_requirements(document), **exchange_list(run, document)}
    parts["timeline"] = timeline(document)
    parts["fixes"] = {one.cause: fix_for(requirements()[one.cause]) for one in document.findings}
    page = template("report.html", run.profile.language)
    return printable(page.render(document=document, title=page_title(document), **parts))


def page_title(document: RunDocument) -> Message:
    """The title of the page: whom the run asked, and the verdict."""
    verdict, name = document.verdict, printable(document.environment.name)
    told = result_line(document) if verdict == RunVerdict.PARTIAL else joined((say(verdict), exception(document)), " ")
    return say("PIX conformance: {name}: {verdict}", name=name, verdict=told)


def _verdict(run: Run, document: RunDocument) -> dict[str, Any]:
    """The first screen: the verdict, what it rests on, what was left out, and who says so; then the findings."""
    return {
        "alerts": [alert.text for alert in document.alerts],
        "notes": document.other_notes,
        "headline": headline(document),
        "run_line": run_line(document),
        "permitted": permitted(document.environment.allow),
        "tiles": {"Conformance": tile(document, "documented"), "Robustness": tile(document, "robustness")},
        "left_out": left_out(document),
        "comparison": document.comparison,
        "drift": drift_in_words(document),
        "proof": document.suite.proof,
        "changes": lists_of(document.comparison) if document.comparison else {},
        "digests": {name: getattr(document.provenance, member) for name, member in DIGESTED.items()},
        "findings": _findings(document.findings),
        "excerpt": excerpt,
        "situations": {str(one.situation): one.situation for one in run.observations},
        "not_executed": document.not_executed,
        "remedy": [alert.text for alert in document.alerts if alert.kind is NoteKind.LEFT],
    }


def _requirements(document: RunDocument) -> dict[str, Any]:
    """Every requirement: by id, by what is missing, and by section; and what the filters offer."""
    found = document.requirements
    failing_first = sorted(found, key=lambda one: one.level not in document.environment.fail_on)
    asked = {one.operation or _GENERAL for one in found}
    return {
        "by_id": {one.id: one for one in found},
        "tested": any(one.verdict in TESTED for one in found),
        "choices": {
            "verdicts": {one.verdict for one in found},
            "operations": [name for name in (*operations(), _GENERAL) if name in asked],
        },
        "verdicts": Verdict,
        "levels": [*document.counts],
        "missing": _by_message(failing_first, Verdict.NOT_EXERCISED),
        "out_of_scope": _by_message(found, Verdict.OUT_OF_SCOPE),
        "sections": by_heading(one for one in found if one.level != "robustness"),
        "robustness": by_heading(one for one in found if one.level == "robustness"),
        "counted_by_level": lambda entries: level_by_level(one.level for one in entries),
    }


def _findings(findings: Sequence[ReportedFinding]) -> dict[str, list[ReportedFinding]]:
    """The findings under the headline that each belongs to; without the empty headlines."""
    new = [finding for finding in findings if finding.fails]
    groups = {
        "Failing": [finding for finding in new if finding.level != "robustness"],
        "Failing: robustness, apart from conformance": [finding for finding in new if finding.level == "robustness"],
        "Failing, and known": [finding for finding in findings if finding.is_known],
        "Warnings": [finding for finding in findings if finding.verdict == Verdict.WARN],
    }
    return {title: found for title, found in groups.items() if found}


def _by_message(entries: Iterable[ReportedRequirement], verdict: Verdict) -> dict[str, list[ReportedRequirement]]:
    """The requirements of that verdict by what is missing."""
    return grouped([one for one in entries if one.verdict == verdict], attrgetter("message"))


# -- an exchange in lines -------------------------------------------------------------------------------------------

_AROUND, _MOST_LINES = 2, 6
"""Of an excerpt: lines before the one that deviates, lines in all."""
_DEEPEST = 32
"""Levels that are indented: a body that was cut may be as deep as it is long."""
_BODIES_KEPT = 64
"""Bodies whose lines are kept, because a service says the same to many requests."""


MarkedPlace = tuple[str, str]
"""The request or the response, and in it a header, a member of the body (a JSON pointer, `/` for all of it), or the
first line (nothing)."""


@dataclass
class Line:
    """A line: the name of a header or a member, if any, and the rest; nothing of a member that is missing."""

    text: str
    name: str = ""
    indent: str = ""
    pointer: str | None = None  # to the JSON value that starts here
    marks: list[ReportedRequirement] = field(default_factory=list)  # what deviates here

    @property
    def html(self) -> Markup:
        """The line without its indentation. Quotes stay, which JSON is full of."""
        return Markup(escape(self.name + self.text, quote=False))


class Side(NamedTuple):
    """A request or a response: its first line and its headers; its body."""

    head: list[Line]
    body: list[Line]


Marks = list[tuple[str, ReportedRequirement]]
"""Places in a request or a response, each with what deviates there."""


def places_of(requirement: ReportedRequirement, exchange: int = 0) -> list[MarkedPlace]:
    """The places in an exchange that show the findings of a requirement; each finding names its exchanges."""
    found = [each for each in requirement.found if not each.exchanges or exchange in (0, *each.exchanges)]
    return list(dict.fromkeys(place for each in found for place in _places(each))) or [("response", "")]


def _places(found: Finding) -> list[MarkedPlace]:
    side, _, place = found.at.partition(" ")
    if found.pointers:
        return [("response", each or "/") for each in found.pointers]
    return [(side, place)] * bool(place) + [("response", "")] * (side != "response")


def marks_of(deviating: Iterable[ReportedRequirement], side: str, exchange: int = 0) -> Marks:
    """The marks of a request or a response."""
    places = ((each, place) for each in deviating for place in places_of(each, exchange))
    return [(place, each) for each, (its_side, place) in places if its_side == side]


def message(first: str, content: Evidence, marks: Marks) -> Side:
    """The request or the response of an exchange. A header, a member or a body that it lacks has a line, too."""
    head = [Line(first), *(Line(f": {value}", name) for name, value in content["headers"])]
    body = _body(content["body"])
    for place, requirement in marks:
        if place.startswith("/"):
            line = _line_at(place, body or head[:1])
        else:
            line = next((line for line in head if line.name.lower() == place.lower()), Line("", place))
            head += [line] * (line not in head)
        line.marks.append(requirement)
    return Side(head, body)


def _body(text: str) -> list[Line]:
    """JSON in lines, also where it was cut, its tokens as they are; any other text as it is. Lines of its own for each
    message, because they get its marks."""
    return [replace(line, marks=[]) for line in _lines_of_body(text)]


@lru_cache(_BODIES_KEPT)
def _lines_of_body(text: str) -> list[Line]:
    plain = text.removeprefix(BYTE_ORDER_MARK)
    is_cut = is_json_like(plain) and plain.endswith(CUT)
    if not is_cut and not read_json(plain.encode("utf-8", "replace")).readable:
        return [Line(line) for line in text.splitlines()]
    lines, before = list[Line](), ""
    for token in tokens(text):
        if token.kind == "blank":
            continue
        closes = token.text in ("}", "]")
        if not lines or before == "," or closes != (before in ("{", "[")):
            depth = len(token.path) - 1
            has_pointer = not closes and depth <= _DEEPEST  # a mark that leads deeper is at the nearest line around it
            here = pointer(*token.path[1:]) if has_pointer else None
            lines.append(Line("", indent="  " * min(depth, _DEEPEST), pointer=here))
        before = token.text
        if token.kind == "name":
            lines[-1].name = before
        else:
            lines[-1].text += ": " if before == ":" else before
    return lines


def _line_at(wanted: str, body: list[Line]) -> Line:
    """The last line that a pointer leads to. Where it leads to nothing, a new one with the name that is missing, behind
    the line of what should hold it; the first line where no line shows it."""
    holder, places = wanted, {line.pointer: place for place, line in enumerate(body)}
    while holder and holder not in places:
        holder = holder.rpartition("/")[0]
    place, missing = places.get(holder, 0), wanted.removeprefix(holder).strip("/")
    if missing and holder in places:
        place += 1
        body.insert(place, Line("", f'"{missing}"', f"  {body[place - 1].indent}", wanted))
    return body[place]


def excerpt(exchange: Evidence, requirement: ReportedRequirement) -> tuple[str, list[Line]]:
    """The side that shows a deviation, and the header or the lines of its body that show it; else the first lines of
    the body of the response, if there is one."""
    side, place = places_of(requirement, exchange["number"])[0]
    if side in exchange:
        head, body = message("", exchange[side], [(place, requirement)])
        start = next((max(at - _AROUND, 0) for at, line in enumerate(body) if line.marks), len(body))
        if shown := [line for line in head[1:] if line.marks] or body[start:]:
            return side, shown[:_MOST_LINES]
    return "response", _body(exchange.get("response", {"body": ""})["body"])[:_MOST_LINES]


# -- the exchanges that the page shows ------------------------------------------------------------------------------

LINKED = 3
"""Exchanges of a requirement or a finding that are linked, and shown."""
MOST_WHOLE = 300
"""Exchanges that are shown whole: each has a few thousand characters. The others are a line each."""


Whole = dict[str, Side]
"""An exchange that is shown whole: its request, and its response, or why there is none."""
_NOTHING: Evidence = {"headers": [], "body": ""}


def exchange_list(run: Run, document: RunDocument) -> dict[str, Any]:
    """The exchanges that the page cites, those of findings first, and those shown whole; what deviates in each."""
    deviating: dict[int, list[ReportedRequirement]] = {}
    for one in document.requirements:
        for number in one.exchanges if one.deviates else ():
            deviating.setdefault(number, []).append(one)
    cited_by = [
        *(finding.exchanges for finding in document.findings),
        *(requirement.exchanges for requirement in document.requirements),
        *(key.exchanges for key in document.not_cleaned_up),
    ]
    numbers = dict.fromkeys(number for exchanges in cited_by for number in exchanges[:LINKED])
    cited = {number: run.exchanges[number] for number in numbers if number in run.exchanges}
    return {
        "exchanges": cited,
        "linked": LINKED,
        "sent": len(run.exchanges),
        "base_url": document.environment.base_url.rstrip("/"),
        "whole": {
            number: _whole(seen, deviating.get(number, ()))
            for number, seen in islice(cited.items(), MOST_WHOLE)
            if seen["curl"]
        },
        "deviating": deviating,
        "causes": {id: finding.cause for id, finding in finding_of_each(document.findings).items()},
    }


def _whole(seen: Evidence, deviating: Iterable[ReportedRequirement]) -> Whole:
    request, result = seen["request"], str(seen["response"]["status"]) if "response" in seen else seen["failure"]
    first = {"request": f"{request['method']} {request['url']}", "response": result}
    return {
        side: message(first[side], seen.get(side, _NOTHING), marks_of(deviating, side, seen["number"]))
        for side in first
    }
