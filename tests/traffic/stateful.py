"""Sequences of operations on keys, and a transfer that is executed twice.

Some faults show only after certain other requests. So steps in a drawn order register, delete and list a key and read
the balance, and every answer is judged by the rules of its operation. If an answer deviates, parts of the sequence are
followed, to find the shortest one that still shows the deviation.

The interface document does not say what a second execution of a code does. So one transfer is executed twice, and the
balances around both executions show whether money moved again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from typing import Any, TypeGuard

from environments.door.client import Client
from environments.profiles.model import PixKey, Profile
from spec.answers import data_of, grants_protected_result, is_granted, registered, succeeded
from spec.exchange import Exchange, Purpose
from spec.facts import Facts
from spec.findings import Finding
from spec.json_text import JsonPath, leaves_of
from spec.observed import answer_of, is_evidence
from spec.rules import RULES, Reproduction, judge
from tests.harness.selection import Reach
from tests.traffic.case import SMALLER, Case
from tests.traffic.collecting import Findings
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.preparing import prepare

SEQUENCES = "sequences"
_SEQUENCES_PER_EXAMPLE = 0.25
"""With the default of 18 examples there are five sequences, each of five to eight steps: about 30 requests."""
_MOST_AGAIN = 3
"""Sequences with a deviation that are followed once more, alone. A few show whether the service was only busy."""
_MOST_SHORTER = 40
"""Requests that look for a shorter sequence of one finding: about eight parts of a sequence."""
_MOST_SHORTER_IN_ALL = 80
"""Requests that look for shorter sequences of all findings, so that a service with many faults is asked no more."""
_MOST_BALANCES = 3
"""Accounts whose balances are read. A transfer moves money between two accounts, and each account that is read takes
three requests."""


class InSequence(Purpose):
    """Why a request of a sequence is sent, unless the registrar says why it deletes a key."""

    STEP = "a step of a drawn sequence"
    SHORTER = "a step of a part of a drawn sequence, to see if that shows the same finding"
    EXECUTED_TWICE = "a transfer that the run prepares, to execute it twice"
    AGAIN = "the same transfer again"
    BALANCE = "a balance, before or after an execution of the transfer that is executed twice"


class Step(Enum):
    """A step of a sequence: its key is registered, deleted, or may be shown."""

    REGISTER = "a registration"
    DELETE = "a deletion"
    LIST = "the list of keys"
    BALANCE = "the balance"


_READS = {Step.LIST: "listPixKeys", Step.BALANCE: "getBalance"}
_EXECUTE, _AGAIN = "an execution", "the same execution again"
MOVED_TWICE = "MONEY MOVED TWICE: a second execution of a code changes the balance again"
_Numbers = Mapping[JsonPath, Decimal]
"""Numbers by their place: the account, and the path in the answer."""


@dataclass(frozen=True)
class _Repeated:
    """Two executions of one code, and what they changed in the balances."""

    first: Exchange
    second: Exchange
    changes_by_first: _Numbers
    changes_by_second: _Numbers

    @property
    def moves_money_twice(self) -> bool:
        """True if the second execution changed a balance by the same amount as the first one."""
        return not self.changes_by_first.items().isdisjoint(self.changes_by_second.items())

    @property
    def answers(self) -> list[Facts | str]:
        """The answer to the second execution, for the observation. Empty if the same request may get another
        answer in a minute."""
        if not is_evidence(self.second):
            return []
        if not grants_protected_result(self.second):
            return [answer_of(self.second)]
        is_the_same = data_of(self.first.response) == data_of(self.second.response)
        return ["the same result" if is_the_same else "another result"]

    @property
    def balances(self) -> list[str]:
        """Effect of the second execution on the balances, for the observation.

        Empty if no balance shows the first execution, because then none would show the second one.
        """
        if not self.changes_by_first:
            return []
        return [MOVED_TWICE if self.moves_money_twice else "does not change again"]


_Followed = list[tuple[Step, Exchange]]
"""The steps of a sequence that were taken, with their answers."""


class World:
    """Keys and money of one run: sends the sequences, has their answers judged, and executes one transfer twice."""

    def __init__(self, client: Client, profile: Profile, reach: Reach, reproduction: Reproduction) -> None:
        self.client = client.of_part(SEQUENCES)
        self.profile = profile
        self.reach = reach
        self.registrar = Registrar(self.client, profile)
        self.findings = Findings(reproduction)
        self.twice: _Repeated | None = None  # None if no transfer was executed twice
        self._sequences: list[tuple[Step, ...]] = []

    def draw(self, seed: int, examples: int) -> None:
        """Draw the sequences."""
        from tests.traffic.drawing import draw_sequences  # here, because importing Schemathesis takes most of a second

        count = max(1, round(_SEQUENCES_PER_EXAMPLE * examples))
        self._sequences = draw_sequences(seed, count, list(Step), situations_in)

    def follow(self) -> None:
        """Send everything that was drawn, and execute one transfer twice.

        The first sequence takes a key of the profile, if the run may delete one. The other sequences take synthetic
        keys, so that they may be sent together.
        """
        first, *others = self._sequences
        own_key = self.registrar.reusable_key()
        self._take(self._follow_sequence(first, own_key))
        self._execute_twice()
        self._follow_together(others)

    def _follow_together(self, sequences: Sequence[Sequence[Step]]) -> None:
        """Follow sequences at the same time. A few that deviate are followed again, alone, because the service may
        only have been busy with the others."""
        together = self.registrar.together
        sends = [partial(self._follow_sequence, sequence, self._synthetic_key()) for sequence in sequences]
        all_followed = together.send_all(sends)
        for followed in all_followed:
            self._take(followed)
        deviating = [
            sequence
            for sequence, followed in zip(sequences, all_followed, strict=True)
            if any(_deviates(exchange) for _, exchange in followed)
        ]
        if together.is_possible:
            for sequence in deviating[:_MOST_AGAIN]:
                self._take(self._follow_sequence(sequence, self._synthetic_key()))

    def look_for_shorter_sequences(self) -> None:
        """For each finding, follow parts of the sequence that shows it, with other keys. None of them executes."""
        from tests.traffic.drawing import look_for_shorter

        requests_left = _MOST_SHORTER_IN_ALL
        for requirement_id, finding, case in self.findings.signs_of_drawn_requests():
            if _EXECUTE in case.steps:
                continue
            search = _Search(self, requirement_id, finding, min(requests_left, _MOST_SHORTER))
            look_for_shorter([Step(step) for step in case.steps], search.shows)
            requests_left -= search.times_sent

    def follow_shorter(self, sequence: Sequence[Step]) -> _Followed:
        """Follow a part of a drawn sequence, and have its answers judged."""
        followed = self._follow_sequence(sequence, self._synthetic_key(), InSequence.SHORTER)
        self._take(followed, what=SMALLER)
        return followed

    def _synthetic_key(self) -> PixKey | None:
        """A new key for a sequence; None if the run may not register and delete synthetic keys."""
        return self.registrar.synthetic_key() if self.registrar.key_for_deletions() else None

    def _follow_sequence(
        self, sequence: Sequence[Step], key: PixKey | None, purpose: Purpose = InSequence.STEP
    ) -> _Followed:
        """Take the steps of a sequence that the run may take, and delete the key if it is still registered.

        A key that is not registered is deleted on a sandbox only: elsewhere the deletion may take somebody's key.
        """
        registrar = self.registrar
        followed: _Followed = []
        key_is_registered = False
        for step in sequence:
            exchange = None
            if step in _READS:
                exchange = self._read(_READS[step], self.profile.accounts[0], purpose)
            elif self._may_change(key) and step is Step.REGISTER:
                exchange = registrar.register(key, purpose)
                key_is_registered = key_is_registered or registered(exchange)
            elif self._may_change(key) and (key_is_registered or self.profile.is_sandbox):
                exchange = registrar.delete(key, registrar.account, valid=key_is_registered)
                key_is_registered = key_is_registered and not is_granted(exchange)
            if exchange:
                followed.append((step, exchange))
        if key_is_registered and key:
            deletion = registrar.delete(key, registrar.account, valid=True)
            followed.append((Step.DELETE, deletion))
        return followed

    def _may_change(self, key: PixKey | None) -> TypeGuard[PixKey]:
        """True if there is a key that may be registered and deleted. No key changes after a limit has cut the run."""
        return key is not None and "registerPixKey" in self.reach.operations and not self.findings.cut

    def _take(self, followed: _Followed, what: str = "") -> None:
        """Have the answers judged, each with the steps that led to it."""
        steps = tuple(step.value for step, _ in followed)
        for count, (_, exchange) in enumerate(followed, 1):
            self._take_answer(exchange, steps[:count], what)

    def _take_answer(self, exchange: Exchange, steps: tuple[str, ...], what: str = "") -> None:
        """Have one answer judged. `steps` ends with its own step."""
        self.findings.take(Case(exchange.operation, what=what, valid=True, steps=steps), exchange)

    # -- a transfer that is executed twice --------------------------------------------------------------------------

    def _execute_twice(self) -> None:
        """Prepare a transfer, execute it, and execute it again. The balances are read before, between and after.

        The second execution is sent only if the first one succeeded and the guard permits it.
        """
        guard = self.client.door.guard
        is_wanted = self.reach.spends_codes and self.reach.wants("executePix.repeated")
        if self.findings.cut or not is_wanted:
            return
        preparations = prepare(self.client, self.profile, min(1, guard.room), InSequence.EXECUTED_TWICE)
        code = next(iter(guard.prepared.codes_of(preparations)), None)
        if code is None:
            return

        balances_before = self._balances()
        first = self.client.send("executePix", code, valid=True, purpose=InSequence.EXECUTED_TWICE)
        self._take_answer(first, (_EXECUTE,))
        if not succeeded(first):
            return

        balances_between = self._balances()
        is_permitted_again = guard.permit_again(code)
        if not is_permitted_again:
            return
        second = self.client.send("executePix", code, purpose=InSequence.AGAIN)
        self._take_answer(second, (_EXECUTE, _AGAIN))
        if second.response:
            balances_after = self._balances()
            changes_by_first = _changes(balances_before, balances_between)
            changes_by_second = _changes(balances_between, balances_after)
            self.twice = _Repeated(first, second, changes_by_first, changes_by_second)

    def _read(self, operation: str, account: str, purpose: Purpose) -> Exchange | None:
        """Send a read of an account; None if the selection does not reach it, or a limit has cut the run."""
        if operation not in self.reach.operations or self.findings.cut:
            return None
        return self.client.send(operation, account, valid=True, purpose=purpose)

    def _balances(self) -> _Numbers:
        """Read the balances of the first accounts, and give every number in the answers."""
        answers: dict[str, Exchange] = {}
        for account in self.profile.accounts[:_MOST_BALANCES]:
            answer = self._read("getBalance", account, InSequence.BALANCE)
            if answer:
                answers[account] = answer
        for answer in answers.values():
            self._take_answer(answer, (Step.BALANCE.value,))

        balances: dict[JsonPath, Decimal] = {}
        for account, answer in answers.items():
            if answer.response and is_granted(answer):
                for path, number in _numbers_in(answer.response.json.value):
                    balances[(account, *path)] = number
        return balances


@dataclass
class _Search:
    """A search for the shortest sequence that shows a finding."""

    world: World
    requirement_id: str
    finding: Finding
    most: int
    """Requests that may be sent for this search."""
    times_sent: int = 0
    """Requests that were sent for it."""
    shown_by: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """By steps, whether they show the finding. Sequences that were followed before are in it, too."""

    def __post_init__(self) -> None:
        """Note which of the sequences that were followed already show the finding."""
        for case, exchange in self.world.findings.taken:
            is_shown_before = self.shown_by.get(case.steps[:-1], False)
            self.shown_by[case.steps] = is_shown_before or self._is_shown(exchange)

    def shows(self, sequence: Sequence[Step]) -> bool:
        """True if the sequence shows the finding.

        It is sent, unless it was sent before, or would take more requests than may be sent. It counts as not showing
        the finding then. Hypothesis calls this function, so the name is that of a question although it sends.
        """
        steps = tuple(step.value for step in sequence)
        if steps not in self.shown_by:
            may_be_followed = self.times_sent + len(steps) < self.most  # one less: it may delete its key at the end
            followed = self.world.follow_shorter(sequence) if may_be_followed else []
            self.times_sent += len(followed)
            self.shown_by[steps] = any(self._is_shown(exchange) for _, exchange in followed)
        return self.shown_by[steps]

    def _is_shown(self, exchange: Exchange) -> bool:
        """True if one exchange shows the finding."""
        if not _answers_for(self.requirement_id, exchange):
            return False
        findings = judge(self.requirement_id, exchange).findings
        return self.finding in [replace(finding, exchanges=()) for finding in findings]


def situations_in(sequence: Sequence[Step]) -> set[Hashable]:
    """Situations that a sequence reaches. A fault that needs up to three steps shows in one of them.

    Each step is in two situations: after the two steps before it, and after the last two changes of the key before it.
    """
    situations: set[Hashable] = set()
    changes: tuple[Step, ...] = ()
    for place, step in enumerate(sequence):
        last_three_steps = tuple(sequence[max(0, place - 2) : place + 1])
        situations.add(("steps", last_three_steps))
        situations.add(("changes", changes[-2:], step))
        if step not in _READS:
            changes = (*changes, step)
    return situations


def _answers_for(requirement_id: str, exchange: Exchange) -> bool:
    """True if the requirement is about the operation of the exchange."""
    return requirement_id.startswith(f"{exchange.operation}.")


def _deviates(exchange: Exchange) -> bool:
    """True if the exchange deviates from any requirement of its operation."""
    own_rules = (requirement_id for requirement_id in RULES if _answers_for(requirement_id, exchange))
    return any(judge(requirement_id, exchange).deviates for requirement_id in own_rules)


def _numbers_in(value: Any) -> Iterator[tuple[JsonPath, Decimal]]:
    """Every number of a JSON value, with its path. A text that is a number counts, because some services write amounts
    as text."""
    for path, leaf in leaves_of(value):
        if isinstance(leaf, Decimal | str):
            with suppress(InvalidOperation):  # a text that is no number
                number = Decimal(leaf)
                if number.is_finite():
                    yield path, number


def _changes(before: _Numbers, after: _Numbers) -> _Numbers:
    """The numbers that changed, and by how much. A number that is only in one of both is left out."""
    differences = {place: number - before[place] for place, number in after.items() if place in before}
    return {place: difference for place, difference in differences.items() if difference}
