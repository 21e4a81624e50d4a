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

from spec.answers import (
    RefusalKind,
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
from spec.findings import Conclusion, Judgement, deviates, finding, holds
from spec.interface import KEY_TYPES
from spec.json_text import is_integer, read_json
from spec.requirements import requirements
from spec.rules import ROBUSTNESS, RULES, judge

Judged = tuple[str, Judgement]
"""A requirement, and a judgement that is not inconclusive."""
_BY_FORM = re.compile(
    r".*\.(status|json|mediaType|unique|byteOrderMark|object|shape|result|extra|present|type|spelling|upperCase)"
)
"""Requirements whose rules see no more than the form of an answer."""
_MOST_FORMS = 1_000
_OF_THE_BODY = ("body.pixKey", "body.account", "body.pixKeyType")


class Forms:
    """Judges exchanges, and remembers the forms of their answers. `held` counts the exchanges that hold all of some
    requirements."""

    def __init__(self) -> None:
        self.held = Counter[tuple[str, ...]]()
        self._known: dict[tuple[object, ...], tuple[tuple[str, ...], list[Judged]]] = {}

    def judged(self, exchange: Exchange, response: Response) -> Iterator[Judged]:
        """All that the exchange shows, but for what is counted in `held`."""
        by_form, others, of_all = _rules_of(exchange.operation)
        yield from _told_by(of_all, exchange)
        yield from _beyond_the_rules(exchange, response)
        if not is_judged_as_success(exchange):
            return
        yield from _told_by(others, exchange)
        if not response.json.readable or response.json.repeated:
            yield from _told_by(by_form, exchange)
            return
        form = _form(exchange, response)
        if form not in self._known:
            if len(self._known) > _MOST_FORMS:
                self._known.clear()
            told = [*_told_by(by_form, exchange)]
            holding = tuple(id for id, judgement in told if judgement.holds)
            self._known[form] = holding, [each for each in told if each[1].deviates]
        held, deviating = self._known[form]
        self.held[held] += 1
        yield from deviating


def _told_by(ids: Iterable[str], exchange: Exchange) -> Iterator[Judged]:
    judged = ((id, judge(id, exchange)) for id in ids)
    return (each for each in judged if each[1].conclusion is not Conclusion.INCONCLUSIVE)


@cache
def _rules_of(operation: str) -> tuple[list[str], list[str], list[str]]:
    """The requirements of an operation that have a rule: on the form of a success, on its values, on any answer."""
    mine = [id for id in RULES if id.startswith(f"{operation}.")]
    of_all = [f"{operation}.{what}" for what in ROBUSTNESS]
    by_form = [id for id in mine if _BY_FORM.fullmatch(id)]
    return by_form, [id for id in mine if id not in (*by_form, *of_all)], of_all


def _form(exchange: Exchange, response: Response) -> tuple[object, ...]:
    text = response.json
    kinds = (_kind(text.value), _kinds(envelope_of(response)), _kinds(data_of(response)))
    return exchange.operation, response.status, response.media_type, text.byte_order_mark, *kinds


def _kinds(members: Mapping[str, Any] | None) -> tuple[object, ...]:
    return tuple((name, *_kind(value)) for name, value in (members or {}).items())


def _kind(value: object) -> tuple[object, ...]:
    return type(value), is_integer(value)


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
    if operation == "registerPixKey":
        sent = read_json(exchange.request.body).value
        named = sent.get("pixKeyType") if isinstance(sent, dict) else None
        if isinstance(named, str) and not (named.isdecimal() or named.upper() in (*KEY_TYPES, "EVP")):
            found = deviates(finding("undocumented-type"), exchange) if registered(exchange) else holds()
            yield "registerPixKey.pixKeyType.undocumented", found
        elif registered(exchange) and exchange.valid:
            held += [f"registerPixKey.{what}" for what in (f"pixKeyType.{named}", *_OF_THE_BODY)]
    yield from ((id, holds()) for id in held if id in requirements())
