"""The rules: each a pure function of one exchange that answers for one ledger row.

`judge` is the only way in. Targeted tests, generated traffic and recorded traffic are judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spec.exchange import Exchange
from spec.interface import KEY_TYPES, Operation, operations
from spec.rules import envelope, members, robustness
from spec.rules.envelope import AnswerRule, of_data, of_envelope, of_json, of_success
from spec.rules.judgement import Judgement, Outcome, Rule, deviates, holds, inconclusive

__all__ = ["ROBUSTNESS", "RULES", "Judgement", "Outcome", "Rule", "deviates", "holds", "inconclusive", "judge"]


ROBUSTNESS: Mapping[str, Rule] = {
    "serverError": robustness.server_error,
    "stackTrace": robustness.stack_trace,
    "connection": robustness.dropped,
}
"""What every exchange of an operation answers for, by the name behind the operation in the requirement id."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one requirement. KeyError where no rule answers for it."""
    return replace(RULES[requirement_id](exchange), exchanges=(exchange,))


def _described(operation: Operation) -> Iterator[tuple[str, AnswerRule]]:
    yield "status", envelope.status
    yield "json", envelope.strict_json
    yield "json.mediaType", envelope.media_type
    yield "json.unique", envelope.unique
    yield "json.byteOrderMark", envelope.byte_order_mark
    yield "envelope.object", of_json(envelope.one_object)
    for name, types in (("code", ("integer",)), ("data", ("object",))):
        for what, rule in _member_rules(name, types):
            yield f"envelope.{name}.{what}", of_envelope(rule)
    if operation.result:
        yield from _result_rules(operation)


def _result_rules(operation: Operation) -> Iterator[tuple[str, AnswerRule]]:
    yield "envelope.code.example", of_envelope(envelope.code_example)
    yield "envelope.result", of_data(members.result(operation.result))
    yield "fields.extra", members.extra(operation.result)
    for field in operation.result:
        for what, rule in _member_rules(field.name, field.types):
            yield f"{field.name}.{what}", of_data(rule)


def _member_rules(name: str, types: tuple[str, ...]) -> Iterator[tuple[str, members.MemberRule]]:
    yield "present", members.present(name)
    yield "type", members.typed(name, types)
    yield "spelling", members.spelling(name)


_SINGLE: Mapping[str, AnswerRule] = {
    "executePix.document.masked": of_data(members.value("document", str, members.masked)),
    "executePix.document.partly": of_data(members.value("document", str, members.partly)),
    "executePix.type.kind": of_data(members.value("type", str, members.one_of("type", KEY_TYPES))),
    "executePix.type.example": of_data(members.value("type", str, members.one_of("type", ("PHONE",)))),
    "executePix.status.example": of_data(members.value("status", str, members.one_of("status", ("DONE",)))),
    "executePix.error.example": of_data(members.error_example),
    "registerPixKey.Success.text": of_data(members.value("Success", str, members.text)),
    "registerPixKey.Success.letterCase": of_data(members.lower_case),
    "registerPixKey.Success.example": of_data(members.value("Success", str, members.success_example)),
    "registerPixKey.fields.upperCase": of_data(members.upper_case(operations()["registerPixKey"].result)),
}


def _table() -> Iterator[tuple[str, Rule]]:
    for operation in operations().values():
        rules = _described(operation) if operation.described else _undescribed()
        for what, rule in rules:
            yield f"{operation.id}.{what}", of_success(rule, operation.id)
        for what, robust in ROBUSTNESS.items():
            yield f"{operation.id}.{what}", robust
    for requirement_id, rule in _SINGLE.items():
        yield requirement_id, of_success(rule, requirement_id.split(".")[0])
    yield "executePix.id.matches", members.id_matches
    yield "registerPixKey.Key.example", members.random_key


def _undescribed() -> Iterator[tuple[str, AnswerRule]]:
    yield "status", envelope.status
    yield "json", envelope.strict_json
    yield "envelope.shape", of_json(envelope.envelope_shape)


RULES: Mapping[str, Rule] = dict(_table())
