"""Observations: what the interface document does not show, read from the answers of a run.

Only requests that a run always sends in the same way count, each under a phrase that is the same in every run: what is
generated, or tried because of an answer, is left out. Each shows one requirement alone: a large one is no part of a
refusal. Values are small, and name nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from reports.observed.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import (
    RefusalKind,
    answers_in_words,
    code_of,
    is_granted,
    is_page,
    is_refusal,
    refusal_kind,
    refusal_of_the_caller,
    refused_or_lost,
    succeeded,
)
from spec.exchange import VALID, Exchange
from spec.facts import Facts
from spec.interface import READS, operations
from spec.message import Text, joined, say
from spec.observed import (
    ObservedValues,
    answer_of,
    answer_that_stands,
    by_situation,
    indistinguishable,
    is_evidence,
    is_refused,
)
from tests.harness.selection import MAY_BE_OPEN
from tests.traffic.described import format_of, number_of
from tests.traffic.execution import Execution
from tests.traffic.keys.purposes import OTHER_TYPES
from tests.traffic.robustness import send_invalid, without_the_token
from tests.traffic.scenario import Traffic

_REGISTER, _EXECUTE = "registerPixKey", "executePix"
Situated = tuple[Text, Exchange]
"""A request that may be refused: its situation, and the exchange."""
Name = tuple[str, str, str]
"""A class of invalid requests: the operation, what is unusual, and how."""

# -- the classes of invalid requests ------------------------------------------------------------------------------

_LARGE = frozenset({"very long", "a very long text", "long"})
"""The classes that show whether a service limits the size of a request."""
COMPLETE: Name = (_REGISTER, "pixKey", "a synthetic key")
"""A registration of a synthetic key with every field: what lacks one is compared with it."""
OTHER_ACCOUNT: Name = (_REGISTER, "account", "text")
"""A registration whose body names another account than its path."""
_MISSING = "missing"


def _classes(traffic: Traffic) -> dict[Name, Exchange]:
    """The invalid requests by their class, those that were sent again with the answer that is evidence."""
    sent = traffic.result_of(send_invalid)
    return {
        (case.operation, case.where, case.what): answer_that_stands(seen, traffic.reproduction.again)
        for case, seen in sent
    }


def one_of(name: Name, traffic: Traffic) -> Exchange | None:
    """The invalid request of this class, if its answer is evidence."""
    seen = _classes(traffic).get(name)
    return seen if seen and is_evidence(seen) else None


def incomplete_ones(traffic: Traffic) -> dict[str, Exchange]:
    """The registrations that lack a field, by that field; those whose answer is evidence."""
    classes = _classes(traffic).items()
    return {
        name[1]: seen for name, seen in classes if (name[0], name[2]) == (_REGISTER, _MISSING) and is_evidence(seen)
    }


def large_ones(traffic: Traffic) -> list[Situated]:
    """The large requests whose answer is evidence, by a phrase."""
    classes = _classes(traffic).items()
    return [(joined(name, ", "), seen) for name, seen in classes if name[2] in _LARGE and is_evidence(seen)]


def sizes_of(sent: Iterable[Situated]) -> ObservedValues:
    """By large request, whether it was refused for its size, and how."""
    return by_situation(
        (what, answer_of(seen) if refused_or_lost(seen) is RefusalKind.SIZE else "not refused for its size")
        for what, seen in sent
    )


# -- refusals -----------------------------------------------------------------------------------------------------

_CREDENTIALS = {
    NO_HEADER: "without a token",
    ANOTHER: "with a wrong token",
    "an empty bearer": "with an empty bearer",
    "Basic credentials": "with Basic credentials",
}
"""Bad credentials that every run sends, whatever its token looks like."""


def refusals_of(operation: str, traffic: Traffic) -> list[Situated]:
    """Refused requests to an operation, and invalid ones that are accepted."""
    sent = [*_with_a_bad_credential(operation, traffic), *_invalid(operation, traffic)]
    settled = [(situation, answer_that_stands(seen, traffic.reproduction.again)) for situation, seen in sent]
    return [(situation, seen) for situation, seen in settled if is_refused(seen) or _is_taken(seen)]


def _is_taken(seen: Exchange) -> bool:
    """True if it is surely taken for valid. Whether a token is wanted, a code is unknown, and how a key or an account
    looks, other requirements show."""
    if seen.response is None or seen.credential != VALID or seen.operation in (_EXECUTE, _REGISTER):
        return False
    return refusal_kind(seen.response) is None and not is_page(seen.response)


def _with_a_bad_credential(operation: str, traffic: Traffic) -> list[Situated]:
    sent = traffic.targeted(operation)
    if operation == _EXECUTE:  # with a real code the answer may depend on what became of it
        sent = traffic.log.sent(_EXECUTE, Execution.UNKNOWN_CODE_REFUSED)
    if operation in MAY_BE_OPEN:  # it refuses the body: whether it wants the token, another requirement shows
        sent = [seen for seen in without_the_token(traffic, operation) if _wants_the_token(seen, traffic) == REQUIRED]
    return [(_CREDENTIALS[seen.credential], seen) for seen in sent if seen.credential in _CREDENTIALS]


def _invalid(operation: str, traffic: Traffic) -> Iterator[Situated]:
    complete = one_of(COMPLETE, traffic)
    for name, seen in _classes(traffic).items():
        named, _, what = name
        if named != operation or seen.credential != VALID or what in _LARGE or name == OTHER_ACCOUNT:
            continue
        if what != _MISSING:
            yield joined(name[1:], ": "), seen
        elif complete and not indistinguishable(seen, complete):  # whether a field is needed, is another requirement
            yield "a field: missing", seen
    if operation == _REGISTER:
        for exchange in traffic.log.sent(_REGISTER, *OTHER_TYPES):
            yield "pixKeyType: another word", exchange


def refused_values(sent: Iterable[Situated], unknown: Exchange | None) -> ObservedValues:
    """By situation, how requests are refused. The answer that an unknown code gets is named as that: another
    requirement shows it."""

    def how(seen: Exchange) -> Facts | str:
        if unknown is not None and seen.credential == VALID and answer_of(seen) == answer_of(unknown):
            return "like an unknown code"
        return answer_of(seen) if is_refused(seen) else "not refused"

    return by_situation((situation, how(seen)) for situation, seen in sent)


def unknown_code(traffic: Traffic) -> Exchange | None:
    """An unknown transaction code, if its answer is evidence."""
    for answer in traffic.log.of(_EXECUTE, Execution.UNKNOWN_CODE):
        answer_that_counts = answer_that_stands(answer, traffic.reproduction.again)
        if is_evidence(answer_that_counts):
            return answer_that_counts
    return None


def codes_of(sent: Iterable[Situated]) -> ObservedValues:
    """By operation and what its requests are refused for, the values of `code`."""
    codes = (
        (joined((seen.operation, situation), ", "), code_of(seen.response))
        for situation, seen in sent
        if seen.response and is_refused(seen)
    )
    return by_situation((name, number_of(Decimal(code))) for name, code in codes if code is not None) or {
        "": ["no code"]
    }


# -- whether an operation wants the token -------------------------------------------------------------------------


def wants_the_token(without: Exchange, valid: Exchange) -> str:
    """REQUIRED or NOT_REQUIRED, by the answers to a request without the token and to the same with it; empty if they
    do not tell."""
    if without.response is None or not is_evidence(without):
        return ""
    if refusal_of_the_caller(without.response):
        return REQUIRED
    if not is_refusal(without.response):
        return NOT_REQUIRED
    return REQUIRED if is_evidence(valid) and (succeeded(valid) or answer_of(without) != answer_of(valid)) else ""


def tokens_of(sent: Iterable[Exchange], traffic: Traffic) -> ObservedValues:
    """By operation, whether it wants the token; where the body is refused first, that is not shown."""
    answered = filter(is_evidence, sent)
    return {seen.operation: [_wants_the_token(seen, traffic) or "the body is refused first"] for seen in answered}


def _wants_the_token(without: Exchange, traffic: Traffic) -> str:
    [same] = without_the_token(traffic, without.operation, VALID)
    return wants_the_token(without, same)


# -- answers that the interface document does not describe -----------------------------------------------------------


def answers_to(operation: str, traffic: Traffic) -> list[Exchange]:
    """Every success of the operation so far, without generated traffic. How a valid request is refused is left out: it
    is for its time, a limit or an account."""
    return list(filter(succeeded, traffic.targeted(operation)))


def values_of(answers: Iterable[Exchange]) -> ObservedValues:
    """The facts of the answers."""
    return {"": [answer_of(seen) for seen in answers]}


def no_answer(operation: str, traffic: Traffic) -> Text:
    """Reason why no answer of the operation shows its shape, and what to supply, or to check; if no answer lasts, no
    more than the answers."""
    profile = traffic.profile
    valid = [exchange for exchange in traffic.targeted(operation) if exchange.expects_success]
    answer = answers_in_words(valid) if valid else say("no answer")
    if valid and not any(map(is_evidence, valid)):
        return say("no valid request succeeded ({answer})", answer=answer)
    what = f"requests.{operation}" if profile.accounts and operation not in READS else "accounts"
    if profile.accounts and operation in {*READS, *profile.requests}:
        return say("no valid request succeeded ({answer}): check {what}", answer=answer, what=what)
    return say("no valid request succeeded ({answer}): supply {what}", answer=answer, what=what)


# -- identifiers and keys -----------------------------------------------------------------------------------------


def formats_of_identifiers(exchanges: Iterable[Exchange]) -> ObservedValues:
    """The formats of the identifiers in the paths of granted requests."""
    named = ((operations()[seen.operation].path_parameter, seen) for seen in exchanges if succeeded(seen))
    return by_situation((name, format_of(seen.request.last_segment)) for name, seen in named if name)


# -- limits, codes and versions -----------------------------------------------------------------------------------

_OF_LIMITS = (
    "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Reset",
    "X-RateLimit-Limit", "X-RateLimit-Reset",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Reset",
)  # fmt: skip
_OF_VERSIONS = ("API-Version", "Deprecation", "Sunset", "X-API-Deprecated", "X-API-Version", "Api-Supported-Versions")
"""Headers that say which version answers, and until when: RFC 9745, RFC 8594, and common ones."""


def rate_limits_of(exchanges: Iterable[Exchange]) -> ObservedValues:
    """Shape of a 429, and rate-limit headers of granted requests."""
    limited = [seen for seen in exchanges if refused_or_lost(seen) is RefusalKind.RATE_LIMIT]
    found: ObservedValues = {"a 429": [answer_of(seen) for seen in limited]} if limited else {"": ["no 429"]}
    return found | _headers_of(exchanges, _OF_LIMITS)


def version_headers_of(exchanges: Iterable[Exchange]) -> ObservedValues:
    """The headers about versions and deprecation."""
    return _headers_of(exchanges, _OF_VERSIONS)


def _headers_of(exchanges: Iterable[Exchange], names: Iterable[str]) -> ObservedValues:
    """By operation, which of these headers the answers to granted requests have. No value of them is kept."""
    granted = (seen for seen in exchanges if seen.operation and seen.credential == VALID and is_granted(seen))
    return by_situation(
        (seen.operation, ", ".join(filter(seen.response.header, names)) or "none") for seen in granted if seen.response
    )
