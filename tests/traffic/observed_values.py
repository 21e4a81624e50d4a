"""Functions that read an observation out of one exchange. The table in `observations.py` names them.

An observation is a pair of a situation and a value, such as "with a wrong token" and "401 application/json". It is no
verdict: the report shows it, because the interface document does not say how a service behaves there. Each public
function takes an exchange and the log that it is in, and returns None if the exchange shows nothing:

- A function `by_…` returns the situation that the exchange is in, as a phrase.
- Any other function returns the value: facts of the answer, or a few words. A value names nobody.

Words of this module:

- Only an answer that the same request would get again in a minute is evidence; a server error is not, for instance.
- The answer that stands is the answer to a request; or, if it is no evidence, that of the same request sent once more.
- The class of an invalid request says which part of it is invalid, and how, such as ("pixKey", "missing").

Self-tests: traffic/test_observations.py.
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
    is_granted,
    is_judged_as_success,
    is_page,
    is_refusal,
    member_named,
    refusal_kind,
    refusal_of_the_caller,
    refusal_or_failure,
    registered,
    succeeded,
)
from spec.exchange import VALID, Exchange
from spec.facts import Facts, is_plain_value
from spec.interface import SYNTHETIC_PREFIX, operations
from spec.json_text import is_integer
from spec.key_list import UUID
from spec.log import Log
from spec.message import Text, joined
from spec.observed import answer_of, final_answer, indistinguishable, is_evidence, is_refused
from tests.harness.selection import MAY_BE_OPEN
from tests.traffic.invalid import UNREADABLE
from tests.traffic.keys.purposes import OTHER_TYPES, body_sent, type_sent
from tests.traffic.money.executions import Execution, Preparation
from tests.traffic.robustness import Invalid, Unreadable, unreadable_requests
from tests.traffic.undescribed import Reading

_REGISTER, _EXECUTE = "registerPixKey", "executePix"

# -- answers as a whole -------------------------------------------------------------------------------------------


def answer_if_successful(exchange: Exchange, log: Log) -> Facts | None:
    """The answer to a valid request that succeeded.

    A refusal shows nothing here, because a valid request is refused for a reason of the moment: a limit, the time of
    day or the account.
    """
    return answer_of(exchange) if succeeded(exchange) else None


def answer_if_it_stays(exchange: Exchange, log: Log) -> Facts | None:
    """The answer, if it is evidence: the same request would get it again in a minute."""
    return answer_of(exchange) if is_evidence(exchange) else None


def answer_to_too_many_requests(exchange: Exchange, log: Log) -> Facts | None:
    """The answer if it says that too many requests were sent (status 429)."""
    return answer_of(exchange) if refusal_or_failure(exchange) is RefusalKind.RATE_LIMIT else None


def by_operation(exchange: Exchange, log: Log) -> Text | None:
    """The operation; None for an undocumented path."""
    return exchange.operation or None


# -- headers and identifiers --------------------------------------------------------------------------------------

_HEADERS_OF_LIMITS = (
    "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Reset",
    "X-RateLimit-Limit", "X-RateLimit-Reset",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Reset",
)  # fmt: skip
_HEADERS_OF_VERSIONS = (
    "API-Version",
    "Deprecation",
    "Sunset",
    "X-API-Deprecated",
    "X-API-Version",
    "Api-Supported-Versions",
)
"""Headers that say which version answers, and until when: RFC 9745, RFC 8594, and common ones."""
_FORMATS = (
    ("the form of a UUID", UUID),
    ("digits", re.compile(r"[0-9]+")),
    ("+ and digits", re.compile(r"\+[0-9]+")),
    ("digits and punctuation", re.compile(r"[0-9 ().,/+-]+")),
    ("an e-mail address", re.compile(r"[^@\s]+@[^@\s]+")),
)
"""Formats of identifiers, in words. The first one that fits a text is its format, so narrow ones come first."""


def headers_of_limits(exchange: Exchange, log: Log) -> str | None:
    """Headers about the rate of requests in the answer to a granted request."""
    return _names_of_headers(exchange, _HEADERS_OF_LIMITS)


def headers_of_versions(exchange: Exchange, log: Log) -> str | None:
    """Headers about versions and deprecation in the answer to a granted request."""
    return _names_of_headers(exchange, _HEADERS_OF_VERSIONS)


def _names_of_headers(exchange: Exchange, names: Iterable[str]) -> str | None:
    """The headers with these names that the answer to a granted request has. No value of a header is kept."""
    response = exchange.response
    if response is None or exchange.credential != VALID or not is_granted(exchange):
        return None
    present = [name for name in names if response.header(name)]
    return ", ".join(present) or "none"


def by_path_parameter(exchange: Exchange, log: Log) -> Text | None:
    """The name of the path parameter; None if the operation has none."""
    operation = operations().get(exchange.operation)
    return operation.path_parameter if operation else None


def format_of_identifier(exchange: Exchange, log: Log) -> str | None:
    """The format of the identifier in the path of a granted request."""
    return format_of(exchange.request.last_segment) if succeeded(exchange) else None


def format_of(text: str) -> str:
    """The format of an identifier or a key, in words."""
    return next((name for name, pattern in _FORMATS if pattern.fullmatch(text)), "other characters")


# -- whether an operation wants the token -------------------------------------------------------------------------


def need_of_the_token(without_token: Exchange, with_token: Exchange) -> str:
    """REQUIRED or NOT_REQUIRED, by the answers to the same request without and with the token.

    | without the token | with the token | the token is |
    |---|---|---|
    | refused because of the caller | | REQUIRED |
    | not refused | | NOT_REQUIRED |
    | refused for something else | granted, or another answer | REQUIRED |
    | refused for something else | the same answer | unknown: the text is empty |

    Empty, too, if the same request may get another answer than these in a minute.
    """
    if without_token.response is None or not is_evidence(without_token):
        return ""
    if refusal_of_the_caller(without_token.response):
        return REQUIRED
    if not is_refusal(without_token.response):
        return NOT_REQUIRED
    if not is_evidence(with_token):
        return ""
    differs = succeeded(with_token) or answer_of(without_token) != answer_of(with_token)
    return REQUIRED if differs else ""


def need_of_the_token_for_a_read(exchange: Exchange, log: Log) -> str | None:
    """REQUIRED or NOT_REQUIRED for a read, by its answers without and with the token."""
    [with_token] = log.of(exchange.operation, Reading.WITH_TOKEN)
    return need_of_the_token(exchange, with_token) or None


def need_of_the_token_for_a_write(exchange: Exchange, log: Log) -> str | None:
    """REQUIRED or NOT_REQUIRED for an operation that writes, by its answers to an unreadable body.

    If it refuses the body before it looks at the token, the answers do not tell.
    """
    if exchange.credential != NO_HEADER or not is_evidence(exchange):
        return None
    need = _need_by_unreadable_body(exchange, log)
    return need or "the body is refused first"


def _need_by_unreadable_body(exchange: Exchange, log: Log) -> str:
    """REQUIRED or NOT_REQUIRED, by a request with an unreadable body and the same with the token; empty if they do not
    tell."""
    [with_token] = unreadable_requests(log, exchange.operation, VALID)
    return need_of_the_token(exchange, with_token)


# -- invalid requests ---------------------------------------------------------------------------------------------

_LARGE_SIZES = frozenset({"very long", "a very long text", "long"})
"""Classes of invalid requests that show whether a service limits the size of a request."""
_COMPLETE = ("pixKey", "a synthetic key")
"""Class of a registration with every field. Registrations that lack a field are compared with it."""
_OTHER_ACCOUNT = ("account", "text")
"""Class of a registration whose body names another account than its path."""
_MISSING = "missing"
"""The unusual thing about a registration that lacks a field."""


def by_large_request(exchange: Exchange, log: Log) -> Text | None:
    """The operation, the part of the request that is large, and in which way, as the situation."""
    _, how_it_is_unusual = exchange.unusual
    if how_it_is_unusual not in _LARGE_SIZES or not _represents_its_class(exchange, log):
        return None
    return joined((exchange.operation, *exchange.unusual), ", ")


def refusal_for_its_size(exchange: Exchange, log: Log) -> Facts | str | None:
    """The refusal of a large request because of its size, or words that say that it was not refused for that."""
    if not is_evidence(exchange):
        return None
    if refusal_or_failure(exchange) is RefusalKind.SIZE:
        return answer_of(exchange)
    return "not refused for its size"


def _represents_its_class(exchange: Exchange, log: Log) -> bool:
    """True if this request is the one that is observed for its class of invalid requests.

    On a sandbox two deletions of one class are sent, for two accounts. Only one of them is observed.
    """
    return _request_of_class(exchange.operation, exchange.unusual, log) == exchange


def _request_of_class(operation: str, unusual: tuple[str, str], log: Log) -> Exchange | None:
    """The invalid request of this class that is observed; None if none was sent.

    Of two deletions of a class, it is the one for a synthetic account, because outside a sandbox only this one is sent,
    and runs shall be comparable. But with an unreadable body it is the one for the account of the profile, because an
    existing account shows more.
    """
    requests = [exchange for exchange in log.of(operation, Invalid.IS_OBSERVED) if exchange.unusual == unusual]
    _, how_it_is_unusual = unusual
    is_unreadable = how_it_is_unusual in UNREADABLE
    preferred = []
    for exchange in requests:
        is_for_synthetic_account = SYNTHETIC_PREFIX in exchange.request.last_segment
        if is_for_synthetic_account != is_unreadable:
            preferred.append(exchange)
    candidates = preferred or requests
    return candidates[-1] if candidates else None


def _complete_registration(log: Log) -> Exchange | None:
    """The answer to a registration with every field, with which registrations that lack one are compared.

    None if it is no evidence, or if none was sent.
    """
    complete = _request_of_class(_REGISTER, _COMPLETE, log)
    if complete is None:
        return None
    answer = final_answer(complete, log)
    return answer if is_evidence(answer) else None


# -- refusals -----------------------------------------------------------------------------------------------------

_PHRASES_OF_CREDENTIALS = {
    NO_HEADER: "without a token",
    ANOTHER: "with a wrong token",
    "an empty bearer": "with an empty bearer",
    "Basic credentials": "with Basic credentials",
}
"""By wrong credential, its situation. Every run sends these credentials, whatever its token looks like."""


def by_what_is_refused(exchange: Exchange, log: Log) -> Text | None:
    """The reason for which a request should be refused, such as its credential or an invalid part, as the situation.

    None if another requirement shows how such a request is refused.
    """
    if exchange.credential != VALID:
        return _by_credential(exchange, log)
    if exchange.purpose in OTHER_TYPES:
        return "pixKeyType: another word"
    if exchange.purpose is not Invalid.IS_OBSERVED or not _represents_its_class(exchange, log):
        return None
    return _by_unusual_part(exchange, log)


def by_operation_and_what_is_refused(exchange: Exchange, log: Log) -> Text | None:
    """The operation, and the reason for which the request should be refused; None for an undocumented path."""
    if not exchange.operation:
        return None
    refused_part = by_what_is_refused(exchange, log)
    return None if refused_part is None else joined((exchange.operation, refused_part), ", ")


def _by_credential(exchange: Exchange, log: Log) -> Text | None:
    """The situation of a request with a wrong credential; None if its answer may depend on something else, too."""
    if exchange.operation == _EXECUTE and exchange.purpose is not Execution.UNKNOWN_CODE_REFUSED:
        return None  # with a real code the answer may depend on whether it was executed before
    if exchange.operation in MAY_BE_OPEN:  # it writes, and may need no token: only its unreadable requests count
        if exchange.purpose is not Unreadable.IS_THE_TOKEN_WANTED:
            return None
        if _need_by_unreadable_body(exchange, log) != REQUIRED:
            return None  # the body is refused. Another requirement shows whether the operation wants the token
    return _PHRASES_OF_CREDENTIALS.get(exchange.credential)


def _by_unusual_part(exchange: Exchange, log: Log) -> Text | None:
    """The situation of an invalid request: which part is invalid, and how. None if another requirement shows that."""
    _, how_it_is_unusual = exchange.unusual
    is_other_account = exchange.operation == _REGISTER and exchange.unusual == _OTHER_ACCOUNT
    if how_it_is_unusual in _LARGE_SIZES or is_other_account:
        return None  # general.sizeLimit, registerPixKey.account.relation
    if how_it_is_unusual != _MISSING:
        return joined(exchange.unusual, ": ")
    complete = _complete_registration(log)
    answer = final_answer(exchange, log)
    if complete is None or indistinguishable(answer, complete):
        return None  # registerPixKey.body.required shows whether the field is needed
    return "a field: missing"


def how_it_is_refused(exchange: Exchange, log: Log) -> Facts | str | None:
    """The refusal of a request as facts; or the words that it was not refused. None if neither is certain.

    If an execution gets the same refusal as a code that does not exist, the value says only that, because
    executePix.unknownCode shows the refusal itself.
    """
    if not is_refused(exchange) and not _is_taken_for_valid(exchange):
        return None
    if exchange.operation == _EXECUTE and exchange.credential == VALID:
        unknown_code = _answer_to_unknown_code(log)
        if unknown_code and answer_of(exchange) == answer_of(unknown_code):
            return "like an unknown code"
    return answer_of(exchange) if is_refused(exchange) else "not refused"


def _is_taken_for_valid(exchange: Exchange) -> bool:
    """True if the service surely took an invalid request for a valid one.

    Executions, registrations and requests without the token are left out: other requirements show whether a code is
    unknown, which keys are accepted, and whether the token is wanted.
    """
    is_shown_elsewhere = exchange.credential != VALID or exchange.operation in (_EXECUTE, _REGISTER)
    if exchange.response is None or is_shown_elsewhere:
        return False
    return refusal_kind(exchange.response) is None and not is_page(exchange.response)


def _answer_to_unknown_code(log: Log) -> Exchange | None:
    """The first execution of an unknown code whose answer is evidence; None if there is none."""
    for exchange in log.of(_EXECUTE, Execution.UNKNOWN_CODE):
        answer = final_answer(exchange, log)
        if is_evidence(answer):
            return answer
    return None


def code_of_refusal(exchange: Exchange, log: Log) -> str | None:
    """The value of `code` in a refusal; None if it has no such member."""
    if exchange.response is None or not is_refused(exchange):
        return None
    code = code_of(exchange.response)
    if code is None:
        return None
    return number_as_shown(Decimal(code))


# -- fields of the execution result -------------------------------------------------------------------------------

_LARGEST = 9_999
"""Largest number that is kept as it is. Codes and types have few digits; a longer number may name somebody."""
_UNITS = {9: "seconds", 12: "milliseconds", 15: "microseconds", 18: "nanoseconds"}
"""Units of a date since 1970, by its power of ten: a date of our time has about 1.8 * 10^9 seconds."""
_ABSENT = object()
"""Stands for a field that a result does not have. None would be the value null."""


def by_code_and_status(exchange: Exchange, log: Log) -> Text | None:
    """The operation that prepared the transfer; or, if its code was supplied by the profile, the status."""
    return _by_code(exchange, _status_in_result(exchange), log)


def by_code_and_account_type(exchange: Exchange, log: Log) -> Text | None:
    """The operation that prepared the transfer; or, if its code was supplied by the profile, the account type."""
    return _by_code(exchange, _account_type_in_result(exchange), log)


def status_in_result(exchange: Exchange, log: Log) -> str | None:
    """The status of an execution result.

    For a supplied code only the word "seen", because the phrase of its situation (`by_code_and_status`) has the status.
    """
    return _value_or_seen(exchange, _status_in_result(exchange))


def account_type_in_result(exchange: Exchange, log: Log) -> str | None:
    """The account type of an execution result.

    For a supplied code only the word "seen", because the phrase of its situation (`by_code_and_account_type`) has the
    type.
    """
    return _value_or_seen(exchange, _account_type_in_result(exchange))


def unit_of_date(exchange: Exchange, log: Log) -> str | None:
    """The unit of the date in an execution result, such as milliseconds, guessed from its number of digits."""
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
    return status_as_shown(data["status"]) if "status" in data else "no status"


def _by_code(exchange: Exchange, value: str | None, log: Log) -> Text | None:
    """The situation of a value that depends on the transfer: the operation that prepared it.

    The next run may have codes of other transfers supplied, with other values, so runs could not be compared by the
    value. So for a supplied code the situation has the value itself, and what is observed is that it was seen.
    """
    if value is None:
        return None
    if exchange.purpose is not Execution.PREPARED:
        return joined((value, "for a supplied code"), " ")
    return next((preparation.operation for preparation in log.with_purpose(Preparation.TO_EXECUTE)), "")


def _value_or_seen(exchange: Exchange, value: str | None) -> str | None:
    """The value, if the code was prepared by the run; for a supplied code only the word "seen"."""
    is_of_supplied_code = exchange.purpose is not Execution.PREPARED
    if value is not None and is_of_supplied_code:
        return "seen"
    return value


def _status_in_result(exchange: Exchange) -> str | None:
    """The status of an execution result; None if there is none."""
    value = _in_result(exchange, "status")
    return None if value is _ABSENT else status_as_shown(value)


def _account_type_in_result(exchange: Exchange) -> str | None:
    """The account type of an execution result; None if there is none."""
    value = _in_result(exchange, "accountType")
    return None if value is _ABSENT else number_as_shown(value)


def _in_result(exchange: Exchange, field: str) -> object:
    """The value of a field of an execution result; _ABSENT if there is no result, or no such field in it."""
    data = data_of(exchange.response) if is_judged_as_success(exchange) else None
    return (data or {}).get(field, _ABSENT)


def status_as_shown(value: object) -> str:
    """A status as it may be shown: the word itself if it is plain, else words that say what it is."""
    if not isinstance(value, str):
        return "no text"
    return value if is_plain_value(value) else "another text"


def number_as_shown(value: object) -> str:
    """A number as it may be shown: itself if it has few digits, else its power of ten."""
    if not is_integer(value) or not isinstance(value, Decimal):
        return "no integer"
    return str(int(value)) if abs(value) <= _LARGEST else f"10^{value.adjusted()}"


# -- registrations ------------------------------------------------------------------------------------------------

ACCEPTED, REFUSED = "accepted", "refused"
LIKE_COMPLETE = "answered like a complete registration"
"""Value if a missing field makes no difference: both registrations are accepted, or both are refused in the same way,
because the service looks at something else first."""
_WORDS_OF_SUCCESS = ("true", "false", "True", "False")
"""Values of Success that are shown as they are."""


def _accepted_or_refused(exchange: Exchange) -> str:
    """The outcome of a registration in one word."""
    return ACCEPTED if registered(exchange) else REFUSED


def word_of_success(exchange: Exchange, log: Log) -> str | None:
    """The value of Success in the answer to a registration."""
    if not is_evidence(exchange):
        return None
    member = member_named(data_of(exchange.response) or {}, "Success")
    if not member:
        return None
    _, value = member
    return value if value in _WORDS_OF_SUCCESS else "another value"


def by_number_as_type(exchange: Exchange, log: Log) -> Text | None:
    """The digits that are sent as the type of an e-mail address.

    The phrase also names the type of the key, because a service may check whether the key fits the digits.
    """
    return f"{type_sent(exchange)} = EMAIL"


def outcome_of_registration(exchange: Exchange, log: Log) -> str | None:
    """Outcome of a registration: accepted or refused."""
    return _accepted_or_refused(exchange) if is_evidence(exchange) else None


def by_missing_field(exchange: Exchange, log: Log) -> Text | None:
    """The field that a registration lacks, as the situation."""
    field, how_it_is_unusual = exchange.unusual
    is_missing = how_it_is_unusual == _MISSING
    return field if is_missing and _represents_its_class(exchange, log) else None


def need_of_the_field(exchange: Exchange, log: Log) -> str | None:
    """REQUIRED or NOT_REQUIRED for the field that a registration lacks, or LIKE_COMPLETE.

    | without the field | complete | the field is |
    |---|---|---|
    | accepted | accepted | LIKE_COMPLETE: the service takes any key |
    | refused | refused in the same way | LIKE_COMPLETE: the service looks at the key first |
    | accepted | refused | NOT_REQUIRED |
    | refused | accepted, or refused in another way | REQUIRED |

    None if an answer is no evidence. But a registration without the field that is accepted is enough for NOT_REQUIRED.
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
    """ACCEPTED, REFUSED or LIKE_COMPLETE for a registration whose body names another account than its path.

    It is compared with the complete registration, like one that lacks a field. The field account is NOT_REQUIRED if
    this registration is accepted and the complete one is not, and so on.
    """
    if exchange.unusual != _OTHER_ACCOUNT:
        return None
    need = need_of_the_field(exchange, log)
    if need is None:
        return None
    outcomes = {NOT_REQUIRED: ACCEPTED, REQUIRED: REFUSED, LIKE_COMPLETE: LIKE_COMPLETE}
    return outcomes[need]


def by_type_and_format(exchange: Exchange, log: Log) -> Text | None:
    """Type and format of the key that a valid registration names.

    Of a RANDOM key only the type: services ask for it in different ways, so its format is the value that is observed.
    """
    if not exchange.valid:
        return None
    key_type = type_sent(exchange)
    return key_type if key_type == "RANDOM" else joined((key_type, _format_of_key(exchange)), ", ")


def accepted_format(exchange: Exchange, log: Log) -> str | None:
    """The word ACCEPTED for a key whose format is accepted; for a RANDOM key its format.

    A refused key shows nothing. Other formats than that of the profile may be accepted as well.
    """
    if not registered(exchange):
        return None
    return _format_of_key(exchange) if type_sent(exchange) == "RANDOM" else ACCEPTED


def _format_of_key(exchange: Exchange) -> str:
    """The format of the key that a registration names, in words."""
    body = body_sent(exchange)
    return format_of(body["pixKey"]) if "pixKey" in body else "left out"


def by_type_of_a_synthetic_key(exchange: Exchange, log: Log) -> Text | None:
    """The type of a registration whose key is a synthetic text, which has the format of no type."""
    if exchange.unusual != _COMPLETE:
        return None
    return joined((type_sent(exchange), "a text that is no such key"), ", ")


def outcome_of_a_synthetic_key(exchange: Exchange, log: Log) -> str | None:
    """Outcome of a registration whose key is a synthetic text, unless it is refused because of the caller."""
    if exchange.response is None or not is_evidence(exchange) or refusal_of_the_caller(exchange.response):
        return None
    return _accepted_or_refused(exchange)
