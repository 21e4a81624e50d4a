"""Judges one recorded exchange for all requirements that it can show, although no request was sent for them.

A recording may have many thousands of answers with the same form: the same status, and the same names and types of
members. Most rules look at the form and at no value. They judge the first answer of a form, and their judgement counts
for all answers of that form.
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
    TEMPORARY_REFUSALS,
    RefusalKind,
    code_of,
    data_of,
    envelope_of,
    grants_protected_result,
    is_judged_as_success,
    member_named,
    refusal_about_the_caller,
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

IdAndJudgement = tuple[str, Judgement]
"""A requirement id, and the judgement of an exchange for this requirement."""
Deviations = tuple[str, tuple[Finding, ...]]
"""A requirement id, and its findings."""
_HeldAndBroken = tuple[tuple[str, ...], list[Deviations]]
"""First the ids of the requirements that an exchange meets, then each requirement that it breaks, with findings."""
_BY_VALUE = re.compile(r".*\.(stackTrace|id\.matches|document\.(masked|partly)|Key\.(matches|example))")
"""Requirements whose rules look at values, and not only at the form of an answer."""
_MEMBERS_OF_THE_FORM = ("status", "type", "Success")
"""Members whose values are part of the form, because rules look at them. They have few different values."""
_MOST_FORMS = 1_000
"""Most forms that are remembered, so that the memory does not grow with the traffic."""


class Forms:
    """Judges exchanges, and remembers the judgement on each form of an answer.

    The form of an answer is its status, and the names and types of its members. Answers with the same form get the same
    judgement from most rules.
    """

    def __init__(self) -> None:
        """Start without any judgement."""
        self.held = Counter[tuple[str, ...]]()
        """Number of exchanges that meet all requirements of a tuple of ids, such as {("a.status", "a.json"): 900}.
        Answers of one form meet the same requirements, so one addition counts all of them, which saves time."""
        self._judged: dict[int, _HeldAndBroken] = {}  # by the hash of a form: which requirements its answers meet

    def deviations(self, exchange: RecordedExchange, response: Response) -> Iterator[Deviations]:
        """The requirements that an exchange breaks, with their findings. The requirements that it meets are counted.

        Rules that look only at the form (status, and names and types of members) judge the first answer of each form.
        Their judgement is remembered for later answers. Rules that look at values judge each answer.
        """
        ids_by_form, ids_by_value = _ids_with_a_rule(exchange.operation)
        judged_by_form = self._judged_by_form(exchange, response, ids_by_form)
        judged_by_value = _held_and_broken(_judgements_by_rule(ids_by_value, exchange))
        for held, broken in (judged_by_form, judged_by_value):
            self.held[held] += 1
            yield from broken

    def _judged_by_form(self, exchange: RecordedExchange, response: Response, ids: Iterable[str]) -> _HeldAndBroken:
        """Judge the form of an answer, or return how an earlier answer of the same form was judged.

        `ids` are those of the requirements whose rules look only at the form.
        """
        form = hash(_form_of_answer(exchange, response))
        # If an answer has a member twice, the form has only one of the two values, so that different answers may have
        # equal forms. So such an answer is always judged.
        if form not in self._judged or response.json.repeated:
            if len(self._judged) > _MOST_FORMS:
                self._judged.clear()  # later answers of these forms are judged again
            judgements = [*_judgements_by_rule(ids, exchange), *_judgements_without_a_rule(exchange, response)]
            self._judged[form] = _held_and_broken(judgements)
        return self._judged[form]


def _judgements_by_rule(ids: Iterable[str], exchange: RecordedExchange) -> list[IdAndJudgement]:
    """The judgements of an exchange for these requirements, each by its rule.

    If the media type of the answer is not recorded, the requirement about it is not judged.
    """
    if NO_MEDIA_TYPE in exchange.missing_parts:
        ids = [id for id in ids if not id.endswith(".json.mediaType")]
    return [(id, judge(id, exchange)) for id in ids]


def _held_and_broken(judgements: Iterable[IdAndJudgement]) -> _HeldAndBroken:
    """Ids of the requirements that are met by these judgements, and of those that are broken, with their findings.

    A requirement whose judgement is inconclusive is in neither of them.
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
def _ids_with_a_rule(operation: str) -> tuple[list[str], list[str]]:
    """Ids of the requirements of an operation that have a rule, in two lists.

    The rules of the first list look only at the form of an answer: status, and names and types of members. The rules of
    the second list look at values, too.
    """
    ids = [id for id in RULES if id.startswith(f"{operation}.")]
    ids_by_value = [id for id in ids if _BY_VALUE.fullmatch(id)]
    ids_by_form = [id for id in ids if id not in ids_by_value]
    return ids_by_form, ids_by_value


def _form_of_answer(exchange: RecordedExchange, response: Response) -> tuple[object, ...]:
    """The form of an answer, as a tuple: two answers with equal forms get the same judgements from most rules.

    These are the rules that look at status, names and types, and at no value except those of the members in
    _MEMBERS_OF_THE_FORM.
    """
    text = response.json
    data = data_of(response) or {}
    return (
        exchange.operation,
        exchange.valid,
        exchange.missing_parts,
        _key_type_of(exchange),
        response.status,
        response.media_type,
        refusal_kind(response),
        refusal_about_the_caller(response),
        code_of(response),
        is_judged_as_success(exchange),
        registered(exchange),
        text.error,  # why the body is not JSON
        text.why_not_read,  # the limit of the suite that the body exceeds
        text.repeated,
        text.byte_order_mark,
        _names_and_types({"": text.value}),  # the type of the body as a whole
        _names_and_types(envelope_of(response)),
        _names_and_types(data),
        *[str(member_named(data, name)) for name in _MEMBERS_OF_THE_FORM],  # names and values
    )


def _names_and_types(members: Mapping[str, Any]) -> tuple[object, ...]:
    """The names of the members of a JSON object, and then the types of their values, as a part of a form.

    JSON numbers are `Decimal` here, whose Python type does not tell an integer from another number.
    """
    types = ["integer" if is_integer(value) else type(value) for value in members.values()]
    return (*members, *types)


def _key_type_of(exchange: Exchange) -> str | None:
    """The text of `pixKeyType` in a request to register a key, such as "EMAIL".

    None for a request with another operation, and if the value is missing or no text.
    """
    if exchange.operation != "registerPixKey":
        return None
    body = read_json(exchange.request.body).value
    key_type = body.get("pixKeyType") if isinstance(body, dict) else None
    return key_type if isinstance(key_type, str) else None


def grants_something(exchange: Exchange, response: Response) -> bool:
    """True if a request succeeded and its answer has data, so that its token must have been valid.

    Data are a documented result, or a number, object or array under `data`. Texts alone are not enough, because they
    may say why the request was refused.
    """
    if response.status != HTTPStatus.OK or not succeeded(exchange):
        return False
    if grants_protected_result(exchange):  # a documented result, which only a valid token may get
        return True
    data = data_of(response) or {}
    return any(isinstance(value, Decimal | dict | list) for value in data.values())  # a number, object or array


def has_success_other_than_true(exchange: Exchange, response: Response) -> bool:
    """True if an answer has a member `Success` that is not "true", whatever the operation: the request was declined."""
    has_member = member_named(data_of(response) or {}, "Success") is not None
    # With `Success: "true"` the answer would be a protected result, which only a valid token may get.
    return has_member and not grants_protected_result(exchange)


# -- requirements without a rule ------------------------------------------------------------------------------------


def _judgements_without_a_rule(exchange: Exchange, response: Response) -> Iterator[IdAndJudgement]:
    """Judgements for requirements that have no rule on single exchanges, but that this exchange shows nevertheless.

    Such a requirement is, for example, that an endpoint exists. A run sends several requests for it, but a single
    success shows it, too.
    """
    operation = exchange.operation
    held = list[str]()  # ids of requirements that the exchange meets
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
        yield from _judgements_on_key_type(key_type, exchange, response)


def _judgements_on_key_type(key_type: str, exchange: Exchange, response: Response) -> Iterator[IdAndJudgement]:
    """Judgements of a registration for the requirements about key types.

    A key of an undocumented type must not be registered. A refusal because of the caller, such as 401, or a temporary
    one, such as 503, does not show this, because a documented type would have been refused, too. If a key of a
    documented type was registered, the requirements about this type and about the three members of the body are met.
    """
    was_registered = registered(exchange)
    is_about_the_caller = refusal_about_the_caller(response) is not None
    is_temporary = refusal_kind(response) in TEMPORARY_REFUSALS
    if not _may_be_documented(key_type):
        if was_registered:
            yield "registerPixKey.pixKeyType.undocumented", deviates(finding("undocumented-type"), exchange)
        elif not is_about_the_caller and not is_temporary:
            yield "registerPixKey.pixKeyType.undocumented", holds()
    elif exchange.valid and was_registered:
        for name in (f"pixKeyType.{key_type}", "body.pixKey", "body.account", "body.pixKeyType"):
            id = f"registerPixKey.{name}"
            if id in requirements():  # a type in another spelling, such as "email", has no requirement of its own
                yield id, holds()


def _may_be_documented(key_type: str) -> bool:
    """True if a key type may be one of the documented types (PHONE, EMAIL, RANDOM, CNPJ and CPF) in another spelling.

    The interface document does not exclude numbers and small letters. EVP is the name of the central bank for RANDOM.
    """
    return key_type.isdecimal() or key_type.upper() in (*KEY_TYPES, "EVP")
