"""Redaction of a JSON value as Python has it."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from reports.redaction import masks
from reports.redaction.engine import Engine

_DEEPEST = 100
_MOST_BITS = 10_000


def redact_tree(value: object, engine: Engine, personal: bool = False, depth: int = 0) -> object:
    """The value in the same shape; `personal` hides every leaf. Deeper than 100 levels, a note stands for it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict | list | tuple):
        if depth >= _DEEPEST:
            return f"… (nested deeper than {_DEEPEST} levels)"
        return _container(value, engine, personal, depth + 1)
    if isinstance(value, int | float | Decimal):
        return _number(value, engine, personal)
    text = value if isinstance(value, str) else _written(value)
    return masks.printable(engine.mask(text) if personal else engine.whole(text))


def _container(
    value: dict[Any, Any] | list[Any] | tuple[Any, ...], engine: Engine, personal: bool, depth: int
) -> object:
    if not isinstance(value, dict):
        return [redact_tree(item, engine, personal, depth) for item in value]
    members: dict[str, object] = {}
    for key, item in value.items():
        name = key if isinstance(key, str) else _written(key)
        shown = unique = masks.printable(engine.redact(name))
        while unique in members:
            unique = f"{shown} ({len(members) + 1})"
        members[unique] = redact_tree(item, engine, personal or engine.knowledge.is_personal(name), depth)
    return members


def _number(value: int | float | Decimal, engine: Engine, personal: bool) -> object:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"… (an integer of {value.bit_length()} bits)"
    written = _written(value)
    shown = engine.number(written, personal) if masks.is_number(written) else written
    if shown == written:
        return value
    kind = next(kind for kind in (int, float, Decimal) if isinstance(value, kind))
    hidden = kind(shown)
    return hidden if math.isfinite(hidden) else 9.9


def _written(value: object) -> str:
    try:
        return str(value)
    except Exception:  # whatever a foreign __str__ raises, the report goes on
        return f"<{type(value).__name__}>"
