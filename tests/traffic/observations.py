"""What the interface document does not show, read from the answers of a run: by situation, small values that name nobody."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from decimal import Decimal
from math import inf
from typing import Any

from environments.door.authorization import VALID
from environments.profiles.profile import Profile
from spec.answers import RefusalKind, code_of, data_of, find, is_judged_as_success, refusal_kind, succeeded
from spec.exchange import Exchange, Response
from spec.facts import Facts
from spec.interface import READS, operations
from spec.json_text import is_integer, is_number
from spec.key_list import UUID
from spec.message import Text, say
from spec.names import is_name
from tests.traffic.answered import Values, answer_of, by_situation, counts, head_of, is_refused, limit_headers
from tests.traffic.scenario import Traffic
from tests.traffic.situations import LARGE, Name, Sent

ANOTHER_TEXT = "another text"
_WORD = re.compile(r"[A-Z][A-Z_]{0,29}|[a-z][a-z_]{0,29}")
"""A word as programs have it. The name of a person has letters of both cases, or a blank."""
_MOST_SHOWN, _MOST_OF_CODES = 999, 9_999

# -- fields of the execution result -------------------------------------------------------------------------------


def statuses_of(answers: Iterable[Exchange], prepared: Mapping[int, str]) -> Values:
    """The values of the field status."""
    return _by_transfer(answers, prepared, "status", word_of)


def account_types_of(answers: Iterable[Exchange], prepared: Mapping[int, str]) -> Values:
    """The values of the field accountType."""
    return _by_transfer(answers, prepared, "accountType", _number)


def units_of_dates(answers: Iterable[Exchange], prepared: Mapping[int, str]) -> Values:
    """The units that the sizes of the dates suggest."""
    dates = [data["date"] for _, data in _results(answers) if is_number(data.get("date"))]
    return {"": [_unit_of(date) for date in dates]} if dates else {}


def _by_transfer(
    answers: Iterable[Exchange], prepared: Mapping[int, str], name: str, value_of: Callable[[object], str]
) -> Values:
    """The values of a field that depends on the transfer: by the operation that prepared it, from the numbers of
    executions. Other codes may be of other transfers in the next run: what is seen there is no more than seen."""
    seen = [(prepared.get(number), value_of(data[name])) for number, data in _results(answers) if name in data]
    return by_situation(
        (_prepared_by(operation), value) if operation else (f"{value} for a supplied code", "seen")
        for operation, value in seen
    )


def _unit_of(date: object) -> str:
    if not isinstance(date, Decimal):
        return "a number of very many digits"
    units = {9: "seconds", 12: "milliseconds", 15: "microseconds", 18: "nanoseconds"}
    unit = units.get(date.adjusted())
    return f"{unit} since 1970" if unit else f"a number of {max(1, date.adjusted() + 1)} digits"


def _prepared_by(operation: str) -> str:
    """The situation: what one operation prepares need not be like what another one does."""
    return f"a transfer prepared by {operation}"


def _results(answers: Iterable[Exchange]) -> list[tuple[int, Mapping[str, Any]]]:
    granted = [seen for seen in answers if seen.response and is_judged_as_success(seen)]
    return [(seen.number, data_of(seen.response) or {}) for seen in granted if seen.response]


def word_of(value: object) -> str:
    """A word of a program, or ordinary words, as they are, and what else the value is."""
    if not isinstance(value, str):
        return "no text"
    return value if _WORD.fullmatch(value) or is_name(value.replace(" ", "_")) else ANOTHER_TEXT


def _number(value: object, most: int = _MOST_SHOWN) -> str:
    if not is_integer(value) or not isinstance(value, Decimal):
        return "no integer"
    return str(int(value)) if abs(value) <= most else f"a number of {value.adjusted() + 1} digits"


# -- answers that the interface document does not describe -----------------------------------------------------------


def answers_to(operation: str, traffic: Traffic) -> list[Exchange]:
    """Every success of the operation so far, without generated traffic. How a valid request is refused is left out: it
    is for its time, a limit or an account."""
    return [seen for seen in _valid(operation, traffic) if succeeded(seen)]


def _valid(operation: str, traffic: Traffic) -> list[Exchange]:
    return [seen for seen in traffic.targeted(operation) if seen.expects_success and counts(seen)]


def values_of(answers: Iterable[Exchange]) -> dict[str, list[Facts]]:
    """What the answers look like. Equal ones are looked at once."""
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


# -- states, identifiers and keys ---------------------------------------------------------------------------------


def states_before(preparations: Iterable[Exchange]) -> Values:
    """What answers to preparations have as a status of the transfer, which is not executed yet."""
    granted = [(seen.operation, seen.response) for seen in preparations if seen.response and succeeded(seen)]
    members = [(operation, find(data_of(response) or {}, "status")) for operation, response in granted]
    return by_situation(
        (_prepared_by(operation), word_of(member[1]) if member else "no status") for operation, member in members
    )


def formats_of_identifiers(exchanges: Iterable[Exchange], prepared: Container[int]) -> Values:
    """Of what kind the identifiers in the paths of granted requests are. `prepared` has the numbers of executions
    of transfers that the run prepared: the service made their codes."""
    granted = ((operations()[seen.operation].path_parameter, seen) for seen in exchanges if succeeded(seen))
    return by_situation(
        (f"{name}, made by the service" if seen.number in prepared else name, _kind_of(seen.request.last_segment))
        for name, seen in granted
        if name
    )


def _kind_of(identifier: str) -> str:
    """Of what kind an identifier is: no finer than what every random text of one alphabet has in common."""
    found = format_of(identifier)
    return found if found in (A_UUID, DIGITS) else ANOTHER_TEXT


A_UUID, DIGITS = "the form of a UUID", "digits"
_CHARACTERS = (
    ("empty", re.compile(r"")),
    (A_UUID, UUID),
    (DIGITS, re.compile(r"[0-9]+")),
    ("+ and digits", re.compile(r"\+[0-9]+")),
    ("letters", re.compile(r"[A-Za-z]+")),
    ("letters and digits", re.compile(r"[A-Za-z0-9]+")),
    ("letters, digits and hyphens", re.compile(r"[A-Za-z0-9_-]+")),
    ("digits and punctuation", re.compile(r"[0-9 ().,/+-]+")),
    ("an e-mail address", re.compile(r"[^@\s]+@[^@\s]+")),
)


def format_of(text: str) -> str:
    """Of what characters a text is."""
    return next((name for name, form in _CHARACTERS if form.fullmatch(text)), "other characters")


# -- limits, codes and versions -----------------------------------------------------------------------------------

NOT_FOR_ITS_SIZE = "not refused for its size"


def codes_of(sent: Iterable[Sent]) -> Values:
    """By operation and what its requests are refused for, the values of `code`."""
    refused = (one for one in sent if is_refused(one.exchange))
    codes = ((one, code_of(one.exchange.response) if one.exchange.response else None) for one in refused)
    return by_situation(
        (f"{one.exchange.operation}, {one.situation}", _number(Decimal(code), _MOST_OF_CODES))
        for one, code in codes
        if code is not None
    ) or {"": ["no code"]}


def sizes_of(sent: Mapping[Name, Exchange]) -> Values:
    """By large request, whether it was refused for its size, and how."""
    answered = {what: seen for what, seen in sent.items() if seen.response is not None}
    is_size = {
        what: refusal_kind(seen.response) is RefusalKind.SIZE for what, seen in answered.items() if seen.response
    }
    return {LARGE[what]: [answer_of(answered[what]) if is_size[what] else NOT_FOR_ITS_SIZE] for what in answered}


_RATES = (4, 16, 64, 256)


def rate_limits_of(exchanges: Collection[Exchange], profile: Profile, *, whole: bool) -> Values:
    """How the service limits the rate of requests: what a 429 looks like, how many requests in a second are let in, and
    how many are surely too many. Some operations may have a limit: so the situation says what was sent."""
    limited = [seen for seen in exchanges if seen.response and refusal_kind(seen.response) is RefusalKind.RATE_LIMIT]
    numbers = {seen.number for seen in limited}
    peak = _most_in_a_second(seen.started for seen in exchanges if seen.response and seen.number not in numbers)
    sent = f"{'' if whole else 'a part of '}{', '.join(sorted(profile.allow))}"
    found: Values = {_at_a_rate(sent, rate): ["let in"] for rate in _RATES if rate <= peak}
    if limited and (too_many := _too_many(exchanges, limited, peak)):
        found[_at_a_rate(sent, too_many)] = ["429"]
    if answers := [answer_of(seen) for seen in limited if not seen.part]:
        found["a 429"] = [*answers]
    return (found or {"": ["no 429"]}) | _headers_of(exchanges, _of_granted, limit_headers)


def _too_many(exchanges: Iterable[Exchange], limited: Collection[Exchange], peak: int) -> int | None:
    """A rate that is surely over the limit: twice what was let in, and no less than all that was before the first 429. A
    limit for longer than a second lets in at once what it lets in later."""
    if any(_waits(seen.response) > 1 for seen in limited if seen.response):
        return None
    first = min(seen.started for seen in limited)
    before = sum(seen.started < first for seen in exchanges)
    return next((rate for rate in _RATES if rate >= max(2 * peak, before)), None)


def _waits(response: Response) -> float:
    """The seconds that Retry-After asks to wait; a date is later than a second from now."""
    value = (response.header("Retry-After") or "0").strip()
    return float(value) if value.isdecimal() else inf


def _at_a_rate(sent: str, rate: int) -> str:
    return f"{sent}; {rate} requests in a second"


def _most_in_a_second(times: Iterable[float]) -> int:
    moments = sorted(times)
    return max((bisect_left(moments, moment + 1) - at for at, moment in enumerate(moments)), default=0)


_OF_VERSIONS = ("API-Version", "Deprecation", "Sunset", "X-API-Deprecated", "X-API-Version", "Api-Supported-Versions")
"""Headers that say which version answers, and until when: RFC 9745, RFC 8594, and common ones."""
_LINK_OF_VERSIONS = re.compile(
    r"""\brel\s*=\s*["']?(?:[\w-]+\s+)*(deprecation|sunset|successor-version|predecessor-version|latest-version)\b""",
    re.I,
)
"""What a Link header relates to: RFC 5829, RFC 8594 and RFC 9745."""
_DEPRECATED = re.compile(r"\bdeprecat", re.I)


def version_headers_of(exchanges: Iterable[Exchange]) -> Values:
    """By operation, the headers about versions and deprecation. No value of them is kept."""
    return _headers_of(exchanges, str, _version_headers)


def _version_headers(response: Response) -> Iterator[str]:
    yield from (name for name in _OF_VERSIONS if response.header(name))
    links = ", ".join(value for name, value in response.headers if name.lower() == "link")
    yield from sorted({f"Link {found[1].lower()}" for found in _LINK_OF_VERSIONS.finditer(links)})
    if _DEPRECATED.search(response.header("Warning")):
        yield "Warning"


def _of_granted(operation: str) -> str:
    return f"headers of a granted {operation}"


def _headers_of(
    exchanges: Iterable[Exchange], situation: Callable[[str], str], named: Callable[[Response], Iterable[str]]
) -> Values:
    """By operation, which headers the answers to granted requests have."""
    seen = {
        (situation(one.operation), ", ".join(named(one.response)) or "none")
        for one in exchanges
        if one.operation and one.response and one.credential == VALID and refusal_kind(one.response) is None
    }
    return by_situation(sorted(seen))
