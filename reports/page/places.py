"""Where in an exchange a deviation shows: its status line, a header, a member of a body.

The id of a requirement says it: `executePix.digit.type` is about the member digit of the execution result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from reports.page.json_lines import Line
from spec.exchange import Response
from spec.interface import Field, operations
from spec.json_text import folded
from spec.rules.stack_traces import shows_a_trace


class Spot(NamedTuple):
    """The line of a body that shows a deviation; `missing` names a member that the object which starts there lacks."""

    line: int
    missing: str = ""


Select = Callable[[list[Line]], Iterable[Spot]]


class Place(NamedTuple):
    """A place in the request or the response: a header, spots of a body, or else the first line."""

    side: str
    header: str = ""
    body: Select | None = None

    def lacks(self, headers: Collection[str]) -> bool:
        """Whether the place is a header that a response lacks. `headers` are names in lower case."""
        return self.side == "response" and bool(self.header) and self.header.lower() not in headers


def places_of(requirement_id: str) -> tuple[Place, ...]:
    """Where an exchange that deviates from a requirement shows it."""
    operation, _, what = requirement_id.partition(".")
    if path := _path(operation, what):
        return (_in_response(partial(member, path)),)
    if what == "fields.extra":
        return (_in_response(partial(undocumented, operation)),)
    return _PLACES.get(what) or _PLACES.get(what.partition(".")[0]) or (_STATUS,)


def _path(operation: str, what: str) -> tuple[str, ...]:
    """The names that lead to the documented field that a requirement is about; none where it is about no field."""
    *envelope, name = what.split(".")[:-1] or [""]
    known = operations().get(operation)
    if known is None:
        return ()
    if envelope == ["envelope"] and name in _names(known.envelope):
        return (name,)
    return ("data", name) if not envelope and name in _names(known.result) else ()


def _names(fields: Iterable[Field]) -> set[str]:
    return {field.name for field in fields}


# -- spots of a body ----------------------------------------------------------------------------------------------


def member(path: tuple[str, ...], lines: list[Line]) -> Iterator[Spot]:
    """The member at a path, misspelled or not; else the object that lacks it. Of repeated names the last one counts."""
    at = 0
    for name in path:
        found = _find(lines, at, name)
        if found is None:
            yield Spot(at, name)
            return
        at = found
    yield Spot(at)


def repeated(lines: list[Line]) -> Iterator[Spot]:
    """Every member whose name another member of its object has, too."""
    for at, line in enumerate(lines):
        inside = _members(lines, at) if line.value == "{" else []
        times = Counter(lines[each].path for each in inside)
        yield from (Spot(each) for each in inside if times[lines[each].path] > 1)


def undocumented(operation: str, lines: list[Line]) -> Iterator[Spot]:
    """The members of the envelope and of its data that the interface document does not show."""
    known = operations()[operation]
    data = _find(lines, 0, "data")
    for at, fields in ((0, known.envelope), (data, known.result)):
        documented = {folded(field.name) for field in fields}
        inside = _members(lines, at) if at is not None else []
        yield from (Spot(each) for each in inside if _folded(lines[each]) not in documented)


def in_lower_case(lines: list[Line]) -> Iterator[Spot]:
    """The documented members of a key registration result whose names start with a lower-case letter."""
    data, documented = _find(lines, 0, "data"), _names(operations()["registerPixKey"].result)
    for each in _members(lines, data) if data is not None else []:
        if _folded(lines[each]) in map(folded, documented) and not str(lines[each].path[-1])[:1].isupper():
            yield Spot(each)


def not_the_envelope(lines: list[Line]) -> Iterator[Spot]:
    """What keeps a body from being the envelope, with an integer code and an object data."""
    for name, starts in (("code", "-0123456789"), ("data", "{")):
        at = _find(lines, 0, name)
        if at is None:
            yield Spot(0, name)
        elif lines[at].path[-1] != name or lines[at].value[0] not in starts or _is_fraction(lines[at].value):
            yield Spot(at)


def traces(lines: list[Line]) -> Iterator[Spot]:
    """The values that show a stack trace or a debug page."""
    for at, line in enumerate(lines):
        if line.value[0] == '"' and shows_a_trace(Response(200, (), line.value.encode("utf-8", "replace"))):
            yield Spot(at)


def start(lines: list[Line]) -> Iterator[Spot]:
    """The first line."""
    yield Spot(0)


def _is_fraction(value: str) -> bool:
    whole, point, fraction = value.partition(".")
    return whole.lstrip("-").isdigit() and bool(point) and bool(fraction.strip("0"))


def _find(lines: list[Line], holder: int, name: str) -> int | None:
    """The last member of an object with that name, else the first one with a misspelling of it."""
    inside = _members(lines, holder)
    exact = [each for each in inside if lines[each].path[-1] == name]
    alike = [each for each in inside if _folded(lines[each]) == folded(name)]
    return exact[-1] if exact else alike[0] if alike else None


def _members(lines: list[Line], holder: int) -> list[int]:
    """The lines of the members of an object that starts in a line; none where that is no object."""
    found: list[int] = []
    depth = lines[holder].depth
    for at in range(holder + 1, len(lines) if lines[holder].value == "{" else 0):
        if lines[at].depth <= depth:
            break
        if lines[at].depth == depth + 1 and not lines[at].closes:
            found.append(at)
    return found


def _folded(line: Line) -> str:
    return folded(str(line.path[-1]))


# -- the places ----------------------------------------------------------------------------------------------------


def _in_response(select: Select) -> Place:
    return Place("response", body=select)


_STATUS = Place("response")
_SENT_TYPE = Place("request", body=partial(member, ("pixKeyType",)))
_PLACES: dict[str, tuple[Place, ...]] = {
    "json": (_in_response(start),),
    "json.mediaType": (Place("response", header="Content-Type"),),
    "json.unique": (_in_response(repeated),),
    "envelope.object": (_in_response(start),),
    "envelope.shape": (_in_response(not_the_envelope),),
    "envelope.result": (_in_response(partial(member, ("data",))),),
    "fields.upperCase": (_in_response(in_lower_case),),
    "stackTrace": (_in_response(traces),),
    "token": (Place("request", header="Authorization"), _STATUS),
    "contentType": (Place("request", header="Content-Type"), _STATUS),
    "pixKeyType": (_SENT_TYPE, _STATUS),
}
"""Places by what a requirement is about: the id without its operation, or the first word of that. All others show in
the status line, or in the line that says why there is no response."""
