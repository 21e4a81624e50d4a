"""Rules on a successful answer as a whole: status, JSON, envelope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spec.answers import envelope_of, find
from spec.exchange import Exchange, named_media_type
from spec.interface import operations
from spec.json_text import folded, is_integer
from spec.rules.table import (
    Contrast,
    InconclusiveError,
    data_in,
    envelope_in,
    first_names,
    joined,
    json_in,
    member_in,
    missing,
    rule,
    success_in,
    type_of,
)


@rule("""
    executePix.status registerPixKey.status deletePixKey.status listPixKeys.status listAccounts.status
    getBalance.status listEntries.status createPix.status transferExternal.status transferInternal.status
    transferP2p.status
""")
def status(exchange: Exchange) -> str:
    """The response to a successful {request} has status 200."""
    got = success_in(exchange).status
    return "" if got == 200 else Contrast("status 200", got)


@rule("""
    executePix.json registerPixKey.json deletePixKey.json listPixKeys.json listAccounts.json getBalance.json
    listEntries.json createPix.json transferExternal.json transferInternal.json transferP2p.json
""")
def strict_json(exchange: Exchange) -> str:
    """The response to a successful {request} is JSON (RFC 8259, UTF-8)."""
    text = success_in(exchange).json
    if text.limit:
        raise InconclusiveError(text.limit)
    return text.error and Contrast("JSON", text.error, f"not JSON: {text.error}")


@rule("executePix.json.mediaType registerPixKey.json.mediaType deletePixKey.json.mediaType")
def media_type(exchange: Exchange) -> str:
    """The response to a successful {request} has a JSON media type in its Content-Type."""
    json_in(exchange)
    got = success_in(exchange).media_type
    if got == "application/json" or got.endswith("+json"):
        return ""
    return Contrast("a JSON media type", named_media_type(got) if got else "none")


@rule("executePix.json.unique registerPixKey.json.unique deletePixKey.json.unique")
def unique_names(exchange: Exchange) -> str:
    """No JSON object in the response to a successful {request} has two members of the same name."""
    json_in(exchange)
    repeated = list(success_in(exchange).json.repeated)
    return Contrast("each name once in an object", f"twice: {first_names(repeated)}") if repeated else ""


@rule("executePix.json.byteOrderMark registerPixKey.json.byteOrderMark deletePixKey.json.byteOrderMark")
def no_byte_order_mark(exchange: Exchange) -> str:
    """The response to a successful {request} does not start with a byte order mark."""
    json_in(exchange)
    return Contrast("no byte order mark", "one") if success_in(exchange).json.byte_order_mark else ""


@rule("executePix.envelope.object registerPixKey.envelope.object deletePixKey.envelope.object")
def one_object(exchange: Exchange) -> str:
    """The response to a successful {request} is one JSON object, the envelope."""
    value = json_in(exchange)
    return "" if isinstance(value, dict) else Contrast("an object", type_of(value))


@rule("""
    listPixKeys.envelope.shape listAccounts.envelope.shape getBalance.envelope.shape listEntries.envelope.shape
    createPix.envelope.shape transferExternal.envelope.shape transferInternal.envelope.shape
    transferP2p.envelope.shape
""")
def envelope_shape(exchange: Exchange) -> str:
    """The response to a successful {request} is the envelope, with an integer code and an object data."""
    if wrong := one_object(exchange):
        return wrong
    envelope = envelope_in(exchange)
    if misplaced := list(_misplaced(envelope)):
        return joined(misplaced)
    code, data = envelope["code"], envelope["data"]
    if not is_integer(code):
        return Contrast("code of type integer", type_of(code))
    return "" if isinstance(data, dict) else Contrast("data of type object", type_of(data))


def _misplaced(envelope: Mapping[str, Any]) -> Iterator[str]:
    for name in ("code", "data"):
        member = find(envelope, name)
        if member is None:
            yield missing(name)
        elif member[0] != name:
            yield Contrast(f"the name {name}", member[0])


@rule("executePix.envelope.code.example registerPixKey.envelope.code.example")
def code_of_the_example(exchange: Exchange) -> str:
    """The interface document shows one value for the field code in the envelope of the {request} response: 0."""
    code = member_in(envelope_in(exchange), "code")[1]
    if not is_integer(code):
        raise InconclusiveError("no integer code")
    return "" if code == 0 else Contrast("code 0", "another integer")


@rule("executePix.envelope.result registerPixKey.envelope.result")
def result_in_data(exchange: Exchange) -> str:
    """The field data in the envelope of the {request} response is the {result}."""
    data, fields = data_in(exchange), operations()[exchange.operation].result
    held = any(find(data, field.name) for field in fields)
    return "" if held else Contrast("the documented fields in data", "none of them")


@rule("executePix.fields.extra registerPixKey.fields.extra")
def no_other_fields(exchange: Exchange) -> str:
    """The {result} and its envelope have only the documented fields."""
    data, operation = data_in(exchange), operations()[exchange.operation]
    envelope = envelope_of(success_in(exchange)) or {}
    extra = [
        name
        for members, fields in ((envelope, operation.envelope), (data, operation.result))
        for name in members
        if folded(name) not in {folded(field.name) for field in fields}
    ]
    return Contrast("no other fields", first_names(extra)) if extra else ""
