"""Sequences of requests: their steps, and how the requests of one sequence are sent.

A step of a sequence registers, deletes or lists its key, or reads the balance. On a sandbox a step may also prepare or
execute a transfer. Three modules share the work:

- This module knows one sequence: its steps, its patterns, and how to send it.
- `drawing/step_sequences.py` lets Hypothesis draw sequences, and chooses those that together have the most patterns. A
  pattern is a few steps that a fault may need, such as a deletion right after a registration.
- `stateful.py` knows all sequences of a run: when they are sent, and what they show.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.model import PixKey, Profile
from spec.answers import is_granted, registered, succeeded
from spec.exchange import Exchange, Purpose
from spec.interface import SYNTHETIC_PREFIX
from spec.key_list import Listing
from tests.harness.selection import Selection
from tests.traffic.keys.registrar import Registrar, registration_body
from tests.traffic.money.preparing import UnusualTransfer, prepare_executable_transfers, prepare_unusual_transfer


class Step(Enum):
    """A step of a sequence."""

    REGISTER = "a registration"
    DELETE = "a deletion"
    LIST = "the list of keys"
    BALANCE = "the balance"
    PREPARE = "a transfer that is prepared"
    EXECUTE = "an execution"
    EXECUTE_AGAIN = "the same execution again"
    REFUSED_CALLER = "an execution without a token"
    PREPARE_SMALL = "a transfer of 0.5 that is prepared"
    PREPARE_WITHOUT_A_TEXT = "a transfer without a text that is prepared"
    PREPARE_WITH_SPECIAL_CHARACTERS = "a transfer with special characters in its text that is prepared"
    REGISTER_WRONG_TYPE = "a registration of the key with an undocumented type"
    REGISTER_ELSEWHERE = "a registration of the same key at another account"
    DELETE_ELSEWHERE = "a deletion of the key at another account"
    DELETE_IN_CAPITALS = "a deletion of the key in capital letters"


STEPS_WITHOUT_TRANSFERS = (Step.REGISTER, Step.DELETE, Step.LIST, Step.BALANCE)
"""Steps of a sequence that prepares no transfer. The first one begins each sequence."""
STEPS_WITH_TRANSFERS = (Step.PREPARE, Step.EXECUTE, Step.EXECUTE_AGAIN, *STEPS_WITHOUT_TRANSFERS)
"""Steps of a sequence with transfers. The first one begins each sequence."""
USUAL_SEQUENCE_OF_A_TRANSFER = (
    Step.PREPARE, Step.REGISTER, Step.LIST, Step.EXECUTE, Step.LIST, Step.BALANCE, Step.EXECUTE_AGAIN, Step.LIST,
    Step.BALANCE,
)  # fmt: skip
"""An example that is always sent: the list and the balance after each of both executions, with a key that is
registered before them."""
SEQUENCE_OF_SEVERAL_TRANSFERS = (
    Step.PREPARE, Step.EXECUTE, Step.PREPARE_SMALL, Step.EXECUTE, Step.BALANCE, Step.PREPARE_WITHOUT_A_TEXT, Step.LIST,
    Step.EXECUTE, Step.PREPARE, Step.PREPARE_WITH_SPECIAL_CHARACTERS, Step.REFUSED_CALLER, Step.EXECUTE,
    Step.REFUSED_CALLER, Step.EXECUTE,
)  # fmt: skip
"""Another example that is always sent. Its executions stand at different places: right after the preparation of their
transfer, after the preparation of another transfer, and after a list. Drawn sequences have few such places, because
most drawn executions are left out: there is no transfer to execute.

A request without a token comes right before two of these executions, on the same connection. `neighbours.py` sends a
third such request. Three are enough to find the fault in one node of several. No drawn sequence has this step, because
it changes nothing.

Three of its transfers are unusual in their amount or text, because the result of their execution may be wrong then."""
SEQUENCE_OF_ANOTHER_ACCOUNT = (
    Step.REGISTER, Step.REGISTER_ELSEWHERE, Step.DELETE_ELSEWHERE, Step.LIST, Step.DELETE_IN_CAPITALS, Step.DELETE,
)  # fmt: skip
"""A sequence that is always sent on a sandbox. Its key is registered at one account and named at another one, which a
service may refuse. Drawn sequences have none of these steps."""
_OPERATION_BY_READING_STEP = {Step.LIST: "listPixKeys", Step.BALANCE: "getBalance"}
"""The steps that only read, each with its operation."""
_UNUSUAL_TRANSFERS = {
    Step.PREPARE_SMALL: UnusualTransfer.SMALL,
    Step.PREPARE_WITHOUT_A_TEXT: UnusualTransfer.WITHOUT_A_TEXT,
    Step.PREPARE_WITH_SPECIAL_CHARACTERS: UnusualTransfer.WITH_SPECIAL_CHARACTERS,
}
"""The steps that prepare an unusual transfer, and in which way it is unusual."""
_EXECUTING_STEPS = frozenset({Step.EXECUTE, Step.EXECUTE_AGAIN})
"""The steps that send a real transaction code, so that they may move money."""
StepsWithAnswers = list[tuple[Step, Exchange]]
"""The steps of a sequence that were sent, with their answers."""


def executes(sequence: Sequence[Step]) -> bool:
    """True if a step of the sequence executes a transfer, so that sending it moves money."""
    return not _EXECUTING_STEPS.isdisjoint(sequence)


def possible_steps(sequence: Sequence[Step]) -> tuple[Step, ...]:
    """The sequence without its impossible steps, because sequences are drawn at random.

    An execution needs a transfer that was prepared before and is not executed yet. A second execution of a transfer
    needs a first one.
    """
    transfers_to_execute = 0
    is_one_executed = False
    possible: list[Step] = []
    for step in sequence:
        if step is Step.EXECUTE and transfers_to_execute == 0:
            continue
        if step is Step.EXECUTE_AGAIN and not is_one_executed:
            continue
        if step is Step.PREPARE or step in _UNUSUAL_TRANSFERS:
            transfers_to_execute += 1
        if step is Step.EXECUTE:
            transfers_to_execute -= 1
            is_one_executed = True
        possible.append(step)
    return tuple(possible)


_StepWithKeyState = tuple[Step, bool]
"""A step, and whether the key was registered before it, because the first registration of a key is answered otherwise
than the second one."""


def patterns_without_transfers(sequence: Sequence[Step]) -> set[Hashable]:
    """The patterns of steps in a sequence without transfers, as values that are equal for equal patterns.

    A pattern is a few steps in a certain order, which a fault may need. Each step makes two sorts of patterns. For
    example, the last step of REGISTER, LIST, DELETE makes:

    - the step with the two steps before it: ("steps", (REGISTER, LIST, DELETE))
    - the step with the last one, two and three changes of the key before it: ("changes", (REGISTER,), DELETE). Changes
      are registrations and deletions. Reads are left out, because a fault may show after any number of reads.

    In a pattern each step is a pair: the step, and whether the key was registered before it.
    """
    steps = _steps_with_key_state(sequence)
    patterns: set[Hashable] = set()
    changes: tuple[_StepWithKeyState, ...] = ()
    for index, step_with_key_state in enumerate(steps):
        last_three = tuple(steps[max(0, index - 2) : index + 1])
        patterns.add(("steps", last_three))
        for count in (1, 2, 3):
            patterns.add(("changes", changes[-count:], step_with_key_state))
        step, _ = step_with_key_state
        if step not in _OPERATION_BY_READING_STEP:
            changes = (*changes, step_with_key_state)
    return patterns


def patterns_with_transfers(sequence: Sequence[Step]) -> set[Hashable]:
    """The patterns of steps in a sequence with transfers. A fault may need such a pattern.

    They are each two steps in a row of which one executes, and each three steps of which one prepares and one executes,
    such as (PREPARE, LIST, EXECUTE). All patterns of three steps would be too many, because no run executes as many
    transfers.
    """
    patterns: set[Hashable] = {pair for pair in pairwise(sequence) if executes(pair)}
    for steps in zip(sequence, sequence[1:], sequence[2:], strict=False):
        if Step.PREPARE in steps and executes(steps):
            patterns.add(steps)
    return patterns


def _steps_with_key_state(sequence: Sequence[Step]) -> list[_StepWithKeyState]:
    """The steps of a sequence, each with True if the key of the sequence is registered before it: (Step.DELETE, True).

    For a read it is always False, so that there are fewer patterns. Nothing is sent here: it is assumed that each
    registration and deletion succeeds.
    """
    steps: list[_StepWithKeyState] = []
    is_registered = False
    for step in sequence:
        is_read = step in _OPERATION_BY_READING_STEP
        steps.append((step, is_registered and not is_read))
        if step in (Step.REGISTER, Step.DELETE):
            is_registered = step is Step.REGISTER
    return steps


@dataclass
class SequenceSender:
    """Sends the requests of one sequence, step by step. It knows the key and the transfers of the sequence."""

    registrar: Registrar
    profile: Profile
    selection: Selection
    purpose: Purpose
    key: PixKey | None
    """None if the run may not register and delete a key."""
    steps_sent: StepsWithAnswers = field(default_factory=list)
    key_is_surely_registered: bool = False
    """False if the key is not registered, or if a request with another account or spelling may have deleted it."""
    _prepared: list[str] = field(default_factory=list)
    """Codes of the transfers that were prepared and not executed, the oldest first."""
    _executed: str = ""
    """The code that was executed last; empty if none was."""

    def send_step(self, step: Step) -> None:
        """Send the request of a step, and add the step with its answer to `steps_sent`.

        Nothing is added if the request is not sent, because the step is impossible at this moment or not permitted.
        """
        exchange = self._send_request_of(step)
        if exchange is not None:
            self.steps_sent.append((step, exchange))

    def end(self) -> None:
        """Delete the key if it is surely registered, so that no key of the run stays at the service."""
        if self.key_is_surely_registered:
            self.send_step(Step.DELETE)

    def _send_request_of(self, step: Step) -> Exchange | None:
        """Send the request of a step, and return its exchange: the request with its answer. None if it was not sent."""
        if step in _OPERATION_BY_READING_STEP:
            return self._read(_OPERATION_BY_READING_STEP[step])
        match step:
            case Step.REGISTER:
                return self._register()
            case Step.DELETE:
                return self._delete()
            case Step.PREPARE | Step.PREPARE_SMALL | Step.PREPARE_WITHOUT_A_TEXT | Step.PREPARE_WITH_SPECIAL_CHARACTERS:
                return self._prepare(_UNUSUAL_TRANSFERS.get(step))
            case Step.REGISTER_WRONG_TYPE:
                return self._register_wrong_type()
            case Step.REGISTER_ELSEWHERE:
                return self._register_elsewhere()
            case Step.DELETE_ELSEWHERE:
                return self._delete_elsewhere()
            case Step.DELETE_IN_CAPITALS:
                return self._delete_in_capitals()
            case Step.EXECUTE:
                return self._execute()
            case Step.REFUSED_CALLER:
                return self._send_without_token()
        return self._execute_again()  # Step.EXECUTE_AGAIN: no other step is left

    def _read(self, operation: str) -> Exchange | None:
        """Read the list of keys, or the balance, of the first account, and return the exchange.

        None if the profile does not permit the operation, or if no selected requirement needs it.
        """
        if operation not in self.selection.operations:
            return None
        return self.registrar.client.send(operation, self.profile.accounts[0], valid=True, purpose=self.purpose)

    # -- keys -------------------------------------------------------------------------------------------------------

    def _register(self) -> Exchange | None:
        """Register the key of the sequence, and return the exchange.

        None if the sequence has no key, if the profile does not permit registrations, or if no selected requirement
        needs them.
        """
        if self.key is None or "registerPixKey" not in self.selection.operations:
            return None
        exchange = self.registrar.register(self.key, self.purpose)
        # A refused second registration leaves the key registered.
        self.key_is_surely_registered = self.key_is_surely_registered or registered(exchange)
        return exchange

    def _register_wrong_type(self) -> Exchange | None:
        """Send a registration of the key with a type that is not documented, and return the exchange.

        If the service registers the key, it is deleted at once. None if the sequence has no key, or if the target is no
        sandbox: elsewhere the service might register a key that nobody can delete.
        """
        if self.key is None or not self.profile.is_sandbox:
            return None
        body = registration_body(replace(self.key, type=f"{SYNTHETIC_PREFIX}type"), self.registrar.account)
        exchange = self.registrar.register(body, self.purpose, valid=False)
        if registered(exchange):
            self.registrar.delete_key_of(exchange)
        return exchange

    def _delete(self) -> Exchange | None:
        """Delete the key of the sequence, and return the exchange.

        None if the sequence has no key, or if registrations are not permitted. If the key is not registered, the
        deletion is sent on a sandbox only (a service without real money), because elsewhere the service might delete
        the key of somebody else.
        """
        if self.key is None or "registerPixKey" not in self.selection.operations:
            return None
        if not self.key_is_surely_registered and not self.profile.is_sandbox:
            return None
        exchange = self.registrar.delete(self.key, self.registrar.account, valid=self.key_is_surely_registered)
        self.key_is_surely_registered = self.key_is_surely_registered and not is_granted(exchange)
        return exchange

    @property
    def _other_account(self) -> str | None:
        """The second account of the profile; None if there is none, or if the target is no sandbox."""
        has_another = self.profile.is_sandbox and len(self.profile.accounts) > 1
        return self.profile.accounts[1] if has_another else None

    def _register_elsewhere(self) -> Exchange | None:
        """Register the key of the sequence at another account, too, and return the exchange. The service may refuse it.

        If the service registers the key there, it is deleted there at once. The first account may have lost it then, so
        the sequence treats the key as not registered. None if there is no other account, or no registered key.
        """
        account = self._other_account
        if account is None or self.key is None or not self.key_is_surely_registered:
            return None
        registrar = self.registrar
        body = registration_body(self.key, account)
        exchange = registrar.client.send("registerPixKey", account, json=body, purpose=self.purpose)
        if registered(exchange):
            registrar.delete_key_of(exchange)
            self.key_is_surely_registered = False
        return exchange

    def _delete_elsewhere(self) -> Exchange | None:
        """Send a deletion of the key at another account than it is registered at, and return the exchange.

        None if there is no such account.
        """
        account = self._other_account
        return self._send_inexact_deletion(self.key, account) if account else None

    def _delete_in_capitals(self) -> Exchange | None:
        """Send a deletion whose body has the key in capital letters, and return the exchange. None if there is no key.

        A service may treat letter case as it likes: it may delete the key, or say that there is no such key.
        """
        if self.key is None:
            return None
        key_in_capitals = replace(self.key, key=self.key.key.upper())
        return self._send_inexact_deletion(key_in_capitals, self.registrar.account)

    def _send_inexact_deletion(self, key: PixKey | None, account: str) -> Exchange | None:
        """Send a deletion that a service may refuse, because its key or its account differs from the registered one.

        `key` is the key of the sequence, perhaps written in capitals. Returns the exchange; None if the sequence has no
        registered key, or if the target is no sandbox.
        """
        may_be_sent = self.profile.is_sandbox and self.key_is_surely_registered
        if key is None or not may_be_sent:
            return None
        exchange = self.registrar.delete(key, account, valid=False)
        if is_granted(exchange):
            # Nobody knows whether the service deleted the key of the sequence, another key, or nothing.
            self.key_is_surely_registered = False
        return exchange

    # -- transfers --------------------------------------------------------------------------------------------------

    def _prepare(self, unusual: UnusualTransfer | None) -> Exchange | None:
        """Prepare a transfer, keep its transaction code for a later step, and return the exchange.

        `unusual` says in which way the transfer is unusual. If the service refuses such a transfer, a usual one is
        prepared in its place. If no further execution is permitted, no transfer is prepared, and None is returned.
        """
        client = self.registrar.client
        guard = client.door.guard  # decides which executions may be sent, and knows the codes that were prepared
        may_execute = guard.count_possible_executions() > 0
        if unusual and may_execute and self.profile.is_sandbox:
            preparation = prepare_unusual_transfer(client, self.profile, unusual, self.purpose)
            codes = guard.prepared.codes_of([preparation]) if preparation else []
            self._prepared += codes
            if codes:
                return preparation
        number_of_transfers = 1 if may_execute else 0
        preparations = prepare_executable_transfers(client, self.profile, number_of_transfers, self.purpose)
        self._prepared += guard.prepared.codes_of(preparations)
        return preparations[0] if preparations else None

    def _execute(self) -> Exchange | None:
        """Execute the oldest transfer that was prepared and not executed, and return the exchange.

        None if there is no such transfer, or if no further execution is permitted.
        """
        client = self.registrar.client
        if not self._prepared or not client.door.guard.count_possible_executions():
            return None
        code = self._prepared.pop(0)  # the oldest one
        exchange = client.send("executePix", code, valid=True, purpose=self.purpose)
        if succeeded(exchange):
            self._executed = code  # a later step may execute it again
        return exchange

    def _send_without_token(self) -> Exchange | None:
        """Send an execution of a code that does not exist, without a token, and return the exchange.

        None if the profile permits no request without the valid token.
        """
        if not self.profile.limits.wrong_tokens:
            return None
        client = self.registrar.client
        return client.send("executePix", synthetic(), credential=NO_HEADER, purpose=self.purpose)

    def _execute_again(self) -> Exchange | None:
        """Execute the last transfer again, and return the exchange.

        None if none was executed, or if the execution is not permitted. The request does not count as valid, because
        the interface document does not say how a second execution is answered.
        """
        client = self.registrar.client
        guard = client.door.guard  # decides which executions may be sent, and refuses a code that was sent before
        if not self._executed or not guard.count_possible_executions():
            return None
        is_permitted = guard.permit_again(self._executed)
        if not is_permitted:
            return None
        return client.send("executePix", self._executed, purpose=self.purpose)


# -- keys that an execution removes ------------------------------------------------------------------------------------

_LISTS_THAT_LACK_A_KEY = 2
"""Lists that must lack a key, because one list may lag behind."""


def executions_after_which_a_key_is_missing(
    steps_sent: StepsWithAnswers, key: PixKey, key_at: str | None
) -> list[Exchange]:
    """The executions of a sequence after which two lists lack the key, although a list showed it before.

    `steps_sent` has the steps of the sequence that were sent, with their answers. A registration or deletion of the key
    in between may explain that the key is gone, so the search starts again after it. `key_at` is the JSON pointer to
    the keys in a list; None if the profile does not give it.
    """
    executions: list[Exchange] = []
    was_key_listed = False  # True if a list showed the key, and no registration or deletion came after that list
    execution_since_then: Exchange | None = None  # the first execution after the last list that showed the key
    lists_without_the_key = 0  # after that execution
    for step, exchange in steps_sent:
        if step in (Step.REGISTER, Step.DELETE):
            was_key_listed = False
            execution_since_then = None
        elif step in _EXECUTING_STEPS and was_key_listed and execution_since_then is None:
            execution_since_then = exchange
            lists_without_the_key = 0
        elif step is Step.LIST and succeeded(exchange):
            listing = Listing(exchange, key_at)
            if not listing.is_readable:
                continue
            if listing.shows(key.key):
                was_key_listed = True
                execution_since_then = None
            elif execution_since_then is not None:
                lists_without_the_key += 1
                if lists_without_the_key == _LISTS_THAT_LACK_A_KEY:
                    executions.append(execution_since_then)
    return executions
