"""A new shape in place of an old one, which stays where the new one says nothing and contradicts nothing."""

from __future__ import annotations

from spec.shapes.contradictions import ANY, differences
from spec.shapes.inference import merged
from spec.shapes.schema_parts import Shape, alternatives, kinds

_MEMBERS = ("properties", "required", ANY)


def filled(now: Shape, was: Shape) -> Shape:
    """The new shape; from the old one what lies in an array without items, in an object without members, and in a
    place that is only ever null."""
    if not kinds(now):
        return merged([was, now])
    before = kinds(was)
    return merged(
        _filled(one, before[kind]) if kind in before else one
        for one in alternatives(now)
        for kind in [next(iter(kinds(one)), "")]
    )


def _filled(now: Shape, was: Shape) -> Shape:
    """The same for two schemas of one type."""
    if now["type"] == "array" and "items" in was:
        return {**now, "items": filled(now.get("items", {}), was["items"])}
    if now["type"] != "object":
        return now
    if not any(now.get(word) for word in _MEMBERS):
        return now if differences(was, now) else was
    known, whole = was.get("properties", {}), dict(now)
    if "properties" in now:
        members = now["properties"].items()
        whole["properties"] = {name: filled(one, known[name]) if name in known else one for name, one in members}
    if ANY in now and ANY in was:
        whole[ANY] = filled(now[ANY], was[ANY])
    return whole
