"""What was sent that may be refused: each request under a phrase that is the same in every run, with its answer.

Only requests that a run always sends in the same way count: what is generated, or tried because of an answer, is left
out. Each request shows one requirement alone: a large one is no part of a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from environments.door.authorization import VALID
from environments.door.wrong_tokens import ANOTHER
from reports.observations.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import ABOUT_THE_CALLER, is_page, is_refusal, refusal_kind, refuses_the_token, registered, succeeded
from spec.exchange import Exchange
from spec.facts import Facts
from spec.interface import READS, operations
from tests.traffic.answered import (
    Values,
    answer_of,
    answered_alike,
    answered_in_the_same_words,
    by_situation,
    counts,
    is_refused,
    settle,
)
from tests.traffic.case import Case
from tests.traffic.execution import execute
from tests.traffic.registration import register, register_incomplete
from tests.traffic.robustness import send_invalid, without_the_token
from tests.traffic.scenario import Traffic
from tests.traffic.unusual_registrations import OTHER_TYPES, Attempted

_CREDENTIALS = {
    "no header": "without a token",
    ANOTHER: "with a wrong token",
    "an empty bearer": "with an empty bearer",
    "Basic credentials": "with Basic credentials",
}
"""Bad credentials that every run sends, whatever its token looks like."""
_REGISTER, _EXECUTE = "registerPixKey", "executePix"
Name = tuple[str, str, str]
"""A class of invalid requests: the operation, what is unusual, and how."""
LARGE: Mapping[Name, str] = {
    (_EXECUTE, "transactionId", "very long"): "a code of 5,000 characters",
    (_REGISTER, "pixKey", "a long text"): "a pixKey of 5,000 characters",
    ("listAccounts", "query", "long"): "a query of 10,000 characters",
    (_REGISTER, "body", "long, and cut short"): "a body of 110,000 characters",
}
"""Requests that show whether a service limits their size."""
COMPLETE: Name = (_REGISTER, "pixKey", "a synthetic text")
"""A registration of a synthetic key with every field: what lacks one is compared with it."""
OTHER_ACCOUNT: Name = (_REGISTER, "account", "text")
"""A registration whose body names another account than its path."""
AS_UNKNOWN, NOT_REFUSED = "like an unknown code", "not refused"


class Sort(Enum):
    """What a request is refused for."""

    CREDENTIAL = "without a valid token"
    IDENTIFIER = "with an unknown identifier"
    CONTENT = "with invalid content"


@dataclass(frozen=True)
class Sent:
    """A request that may be refused, and its answer."""

    situation: str
    sort: Sort
    exchange: Exchange


def refusals_of(operation: str, traffic: Traffic) -> list[Sent]:
    """What is refused of what was sent to an operation, and what is not although it is invalid."""
    exchanges = traffic.exchanges
    sent = [*_with_a_bad_credential(operation, traffic), *_invalid(operation, traffic)]
    settled = (Sent(one.situation, one.sort, settle(one.exchange, exchanges)) for one in sent)
    return [one for one in settled if is_refused(one.exchange) or _is_taken(one)]


def _is_taken(one: Sent) -> bool:
    """Whether it is surely taken for valid. Whether a token is wanted, a code is unknown, and how a key or an account
    looks, other requirements show."""
    response = one.exchange.response
    if response is None or one.sort is Sort.CREDENTIAL or one.exchange.operation in (_EXECUTE, _REGISTER):
        return False
    return refusal_kind(response) is None and not is_page(response)


def refused_values(sent: Iterable[Sent], unknown: Exchange | None) -> Values:
    """By situation, how requests are refused. The answer that an unknown code gets is named as that: another requirement
    shows it."""

    def how(one: Sent) -> Facts | str:
        if unknown is not None and one.sort is Sort.IDENTIFIER and answered_alike(one.exchange, unknown):
            return AS_UNKNOWN
        return answer_of(one.exchange) if is_refused(one.exchange) else NOT_REFUSED

    return by_situation((one.situation, how(one)) for one in sent)


def unknown_code(traffic: Traffic) -> Exchange | None:
    """An unknown transaction code, where its answer counts."""
    unknown = traffic.sent(execute).unknown
    seen = settle(unknown, traffic.exchanges) if unknown else None
    return seen if seen and counts(seen) else None


def _with_a_bad_credential(operation: str, traffic: Traffic) -> Iterator[Sent]:
    for seen in _unauthorized(operation, traffic):
        if seen is not None and seen.credential in _CREDENTIALS:
            yield Sent(_CREDENTIALS[seen.credential], Sort.CREDENTIAL, seen)


def _unauthorized(operation: str, traffic: Traffic) -> Iterable[Exchange | None]:
    if operation == _EXECUTE:  # with a real code the answer may depend on what became of it
        found = traffic.sent(execute)
        return found.unknown_without_a_token, found.unknown_unauthorized
    if operation == _REGISTER:
        return traffic.sent(register).tried[Attempted.WITHOUT_A_TOKEN]
    if (
        operation not in READS
    ):  # an open operation refuses the body: whether it wants the token, another requirement shows
        sent = without_the_token(traffic, operation)
        return (seen for seen in sent if _wants_the_token(seen, traffic) == REQUIRED)
    return [seen for seen in traffic.targeted(operation) if seen.credential == "no header"]


def _invalid(operation: str, traffic: Traffic) -> Iterator[Sent]:
    for case, seen in traffic.sent(send_invalid).get(operation, ()):
        if case.credential in _CREDENTIALS:
            yield Sent(_CREDENTIALS[case.credential], Sort.CREDENTIAL, seen)
        elif _name_of(case) not in (*LARGE, OTHER_ACCOUNT):
            yield Sent(f"{case.where}: {case.what}", _sort_of(case), seen)
    if operation == _REGISTER:
        found = traffic.sent(register)
        for seen in (seen for what in OTHER_TYPES for seen in found.tried[what]):
            yield Sent("pixKeyType: another word", Sort.CONTENT, seen)
        if found.of_another_account and not registered(found.of_another_account):
            yield Sent("account: unknown, with a RANDOM key", Sort.CONTENT, found.of_another_account)
        yield from _incomplete(traffic)


def _incomplete(traffic: Traffic) -> Iterator[Sent]:
    """Those that are not answered like a complete registration: whether a field is needed, another requirement shows."""
    complete = one_of(COMPLETE, traffic)
    for seen in incomplete_ones(traffic).values() if complete else ():
        if complete and not answered_in_the_same_words(seen, complete):
            yield Sent("a field: missing", Sort.CONTENT, seen)


def _name_of(case: Case) -> Name:
    return case.operation, case.where, case.what


def _sort_of(case: Case) -> Sort:
    named = case.where == operations()[case.operation].path_parameter
    return Sort.IDENTIFIER if named else Sort.CONTENT


# -- single requests, and large ones ------------------------------------------------------------------------------


def one_of(name: Name, traffic: Traffic) -> Exchange | None:
    """The invalid request of this class, where its answer counts."""
    return _those(lambda each: each == name, traffic).get(name)


def large_ones(traffic: Traffic) -> dict[Name, Exchange]:
    """The large requests whose answer counts."""
    return _those(LARGE.__contains__, traffic)


def _those(is_meant: Callable[[Name], bool], traffic: Traffic) -> dict[Name, Exchange]:
    exchanges, invalid = traffic.exchanges, traffic.sent(send_invalid)
    sent = (pair for operation in sorted(invalid) for pair in invalid[operation])
    settled = {_name_of(case): settle(seen, exchanges) for case, seen in sent if is_meant(_name_of(case))}
    return {name: seen for name, seen in settled.items() if counts(seen)}


def incomplete_ones(traffic: Traffic) -> dict[str, Exchange]:
    """The registrations that lack a field, by that field; those whose answer counts."""
    exchanges = traffic.exchanges
    settled = {name: settle(seen, exchanges) for name, seen in traffic.sent(register_incomplete).items()}
    return {name: seen for name, seen in settled.items() if counts(seen)}


# -- whether an operation wants the token -------------------------------------------------------------------------


def wants_the_token(without: Exchange, valid: Exchange | None = None) -> str:
    """Whether an operation wants the token, by a request without it, and the same with it where there is one; empty
    where that does not tell."""
    if without.response is None or not counts(without):
        return ""
    turned_away = refusal_kind(without.response) in ABOUT_THE_CALLER or refuses_the_token(without.response)
    if turned_away or is_page(without.response):
        return REQUIRED
    if not is_refusal(without.response):
        return NOT_REQUIRED
    if valid is None or not counts(valid):
        return ""
    return REQUIRED if succeeded(valid) or not answered_alike(without, valid) else ""


def tokens_of(sent: Iterable[Exchange], traffic: Traffic) -> Values:
    """By operation, whether it wants the token; where the body is refused first, that is not shown."""
    answered = filter(counts, sent)
    return {seen.operation: [_wants_the_token(seen, traffic) or "the body is refused first"] for seen in answered}


def _wants_the_token(without: Exchange, traffic: Traffic) -> str:
    [same] = without_the_token(traffic, without.operation, VALID)
    return wants_the_token(without) or wants_the_token(without, same)
