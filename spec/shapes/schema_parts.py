"""What a shape is made of, in the one form and order in which shapes are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Shape = dict[str, Any]
"""A JSON Schema with the keywords below and no others. No type: nothing is known."""
KEYWORDS = ("type", "format", "properties", "required", "additionalProperties", "items", "anyOf")


def alternatives(shape: Shape) -> Iterator[Shape]:
    """The shape as schemas of one type each: those under `anyOf`, and one for each name in a list of types."""
    for schema in shape.get("anyOf", [shape]):
        types = schema.get("type", [])
        yield from ({**schema, "type": name} for name in ([types] if isinstance(types, str) else types))


def kinds(shape: Shape) -> dict[str, Shape]:
    """The schema of each kind of value that was seen, but for null: a type, or a type and a format. An integer is a
    number, as a service may write 1000.00 as 1000."""
    return {_kind(schema): schema for schema in alternatives(shape) if schema["type"] != "null"}


def _kind(schema: Shape) -> str:
    name = schema["type"]
    return "number" if name == "integer" else f"{name} {schema.get('format', '')}".strip()


def ordered(shape: Shape) -> Shape:
    """The same schema, written in the one way: keywords in their order, names and alternatives sorted."""
    return {word: _ordered(word, shape[word]) for word in KEYWORDS if word in shape}


def _ordered(word: str, value: Any) -> Any:
    if word == "properties":
        return {name: ordered(value[name]) for name in sorted(value)}
    if word == "anyOf":
        return sorted(map(ordered, value), key=json.dumps)
    if isinstance(value, list):
        return sorted(value)
    return ordered(value) if isinstance(value, dict) else value


def changed_inside(shape: Shape, change: Callable[[Shape], Shape]) -> Shape:
    """The same schema, with each schema right inside it changed."""
    whole = dict(shape)
    if "properties" in whole:
        whole["properties"] = {name: change(inner) for name, inner in whole["properties"].items()}
    for word in {"additionalProperties", "items"} & whole.keys():
        whole[word] = change(whole[word])
    if "anyOf" in whole:
        whole["anyOf"] = [change(inner) for inner in whole["anyOf"]]
    return whole


def pruned(shape: Shape, depth: int) -> Shape:
    """The same schema, where nothing is known of what lies deeper than so many levels."""
    if depth < 0:
        return {}
    if "anyOf" in shape:  # alternatives lie no deeper
        return changed_inside(shape, lambda inner: pruned(inner, depth))
    return changed_inside(shape, lambda inner: pruned(inner, depth - 1))


def places(shape: Shape) -> int:
    """How many schemas there are, itself and those inside."""
    inner = [*shape.get("properties", {}).values(), *shape.get("anyOf", [])]
    inner += [shape[word] for word in ("additionalProperties", "items") if word in shape]
    return 1 + sum(map(places, inner))
