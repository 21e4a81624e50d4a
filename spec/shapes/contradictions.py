"""Where two shapes contradict each other. What varies on one side contradicts nothing, and neither does what is not
known: a place that is only ever null, the items of an empty array, a link to a page that is not there.

A name of a member is part of the shape, and members of any name are others: no name is both. So an object that has
fixed names contradicts one that is keyed by data, whatever the values are. One name may be data itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from spec.shapes.schema_parts import Shape, kinds
from spec.shapes.shape_text import ABSENT, text_of

_LONGEST = 120
ITEM, ANY_MEMBER = "*", "{any name}"
ANY = "additionalProperties"
_OF_PAGING = re.compile(
    r"(?:next|prev|previous|proxim[ao]|anterior)(?P<what>(?:[_-]?(?:page|cursor|token|link|url|pagina)){0,2})", re.I
)
"""Members that come and go with the length of a list, and not with the service, where they hold a link or a page."""


class Difference(NamedTuple):
    """A place, as a JSON pointer in which `*` is any item, and what was and is there. Both texts are short."""

    place: str
    was: str
    now: str


def differences(was: Shape, now: Shape) -> list[Difference]:
    """The places where the values of two shapes have nothing in common, from the outside in."""
    return list(_differences(was, now, ""))


def _differences(was: Shape, now: Shape, place: str) -> Iterator[Difference]:
    before, after = kinds(was), kinds(now)
    if not before or not after:
        return
    if not before.keys() & after.keys() and not _is_mixed_text(before, after):
        yield Difference(place, _short(was), _short(now))
    if "object" in before and "object" in after:
        yield from _of_members(before["object"], after["object"], place)
    if "array" in before and "array" in after:
        yield from _differences(before["array"].get("items", {}), after["array"].get("items", {}), f"{place}/{ITEM}")


def _short(shape: Shape | None) -> str:
    return ABSENT if shape is None else text_of(shape, _LONGEST)


def _is_mixed_text(before: dict[str, Shape], after: dict[str, Shape]) -> bool:
    """Whether one side has texts of several formats: then others are nothing new."""
    texts = [[kind for kind in side if kind.startswith("string")] for side in (before, after)]
    return all(texts) and any(len(side) > 1 for side in texts)


def _of_members(was: Shape, now: Shape, place: str) -> Iterator[Difference]:
    if (_is_fixed(was) and _is_keyed(now)) or (_is_keyed(was) and _is_fixed(now)):
        yield Difference(place, _short(was), _short(now))
        return
    before, after = was.get("properties", {}), now.get("properties", {})
    for name in sorted({*before.keys() & after.keys(), *was.get("required", []), *now.get("required", [])}):
        old, new = _member(was, name, now), _member(now, name, was)
        if old is not None and new is not None:
            yield from _differences(old, new, f"{place}/{name}")
        elif not _is_of_paging(name, old or new or {}):
            yield Difference(f"{place}/{name}", _short(old), _short(new))
    if ANY in was and ANY in now:
        yield from _differences(was[ANY], now[ANY], f"{place}/{ANY_MEMBER}")


def _is_of_paging(name: str, member: Shape) -> bool:
    """Whether a member links to a page: a text, an object, or a number under a name that says so."""
    found = _OF_PAGING.fullmatch(name)
    links = {"string", "object", *(["number"] if found and found["what"] else [])}
    return bool(found) and {kind.partition(" ")[0] for kind in kinds(member)} <= links


def _is_fixed(shape: Shape) -> bool:
    """Whether the names of an object are surely no data: several are always there, or their values differ."""
    required, members = shape.get("required", []), [*shape.get("properties", {}).values()]
    if ANY in shape or not required:
        return False
    return len(required) > 1 or any(differences(members[0], other) for other in members)


def _is_keyed(shape: Shape) -> bool:
    """Whether an object has members of any name and no others."""
    return ANY in shape and not shape.get("properties")


def _member(shape: Shape, name: str, other: Shape) -> Shape | None:
    """What is known of a member that the other shape has. Where the names vary, it may be one of them."""
    found: Shape | None = shape.get("properties", {}).get(name)
    if found is None and _is_keyed(shape) and ANY not in other:
        found = shape[ANY]
    return _of_varying_names(shape) if found is None else found


def _of_varying_names(shape: Shape) -> Shape | None:
    """What each member of an object is where their names vary: none is always there, and their values are alike. Such
    words may be data, as in an object keyed by the category of an entry."""
    members = [*shape.get("properties", {}).values(), *([shape[ANY]] if ANY in shape else [])]
    if shape.get("required") or not shape.get("properties") or len(members) < 2:
        return None
    return None if any(differences(members[0], other) for other in members) else members[0]
