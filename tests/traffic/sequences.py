"""Sequences of requests: their steps, and how the steps of one sequence are taken.

`drawing.py` has Hypothesis draw them, and `stateful.py` decides which are followed, and when. Steps of a sequence
register, delete and list its key, read the balance, and, on a sandbox, prepare and execute transfers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from environments.profiles.model import PixKey, Profile
from spec.answers import is_granted, registered, succeeded
from spec.exchange import Exchange, Purpose
from spec.key_list import Listing
from tests.harness.selection import Selection
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.preparing import prepare_executable_transfers


class Step(Enum):
    """A step of a sequence."""

    REGISTER = "a registration"
    DELETE = "a deletion"
    LIST = "the list of keys"
    BALANCE = "the balance"
    PREPARE = "a transfer that is prepared"
    EXECUTE = "an execution"
    EXECUTE_AGAIN = "the same execution again"


STEPS_OF_KEYS = (Step.REGISTER, Step.DELETE, Step.LIST, Step.BALANCE)
"""Steps of a sequence that prepares no transfer. The first one begins each sequence."""
STEPS_OF_TRANSFERS = (Step.PREPARE, Step.EXECUTE, Step.EXECUTE_AGAIN, *STEPS_OF_KEYS)
"""Steps of a sequence with transfers. The first one begins each sequence."""
USUAL_SEQUENCE_OF_A_TRANSFER = (
    Step.PREPARE, Step.REGISTER, Step.LIST, Step.EXECUTE, Step.LIST, Step.BALANCE, Step.EXECUTE_AGAIN, Step.LIST,
    Step.BALANCE,
)  # fmt: skip
"""An example that is always followed: the list and the balance after each of both executions, with a key that is
registered before them."""
READS = {Step.LIST: "listPixKeys", Step.BALANCE: "getBalance"}
EXECUTIONS = frozenset({Step.EXECUTE, Step.EXECUTE_AGAIN})
Followed = list[tuple[Step, Exchange]]
"""The steps of a sequence that were taken, with their answers."""


def executes(sequence: Sequence[Step]) -> bool:
    """True if a step of the sequence executes a transfer."""
    return not EXECUTIONS.isdisjoint(sequence)


def possible_steps(sequence: Sequence[Step]) -> tuple[Step, ...]:
    """The sequence without its impossible steps.

    An execution is impossible if no transfer was prepared before that is not executed yet, and a second execution if
    there was no first one.
    """
    prepared = 0
    is_executed = False
    possible: list[Step] = []
    for step in sequence:
        if step is Step.EXECUTE and not prepared:
            continue
        if step is Step.EXECUTE_AGAIN and not is_executed:
            continue
        if step is Step.PREPARE:
            prepared += 1
        if step is Step.EXECUTE:
            prepared -= 1
            is_executed = True
        possible.append(step)
    return tuple(possible)


_Event = tuple[Step, bool]
"""A step, and whether the key was registered before it, because the first registration of a key is answered otherwise
than the second one."""


def situations_of_keys(sequence: Sequence[Step]) -> set[Hashable]:
    """The situations that a sequence reaches, as values that are equal for equal situations.

    Sequences are chosen so that they reach many. A fault may need up to three steps in a row, so each step makes
    several situations: with the two steps before it, and with the last one, two and three changes of the key before it.
    """
    events = _events_of(sequence)
    situations: set[Hashable] = set()
    changes: tuple[_Event, ...] = ()
    for place, event in enumerate(events):
        last_three = tuple(events[max(0, place - 2) : place + 1])
        situations.add(("steps", last_three))
        for count in (1, 2, 3):
            situations.add(("changes", changes[-count:], event))
        step, _ = event
        if step not in READS:
            changes = (*changes, event)
    return situations


def situations_of_transfers(sequence: Sequence[Step]) -> set[Hashable]:
    """The situations that a sequence with transfers reaches: each two steps in a row of which one executes.

    Situations of three steps would be too many, because no run executes as many transfers.
    """
    pairs = pairwise(_events_of(sequence))
    return {(event, next_event) for event, next_event in pairs if executes((event[0], next_event[0]))}


def _events_of(sequence: Sequence[Step]) -> list[_Event]:
    """The steps of a sequence, each with True if the key is registered before it and matters for the step.

    A read does not depend on that. It is assumed that the service answers as documented.
    """
    events: list[_Event] = []
    is_registered = False
    for step in sequence:
        events.append((step, is_registered and step not in READS))
        if step in (Step.REGISTER, Step.DELETE):
            is_registered = step is Step.REGISTER
    return events


@dataclass
class Following:
    """One sequence whose steps are taken: its key, and its transfers."""

    registrar: Registrar
    profile: Profile
    selection: Selection
    purpose: Purpose
    key: PixKey | None
    """None if the run may not register and delete a key."""
    followed: Followed = field(default_factory=list)
    key_is_registered: bool = False
    _prepared: list[str] = field(default_factory=list)
    """Codes of the transfers that were prepared and not executed, the oldest first."""
    _executed: str = ""
    """The code that was executed last; empty if none was."""

    def take(self, step: Step) -> None:
        """Send the request of a step, and note its answer, unless the step is impossible or not permitted."""
        exchange = self._exchange_of(step)
        if exchange is not None:
            self.followed.append((step, exchange))

    def end(self) -> None:
        """Delete the key if it is still registered."""
        if self.key_is_registered:
            self.take(Step.DELETE)

    def _exchange_of(self, step: Step) -> Exchange | None:
        """Send the request of a step; None if it was not sent."""
        if step in READS:
            return self._read(READS[step])
        match step:
            case Step.REGISTER:
                return self._register()
            case Step.DELETE:
                return self._delete()
            case Step.PREPARE:
                return self._prepare()
            case Step.EXECUTE:
                return self._execute()
        return self._execute_again()

    def _read(self, operation: str) -> Exchange | None:
        """Read the list of keys, or the balance, of the first account; None if the selection does not reach that."""
        if operation not in self.selection.operations:
            return None
        return self.registrar.client.send(operation, self.profile.accounts[0], valid=True, purpose=self.purpose)

    # -- keys -------------------------------------------------------------------------------------------------------

    def _register(self) -> Exchange | None:
        """Register the key of the sequence; None if there is none, or if the selection does not reach registrations."""
        if self.key is None or "registerPixKey" not in self.selection.operations:
            return None
        exchange = self.registrar.register(self.key, self.purpose)
        self.key_is_registered = self.key_is_registered or registered(exchange)
        return exchange

    def _delete(self) -> Exchange | None:
        """Delete the key of the sequence; None if the run may not.

        If it is not registered, the deletion is sent on a sandbox only: elsewhere the service might delete the key of
        somebody else.
        """
        if self.key is None or "registerPixKey" not in self.selection.operations:
            return None
        if not self.key_is_registered and not self.profile.is_sandbox:
            return None
        exchange = self.registrar.delete(self.key, self.registrar.account, valid=self.key_is_registered)
        self.key_is_registered = self.key_is_registered and not is_granted(exchange)
        return exchange

    # -- transfers --------------------------------------------------------------------------------------------------

    def _prepare(self) -> Exchange | None:
        """Prepare a transfer, and keep its code for a later step; None if no execution of it is permitted."""
        client = self.registrar.client
        guard = client.door.guard
        preparations = prepare_executable_transfers(
            client, self.profile, min(1, guard.count_possible_executions()), self.purpose
        )
        self._prepared += guard.prepared.codes_of(preparations)
        return preparations[0] if preparations else None

    def _execute(self) -> Exchange | None:
        """Execute the oldest transfer that was prepared; None if there is none, or no room in limits.executions."""
        client = self.registrar.client
        if not self._prepared or not client.door.guard.count_possible_executions():
            return None
        code = self._prepared.pop(0)
        exchange = client.send("executePix", code, valid=True, purpose=self.purpose)
        if succeeded(exchange):
            self._executed = code
        return exchange

    def _execute_again(self) -> Exchange | None:
        """Execute the last transfer again; None if none was executed, or the guard does not permit it.

        The request is not valid, because the interface document does not say what a second execution does.
        """
        client = self.registrar.client
        guard = client.door.guard
        if not self._executed or not guard.count_possible_executions() or not guard.permit_again(self._executed):
            return None
        return client.send("executePix", self._executed, purpose=self.purpose)


# -- keys that an execution takes away ---------------------------------------------------------------------------------

_LISTS_THAT_LACK_A_KEY = 2
"""Lists that must lack a key, because one list may lag behind."""


def executions_that_lose_a_key(followed: Followed, key: PixKey, key_at: str | None) -> list[Exchange]:
    """The executions after which two lists lack the key, although a list showed it before and nothing deleted it."""
    losing: list[Exchange] = []
    is_shown = False
    execution: Exchange | None = None
    lists_that_lack_it = 0
    for step, exchange in followed:
        if step in (Step.REGISTER, Step.DELETE):
            is_shown = False
            execution = None
        elif step in EXECUTIONS and is_shown and execution is None:
            execution = exchange
            lists_that_lack_it = 0
        elif step is Step.LIST and succeeded(exchange):
            listing = Listing(exchange, key_at)
            if not listing.is_readable:
                continue
            if listing.shows(key.key):
                is_shown = True
                execution = None
            elif execution is not None:
                lists_that_lack_it += 1
                if lists_that_lack_it == _LISTS_THAT_LACK_A_KEY:
                    losing.append(execution)
    return losing
