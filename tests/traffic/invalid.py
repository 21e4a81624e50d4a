"""Invalid requests that no generator draws, and those that a requirement names: one class in each row of a table, and
the requests of each class.

Bodies that are no JSON, texts that are no UTF-8, queries, credentials and Content-Types are not part of the schema.
What is (a member of another type, a missing one, a boundary, any text) Schemathesis draws: `drawing.py`.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from environments.door.limits import WANT_THE_TOKEN
from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, INVALID_CREDENTIALS, NO_HEADER
from environments.profiles.model import Profile
from reports.sentences.wording import grouped
from spec.interface import MARK, PREPARING, READS, operations
from spec.json_text import as_bytes
from spec.message import Text, in_a_row, joined, say
from tests.traffic.case import (
    AMOUNT,
    FORMS,
    Case,
    Form,
    bounded,
    form_for_nobody,
    form_of,
    names_own_account,
    place_of,
    synthetic_text,
)

Values = Mapping[str, Any]
"""By class, what stands in one part of a request. Every operation with the part gets the first table of it; `MORE_…` is
for the operations that the interface document describes."""
LONGER, LONGEST = 5_000, 110_000
"""Longer than a buffer of 4 KiB, and than a text of 64 KiB and the 100 kB that some read of a body."""
_DEEP = 20_000
_M = MARK.encode()
_REGISTER = "registerPixKey"

PATH_PARAMETERS = {
    "unknown": synthetic_text("0"),
    "with an encoded slash": synthetic_text("%2f%2F"),
    "with quotes": synthetic_text("'\"`"),
    "that is no UTF-8": _M + b"\xff\xc0\x80",
}
MORE_PATH_PARAMETERS = {
    "very long": synthetic_text("9" * LONGER),
    "with NUL": synthetic_text("\0"),
    "percent-encoded twice": synthetic_text("%252f%00%0a"),
    "with a line break": synthetic_text("\r\nX-Pixconf: 1"),
    "with a question mark": synthetic_text("?a=1#b"),
    "outside the basic plane": synthetic_text("🏦"),
}
QUERIES = {"a query": f"?{MARK}=1&page=-1&limit=99999999999&sort[]=a&filter={{}}"}
MORE_QUERIES = {
    "a query that is no UTF-8": "?a=%ff&a=&&=",
    "long": f"?{MARK}=" + "x" * 2 * LONGER,  # longer than the 8 KiB that many servers take of the first line
}
"""For operations without a body: a service that has one reads no query."""
CREDENTIALS = (NO_HEADER, ANOTHER, *INVALID_CREDENTIALS)
"""One operation gets all: a service reads the header in one place. The others get the first three: no header, a wrong
token, and an empty header, which is no wrong token, either; and on a sandbox a token of 4 kB, if they write."""
_LONG_TOKEN = "an over-long bearer"
CONTENT_TYPES = {
    "missing": None,
    "a form": "application/x-www-form-urlencoded",
}
MORE_CONTENT_TYPES = {"XML": "application/xml"}
UNREADABLE = {"cut short": b'{"' + _M, "no UTF-8": b'{"pixKey": "' + _M + b'\xff\xfe"}'}
"""Bodies that go to an account of the profile in a deletion, too. The others, read carelessly, ask to delete whatever
is there: they go there on a sandbox only."""
TEXTS = {
    "empty": b"",
    **UNREADABLE,
    "NaN": b'{"value": NaN, "pixKey": NaN}',
    "very deeply nested": b"[" * _DEEP + b"]" * _DEEP,
}
"""Bodies that are no JSON, or that some read as none."""
NO_OBJECTS = {"an array": b"[]", "a text": b'"' + _M + b'"'}
MORE_TEXTS = {
    "null": b"null",
    "a number": b"-1",
    "an empty object": b"{}",
    "a trailing comma": b'{"account": "' + _M + b'",}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "no JSON": _M,
    "a huge exponent": b'{"value": 1e999999, "date": -1e400, "pixKey": -1e400}',
    "many digits": b'{"value": ' + b"9" * LONGER + b', "pixKey": -' + b"9" * LONGER + b"}",
}
_TEXT, _NUMBER = {"text": f"{MARK}text"}, {"a number": -1}
MEMBERS: Mapping[str, Mapping[str, Values]] = {
    _REGISTER: {
        "account": {"null": None, **_NUMBER, "an object": {}, **_TEXT},
        "pixKeyType": {"null": None, **_NUMBER},
        "pixKey": {"null": None, **_NUMBER},
    },
    **{operation: {"value": {**_NUMBER, **_TEXT}} for operation in PREPARING},
}
"""By operation and member, the values in its place whose answers are observed."""
_QUOTES = "text with quotes"
STRINGS = {
    "a very long text": synthetic_text("x" * LONGEST),
    "text outside the basic plane": f"{MARK}🏦",
    "text with NUL": f"{MARK}\0",
    _QUOTES: f"{MARK}'\"; SELECT 1; --",
    "text with half a surrogate pair": f"{MARK}\ud800",
}
"""Texts for one member of a registration, the last that is a text: as a rule, the key. A quote and a statement, which
deletions get, too, find what a quote alone does not."""

_OF_A_READ = frozenset({"unknown", "with an encoded slash", ANOTHER})
_OF_A_TRANSFER = frozenset({"empty", "cut short", "a form", "value: text", "value: a number"})
OBSERVED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(READS, _OF_A_READ),
    **dict.fromkeys(PREPARING, _OF_A_TRANSFER),
    "executePix": frozenset(
        {
            "very long", "with an encoded slash", "outside the basic plane", "with quotes", "with NUL",
            "with a question mark",
        }
    ),
    "listAccounts": frozenset({"long", ANOTHER}),
    _REGISTER: frozenset(
        {
            "unknown", "a synthetic key", "missing", "null", "a number", "account: text", "account: an object",
            "a very long text", "text outside the basic plane", "text with NUL", "empty", "cut short", "body: an array",
            "a text", "an empty object", "very deeply nested", "no UTF-8", "a form",
        }
    ),
    "deletePixKey": frozenset(
        {"unknown", "a synthetic key", "empty", "cut short", "body: an array", "a text", "a form"}
    ),
}  # fmt: skip
"""The classes whose answers are observations, wherever they stand or in one place: the targeted tests send them."""


def invalid_requests(operation: str, profile: Profile, *, observed: bool | None = None) -> Iterator[Case]:
    """A case for each class; those that are observed, or those that are not, where `observed` says so."""
    classes = OBSERVED[operation]
    cases = (
        case
        for case in _cases(operation, profile)
        if observed in (None, not classes.isdisjoint((case.what, f"{case.where}: {case.what}")))
    )
    return bounded(map(_with_its_own_key, cases) if observed and profile.deletes_keys else cases, profile)


def _with_its_own_key(case: Case) -> Case:
    """The case with a synthetic key that no other one has: one that is registered already may be refused for that.
    Where no key is deleted all share one, so that no more than that stays."""
    common = as_bytes(FORMS[_REGISTER]["pixKey"])
    return replace(case, body=case.body and case.body.replace(common, as_bytes(synthetic())))


def unauthorized(operation: str, credential: str) -> Case:
    """A request without a valid token that can do nothing, even where the operation is open: its body cannot be
    read."""
    return Case(operation, path_parameter=synthetic(), body=UNREADABLE["cut short"], credential=credential)


def classes_in_words(names: Iterable[tuple[str, str]]) -> Text:
    """Classes of invalid requests by the part that is unusual: `body: empty, null; pixKey: missing`."""
    parts = [
        say("{where}: {classes}", where=say(where), classes=in_a_row([say(what) for _, what in group], ", "))
        if where
        else say("generated requests")
        for where, group in grouped(names, lambda name: name[0]).items()
    ]
    return joined(parts)


def in_turns(cases: Iterable[Case]) -> list[Case]:
    """These cases, those that may prepare a transfer last: one of each operation in turn, and of each operation one of
    each part of a request that is unusual. So limits.transfers is for all of them alike."""
    cases = list(cases)
    orders = _by_turns(
        (case for case in cases if case.operation in PREPARING), lambda case: (case.operation, case.where)
    )
    return [case for case in cases if case.operation not in PREPARING] + _by_turns(orders, lambda case: case.operation)


def _by_turns(cases: Iterable[Case], group: Callable[[Case], Hashable]) -> list[Case]:
    """The first case of each group, then the second of each, and so on."""
    turns: dict[Hashable, Iterator[int]] = defaultdict(count)
    return sorted(cases, key=lambda case: next(turns[group(case)]))


# -- the requests of each class ----------------------------------------------------------------------------------------


def _cases(operation: str, profile: Profile) -> Iterator[Case]:
    """A case for each class. What is not unusual in it is valid, or names nobody."""
    form, parameter = form_of(operation, profile), operations()[operation].path_parameter
    case = Case(operation, path_parameter=place_of(operation, profile))
    if form:
        case = replace(case, body=as_bytes(form))
        yield from _bodies(case, form, profile)
    if parameter:  # with its body: a service may read that first
        more = MORE_PATH_PARAMETERS if operation == "executePix" else {}
        yield from _with_each(case, parameter, "path_parameter", PATH_PARAMETERS, more)
    yield from _with_each(case, "query", "query", QUERIES, MORE_QUERIES if form is None else {})
    nobody = form_for_nobody(operation, profile)
    case = replace(case, body=as_bytes(nobody) if nobody else None)  # an operation may be open to everybody
    first = 2 if operation in WANT_THE_TOKEN else 0  # the table of forms has the first two for these operations
    names = CREDENTIALS[first : None if operation == "listAccounts" else 3]
    if profile.is_sandbox and form and operation not in WANT_THE_TOKEN:
        names = (*names, _LONG_TOKEN)
    yield from _with_each(case, "Authorization", "credential", {name: name for name in names})


def _bodies(case: Case, form: Form, profile: Profile) -> Iterator[Case]:
    registers, own = case.operation == _REGISTER, _at_home(case, profile)
    names_a_key = case.operation not in PREPARING
    texts: Values = {**TEXTS, **NO_OBJECTS} if names_a_key else TEXTS
    if own != case and profile.is_sandbox:  # elsewhere a service may take them for a deletion of all keys
        yield from _with_each(own, "body", "body", texts)
    yield from _with_each(case, "body", "body", texts, MORE_TEXTS if registers else {})
    if names_own_account(case.operation, profile):
        yield from _with_each(case, "body", "body", _odd_transfers(form))
    yield from _with_each(own, "body", "body", UNREADABLE if own != case else {}, _shapes(form))
    for member, values in MEMBERS.get(case.operation, {}).items():
        yield from _with_member(case, form, member, values)
    if registers:
        yield from _without_each_member(case, form)
    if names_a_key:
        yield replace(own, where="pixKey", what="a synthetic key")
        yield from _with_member(
            own, form, [MARK, *_texts_of(form)][-1], STRINGS if registers else {_QUOTES: STRINGS[_QUOTES]}
        )
    else:  # no whole transfer: a service that ignores the Content-Type finds no amount
        case = replace(case, body=as_bytes({**form, "value": _TEXT["text"]}))
    yield from _with_each(
        case, "Content-Type", "content_type", CONTENT_TYPES, MORE_CONTENT_TYPES if names_a_key else {}
    )


def _texts_of(form: Form) -> list[str]:
    """The names of the members that are texts."""
    return [name for name, valid in form.items() if isinstance(valid, str)]


def _without_each_member(case: Case, form: Form) -> Iterator[Case]:
    for name in form:
        rest = {other: item for other, item in form.items() if other != name}
        yield replace(case, where=name, what="missing", body=as_bytes(rest))


def _at_home(case: Case, profile: Profile) -> Case:
    """The case; a deletion that names a synthetic key for an account of the profile."""
    given = profile.requests.get(case.operation)
    names_a_key = given is None or "{key}" in str(given.json)
    deletes = case.operation == "deletePixKey" and profile.accounts and names_a_key
    return replace(case, path_parameter=profile.accounts[0]) if deletes else case


def _shapes(form: Form) -> Values:
    """Bodies with members that stand twice, or with a large one that is not documented."""
    text = as_bytes(form)
    return {
        "members that stand twice": text[:-1] + b", " + text[1:],
        "a large member beside it": as_bytes({**form, MARK: "x" * 2 * LONGEST}),
    }


def _odd_transfers(form: Form) -> Values:
    """Bodies like some of TEXTS that name an account first, so that a lenient reader looks it up.

    None has an amount.
    """
    begun = as_bytes({name: value for name, value in form.items() if name != AMOUNT})[:-1]
    one_more = begun + b', "' + _M + b'": '
    return {
        "cut short": begun,
        "no UTF-8": one_more + b'"\xff\xfe"}',
        "NaN": json.dumps({**form, AMOUNT: math.nan}).encode(),
        "very deeply nested": one_more + TEXTS["very deeply nested"] + b"}",
    }


def _with_each(case: Case, part: str, field: str, *tables: Values) -> Iterator[Case]:
    """The case with one part of the request replaced by each of the values."""
    for values in tables:
        for what, value in values.items():
            yield replace(case, where=part, what=what, **{field: value})


def _with_member(case: Case, form: Form, member: str, values: Values) -> Iterator[Case]:
    """The case with one member of its body replaced by each of the values."""
    return _with_each(case, member, "body", {what: as_bytes({**form, member: value}) for what, value in values.items()})
