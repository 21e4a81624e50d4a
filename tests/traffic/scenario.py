"""A scenario: a function that sends requests, each with its purpose. Tests ask the log for the answers.

It is declared with the requirements that it serves and the permission that it needs:
`@scenario(serves=["executePix.*"], needs="execute")`. The selected requirements decide which scenarios are sent, and
which operations these may reach: those that they are about, and what these need first. With every selection go the
preflight (listAccounts) and the reads that are repeated to see whether the token has expired. A path beside the
documented ones belongs to the operation that it is compared with.

A gathering scenario returns what it gathered; `otherwise` is its result if it was not sent. One whose requests go
together with those of others is a generator: it yields requests, and receives their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import GeneratorType
from typing import Any, Generic, TypeVar

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.exchange import Exchange
from spec.log import Log, numbers_superseded
from spec.message import Text
from spec.rules import Reproduction
from tests.harness.selection import Reach
from tests.traffic.together import Send, Together

T = TypeVar("T")
Asking = Generator[list[Send], list[Exchange], T]


@dataclass(frozen=True, eq=False)
class Scenario(Generic[T]):
    """What sends, the groups of requirements that it serves, in which `*` stands for anything, and the permission that
    it needs beyond those of the operations."""

    send: Callable[[Traffic], T | Asking[T]]
    serves: tuple[str, ...]
    otherwise: T
    needs: str = ""

    def is_for(self, requirement_id: str) -> bool:
        """True if it serves the requirement."""
        return any(fnmatchcase(requirement_id, group) for group in self.serves)


def scenario(*, serves: Sequence[str], needs: str = "") -> Callable[[Callable[[Traffic], None]], Scenario[None]]:
    """Declare a function that sends as a scenario."""
    return lambda send: Scenario(send, tuple(serves), None, needs)


def gathering_scenario(
    *, serves: Sequence[str], otherwise: T, needs: str = ""
) -> Callable[[Callable[[Traffic], T | Asking[T]]], Scenario[T]]:
    """Declare a function that sends and returns what it gathered as a scenario."""
    return lambda send: Scenario(send, tuple(serves), otherwise, needs)


# -- the traffic of a run -----------------------------------------------------------------------------------------


class Traffic:
    """Requests of a run that are not generated, to the operations that the selection reaches."""

    def __init__(
        self, client: Client, profile: Profile, reach: Reach, reproduction: Reproduction | None = None
    ) -> None:
        self.client, self.profile, self.reach = client, profile, reach
        self.reproduction = reproduction or Reproduction()
        self.together = Together(client)
        self.missing: dict[str, Text] = {}  # by operation, why no valid request was sent to it
        self._sent: dict[Scenario[Any], Any] = {}
        self._to_send_together: list[Sequence[Send]] = []

    @property
    def log(self) -> Log:
        """Everything that was sent so far."""
        return self.client.door.log

    def send(self, scenarios: Iterable[Scenario[Any]]) -> None:
        """Send the scenarios that serve a selected requirement, if the profile permits it.

        Each sends its requests in its turn, but for those that it hands to `send_together`. These go when all
        scenarios had their turn.
        """
        asking: list[tuple[Scenario[Any], int, Asking[Any]]] = []
        for chosen in filter(self.selects, scenarios):
            result = chosen.send(self)
            if isinstance(result, GeneratorType):
                asking.append((chosen, len(self._to_send_together), result))
                self.send_together(next(result))
            else:
                self._sent[chosen] = result
        lists, self._to_send_together = self._to_send_together, []
        answers = self.together.send_in_turns(lists)
        for chosen, place, generator in asking:
            try:
                generator.send(answers[place])
            except StopIteration as end:
                self._sent[chosen] = end.value
        self.together.send_deviating_again()

    def send_together(self, sends: Sequence[Send]) -> None:
        """Send these requests beside those of other scenarios, when each scenario had its turn."""
        self._to_send_together.append(sends)

    def selects(self, one: Scenario[Any]) -> bool:
        """True if the scenario serves a selected requirement, and the profile permits it."""
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
