"""Rules on every documented field: presence, type, spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spec.answers import find
from spec.exchange import Exchange
from spec.findings import Finding, finding
from spec.interface import Field
from spec.json_text import is_integer, is_number
from spec.message import say
from spec.rules.table import Place, field_rule, member_in, pointer_to, type_of

_IS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


@field_rule("*.present")
def is_present(place: Place, field: Field, exchange: Exchange) -> Finding | None:
    """The {result} has the field {field}."""
    if find(place(exchange), field.name):
        return None
    return finding("missing", pointer_to(place, field.name, exchange), name=field.name)


@field_rule("*.type")
def has_its_type(place: Place, field: Field, exchange: Exchange) -> Finding | None:
    """The field {field} is {type}."""
    value = member_in(place(exchange), field.name)[1]
    if any(_IS[name](value) for name in field.types):
        return None
    types = say("{one} or {other}", one=field.types[0], other=field.types[1]) if field.types[1:] else field.types[0]
    return finding("type", pointer_to(place, field.name, exchange), name=field.name, types=types, type=type_of(value))


@field_rule("*.spelling")
def is_spelled_as_documented(place: Place, field: Field, exchange: Exchange) -> Finding | None:
    """The name of the field {field} is spelled exactly as documented."""
    written = member_in(place(exchange), field.name)[0]
    if written == field.name:
        return None
    return finding("spelling", pointer_to(place, field.name, exchange), name=field.name, written=written)
