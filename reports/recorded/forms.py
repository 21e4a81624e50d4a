"""Judging of one recorded exchange by all that it shows. Nothing was asked of the service, and nothing is known of it.

Many thousands of answers have the same form: names and types of their members. The rules that see no more than the form
judge the first one, and what they said is remembered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from reports.recorded.entry import NO_MEDIA_TYPE, RecordedExchange
from spec.answers import (
    RefusalKind,
    code_of,
    data_of,
    envelope_of,
    find,
    grants_protected_result,
    is_judged_as_success,
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
Broken = tuple[str, tuple[Finding, ...]]
"""A requirement, and what deviates from it."""
_Parted = tuple[tuple[str, ...], list[Broken]]
_BY_VALUE = re.compile(r".*\.(stackTrace|id\.matches|document\.(masked|partly)|Key\.(matches|example))")
"""Requirements whose rules see more of an answer than its form."""
_TOLD_BY_TEXT = ("status", "type", "Success")
"""Members whose few texts are part of the form."""
_MOST_FORMS = 1_000


class Forms:
    """Judges exchanges, and remembers the forms of their answers. `held` counts the exchanges that hold all of some
    requirements."""

    def __init__(self) -> None:
        self.held = Counter[tuple[str, ...]]()
        self._known: dict[int, _Parted] = {}

    def broken(self, exchange: RecordedExchange, response: Response) -> Iterator[Broken]:
        """What the exchange shows to be broken; what holds is counted in `held`."""
        by_form, by_value = _rules_of(exchange.operation)
        form = hash(_form(exchange, response))
        if form not in self._known or response.json.repeated:
            if len(self._known) > _MOST_FORMS:
                self._known.clear()
            self._known[form] = _parted(by_form, exchange, *_beyond_the_rules(exchange, response))
        for held, broken in (self._known[form], _parted(by_value, exchange)):
            self.held[held] += 1
            yield from broken


def _parted(ids: Iterable[str], exchange: RecordedExchange, *others: Judged) -> _Parted:
    """The requirements that hold, and those that are broken. A media type that is not recorded is not judged."""
    if NO_MEDIA_TYPE in exchange.gaps:
        ids = [id for id in ids if not id.endswith(".json.mediaType")]
    told = [*[(id, judge(id, exchange)) for id in ids], *others]
    return (
        tuple([id for id, judgement in told if judgement.holds]),
        [(id, judgement.findings) for id, judgement in told if judgement.deviates],
    )


@cache
def _rules_of(operation: str) -> tuple[list[str], list[str]]:
    """The requirements of an operation that have a rule: on the form of an answer, and on its values."""
    mine = [id for id in RULES if id.startswith(f"{operation}.")]
    by_value = [id for id in mine if _BY_VALUE.fullmatch(id)]
    return [id for id in mine if id not in by_value], by_value


def _form(exchange: RecordedExchange, response: Response) -> tuple[object, ...]:
    text, data = response.json, data_of(response) or {}
    return (
        exchange.operation,
        exchange.valid,
        exchange.gaps,
        _named(exchange),
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
        _kinds({"": text.value}),
        _kinds(envelope_of(response)),
        _kinds(data),
        *[str(find(data, name)) for name in _TOLD_BY_TEXT],
    )


def _kinds(members: Mapping[str, Any]) -> tuple[object, ...]:
    return (*members, *[is_integer(value) or type(value) for value in members.values()])


def _named(exchange: Exchange) -> str | None:
    """The key type that a registration names."""
    sent = read_json(exchange.request.body).value if exchange.operation == "registerPixKey" else None
    named = sent.get("pixKeyType") if isinstance(sent, dict) else None
    return named if isinstance(named, str) else None


def grants_something(exchange: Exchange, response: Response) -> bool:
    """True if the answer is a result, or has numbers, objects or arrays as data: not a word on why there is none."""
    held = (data_of(response) or {}).values()
    is_told = grants_protected_result(exchange) or any(isinstance(value, Decimal | dict | list) for value in held)
    return is_told and succeeded(exchange) and response.status == 200


def declines(exchange: Exchange, response: Response) -> bool:
    """True if a member Success says no, in whichever result."""
    return bool(find(data_of(response) or {}, "Success")) and not grants_protected_result(exchange)


# -- what is no rule ------------------------------------------------------------------------------------------------


def _beyond_the_rules(exchange: Exchange, response: Response) -> Iterator[Judged]:
    """Requirements that a run judges by what it asks, and that a lone answer may show, too."""
    operation, held = exchange.operation, list[str]()
    if is_judged_as_success(exchange):
        held += ["general.versionPrefix", f"{operation}.exists"]
    elif exchange.valid and refusal_kind(response) in (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED):
        yield f"{operation}.exists", deviates(finding("no-endpoint", status=response.status), exchange)
    if succeeded(exchange):
        held += [f"{operation}.token.accepted", f"{operation}.contentType.accepted"]
    if (named := _named(exchange)) is not None:
        if not (named.isdecimal() or named.upper() in (*KEY_TYPES, "EVP")):
            found = deviates(finding("undocumented-type"), exchange) if registered(exchange) else holds()
            yield "registerPixKey.pixKeyType.undocumented", found
        elif registered(exchange) and exchange.valid:
            names = f"pixKeyType.{named}", "body.pixKey", "body.account", "body.pixKeyType"
            held += [f"registerPixKey.{name}" for name in names]
    yield from ((id, holds()) for id in held if id in requirements())
