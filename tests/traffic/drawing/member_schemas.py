"""The values that a member of a body may have, as JSON schemas: one table for the coverage phase and for drawing.

The coverage phase of Schemathesis tries each value of an `enum`, each bound of a constraint and the next value beyond
it, such as -1 for `minimum: 0`. It adds a value of each type that no schema permits. When bodies are drawn, the same
schemas and a few sorts of random texts are permitted.

The values are those at which usual programs fail: `int()` of a fraction, `strptime` of another form of date, a regular
expression that knows ASCII alone, a column of 255 characters, a number of more than 64 bits, null where a text is
expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from environments.profiles.model import Profile
from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import AMOUNT, TYPES_EXCEPT_RANDOM, greatest_amount, members_with_account_of_profile
from tests.traffic.unusual_texts import (
    ALL_PRINTABLE,
    ALL_SPECIAL,
    ALL_UNUSUAL,
    ELEVEN_DIGITS,
    LENGTHS,
    LONG_WITH_ALL_UNUSUAL,
    NAME_WITH_ACCENTS,
    ONE_DIGIT,
    VERY_LONG,
)

JsonSchema = dict[str, Any]
"""A JSON schema, which says which values a member of a body may have."""

_NO_TEXT: tuple[Any, ...] = (None, 0, [])
"""Values that are no text. The coverage phase adds a negative number, false, an array with items and an empty object.
"""
_ACCOUNT_OF_PROFILE: JsonSchema = {"enum": [None, "", ALL_SPECIAL, ALL_UNUSUAL, VERY_LONG]}
"""The member that usually names an account of the profile. A service looks the account up, so few values show more than
that it is unknown."""
_TEXT: JsonSchema = {
    "enum": [
        *_NO_TEXT,
        *("", " ", ONE_DIGIT, ELEVEN_DIGITS),
        *(NAME_WITH_ACCENTS, ALL_SPECIAL, ALL_PRINTABLE, ALL_UNUSUAL),
        *(SYNTHETIC_PREFIX.ljust(length, "x") for length in LENGTHS),
    ]
}
"""A member whose usual value is a text, such as a key or a description. The lengths count with the prefix, because a
service counts it, too."""
_NUMBER: JsonSchema = {"enum": [None, True, 0, -0.5, "", ONE_DIGIT, [], {}]}
"""A member whose usual value is a number."""
_DATE: tuple[JsonSchema, ...] = (
    {"type": "integer", "minimum": 0, "maximum": 253_402_300_799_999},  # the last millisecond of the year 9999
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "pattern": "^[0-9]{13}$"},  # milliseconds as text
    {
        "enum": [
            *(None, ""),
            1_767_225_600,  # seconds since 1970, not milliseconds
            2**64,  # more than 64 bits
            "2026-02-30",  # a day that no year has
            "15/01/2026",
        ]
    },
)
"""A date, in milliseconds since 1970 if it is a number."""
_AMOUNT: tuple[JsonSchema, ...] = (
    {"type": "integer", "minimum": 1, "maximum": 2**53 - 1},  # the largest number that a double holds exactly
    {
        "enum": [
            *(None, True, "", 0),
            *(0.125, 1e-7),  # not in whole cents; less than a cent
            *(1_000_000, 12_345_678_901, 1e20),  # more than somebody has; more than 32 and than 64 bits
            *(ONE_DIGIT, "10.50", "1,5", "9" * 20, "NaN"),
        ]
    },
)
"""An amount of money, which only a sandbox gets."""
_KEY_TYPE: JsonSchema = {"enum": [*TYPES_EXCEPT_RANDOM, "email", ONE_DIGIT, "", LONG_WITH_ALL_UNUSUAL]}
"""A documented key type in small letters, a digit as in the example of the interface document, and others that are
none."""


MEMBERS_OF_ANOTHER_OPERATION: Mapping[str, Mapping[str, Any]] = {
    "transferInternal": {"from": {}, "to": [], AMOUNT: True, "date": []},
    "transferP2p": {"from": True, "to": {}, AMOUNT: [], "date": {}, "description": []},
}
"""By operation, the members that the coverage phase tries less, each with a value of a wrong type that it tries.

transferExternal gets all values of these members (and transferInternal those of the description), and services treat
all transfers alike. The operations here get null and one value of a wrong type, and lack the member once. Drawn bodies
have the other values, too."""


def schemas_of_covered_member(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of the values of a member that the coverage phase tries. The usual value is the first one."""
    few_values = MEMBERS_OF_ANOTHER_OPERATION.get(operation, {})
    if name in few_values:
        return [{"enum": [usual_value, None, few_values[name]]}]
    return schemas_of_member(operation, name, usual_value, profile)


def schemas_of_member(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of all values that a member of a body may have. The usual value is the first one."""
    return [{"enum": [usual_value]}, *_schemas_of_unusual_values(operation, name, usual_value, profile)]


def _schemas_of_unusual_values(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of the unusual values of a member, by its name or by the type of its usual value."""
    if is_key_type(operation, name):
        return [_KEY_TYPE]
    if name == AMOUNT:
        return _AMOUNT if profile.is_sandbox else _permitted_amounts(operation, profile)
    if name == "date":
        return _DATE
    if name in members_with_account_of_profile(operation, profile):
        return [_ACCOUNT_OF_PROFILE]
    return [_TEXT] if isinstance(usual_value, str) else [_NUMBER]


def _permitted_amounts(operation: str, profile: Profile) -> Sequence[JsonSchema]:
    """The JSON schemas of the amounts outside a sandbox: permitted numbers, and values that are no numbers.

    A number is above 0 and at most the amount of the profile. The other values are null, texts, an array and an object.
    The text "7" becomes "pixconf-7" before it is sent. No value is true, because a service may read true as 1.
    """
    permitted_number = {"type": "number", "exclusiveMinimum": 0, "maximum": greatest_amount(operation, profile)}
    no_number: JsonSchema = {"enum": [None, "", ONE_DIGIT, [], {}]}
    return [permitted_number, no_number]


def is_key_type(operation: str, name: str) -> bool:
    """True if a member of a body is the key type of a registration, whose values the interface document lists."""
    return name == "pixKeyType" and operation == "registerPixKey"
