"""A scenario: a function that sends, and returns what it got. Tests judge that, and send nothing.

One whose requests may go together with those of others is a generator: it yields them, and gets the answers. It is
declared with what it is sent for: `@scenario(shows=["executePix.*"], needs="execute", alone=True, otherwise=...)`. The
selected requirements decide which scenarios are sent, and which operations these may reach: those that they are about,
and what these need first. With every selection go the preflight (listAccounts) and the reads that are repeated to see
whether the token has expired. A path beside the documented ones belongs to the operation that it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Generic, TypeVar

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.exchange import Exchange
from spec.log import numbers_superseded
from spec.rules import Reproduction
from tests.harness.selection import Reach
from tests.traffic.together import Send, Together

T = TypeVar("T")
Asking = Generator[list[Send], list[Exchange], T]


@dataclass(frozen=True, eq=False)
class Scenario(Generic[T]):
    """`shows` are groups of requirements, in which `*` stands for anything; `needs` is a permission beyond those of the
    operations. `alone`: one request after the other; else it is a generator. `otherwise` stands where it was not
    sent."""

    send: Callable[[Traffic], T | Asking[T]]
    shows: tuple[str, ...]
    otherwise: T
    needs: str = ""
    alone: bool = False

    def is_for(self, requirement_id: str) -> bool:
        """True if it shows the requirement."""
        return any(fnmatchcase(requirement_id, group) for group in self.shows)


def scenario(
    *, shows: Sequence[str], otherwise: T, needs: str = "", alone: bool = False
) -> Callable[[Callable[[Traffic], T | Asking[T]]], Scenario[T]]:
    """Declare a function that sends as a scenario."""
    return lambda send: Scenario(send, tuple(shows), otherwise, needs, alone)


# -- the traffic of a run -----------------------------------------------------------------------------------------


class Traffic:
    """Requests of a run that are not generated, to the operations that the selection reaches."""

    def __init__(
        self, client: Client, profile: Profile, reach: Reach, reproduction: Reproduction | None = None
    ) -> None:
        self.client, self.profile, self.reach = client, profile, reach
        self.reproduction = reproduction or Reproduction()
        self.together = Together(client)
        self._sent: dict[Scenario[Any], Any] = {}

    def send(self, scenarios: Iterable[Scenario[Any]]) -> None:
        """Send those that show a selected requirement, where the profile permits it: first those that are alone, one
        after the other, then all others together."""
        chosen = list(filter(self.selects, scenarios))
        for one in (each for each in chosen if each.alone):
            self._sent[one] = one.send(self)
        asking = [(one, one.send(self)) for one in chosen if not one.alone]
        answers = self.together.send_in_turns([next(each) for _, each in asking])
        for (one, each), mine in zip(asking, answers, strict=True):
            try:
                each.send(mine)
            except StopIteration as end:
                self._sent[one] = end.value
        self.together.send_deviating_again()

    def selects(self, one: Scenario[Any]) -> bool:
        """True if the scenario shows a selected requirement, and the profile permits it."""
        return any(map(one.is_for, self.reach.names)) and (not one.needs or one.needs in self.profile.allow)

    def result_of(self, one: Scenario[T]) -> T:
        """Result of a scenario."""
        result: T = self._sent.get(one, one.otherwise)
        return result

    def permitted(self, operation: str) -> bool:
        """True if the profile permits the operation, and the selection reaches it."""
        return operation in self.reach.operations

    def is_about(self, *operations: str) -> list[str]:
        """Given operations that the selection is about."""
        return [operation for operation in operations if operation in self.reach.subjects]

    @property
    def exchanges(self) -> list[Exchange]:
        """Every exchange of the run that is not generated traffic and whose answer counts."""
        superseded = numbers_superseded(self.client.door.exchanges)
        return [exchange for exchange in self.attempts if exchange.number not in superseded]

    @property
    def attempts(self) -> list[Exchange]:
        """Every exchange of the run that is not generated traffic, also those that were sent again."""
        return [exchange for exchange in self.client.door.exchanges if not exchange.part]

    def targeted(self, operation: str) -> list[Exchange]:
        """Exchanges with the operation, without generated traffic."""
        return [seen for seen in self.exchanges if seen.operation == operation]
