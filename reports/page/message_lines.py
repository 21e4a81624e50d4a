"""A request or a response as lines of HTML, each with the requirements that it deviates from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from reports.page.json_lines import Line, in_lines
from reports.page.places import Place, places_of
from reports.verdicts import Entry

_MARKED = 300
"""Characters that a mark takes, and what is said of it elsewhere."""


class Mark(NamedTuple):
    """What a line deviates from; `missing` names what it lacks."""

    requirement: Entry
    missing: str = ""


class Piece(NamedTuple):
    """Lines as HTML. One that is marked is a line of its own, without its indentation."""

    html: Markup
    marks: tuple[Mark, ...] = ()
    indent: str = ""


Marks = list[tuple[Place, Entry]]
"""Places in a request or a response, each with what deviates there."""


class Side(NamedTuple):
    """A request or a response: its first line and its headers; its body."""

    head: list[Piece]
    body: list[Piece]

    @property
    def size(self) -> int:
        """About how many characters it takes."""
        return sum(len(piece.html) + _MARKED * len(piece.marks) for piece in (*self.head, *self.body))


def marks_of(deviating: Iterable[Entry], side: str, exchange: int = 0) -> Marks:
    """The marks of a request or a response."""
    return [(place, one) for one in deviating for place in places_of(one, exchange) if place.side == side]


def message(first: str, content: Mapping[str, Any], marks: Marks) -> Side:
    """A request or a response of evidence. A response is marked in its first line where it lacks a header or a body."""
    headers = content["headers"]
    named = {name.lower() for name, _ in headers}
    text = content["body"]
    in_first = [Mark(one) for place, one in marks if not place.header and not (place.pointers and text)]
    in_first += [Mark(one, place.header) for place, one in marks if place.lacks(named)]
    lines = [Piece(_text(first), tuple(in_first)), *(_header(name, value, marks) for name, value in headers)]
    return Side(_joined(lines), _body(text, marks) if text else [])


def _header(name: str, value: str, marks: Marks) -> Piece:
    here = tuple(Mark(one) for place, one in marks if place.header.lower() == name.lower())
    return Piece(Markup(f"<b>{_escaped(name)}:</b> {_escaped(value)}"), here)


def _body(text: str, marks: Marks) -> list[Piece]:
    """The body: JSON in lines, any other text as it is."""
    selections = [(place, one) for place, one in marks if place.pointers]
    if (found := in_lines(text)) is None:
        first, _, others = text.partition("\n")
        here = tuple(Mark(one) for _, one in selections)
        return _joined([Piece(_text(first), here), *[Piece(_text(others))] * bool(others)])
    marked = _by_line(found.lines, selections)
    lines = [Piece(_html(line), marked.get(at, ()), "  " * line.depth) for at, line in enumerate(found.lines)]
    if found.mark:
        lines[0] = lines[0]._replace(html=Markup(f"<u>{found.mark}</u>") + lines[0].html)
    return _joined([*lines, *[Piece(_text(found.rest))] * bool(found.rest)])


def _by_line(lines: list[Line], selections: Marks) -> dict[int, tuple[Mark, ...]]:
    """What each line deviates from. What no line shows is said of the first one."""
    found: dict[int, tuple[Mark, ...]] = {}
    for place, one in selections:
        for spot in place.spots(lines):
            found[spot.line] = (*found.get(spot.line, ()), Mark(one, spot.missing))
    return found


def _joined(lines: Iterable[Piece]) -> list[Piece]:
    """Neighbouring lines without a mark as one piece."""
    pieces: list[Piece] = []
    for is_marked, group in groupby(lines, key=lambda line: bool(line.marks)):
        found = list(group)
        pieces += found if is_marked else [Piece(Markup("\n".join(f"{line.indent}{line.html}" for line in found)))]
    return pieces


def _html(line: Line) -> Markup:
    name = f"<b>{_escaped(line.name)}</b>: " if line.name else ""
    return Markup(name + _value(line.value) + line.tail)


def _value(value: str) -> str:
    if value[0] in "{}[]":
        return value
    tag = "i" if value[0] == '"' else "em"
    return f"<{tag}>{_escaped(value)}</{tag}>"


def _text(text: str) -> Markup:
    return Markup(_escaped(text))


def _escaped(text: str) -> str:
    """Text outside attributes: quotes stay, which JSON is full of."""
    return escape(text, quote=False)
