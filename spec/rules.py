"""The rules: each a pure function of one exchange that answers for one ledger row.

`judge` is the only way in. Targeted tests, generated traffic and recorded traffic are judged by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from spec.exchange import Exchange, FailureKind, Response
from spec.interface import KEY_KINDS, Field, Operation, operations
from spec.masking import is_fully_hidden, is_fully_visible
from spec.reading import code_of, data_of, envelope_of, find, folded, succeeded
from spec.strict_json import is_integer, is_number


class Outcome(Enum):
    """What one exchange says about one row."""

    HOLDS = "holds"
    DEVIATES = "deviates"
    HIDDEN = "hidden"


@dataclass(frozen=True)
class Judgement:
    """The outcome and why: what came back and what was owed, without values of the service."""

    outcome: Outcome
    message: str = ""


Rule = Callable[[Exchange], Judgement]
HOLDS = Judgement(Outcome.HOLDS)


def deviates(message: str) -> Judgement:
    """The exchange breaks the row."""
    return Judgement(Outcome.DEVIATES, message)


def hidden(message: str) -> Judgement:
    """The exchange cannot show the row, and why."""
    return Judgement(Outcome.HIDDEN, message)


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one row. KeyError where no rule answers for the row."""
    return RULES[requirement_id](exchange)


def kind_of(value: object) -> str:
    """The JSON type of a value as a noun: `an integer`, `a string`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if is_number(value):
        return "an integer" if is_integer(value) else "a number with a fraction"
    return {str: "a string", list: "an array"}.get(type(value), "an object")


# -- success ----------------------------------------------------------------------------------------------------


def _of_success(rule: Callable[[Response], Judgement], operation: str) -> Rule:
    def judged(exchange: Exchange) -> Judgement:
        if exchange.operation != operation:
            return hidden("another operation")
        if not succeeded(exchange) or exchange.response is None:
            return hidden(f"no success to judge: {exchange.summary}")
        return rule(exchange.response)

    return judged


def _of_json(rule: Callable[[Any], Judgement]) -> Callable[[Response], Judgement]:
    def judged(response: Response) -> Judgement:
        text = response.json
        return rule(text.value) if text.readable else hidden(text.limit or f"not JSON: {text.error}")

    return judged


def _of_envelope(rule: Callable[[Mapping[str, Any]], Judgement]) -> Callable[[Response], Judgement]:
    def judged(value: Any) -> Judgement:
        return rule(value) if isinstance(value, dict) else hidden("the answer is no object")

    return _of_json(judged)


def _of_data(rule: Callable[[Mapping[str, Any]], Judgement]) -> Callable[[Response], Judgement]:
    def judged(response: Response) -> Judgement:
        data = data_of(response)
        return rule(data) if data is not None else hidden("the envelope holds no object data")

    return judged


def _status(response: Response) -> Judgement:
    return HOLDS if response.status == 200 else deviates(f"status {response.status}, owed 200")


def _json(response: Response) -> Judgement:
    text = response.json
    if text.limit:
        return hidden(text.limit)
    return deviates(f"not JSON: {text.error}") if text.error else HOLDS


def _media_type(response: Response) -> Judgement:
    if not response.json.readable:
        return hidden("not JSON")
    media_type = response.media_type
    is_json = media_type == "application/json" or media_type.endswith("+json")
    return HOLDS if is_json else deviates("JSON under a Content-Type that does not say so")


def _unique(response: Response) -> Judgement:
    if not response.json.readable:
        return hidden("not JSON")
    repeated = [name for name in response.json.repeated if _is_plain_name(name)]
    return deviates(f"stands twice in one object: {_listed(repeated)}") if response.json.repeated else HOLDS


def _byte_order_mark(response: Response) -> Judgement:
    if not response.json.readable:
        return hidden("not JSON")
    return deviates("the body starts with a byte order mark") if response.json.byte_order_mark else HOLDS


def _object(value: Any) -> Judgement:
    return HOLDS if isinstance(value, dict) else deviates(f"the answer is {kind_of(value)}, owed an object")


def _envelope_shape(value: Any) -> Judgement:
    if not isinstance(value, dict):
        return _object(value)
    if "code" not in value or "data" not in value:
        return deviates("the envelope fields code and data are not both there")
    if not is_integer(value["code"]):
        return deviates(f"code is {kind_of(value['code'])}, owed an integer")
    return HOLDS if isinstance(value["data"], dict) else deviates(f"data is {kind_of(value['data'])}, owed an object")


def _code_example(envelope: Mapping[str, Any]) -> Judgement:
    member = find(envelope, "code")
    if member is None or not is_integer(member[1]):
        return hidden("no integer code")
    return HOLDS if member[1] == 0 else deviates("code is not 0, the one value shown")


# -- members ----------------------------------------------------------------------------------------------------

MemberRule = Callable[[Mapping[str, Any]], Judgement]
_IS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _present(name: str) -> MemberRule:
    def rule(members: Mapping[str, Any]) -> Judgement:
        return HOLDS if find(members, name) else deviates(f"{name} is missing")

    return rule


def _spelling(name: str) -> MemberRule:
    def rule(members: Mapping[str, Any]) -> Judgement:
        member = find(members, name)
        if member is None:
            return hidden(f"{name} is missing")
        return HOLDS if member[0] == name else deviates(f"spelled {member[0]}, owed {name}")

    return rule


def _type(name: str, types: tuple[str, ...]) -> MemberRule:
    owed = " or ".join(types)

    def rule(members: Mapping[str, Any]) -> Judgement:
        member = find(members, name)
        if member is None:
            return hidden(f"{name} is missing")
        fits = any(_IS[kind](member[1]) for kind in types)
        return HOLDS if fits else deviates(f"{name} is {kind_of(member[1])}, owed {owed}")

    return rule


def _value(name: str, type_: type, rule: Callable[[Any], str]) -> MemberRule:
    """A rule on the value of a member that has the right type; `rule` says what is wrong, or nothing."""

    def judged(members: Mapping[str, Any]) -> Judgement:
        member = find(members, name)
        if member is None or not isinstance(member[1], type_):
            return hidden(f"{name} is missing or of another type")
        wrong = rule(member[1])
        return deviates(wrong) if wrong else HOLDS

    return judged


def _result(fields: tuple[Field, ...]) -> MemberRule:
    def rule(data: Mapping[str, Any]) -> Judgement:
        held = any(find(data, field.name) for field in fields)
        return HOLDS if held else deviates("data holds none of the documented fields")

    return rule


def _extra(fields: tuple[Field, ...]) -> Callable[[Response], Judgement]:
    def rule(response: Response) -> Judgement:
        envelope, data = envelope_of(response), data_of(response)
        if envelope is None or data is None:
            return hidden("no envelope with an object data")
        extra = _beyond(envelope, ["code", "data"]) + _beyond(data, [field.name for field in fields])
        return deviates(f"extra: {_listed(extra)}") if extra else HOLDS

    return rule


def _upper_case(fields: tuple[Field, ...]) -> MemberRule:
    def rule(data: Mapping[str, Any]) -> Judgement:
        found = [member[0] for field in fields if (member := find(data, field.name))]
        lower = [name for name in found if not name[:1].isupper()]
        if not found:
            return hidden("no documented field")
        return deviates(f"starts with a lower-case letter: {_listed(lower)}") if lower else HOLDS

    return rule


def _beyond(members: Mapping[str, Any], names: list[str]) -> list[str]:
    known = {folded(name) for name in names}
    return [name for name in members if folded(name) not in known]


def _listed(names: list[str], most: int = 10) -> str:
    """Member names for a message; those of a service may be anything, so only plain ones are shown."""
    plain = [name for name in names if _is_plain_name(name)]
    shown = ", ".join(plain[:most])
    rest = len(names) - len(plain[:most])
    return f"{shown}{' and ' if shown and rest else ''}{f'{rest} more' if rest else ''}" or "unreadable names"


def _is_plain_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z_ .$@-]{0,39}", name) is not None


# -- single fields ----------------------------------------------------------------------------------------------


def _masked(document: str) -> str:
    return "every character of the tax document is visible" if is_fully_visible(document) else ""


def _partly(document: str) -> str:
    return "nothing of the tax document is visible" if is_fully_hidden(document) else ""


def _text(value: str) -> str:
    return "" if value in ("true", "false") else "Success is neither the text true nor the text false"


def _one_of(name: str, values: tuple[str, ...]) -> Callable[[str], str]:
    shown = ", ".join(values)
    return lambda value: "" if value in values else f"{name} is not among {shown}"


def _id_matches(exchange: Exchange) -> Judgement:
    data = data_of(exchange.response) if exchange.response and succeeded(exchange) else None
    if exchange.operation != "executePix" or data is None or not isinstance(data.get("id"), str):
        return hidden("no execution result with an id")
    return HOLDS if data["id"] == exchange.request.last_segment else deviates("id differs from the code that was sent")


def _error_example(data: Mapping[str, Any]) -> Judgement:
    if "error" not in data:
        return hidden("error is missing")
    return HOLDS if data["error"] is None else deviates("error is not null, the one value shown")


def _random_key(exchange: Exchange) -> Judgement:
    data = data_of(exchange.response) if exchange.response and succeeded(exchange) else None
    if data is None or "Key" not in data or b'"RANDOM"' not in exchange.request.body:
        return hidden("no result for a RANDOM key")
    return HOLDS if data["Key"] is None else deviates("Key is not null, the one value shown for a RANDOM key")


# -- robustness -------------------------------------------------------------------------------------------------

_TRACE = re.compile(
    rb"Traceback \(most recent call last\)|^\s+at [\w.$<>]+\([\w.]+:\d+\)|\bat [\w.$]+ in .+:line \d+"
    rb"|Werkzeug Debugger|Whitelabel Error Page|goroutine \d+ \[running\]|Stack trace:\s*#0 "
    rb"|^\s+at .+ \(?[\w/.:\\-]+\.[jt]s:\d+:\d+\)?|panicked at |java\.lang\.\w+(?:Exception|Error)\b"
    rb"|You're seeing this error because you have <code>DEBUG = True|Fatal error: Uncaught",
    re.MULTILINE,
)
_STANDARD_METHODS = {"GET", "POST", "DELETE"}


def _server_error(exchange: Exchange) -> Judgement:
    if exchange.response is None:
        return hidden(f"no answer: {exchange.summary}")
    status = exchange.response.status
    lawful = status < 500 or status in (502, 503, 504)
    if lawful or (status == 501 and exchange.request.method not in _STANDARD_METHODS):
        return HOLDS
    return deviates(f"status {status} for {_sent(exchange)}")


def _stack_trace(exchange: Exchange) -> Judgement:
    if exchange.response is None:
        return hidden(f"no answer: {exchange.summary}")
    shown = _TRACE.search(exchange.response.body)
    return deviates(f"the answer shows a stack trace or a debug page for {_sent(exchange)}") if shown else HOLDS


def _dropped(exchange: Exchange) -> Judgement:
    if exchange.failure and exchange.failure.kind is FailureKind.DROPPED:
        return deviates(f"the connection was dropped without an answer to {_sent(exchange)}")
    return HOLDS if exchange.response else hidden(f"no answer: {exchange.summary}")


def _sent(exchange: Exchange) -> str:
    asked = "a good request" if exchange.good else "a request that may be refused"
    return f"{asked} ({exchange.request.method})"


# -- the table --------------------------------------------------------------------------------------------------


def _described(operation: Operation) -> Iterator[tuple[str, Callable[[Response], Judgement]]]:
    yield "status", _status
    yield "json", _json
    yield "json.mediaType", _media_type
    yield "json.unique", _unique
    yield "json.byteOrderMark", _byte_order_mark
    yield "envelope.object", _of_json(_object)
    for name, types in (("code", ("integer",)), ("data", ("object",))):
        for what, rule in _member_rules(name, types):
            yield f"envelope.{name}.{what}", _of_envelope(rule)
    if operation.result:
        yield from _result_rules(operation)


def _result_rules(operation: Operation) -> Iterator[tuple[str, Callable[[Response], Judgement]]]:
    yield "envelope.code.example", _of_envelope(_code_example)
    yield "envelope.result", _of_data(_result(operation.result))
    yield "fields.extra", _extra(operation.result)
    for field in operation.result:
        for what, rule in _member_rules(field.name, field.types):
            yield f"{field.name}.{what}", _of_data(rule)


def _member_rules(name: str, types: tuple[str, ...]) -> Iterator[tuple[str, MemberRule]]:
    yield "present", _present(name)
    yield "type", _type(name, types)
    yield "spelling", _spelling(name)


_SINGLE: Mapping[str, Callable[[Response], Judgement]] = {
    "executePix.document.masked": _of_data(_value("document", str, _masked)),
    "executePix.document.partly": _of_data(_value("document", str, _partly)),
    "executePix.type.kind": _of_data(_value("type", str, _one_of("type", KEY_KINDS))),
    "executePix.type.example": _of_data(_value("type", str, _one_of("type", ("PHONE",)))),
    "executePix.status.example": _of_data(_value("status", str, _one_of("status", ("DONE",)))),
    "executePix.error.example": _of_data(_error_example),
    "registerPixKey.Success.text": _of_data(_value("Success", str, _text)),
    "registerPixKey.Success.example": _of_data(_value("Success", str, _one_of("Success", ("true",)))),
    "registerPixKey.fields.upperCase": _of_data(_upper_case(operations()["registerPixKey"].result)),
}


def _table() -> Iterator[tuple[str, Rule]]:
    for operation in operations().values():
        rules = _described(operation) if operation.described else _undescribed()
        for what, rule in rules:
            yield f"{operation.id}.{what}", _of_success(rule, operation.id)
        yield f"{operation.id}.serverError", _server_error
        yield f"{operation.id}.stackTrace", _stack_trace
        yield f"{operation.id}.connection", _dropped
    for requirement_id, rule in _SINGLE.items():
        yield requirement_id, _of_success(rule, requirement_id.split(".")[0])
    yield "executePix.id.matches", _id_matches
    yield "registerPixKey.Key.example", _random_key


def _undescribed() -> Iterator[tuple[str, Callable[[Response], Judgement]]]:
    yield "status", _status
    yield "json", _json
    yield "envelope.shape", _of_json(_envelope_shape)


RULES: Mapping[str, Rule] = dict(_table())
