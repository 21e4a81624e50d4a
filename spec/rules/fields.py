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


@field_rule("""
    executePix.envelope.code.present executePix.envelope.data.present executePix.id.present executePix.date.present
    executePix.bank.present executePix.account.present executePix.digit.present executePix.branch.present
    executePix.accountType.present executePix.document.present executePix.name.present executePix.type.present
    executePix.key.present executePix.value.present executePix.message.present executePix.status.present
    executePix.error.present registerPixKey.envelope.code.present registerPixKey.envelope.data.present
    registerPixKey.Success.present registerPixKey.Message.present registerPixKey.Key.present
    registerPixKey.DocumentNumber.present deletePixKey.envelope.code.present deletePixKey.envelope.data.present
""")
def is_present(place: Place, field: Field, exchange: Exchange) -> Finding | None:
    """The {result} has the field {field}."""
    if find(place(exchange), field.name):
        return None
    return finding("missing", pointer_to(place, field.name, exchange), name=field.name)


@field_rule("""
    executePix.envelope.code.type executePix.envelope.data.type executePix.id.type executePix.date.type
    executePix.bank.type executePix.account.type executePix.digit.type executePix.branch.type
    executePix.accountType.type executePix.document.type executePix.name.type executePix.type.type
    executePix.key.type executePix.value.type executePix.message.type executePix.status.type executePix.error.type
    registerPixKey.envelope.code.type registerPixKey.envelope.data.type registerPixKey.Success.type
    registerPixKey.Message.type registerPixKey.Key.type registerPixKey.DocumentNumber.type
    deletePixKey.envelope.code.type deletePixKey.envelope.data.type
""")
def has_its_type(place: Place, field: Field, exchange: Exchange) -> Finding | None:
    """The field {field} is {type}."""
    value = member_in(place(exchange), field.name)[1]
    if any(_IS[name](value) for name in field.types):
        return None
    types = say("{one} or {other}", one=field.types[0], other=field.types[1]) if field.types[1:] else field.types[0]
    return finding("type", pointer_to(place, field.name, exchange), name=field.name, types=types, type=type_of(value))


@field_rule("""
    executePix.envelope.code.spelling executePix.envelope.data.spelling executePix.id.spelling
    executePix.date.spelling executePix.bank.spelling executePix.account.spelling executePix.digit.spelling
    executePix.branch.spelling executePix.accountType.spelling executePix.document.spelling executePix.name.spelling
    executePix.type.spelling executePix.key.spelling executePix.value.spelling executePix.message.spelling
    executePix.status.spelling executePix.error.spelling registerPixKey.envelope.code.spelling
    registerPixKey.envelope.data.spelling registerPixKey.Success.spelling registerPixKey.Message.spelling
    registerPixKey.Key.spelling registerPixKey.DocumentNumber.spelling deletePixKey.envelope.code.spelling
    deletePixKey.envelope.data.spelling
""")
def is_spelled_as_documented(place: Place, field: Field, exchange: Exchange) -> Finding | None:
    """The name of the field {field} is spelled exactly as documented."""
    written = member_in(place(exchange), field.name)[0]
    if written == field.name:
        return None
    return finding("spelling", pointer_to(place, field.name, exchange), name=field.name, written=written)
