"""Rules on the members of an object: presence, type, spelling, values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spec.answers import data_of, envelope_of, find, is_judged_as_success
from spec.exchange import Exchange, Response
from spec.interface import Field
from spec.json_text import folded, is_integer, is_number
from spec.rules.judgement import HOLDS, Judgement, deviates, inconclusive, kind_of
from spec.rules.names import listed
from spec.rules.tax_document import is_fully_hidden, is_fully_visible

_BOOLEANS = ("true", "false")
MemberRule = Callable[[Mapping[str, Any]], Judgement]
_IS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def present(name: str) -> MemberRule:
    def rule(members: Mapping[str, Any]) -> Judgement:
        return HOLDS if find(members, name) else deviates(f"{name} is missing")

    return rule


def spelling(name: str) -> MemberRule:
    def rule(members: Mapping[str, Any]) -> Judgement:
        member = find(members, name)
        if member is None:
            return inconclusive(f"{name} is missing")
        return HOLDS if member[0] == name else deviates(f"spelled {member[0]}, expected {name}")

    return rule


def typed(name: str, types: tuple[str, ...]) -> MemberRule:
    owed = " or ".join(types)

    def rule(members: Mapping[str, Any]) -> Judgement:
        member = find(members, name)
        if member is None:
            return inconclusive(f"{name} is missing")
        fits = any(_IS[kind](member[1]) for kind in types)
        return HOLDS if fits else deviates(f"{name} is {kind_of(member[1])}, expected {owed}")

    return rule


def value(name: str, type_: type, rule: Callable[[Any], str]) -> MemberRule:
    """A rule on the value of a member that has the right type; `rule` says what is wrong, or nothing."""

    def judged(members: Mapping[str, Any]) -> Judgement:
        member = find(members, name)
        if member is None or not isinstance(member[1], type_):
            return inconclusive(f"{name} is missing or of another type")
        wrong = rule(member[1])
        return deviates(wrong) if wrong else HOLDS

    return judged


def result(fields: tuple[Field, ...]) -> MemberRule:
    def rule(data: Mapping[str, Any]) -> Judgement:
        held = any(find(data, field.name) for field in fields)
        return HOLDS if held else deviates("data holds none of the documented fields")

    return rule


def extra(fields: tuple[Field, ...]) -> Callable[[Response], Judgement]:
    def rule(response: Response) -> Judgement:
        envelope, data = envelope_of(response), data_of(response)
        if envelope is None or data is None:
            return inconclusive("no envelope with an object data")
        extra = _beyond(envelope, ["code", "data"]) + _beyond(data, [field.name for field in fields])
        return deviates(f"extra: {listed(extra)}") if extra else HOLDS

    return rule


def upper_case(fields: tuple[Field, ...]) -> MemberRule:
    def rule(data: Mapping[str, Any]) -> Judgement:
        found = [member[0] for field in fields if (member := find(data, field.name))]
        lower = [name for name in found if not name[:1].isupper()]
        if not found:
            return inconclusive("no documented field")
        return deviates(f"starts with a lower-case letter: {listed(lower)}") if lower else HOLDS

    return rule


def _beyond(members: Mapping[str, Any], names: list[str]) -> list[str]:
    known = {folded(name) for name in names}
    return [name for name in members if folded(name) not in known]


def masked(document: str) -> str:
    return "every character of the tax document is visible" if is_fully_visible(document) else ""


def partly(document: str) -> str:
    return "nothing of the tax document is visible" if is_fully_hidden(document) else ""


def text(value: str) -> str:
    return "" if value.lower() in _BOOLEANS else "Success is neither the text true nor the text false"


def lower_case(data: Mapping[str, Any]) -> Judgement:
    member = find(data, "Success")
    if member is None or not isinstance(member[1], str) or member[1].lower() not in _BOOLEANS:
        return inconclusive("Success is neither the text true nor the text false")
    return HOLDS if member[1] in _BOOLEANS else deviates("Success is not in lower-case letters")


def success_example(value: str) -> str:
    return one_of("Success", ("true",))(value.lower())


def one_of(name: str, values: tuple[str, ...]) -> Callable[[str], str]:
    shown = f"is none of {', '.join(values)}" if values[1:] else f"is not {values[0]}, the one value shown"
    owed = f"{name} {shown}"
    return lambda value: "" if value in values else owed


def id_matches(exchange: Exchange) -> Judgement:
    data = data_of(exchange.response) if exchange.response and is_judged_as_success(exchange) else None
    if exchange.operation != "executePix" or data is None or not isinstance(data.get("id"), str):
        return inconclusive("no execution result with an id")
    return HOLDS if data["id"] == exchange.request.last_segment else deviates("id differs from the code that was sent")


def error_example(data: Mapping[str, Any]) -> Judgement:
    if "error" not in data:
        return inconclusive("error is missing")
    return HOLDS if data["error"] is None else deviates("error is not null, the one value shown")


def random_key(exchange: Exchange) -> Judgement:
    data = data_of(exchange.response) if exchange.response and is_judged_as_success(exchange) else None
    if data is None or "Key" not in data or b'"RANDOM"' not in exchange.request.body:
        return inconclusive("no result for a RANDOM key")
    return HOLDS if data["Key"] is None else deviates("Key is not null, the one value shown for a RANDOM key")
