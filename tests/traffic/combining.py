"""Bodies with several unusual members at once. A fault may need two of them, and one request shows more.

The coverage phase of Schemathesis (`drawing.py`) changes one member of a body at a time. Here every member goes through
the same values, each member in an order of its own. So a few bodies have every value in every member, and each time
beside other values.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, TypeVar

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

T = TypeVar("T")
_USUAL, _MISSING = object(), object()
"""Markers in a list of values: for the usual value of a member, and for a member that is missing."""
_VALUES: tuple[Any, ...] = (
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
_VALUES_OF_FURTHER_ROUNDS = (*_VALUES, True, -0.5, 1e-7, "", ONE_DIGIT, "1,5", "2026-02-30", [], [{}, None], {})
"""Values of a member in each further round, because two of them may show a fault together."""
_ALIKE: tuple[Any, ...] = (None, 0, "", EVERYTHING, [{}, None], HALF_A_PAIR)
"""Values that all members of a body have at once, because a service may compare them. Half of a surrogate pair is no
value that is combined with others, because many services then do not read the body at all."""
_MOST_ROUNDS = 50
"""How often each member goes through its values at most: more often than `--examples=200` needs."""
_KEYS_OF_NO_TYPE = ("", ONE_DIGIT, EVERYTHING)
"""Keys that fit no type of key. Each type has them, because services check each type in its own way."""


def combined_cases(operation: str, profile: Profile, seed: str) -> Iterator[Case]:
    """Requests whose bodies have several unusual members. There are none if the body has fewer than two members.

    They are not sent yet, and nothing in them names somebody. The seed decides the order of the values. There are more
    requests than a run sends, and some of them are equal.
    """
    members = documented_members(operation, profile)
    if members is None or len(members) < 2:
        return
    path_parameter = harmless_path_parameter(operation, profile)
    for body in _bodies(operation, members, profile, random.Random(seed)):
        if has_permitted_amounts(operation, body, profile):
            synthetic_body = as_bytes(with_synthetic_identifiers(body, operation, profile))
            yield Case(operation, path_parameter=path_parameter, body=synthetic_body)


def _bodies(operation: str, members: Members, profile: Profile, source: random.Random) -> Iterator[Members]:
    """Bodies with several unusual members. `members` are the names and values of a usual body.

    First come bodies whose members all have the same value; for registrations, bodies with a key that does not fit its
    type. Then every member goes through the same values, each member in an order of its own that `source` draws. In
    every second body the account that pays is a real one, because a service may look it up before it reads the rest.
    """
    if operation == "registerPixKey":
        yield from _with_keys_of_no_type(members, source)
    else:
        for value in _ALIKE:
            yield dict.fromkeys(members, value)
    accounts_that_pay = texts_that_name_own_account(operation, profile)
    payers = {name: _USUAL for name, value in members.items() if not accounts_that_pay.isdisjoint(_texts_of(value))}
    for round_number in range(_MOST_ROUNDS):
        values = _VALUES_OF_FURTHER_ROUNDS if round_number else _VALUES
        orders = {name: _in_drawn_order(_values_of(operation, name, values), source) for name in members}
        for index in range(len(values)):
            value_by_name = {name: order[index] for name, order in orders.items()}
            is_every_second_body = index % 2 == 1
            if is_every_second_body:  # a service may look the payer up before it reads the other members
                value_by_name |= payers
            yield _body_of(value_by_name, members)


def _with_keys_of_no_type(members: Members, source: random.Random) -> Iterator[Members]:
    """Bodies of registrations in which the key does not fit the type, such as an empty key of the type PHONE.

    The usual type is left out, because the coverage phase (`drawing.py`) sends it with these keys. `source` draws the
    order.
    """
    other_types = [name for name in NAMED_TYPES if name != members["pixKeyType"]]
    for key_type, key in _in_drawn_order(list(product(other_types, _KEYS_OF_NO_TYPE)), source):
        yield {**members, "pixKeyType": key_type, "pixKey": key}


def _in_drawn_order(values: Sequence[T], source: random.Random) -> list[T]:
    """The same values in an order that `source` draws."""
    return source.sample(values, len(values))


def _values_of(operation: str, name: str, values: Sequence[Any]) -> Sequence[Any]:
    """The values that a member has in one body after the other: as many as `values`, which are those of any member.

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
    """A body with these values, in which the markers are replaced: a usual value by that in `members`.

    A member whose value is the marker _MISSING is not in the body.
    """
    body: dict[str, Any] = {}
    for name, value in values.items():
        if value is _USUAL:
            body[name] = members[name]
        elif value is not _MISSING:
            body[name] = value
    return body
