"""The unusual values of a member of a body, by what the member is: an amount, a date, a key type, an account or a text.

Each value is one that usual programs fail at:

- a type that is not expected: `len()` of a number, a look-up of an array in a dictionary, an object that is stored
- a number that does not fit: 32 bits, 64 bits, a double, whole cents; zero that is taken for nothing; the sign of -0.0
- a text that is read as something else: "null", "true", "7", "1,5", "NaN", a date of another form
- a text that a pattern, a trim, an encoding or a column of a database does not expect

`combining.py` puts several of these values into one body. `member_schemas.py` lets Schemathesis draw them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from environments.profiles.model import Profile
from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import (
    AMOUNT,
    TYPES_EXCEPT_RANDOM,
    members_with_account_of_profile,
    members_with_payee_of_profile,
)
from tests.traffic.unusual_texts import (
    ALL_PRINTABLE,
    ALL_SPECIAL,
    ALL_UNUSUAL,
    DIGIT_OF_ANOTHER_SCRIPT,
    DIGITS_BEYOND_64_BITS,
    LETTERS,
    LONG_WITH_ALL_UNUSUAL,
    NAME_WITH_ACCENTS,
    ONE_DIGIT,
    SPECIAL,
    UNUSUAL,
    VERY_LONG,
)


class Marker:
    """Stands in a list of values for a value that only the request decides. See USUAL, MISSING and PAYER."""


USUAL = Marker()
"""The usual value of a member."""
MISSING = Marker()
"""Stands for a member that is not in the body."""
PAYER = Marker()
"""The account that pays, as if it were also paid."""


@dataclass(frozen=True)
class UnusualValues:
    """The unusual values of one sort of member. The markers may be among them."""

    in_every_run: tuple[Any, ...]
    """One value of each class that is often mistaken."""
    with_more_examples: tuple[Any, ...]
    """Values of further classes, and other values of the same classes. A run has room for some of them."""

    @property
    def all(self) -> tuple[Any, ...]:
        """All unusual values, the most frequent mistakes first."""
        return (*self.in_every_run, *self.with_more_examples)


def _nested(depth: int) -> Any:
    """Arrays inside each other, of which each holds the next one: `[[[]]]` for a depth of 3."""
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


_NESTED = _nested(70)
"""Nested deeper than a usual body, and less deep than usual parsers permit (100 levels and more)."""
_MORE_THAN_64_BITS = 2**64
"""An integer that many databases and languages cannot hold."""
_MANY_DIGITS = 10**400
"""An integer that no floating-point number can hold, not even roughly."""


def _text_of_length(length: int) -> str:
    """A made-up text of this many characters, all of them usual."""
    return SYNTHETIC_PREFIX.ljust(length, "x")


AMOUNTS = UnusualValues(
    in_every_run=(
        *(None, True, [1], {AMOUNT: 1}),
        *(0, -0.0, -0.5, 1e-7, 0.125),  # zero, with its sign; negative; not in whole cents
        *(2**31, math.inf, _MANY_DIGITS),  # more than 32 bits, 1e400, and 401 digits
        *("", ONE_DIGIT, "1,5", "NaN"),
    ),
    with_more_examples=(
        *(MISSING, False, [], {}, [[1]], 2**53 + 1, 1e308, 0.1 + 0.2, 5e-324, 2**63, -(2**31) - 1, -1e-9),
        *(2**64, 1e20, "1e5", "-1"),
        *("Infinity", LETTERS, "10.50", " ", " 7 ", "0x10", "1_000", "1.234,56", "9" * 20, "007", "+7", "true", "null"),
        *(DIGIT_OF_ANOTHER_SCRIPT, ALL_SPECIAL),
    ),
)
"""Amounts of money. The infinite number is sent as 1e400, which is the same for a parser that reads doubles."""
DATES = UnusualValues(
    in_every_run=(
        *(None, True, []),
        *(0, -1, 1_767_225_600, 2**64, 253_402_300_800_000, math.inf),  # seconds; 64 bits; the year 10000; 1e400
        *({"date": 0}, "", "15/01/2026"),
        *("2026-02-30", "0000-01-01", "9999-12-31", "2026-01-15T10:00:00Z"),  # the first is no day
    ),
    with_more_examples=(
        *(MISSING, False, " ", ["2026-01-15"], {}, LETTERS, "1767225600000", "2024-02-29", "2026-01-15T10:00:00-03:00"),
        *("2026-01-15", 1.5, -0.0, 1_767_225_600_000.0, 2**31, -62_135_596_800_001, 1e20),
        *(_MANY_DIGITS, "2026-01-15T10:00:00", "2026-01-15T10:00:00.123456Z", "2026-01-15T24:00:00Z"),
        *("2026-01-15T23:59:60Z", "2026-01-15 10:00:00", "2026-13-01", "2026-02-29", "20260115", "1767225600"),
        *("2026-1-5", "2026/01/15", "0001-01-01", "10:00", "today", "null", ONE_DIGIT, NAME_WITH_ACCENTS, ALL_SPECIAL),
    ),
)
"""Dates. The usual date is in milliseconds since 1970."""
TEXTS = UnusualValues(
    in_every_run=(
        *(None, True, PAYER, 0),
        *([], [LETTERS], {"AB": LETTERS}, _NESTED),
        *("", " ", LETTERS[0], f"{LETTERS}\n", DIGITS_BEYOND_64_BITS, "null", "true"),
        *(ALL_SPECIAL, ALL_PRINTABLE, ALL_UNUSUAL, VERY_LONG),
    ),
    with_more_examples=(
        *(MISSING, False, -0.5, _MORE_THAN_64_BITS, {}, [{}], [0], [[LETTERS]], {"AB": None}),
        *(f" {LETTERS} ", "undefined", "false", "0", ONE_DIGIT, "-1", "1.5", "2026-01-15"),
        *(NAME_WITH_ACCENTS, DIGIT_OF_ANOTHER_SCRIPT, "ßé漢🏦", "漢" * 100),
        *(_text_of_length(length) for length in (33, 65, 78, 101, 129, 141, 255, 256, 1_001, 65_537)),
    ),
)
"""Texts: an account that is paid, a free text."""
KEYS = UnusualValues(
    in_every_run=(
        # Without the empty text, which each run has as a key of certain types (`combining.py`), and without 0, because
        # another number is below.
        *(value for value in TEXTS.in_every_run if value not in (PAYER, "", 0)),
        "AB AB@AB.AB",
        _MORE_THAN_64_BITS,
    ),
    with_more_examples=(
        *(
            "@",
            "AB@AB",
            "+",
            "+7",
            "@AB.AB",
            "AB@",
            "AB@AB.AB.",
            "AB@[127.0.0.1]",
            "AB@AB_AB.AB",
            "11.444.777/0001-61",
            "00000000000",
            "1" * 14,
        ),
        *(value for value in TEXTS.with_more_examples if value != _MORE_THAN_64_BITS),
    ),
)
"""Keys: also those that almost have the form of an e-mail address, a phone or a tax number."""
AMOUNTS_OFTEN_ACCEPTED: tuple[Any, ...] = (30_000_000, 1e27)
"""Amounts that many services accept: 30 million have more cents than 32 bits can hold, and 1e27 has more digits than a
decimal number of many languages."""
DATES_OFTEN_ACCEPTED: tuple[Any, ...] = ("2026-02-30", "2026-01-15T10:00:00-03:00")
"""Dates that many services accept: a day that no year has, and a time with an offset."""
TEXTS_OFTEN_ACCEPTED: tuple[Any, ...] = (" ", f"{LETTERS}\n", ALL_PRINTABLE, _text_of_length(150), _text_of_length(256))
"""Free texts that many services accept: a blank, a line end, signs of all scripts, and lengths that fit in one column
and not in another one."""
_PAYEES = UnusualValues(
    in_every_run=(
        *(None, True, PAYER, 0),
        *([], {"AB": LETTERS}),
        *("", LETTERS[0], DIGITS_BEYOND_64_BITS),
        *(f"{ALL_SPECIAL}{ALL_PRINTABLE}", ALL_UNUSUAL, VERY_LONG),
    ),
    with_more_examples=(
        *([LETTERS], _NESTED, " ", f"{LETTERS}\n", "null", "true"),
        *TEXTS.with_more_examples,
    ),
)
"""Unusual values of a member that usually names the payee of the profile. A service looks up the payee, and refuses
most of these values, so few of them are in every run."""
_ACCOUNTS = UnusualValues(
    in_every_run=(True, 0, [], {"AB": LETTERS}, DIGITS_BEYOND_64_BITS, f"{ALL_SPECIAL}/\n\0{ALL_PRINTABLE}"),
    with_more_examples=(
        *("", MISSING, None, False, -0.5, [LETTERS], {}),
        *(" ", LETTERS[0], "null", "12345-6", ALL_UNUSUAL, VERY_LONG),
    ),
)
"""Unusual values of a member that usually has an account of the profile: the payer, or the account that gets a key."""
DOCUMENTED_KEY_TYPES = UnusualValues(in_every_run=TYPES_EXCEPT_RANDOM, with_more_examples=TYPES_EXCEPT_RANDOM)
"""Key types that are sent with unusual keys. For RANDOM the service would make a key, and ignore the unusual one."""
KEY_TYPES_IN_ODD_FORM = (
    *("email", "Email", " EMAIL ", "0", "9", ""),
    *(["EMAIL"], LONG_WITH_ALL_UNUSUAL),
)
"""Key types that are none, or a documented one in another form. The coverage phase tries each of them alone, because a
service refuses such a type before it reads the rest of the body."""
ODD_NAMES = (
    *("", " ", "VALUE", "PIXKEY", "PixKey", "pix_key", " value ", "a.b", "a[0]", "$where", "__proto__", "constructor"),
    *("toString", "id", "code", "data", "ação", "x" * 300, "\0", SPECIAL, UNUSUAL),
    *("from", "to", "date", "description", "account", "message", "pixKeyType", "pixKey"),
)
"""Names of members that an operation does not document: empty, nearly documented, with a meaning for a program,
unusual, very long, or documented for another operation."""
VALUES_OF_ODD_MEMBERS: tuple[Any, ...] = (None, True, SYNTHETIC_PREFIX, [], {}, [None], {"": None})
"""The values of the members with odd names, one after the other and then again from the first one."""


def is_key_type(operation: str, name: str) -> bool:
    """True if a member of a body is the key type of a registration, whose values the interface document lists."""
    return name == "pixKeyType" and operation == "registerPixKey"


def values_often_accepted(operation: str, name: str, usual_value: Any, profile: Profile) -> Sequence[Any]:
    """Unusual values of a member that many services accept, and store, before something fails.

    They are for transfers to the payee of the profile, so on a sandbox only. Empty for any other operation, and for a
    member that names the payer or the payee: a service looks these up, and refuses what it does not find.
    """
    payees = members_with_payee_of_profile(operation, profile)
    is_looked_up = name in payees or name in members_with_account_of_profile(operation, profile)
    if not payees or is_looked_up:
        return ()
    if name == "date":
        return DATES_OFTEN_ACCEPTED
    return TEXTS_OFTEN_ACCEPTED if isinstance(usual_value, str) else AMOUNTS_OFTEN_ACCEPTED


def unusual_values_of(operation: str, name: str, usual_value: Any, profile: Profile) -> UnusualValues:
    """The unusual values of a member, by its name or by the type of its usual value.

    For example, `value` has AMOUNTS, and `description`, whose usual value is a text, has TEXTS. An account of the
    profile also has its own text in capital letters, and with a blank behind it.
    """
    if is_key_type(operation, name):
        return DOCUMENTED_KEY_TYPES
    if name in members_with_account_of_profile(operation, profile):
        in_capitals, with_a_blank = [], []
        if isinstance(usual_value, str):  # in the body of a profile it may also be an object with the account in it
            in_capitals, with_a_blank = [usual_value.upper()], [f"{usual_value} "]
        return UnusualValues(
            in_every_run=(*_ACCOUNTS.in_every_run, *in_capitals),
            with_more_examples=(*with_a_blank, *_ACCOUNTS.with_more_examples),
        )
    if name in members_with_payee_of_profile(operation, profile):
        return _PAYEES
    if name == "date":
        return DATES
    if not isinstance(usual_value, str):  # such as the amount, whose member is `value`
        return AMOUNTS
    return KEYS if operation == "registerPixKey" else TEXTS
