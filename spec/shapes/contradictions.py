"""Where two shapes contradict each other. What varies on one side contradicts nothing, and neither does what is not
known: a place that is only ever null, the items of an empty array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spec.shapes.schema_parts import Shape, kinds
from spec.shapes.shape_text import ABSENT, text_of

_LONGEST = 120
ITEM, ANY_MEMBER = "*", "{any name}"
ANY = "additionalProperties"


class Difference(NamedTuple):
    """A place, as a JSON pointer in which `*` is any item, and what was and is there. Both texts are short."""

    place: str
    was: str
    now: str


def differences(was: Shape, now: Shape, place: str = "") -> list[Difference]:
    """The places where the values of two shapes have nothing in common, from the outside in."""
    return list(_differences(was, now, place))


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
    before, after = was.get("properties", {}), now.get("properties", {})
    for name in sorted({*before.keys() & after.keys(), *was.get("required", []), *now.get("required", [])}):
        old, new = _member(was, name), _member(now, name)
        if old is None or new is None:
            yield Difference(f"{place}/{name}", _short(old), _short(new))
        else:
            yield from _differences(old, new, f"{place}/{name}")
    if ANY in was and ANY in now:
        yield from _differences(was[ANY], now[ANY], f"{place}/{ANY_MEMBER}")


def _member(shape: Shape, name: str) -> Shape | None:
    """What is known of a member; it may be one of any name."""
    found: Shape | None = shape.get("properties", {}).get(name, shape.get(ANY))
    return found
