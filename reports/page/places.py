"""Where in an exchange a deviation shows: its status line, a header, a member of a body, as its findings say."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from reports.page.json_lines import Line
from reports.verdicts import Entry
from spec.findings import Finding
from spec.json_text import parts_of_pointer, pointer


class Spot(NamedTuple):
    """The line of a body that shows a deviation; `missing` names a member that the object which starts there lacks."""

    line: int
    missing: str = ""


class Place(NamedTuple):
    """A place in the request or the response: a header, members of a body, or else the first line."""

    side: str
    header: str = ""
    pointers: tuple[str, ...] = ()
    repeated: bool = False  # each member that has the place, and not the last one alone

    def lacks(self, headers: Collection[str]) -> bool:
        """True for a header that a response lacks. `headers` are names in lower case."""
        return self.side == "response" and bool(self.header) and self.header.lower() not in headers

    def spots(self, lines: list[Line]) -> list[Spot]:
        """The lines of a body that show it; the first one where none does."""
        return [spot for each in self.pointers for spot in self._spots(each, lines)] or [Spot(0)]

    def _spots(self, wanted: str, lines: list[Line]) -> list[Spot]:
        found = [Spot(at) for at, line in enumerate(lines) if not line.closes and pointer(*line.path) == wanted]
        if self.repeated:
            return found if len(found) > 1 else []
        if found or not wanted:
            return found[-1:]
        holder, name = wanted.rpartition("/")[0], parts_of_pointer(wanted)[-1]
        return [Spot(spot.line, name) for spot in self._spots(holder, lines)]


STATUS = Place("response")


def places_of(requirement: Entry, exchange: int = 0) -> list[Place]:
    """Where an exchange shows what was found for a requirement; its findings name the exchanges that show them."""
    found = [each for each in requirement["found"] if not each.exchanges or exchange in (0, *each.exchanges)]
    return list(dict.fromkeys(place for each in found for place in _places(each))) or [STATUS]


def _places(found: Finding) -> Iterator[Place]:
    side, _, what = found.at.partition(" ")
    if found.pointers:
        yield Place("response", pointers=found.pointers, repeated=found.code == "repeated-names")
    elif what:
        yield Place(side, pointers=(what,)) if what.startswith("/") else Place(side, header=what)
    if not found.pointers and side != "response":
        yield STATUS
