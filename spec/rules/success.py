"""Rules on every successful answer: status, JSON, envelope, and each documented field.

The docstring of a rule is its requirement. Source: interface document, What the service does; Resources and their
fields; Endpoints, general rule 3.

Self-tests: spec/test_rules.py.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice

from spec.answers import member_named
from spec.exchange import Exchange, media_type_for_report
from spec.findings import MOST_POINTERS, Finding, finding
from spec.interface import Field, operations
from spec.json_text import JsonPath, folded, is_integer, is_number, leaves_of, pointer
from spec.message import message_of, say
from spec.requirements import requirements
from spec.rules.table import (
    RULES,
    InconclusiveError,
    ObjectReader,
    data_in,
    documented_names_in,
    envelope_in,
    json_in,
    member_in,
    names_for_message,
    pointer_to,
    rule,
    successful_response,
    type_in_words,
)

_WHOLE_BODY = ""
"""JSON pointer to the whole body of an answer."""


@rule("*.status")
def status(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} has status 200."""
    status_in_answer = successful_response(exchange).status
    return None if status_in_answer == 200 else finding("status", status=status_in_answer)


@rule("*.json")
def strict_json(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} is JSON (RFC 8259, UTF-8)."""
    text = successful_response(exchange).json
    if text.why_not_read:  # the body is too large for the suite, which is no fault of the service
        raise InconclusiveError(text.why_not_read)
    return finding("json", _WHOLE_BODY, error=text.error) if text.error else None


@rule("*.json.mediaType")
def media_type(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} has a JSON media type in its Content-Type."""
    json_in(exchange)  # raises InconclusiveError if the body is no JSON: then another rule reports it
    type_in_answer = successful_response(exchange).media_type
    if type_in_answer == "application/json" or type_in_answer.endswith("+json"):
        return None
    if type_in_answer == "":
        return finding("media-type", type=say("none"))
    return finding("media-type", type=media_type_for_report(type_in_answer))


@rule("*.json.unique")
def unique_names(exchange: Exchange) -> Finding | None:
    """No JSON object in the response to a successful {request} has two members of the same name."""
    json_in(exchange)  # raises InconclusiveError if the body is no JSON: then another rule reports it
    text = successful_response(exchange).json
    if not text.repeated:
        return None
    paths = _paths_to_members(frozenset(text.repeated), text.value)
    first_paths = islice(paths, MOST_POINTERS)  # a body may have thousands, and no reader looks at all of them
    pointers = dict.fromkeys(pointer(*path) for path in first_paths)  # without repeats
    return finding("repeated-names", *pointers, names=names_for_message(list(text.repeated)))


def _paths_to_members(names: frozenset[str], value: object) -> Iterator[JsonPath]:
    """Paths to the members with these names in a JSON value, such as ("data", "keys", 0, "id").

    A path may be yielded several times: once for each value inside the member that holds no other value.
    """
    for path, _ in leaves_of(value):
        for index, part in enumerate(path):
            if part in names:
                yield path[: index + 1]  # the path up to the member itself


@rule("*.json.byteOrderMark")
def no_byte_order_mark(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} does not start with a byte order mark."""
    json_in(exchange)  # raises InconclusiveError if the body is no JSON: then another rule reports it
    begins_with_mark = successful_response(exchange).json.byte_order_mark
    return finding("byte-order-mark", _WHOLE_BODY) if begins_with_mark else None


@rule("*.envelope.object")
def one_object(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} is one JSON object, the envelope."""
    value = json_in(exchange)
    return None if isinstance(value, dict) else finding("no-object", _WHOLE_BODY, type=type_in_words(value))


@rule("*.envelope.shape")
def envelope_shape(exchange: Exchange) -> Finding | None:
    """The response to a successful {request} is the envelope, with an integer code and an object data."""
    deviation = one_object(exchange)
    if deviation:
        return deviation
    for field in operations()["executePix"].envelope:  # code and data, as in every envelope
        for judge_field in (is_present, is_spelled_as_documented, has_its_type):
            deviation = judge_field(envelope_in, field, exchange)
            if deviation:
                return deviation
    return None


@rule("*.envelope.code.example")
def code_of_the_example(exchange: Exchange) -> Finding | None:
    """The interface document shows one value for the field code in the envelope of the {request} response: 0."""
    _, code = member_in(envelope_in(exchange), "code")
    if not is_integer(code):
        raise InconclusiveError("no integer code")
    return None if code == 0 else finding("code-not-0", pointer_to(envelope_in, "code", exchange))


@rule("*.envelope.result")
def result_in_data(exchange: Exchange) -> Finding | None:
    """The field data in the envelope of the {request} response is the {result}."""
    # One documented field in `data` is enough: other rules report fields that are missing.
    if documented_names_in(exchange):
        return None
    return finding("no-result", pointer_to(envelope_in, "data", exchange))


@rule("*.fields.extra")
def no_other_fields(exchange: Exchange) -> Finding | None:
    """The {result} and its envelope have only the documented fields."""
    operation = operations()[exchange.operation]
    other_fields: list[tuple[ObjectReader, str]] = []
    for read_object, fields in ((data_in, operation.result), (envelope_in, operation.envelope)):
        # Names are compared without letter case and separators, because another rule reports a misspelled field.
        documented = {folded(field.name) for field in fields}
        for name in read_object(exchange):
            if folded(name) not in documented:
                other_fields.append((read_object, name))
    if not other_fields:
        return None
    names = [name for _, name in other_fields]
    pointers = [pointer_to(read_object, name, exchange) for read_object, name in other_fields[:MOST_POINTERS]]
    return finding("other-fields", *pointers, names=names_for_message(names))


# -- documented fields --------------------------------------------------------------------------------------------


FieldRule = Callable[[ObjectReader, Field, Exchange], Finding | None]
"""A rule for one documented field: it gets the function that reads the object with the field, the field, and the
exchange."""
_HAS_TYPE: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
"""For each type, by its name in JSON Schema, a function that returns True if a value has this type."""


def field_rule(pattern: str) -> Callable[[FieldRule], FieldRule]:
    """Decorator that registers a function as the rule of all requirements on one property of documented fields.

    `pattern` is a pattern of requirement ids, such as `*.type`. The id says which field is meant:
    `executePix.envelope.code.type` is about the field `code` of the envelope, `executePix.bank.type` about the field
    `bank` of data. Raises KeyError if the operation has no such field.
    """

    def register(function: FieldRule) -> FieldRule:
        """Put the function into RULES for each id that fits the pattern, with its first two arguments filled in."""
        for requirement_id in fnmatch.filter(requirements(), pattern):
            operation_id, *middle_parts, field_name, _ = requirement_id.split(".")  # executePix.envelope.code.type
            operation = operations()[operation_id]
            is_in_envelope = bool(middle_parts)  # ["envelope"], or nothing for a field of data
            read_object = envelope_in if is_in_envelope else data_in
            documented = operation.envelope if is_in_envelope else operation.result
            fields_by_name = {field.name: field for field in documented}
            # The exchange is the only argument that is left, as in every rule.
            RULES[requirement_id] = partial(function, read_object, fields_by_name[field_name])
        return function

    return register


@field_rule("*.present")
def is_present(read_object: ObjectReader, field: Field, exchange: Exchange) -> Finding | None:
    """The {result} has the field {field}."""
    # `read_object` returns the object of the answer that has the field: the envelope, or `data` in it.
    if member_named(read_object(exchange), field.name):
        return None
    return finding("missing", pointer_to(read_object, field.name, exchange), name=field.name)


@field_rule("*.type")
def has_its_type(read_object: ObjectReader, field: Field, exchange: Exchange) -> Finding | None:
    """The field {field} is {type}."""
    # `read_object` returns the object of the answer that has the field: the envelope, or `data` in it.
    _, value = member_in(read_object(exchange), field.name)
    has_documented_type = any(_HAS_TYPE[name](value) for name in field.types)
    if has_documented_type:
        return None
    json_error = successful_response(exchange).json.error
    if value is None and json_error:  # the answer has NaN or Infinity there, which is read as null
        raise InconclusiveError(json_error)
    # A report is translated, so the names of types are messages, too. A documented field has one type or two.
    names = [message_of(name) for name in field.types]
    types = names[0]
    if len(names) > 1:
        types = say("{one} or {other}", one=names[0], other=names[1])
    pointer_to_field = pointer_to(read_object, field.name, exchange)
    return finding("type", pointer_to_field, name=field.name, types=types, type=type_in_words(value))


@field_rule("*.spelling")
def is_spelled_as_documented(read_object: ObjectReader, field: Field, exchange: Exchange) -> Finding | None:
    """The name of the field {field} is spelled exactly as documented."""
    # `read_object` returns the object of the answer that has the field: the envelope, or `data` in it.
    name_in_answer, _ = member_in(read_object(exchange), field.name)
    if name_in_answer == field.name:
        return None
    return finding("spelling", pointer_to(read_object, field.name, exchange), name=field.name, written=name_in_answer)
