"""What was sent that may be refused: each request under a phrase that is the same in every run, with its answer.

Only requests that a run always sends in the same way count: what is generated, or tried because of an answer, is left
out. Each request shows one requirement alone: a large one is no part of a refusal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from environments.door.wrong_tokens import ANOTHER
from reports.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import ABOUT_THE_CALLER, is_page, is_refusal, refusal_kind, refuses_the_token, succeeded
from spec.exchange import VALID, Exchange
from spec.facts import Facts
from spec.interface import READS
from spec.observed import (
    Values,
    answer_of,
    by_situation,
    counts,
    indistinguishable,
    is_refused,
    settle,
)
from tests.traffic.execution import execute
from tests.traffic.registrar import OTHER_TYPES, Attempted
from tests.traffic.registration import register
from tests.traffic.robustness import send_invalid, without_the_token
from tests.traffic.scenario import Traffic

_CREDENTIALS = {
    "no header": "without a token",
    ANOTHER: "with a wrong token",
    "an empty bearer": "with an empty bearer",
    "Basic credentials": "with Basic credentials",
}
"""Bad credentials that every run sends, whatever its token looks like."""
_REGISTER, _EXECUTE = "registerPixKey", "executePix"
Situated = tuple[str, Exchange]
"""A request that may be refused: its situation, and the exchange."""
Name = tuple[str, str, str]
"""A class of invalid requests: the operation, what is unusual, and how."""
LARGE: Mapping[Name, str] = {
    (_EXECUTE, "transactionId", "very long"): "a code of 5,000 characters",
    (_REGISTER, "pixKey", "a long text"): "a pixKey of 5,000 characters",
    ("listAccounts", "query", "long"): "a query of 10,000 characters",
    (_REGISTER, "body", "long, and cut short"): "a body of 110,000 characters",
}
"""Requests that show whether a service limits their size."""
COMPLETE: Name = (_REGISTER, "pixKey", "a synthetic key")
"""A registration of a synthetic key with every field: what lacks one is compared with it."""
OTHER_ACCOUNT: Name = (_REGISTER, "account", "text")
"""A registration whose body names another account than its path."""
_MISSING = "missing"
AS_UNKNOWN, NOT_REFUSED = "like an unknown code", "not refused"


def refusals_of(operation: str, traffic: Traffic) -> list[Situated]:
    """What is refused of what was sent to an operation, and what is not although it is invalid."""
    sent = [*_with_a_bad_credential(operation, traffic), *_invalid(operation, traffic)]
    settled = [(situation, settle(seen, traffic.exchanges)) for situation, seen in sent]
    return [(situation, seen) for situation, seen in settled if is_refused(seen) or _is_taken(seen)]


def _is_taken(seen: Exchange) -> bool:
    """Whether it is surely taken for valid. Whether a token is wanted, a code is unknown, and how a key or an account
    looks, other requirements show."""
    if seen.response is None or seen.credential != VALID or seen.operation in (_EXECUTE, _REGISTER):
        return False
    return refusal_kind(seen.response) is None and not is_page(seen.response)


def refused_values(sent: Iterable[Situated], unknown: Exchange | None) -> Values:
    """By situation, how requests are refused. The answer that an unknown code gets is named as that: another requirement
    shows it."""

    def how(seen: Exchange) -> Facts | str:
        if unknown is not None and seen.credential == VALID and answer_of(seen) == answer_of(unknown):
            return AS_UNKNOWN
        return answer_of(seen) if is_refused(seen) else NOT_REFUSED

    return by_situation((situation, how(seen)) for situation, seen in sent)


def unknown_code(traffic: Traffic) -> Exchange | None:
    """An unknown transaction code, where its answer counts."""
    unknown = traffic.sent(execute).unknown
    seen = settle(unknown, traffic.exchanges) if unknown else None
    return seen if seen and counts(seen) else None


def _with_a_bad_credential(operation: str, traffic: Traffic) -> Iterator[Situated]:
    for seen in _unauthorized(operation, traffic):
        if seen.credential in _CREDENTIALS:
            yield _CREDENTIALS[seen.credential], seen


def _unauthorized(operation: str, traffic: Traffic) -> Iterable[Exchange]:
    if operation == _EXECUTE:  # with a real code the answer may depend on what became of it
        return traffic.sent(execute).unauthorized
    if operation == _REGISTER:
        return traffic.sent(register).tried[Attempted.WITHOUT_A_TOKEN]
    if operation in READS:
        return [seen for seen in traffic.targeted(operation) if seen.credential in ("no header", ANOTHER)]
    # an open operation refuses the body: whether it wants the token, another requirement shows
    return [seen for seen in without_the_token(traffic, operation) if _wants_the_token(seen, traffic) == REQUIRED]


def _invalid(operation: str, traffic: Traffic) -> Iterator[Situated]:
    sent = ((name, seen) for name, seen in _classes(traffic) if name[0] == operation and seen.credential == VALID)
    for name, seen in sent:
        _, where, what = name
        if what != _MISSING and name not in (*LARGE, OTHER_ACCOUNT):
            yield f"{where}: {what}", seen
    if operation != _REGISTER:
        return
    found = traffic.sent(register)
    yield from (("pixKeyType: another word", seen) for what in OTHER_TYPES for seen in found.tried[what])
    complete = one_of(COMPLETE, traffic)
    incomplete = (
        incomplete_ones(traffic).values() if complete else ()
    )  # whether a field is needed, is another requirement
    yield from (("a field: missing", seen) for seen in incomplete if complete and not indistinguishable(seen, complete))


# -- the classes of invalid requests ------------------------------------------------------------------------------


def _classes(traffic: Traffic) -> list[tuple[Name, Exchange]]:
    return [((case.operation, case.where, case.what), seen) for case, seen in traffic.sent(send_invalid)]


def _counting(traffic: Traffic) -> dict[Name, Exchange]:
    """The invalid requests whose answer counts."""
    settled = {name: settle(seen, traffic.exchanges) for name, seen in _classes(traffic)}
    return {name: seen for name, seen in settled.items() if counts(seen)}


def one_of(name: Name, traffic: Traffic) -> Exchange | None:
    """The invalid request of this class, where its answer counts."""
    return _counting(traffic).get(name)


def large_ones(traffic: Traffic) -> dict[Name, Exchange]:
    """The large requests whose answer counts."""
    return {name: seen for name, seen in sorted(_counting(traffic).items()) if name in LARGE}


def incomplete_ones(traffic: Traffic) -> dict[str, Exchange]:
    """The registrations that lack a field, by that field; those whose answer counts."""
    counting = _counting(traffic).items()
    return {where: seen for (operation, where, what), seen in counting if (operation, what) == (_REGISTER, _MISSING)}


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
    return REQUIRED if succeeded(valid) or answer_of(without) != answer_of(valid) else ""


def tokens_of(sent: Iterable[Exchange], traffic: Traffic) -> Values:
    """By operation, whether it wants the token; where the body is refused first, that is not shown."""
    answered = filter(counts, sent)
    return {seen.operation: [_wants_the_token(seen, traffic) or "the body is refused first"] for seen in answered}


def _wants_the_token(without: Exchange, traffic: Traffic) -> str:
    [same] = without_the_token(traffic, without.operation, VALID)
    return wants_the_token(without) or wants_the_token(without, same)
