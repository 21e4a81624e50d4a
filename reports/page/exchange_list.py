"""The exchanges on the page: which are shown whole, where they deviate, and what cites them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from reports.causes import by_requirement
from reports.formats.conformance_json import Document
from reports.handover import Evidence
from reports.page.message_lines import Side, marks_of, message
from reports.run import Run
from reports.verdicts import Entry, Verdict
from reports.wording import grouped

LINKED = 12
"""How many exchanges of a requirement are linked."""
MOST_CHARACTERS = 2_000_000
"""Of exchanges that are shown whole: the page of a run of 5,000 stays below 5 MB. The others are a line each."""
_FIRST = 3
"""How many exchanges of a requirement that deviates are shown before others are."""
_FRAME = 1_500
"""Characters of an exchange around its messages and its reproduce line."""

Citing = dict[int, list[Entry]]
"""Requirements by the exchanges that they cite."""


class Whole(NamedTuple):
    """An exchange that is shown whole. What stands for a response that did not come says why."""

    request: Side
    response: Side


def exchange_list(run: Run, document: Document) -> dict[str, Any]:
    """The exchanges that something cites, and those shown whole; what deviates in each, and what else cites it."""
    found: list[Entry] = document["requirements"]
    failures_first = sorted(found, key=lambda one: (one["verdict"] != Verdict.FAIL, one["verdict"] != Verdict.WARN))
    deviates = [one for one in failures_first if one["verdict"] in (Verdict.FAIL, Verdict.WARN)]
    deviating = _citing(deviates)
    citing = _citing((one for one in found if one not in deviates), LINKED)
    numbers = {*deviating, *citing, *_of_tests(run), *(each for key in run.not_cleaned_up for each in key.exchanges)}
    cited = {number: seen for number, seen in run.exchanges.items() if number in numbers}
    order = _by_weight(cited, deviates, failures_first)
    return {
        "exchanges": cited,
        "sent": len(run.exchanges),
        "base_url": document["environment"]["base_url"].rstrip("/"),
        "whole": _within((seen, _whole(seen, deviating.get(seen["number"], ()))) for seen in order),
        "deviating": deviating,
        "citing": citing,
        "causes": by_requirement(document["findings"], "cause"),
    }


def _of_tests(run: Run) -> Iterator[int]:
    """What the table of tests links."""
    for result in run.results:
        yield from [number for number in result.exchanges if number in run.exchanges][:LINKED]


def _citing(requirements: Iterable[Entry], most: int | None = None) -> Citing:
    cites = [(number, one) for one in requirements for number in one["exchanges"][:most]]
    return {number: [one for _, one in group] for number, group in grouped(cites, itemgetter(0)).items()}


def _by_weight(
    exchanges: Mapping[int, Evidence], deviates: Iterable[Entry], cites: Iterable[Entry]
) -> Iterator[Evidence]:
    """What may be shown whole, the most important first: what deviates, what else is linked, then the others."""
    first = (one["exchanges"][:_FIRST] for one in deviates)
    linked = (one["exchanges"][:LINKED] for one in cites)
    others = (one["exchanges"] for one in deviates)
    numbers = chain(*first, *linked, *others, sorted(exchanges))
    shown = (exchanges[number] for number in dict.fromkeys(numbers) if number in exchanges)
    return (seen for seen in shown if seen["curl"])


def _within(wholes: Iterable[tuple[Evidence, Whole]]) -> dict[int, Whole]:
    """As many as the page has room for."""
    kept: dict[int, Whole] = {}
    room = MOST_CHARACTERS
    for seen, whole in wholes:
        room -= len(escape(seen["curl"])) + _FRAME + sum(each.size for each in whole)
        if room < 0:
            break
        kept[seen["number"]] = whole
    return kept


def _whole(seen: Evidence, deviating: Iterable[Entry]) -> Whole:
    number, request, response = seen["number"], seen["request"], seen.get("response", {"headers": [], "body": ""})
    came = str(response["status"]) if "response" in seen else seen["failure"]
    return Whole(
        message(f"{request['method']} {request['url']}", request, marks_of(deviating, "request", number)),
        message(came, response, marks_of(deviating, "response", number)),
    )
