"""Bodies with several unusual members at once. A fault may need two of them, and one request shows more.

`cases.py` asks for these bodies. It also has the coverage phase of Schemathesis, which changes one member of a body
at a time.

A round is a list of bodies in which every member has every value once. Each member has the values in an order of its
own, which Hypothesis draws. For example, two members and the values null, 0 and "" make this round of three bodies:
{"from": null, "to": 0}, {"from": "", "to": null}, {"from": 0, "to": ""}. Other bodies leave nothing to draw: they are
the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from hypothesis import strategies as st

from environments.profiles.model import Profile
from spec.interface import SYNTHETIC_PREFIX
from spec.json_text import as_bytes
from tests.traffic.case import (
    AMOUNT,
    TYPES_EXCEPT_RANDOM,
    Case,
    Members,
    harmless_path_parameter,
    has_permitted_amounts,
    names_of_own_account,
    usual_body,
    with_synthetic_identifiers,
)
from tests.traffic.drawing.member_schemas import MEMBERS_OF_ANOTHER_OPERATION
from tests.traffic.unusual_texts import (
    ALL_PRINTABLE,
    ALL_SPECIAL,
    ELEVEN_DIGITS,
    HALF_A_PAIR,
    LETTERS,
    LONG_WITH_ALL_UNUSUAL,
    NAME_WITH_ACCENTS,
    ONE_DIGIT,
)

_USUAL, _MISSING = object(), object()
"""Markers in a list of values: for the usual value of a member, and for a member that is missing."""
VALUES: tuple[Any, ...] = (
    *(_USUAL, _MISSING, LONG_WITH_ALL_UNUSUAL) * 2,
    None,
    False,
    0,
    2**64,
    " ",
    f" {LETTERS} \n",
    [],
    {},
)
"""Values of a member in the first round. The usual value, the missing member and the long text are there twice, so that
each other value meets them more often in one body.

A usual run has room for about one round. So the first round leaves out the values that the coverage phase puts into
each member anyway, such as "" and true."""
VALUES_OF_FURTHER_ROUNDS = (*VALUES, True, -0.5, 1e-7, "", ONE_DIGIT, "1,5", "2026-02-30", [{}, None])
"""Values of a member in each further round: also those of the coverage phase, because two unusual values may show a
fault only together."""
_ALIKE: tuple[Any, ...] = (None, "", _MISSING)
"""Values that all members of a body have at once, because a service may compare its members."""
_KEYS_OF_ANOTHER_TYPE: Mapping[str, Sequence[Any]] = {
    "PHONE": ("", LETTERS, ELEVEN_DIGITS, _MISSING),
    "CPF": ("", LETTERS, f"{ELEVEN_DIGITS}234", None),
    "CNPJ": ("", LETTERS, ELEVEN_DIGITS),
}
"""By key type, keys that do not fit it: a CPF has 11 digits, a CNPJ 14, and a PHONE begins with a plus sign. Each type
has some, because services check each type in its own way. The coverage phase (`cases.py`) has keys of the type EMAIL.
"""
_PLAUSIBLE: Sequence[tuple[Any, Any, str]] = (
    (1, 0, NAME_WITH_ACCENTS),
    (0.125, 253_402_300_800_000, ALL_SPECIAL),  # the year 10000
    (1_000_000, "2026-01-15", SYNTHETIC_PREFIX.ljust(256, "x")),
    (12_345_678_901, 1_767_225_600, ALL_PRINTABLE),  # seconds since 1970, not milliseconds
    (2**53 + 1, "2026-01-15T10:00:00Z", ELEVEN_DIGITS),
    (2**31, -1, LETTERS[0]),
    ("9" * 20, "2026-02-30", f"{ELEVEN_DIGITS}234"),
    ("NaN", "1767225600000", "9" * 20),
)
"""Amounts, dates and texts that a service may accept, so that it reads a body to its end although all of its members
are unusual. One body then tries a value of each member. A row has values that a service is likely to accept together.
"""
_ODD_NAMES = {"": 1, "__proto__": {}, "VALUE": 1, "PIXKEY": SYNTHETIC_PREFIX}
"""Members whose names are empty, have a meaning in JavaScript, or differ from a documented one in letter case."""


def has_several_members(operation: str, profile: Profile) -> bool:
    """True if the usual body of an operation has two members or more, so that several of them can be unusual."""
    members = usual_body(operation, profile)
    return members is not None and len(members) > 1


def registrations_of_another_type(profile: Profile) -> list[Case]:
    """Registrations whose key does not fit its type, such as a CPF of letters. They are the same in every run."""
    bodies: list[Members] = []
    for key_type, keys in _KEYS_OF_ANOTHER_TYPE.items():
        bodies += [{"account": _USUAL, "pixKeyType": key_type, "pixKey": key} for key in keys]
    return _harmless_cases(bodies, "registerPixKey", profile)


def transfers_of_every_run(operation: str, profile: Profile) -> list[Case]:
    """Transfers with several unusual members that are the same in every run, because nothing in them is drawn.

    They are combinations that a drawn body seldom has: two members that are missing or null while all others are
    usual, two accounts that are equal, values that a service accepts together.
    """
    members = _usual_members(operation, profile)
    own_account = names_of_own_account(operation, profile)
    others = [name for name in members if name not in own_account]
    payee = others[:1]  # a list with its name; empty if the body of the profile names only the own account
    texts = [name for name in others if isinstance(members[name], str)]
    bodies = _alike(members)
    # Half of a surrogate pair is tried alone, because many services refuse the whole body for it.
    bodies += [{name: HALF_A_PAIR} for name in texts[-1:]]
    if operation in MEMBERS_OF_ANOTHER_OPERATION:
        amount_alone = {name: _MISSING for name in members if name != AMOUNT}
        bodies += [amount_alone, *_pairs_left_out(others[-2:]), *_plausible(others, payee)]
    else:
        bodies += [dict.fromkeys(others, None), *_pairs_left_out(others), _ODD_NAMES]
        # The account that pays gets the money.
        bodies += [dict.fromkeys(payee, members[name]) for name in own_account]
    usual = dict.fromkeys(members, _USUAL)
    return _harmless_cases([{**usual, **body} for body in bodies], operation, profile)


def _alike(names: Iterable[str]) -> list[Members]:
    """Bodies whose members all have the same value."""
    return [dict.fromkeys(names, value) for value in _ALIKE]


def _pairs_left_out(names: Iterable[str]) -> list[Members]:
    """Neighbouring members of these names that are null, and the same members missing."""
    return [dict.fromkeys(pair, value) for pair, value in product(pairwise(names), (None, _MISSING))]


def _plausible(names: Sequence[str], payee: Sequence[str]) -> list[Members]:
    """Bodies in which each of these members has a plausible value: one body for each row of the table.

    `payee` is the list with the name of the member that names who gets the money. It has the text of the next row.
    """
    bodies: list[Members] = []
    for index, (amount, date, text) in enumerate(_PLAUSIBLE):
        _, _, text_of_next_row = _PLAUSIBLE[(index + 1) % len(_PLAUSIBLE)]
        values = {AMOUNT: amount, "date": date, **dict.fromkeys(payee, text_of_next_row)}
        bodies.append({name: values.get(name, text) for name in names})
    return bodies


@st.composite
def rounds(draw: st.DrawFn, operation: str, profile: Profile, values: Sequence[Any]) -> tuple[Case, ...]:
    """A Hypothesis strategy for rounds: requests in which each member of the body has each of these values once.

    Each member has the values in another order. If two members had the same order, both would have the same value in
    each request. With different orders, `from` may be null while `to` is 0. The requests are not sent yet, and nothing
    in them names somebody.
    """
    members = _usual_members(operation, profile)
    one_order = st.permutations(range(len(values))).map(tuple)
    orders = draw(st.lists(one_order, min_size=len(members), max_size=len(members), unique=True))
    values_by_name = {}
    for name, order in zip(members, orders, strict=True):
        values_of_member = _values_of(operation, name, values)
        values_by_name[name] = [values_of_member[index] for index in order]
    bodies = _bodies_of_round(values_by_name, names_of_own_account(operation, profile))
    return tuple(_harmless_cases(bodies, operation, profile))


def _usual_members(operation: str, profile: Profile) -> Members:
    """Names and values of the members of a usual body; empty if the operation has no body."""
    return usual_body(operation, profile) or {}


def _harmless_cases(bodies: Iterable[Members], operation: str, profile: Profile) -> list[Case]:
    """A request for each of these bodies whose amounts are permitted. The requests can do no harm.

    A made-up text replaces every text that may name somebody. The requests are not sent yet. The markers for a usual
    value and for a missing member are replaced before.
    """
    path_parameter = harmless_path_parameter(operation, profile)
    members = _usual_members(operation, profile)
    cases = []
    for body_with_markers in bodies:
        body = _body_of(body_with_markers, members)
        if has_permitted_amounts(operation, body, profile):
            synthetic_body = as_bytes(with_synthetic_identifiers(body, operation, profile))
            cases.append(Case(operation, path_parameter=path_parameter, body=synthetic_body))
    return cases


def _bodies_of_round(values_by_name: dict[str, list[Any]], own_account: Collection[str]) -> Iterator[Members]:
    """The bodies of one round, with markers: the first has the first value of each member, and so on.

    `own_account` are the names of the members that name an account of the profile. In every second body they have it,
    because a service may look it up before it reads the others.
    """
    for index, values in enumerate(zip(*values_by_name.values(), strict=True)):
        value_by_name = dict(zip(values_by_name, values, strict=True))
        is_every_second_body = index % 2 == 1
        if is_every_second_body:
            value_by_name |= dict.fromkeys(own_account, _USUAL)
        yield value_by_name


def _values_of(operation: str, name: str, values: Sequence[Any]) -> Sequence[Any]:
    """The values that a member of the body has, one for each request of a round: `values`, if it is no key type.

    A key type has documented types instead, again and again. A service would refuse an undocumented type before it
    reads the other members.
    """
    if operation == "registerPixKey" and name == "pixKeyType":
        times = math.ceil(len(values) / len(TYPES_EXCEPT_RANDOM))
        return (TYPES_EXCEPT_RANDOM * times)[: len(values)]
    return values


def _body_of(values: Members, members: Members) -> Members:
    """A body with these values, in which the markers are replaced: a usual value is taken from `members`.

    A member whose value is the marker _MISSING is not in the body.
    """
    body: dict[str, Any] = {}
    for name, value in values.items():
        if value is _USUAL:
            body[name] = members[name]
        elif value is not _MISSING:
            body[name] = value
    return body
