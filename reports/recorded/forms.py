"""Judges one recorded exchange by all rules that it can show, although nothing was asked for it.

Many thousands of answers have the same form: the same status, and the same names and types of members. Most rules look
at the form and at no value. They judge the first answer of a form, and their judgement counts for all answers of that
form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from http import HTTPStatus
from typing import Any

from reports.recorded.entry import NO_MEDIA_TYPE, RecordedExchange
from spec.answers import (
    RefusalKind,
    code_of,
    data_of,
    envelope_of,
    grants_protected_result,
    is_judged_as_success,
    member_named,
    refusal_kind,
    registered,
    succeeded,
)
from spec.exchange import Exchange, Response
from spec.findings import Finding, Judgement, deviates, finding, holds
from spec.interface import KEY_TYPES
from spec.json_text import is_integer, read_json
from spec.requirements import requirements
from spec.rules import RULES, judge

Judged = tuple[str, Judgement]
"""A requirement id, and its judgement."""
Deviations = tuple[str, tuple[Finding, ...]]
"""A requirement id, and its findings."""
_HeldAndBroken = tuple[tuple[str, ...], list[Deviations]]
"""Ids of the requirements that an exchange meets, and those that it breaks, with their findings."""
_BY_VALUE = re.compile(r".*\.(stackTrace|id\.matches|document\.(masked|partly)|Key\.(matches|example))")
"""Requirements whose rules look at values, and not only at the form of an answer."""
_MEMBERS_OF_THE_FORM = ("status", "type", "Success")
"""Members whose values are part of the form, because rules look at them. They have few different values."""
_MOST_FORMS = 1_000
"""Forms that are remembered, so that memory does not grow with the traffic."""


class Forms:
    """Judges exchanges, and remembers the judgement on each form of an answer."""

    def __init__(self) -> None:
        self.held = Counter[tuple[str, ...]]()
        """How many exchanges meet all of these requirements, by a tuple of their ids. One count for each form, and not
        for each requirement, keeps it fast."""
        self._judged: dict[int, _HeldAndBroken] = {}  # by the hash of a form

    def deviations(self, exchange: RecordedExchange, response: Response) -> Iterator[Deviations]:
        """The requirements that the exchange breaks, with their findings. Those that it meets are counted in `held`.

        Rules that look at the form alone are asked only for the first answer of a form. Rules that look at values are
        asked for each answer.
        """
        by_form, by_value = _rules_of(exchange.operation)
        form = hash(_form(exchange, response))
        # If a member is there twice, the form has only one of its values. So such an answer is always judged.
        if form not in self._judged or response.json.repeated:
            if len(self._judged) > _MOST_FORMS:
                self._judged.clear()
            judgements = [*_judged_by(by_form, exchange), *_judged_beyond_rules(exchange, response)]
            self._judged[form] = _held_and_broken(judgements)
        for held, broken in (self._judged[form], _held_and_broken(_judged_by(by_value, exchange))):
            self.held[held] += 1
            yield from broken


def _judged_by(ids: Iterable[str], exchange: RecordedExchange) -> list[Judged]:
    """The judgements of the rules of these requirements. A media type that is not recorded is not judged."""
    if NO_MEDIA_TYPE in exchange.gaps:
        ids = [id for id in ids if not id.endswith(".json.mediaType")]
    return [(id, judge(id, exchange)) for id in ids]


def _held_and_broken(judgements: Iterable[Judged]) -> _HeldAndBroken:
    """The requirements that these judgements call met, and those that they call broken, with findings.

    A requirement whose judgement is inconclusive is in neither list.
    """
    held = []
    broken = []
    for id, judgement in judgements:
        if judgement.holds:
            held.append(id)
        if judgement.deviates:
            broken.append((id, judgement.findings))
    return tuple(held), broken


@cache
def _rules_of(operation: str) -> tuple[list[str], list[str]]:
    """The requirements of an operation that have a rule: on the form of an answer, and on its values."""
    ids = [id for id in RULES if id.startswith(f"{operation}.")]
    by_value = [id for id in ids if _BY_VALUE.fullmatch(id)]
    by_form = [id for id in ids if id not in by_value]
    return by_form, by_value


def _form(exchange: RecordedExchange, response: Response) -> tuple[object, ...]:
    """Everything about an exchange that rules on the form look at."""
    text = response.json
    data = data_of(response) or {}
    return (
        exchange.operation,
        exchange.valid,
        exchange.gaps,
        _key_type_of(exchange),
        response.status,
        response.media_type,
        refusal_kind(response),
        code_of(response),
        is_judged_as_success(exchange),
        registered(exchange),
        text.error,
        text.limit,
        text.repeated,
        text.byte_order_mark,
        _names_and_types({"": text.value}),
        _names_and_types(envelope_of(response)),
        _names_and_types(data),
        *[str(member_named(data, name)) for name in _MEMBERS_OF_THE_FORM],
    )


def _names_and_types(members: Mapping[str, Any]) -> tuple[object, ...]:
    """Names and types of members, as a part of a form. True stands for the type integer.

    All JSON numbers are `Decimal` here, so the Python type would not tell an integer from another number.
    """
    types = [is_integer(value) or type(value) for value in members.values()]
    return (*members, *types)


def _key_type_of(exchange: Exchange) -> str | None:
    """The key type in a request to register a key; None for any other request, and if it is no text."""
    if exchange.operation != "registerPixKey":
        return None
    body = read_json(exchange.request.body).value
    key_type = body.get("pixKeyType") if isinstance(body, dict) else None
    return key_type if isinstance(key_type, str) else None


def grants_something(exchange: Exchange, response: Response) -> bool:
    """True for a success with data: a documented result, or any number, object or array.

    A text alone is not enough, because it may say why nothing was granted.
    """
    values = (data_of(response) or {}).values()
    has_data = grants_protected_result(exchange) or any(isinstance(value, Decimal | dict | list) for value in values)
    if not has_data or response.status != HTTPStatus.OK:
        return False
    return succeeded(exchange)


def says_no(exchange: Exchange, response: Response) -> bool:
    """True if an answer has a member Success whose value is not yes ("true"), whatever the operation."""
    has_member = member_named(data_of(response) or {}, "Success") is not None
    return has_member and not grants_protected_result(exchange)


# -- requirements without a rule ------------------------------------------------------------------------------------


def _judged_beyond_rules(exchange: Exchange, response: Response) -> Iterator[Judged]:
    """Judgements on requirements without a rule. A run sends requests for them, but a single answer may show them."""
    operation = exchange.operation
    held = list[str]()
    if is_judged_as_success(exchange):
        held += ["general.versionPrefix", f"{operation}.exists"]
    elif exchange.valid and refusal_kind(response) in (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED):
        yield f"{operation}.exists", deviates(finding("no-endpoint", status=response.status), exchange)
    if succeeded(exchange):
        held += [f"{operation}.token.accepted", f"{operation}.contentType.accepted"]
    for id in held:
        if id in requirements():  # not every operation has each of these requirements
            yield id, holds()
    key_type = _key_type_of(exchange)
    if key_type is not None:
        yield from _judged_by_key_type(key_type, exchange)


def _judged_by_key_type(key_type: str, exchange: Exchange) -> Iterator[Judged]:
    """Judgements on a registration with a key of this type: no other type is registered, and a documented one is."""
    was_registered = registered(exchange)
    if not _may_be_documented(key_type):
        judgement = deviates(finding("undocumented-type"), exchange) if was_registered else holds()
        yield "registerPixKey.pixKeyType.undocumented", judgement
    elif exchange.valid and was_registered:
        for name in (f"pixKeyType.{key_type}", "body.pixKey", "body.account", "body.pixKeyType"):
            id = f"registerPixKey.{name}"
            if id in requirements():  # the type may be in another spelling
                yield id, holds()


def _may_be_documented(key_type: str) -> bool:
    """True for a documented key type in any spelling that the interface document leaves open.

    Such are numbers, small letters, and EVP, as the central bank calls RANDOM.
    """
    return key_type.isdecimal() or key_type.upper() in (*KEY_TYPES, "EVP")
