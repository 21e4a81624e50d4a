"""The amounts of transfers: off a sandbox, no transfer is prepared for more than the profile says, nor for 0 or less.

The door asks `Amounts.check` before it sends a request, so that generated amounts are checked as well.
Source: the field `value` of the transfer bodies (interface document, Versioning 2). The limit is a rule of the suite.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from environments.door.bodies import NumberText, bodies_of_the_profile, leaves_in
from environments.door.outgoing import Sending
from environments.door.permission import ForbiddenError
from environments.profiles.model import Profile
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX
from spec.json_text import as_bytes

_AMOUNT = "value"
_LEAST = 0.01
"""The most that a transfer may move if the profile has no positive amount for its operation: one centavo."""


@dataclass(frozen=True)
class Amounts:
    """The amounts that a profile has for each operation."""

    of_the_profile: Mapping[str, frozenset[str]]
    """By operation, the amounts as they are written: a number is a `NumberText`, a text is a plain str."""

    @classmethod
    def of(cls, profile: Profile) -> Amounts:
        """The amounts in the bodies of a profile."""
        amounts = defaultdict[str, set[str]](set)
        for operation, body in bodies_of_the_profile(profile):
            for path, leaf in leaves_in(as_bytes(body)) or ():
                if _AMOUNT in path and isinstance(leaf, str):
                    amounts[operation].add(leaf)
        return cls({operation: frozenset(texts) for operation, texts in amounts.items()})

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for a transfer with an amount that the profile does not permit.

        A body that is not JSON passes here: `Identifiers` refuses it if it has a digit, so it holds no amount.
        """
        for operation in sending.reachable_operations.intersection(PREPARING_OPERATIONS):
            for path, leaf in leaves_in(sending.plain_request.body) or ():
                if _AMOUNT in path and not self._is_permitted(operation, leaf):
                    raise ForbiddenError(f"{operation}: an amount that is above that of the profile, or not above 0")

    def _is_permitted(self, operation: str, leaf: Any) -> bool:
        """True if the value is an amount of the profile, a number above 0 up to its greatest amount, or no amount.

        Null, false, a synthetic text and a text without a digit are no amounts.
        """
        amounts = self.of_the_profile.get(operation, frozenset())
        if leaf is True:  # a service may read it as 1
            return _greatest(amounts) >= 1
        if not isinstance(leaf, str) or leaf in amounts:
            return True
        if isinstance(leaf, NumberText):
            return 0 < float(leaf) <= _greatest(amounts)
        has_digit = any(map(str.isdigit, leaf))
        return SYNTHETIC_PREFIX in leaf or not has_digit


def _greatest(amounts: frozenset[str]) -> float:
    """The most that a transfer may move. An amount of 0 or less counts as `_LEAST`, which the suite sends instead."""
    numbers = [float(amount) for amount in amounts if isinstance(amount, NumberText)]
    positive_numbers = [number if number > 0 else _LEAST for number in numbers]
    return max(positive_numbers, default=_LEAST)
