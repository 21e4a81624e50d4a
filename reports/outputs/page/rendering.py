"""The suite's part of report.html, before the table of tests that pytest-html writes: the variables of its templates.

A QA manager reads its first screen in a minute, and an engineer acts on the findings.

An exchange is a request with its response. Both are shown in lines. A mark is put beside a line that deviates from a
requirement, and names that requirement. Invisible characters are shown as escapes. A JSON pointer, such as `/data/id`,
tells where in a body the deviation is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from markupsafe import Markup

from reports.observed.comparison import lists_of
from reports.outputs.page.figures import chapters, tile, timeline
from reports.outputs.page.templates import template
from reports.result.causes import finding_by_requirement
from reports.result.document import ReportedFinding, ReportedRequirement, RunDocument
from reports.result.run import NoteKind, Run
from reports.result.verdicts import TESTED, RunVerdict, Verdict
from reports.sentences.explanation import fix_for
from reports.sentences.headline import (
    drift_in_words,
    exception_in_words,
    headline,
    left_out,
    permissions_in_words,
    result_line,
    run_line,
)
from reports.sentences.wording import count_of_each_level, grouped
from reports.showing.evidence import ShownExchange, ShownRequest, ShownResponse
from reports.showing.json_tokens import Token, is_json_like, tokens
from reports.showing.show import BYTE_ORDER_MARK, END_OF_CUT_BODY, printable
from spec.findings import Finding
from spec.interface import operations
from spec.json_text import pointer, read_json
from spec.message import Message, Text, joined, say
from spec.requirements import requirements

DIGESTED = {"Requirements": "ledger_sha256", "Schema": "schema_sha256", "Profile": "profile_sha256"}
"""The digests that the page shows: what each is a digest of, and the name of its member in the provenance."""
_GENERAL = "general"
"""Choice of the filter for requirements that belong to no operation."""


def summary_html(run: Run, document: RunDocument) -> str:
    """The HTML of report.html before the table of tests: verdict, findings, requirements and requests.

    The templates escape every value, because some values come from the service.
    """
    variables = {**_first_screen(run, document), **_requirements(document), **exchange_list(run, document)}
    variables["timeline"] = timeline(document)
    fixes = {}
    for finding in document.findings:
        id = finding.cause  # of the most important requirement that deviates for this cause
        fixes[id] = fix_for(requirements()[id])
    variables["fixes"] = fixes
    page = template("report.html", run.profile.language)
    return printable(page.render(document=document, title=page_title(document), **variables))


def page_title(document: RunDocument) -> Message:
    """The title of the page: the environment, and the verdict.

    For example `PIX conformance: staging: conformant except 1 known failure`. For a partial run it has the result
    instead of the verdict, such as `no failure, 9 of 9 requirements tested`, because the word "partial" does not tell
    whether something fails.
    """
    name = printable(document.environment.name)
    verdict = joined((say(document.verdict), exception_in_words(document)), " ")
    if document.verdict == RunVerdict.PARTIAL:
        verdict = result_line(document)
    return say("PIX conformance: {name}: {verdict}", name=name, verdict=verdict)


def _first_screen(run: Run, document: RunDocument) -> dict[str, Any]:
    """Variables of the template report.html: verdict, permissions, untested requirements, digests, and findings.

    `excerpt` is a function that the template calls.
    """
    return {
        "alerts": [alert.text for alert in document.alerts],
        "notes": document.other_notes,
        "headline": headline(document),
        "run_line": run_line(document),
        "permitted": permissions_in_words(document.environment.allow),
        "tiles": {"Conformance": tile(document, "documented"), "Robustness": tile(document, "robustness")},
        "left_out": left_out(document),
        "comparison": document.comparison,
        "drift": drift_in_words(document),
        "proof": document.suite.proof,
        "changes": lists_of(document.comparison) if document.comparison else {},
        "digests": {name: getattr(document.provenance, member) for name, member in DIGESTED.items()},
        "findings": _findings(document.findings),
        "excerpt": excerpt,
        # A situation is what was sent, in words. The document has it in English, the run as a message, which the page
        # translates.
        "situations": {str(observation.situation): observation.situation for observation in run.observations},
        "transfers_not_executed": document.transfers_not_executed,  # prepared, and so left at the service
        # They say which command deletes the keys that are left, and which transfers a person has to look up.
        "remedy": [alert.text for alert in document.alerts if alert.kind is NoteKind.NOT_CLEANED_UP],
    }


def _requirements(document: RunDocument) -> dict[str, Any]:
    """Variables of the template report.html: the requirements by id, by section, and untested ones by their reason.

    `choices` are what a reader can select in the filters of the page. `numbers_by_level` is a function that the
    template calls.
    """
    entries = document.requirements
    names_of_operations = {entry.operation or _GENERAL for entry in entries}
    # A requirement whose deviation would make the run fail is listed first, because such untested requirements make the
    # run incomplete. False is sorted before True.
    failing_levels_first = sorted(entries, key=lambda entry: entry.level not in document.environment.fail_on)
    return {
        "by_id": {entry.id: entry for entry in entries},
        "tested": any(entry.verdict in TESTED for entry in entries),
        "choices": {
            "verdicts": {entry.verdict for entry in entries},
            "operations": [name for name in (*operations(), _GENERAL) if name in names_of_operations],
        },
        "verdicts": Verdict,
        "levels": [*document.counts],
        "missing": _grouped_by_message(failing_levels_first, Verdict.NOT_EXERCISED),
        "out_of_scope": _grouped_by_message(entries, Verdict.OUT_OF_SCOPE),
        "sections": chapters(entry for entry in entries if entry.level != "robustness"),
        "robustness": chapters(entry for entry in entries if entry.level == "robustness"),
        "numbers_by_level": _numbers_by_level,
    }


def _numbers_by_level(entries: Iterable[ReportedRequirement]) -> Text:
    """Number of requirements at each level, in words: `2 documented and 1 implied`. The template calls this."""
    return count_of_each_level(entry.level for entry in entries)


def _findings(findings: Sequence[ReportedFinding]) -> dict[str, list[ReportedFinding]]:
    """The findings by the heading under which the page lists them. Headings without a finding are left out."""
    failing = [finding for finding in findings if finding.fails]  # without known failures
    failing_robustness = [finding for finding in failing if finding.level == "robustness"]
    groups = {
        "Failing": [finding for finding in failing if finding.level != "robustness"],
        "Failing: robustness, apart from conformance": failing_robustness,
        "Failing, and known": [finding for finding in findings if finding.is_known],
        "Warnings": [finding for finding in findings if finding.verdict == Verdict.WARN],
    }
    return {heading: group for heading, group in groups.items() if group}


def _grouped_by_message(
    entries: Iterable[ReportedRequirement], verdict: Verdict
) -> dict[str, list[ReportedRequirement]]:
    """The requirements with that verdict by their message, such as "there is no transaction code".

    The page lists them under their message, so that a reader sees what to supply.
    """
    return grouped([entry for entry in entries if entry.verdict == verdict], attrgetter("message"))


# -- an exchange in lines -------------------------------------------------------------------------------------------

_LINES_BEFORE = 2
"""Lines of an excerpt before the line that deviates, so that a reader sees where it is. A choice."""
_MOST_LINES = 6
"""Most lines of an excerpt. A choice: the whole exchange is one click away."""
_DEEPEST = 32
"""Most levels that are indented. A body may have thousands, and its lines would be very long. A choice."""
_BODIES_REMEMBERED = 64
"""Most bodies whose lines are remembered, because a service gives the same answer to many requests. A choice."""


MarkedPlace = tuple[str, str]
"""A side (`request` or `response`), and a place in it: the name of a header, a JSON pointer into the body (`/` is the
whole body), or an empty text for the first line."""


@dataclass
class Line:
    """A line of a request or a response. A line of a missing header or member has a name and no text."""

    text: str
    name: str = ""  # of the header or the member that starts here
    indent: str = ""
    pointer: str | None = None  # to the JSON value that starts here
    marks: list[ReportedRequirement] = field(default_factory=list)  # requirements that deviate here

    @property
    def html(self) -> Markup:
        """The line as HTML, without its indentation. Quotes need no escape outside of tags, and JSON has many."""
        return Markup(escape(self.name + self.text, quote=False))


class MessageLines(NamedTuple):
    """A request or a response in lines."""

    head: list[Line]  # the first line, and the headers
    body: list[Line]


Marks = list[tuple[str, ReportedRequirement]]
"""Places in a request or a response, each with the requirement that deviates there."""


def places_of(requirement: ReportedRequirement, number: int = 0) -> list[MarkedPlace]:
    """Where in an exchange the deviations of a requirement can be seen: `[("response", "/data/id")]`.

    `number` is the number of the exchange; 0 means any exchange. Deviations in other exchanges are left out. If the
    place of a deviation is not known, it is the first line of the response: `("response", "")`.
    """
    places: list[MarkedPlace] = []
    for finding in requirement.found:
        if _is_about_exchange(finding, number):
            places += _places_of_finding(finding)
    distinct_places = list(dict.fromkeys(places))
    return distinct_places or [("response", "")]


def _is_about_exchange(finding: Finding, number: int) -> bool:
    """True if a deviation was found in the exchange with this number. The number 0 means any exchange.

    A finding that names no exchange is about all of them.
    """
    if number == 0 or len(finding.exchanges) == 0:
        return True
    return number in finding.exchanges


def _places_of_finding(finding: Finding) -> Iterator[MarkedPlace]:
    """Where a finding is marked: `("response", "/data/id")` for a value, `("request", "Authorization")` for a header.

    If the finding has no JSON pointers, findings.yaml may name a place for the code of the finding, such as
    `request Authorization`. A finding about the request is also marked at the first line of the response, because that
    line shows how the service answered.
    """
    if finding.pointers:
        for pointer in finding.pointers:
            # An empty pointer means the whole body. Here it is "/", because an empty place means the first line.
            yield "response", pointer or "/"
        return
    side, _, place = finding.at.partition(" ")  # both are empty if findings.yaml names no place
    if place:
        yield side, place
    if side != "response":
        yield "response", ""


def marks_of(deviating: Iterable[ReportedRequirement], side: str, number: int = 0) -> Marks:
    """Which lines of a request or a response are marked: place (a header or a JSON pointer) and requirement.

    `side` is `request` or `response`. `deviating` are the requirements from which the exchange with this number
    deviates; the number 0 means any exchange.
    """
    marks: Marks = []
    for requirement in deviating:
        for side_of_place, place in places_of(requirement, number):
            if side_of_place == side:
                marks.append((place, requirement))
    return marks


def message_lines(first_line: str, content: ShownRequest | ShownResponse | None, marks: Marks) -> MessageLines:
    """A request or a response in lines, with a mark beside each line that deviates from a requirement.

    `content` is None if no response came. If a required header or member is missing, a line with its name is added,
    because a mark needs a line.
    """
    head = [Line(first_line)]
    body: list[Line] = []
    if content:
        head += [Line(f": {value}", name) for name, value in content.headers]
        body = _lines_to_mark(content.body)
    for place, requirement in marks:
        is_pointer = place.startswith("/")
        if not is_pointer:
            line = _line_of_header(place, head)
        elif body:
            line = _line_of_json_value(place, body)
        else:
            line = head[0]
        line.marks.append(requirement)
    return MessageLines(head, body)


def _line_of_header(name: str, head: list[Line]) -> Line:
    """The line of the header with this name. `head` is the first line, whose name is empty, and the header lines.

    If the header is missing, a new line with its name is added to `head`, so that it can be marked.
    """
    for line in head:
        if line.name.lower() == name.lower():
            return line
    new_line = Line("", name)
    head.append(new_line)
    return new_line


def _lines_to_mark(text: str) -> list[Line]:
    """A body in lines without marks. The lines are new objects, so that the caller may add marks to them."""
    return [replace(line, marks=[]) for line in _remembered_lines(text)]


@lru_cache(_BODIES_REMEMBERED)
def _remembered_lines(text: str) -> list[Line]:
    """A body in lines. The result is remembered, so that the caller must not change it.

    JSON gets a line for each member and item, even if the body was cut short. Any other text keeps its own lines.
    """
    # A byte order mark is no part of JSON, so it is left out to see whether the text is JSON. But the lines have it,
    # because a reader must see it: the first line is then `\ufeff{`.
    text_without_mark = text.removeprefix(BYTE_ORDER_MARK)
    is_cut_json = is_json_like(text_without_mark) and text_without_mark.endswith(END_OF_CUT_BODY)
    is_whole_json = read_json(text_without_mark.encode("utf-8", "replace")).readable
    if is_cut_json or is_whole_json:
        return _json_lines(text)
    return [Line(line) for line in text.splitlines()]


def _json_lines(text: str) -> list[Line]:
    """A JSON text in indented lines, one for each member and item. `{}` and `[]` are written in one line.

    The text is divided into its smallest pieces (tokens) instead of being parsed, because it may be cut short, and
    because numbers must be shown exactly as the service wrote them.
    """
    lines = list[Line]()
    before = ""  # the token before this one; empty at the start
    for token in tokens(text):
        if token.kind == "blank":
            continue
        is_closing = token.text in ("}", "]")
        follows_opening = before in ("{", "[")
        is_first_of_value = follows_opening and not is_closing
        is_end_of_value = is_closing and not follows_opening  # `{}` and `[]` stay in one line
        is_first_or_last_of_value = is_first_of_value or is_end_of_value
        if before in ("", ",") or is_first_or_last_of_value:
            lines.append(_line_that_begins_with(token))
        if token.kind == "name":
            lines[-1].name = token.text
        else:
            lines[-1].text += ": " if token.text == ":" else token.text
        before = token.text
    return lines


def _line_that_begins_with(token: Token) -> Line:
    """A new line of a JSON text that starts with this token: without text, but with indent and JSON pointer.

    The pointer tells which value starts in the line, so that a deviation can be marked there. A closing brace starts no
    value. A line that is more than 32 levels deep has no pointer, because the pointers of thousands of levels would
    take much memory. A deviation there is marked at the line of an object or array around it.
    """
    path = token.path[1:]  # without the name of the whole text, which is always empty
    depth = len(path)
    starts_value = token.text not in ("}", "]") and depth <= _DEEPEST
    pointer_of_line = pointer(*path) if starts_value else None
    return Line("", indent="  " * min(depth, _DEEPEST), pointer=pointer_of_line)


def _line_of_json_value(pointer_to_value: str, body: list[Line]) -> Line:
    """The line of a body at which a JSON value starts, so that the line can be marked.

    - If an object has a name twice, it is the later line, because JSON parsers use the last value.
    - If the value is missing, a line with its name is inserted after the line of the innermost value around it. If
      `/data/id` has no line, `"id"` is inserted after `/data`. If `/data` has none, either, `"data/id"` is inserted.
    - If not even a surrounding value has a line, it is the first line.
    """
    # A later line replaces an earlier line with the same pointer.
    line_numbers = {line.pointer: number for number, line in enumerate(body)}
    if pointer_to_value in line_numbers:
        return body[line_numbers[pointer_to_value]]
    enclosing = pointer_to_value  # shortened below, until it is the pointer to a value that has a line
    while enclosing and enclosing not in line_numbers:
        enclosing = enclosing.rpartition("/")[0]
    if enclosing not in line_numbers:
        return body[0]
    number = line_numbers[enclosing]
    missing_name = pointer_to_value.removeprefix(enclosing).strip("/")
    if not missing_name:  # the pointer is "/", the whole body
        return body[number]
    new_line = Line("", f'"{missing_name}"', f"  {body[number].indent}", pointer_to_value)
    body.insert(number + 1, new_line)
    return new_line


def excerpt(exchange: ShownExchange, requirement: ReportedRequirement) -> tuple[str, list[Line]]:
    """At most six lines of a request or a response that show how it deviates from a requirement.

    Returns the word `request` or `response`, and the lines. The lines are the deviating header, or lines of the body
    around the deviating line. If the deviation is neither in a header nor in a body, the lines are the first ones of
    the body of the response.
    """
    # For example ("response", "/data/id"): the deviation is in the response, at this JSON pointer.
    side, place = places_of(requirement, exchange.number)[0]
    content = exchange.request if side == "request" else exchange.response
    if content:
        head, body = message_lines("", content, [(place, requirement)])
        header_lines = head[1:]  # without the line that has method and address, or the status
        marked_headers = [line for line in header_lines if line.marks]
        lines = marked_headers or _lines_from_first_mark(body)
        if lines:
            return side, lines[:_MOST_LINES]
    if exchange.response is None:
        return "response", []
    return "response", _lines_to_mark(exchange.response.body)[:_MOST_LINES]


def _lines_from_first_mark(body: list[Line]) -> list[Line]:
    """The first marked line of a body, the two lines before it and all lines after it; none if no line is marked."""
    for number, line in enumerate(body):
        if line.marks:
            return body[max(number - _LINES_BEFORE, 0) :]
    return []


# -- the exchanges that the page shows ------------------------------------------------------------------------------

MOST_LINKED = 3
"""Most exchanges of one requirement or finding that the page links and shows. A choice: more tell a reader little."""
MOST_WHOLE = 300
"""Most exchanges that the page shows whole. Each has a few thousand characters, so that the page stays quick. Of any
further exchange the page has one line."""


class WholeExchange(NamedTuple):
    """An exchange that is shown whole."""

    request: MessageLines
    response: MessageLines  # or the reason why there is none


def exchange_list(run: Run, document: RunDocument) -> dict[str, Any]:
    """Variables of the template report.html: the requests and responses to which the page links, and their deviations.

    Exchanges of findings come first. At most 300 exchanges are shown whole, because a page with more is slow. An
    exchange that cannot be sent again has only one line: an outline, which has no headers and bodies, or an entry of
    recorded traffic.
    """
    deviating = _deviating_by_exchange(document)
    cited = {number: run.exchanges[number] for number in _cited_numbers(document) if number in run.exchanges}
    whole = {}
    for number, exchange in islice(cited.items(), MOST_WHOLE):
        can_be_sent_again = bool(exchange.lines_that_resend)
        if can_be_sent_again:
            whole[number] = _whole_exchange(exchange, deviating.get(number, ()))
    return {
        "exchanges": cited,
        "most_linked": MOST_LINKED,  # so many exchanges are linked from a finding or requirement
        "number_of_requests": len(run.exchanges),
        "base_url": document.environment.base_url.rstrip("/"),
        "whole": whole,
        "deviating": deviating,
        "causes": {id: finding.cause for id, finding in finding_by_requirement(document.findings).items()},
    }


def _deviating_by_exchange(document: RunDocument) -> dict[int, list[ReportedRequirement]]:
    """The requirements that are not met, by the number of each exchange that shows the deviation."""
    by_number: dict[int, list[ReportedRequirement]] = {}
    for requirement in document.requirements:
        if requirement.deviates:
            for number in requirement.exchanges:
                by_number.setdefault(number, []).append(requirement)
    return by_number


def _cited_numbers(document: RunDocument) -> Iterable[int]:
    """Numbers of the exchanges to which the page links, each once: of findings, requirements, and undeleted keys.

    Of each finding, requirement or key only the first three are linked.
    """
    cited = [finding.exchanges for finding in document.findings]
    cited += [requirement.exchanges for requirement in document.requirements]
    cited += [key.exchanges for key in document.not_cleaned_up]
    numbers: list[int] = []
    for numbers_in_one_place in cited:
        numbers += numbers_in_one_place[:MOST_LINKED]
    return dict.fromkeys(numbers)  # each once, in their order


def _whole_exchange(exchange: ShownExchange, deviating: Collection[ReportedRequirement]) -> WholeExchange:
    """The request and the response of an exchange in lines, with marks at lines that deviate from a requirement.

    `deviating` are the requirements from which the exchange deviates. If no response came, the only line of the
    response says why.
    """
    request = exchange.request
    response = exchange.response
    result = str(response.status) if response else exchange.failure
    marks_in_request = marks_of(deviating, "request", exchange.number)
    marks_in_response = marks_of(deviating, "response", exchange.number)
    return WholeExchange(
        request=message_lines(f"{request.method} {request.url}", request, marks_in_request),
        response=message_lines(result, response, marks_in_response),
    )
