"""Values of what the interface document does not show, read from the answers of a run. They are small, and name nobody."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from decimal import Decimal
from typing import Any

from spec.answers import RefusalKind, code_of, data_of, is_judged_as_success, refusal_kind, succeeded
from spec.exchange import VALID, Exchange
from spec.facts import Facts, is_name
from spec.interface import READS, operations
from spec.json_text import is_integer
from spec.key_list import UUID
from spec.message import Text, say
from spec.observed import Values, answer_of, by_situation, counts, head_of, is_refused
from tests.traffic.scenario import Traffic
from tests.traffic.situations import LARGE, Name, Situated

ANOTHER_TEXT = "another text"
_WORD = re.compile(r"[A-Z][A-Z_]{0,29}|[a-z][a-z_]{0,29}")
"""A word as programs have it. The name of a person has letters of both cases, or a blank."""
_LARGEST = 9_999

# -- fields of the execution result -------------------------------------------------------------------------------


def values_in_results(field: str, answers: Iterable[Exchange], prepared: Mapping[int, str]) -> Values:
    """Values of a field of the execution result. All but the unit of a date depend on the transfer: they are kept by the
    operation that prepared it, from the numbers of executions. Other codes may be of other transfers in the next run:
    what is seen there is no more than seen."""
    results = (
        (seen.number, data_of(seen.response)) for seen in answers if seen.response and is_judged_as_success(seen)
    )
    found = [(number, data[field]) for number, data in results if data and field in data]
    if field == "date":
        return by_situation(("", _unit(date)) for _, date in found if isinstance(date, Decimal))
    seen = [(number, _VALUES[field](value)) for number, value in found]
    return by_situation(
        (_prepared_by(prepared[number]), value) if number in prepared else (f"{value} for a supplied code", "seen")
        for number, value in seen
    )


def states_before(preparations: Iterable[Exchange]) -> Values:
    """Statuses of transfers in the answers to preparations: they are not executed yet."""
    granted = [(seen.operation, data_of(seen.response)) for seen in preparations if seen.response and succeeded(seen)]
    return by_situation(
        (_prepared_by(operation), word_of(data["status"]) if data and "status" in data else "no status")
        for operation, data in granted
    )


def _prepared_by(operation: str) -> str:
    """The situation: what one operation prepares need not be like what another one does."""
    return f"a transfer prepared by {operation}"


def word_of(value: object) -> str:
    """A word of a program, or ordinary words, as they are, and what else the value is."""
    if not isinstance(value, str):
        return "no text"
    return value if _WORD.fullmatch(value) or is_name(value.replace(" ", "_")) else ANOTHER_TEXT


def _number(value: object) -> str:
    if not is_integer(value) or not isinstance(value, Decimal):
        return "no integer"
    return str(int(value)) if abs(value) <= _LARGEST else f"a number of {value.adjusted() + 1} digits"


def _unit(date: Decimal) -> str:
    """The unit that the size of a date suggests."""
    units = {9: "seconds", 12: "milliseconds", 15: "microseconds", 18: "nanoseconds"}
    unit = units.get(date.adjusted())
    return f"{unit} since 1970" if unit else f"a number of {max(1, date.adjusted() + 1)} digits"


_VALUES: Mapping[str, Callable[[Any], str]] = {"status": word_of, "accountType": _number}

# -- answers that the interface document does not describe -----------------------------------------------------------


def answers_to(operation: str, traffic: Traffic) -> list[Exchange]:
    """Every success of the operation so far, without generated traffic. How a valid request is refused is left out: it
    is for its time, a limit or an account."""
    return [seen for seen in _valid(operation, traffic) if succeeded(seen)]


def _valid(operation: str, traffic: Traffic) -> list[Exchange]:
    return [seen for seen in traffic.targeted(operation) if seen.expects_success and counts(seen)]


def values_of(answers: Iterable[Exchange]) -> dict[str, list[Facts]]:
    """The facts of the answers. Equal ones are looked at once."""
    different = {(head_of(seen.response), seen.response.kept): seen for seen in answers if seen.response}
    return {"": [answer_of(seen) for seen in different.values()]}


def no_answer(operation: str, traffic: Traffic) -> Text:
    """Why no answer of the operation shows its shape, and what to supply."""
    supply: Text = say("accounts that the token may read") if operation in READS else f"requests.{operation}"
    refused = _valid(operation, traffic)
    if not refused:
        return say("no valid request was answered: supply {what}", what=supply)
    if not traffic.profile.accounts:
        supply = "accounts"
    answer = say(refused[0].summary)
    return say("no valid request was granted ({answer}): supply {what}", answer=answer, what=supply)


# -- identifiers and keys -----------------------------------------------------------------------------------------

A_UUID, DIGITS = "the form of a UUID", "digits"
_CHARACTERS = (
    (A_UUID, UUID),
    (DIGITS, re.compile(r"[0-9]+")),
    ("+ and digits", re.compile(r"\+[0-9]+")),
    ("digits and punctuation", re.compile(r"[0-9 ().,/+-]+")),
    ("an e-mail address", re.compile(r"[^@\s]+@[^@\s]+")),
)


def format_of(text: str) -> str:
    """The characters that a text is of."""
    return next((name for name, form in _CHARACTERS if form.fullmatch(text)), "other characters")


def formats_of_identifiers(exchanges: Iterable[Exchange], prepared: Container[int]) -> Values:
    """The kinds of the identifiers in the paths of granted requests: no finer than what every random text of one alphabet
    has in common. `prepared` has the numbers of executions of transfers that the run prepared: the service made their
    codes."""
    named = ((operations()[seen.operation].path_parameter, seen) for seen in exchanges if succeeded(seen))
    formats = ((name, seen.number in prepared, format_of(seen.request.last_segment)) for name, seen in named if name)
    return by_situation(
        (f"{name}, made by the service" if is_made else name, found if found in (A_UUID, DIGITS) else ANOTHER_TEXT)
        for name, is_made, found in formats
    )


# -- limits, codes and versions -----------------------------------------------------------------------------------

NOT_FOR_ITS_SIZE = "not refused for its size"
_OF_LIMITS = (
    "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
    "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset",
)  # fmt: skip
_OF_VERSIONS = ("API-Version", "Deprecation", "Sunset", "X-API-Deprecated", "X-API-Version", "Api-Supported-Versions")
"""Headers that say which version answers, and until when: RFC 9745, RFC 8594, and common ones."""


def codes_of(sent: Iterable[Situated]) -> Values:
    """By operation and what its requests are refused for, the values of `code`."""
    answers = [(f"{seen.operation}, {situation}", seen.response) for situation, seen in sent if is_refused(seen)]
    codes = [(situation, code_of(response)) for situation, response in answers if response]
    numbers = ((situation, _number(Decimal(code))) for situation, code in codes if code is not None)
    return by_situation(numbers) or {"": ["no code"]}


def sizes_of(sent: Mapping[Name, Exchange]) -> Values:
    """By large request, whether it was refused for its size, and how."""
    kinds = {what: refusal_kind(seen.response) for what, seen in sent.items() if seen.response}
    return {
        LARGE[what]: [answer_of(sent[what]) if kind is RefusalKind.SIZE else NOT_FOR_ITS_SIZE]
        for what, kind in kinds.items()
    }


def rate_limits_of(exchanges: Iterable[Exchange]) -> Values:
    """How a 429 looks like, and which headers about limits the answers to granted requests have."""
    limited = [seen for seen in exchanges if seen.response and refusal_kind(seen.response) is RefusalKind.RATE_LIMIT]
    found: Values = {"a 429": [answer_of(seen) for seen in limited]} if limited else {"": ["no 429"]}
    headers = _headers_of(exchanges, _OF_LIMITS)
    return found | {f"headers of a granted {operation}": values for operation, values in headers.items()}


def version_headers_of(exchanges: Iterable[Exchange]) -> Values:
    """By operation, the headers about versions and deprecation. No value of them is kept."""
    return _headers_of(exchanges, _OF_VERSIONS)


def _headers_of(exchanges: Iterable[Exchange], names: Iterable[str]) -> Values:
    """By operation, which of these headers the answers to granted requests have."""
    seen = {
        (one.operation, ", ".join(name for name in names if one.response.header(name)) or "none")
        for one in exchanges
        if one.operation and one.response and one.credential == VALID and refusal_kind(one.response) is None
    }
    return by_situation(sorted(seen))
