"""Bodies with several unusual members at once. One request shows more then, and a fault may need two unusual members.

`cases.py` asks for these bodies, and `unusual_values.py` has the values. The coverage phase of Schemathesis, which
`cases.py` also asks, changes one member of a body at a time.

Most of the bodies are made in rounds. A round is a list of bodies in which every member of the body has each of its
unusual values at least once. Each member has the values in an order of its own, which Hypothesis draws. For example,
two members and the values null, 0 and "" make this round of three bodies:
{"to": null, "description": 0}, {"to": "", "description": null}, {"to": 0, "description": ""}.
The member with the account of the profile keeps it in most of the bodies, because a service may look it up before it
reads the other members. It is unusual in a few bodies of the round.

Other bodies combine few simple values, such as null (`combinations`). A few bodies leave nothing to draw
(`fixed_bodies`).

In the lists of values here, USUAL, MISSING and PAYER are markers. `_body_of` replaces them when a body is made.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from hypothesis import strategies as st

from environments.profiles.model import Profile
from spec.interface import PREPARING_OPERATIONS
from tests.traffic.case import (
    AMOUNT,
    TYPES_EXCEPT_RANDOM,
    Case,
    Members,
    body_as_bytes,
    has_permitted_amounts,
    members_with_account_of_profile,
    members_with_payee_of_profile,
    usual_body,
    with_synthetic_identifiers,
)
from tests.traffic.drawing.member_schemas import MEMBERS_NOT_TRIED_ALONE
from tests.traffic.drawing.schema import example_of_path_parameter
from tests.traffic.drawing.step_sequences import values_with_most_patterns
from tests.traffic.drawing.unusual_values import (
    MISSING,
    ODD_NAMES,
    PAYER,
    USUAL,
    VALUES_OF_ODD_MEMBERS,
    UnusualValues,
    is_key_type,
    unusual_values_of,
    values_often_accepted,
)
from tests.traffic.drawing.with_hypothesis import distinct_values
from tests.traffic.unusual_texts import (
    ELEVEN_DIGITS,
    HALF_A_PAIR,
    LETTERS,
    ONE_DIGIT,
    OTHER_HALF_OF_A_PAIR,
    VERY_LONG,
)

ValuesByMember = Mapping[str, Sequence[Any]]
"""By name of a member of a body, a list of values. The markers may be among them."""
_KEYS_OF_ANOTHER_TYPE: Mapping[str, Sequence[Any]] = {
    "EMAIL": ("", "AB@@AB.AB", "AB..AB@AB", "AB@example.com ", f"AB@{'ab.' * 85}example.com"),
    "PHONE": (f"+{LETTERS}", ELEVEN_DIGITS, "+99901234567", MISSING),
    "CPF": ("", f"{ELEVEN_DIGITS}234", "111.444.777-35", "01234567899", "00000000000", None),
    "CNPJ": (f"{LETTERS}c" * 5, "11.444.777/0001-61"),
}
"""By key type, keys that do not fit it, because services check each type in its own way.

An e-mail address has at most 254 characters (RFC 5321), and a phone begins with a plus sign and a country code. A CPF
has 11 digits, and a CNPJ 14 digits or capital letters."""

_KEYS_IN_THE_FORM_OF_THEIR_TYPE: Mapping[str, Sequence[str]] = {
    "EMAIL": (
        *("AB+AB@Mail.Example.com", "o'%AB@example.com", '"AB"@example.com', "ação@exámple.com"),
        *(f"{'x' * 60}@example.com", f"AB@{'ab.' * 75}example.com"),  # some 80 and some 245 characters
    ),
    "PHONE": ("+55119" + "0" * 15,),  # more digits than 64 bits can hold
    "CNPJ": ("12ABC34501DE35",),  # the example of the tax office for a CNPJ with letters
}
"""By key type, unusual keys that have the form of their type: the capital letters, quotes, accents, signs and lengths
that an e-mail address may have, a long phone, and a CNPJ with letters. A service that checks the form first refuses
other unusual keys.

A key has two of them if services usually let both pass, or neither: a plus sign and a capital letter, for example."""


# -- bodies that leave nothing to draw ---------------------------------------------------------------------------------


def fixed_bodies(operation: str, profile: Profile) -> list[Case]:
    """Requests whose bodies are the same in every run, because drawn bodies seldom have these combinations.

    - Members with odd names, such as "__proto__", stand beside the usual ones.
    - Transfers: all members are null, all are empty, all are missing, only the amount is there, or all texts but the
      account of the profile are long. A service may compare two members, add them, or expect one of them.
    - Transfers to the payee of the profile: one member has a value that many services accept, such as a blank as the
      description. A service may store the transfer, and fail afterwards.
    - Registrations: the account is empty or missing, the key does not fit its type, such as a CPF of letters, or it is
      an unusual key of its type, such as an e-mail address with a quotation mark.
    - All others: a text has both halves of a surrogate pair in the wrong order. JSON can write them, and no encoding of
      texts can. All other members are usual, because many services refuse the whole body for such a text.
    """
    members = usual_body(operation, profile) or {}
    account_members = members_with_account_of_profile(operation, profile)
    texts = [name for name, value in members.items() if isinstance(value, str) and name not in account_members]
    changes = [_odd_members(members)]
    if operation in PREPARING_OPERATIONS:
        changes += [dict.fromkeys(members, value) for value in (None, "", MISSING)]
        changes.append({name: MISSING for name in members if name != AMOUNT})
        changes.append(dict.fromkeys(texts, VERY_LONG))
        for name in MEMBERS_NOT_TRIED_ALONE[operation]:  # the coverage phase tries all values of the other members
            accepted_values = values_often_accepted(operation, name, members.get(name), profile)
            changes += [{name: value} for value in accepted_values]
    if operation == "registerPixKey":
        changes += [{"account": account} for account in ("", MISSING)]
        changes += _registrations_with_keys(_KEYS_OF_ANOTHER_TYPE)
        changes += _registrations_with_keys(_KEYS_IN_THE_FORM_OF_THEIR_TYPE)
    else:  # a registration with half of a surrogate pair is in `invalid.py`
        changes += [{name: f"{OTHER_HALF_OF_A_PAIR}{HALF_A_PAIR}"} for name in texts[-1:]]
    usual = dict.fromkeys(members, USUAL)
    return _cases_with_bodies([{**usual, **change} for change in changes], operation, profile)


# Each of the next two functions returns changes of a usual body: the members that become unusual, with their values.
# For example, {"to": None} is the change after which `to` is null.


def _odd_members(documented_names: Collection[str]) -> Members:
    """The change that adds a member with each odd name, such as "__proto__", to a body with the documented names."""
    odd_names = [name for name in ODD_NAMES if name not in documented_names]
    values = islice(cycle(VALUES_OF_ODD_MEMBERS), len(odd_names))
    return dict(zip(odd_names, values, strict=True))


def _registrations_with_keys(keys_by_type: Mapping[str, Sequence[Any]]) -> list[Members]:
    """Changes of a registration after which it has one of these keys, and the key type under which the key stands."""
    changes: list[Members] = []
    for key_type, keys in keys_by_type.items():
        changes += [{"pixKeyType": key_type, "pixKey": key} for key in keys]
    return changes


# -- rounds ------------------------------------------------------------------------------------------------------------


def values_by_member(operation: str, profile: Profile) -> dict[str, UnusualValues]:
    """By name of a member of the body, its unusual values. Empty if the operation has no body."""
    members = usual_body(operation, profile) or {}
    return {name: unusual_values_of(operation, name, value, profile) for name, value in members.items()}


@st.composite
def rounds(
    draw: st.DrawFn, operation: str, profile: Profile, values: ValuesByMember, values_beside_accounts: ValuesByMember
) -> tuple[Case, ...]:
    """A Hypothesis strategy for rounds: requests in which each member of the body has each of its `values` once.

    In the requests with an unusual account, the other members have some of the `values_beside_accounts` instead. Both
    have the values by the name of the member. The requests are not sent yet, and name nobody.

    A service may look up the account and the payee of the profile before it reads the rest. So they keep their usual
    values in most of the requests, and at most one of them is unusual. In a registration the key is usual beside an
    unusual account: a service refuses the request at the first unusual text, so one of two would show nothing.
    """
    if operation == "registerPixKey":
        values_beside_accounts = {"pixKey": [USUAL], "pixKeyType": ["EMAIL"]}
    looked_up = [
        *members_with_account_of_profile(operation, profile),
        *members_with_payee_of_profile(operation, profile),
    ]
    all_usual = dict.fromkeys(looked_up, USUAL)
    others = {name: values[name] for name in values if name not in looked_up}
    others_beside_accounts = {name: values_beside_accounts[name] for name in others}

    bodies_with_usual_accounts: list[Members] = []
    for body in _one_value_after_the_other(_in_drawn_order(draw, others)):
        bodies_with_usual_accounts.append({**all_usual, **body})
    bodies_beside_accounts = cycle(_one_value_after_the_other(_in_drawn_order(draw, others_beside_accounts)) or [{}])
    bodies_with_unusual_account: list[Members] = []
    for name in looked_up:
        for body in _one_value_after_the_other(_in_drawn_order(draw, {name: values[name]})):
            bodies_with_unusual_account.append({**all_usual, **next(bodies_beside_accounts), **body})
    bodies = _spread(bodies_with_usual_accounts, bodies_with_unusual_account)
    if operation == "registerPixKey":
        bodies = list(map(_with_the_type_of_its_key, bodies))
    return tuple(_cases_with_bodies(bodies, operation, profile))


def _spread(many: Sequence[Members], few: Sequence[Members]) -> list[Members]:
    """All these bodies: the few spread evenly among the many, so that the first part of a round has some of both."""
    numbered = [((index + 1) / (len(many) + 1), body) for index, body in enumerate(many)]
    numbered += [((index + 1) / (len(few) + 1), body) for index, body in enumerate(few)]
    return [body for _, body in sorted(numbered, key=lambda place_and_body: place_and_body[0])]


_FORMS_OF_KEYS = (
    ("EMAIL", re.compile(".*@.*", re.DOTALL)),
    ("PHONE", re.compile(r"\+.*")),
    ("CNPJ", re.compile(r"[0-9./-]{14,}")),
    ("CPF", re.compile(r"[0-9.-]{8,}")),
)
"""Key types, each with the form by which a person sees that a key is meant to be of this type, the first that fits."""


def _with_the_type_of_its_key(registration: Members) -> Members:
    """The body of a registration, with the type that its key seems to have; the body as it is if it seems to have none.

    A service checks the key by its type. So "AB AB@AB.AB" shows more as an e-mail address than as a phone.
    """
    key = registration["pixKey"]
    is_text_in_a_usual_form = isinstance(key, str) and len(key) < _LONGEST_KEY_WITH_A_FORM
    if is_text_in_a_usual_form:
        for key_type, form in _FORMS_OF_KEYS:
            if form.fullmatch(key):
                return {**registration, "pixKeyType": key_type}
    return registration


_LONGEST_KEY_WITH_A_FORM = 40
"""A longer text, such as one of all special signs, is no key of any type. A choice."""


def _in_drawn_order(draw: st.DrawFn, values: ValuesByMember) -> ValuesByMember:
    """The same values, those of each member in an order that Hypothesis draws.

    If two members had the same order, both would always be null in the same body.
    """
    in_drawn_order = {}
    for name, values_of_member in values.items():
        order = draw(st.permutations(range(len(values_of_member))))
        in_drawn_order[name] = [values_of_member[index] for index in order]
    return in_drawn_order


def _one_value_after_the_other(values: ValuesByMember) -> list[Members]:
    """Bodies in which each member has one of its `values` after the other: as many as the longest list has values.

    If a member has fewer values, they are repeated from the first one.
    """
    count = max(map(len, values.values()), default=0)
    return [
        {name: values_of_member[index % len(values_of_member)] for name, values_of_member in values.items()}
        for index in range(count)
    ]


# -- combinations of simple values -------------------------------------------------------------------------------------

_SIMPLE_TEXTS = (USUAL, MISSING, None, "", VERY_LONG)
"""Values of a text that may show a fault together with a value of another member."""
_SIMPLE_NUMBERS = (USUAL, MISSING, None, 0, -1, ONE_DIGIT)
"""The same for a number, such as an amount or a date."""
_PAYEE_OR_NONE = (USUAL, MISSING, None)
"""Values of the payee of the profile, because a service may look it up before it reads the other members."""
_BODIES_TO_CHOOSE_FROM = 6
"""Bodies that are drawn for each one that is chosen."""


def combinations(operation: str, profile: Profile, seed: str, count: int) -> list[Case]:
    """Requests with a simple value in each member, such as null: as many as `count`. The same `seed` gives the same.

    They are chosen from six times as many drawn bodies, such that together they have the most different pairs of
    values. For example, `to` is null and `description` is missing. There are none if the body has fewer than two
    members.
    """
    members = usual_body(operation, profile) or {}
    if count < 1 or len(members) < 2:
        return []
    simple_values = [_simple_values_of(operation, name, value, profile) for name, value in members.items()]
    strategy = st.tuples(*(st.sampled_from(values) for values in simple_values))
    drawn = distinct_values(strategy, seed, _BODIES_TO_CHOOSE_FROM * count)
    chosen = values_with_most_patterns(drawn, count, _pairs_of_values)
    return _cases_with_bodies([dict(zip(members, values, strict=True)) for values in chosen], operation, profile)


def _simple_values_of(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[Any]:
    """The simple values of a member. Those of a key type are the documented types, and no type."""
    if is_key_type(operation, name):
        return (*TYPES_EXCEPT_RANDOM, MISSING)
    if name in members_with_account_of_profile(operation, profile):
        return (USUAL,)  # a service may look it up before it reads the other members
    if name in members_with_payee_of_profile(operation, profile):
        return _PAYEE_OR_NONE
    return _SIMPLE_TEXTS if isinstance(usual_value, str) else _SIMPLE_NUMBERS


def _pairs_of_values(values: Sequence[Any]) -> set[Hashable]:
    """Each two values of a body together, with their places: ((0, None), (3, "")) for the first and fourth member."""
    return set(itertools.combinations(enumerate(values), 2))


# -- requests ----------------------------------------------------------------------------------------------------------


def _cases_with_bodies(bodies: Iterable[Members], operation: str, profile: Profile) -> list[Case]:
    """A request for each of these bodies, if its amounts are permitted. The requests are not sent yet.

    The markers in the bodies are replaced. A made-up text replaces every text that may name somebody, so the requests
    can do no harm.
    """
    path_parameter = example_of_path_parameter(operation, profile)
    members = usual_body(operation, profile) or {}
    account_members = members_with_account_of_profile(operation, profile)
    cases = []
    for body_with_markers in bodies:
        body = _body_of(body_with_markers, members, account_members)
        if has_permitted_amounts(operation, body, profile):
            synthetic_body = body_as_bytes(with_synthetic_identifiers(body, operation, profile))
            cases.append(Case(operation, path_parameter=path_parameter, body=synthetic_body))
    return cases


def _body_of(values: Members, members: Members, account_members: Sequence[str]) -> Members:
    """A body with these values by member, in which the markers are replaced. `members` is the usual body.

    | marker | the member in the body |
    |---|---|
    | USUAL | has its usual value |
    | MISSING | is left out |
    | PAYER | has the account of the profile, which pays; its usual value if `account_members` is empty |

    `account_members` are the names of the members that usually name the account of the profile, such as ["from"].
    """
    body: dict[str, Any] = {}
    for name, value in values.items():
        if value is USUAL:
            body[name] = members[name]
        elif value is PAYER:
            body[name] = members[account_members[0] if account_members else name]
        elif value is not MISSING:
            body[name] = value
    return body
