"""The amounts of transfers: at a real service, no transfer is prepared for more than the profile says, nor for 0 or
less.

The door asks `Amounts.check` before it sends a request, so that amounts drawn at random are checked as well.
The profile is the file with the settings of a run. It has a body for each operation that prepares a transfer.
A sandbox is a test system whose money is worth nothing; amounts are not checked there.
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

_MEMBER_WITH_AMOUNT = "value"
"""The member of a transfer body that has the amount."""
_ONE_CENTAVO = 0.01
"""The most that a transfer may move if the profile has no positive amount for its operation: one centavo."""


@dataclass(frozen=True)
class Amounts:
    """The amounts that the profile (the settings of a run) has for each operation that prepares a transfer."""

    of_the_profile: Mapping[str, frozenset[str]]
    """By operation, the amounts as they are written: a number is a `NumberText`, a text is a plain str."""

    @classmethod
    def of_profile(cls, profile: Profile) -> Amounts:
        """The amounts in the request bodies of a profile (the settings of a run): `{"transferP2p": {"10.50"}}`.

        An amount is every text or number below a member `value`, because a service may accept `"10.50"` as well as
        `10.50`.
        """
        amounts = defaultdict[str, set[str]](set)
        for operation, body in bodies_of_the_profile(profile):
            leaves = leaves_in(as_bytes(body)) or []  # None if the body is nested too deeply to be read
            for path, leaf in leaves:
                is_text_or_number = isinstance(leaf, str)  # a number is a `NumberText`, which is a str
                if _MEMBER_WITH_AMOUNT in path and is_text_or_number:
                    amounts[operation].add(leaf)
        return cls({operation: frozenset(texts) for operation, texts in amounts.items()})

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError if the body of a request that may prepare a transfer has an amount that is too high.

        An amount may be at most the highest amount that the profile (the settings of the run) has for the same
        operation, and must be above 0. An unusual path may reach several operations. Then each of them must permit the
        amount.

        A body that is not JSON passes here, because another check (`Identifiers.check`) refuses such a body if it has
        a digit. Without a digit it holds no amount.
        """
        for operation in sending.reachable_operations.intersection(PREPARING_OPERATIONS):
            leaves = leaves_in(sending.plain_request.body) or []  # None if the body is not JSON
            for path, leaf in leaves:
                if _MEMBER_WITH_AMOUNT in path and not self._is_permitted(operation, leaf):
                    raise ForbiddenError(f"{operation}: an amount that is above that of the profile, or not above 0")

    def _is_permitted(self, operation: str, leaf: Any) -> bool:
        """True if a value in the member `value` of a body may be sent to the operation.

        | value | permitted |
        |---|---|
        | true | if the profile permits the amount 1, because a service may read true as 1 |
        | false or null | always: it is no amount |
        | an amount as the profile has it, as a number or a text | always |
        | another number | if it is above 0 and at most the greatest amount of the profile |
        | another text | if no service can read an amount from it: it is made up by the suite, or has no digit |
        """
        amounts = self.of_the_profile.get(operation, frozenset())
        if leaf is True:
            return _greatest(amounts) >= 1
        is_false_or_null = not isinstance(leaf, str)  # a number is a `NumberText`, which is a str
        if is_false_or_null or leaf in amounts:
            return True
        if isinstance(leaf, NumberText):
            return 0 < float(leaf) <= _greatest(amounts)
        has_digit = any(character.isdigit() for character in leaf)
        return SYNTHETIC_PREFIX in leaf or not has_digit


def _greatest(amounts: frozenset[str]) -> float:
    """The greatest amount that a transfer may move, if the settings of the run have these amounts.

    `{NumberText("5"), NumberText("10.50")}` gives 10.5. Texts are left out, because a text is permitted only if it is
    equal to one of them. An amount of 0 or less counts as one centavo, because the suite sends one centavo instead. If
    there is no amount at all, the result is one centavo as well.
    """
    numbers = [float(amount) for amount in amounts if isinstance(amount, NumberText)]
    positive_numbers = [number if number > 0 else _ONE_CENTAVO for number in numbers]
    return max(positive_numbers, default=_ONE_CENTAVO)
