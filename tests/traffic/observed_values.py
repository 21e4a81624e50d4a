"""Functions that read an observation out of one exchange. The table in `observations.py` names them.

An observation is a pair of a situation and a value, such as "with a wrong token" and "401 application/json". It is no
verdict: the report shows it, because the interface document does not say how a service behaves there. Each public
function takes an exchange and the log that it is in, and returns None if the exchange shows nothing. A parameter
`_log` is not used: all functions have the same parameters, because the table calls them in the same way.

- A function `situation_by_…` returns the situation that the exchange is in, as a phrase.
- Any other function returns the value: facts of the answer, or a few words. A value names nobody.

Words of this module:

- Only a lasting answer counts: the same request would get it again in a minute. A server error is not lasting.
- The final answer is the answer to a request; or, if it is not lasting, the answer to the same request sent once more.
- The kind of an invalid request says which part of it is invalid, and how, such as ("pixKey", "missing").

Self-tests: traffic/test_observations.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
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
    refusal_about_the_caller,
    refusal_kind,
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
from spec.observed import facts_of_answer, final_answer, is_answered_like, is_lasting_answer, is_refused
from tests.harness.selection import WRITES_PERHAPS_WITHOUT_TOKEN
from tests.traffic.invalid import UNREADABLE
from tests.traffic.keys.purposes import PURPOSES_WITH_OTHER_TYPES, body_sent, type_sent
from tests.traffic.money.executions import Execution, Preparation
from tests.traffic.robustness import Invalid, Unreadable, unreadable_requests
from tests.traffic.undescribed import Reading

_REGISTER, _EXECUTE = "registerPixKey", "executePix"

# -- answers as a whole -------------------------------------------------------------------------------------------


def answer_if_successful(exchange: Exchange, _log: Log) -> Facts | None:
    """Facts of the answer (status, media type, names and types of its members); None if the request did not succeed.

    It is for requirements about the shape of an answer that the document does not describe. A refusal shows nothing
    here, because a valid request is refused for a passing reason: a limit, the time of day or the account.
    """
    return facts_of_answer(exchange) if succeeded(exchange) else None


def answer_if_it_stays(exchange: Exchange, _log: Log) -> Facts | None:
    """Facts of the answer; None if the same request may get another answer in a minute, such as after a server error.

    Only an answer that stays the same shows how a service behaves.
    """
    return facts_of_answer(exchange) if is_lasting_answer(exchange) else None


def answer_to_too_many_requests(exchange: Exchange, _log: Log) -> Facts | None:
    """Facts of the answer if it says that too many requests were sent (status 429); None for any other answer."""
    return facts_of_answer(exchange) if refusal_or_failure(exchange) is RefusalKind.RATE_LIMIT else None


def situation_by_operation(exchange: Exchange, _log: Log) -> Text | None:
    """The situation under which the report shows a value: the operation, such as "listAccounts".

    None for an undocumented path.
    """
    return exchange.operation or None


# -- headers and identifiers --------------------------------------------------------------------------------------

_HEADERS_OF_LIMITS = (
    "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Reset",
    "X-RateLimit-Limit", "X-RateLimit-Reset",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Reset",
)  # fmt: skip
"""Headers that say how many requests a client may send: those of an IETF draft, and common ones."""
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


def headers_of_limits(exchange: Exchange, _log: Log) -> str | None:
    """Names of the headers about a rate limit that the answer to a granted request has, such as "RateLimit".

    The word "none" if it has none of these headers, and None if the request was not granted.
    """
    return _names_of_headers(exchange, _HEADERS_OF_LIMITS)


def headers_of_versions(exchange: Exchange, _log: Log) -> str | None:
    """Names of the headers about versions and deprecation that the answer to a granted request has, such as "Sunset".

    The word "none" if it has none of these headers, and None if the request was not granted.
    """
    return _names_of_headers(exchange, _HEADERS_OF_VERSIONS)


def _names_of_headers(exchange: Exchange, names: Iterable[str]) -> str | None:
    """Those of the names that the answer to a granted request has as headers, such as "Sunset, Deprecation".

    The word "none" if it has none of them. None if the request was sent without the valid token or was not granted,
    because a refusal often comes from a part of the service that adds no such headers. Values of headers are left out,
    because they differ between runs.
    """
    response = exchange.response
    had_the_valid_token = exchange.credential == VALID
    if response is None or not had_the_valid_token or not is_granted(exchange):
        return None
    present = [name for name in names if response.header(name)]
    return ", ".join(present) or "none"


def situation_by_path_parameter(exchange: Exchange, _log: Log) -> Text | None:
    """The situation under which the report shows a value: the name of the path parameter, such as "accountId".

    None if the path has no parameter.
    """
    operation = operations().get(exchange.operation)
    return operation.path_parameter if operation else None


def format_of_identifier(exchange: Exchange, _log: Log) -> str | None:
    """The format of the account or transaction code in the path, in words such as "digits"; None if refused.

    The identifier itself is not shown.
    """
    return format_of(exchange.request.last_segment) if succeeded(exchange) else None


def format_of(text: str) -> str:
    """The format of an identifier or a key, in words such as "digits" or "an e-mail address"."""
    for name, pattern in _FORMATS:
        if pattern.fullmatch(text):
            return name
    return "other characters"


# -- whether an operation wants the token -------------------------------------------------------------------------


def need_of_the_token(without_token: Exchange, with_token: Exchange) -> str:
    """Whether an operation needs the token: REQUIRED or NOT_REQUIRED, by the answers without and with the token.

    The two requests differ only in the token.

    | without the token | with the token | the token is |
    |---|---|---|
    | refused because of the caller, such as 401 | anything | REQUIRED |
    | not refused | anything | NOT_REQUIRED |
    | refused for something else | granted, or another answer | REQUIRED |
    | refused for something else | the same answer | unknown: the text is empty |

    It is also unknown if an answer is not lasting, such as a server error: the same request may get another answer in a
    minute.
    """
    if without_token.response is None or not is_lasting_answer(without_token):
        return ""
    if refusal_about_the_caller(without_token.response):
        return REQUIRED
    if not is_refusal(without_token.response):
        return NOT_REQUIRED
    if not is_lasting_answer(with_token):
        return ""
    token_changes_the_answer = succeeded(with_token) or facts_of_answer(without_token) != facts_of_answer(with_token)
    return REQUIRED if token_changes_the_answer else ""


def need_of_the_token_for_a_read(exchange: Exchange, log: Log) -> str | None:
    """Whether a read needs the token: REQUIRED or NOT_REQUIRED; None if the answers do not show it.

    `exchange` is the read without the token. It is compared with the same read with the token.
    """
    [with_token] = log.of(exchange.operation, Reading.WITH_TOKEN)  # there is exactly one
    return need_of_the_token(exchange, with_token) or None


def need_of_the_token_for_a_write(exchange: Exchange, log: Log) -> str | None:
    """Whether an operation that writes needs the token: REQUIRED, NOT_REQUIRED, or words that it is not known.

    It is asked with a body that cannot be read, so that nothing is written. If the service refuses the body before it
    looks at the token, the answers do not show whether the token is needed.
    """
    is_without_token = exchange.credential == NO_HEADER
    if not is_without_token or not is_lasting_answer(exchange):
        return None
    need = _need_by_unreadable_body(exchange, log)
    return need or "the body is refused first"


def _need_by_unreadable_body(exchange: Exchange, log: Log) -> str:
    """Whether an operation that writes needs the token: REQUIRED or NOT_REQUIRED; empty if the answers do not show it.

    `exchange` has an unreadable body and no token. It is compared with the same request with the token.
    """
    [with_token] = unreadable_requests(log, exchange.operation, VALID)  # there is exactly one
    return need_of_the_token(exchange, with_token)


# -- invalid requests ---------------------------------------------------------------------------------------------

_LARGE_SIZES = frozenset({"very long", "a very long text", "long"})
"""How invalid requests are unusual that show whether a service limits the size of a request."""
_COMPLETE = ("pixKey", "a synthetic key")
"""Kind of a registration with every field and a made-up key. Registrations that lack a field are compared with it."""
_OTHER_ACCOUNT = ("account", "text")
"""Kind of a registration whose body names another account than its path."""
_MISSING = "missing"
"""The unusual thing about a registration that lacks a field."""


def situation_by_large_request(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows a value: "registerPixKey, pixKey, a very long text", for example.

    It names the operation, the part of the request that is large, and in which way. None if the request is not large.
    None, too, if the report shows the answer to another request whose same part is large in the same way.
    """
    _, how_it_is_unusual = exchange.unusual  # such as ("pixKey", "a very long text")
    if how_it_is_unusual not in _LARGE_SIZES or not _is_observed_for_its_kind(exchange, log):
        return None
    return joined((exchange.operation, *exchange.unusual), ", ")


def refusal_for_its_size(exchange: Exchange, _log: Log) -> Facts | str | None:
    """How a service answers a large request, as a report shows it. The report shows facts and a text alike.

    | answer | result |
    |---|---|
    | a refusal because of the size, such as 413 | its facts: status, media type, names and types of its members |
    | any other, if it stays the same | the text "not refused for its size" |
    | one that may be another in a minute, such as a server error | None: nothing is shown |
    """
    if not is_lasting_answer(exchange):
        return None
    if refusal_or_failure(exchange) is RefusalKind.SIZE:
        return facts_of_answer(exchange)
    return "not refused for its size"


def _is_observed_for_its_kind(exchange: Exchange, log: Log) -> bool:
    """True if this is an invalid request whose answer the report shows, as the one request of its kind.

    A kind is the invalid part of a request and how it is invalid, such as ("pixKey", "missing"). On a sandbox two
    deletions of one kind are sent, for two accounts. Only one of them is shown, so that runs can be compared.
    """
    return _observed_request_of_kind(exchange.operation, exchange.unusual, log) == exchange


def _observed_request_of_kind(operation: str, unusual: tuple[str, str], log: Log) -> Exchange | None:
    """The invalid request whose answer the report shows for a kind, such as ("pixKey", "missing").

    None if no such request was sent. Two deletions of one kind may be sent, for two accounts:

    - If the body can be read, the report shows the deletion for an account that the suite made up (synthetic). Outside
      a sandbox only this one is sent, and runs shall be comparable.
    - If the body cannot be read, it shows the deletion for an account of the profile, because a service may look at the
      account first.
    """
    requests = [exchange for exchange in log.of(operation, Invalid.IS_OBSERVED) if exchange.unusual == unusual]
    _, how_it_is_unusual = unusual
    wants_synthetic_account = how_it_is_unusual not in UNREADABLE  # the ways in which a body cannot be read
    preferred = []
    for exchange in requests:
        has_synthetic_account = SYNTHETIC_PREFIX in exchange.request.last_segment
        if has_synthetic_account == wants_synthetic_account:
            preferred.append(exchange)
    # None is preferred, for example, if a made-up account replaces that of the profile (outside a sandbox).
    candidates = preferred or requests
    # The last one, because the scenario of deletions sends the request that is to be observed at the end.
    return candidates[-1] if candidates else None


def _complete_registration(log: Log) -> Exchange | None:
    """The registration with every field and a made-up key. A registration that lacks a field is compared with it.

    None if no such registration was sent, or if it may get another answer in a minute, such as after a server error.
    """
    complete = _observed_request_of_kind(_REGISTER, _COMPLETE, log)
    if complete is None:
        return None
    answer = final_answer(complete, log)  # of the same request, sent once more, if only that answer is lasting
    return answer if is_lasting_answer(answer) else None


# -- refusals -----------------------------------------------------------------------------------------------------

_PHRASES_OF_CREDENTIALS = {
    NO_HEADER: "without a token",
    WRONG_TOKEN: "with a wrong token",
    "an empty bearer": "with an empty bearer",
    "Basic credentials": "with Basic credentials",
}
"""By wrong credential, its situation. Every run sends these credentials, whatever its token looks like."""


def situation_by_what_is_refused(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows a refusal: the reason for which the request should be refused.

    For example "with a wrong token" or "body: cut short". None if the request is valid, or if another requirement shows
    how such a request is refused.
    """
    if exchange.credential != VALID:
        return _situation_by_credential(exchange, log)
    if exchange.purpose in PURPOSES_WITH_OTHER_TYPES:  # the type is none of PHONE, EMAIL, RANDOM, CNPJ and CPF
        return "pixKeyType: another word"
    is_invalid_request = exchange.purpose is Invalid.IS_OBSERVED
    if not is_invalid_request or not _is_observed_for_its_kind(exchange, log):
        return None
    return _situation_by_unusual_part(exchange, log)


def situation_by_operation_and_what_is_refused(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows a value: the operation, and why the request should be refused.

    For example "listAccounts, with a wrong token". None for an undocumented path, and if there is no such reason.
    """
    if not exchange.operation:
        return None
    reason = situation_by_what_is_refused(exchange, log)
    return None if reason is None else joined((exchange.operation, reason), ", ")


def _situation_by_credential(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows the refusal of a wrong credential, such as "without a token".

    None if its answer may depend on something else than the credential.
    """
    if exchange.operation == _EXECUTE and exchange.purpose is not Execution.UNKNOWN_CODE_REFUSED:
        return None  # with a real code the answer may depend on whether it was executed before
    if exchange.operation in WRITES_PERHAPS_WITHOUT_TOKEN:
        # These operations may accept anybody, so a wrong credential is sent to them with a body that cannot be read.
        if exchange.purpose is not Unreadable.IS_THE_TOKEN_WANTED:
            return None
        is_token_needed = _need_by_unreadable_body(exchange, log) == REQUIRED
        if not is_token_needed:
            return None  # the service perhaps refuses the body, and not the credential
    return _PHRASES_OF_CREDENTIALS.get(exchange.credential)


def _situation_by_unusual_part(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows the refusal of an invalid request: which part is invalid, and how.

    For example "body: cut short". None if another requirement, named in a comment here, shows how such requests are
    answered.
    """
    _, how_it_is_unusual = exchange.unusual
    is_other_account = exchange.operation == _REGISTER and exchange.unusual == _OTHER_ACCOUNT
    if how_it_is_unusual in _LARGE_SIZES or is_other_account:
        return None  # the requirements general.sizeLimit and registerPixKey.account.relation show these
    if how_it_is_unusual != _MISSING:
        return joined(exchange.unusual, ": ")
    complete = _complete_registration(log)
    answer = final_answer(exchange, log)
    if complete is None or is_answered_like(answer, complete):
        return None  # the answer is not about the field; registerPixKey.body.required shows whether it is needed
    return "a field: missing"


def how_it_is_refused(exchange: Exchange, log: Log) -> Facts | str | None:
    """Facts of the answer if a request was refused; words if it was not. None if neither is certain.

    If an execution gets the same refusal as a code that does not exist, the value says only that, because
    executePix.unknownCode shows the refusal itself.
    """
    if not is_refused(exchange) and not _is_taken_for_valid(exchange):
        return None
    if exchange.operation == _EXECUTE and exchange.credential == VALID:
        execution_of_unknown_code = _answer_to_unknown_code(log)
        if execution_of_unknown_code and facts_of_answer(exchange) == facts_of_answer(execution_of_unknown_code):
            return "like an unknown code"
    return facts_of_answer(exchange) if is_refused(exchange) else "not refused"


def _is_taken_for_valid(exchange: Exchange) -> bool:
    """True if the answer to an invalid request is certainly no refusal, so the service treated it as a valid request.

    False for executions, registrations and requests without the token. Other requirements show how an unknown code is
    answered, which keys are accepted, and whether the token is needed.
    """
    is_shown_elsewhere = exchange.credential != VALID or exchange.operation in (_EXECUTE, _REGISTER)
    if exchange.response is None or is_shown_elsewhere:
        return False
    is_refusal_of_any_kind = refusal_kind(exchange.response) is not None
    is_from_something_else = is_page(exchange.response)  # an HTML page, perhaps of a gateway
    return not is_refusal_of_any_kind and not is_from_something_else


def _answer_to_unknown_code(log: Log) -> Exchange | None:
    """The first execution of a code that does not exist, if its answer would be the same again in a minute.

    Other refusals of executions are compared with it. None if there is no such answer.
    """
    for exchange in log.of(_EXECUTE, Execution.UNKNOWN_CODE):
        answer = final_answer(exchange, log)
        if is_lasting_answer(answer):
            return answer
    return None


def code_of_refusal(exchange: Exchange, _log: Log) -> str | None:
    """The value of the envelope field `code` in a refusal, such as "17"; None if there is none."""
    if exchange.response is None or not is_refused(exchange):
        return None
    code = code_of(exchange.response)
    if code is None:
        return None
    return number_as_shown(Decimal(code))  # a long number may name somebody, so it is not shown as it is


# -- fields of the execution result -------------------------------------------------------------------------------

_LARGEST = 9_999
"""Largest number that is kept as it is. Codes and types have few digits; a longer number may name somebody."""
_UNITS = {9: "seconds", 12: "milliseconds", 15: "microseconds", 18: "nanoseconds"}
"""Units of a date since 1970, by its power of ten: a date of our time has about 1.8 * 10^9 seconds."""
_ABSENT = object()
"""Stands for a field that a result does not have. None would be the value null."""


def situation_by_code_and_status(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows the status of an execution result.

    It is the operation that prepared the transfer, such as "transferP2p". If the code is one of the profile,
    nobody knows how its transfer was prepared. Then the status names the situation: "DONE for a supplied code".
    """
    return _situation_by_code(exchange, _status_in_result(exchange), log)


def situation_by_code_and_account_type(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows the account type of an execution result.

    It is the operation that prepared the transfer, such as "transferP2p". If the code is one of the profile,
    nobody knows how its transfer was prepared. Then the account type names the situation: "1 for a supplied code".
    """
    return _situation_by_code(exchange, _account_type_in_result(exchange), log)


def status_in_result(exchange: Exchange, _log: Log) -> str | None:
    """What a report shows of the status in an execution result, beside its situation. None if there is no status.

    | code | situation (`situation_by_code_and_status`) | value |
    |---|---|---|
    | prepared by the run with transferP2p | "transferP2p" | "DONE" |
    | of the profile | "DONE for a supplied code" | "seen" |

    Codes of the profile differ from run to run. So runs can only be compared by whether a status was seen.
    """
    return _value_or_seen(exchange, _status_in_result(exchange))


def account_type_in_result(exchange: Exchange, _log: Log) -> str | None:
    """What a report shows of the account type in an execution result, beside its situation. None if there is no type.

    | code | situation (`situation_by_code_and_account_type`) | value |
    |---|---|---|
    | prepared by the run with transferP2p | "transferP2p" | "1" |
    | of the profile | "1 for a supplied code" | "seen" |

    Codes of the profile differ from run to run. So runs can only be compared by whether an account type was seen.
    """
    return _value_or_seen(exchange, _account_type_in_result(exchange))


def unit_of_date(exchange: Exchange, _log: Log) -> str | None:
    """The unit of the date in an execution result, such as milliseconds, guessed from its number of digits."""
    date = _in_result(exchange, "date")
    if not isinstance(date, Decimal):  # numbers of JSON are read as Decimal
        return None
    power_of_ten = date.adjusted()  # 12 for 1767225600000, which has 13 digits
    unit = _UNITS.get(power_of_ten)
    return f"{unit} since 1970" if unit else f"10^{power_of_ten}"


def status_before_execution(exchange: Exchange, _log: Log) -> str | None:
    """The status of a transfer in the answer to its preparation, before it is executed; None if it was not prepared."""
    if not succeeded(exchange):
        return None
    data = data_of(exchange.response) or {}
    return status_as_shown(data["status"]) if "status" in data else "no status"


def _situation_by_code(exchange: Exchange, value: str | None, log: Log) -> Text | None:
    """The situation under which the report shows a value of a transfer: the operation that prepared it ("transferP2p").

    The transfers of codes in the profile may differ from run to run, so their values cannot be compared between runs.
    So for such a code the situation is the value itself, such as "DONE for a supplied code", and what is observed is
    only that this value was seen. `value` is the status or the account type; None if the result has none.
    """
    if value is None:
        return None
    if exchange.purpose is not Execution.PREPARED:
        return joined((value, "for a supplied code"), " ")
    # All codes of a run are prepared with the same operation, so the first preparation is enough.
    preparations = log.with_purpose(Preparation.TO_EXECUTE)
    return preparations[0].operation if preparations else ""


def _value_or_seen(exchange: Exchange, value: str | None) -> str | None:
    """The value, if the run prepared the transfer; only the word "seen", if the code is one of the profile.

    The codes of a profile differ from run to run, so their values cannot be compared. For them the situation has the
    value (`_situation_by_code`), and the report only says that the situation was seen.
    """
    is_of_supplied_code = exchange.purpose is not Execution.PREPARED
    if value is not None and is_of_supplied_code:
        return "seen"
    return value


def _status_in_result(exchange: Exchange) -> str | None:
    """The status of an execution result as it may be shown, such as "DONE"; None if there is none."""
    value = _in_result(exchange, "status")
    return None if value is _ABSENT else status_as_shown(value)


def _account_type_in_result(exchange: Exchange) -> str | None:
    """The account type of an execution result as it may be shown, such as "1"; None if there is none."""
    value = _in_result(exchange, "accountType")
    return None if value is _ABSENT else number_as_shown(value)


def _in_result(exchange: Exchange, field: str) -> object:
    """The value of a field of an execution result; the marker _ABSENT if there is no result, or no such field in it.

    None cannot be the marker, because it stands for the value null.
    """
    data = data_of(exchange.response) if is_judged_as_success(exchange) else None
    return (data or {}).get(field, _ABSENT)


def status_as_shown(value: object) -> str:
    """A status as a report may show it: the word itself, such as "DONE"; "another text" if it may hold personal data.

    "no text" if it is not even a text.
    """
    if not isinstance(value, str):
        return "no text"
    return value if is_plain_value(value) else "another text"


def number_as_shown(value: object) -> str:
    """A number as a report may show it: itself if it has few digits, else its power of ten, such as "10^11".

    A long number may be an account or a document of somebody. "no integer" if it is something else.
    """
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
    """Outcome of a registration: the word "accepted" or "refused"."""
    return ACCEPTED if registered(exchange) else REFUSED


def word_of_success(exchange: Exchange, _log: Log) -> str | None:
    """The value of the field Success in the answer to a registration, such as "true".

    Another text than true or false is not shown, because it may hold data. None if there is no such field, or if the
    same request may get another answer in a minute.
    """
    if not is_lasting_answer(exchange):
        return None
    member = member_named(data_of(exchange.response) or {}, "Success")  # also if the answer misspells it
    if not member:
        return None
    _, value = member
    return value if value in _WORDS_OF_SUCCESS else "another value"


def situation_by_number_as_type(exchange: Exchange, _log: Log) -> Text | None:
    """The situation under which the report shows how digits are answered as key type, such as "1 = EMAIL".

    The phrase also names the type of the key, because a service may check whether the key fits the digits. The key is
    an e-mail address in each of these registrations.
    """
    return f"{type_sent(exchange)} = EMAIL"


def outcome_of_registration(exchange: Exchange, _log: Log) -> str | None:
    """Outcome of a registration: "accepted" or "refused"; None if it may get another answer in a minute."""
    return _accepted_or_refused(exchange) if is_lasting_answer(exchange) else None


def situation_by_missing_field(exchange: Exchange, log: Log) -> Text | None:
    """The situation under which the report shows whether a field is required: the name of the field, such as "pixKey".

    None if no field is missing, or if the report shows the answer to another request that lacks the same field.
    """
    field, how_it_is_unusual = exchange.unusual  # such as ("pixKey", "missing")
    is_missing = how_it_is_unusual == _MISSING
    return field if is_missing and _is_observed_for_its_kind(exchange, log) else None


def need_of_the_field(exchange: Exchange, log: Log) -> str | None:
    """Whether a registration needs the field that it lacks: REQUIRED, NOT_REQUIRED, or LIKE_COMPLETE (not known).

    It is compared with a complete registration. LIKE_COMPLETE if both are accepted, or both are refused in the same
    way. None if the answers show nothing, such as a server error.
    """
    outcome = _outcome_beside_complete_registration(exchange, log)
    if outcome == ACCEPTED:
        return NOT_REQUIRED
    if outcome == REFUSED:
        return REQUIRED
    return outcome


def outcome_with_another_account(exchange: Exchange, log: Log) -> str | None:
    """How a registration is answered whose body names another account than its path: ACCEPTED, REFUSED, LIKE_COMPLETE.

    It is compared with a registration that has the right account in its body. LIKE_COMPLETE if both are accepted or
    refused in the same way: the account in the body seems to make no difference. None if `exchange` is any other
    registration, or if the answers show nothing, such as a server error.
    """
    if exchange.unusual != _OTHER_ACCOUNT:
        return None
    return _outcome_beside_complete_registration(exchange, log)


def _outcome_beside_complete_registration(exchange: Exchange, log: Log) -> str | None:
    """Outcome of an invalid registration (one that lacks a field, for instance), compared with a complete registration.

    The key of the complete registration is a made-up text, so the service may refuse it:

    | the invalid one is | the complete one is | the outcome |
    |---|---|---|
    | accepted | accepted | LIKE_COMPLETE: the service accepts any key |
    | accepted | refused, or missing | ACCEPTED |
    | refused | refused in the same way | LIKE_COMPLETE: the service looks at the key first |
    | refused | accepted, or refused in another way | REFUSED |
    | refused | missing | None |

    An answer counts as missing if it is temporary, such as a server error. If the answer to the invalid registration is
    temporary, the outcome is None.
    """
    if not is_lasting_answer(exchange):
        return None
    is_accepted = registered(exchange)
    complete = _complete_registration(log)
    if complete is None:
        return ACCEPTED if is_accepted else None
    are_both_accepted = is_accepted and registered(complete)
    if are_both_accepted or is_answered_like(exchange, complete):
        return LIKE_COMPLETE
    return _accepted_or_refused(exchange)


def situation_by_type_and_format(exchange: Exchange, _log: Log) -> Text | None:
    """The type of a key and its format, such as "PHONE, + and digits". The report says for each whether it is accepted.

    The report calls it the situation of an answer, and `accepted_format` is what is observed in this situation. For a
    RANDOM key the situation is only the type. Its format (the field pixKey is empty or left out, for example) is what
    is observed, because services ask for a RANDOM key in different ways.
    """
    if not exchange.valid:
        return None
    key_type = type_sent(exchange)
    return key_type if key_type == "RANDOM" else joined((key_type, _format_of_key(exchange)), ", ")


def accepted_format(exchange: Exchange, _log: Log) -> str | None:
    """The word "accepted" if a key was registered; for a RANDOM key the format in which pixKey was sent.

    None if the key was refused, because the reason may be another one than its format. The situation has the format of
    any other key (`situation_by_type_and_format`).
    """
    if not registered(exchange):
        return None
    return _format_of_key(exchange) if type_sent(exchange) == "RANDOM" else ACCEPTED


def _format_of_key(exchange: Exchange) -> str:
    """The format of the key in a registration, in words such as "digits"; "left out" if the body has no pixKey."""
    body = body_sent(exchange)
    return format_of(body["pixKey"]) if "pixKey" in body else "left out"


def situation_by_type_of_a_synthetic_key(exchange: Exchange, _log: Log) -> Text | None:
    """The situation under which the report shows whether a text that is no key of its type is accepted.

    For example "EMAIL, a text that is no such key". None for a registration with any other key.
    """
    has_a_synthetic_key = exchange.unusual == _COMPLETE  # all fields are there, and only the key is unusual
    if not has_a_synthetic_key:
        return None
    return joined((type_sent(exchange), "a text that is no such key"), ", ")


def outcome_of_a_synthetic_key(exchange: Exchange, _log: Log) -> str | None:
    """Outcome of a registration whose key is a made-up text: "accepted" or "refused".

    None if the answer says nothing about the key: it refuses the caller, such as a 401, or it is temporary, such as a
    503, so that the same request may get another answer in a minute.
    """
    if exchange.response is None or not is_lasting_answer(exchange):
        return None
    if refusal_about_the_caller(exchange.response):
        return None
    return _accepted_or_refused(exchange)
