"""A scenario: a function that sends requests, each with its purpose. Tests ask the log for the answers.

It is declared with the requirements that it serves and the permission that it needs:
`@scenario(serves=["executePix.*"], needs="execute")`. The selected requirements decide which scenarios are sent, and
which operations these may reach: those that they are about, and what these need first. With every selection go the
preflight (listAccounts) and the reads that are repeated to see whether the token has expired. A path beside the
documented ones belongs to the operation that it is compared with.

It returns nothing. Requests that may go together with those of other scenarios it hands to `send_together`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.log import Log
from spec.message import Text
from spec.rules import Reproduction
from tests.harness.selection import Reach
from tests.traffic.together import Send, Together

ENOUGH = 6
"""Valid exchanges that a statement rests on, in each situation that it names. If one node of three is at fault, six
answers miss it in one run of eleven, and a run has more than six of most. A profile may leave no room for so many."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """What sends, the groups of requirements that it serves, in which `*` stands for anything, and the permission that
    it needs beyond those of the operations."""

    send: Callable[[Traffic], None]
    serves: tuple[str, ...]
    needs: str = ""

    def is_for(self, requirement_id: str) -> bool:
        """True if it serves the requirement."""
        return any(fnmatchcase(requirement_id, group) for group in self.serves)


def scenario(*, serves: Sequence[str], needs: str = "") -> Callable[[Callable[[Traffic], None]], Scenario]:
    """Declare a function that sends as a scenario."""
    return lambda send: Scenario(send, tuple(serves), needs)


# -- the traffic of a run -----------------------------------------------------------------------------------------


class Traffic:
    """Requests of a run that are not generated, to the operations that the selection reaches."""

    def __init__(
        self, client: Client, profile: Profile, reach: Reach, reproduction: Reproduction | None = None
    ) -> None:
        self.client, self.profile, self.reach = client, profile, reach
        self.reproduction = reproduction or Reproduction()
        self.together = Together(client)
        self.missing: dict[str, Text] = {}  # by operation or requirement, why nothing was sent for it
        self._to_send_together: list[Sequence[Send]] = []

    @property
    def log(self) -> Log:
        """Everything that was sent so far."""
        return self.client.door.log

    def send(self, scenarios: Iterable[Scenario]) -> None:
        """Send the scenarios that serve a selected requirement, if the profile permits it.

        Each sends its requests in its turn, but for those that it hands to `send_together`. These go when all
        scenarios had their turn.
        """
        for chosen in filter(self.selects, scenarios):
            chosen.send(self)
        lists, self._to_send_together = self._to_send_together, []
        self.together.send_in_turns(lists)
        self.together.send_deviating_again()

    def send_together(self, sends: Sequence[Send]) -> None:
        """Send these requests beside those of other scenarios, when each scenario had its turn."""
        self._to_send_together.append(sends)

    def selects(self, one: Scenario) -> bool:
        """True if the scenario serves a selected requirement, and the profile permits it."""
        return any(map(one.is_for, self.reach.names)) and (not one.needs or one.needs in self.profile.allow)

    def permitted(self, operation: str) -> bool:
        """True if the profile permits the operation, and the selection reaches it."""
        return operation in self.reach.operations

    def is_about(self, *operations: str) -> list[str]:
        """Given operations that the selection is about."""
        return [operation for operation in operations if operation in self.reach.subjects]
