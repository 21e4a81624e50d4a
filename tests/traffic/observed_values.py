"""What an observation reads of one exchange: the phrase of its situation (`by_…`), and a value that names nobody.

Each function takes an exchange and the log that it is in, and gives None if the exchange shows nothing. Values are
small: facts of an answer, or a few words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from reports.observed.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import (
    RefusalKind,
    code_of,
    data_of,
    find,
    is_granted,
    is_judged_as_success,
    is_page,
    is_refusal,
    refusal_kind,
    refusal_of_the_caller,
    refused_or_lost,
    registered,
    succeeded,
)
from spec.exchange import VALID, Exchange
from spec.facts import Facts, is_plain_value
from spec.interface import MARK, operations
from spec.json_text import is_integer
from spec.key_list import UUID
from spec.log import Log
from spec.message import Text, joined
from spec.observed import answer_of, answer_that_stands, indistinguishable, is_evidence, is_refused
from tests.harness.selection import MAY_BE_OPEN
from tests.traffic.execution import Execution, Preparation
from tests.traffic.invalid import UNREADABLE
from tests.traffic.keys.purposes import OTHER_TYPES, body_sent, type_sent
from tests.traffic.robustness import Invalid, Unreadable, without_the_token
from tests.traffic.undescribed import Reading

_REGISTER, _EXECUTE = "registerPixKey", "executePix"

# -- answers as a whole -------------------------------------------------------------------------------------------


def answer_if_successful(exchange: Exchange, log: Log) -> Facts | None:
    """The answer to a valid request that succeeded. How one is refused is left out, because it is for its time, a limit
    or an account."""
    return answer_of(exchange) if succeeded(exchange) else None


def answer_if_it_stays(exchange: Exchange, log: Log) -> Facts | None:
    """The answer, unless it may be another one in a minute."""
    return answer_of(exchange) if is_evidence(exchange) else None


def answer_to_too_many_requests(exchange: Exchange, log: Log) -> Facts | None:
    """The answer if it is a 429."""
    return answer_of(exchange) if refused_or_lost(exchange) is RefusalKind.RATE_LIMIT else None


def by_operation(exchange: Exchange, log: Log) -> Text | None:
    """The operation; None for an undocumented path."""
    return exchange.operation or None


# -- headers and identifiers --------------------------------------------------------------------------------------

_OF_LIMITS = (
    "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Reset",
    "X-RateLimit-Limit", "X-RateLimit-Reset",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Reset",
)  # fmt: skip
_OF_VERSIONS = ("API-Version", "Deprecation", "Sunset", "X-API-Deprecated", "X-API-Version", "Api-Supported-Versions")
"""Headers that say which version answers, and until when: RFC 9745, RFC 8594, and common ones."""
_CHARACTERS = (
    ("the form of a UUID", UUID),
    ("digits", re.compile(r"[0-9]+")),
    ("+ and digits", re.compile(r"\+[0-9]+")),
    ("digits and punctuation", re.compile(r"[0-9 ().,/+-]+")),
    ("an e-mail address", re.compile(r"[^@\s]+@[^@\s]+")),
)


def headers_of_limits(exchange: Exchange, log: Log) -> str | None:
    """Headers about the rate of requests in the answer to a granted request."""
    return _headers_in(exchange, _OF_LIMITS)


def headers_of_versions(exchange: Exchange, log: Log) -> str | None:
    """Headers about versions and deprecation in the answer to a granted request."""
    return _headers_in(exchange, _OF_VERSIONS)


def _headers_in(exchange: Exchange, names: Iterable[str]) -> str | None:
    """Which of these headers the answer to a granted request has. No value of them is kept."""
    response = exchange.response
    if response is None or exchange.credential != VALID or not is_granted(exchange):
        return None
    return ", ".join(filter(response.header, names)) or "none"


def by_path_parameter(exchange: Exchange, log: Log) -> Text | None:
    """The name of the path parameter; None if the operation has none."""
    operation = operations().get(exchange.operation)
    return operation.path_parameter if operation else None


def format_of_identifier(exchange: Exchange, log: Log) -> str | None:
    """The format of the identifier in the path of a granted request."""
    return format_of(exchange.request.last_segment) if succeeded(exchange) else None


def format_of(text: str) -> str:
    """The characters that a text is of."""
    return next((name for name, form in _CHARACTERS if form.fullmatch(text)), "other characters")


# -- whether an operation wants the token -------------------------------------------------------------------------


def need_of_the_token(without: Exchange, valid: Exchange) -> str:
    """REQUIRED or NOT_REQUIRED, by the answers to a request without the token and to the same with it; empty if they
    do not tell."""
    if without.response is None or not is_evidence(without):
        return ""
    if refusal_of_the_caller(without.response):
        return REQUIRED
    if not is_refusal(without.response):
        return NOT_REQUIRED
    return REQUIRED if is_evidence(valid) and (succeeded(valid) or answer_of(without) != answer_of(valid)) else ""


def need_of_the_token_for_a_read(exchange: Exchange, log: Log) -> str | None:
    """Whether a read wants the token, by a request without it and the same with it."""
    [with_token] = log.of(exchange.operation, Reading.WITH_TOKEN)
    return need_of_the_token(exchange, with_token) or None


def need_of_the_token_for_a_write(exchange: Exchange, log: Log) -> str | None:
    """Whether an operation that writes wants the token; if it refuses the body first, that is not shown."""
    if exchange.credential != NO_HEADER or not is_evidence(exchange):
        return None
    return _difference_of_the_token(exchange, log) or "the body is refused first"


def _difference_of_the_token(exchange: Exchange, log: Log) -> str:
    """Whether the token makes a difference to an unreadable body."""
    [with_token] = without_the_token(log, exchange.operation, VALID)
    return need_of_the_token(exchange, with_token)


# -- invalid requests ---------------------------------------------------------------------------------------------

_LARGE = frozenset({"very long", "a very long text", "long"})
"""How requests are invalid that show whether a service limits the size of a request."""
_COMPLETE = ("pixKey", "a synthetic key")
"""A registration of a synthetic key with every field: what lacks one is compared with it."""
_OTHER_ACCOUNT = ("account", "text")
"""A registration whose body names another account than its path."""
_MISSING = "missing"


def by_large_request(exchange: Exchange, log: Log) -> Text | None:
    """What is large in a request: the operation, the part and how it is."""
    if exchange.unusual[1] not in _LARGE or not _shows_its_class(exchange, log):
        return None
    return joined((exchange.operation, *exchange.unusual), ", ")


def refusal_for_its_size(exchange: Exchange, log: Log) -> Facts | str | None:
    """How a large request is refused for its size, or that it is not."""
    if not is_evidence(exchange):
        return None
    if refused_or_lost(exchange) is RefusalKind.SIZE:
        return answer_of(exchange)
    return "not refused for its size"


def _shows_its_class(exchange: Exchange, log: Log) -> bool:
    """True for the request that stands for its class. On a sandbox some deletions are sent for two accounts."""
    return _of_class(exchange.operation, exchange.unusual, log) == exchange


def _of_class(operation: str, unusual: tuple[str, str], log: Log) -> Exchange | None:
    """The invalid request of a class, if one was sent. Of two deletions that are alike it is the one for an account
    that nobody has, because off a sandbox that one alone is sent; with an unreadable body it is the other one."""
    requests = [exchange for exchange in log.of(operation, Invalid.IS_OBSERVED) if exchange.unusual == unusual]
    is_unreadable = unusual[1] in UNREADABLE
    preferred = [exchange for exchange in requests if (MARK in exchange.request.last_segment) != is_unreadable]
    return next(reversed(preferred or requests), None)


def _complete_registration(log: Log) -> Exchange | None:
    """The registration that incomplete ones are compared with, if its answer is_evidence."""
    complete = _of_class(_REGISTER, _COMPLETE, log)
    if complete is None:
        return None
    answer = answer_that_stands(complete, log)
    return answer if is_evidence(answer) else None


# -- refusals -----------------------------------------------------------------------------------------------------

_CREDENTIALS = {
    NO_HEADER: "without a token",
    ANOTHER: "with a wrong token",
    "an empty bearer": "with an empty bearer",
    "Basic credentials": "with Basic credentials",
}
"""Bad credentials that every run sends, whatever its token looks like."""


def by_what_is_refused(exchange: Exchange, log: Log) -> Text | None:
    """What a request may be refused for; None if another requirement shows how it is refused."""
    if exchange.credential != VALID:
        return _by_credential(exchange, log)
    if exchange.purpose in OTHER_TYPES:
        return "pixKeyType: another word"
    if exchange.purpose is not Invalid.IS_OBSERVED or not _shows_its_class(exchange, log):
        return None
    return _by_what_is_invalid(exchange, log)


def by_operation_and_what_is_refused(exchange: Exchange, log: Log) -> Text | None:
    """The operation, and what a request may be refused for."""
    what = by_what_is_refused(exchange, log) if exchange.operation else None
    return None if what is None else joined((exchange.operation, what), ", ")


def _by_credential(exchange: Exchange, log: Log) -> Text | None:
    if exchange.operation == _EXECUTE and exchange.purpose is not Execution.UNKNOWN_CODE_REFUSED:
        return None  # with a real code the answer may depend on what became of it
    if exchange.operation in MAY_BE_OPEN:
        if exchange.purpose is not Unreadable.IS_THE_TOKEN_WANTED:
            return None
        if _difference_of_the_token(exchange, log) != REQUIRED:
            return None  # it refuses the body: whether it wants the token, another requirement shows
    return _CREDENTIALS.get(exchange.credential)


def _by_what_is_invalid(exchange: Exchange, log: Log) -> Text | None:
    what = exchange.unusual[1]
    is_other_account = exchange.operation == _REGISTER and exchange.unusual == _OTHER_ACCOUNT
    if what in _LARGE or is_other_account:
        return None
    if what != _MISSING:
        return joined(exchange.unusual, ": ")
    complete, answer = _complete_registration(log), answer_that_stands(exchange, log)
    if complete is None or indistinguishable(answer, complete):
        return None  # whether a field is needed, is another requirement
    return "a field: missing"


def how_it_is_refused(exchange: Exchange, log: Log) -> Facts | str | None:
    """How a request is refused, or that it is taken for valid. The answer that an unknown code gets is named as that,
    because another requirement shows it."""
    if not is_refused(exchange) and not _is_taken_for_valid(exchange):
        return None
    if exchange.operation == _EXECUTE and exchange.credential == VALID:
        answer = answer_of(exchange)
        if answer in [answer_of(unknown) for unknown in _unknown_codes(log)]:
            return "like an unknown code"
    return answer_of(exchange) if is_refused(exchange) else "not refused"


def _is_taken_for_valid(exchange: Exchange) -> bool:
    """True if an invalid request is surely taken for valid. Whether a token is wanted, a code is unknown, and how a key
    or an account looks, other requirements show."""
    if exchange.response is None or exchange.credential != VALID or exchange.operation in (_EXECUTE, _REGISTER):
        return False
    return refusal_kind(exchange.response) is None and not is_page(exchange.response)


def _unknown_codes(log: Log) -> list[Exchange]:
    """The first execution of an unknown code whose answer is_evidence, if any."""
    answers = [answer_that_stands(exchange, log) for exchange in log.of(_EXECUTE, Execution.UNKNOWN_CODE)]
    return [answer for answer in answers if is_evidence(answer)][:1]


def code_of_refusal(exchange: Exchange, log: Log) -> str | None:
    """The value of `code` in a refusal."""
    code = code_of(exchange.response) if exchange.response and is_refused(exchange) else None
    return None if code is None else number_of(Decimal(code))


# -- fields of the execution result -------------------------------------------------------------------------------

_LARGEST = 9_999
_UNITS = {9: "seconds", 12: "milliseconds", 15: "microseconds", 18: "nanoseconds"}
"""Units of a date since 1970, by the power of ten of its size."""


def by_code_and_status(exchange: Exchange, log: Log) -> Text | None:
    """The operation that prepared the code; or the status, if the code was supplied."""
    return _by_code(exchange, _status_in_result(exchange), log)


def by_code_and_account_type(exchange: Exchange, log: Log) -> Text | None:
    """The operation that prepared the code; or the account type, if the code was supplied."""
    return _by_code(exchange, _account_type_in_result(exchange), log)


def status_in_result(exchange: Exchange, log: Log) -> str | None:
    """The status of an execution result; of a supplied code no more than that it was seen."""
    return _of_code(exchange, _status_in_result(exchange))


def account_type_in_result(exchange: Exchange, log: Log) -> str | None:
    """The account type of an execution result; of a supplied code no more than that it was seen."""
    return _of_code(exchange, _account_type_in_result(exchange))


def unit_of_date(exchange: Exchange, log: Log) -> str | None:
    """The unit that the size of the date of an execution result suggests."""
    date = _in_result(exchange, "date")
    if not isinstance(date, Decimal):
        return None
    unit = _UNITS.get(date.adjusted())
    return f"{unit} since 1970" if unit else f"10^{date.adjusted()}"


def status_before_execution(exchange: Exchange, log: Log) -> str | None:
    """The status of a transfer in the answer to its preparation."""
    if not succeeded(exchange):
        return None
    data = data_of(exchange.response) or {}
    return word_of(data["status"]) if "status" in data else "no status"


def _by_code(exchange: Exchange, value: str | None, log: Log) -> Text | None:
    """Situation of a value that depends on the transfer: the operation that prepared it. Supplied codes may be of other
    transfers in the next run."""
    if value is None:
        return None
    if exchange.purpose is not Execution.PREPARED:
        return joined((value, "for a supplied code"), " ")
    return next((preparation.operation for preparation in log.with_purpose(Preparation.TO_EXECUTE)), "")


def _of_code(exchange: Exchange, value: str | None) -> str | None:
    return value if value is None or exchange.purpose is Execution.PREPARED else "seen"


def _status_in_result(exchange: Exchange) -> str | None:
    value = _in_result(exchange, "status")
    return None if value is _ABSENT else word_of(value)


def _account_type_in_result(exchange: Exchange) -> str | None:
    value = _in_result(exchange, "accountType")
    return None if value is _ABSENT else number_of(value)


_ABSENT = object()


def _in_result(exchange: Exchange, field: str) -> object:
    """The value of a field of an execution result."""
    data = data_of(exchange.response) if is_judged_as_success(exchange) else None
    return (data or {}).get(field, _ABSENT)


def word_of(value: object) -> str:
    """A value of `status` as it is shown, or what else it is."""
    if not isinstance(value, str):
        return "no text"
    return value if is_plain_value(value) else "another text"


def number_of(value: object) -> str:
    """A number of few digits as it is, and of any other one the power of ten."""
    if not is_integer(value) or not isinstance(value, Decimal):
        return "no integer"
    return str(int(value)) if abs(value) <= _LARGEST else f"10^{value.adjusted()}"


# -- registrations ------------------------------------------------------------------------------------------------

ACCEPTED, REFUSED = "accepted", "refused"
LIKE_COMPLETE = "answered like a complete registration"
"""Accepted, as any key is, or refused: then the service looks at something else first."""
_SUCCESSES = ("true", "false", "True", "False")


def _accepted_or_refused(exchange: Exchange) -> str:
    return ACCEPTED if registered(exchange) else REFUSED


def word_of_success(exchange: Exchange, log: Log) -> str | None:
    """The value of Success in the answer to a registration."""
    success = find(data_of(exchange.response) or {}, "Success") if is_evidence(exchange) else None
    if not success:
        return None
    return success[1] if success[1] in _SUCCESSES else "another value"


def by_number_as_type(exchange: Exchange, log: Log) -> Text | None:
    """The digits that are sent as the type of an e-mail address. A service may look whether the key fits, so the phrase
    says which type is right."""
    return f"{type_sent(exchange)} = EMAIL"


def outcome_of_registration(exchange: Exchange, log: Log) -> str | None:
    """Outcome of a registration: accepted or refused."""
    return _accepted_or_refused(exchange) if is_evidence(exchange) else None


def by_missing_field(exchange: Exchange, log: Log) -> Text | None:
    """The field that a registration lacks."""
    field, what = exchange.unusual
    return field if what == _MISSING and _shows_its_class(exchange, log) else None


def need_of_the_field(exchange: Exchange, log: Log) -> str | None:
    """Whether a registration needs the field that this one lacks: not if it is accepted, and surely if a complete one
    of the same key is answered otherwise.

    A service that looks at the key first refuses both, and one that takes any key accepts both.
    """
    if not is_evidence(exchange):
        return None
    complete = _complete_registration(log)
    if complete is None:
        return NOT_REQUIRED if registered(exchange) else None
    are_both_registered = registered(exchange) and registered(complete)
    if are_both_registered or indistinguishable(exchange, complete):
        return LIKE_COMPLETE
    return NOT_REQUIRED if registered(exchange) else REQUIRED


def outcome_with_another_account(exchange: Exchange, log: Log) -> str | None:
    """Outcome of a registration whose body names another account than its path."""
    if exchange.unusual != _OTHER_ACCOUNT:
        return None
    outcomes = {NOT_REQUIRED: ACCEPTED, REQUIRED: REFUSED}
    value = need_of_the_field(exchange, log)
    return outcomes.get(value, value) if value else None


def by_type_and_format(exchange: Exchange, log: Log) -> Text | None:
    """Type and format of the key that a valid registration names. How a RANDOM key is asked for is the service's
    choice, so that its format is the value."""
    if not exchange.valid:
        return None
    key_type = type_sent(exchange)
    return key_type if key_type == "RANDOM" else joined((key_type, _format_of_key(exchange)), ", ")


def accepted_format(exchange: Exchange, log: Log) -> str | None:
    """That the format of a key is accepted; of a RANDOM key the format. Keys of the other types are those of the
    profile, and other formats may be accepted as well."""
    if not registered(exchange):
        return None
    return _format_of_key(exchange) if type_sent(exchange) == "RANDOM" else ACCEPTED


def _format_of_key(exchange: Exchange) -> str:
    body = body_sent(exchange)
    return format_of(body["pixKey"]) if "pixKey" in body else "left out"


def by_type_of_a_synthetic_key(exchange: Exchange, log: Log) -> Text | None:
    """The type of a synthetic text that is sent as a key: it has the format of none."""
    if exchange.unusual != _COMPLETE:
        return None
    return joined((type_sent(exchange), "a text that is no such key"), ", ")


def outcome_of_a_synthetic_key(exchange: Exchange, log: Log) -> str | None:
    """Outcome of a synthetic text that is sent as a key, unless it is refused for the caller."""
    if exchange.response is None or not is_evidence(exchange) or refusal_of_the_caller(exchange.response):
        return None
    return _accepted_or_refused(exchange)
