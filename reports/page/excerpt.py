"""The part of an exchange that a finding is about, short enough to stand beside it."""

from __future__ import annotations

from typing import NamedTuple

from reports.handover import Evidence
from reports.page.json_lines import in_lines
from reports.page.places import Place, places_of
from reports.verdicts import Entry
from reports.wording import shortened

_AROUND = 2
_MOST_LINES = 6
_LONGEST = 200


class Shown(NamedTuple):
    """A line; `marked` where it deviates."""

    text: str
    marked: bool = False


class Excerpt(NamedTuple):
    """Lines of the request or the response, as `side` says; none where there is nothing to show."""

    side: str
    lines: list[Shown]


def excerpt(exchange: Evidence, requirement: Entry) -> Excerpt:
    """The header or the lines of the body that show a deviation, else the first lines of the body of the response."""
    place = places_of(requirement, exchange["number"])[0]
    shown = [] if place.side not in exchange else _header(exchange, place) or _lines(exchange, place)
    if shown or "response" not in exchange:
        return Excerpt(place.side, shown)
    return Excerpt("response", _first(exchange["response"]["body"].splitlines()))


def _header(exchange: Evidence, place: Place) -> list[Shown]:
    headers = exchange[place.side]["headers"]
    return [_line(f"{name}: {value}", True) for name, value in headers if name.lower() == place.header.lower()]


def _lines(exchange: Evidence, place: Place) -> list[Shown]:
    """The lines around the first spot of the body that deviates."""
    found = in_lines(exchange[place.side]["body"])
    if found is None or not place.pointers:
        return []
    spots = {spot.line for spot in place.spots(found.lines)}
    texts = [f"{'  ' * line.depth}{line.name}{': ' * bool(line.name)}{line.value}{line.tail}" for line in found.lines]
    start = max(min(spots, default=0) - _AROUND, 0)
    shown = [_line(text, at in spots) for at, text in enumerate(texts[: start + 2 * _AROUND + 1]) if at >= start]
    return [*[Shown("…")] * (start > 0), *shown, *[Shown("…")] * (start + len(shown) < len(texts))]


def _first(lines: list[str]) -> list[Shown]:
    return [*map(_line, lines[:_MOST_LINES]), *[Shown("…")] * (len(lines) > _MOST_LINES)]


def _line(text: str, marked: bool = False) -> Shown:
    return Shown(shortened(text, _LONGEST), marked)
