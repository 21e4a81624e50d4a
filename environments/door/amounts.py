"""The amounts of transfers: off a sandbox no transfer is prepared for more than the profile says, or for nothing.

Whatever a generator draws or a list holds is looked at here, on its way out.
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
from spec.interface import MARK, PREPARING
from spec.json_text import as_bytes

_AMOUNT = "value"
_LEAST = 0.01
"""The most that a transfer may move if the profile has no amount for its operation."""


@dataclass(frozen=True)
class Amounts:
    """The amounts that a profile has for each operation, as they are written."""

    of_the_profile: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, profile: Profile) -> Amounts:
        """The amounts of a profile."""
        amounts = defaultdict[str, set[str]](set)
        for operation, body in bodies_of_the_profile(profile):
            leaves = leaves_in(as_bytes(body)) or []
            amounts[operation] |= {leaf for path, leaf in leaves if _AMOUNT in path and isinstance(leaf, str)}
        return cls({operation: frozenset(texts) for operation, texts in amounts.items()})

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for a transfer whose amount is neither one of the profile, nor above 0 and at most the
        greatest of these. A text is no amount if it is synthetic or has no digit. A body that is no JSON is a matter of
        `Identifiers`: it has no digit at all."""
        for operation in sending.reaches.intersection(PREPARING):
            for path, leaf in leaves_in(sending.sent.body) or ():
                if _AMOUNT in path and not self._is_permitted(operation, leaf):
                    raise ForbiddenError(f"{operation}: an amount that is above that of the profile, or not above 0")

    def _is_permitted(self, operation: str, leaf: Any) -> bool:
        own = self.of_the_profile.get(operation, frozenset())
        if leaf is True:  # a service may read it as 1
            return _greatest(own) >= 1
        if not isinstance(leaf, str) or leaf in own:
            return True
        if isinstance(leaf, NumberText):
            return 0 < float(leaf) <= _greatest(own)
        return MARK in leaf or not any(map(str.isdigit, leaf))


def _greatest(amounts: frozenset[str]) -> float:
    """The most that a transfer may move: the suite sends the least amount in the place of one that is not above 0."""
    numbers = [float(amount) for amount in amounts if isinstance(amount, NumberText)]
    return max((number if number > 0 else _LEAST for number in numbers), default=_LEAST)
