"""Bodies with several unusual members at once. A fault may need two of them, and one request shows more.

The coverage phase of Schemathesis (`drawing.py`) changes one member of a body at a time. Here every member goes through
the same values, each member in an order of its own, which Hypothesis draws. So a few bodies have every value in every
member, and each time beside other values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from hypothesis import strategies as st

from environments.profiles.model import Profile
from spec.json_text import as_bytes, leaves_of
from tests.traffic.case import (
    NAMED_TYPES,
    Case,
    Members,
    documented_members,
    harmless_path_parameter,
    has_permitted_amounts,
    texts_that_name_own_account,
    with_synthetic_identifiers,
)
from tests.traffic.unusual_texts import EVERYTHING, HALF_A_PAIR, LETTERS, ONE_DIGIT

_USUAL, _MISSING = object(), object()
"""Markers in a list of values: for the usual value of a member, and for a member that is missing."""
VALUES: tuple[Any, ...] = (
    *(_USUAL, _MISSING, EVERYTHING) * 2,
    None,
    False,
    0,
    2**64,
    " ",
    f" {LETTERS} \n",
)
"""Values of a member in the first round. Those that the coverage phase has in each member are left out, so that a run
with the default number of examples has most of the others."""
VALUES_OF_FURTHER_ROUNDS = (*VALUES, True, -0.5, 1e-7, "", ONE_DIGIT, "1,5", "2026-02-30", [], [{}, None], {})
"""Values of a member in each further round, because two of them may show a fault together."""
_ALIKE: tuple[Any, ...] = (None, 0, "", EVERYTHING, [{}, None], HALF_A_PAIR)
"""Values that all members of a body have at once, because a service may compare them. Half of a surrogate pair is no
value that is combined with others, because many services then do not read the body at all."""
_KEYS_OF_NO_TYPE = ("", ONE_DIGIT, EVERYTHING)
"""Keys that fit no type of key. Each type has them, because services check each type in its own way."""


def has_several_members(operation: str, profile: Profile) -> bool:
    """True if the usual body of an operation has two members or more, so that several of them can be unusual."""
    members = documented_members(operation, profile)
    return members is not None and len(members) > 1


def cases_without_choice(operation: str, profile: Profile) -> list[Case]:
    """Requests with unusual bodies that are the same in every run, because Hypothesis has nothing to choose in them.

    For registrations the key does not fit its type, such as an empty key of the type PHONE. For other operations all
    members of the body have the same value, such as null.
    """
    members = _usual_members(operation, profile)
    if operation != "registerPixKey":
        return _safe_cases([dict.fromkeys(members, value) for value in _ALIKE], operation, profile)
    # The coverage phase (`drawing.py`) sends these keys with the usual type.
    other_types = [name for name in NAMED_TYPES if name != members["pixKeyType"]]
    bodies = [
        {**members, "pixKeyType": key_type, "pixKey": key} for key_type, key in product(other_types, _KEYS_OF_NO_TYPE)
    ]
    return _safe_cases(bodies, operation, profile)


@st.composite
def rounds(draw: st.DrawFn, operation: str, profile: Profile, values: Sequence[Any]) -> tuple[Case, ...]:
    """A Hypothesis strategy for rounds: requests in which each member of the body goes through these values once.

    No two members have the same order, because then each value would always be beside the same value of the other one.
    The requests are not sent yet, and nothing in them names somebody.
    """
    members = _usual_members(operation, profile)
    one_order = st.permutations(range(len(values))).map(tuple)
    orders = draw(st.lists(one_order, min_size=len(members), max_size=len(members), unique=True))
    values_by_name = {}
    for name, order in zip(members, orders, strict=True):
        values_of_member = _values_of(operation, name, values)
        values_by_name[name] = [values_of_member[index] for index in order]
    bodies = _bodies_of_round(values_by_name, members, texts_that_name_own_account(operation, profile))
    return tuple(_safe_cases(bodies, operation, profile))


def _usual_members(operation: str, profile: Profile) -> Members:
    """Names and values of the members of a usual body; empty if the operation has no body."""
    return documented_members(operation, profile) or {}


def _safe_cases(bodies: Iterable[Members], operation: str, profile: Profile) -> list[Case]:
    """A request for each of these bodies whose amounts are permitted. Made-up texts replace all that may name somebody.

    So the requests can do no harm. They are not sent yet.
    """
    path_parameter = harmless_path_parameter(operation, profile)
    cases = []
    for body in bodies:
        if has_permitted_amounts(operation, body, profile):
            synthetic_body = as_bytes(with_synthetic_identifiers(body, operation, profile))
            cases.append(Case(operation, path_parameter=path_parameter, body=synthetic_body))
    return cases


def _bodies_of_round(
    values_by_name: dict[str, list[Any]], members: Members, accounts_that_pay: Iterable[str]
) -> Iterator[Members]:
    """The bodies of one round: the first has the first value of each member, and so on.

    `members` are the names and values of a usual body. In every second body the account that pays is a real one,
    because a service may look it up before it reads the other members.
    """
    own_accounts = frozenset(accounts_that_pay)
    payers = {name: _USUAL for name, value in members.items() if not own_accounts.isdisjoint(_texts_of(value))}
    for index, values in enumerate(zip(*values_by_name.values(), strict=True)):
        value_by_name = dict(zip(values_by_name, values, strict=True))
        is_every_second_body = index % 2 == 1
        if is_every_second_body:
            value_by_name |= payers
        yield _body_of(value_by_name, members)


def _values_of(operation: str, name: str, values: Sequence[Any]) -> Sequence[Any]:
    """The values that a member of the body has in one request after the other: `values`, if it is not the key type.

    A key type has only documented types, again and again: another type would be refused before the rest is read.
    """
    if operation == "registerPixKey" and name == "pixKeyType":
        times = math.ceil(len(values) / len(NAMED_TYPES))
        return (NAMED_TYPES * times)[: len(values)]
    return values


def _texts_of(value: Any) -> list[str]:
    """Every text in a JSON value."""
    return [leaf for _, leaf in leaves_of(value) if isinstance(leaf, str)]


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
