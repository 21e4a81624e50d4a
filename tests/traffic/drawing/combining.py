"""Bodies with several unusual members at once. A fault may need two of them, and one request shows more.

`cases.py` asks for these bodies. It also has the coverage phase of Schemathesis, which changes one member of a body
at a time.

A round is a list of bodies in which every member has every value once. Each member has the values in an order of its
own, which Hypothesis draws. For example, two members and the values null, 0 and "" make this round of three bodies:
{"from": null, "to": 0}, {"from": "", "to": null}, {"from": 0, "to": ""}. Other bodies leave nothing to draw: they are
the same in every run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice, pairwise, product
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
    members_with_account_of_profile,
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
are unusual. One body then tries a value of each member. A row has an amount, a date and a text that a service is likely
to accept together."""
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
    return _cases_with_bodies(bodies, "registerPixKey", profile)


def fixed_transfers(operation: str, profile: Profile) -> list[Case]:
    """Transfers with several unusual members that are the same for each seed, because nothing in them is drawn.

    They are combinations that a drawn body seldom has, such as two members that are null while all others are usual.
    Services treat all transfers alike, so the operations share the combinations that need many requests.
    """
    members = _usual_members(operation, profile)
    account_members = members_with_account_of_profile(operation, profile)  # such as ["from"]; empty outside a sandbox
    others = [name for name in members if name not in account_members]
    changes = [*_all_members_alike(members), *_half_a_pair(others, members)]
    if operation in MEMBERS_OF_ANOTHER_OPERATION:
        changes += _amount_alone_and_plausible_values(members, others)
    else:
        changes += _pairs_odd_names_and_payer_as_payee(members, others, account_members)
    usual = dict.fromkeys(members, _USUAL)
    return _cases_with_bodies([{**usual, **change} for change in changes], operation, profile)


# Each of the following functions returns changes of a usual body. {"to": None} is a change after which `to` is null.
# `members` is the usual body. `others` are the names of its members, without the one that names the account of the
# profile.


def _all_members_alike(members: Iterable[str]) -> list[Members]:
    """Changes after which all members have the same value: all null, all empty, or all missing."""
    return [dict.fromkeys(members, value) for value in _ALIKE]


def _half_a_pair(others: Iterable[str], members: Members) -> list[Members]:
    """One change, in which the last member with a text has half of a surrogate pair; none if no member has a text.

    Half of a surrogate pair is a character that JSON can write and no encoding of texts can. The other members
    stay usual, because many services refuse the whole body for such a text.
    """
    texts = [name for name in others if isinstance(members[name], str)]
    return [{name: HALF_A_PAIR} for name in texts[-1:]]


def _amount_alone_and_plausible_values(members: Iterable[str], others: Sequence[str]) -> list[Members]:
    """Changes for the transfers of `MEMBERS_OF_ANOTHER_OPERATION`, such as transferP2p.

    - Only the amount is there.
    - The last two members are null, or missing.
    - All members are unusual, with values that a service may accept together.
    """
    amount_alone = {name: _MISSING for name in members if name != AMOUNT}
    return [amount_alone, *_neighbours_null_or_missing(others[-2:]), *_plausible(others)]


def _pairs_odd_names_and_payer_as_payee(
    members: Members, others: Sequence[str], account_members: Iterable[str]
) -> list[Members]:
    """Changes for all other transfers, such as createPix.

    - All members but the account of the profile are null, so that a service finds the account and reads on.
    - Two neighbouring members are null, or missing.
    - Members with odd names are added.
    - The payee is the payer: the account of the profile gets its own money. A service may lock the account twice.
    """
    all_others_null = dict.fromkeys(others, None)
    payee = others[:1]  # the name of the member as a list, such as ["to"]; empty if there is no other member
    payer_as_payee = [dict.fromkeys(payee, members[name]) for name in account_members]
    return [all_others_null, *_neighbours_null_or_missing(others), _ODD_NAMES, *payer_as_payee]


def _neighbours_null_or_missing(names: Iterable[str]) -> list[Members]:
    """Changes in which two members that follow each other in `names` are both null, or both missing."""
    return [dict.fromkeys(pair, value) for pair, value in product(pairwise(names), (None, _MISSING))]


def _plausible(names: Sequence[str]) -> list[Members]:
    """Changes in which each of these members has a plausible value: one change for each row of `_PLAUSIBLE`.

    The first member, such as `to`, has the text of the next row, and other members the text of the row itself. So one
    body tries two texts, and a text is tried in both members without being in both at once.
    """
    changes: list[Members] = []
    for index, (amount, date, text) in enumerate(_PLAUSIBLE):
        index_of_next_row = (index + 1) % len(_PLAUSIBLE)  # after the last row comes the first one
        _, _, text_of_next_row = _PLAUSIBLE[index_of_next_row]
        values = {AMOUNT: amount, "date": date, **dict.fromkeys(names[:1], text_of_next_row)}
        changes.append({name: values.get(name, text) for name in names})
    return changes


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
        values_of_member = _values_for_member(operation, name, values)
        values_by_name[name] = [values_of_member[index] for index in order]
    account_members = members_with_account_of_profile(operation, profile)
    bodies = _bodies_of_round(values_by_name, account_members)
    return tuple(_cases_with_bodies(bodies, operation, profile))


def _usual_members(operation: str, profile: Profile) -> Members:
    """Names and values of the members of a usual body; empty if the operation has no body."""
    return usual_body(operation, profile) or {}


def _cases_with_bodies(bodies: Iterable[Members], operation: str, profile: Profile) -> list[Case]:
    """A request for each of these bodies, if its amounts are permitted. The requests are not sent yet.

    A made-up text replaces every text that may name somebody, so the requests can do no harm. The markers in the bodies
    are replaced before: _USUAL by the usual value of the member, and a member with _MISSING is left out.
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


def _bodies_of_round(values_by_name: dict[str, list[Any]], account_members: Collection[str]) -> Iterator[Members]:
    """The bodies of one round, with markers: the first has the first value of each member, and so on.

    `account_members` are the names of the members that usually name an account of the profile, such as ["from"]. In
    every second body they keep it, because a service may look the account up before it reads the other members.
    """
    for index, values in enumerate(zip(*values_by_name.values(), strict=True)):
        value_by_name = dict(zip(values_by_name, values, strict=True))
        is_every_second_body = index % 2 == 1
        if is_every_second_body:
            value_by_name |= dict.fromkeys(account_members, _USUAL)
        yield value_by_name


def _values_for_member(operation: str, name: str, values: Sequence[Any]) -> Sequence[Any]:
    """The values that a member has in the requests of one round, one for each request: `values`, if it is no key type.

    A key type has the documented types instead, one after the other and then again from the first one. A service would
    refuse an undocumented type before it reads the other members.
    """
    if operation == "registerPixKey" and name == "pixKeyType":
        return tuple(islice(cycle(TYPES_EXCEPT_RANDOM), len(values)))
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
