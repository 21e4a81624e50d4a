"""The values that a member of a body may have, as JSON schemas: one table for the coverage phase and for drawing.

The coverage phase of Schemathesis tries each value of an `enum`, each bound of a constraint and the next value beyond
it, such as -1 for `minimum: 0`. It adds a value of each type that no schema permits. When bodies are drawn, the same
schemas and a few sorts of random texts are permitted.

The values are those at which usual programs fail: `int()` of a fraction, `strptime` of another form of date, a regular
expression that knows ASCII alone, a column of 255 characters, a number of more than 64 bits, null where a text is
expected.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from environments.profiles.model import Profile
from tests.traffic.case import AMOUNT, greatest_amount, members_with_account_of_profile
from tests.traffic.drawing.unusual_values import KEY_TYPES_IN_ODD_FORM, Marker, is_key_type, unusual_values_of
from tests.traffic.unusual_texts import (
    ALL_PRINTABLE,
    ALL_SPECIAL,
    ALL_UNUSUAL,
    HALF_A_PAIR,
    NAME_WITH_ACCENTS,
    ONE_DIGIT,
    OTHER_HALF_OF_A_PAIR,
    VERY_LONG,
)

JsonSchema = dict[str, Any]
"""A JSON schema, which says which values a member of a body may have."""

_NO_TEXT: tuple[Any, ...] = (None, 0, [])
"""Values that are no text. The coverage phase adds a negative number, false, an array with items and an empty object.
"""
_UNUSUAL_ACCOUNT: JsonSchema = {"enum": [None, "", ALL_SPECIAL, ALL_UNUSUAL, VERY_LONG]}
"""The unusual values of a member that usually names an account of the profile. A service looks the account up, so few
values show more than that it is unknown."""
_TEXT: JsonSchema = {
    "enum": [
        *_NO_TEXT,
        *("", " ", ONE_DIGIT),
        *(NAME_WITH_ACCENTS, ALL_SPECIAL, ALL_PRINTABLE, ALL_UNUSUAL),
        VERY_LONG,
    ]
}
"""A member whose usual value is a text, such as a key or a description. The lengths count with the prefix, because a
service counts it, too."""
_NUMBER: JsonSchema = {"enum": [None, True, 0, -0.5, "", ONE_DIGIT, [], {}]}
"""A member whose usual value is a number."""
_DATE: tuple[JsonSchema, ...] = (
    {"type": "integer", "minimum": 0},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "pattern": "^[0-9]{13}$"},  # milliseconds as text
    {
        "enum": [
            None,
            253_402_300_800_000,  # the year 10000
            2**64,  # more than 64 bits
            "2026-02-30",  # a day that no year has
            "15/01/2026",
        ]
    },
)
"""A date, in milliseconds since 1970 if it is a number."""
_AMOUNT: tuple[JsonSchema, ...] = (
    {
        "enum": [
            *(None, True, "", 0),
            *(0.125, 1e-7),  # not in whole cents; less than a cent
            *(1, 1e20),  # … more than 64 bits
            *(ONE_DIGIT, "NaN"),
        ]
    },
)
"""An amount of money, which only a sandbox gets."""
_KEY_TYPE: JsonSchema = {"enum": ["PHONE", *KEY_TYPES_IN_ODD_FORM]}
"""The key type of a registration: a type that does not fit the usual key, or one in an odd form. Keys that do not fit
the other types are in `combining.py`."""


MEMBERS_NOT_TRIED_ALONE: Mapping[str, Collection[str]] = {
    "registerPixKey": ("account", "pixKey"),
    "deletePixKey": ("pixKey",),
    "createPix": ("account", "pixKey", AMOUNT, "message"),
    "transferExternal": ("from", "to", AMOUNT),
    "transferInternal": ("from", "to", AMOUNT, "date"),
    "transferP2p": ("from", "to", AMOUNT, "date", "description"),
}
"""By operation, the members that are not unusual alone in a body of the coverage phase; but they are missing once.

Services treat all transfers alike. So one operation is enough to try each value of a member while the others are usual:
transferExternal for the date, transferInternal for the description. Bodies with several unusual members
(`combining.py`) have all values, for each operation. In a registration or deletion these already show the values of a
key alone, because the other members are usual or documented there."""


def schemas_of_covered_member(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of the values that the coverage phase of Schemathesis tries in a member of a body.

    The first schema has the usual value alone. There is no other one if the member is not tried alone
    (`MEMBERS_NOT_TRIED_ALONE`).
    """
    if name in MEMBERS_NOT_TRIED_ALONE.get(operation, ()):
        return [{"enum": [usual_value]}]
    return [{"enum": [usual_value]}, *_schemas_of_unusual_values(operation, name, usual_value, profile)]


def schemas_of_member(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of all values that a member of a body may have. The first one has the usual value.

    They are those of the coverage phase, and the values of `unusual_values.py`. Outside a sandbox these are left out of
    an amount, because many of them are not permitted.
    """
    schemas = [{"enum": [usual_value]}, *_schemas_of_unusual_values(operation, name, usual_value, profile)]
    if name != AMOUNT or profile.is_sandbox:
        values = unusual_values_of(operation, name, usual_value, profile).all
        schemas.append({"enum": [value for value in values if _is_usable_in_a_schema(value)]})
    return schemas


def _is_usable_in_a_schema(value: Any) -> bool:
    """True if Schemathesis can have a value in a schema: no marker, no half of a surrogate pair, and no huge number."""
    if isinstance(value, Marker) or value in (HALF_A_PAIR, OTHER_HALF_OF_A_PAIR):
        return False
    return not isinstance(value, int | float) or abs(value) <= sys.float_info.max


def _schemas_of_unusual_values(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of the unusual values of a member, by its name or by the type of its usual value."""
    if is_key_type(operation, name):
        return [_KEY_TYPE]
    if name == AMOUNT:
        return _AMOUNT if profile.is_sandbox else _permitted_amounts(operation, profile)
    if name == "date":
        return _DATE
    if name in members_with_account_of_profile(operation, profile):
        return [_UNUSUAL_ACCOUNT]
    return [_TEXT] if isinstance(usual_value, str) else [_NUMBER]


def _permitted_amounts(operation: str, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of the amounts outside a sandbox: permitted numbers, and values that are no numbers.

    A number is above 0 and at most the amount of the profile. The other values are null, texts, an array and an object.
    The text "7" becomes "pixconf-7" before it is sent. No value is true, because a service may read true as 1.
    """
    permitted_number = {"type": "number", "exclusiveMinimum": 0, "maximum": greatest_amount(operation, profile)}
    no_number: JsonSchema = {"enum": [None, "", ONE_DIGIT, [], {}]}
    return [permitted_number, no_number]
