"""A scenario: a function that sends requests, each with its purpose. Tests ask the log for the answers.

A scenario is declared with the requirements that it serves and the permission that it needs:
`@scenario(serves=["executePix.*"], needs="execute")`. The selected requirements decide which scenarios are sent. They
also decide which operations a scenario may reach: those that the requirements are about, and those that must come
first, such as a preparation before an execution. An undocumented path belongs to the operation that it is compared
with.

Two things are sent with every selection: the preflight (listAccounts), and the reads that are repeated to see whether
the token has expired.

A scenario returns nothing. It hands requests that may go together with those of other scenarios to `send_together`.

Self-tests: reports/sentences/test_plan.py.
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
from tests.harness.selection import Selection
from tests.traffic.together import Send, Together

ENOUGH_ANSWERS = 6
"""Valid exchanges that a statement rests on, in each situation that it names. If one node of three is at fault, six
answers miss it in one run of eleven, and a run has more than six of most. A profile may leave no room for so many."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A function that sends requests, with the requirements that it serves and the permission that it needs."""

    send: Callable[[Traffic], None]
    serves: tuple[str, ...]
    """Requirement ids, in which `*` stands for anything."""
    needs: str = ""
    """A permission of the profile, beyond those of the operations; empty if it needs none."""

    def is_for(self, requirement_id: str) -> bool:
        """True if the scenario serves the requirement."""
        return any(fnmatchcase(requirement_id, group) for group in self.serves)


def scenario(*, serves: Sequence[str], needs: str = "") -> Callable[[Callable[[Traffic], None]], Scenario]:
    """Decorator that makes a scenario of a function that sends requests.

    `serves` are ids of requirements, in which `*` stands for anything. `needs` is a permission of the profile beyond
    those of the operations; empty if the scenario needs none.
    """

    def declare(send: Callable[[Traffic], None]) -> Scenario:
        """The scenario that the decorated function becomes."""
        return Scenario(send, tuple(serves), needs)

    return declare


# -- the traffic of a run -----------------------------------------------------------------------------------------


class Traffic:
    """Requests of a run that are not generated, to the operations that the selection reaches."""

    def __init__(
        self, client: Client, profile: Profile, selection: Selection, reproduction: Reproduction | None = None
    ) -> None:
        self.client = client
        self.profile = profile
        self.selection = selection
        self.reproduction = reproduction or Reproduction()
        self.together = Together(client)
        self.why_not_sent: dict[str, Text] = {}  # by operation or requirement, why nothing was sent for it
        self._to_send_together: list[Sequence[Send]] = []

    @property
    def log(self) -> Log:
        """Everything that was sent so far."""
        return self.client.door.log

    def send(self, scenarios: Iterable[Scenario]) -> None:
        """Have these scenarios send their requests, one after the other.

        Scenarios that the selection does not need, or that the profile does not permit, are left out. The requests that
        were handed to `send_together` go last, at the same time. Then requests whose answers deviate are sent again.
        """
        for selected in filter(self.selects, scenarios):
            selected.send(self)
        lists = self._to_send_together
        self._to_send_together = []
        self.together.send_in_turns(lists)
        self.together.send_deviating_again()

    def send_together(self, sends: Sequence[Send]) -> None:
        """Have these requests sent at the same time as those of other scenarios, after all scenarios of this phase."""
        self._to_send_together.append(sends)

    def selects(self, scenario: Scenario) -> bool:
        """True if the scenario serves a selected requirement, and the profile permits it."""
        is_permitted = not scenario.needs or scenario.needs in self.profile.allow
        return is_permitted and any(map(scenario.is_for, self.selection.ids_with_operations))

    def may_send_to(self, operation: str) -> bool:
        """True if the selection reaches the operation, and the profile permits it."""
        return operation in self.selection.operations

    def tested_among(self, *operations: str) -> list[str]:
        """Those of the operations that the selected requirements are about.

        Other operations are reached only because their requests must come first.
        """
        return [operation for operation in operations if operation in self.selection.tested_operations]
