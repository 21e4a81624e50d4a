"""Rules on every successful answer: status, JSON, envelope, and each documented field."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice

from spec.answers import find
from spec.exchange import Exchange, named_media_type
from spec.findings import MOST_POINTERS, Finding, finding
from spec.interface import Field, operations
from spec.json_text import folded, is_integer, is_number, leaves_of, pointer
from spec.message import message_of, say
from spec.requirements import requirements
from spec.rules.table import (
    RULES,
    Holder,
    InconclusiveError,
    data_in,
    envelope_in,
    first_names,
    json_in,
    member_in,
    names_in,
    pointer_to,
    rule,
    success_in,
    type_of,
)


@rule("*.status")
def status(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} has status 200."""
    got = success_in(exchange).status
    return None if got == 200 else finding("status", status=got)


@rule("*.json")
def strict_json(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} is JSON (RFC 8259, UTF-8)."""
    text = success_in(exchange).json
    if text.limit:
        raise InconclusiveError(text.limit)
    return finding("json", "", error=text.error) if text.error else None


@rule("*.json.mediaType")
def media_type(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} has a JSON media type in its Content-Type."""
    json_in(exchange)
    got = success_in(exchange).media_type
    if got == "application/json" or got.endswith("+json"):
        return None
    return finding("media-type", type=named_media_type(got) if got else say("none"))


@rule("*.json.unique")
def unique_names(exchange: Exchange) -> Finding | None:
    """No JSON object in the response to a successful {request} has two members of the same name."""
    json_in(exchange)
    text = success_in(exchange).json
    if not text.repeated:
        return None
    repeated = frozenset(text.repeated)
    paths = (path[: at + 1] for path, _ in leaves_of(text.value) for at in range(len(path)) if path[at] in repeated)
    pointers = dict.fromkeys(pointer(*path) for path in islice(paths, MOST_POINTERS))
    return finding("repeated-names", *pointers, names=first_names(list(text.repeated)))


@rule("*.json.byteOrderMark")
def no_byte_order_mark(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} does not start with a byte order mark."""
    json_in(exchange)
    return finding("byte-order-mark", "") if success_in(exchange).json.byte_order_mark else None


@rule("*.envelope.object")
def one_object(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} is one JSON object, the envelope."""
    value = json_in(exchange)
    return None if isinstance(value, dict) else finding("no-object", "", type=type_of(value))


@rule("*.envelope.shape")
def envelope_shape(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} is the envelope, with an integer code and an object data."""
    if wrong := one_object(exchange):
        return wrong
    wrong_fields = (
        holds(envelope_in, field, exchange)
        for field in operations()["executePix"].envelope  # code and data, as in every envelope
        for holds in (is_present, is_spelled_as_documented, has_its_type)
    )
    return next(filter(None, wrong_fields), None)


@rule("*.envelope.code.example")
def code_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field code in the envelope of the {request} response: 0."""
    code = member_in(envelope_in(exchange), "code")[1]
    if not is_integer(code):
        raise InconclusiveError("no integer code")
    return None if code == 0 else finding("code-not-0", pointer_to(envelope_in, "code", exchange))


@rule("*.envelope.result")
def result_in_data(exchange: Exchange) -> Finding | None:
    """The field data in the envelope of the {request} response is the {result}."""
    return None if names_in(exchange) else finding("no-result", pointer_to(envelope_in, "data", exchange))


@rule("*.fields.extra")
def no_other_fields(exchange: Exchange) -> Finding | None:
    """The {result} and its envelope have only the documented fields."""
    operation = operations()[exchange.operation]
    extra: list[tuple[Holder, str]] = []
    for place, fields in ((data_in, operation.result), (envelope_in, operation.envelope)):
        documented = {folded(field.name) for field in fields}
        extra += [(place, name) for name in place(exchange) if folded(name) not in documented]
    pointers = [pointer_to(place, name, exchange) for place, name in extra[:MOST_POINTERS]]
    return finding("other-fields", *pointers, names=first_names([name for _, name in extra])) if extra else None


# -- documented fields --------------------------------------------------------------------------------------------


FieldRule = Callable[[Holder, Field, Exchange], Finding | None]
_IS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def field_rule(pattern: str) -> Callable[[FieldRule], FieldRule]:
    """Register a rule for documented fields. It is called with the place of a field, the field and the exchange.

    The id gives both: the place is data, or the envelope where the id has `envelope`. KeyError for an unknown field.
    """

    def register(function: FieldRule) -> FieldRule:
        for each in fnmatch.filter(requirements(), pattern):
            operation, *envelope, name, _ = each.split(".")
            documented = operations()[operation].envelope if envelope else operations()[operation].result
            field = {field.name: field for field in documented}[name]
            RULES[each] = partial(function, envelope_in if envelope else data_in, field)
        return function

    return register


@field_rule("*.present")
def is_present(place: Holder, field: Field, exchange: Exchange) -> Finding | None:
    """The {result} has the field {field}."""
    if find(place(exchange), field.name):
        return None
    return finding("missing", pointer_to(place, field.name, exchange), name=field.name)


@field_rule("*.type")
def has_its_type(place: Holder, field: Field, exchange: Exchange) -> Finding | None:
    """The field {field} is {type}."""
    value = member_in(place(exchange), field.name)[1]
    if any(_IS[name](value) for name in field.types):
        return None
    if value is None and (error := success_in(exchange).json.error):  # NaN stands there
        raise InconclusiveError(error)
    names = [message_of(name) for name in field.types]  # translated, like the type that was got
    types = say("{one} or {other}", one=names[0], other=names[1]) if names[1:] else names[0]
    return finding("type", pointer_to(place, field.name, exchange), name=field.name, types=types, type=type_of(value))


@field_rule("*.spelling")
def is_spelled_as_documented(place: Holder, field: Field, exchange: Exchange) -> Finding | None:
    """The name of the field {field} is spelled exactly as documented."""
    written = member_in(place(exchange), field.name)[0]
    if written == field.name:
        return None
    return finding("spelling", pointer_to(place, field.name, exchange), name=field.name, written=written)
