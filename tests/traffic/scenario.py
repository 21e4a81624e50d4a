"""A scenario: a function that sends requests, each with its purpose. Tests ask the log for the answers.

A scenario is declared with the requirements that it serves and the permission that it needs:
`@scenario(serves=["executePix.*"], needs="execute")`. The selected requirements decide which scenarios are sent. They
also decide to which operations a scenario may send: the operations that the requirements are about, and operations
that must come first, such as a preparation before an execution. To see whether an operation exists, its answer is
compared with the answer to an undocumented path; a request to such a path counts as a request to the operation.

Two things are sent with every selection: the preflight (listAccounts), and the reads that are repeated to see whether
the token has expired.

A scenario returns nothing. If the order of some requests does not matter, it gives them to `send_together`, which mixes
them with the requests of other scenarios.

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
from spec.rules.reproduction import Reproduction
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
    """Requirement ids, in which `*` means any text, such as "executePix.*"."""
    needs: str = ""
    """A permission of the profile that no operation needs by itself, such as "fuzz"; empty if it needs none."""

    def is_for(self, requirement_id: str) -> bool:
        """True if the scenario serves the requirement, so that its requests show whether the requirement is met.

        For example, a scenario that serves "executePix.*" is for "executePix.status".
        """
        return any(fnmatchcase(requirement_id, pattern) for pattern in self.serves)


def scenario(*, serves: Sequence[str], needs: str = "") -> Callable[[Callable[[Traffic], None]], Scenario]:
    """Decorator that turns a function that sends requests into a `Scenario`, so that a run can choose it.

    `serves` are ids of requirements that the requests show, in which `*` means any text, such as "executePix.*".
    `needs` is a permission of the profile that the operations do not need by themselves, such as "fuzz" for invalid
    requests. It is empty if the scenario needs none.
    """

    def declare(send: Callable[[Traffic], None]) -> Scenario:
        """The decorated function as a scenario, which replaces it in the module."""
        return Scenario(send, tuple(serves), needs)

    return declare


# -- the traffic of a run -----------------------------------------------------------------------------------------


class Traffic:
    """Sends the requests of the scenarios of a run, and has their answers. Generated requests are not part of it."""

    def __init__(
        self,
        client: Client,
        profile: Profile,
        selection: Selection,
        reproduction: Reproduction | None = None,
        seed: int = 0,
    ) -> None:
        """`client` sends the requests; `profile` and `selection` decide which of them are sent.

        `seed` decides what is drawn: two runs with different seeds may send different words in some places.
        """
        self.client = client
        self.profile = profile  # what the user says of the tested service, and permits to send
        self.selection = selection  # the requirements that the command line selects, and their operations
        self.reproduction = reproduction or Reproduction()  # judges answers, also those to requests that are repeated
        self.seed = seed
        self.together = Together(client)  # sends several requests at once
        self.why_not_sent: dict[str, Text] = {}  # by operation or requirement, why nothing was sent for it
        self._to_send_together: list[Sequence[Send]] = []  # for each call of `send_together`, its requests

    @property
    def log(self) -> Log:
        """All requests that were sent so far with their answers. They are asked for by operation and purpose."""
        return self.client.door.log

    def send(self, *senders: Callable[[], None]) -> None:
        """Call these functions, which send requests, at the same time; each sends its requests in an order of its own.

        They are called one after the other if the run may send only one request at a time. Then requests whose answers
        deviate are sent again, to see whether the deviation appears a second time.
        """
        if self.together.may_send_several and len(senders) > 1:
            self.together.send_side_by_side(senders)
        else:
            for send in senders:
                send()
        self.together.send_deviating_again()

    def sender_of(self, scenarios: Iterable[Scenario]) -> Callable[[], None]:
        """A function that has these scenarios send their requests, one scenario after the other.

        Scenarios that serve no selected requirement, or that the profile does not permit, are left out. If the order of
        some requests does not matter, a scenario does not send them, but gives them to `send_together`. At last, the
        function sends these requests of all scenarios at the same time.
        """

        def send_requests_of_scenarios() -> None:
            """Send the requests of the selected scenarios."""
            for selected_scenario in filter(self.selects, scenarios):
                selected_scenario.send(self)
            lists_of_requests = self._to_send_together  # a list for each call of `send_together`
            self._to_send_together = []
            # Mixed: the first request of each list, then the second one of each list, and so on.
            self.together.send_all_mixed(lists_of_requests)

        return send_requests_of_scenarios

    def send_together(self, sends: Sequence[Send]) -> None:
        """Have these requests sent later, at the same time as the requests that other scenarios give to this method.

        A scenario calls it. When all scenarios of the same phase have run, the function that `sender_of` returned sends
        the requests. Those of one call stay a list of their own, because the requests of the lists are sent in turn.
        """
        self._to_send_together.append(sends)

    def selects(self, scenario: Scenario) -> bool:
        """True if the scenario serves a requirement that the command line selects, and the profile permits it."""
        needs_no_permission = not scenario.needs
        is_permitted = needs_no_permission or scenario.needs in self.profile.allow
        return is_permitted and any(map(scenario.is_for, self.selection.ids_with_operations))

    def may_send_to(self, operation: str) -> bool:
        """True if the selected requirements need requests to the operation, and the profile permits them.

        Some operations are needed only as a preparation: a transfer is prepared before it is executed, for example.
        """
        return operation in self.selection.operations

    def operations_tested_among(self, *operations: str) -> list[str]:
        """The operations, among these, that a selected requirement is about.

        An operation is left out if no requirement about it is selected, even if requests to it prepare something for
        another operation.
        """
        return [operation for operation in operations if operation in self.selection.tested_operations]
