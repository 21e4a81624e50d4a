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
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from hypothesis import strategies as st

from environments.profiles.model import Profile
from spec.json_text import as_bytes
from tests.traffic.case import (
    TYPES_EXCEPT_RANDOM,
    Case,
    Members,
    harmless_path_parameter,
    has_permitted_amounts,
    names_of_own_account,
    usual_body,
    with_synthetic_identifiers,
)
from tests.traffic.unusual_texts import HALF_A_PAIR, LETTERS, LONG_WITH_ALL_UNUSUAL, ONE_DIGIT

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
)
"""Values of a member in the first round. The usual value, the missing member and the long text are there twice, so that
each other value meets them more often in one body.

A usual run has room for about one round. So the first round leaves out the values that the coverage phase puts into
each member anyway, such as "" and true."""
VALUES_OF_FURTHER_ROUNDS = (*VALUES, True, -0.5, 1e-7, "", ONE_DIGIT, "1,5", "2026-02-30", [], [{}, None], {})
"""Values of a member in each further round: also those of the coverage phase, because two unusual values may show a
fault only together."""
_ALIKE: tuple[Any, ...] = (None, 0, "", LONG_WITH_ALL_UNUSUAL, [{}, None], HALF_A_PAIR)
"""Values that all members of a body have at once, because a service may compare its members. Half of a surrogate pair
is here only: in a round it would hide the other values, because many services refuse the whole body for it."""
_KEYS_OF_NO_TYPE = ("", ONE_DIGIT, LONG_WITH_ALL_UNUSUAL)
"""Keys that fit no type of key. Each type has them, because services check each type in its own way."""


def has_several_members(operation: str, profile: Profile) -> bool:
    """True if the usual body of an operation has two members or more, so that several of them can be unusual."""
    members = usual_body(operation, profile)
    return members is not None and len(members) > 1


def cases_of_every_run(operation: str, profile: Profile) -> list[Case]:
    """Requests with unusual bodies that are the same in every run, whatever the seed, because nothing in them is drawn.

    For registrations the key does not fit its type, such as an empty key of the type PHONE. For other operations all
    members of the body have the same value, such as null; but every second body names the account of the profile.
    """
    members = _usual_members(operation, profile)
    if operation != "registerPixKey":
        values_by_name = {name: list(_ALIKE) for name in members}
        bodies = _bodies_of_round(values_by_name, members, names_of_own_account(operation, profile))
        return _harmless_cases(bodies, operation, profile)
    # The coverage phase (`cases.py`) sends these keys with the usual type.
    other_types = [name for name in TYPES_EXCEPT_RANDOM if name != members["pixKeyType"]]
    registrations = [
        {**members, "pixKeyType": key_type, "pixKey": key} for key_type, key in product(other_types, _KEYS_OF_NO_TYPE)
    ]
    return _harmless_cases(registrations, operation, profile)


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
    bodies = _bodies_of_round(values_by_name, members, names_of_own_account(operation, profile))
    return tuple(_harmless_cases(bodies, operation, profile))


def _usual_members(operation: str, profile: Profile) -> Members:
    """Names and values of the members of a usual body; empty if the operation has no body."""
    return usual_body(operation, profile) or {}


def _harmless_cases(bodies: Iterable[Members], operation: str, profile: Profile) -> list[Case]:
    """A request for each of these bodies whose amounts are permitted. The requests can do no harm.

    A made-up text replaces every text that may name somebody. The requests are not sent yet.
    """
    path_parameter = harmless_path_parameter(operation, profile)
    cases = []
    for body in bodies:
        if has_permitted_amounts(operation, body, profile):
            synthetic_body = as_bytes(with_synthetic_identifiers(body, operation, profile))
            cases.append(Case(operation, path_parameter=path_parameter, body=synthetic_body))
    return cases


def _bodies_of_round(
    values_by_name: dict[str, list[Any]], members: Members, own_account: Collection[str]
) -> Iterator[Members]:
    """The bodies of one round: the first has the first value of each member, and so on.

    `members` are the names and values of a usual body. `own_account` are the names of those that name an account of the
    profile. In every second body they have it, because a service may look it up before it reads the others.
    """
    for index, values in enumerate(zip(*values_by_name.values(), strict=True)):
        value_by_name = dict(zip(values_by_name, values, strict=True))
        if _has_own_account(index):
            value_by_name |= dict.fromkeys(own_account, _USUAL)
        yield _body_of(value_by_name, members)


def _has_own_account(index: int) -> bool:
    """True for every second body of several: it names an account of the profile."""
    return index % 2 == 1


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
