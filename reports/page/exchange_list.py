"""The exchanges on the page: which are shown whole, where they deviate, and what cites them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from operator import itemgetter
from typing import Any

from reports.causes import by_requirement
from reports.evidence import Evidence
from reports.formats.conformance_json import Document
from reports.page.marked import Side, marks_of, message
from reports.run import Run
from reports.verdicts import Entry, Verdict
from reports.wording import grouped

LINKED = 12
"""Exchanges of a requirement that are linked."""
MOST_CHARACTERS = 2_000_000
"""Of exchanges that are shown whole: the page of a run of 5,000 stays below 5 MB. The others are a line each."""
_FRAME = 1_500
"""Characters of an exchange around its messages and its reproduce line."""


Whole = dict[str, Side]
"""An exchange that is shown whole: its request, and its response, or why there is none."""
_NOTHING: Evidence = {"headers": [], "body": ""}


def exchange_list(run: Run, document: Document) -> dict[str, Any]:
    """The exchanges that something cites, and those shown whole; what deviates in each, and what else cites it."""
    by_verdict = grouped(document["requirements"], itemgetter("verdict"))
    deviating = _citing([*by_verdict.pop(Verdict.FAIL, []), *by_verdict.pop(Verdict.WARN, [])])
    citing = _citing((one for others in by_verdict.values() for one in others), LINKED)
    of_keys = (number for key in run.not_cleaned_up for number in key.exchanges)
    numbers = dict.fromkeys([*deviating, *citing, *of_keys])
    cited = {number: run.exchanges[number] for number in numbers if number in run.exchanges}
    return {
        "exchanges": cited,
        "sent": len(run.exchanges),
        "base_url": document["environment"]["base_url"].rstrip("/"),
        "whole": dict(_within((seen, _whole(seen, deviating.get(number, ()))) for number, seen in cited.items())),
        "deviating": deviating,
        "citing": citing,
        "causes": by_requirement(document["findings"], "cause"),
    }


def _citing(requirements: Iterable[Entry], most: int | None = None) -> dict[int, list[Entry]]:
    """Requirements by the exchanges that they cite: the first exchange of each, then the second of each."""
    cites = [(place, number, one) for one in requirements for place, number in enumerate(one["exchanges"][:most])]
    by_number = grouped(sorted(cites, key=itemgetter(0)), itemgetter(1))
    return {number: [one for *_, one in group] for number, group in by_number.items()}


def _within(wholes: Iterable[tuple[Evidence, Whole]]) -> Iterator[tuple[int, Whole]]:
    """As many as the page has room for, of those whose content was kept."""
    room = MOST_CHARACTERS
    for seen, whole in wholes:
        room -= len(escape(seen["curl"])) + _FRAME + sum(each.size for each in whole.values())
        if seen["curl"] and room >= 0:
            yield seen["number"], whole


def _whole(seen: Evidence, deviating: Iterable[Entry]) -> Whole:
    request, result = seen["request"], str(seen["response"]["status"]) if "response" in seen else seen["failure"]
    first = {"request": f"{request['method']} {request['url']}", "response": result}
    return {
        side: message(first[side], seen.get(side, _NOTHING), marks_of(deviating, side, seen["number"]))
        for side in first
    }
