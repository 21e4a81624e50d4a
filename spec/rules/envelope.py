"""Rules on a successful answer as a whole: status, JSON, envelope. Each gives a judgement of one response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spec.answers import data_of, find, is_judged_as_success
from spec.exchange import Exchange, Response
from spec.json_text import is_integer
from spec.rules.judgement import HOLDS, Judgement, Rule, deviates, inconclusive, kind_of
from spec.rules.names import is_plain_name, listed

AnswerRule = Callable[[Response], Judgement]


def of_success(rule: AnswerRule, operation: str) -> Rule:
    def judged(exchange: Exchange) -> Judgement:
        if exchange.operation != operation:
            return inconclusive("another operation")
        if not is_judged_as_success(exchange) or exchange.response is None:
            return inconclusive(f"no success to judge: {exchange.summary}")
        return rule(exchange.response)

    return judged


def of_json(rule: Callable[[Any], Judgement]) -> AnswerRule:
    def judged(response: Response) -> Judgement:
        text = response.json
        return rule(text.value) if text.readable else inconclusive(text.limit or f"not JSON: {text.error}")

    return judged


def of_envelope(rule: Callable[[Mapping[str, Any]], Judgement]) -> AnswerRule:
    def judged(value: Any) -> Judgement:
        return rule(value) if isinstance(value, dict) else inconclusive("the answer is no object")

    return of_json(judged)


def of_data(rule: Callable[[Mapping[str, Any]], Judgement]) -> AnswerRule:
    def judged(response: Response) -> Judgement:
        data = data_of(response)
        return rule(data) if data is not None else inconclusive("the envelope holds no object data")

    return judged


def status(response: Response) -> Judgement:
    return HOLDS if response.status == 200 else deviates(f"status {response.status}, expected 200")


def strict_json(response: Response) -> Judgement:
    text = response.json
    if text.limit:
        return inconclusive(text.limit)
    return deviates(f"not JSON: {text.error}") if text.error else HOLDS


def media_type(response: Response) -> Judgement:
    if not response.json.readable:
        return inconclusive("not JSON")
    media_type = response.media_type
    is_json = media_type == "application/json" or media_type.endswith("+json")
    return HOLDS if is_json else deviates("JSON under a Content-Type that does not say so")


def unique(response: Response) -> Judgement:
    if not response.json.readable:
        return inconclusive("not JSON")
    repeated = [name for name in response.json.repeated if is_plain_name(name)]
    return deviates(f"stands twice in one object: {listed(repeated)}") if response.json.repeated else HOLDS


def byte_order_mark(response: Response) -> Judgement:
    if not response.json.readable:
        return inconclusive("not JSON")
    return deviates("the body starts with a byte order mark") if response.json.byte_order_mark else HOLDS


def one_object(value: Any) -> Judgement:
    return HOLDS if isinstance(value, dict) else deviates(f"the answer is {kind_of(value)}, expected an object")


def envelope_shape(value: Any) -> Judgement:
    if not isinstance(value, dict):
        return one_object(value)
    misplaced = [_misplaced(value, name) for name in ("code", "data") if name not in value]
    if misplaced:
        return deviates("; ".join(misplaced))
    if not is_integer(value["code"]):
        return deviates(f"code is {kind_of(value['code'])}, expected an integer")
    return (
        HOLDS if isinstance(value["data"], dict) else deviates(f"data is {kind_of(value['data'])}, expected an object")
    )


def _misplaced(envelope: Mapping[str, Any], name: str) -> str:
    member = find(envelope, name)
    return f"spelled {member[0]}, expected {name}" if member else f"{name} is missing"


def code_example(envelope: Mapping[str, Any]) -> Judgement:
    member = find(envelope, "code")
    if member is None or not is_integer(member[1]):
        return inconclusive("no integer code")
    return HOLDS if member[1] == 0 else deviates("code is not 0, the one value shown")
