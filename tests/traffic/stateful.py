"""Sequences of operations on keys, each answer judged by the rules; and a transfer that is executed twice."""

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
_OF_EXAMPLES = 0.25
"""Sequences for each example. By default there are five, each of five to eight steps."""
_MOST_AGAIN = 3
"""Sequences with a deviation that are followed once more, alone."""
_MOST_SHORTER, _MOST_SHORTER_IN_ALL = 40, 80
"""Requests that look for a shorter sequence of one finding, and of all."""


class InSequence(Purpose):
    """Why a request of a sequence is sent, unless the registrar says why it deletes a key."""

    STEP = "a step of a drawn sequence"
    SHORTER = "a step of a part of a drawn sequence, to see if that shows the same finding"
    EXECUTED_TWICE = "a transfer that the run prepares, to execute it twice"
    AGAIN = "the same transfer again"
    BALANCE = "a balance, before or after an execution of that transfer"


class Step(Enum):
    """A step of a sequence: its key is registered, deleted, or may be shown."""

    REGISTER = "a registration"
    DELETE = "a deletion"
    LIST = "the list of keys"
    BALANCE = "the balance"


_READS = {Step.LIST: "listPixKeys", Step.BALANCE: "getBalance"}
_EXECUTE, _AGAIN = "an execution", "the same execution again"
MOVED_TWICE = "MONEY MOVED TWICE: a second execution of a code changes the balance again"
Numbers = Mapping[JsonPath, Decimal]


@dataclass(frozen=True)
class _Repeated:
    """Two executions of one code: `moved` is what the first changed in the balances, `again` what the second did."""

    first: Exchange
    second: Exchange
    moved: Numbers
    again: Numbers

    @property
    def moves_money_twice(self) -> bool:
        """True if the second execution changed a balance as the first one did."""
        return not self.moved.items().isdisjoint(self.again.items())

    @property
    def answers(self) -> list[Facts | str]:
        """The answer to the second execution."""
        if not is_evidence(self.second):
            return []
        if not grants_protected_result(self.second):
            return [answer_of(self.second)]
        is_the_same = data_of(self.first.response) == data_of(self.second.response)
        return ["the same result" if is_the_same else "another result"]

    @property
    def balances(self) -> list[str]:
        """Movement of money by the second execution, where a balance shows that the first one moved it."""
        return [MOVED_TWICE if self.moves_money_twice else "does not change again"] if self.moved else []


Followed = list[tuple[Step, Exchange]]
"""The steps of a sequence that were taken, with their answers."""


class World:
    """Keys and money of one run, the answers to the steps, and the transfer that was executed twice."""

    def __init__(self, client: Client, profile: Profile, reach: Reach, reproduction: Reproduction) -> None:
        self.client, self.profile, self.reach = client.of_part(SEQUENCES), profile, reach
        self.registrar = Registrar(self.client, profile)
        self.findings = Findings(reproduction)
        self.twice: _Repeated | None = None
        self._sequences: list[tuple[Step, ...]] = []

    def draw(self, seed: int, examples: int) -> None:
        """Draw the sequences."""
        from tests.traffic.drawing import draw_sequences  # with what it needs, that takes most of a second

        count = max(1, round(_OF_EXAMPLES * examples))
        self._sequences = draw_sequences(seed, count, list(Step), situations_in)

    def follow(self) -> None:
        """Follow the first sequence with a key of the profile, if it may be deleted, and execute one transfer twice.
        The other sequences name synthetic keys alone, so they go together. What deviates is followed once more, alone,
        because a service may be busy with the others."""
        first, *others = self._sequences
        own_key = next(iter(self.registrar.that_come_and_go()), None)
        self._take(self._followed(first, own_key))
        self._execute_twice()
        sends = [partial(self._followed, sequence, self._synthetic_key()) for sequence in others]
        all_followed = self.registrar.together.send_all(sends)
        for followed in all_followed:
            self._take(followed)
        deviating = [
            sequence for sequence, followed in zip(others, all_followed, strict=True) if any(map(_deviates, followed))
        ]
        for sequence in deviating[:_MOST_AGAIN] if self.registrar.together.is_possible else ():
            self._take(self._followed(sequence, self._synthetic_key()))

    def look_for_shorter_sequences(self) -> None:
        """For each finding, follow parts of the sequence that shows it, with other keys. None of them executes."""
        from tests.traffic.drawing import look_for_shorter

        left = _MOST_SHORTER_IN_ALL
        for requirement, finding, case in self.findings.signs_of_drawn_requests():
            if _EXECUTE in case.steps:
                continue
            search = _Search(self, requirement, finding, min(left, _MOST_SHORTER))
            look_for_shorter([Step(step) for step in case.steps], search.shows)
            left -= search.times_sent

    def follow_shorter(self, sequence: Sequence[Step]) -> Followed:
        """Follow a sequence that is a part of a drawn one."""
        followed = self._followed(sequence, self._synthetic_key(), InSequence.SHORTER)
        self._take(followed, what=SMALLER)
        return followed

    def _synthetic_key(self) -> PixKey | None:
        """A key of its own for a sequence; None if none may be deleted."""
        return self.registrar.key_of_nobody() if self.registrar.synthetic_keys() else None

    def _followed(self, sequence: Sequence[Step], key: PixKey | None, purpose: Purpose = InSequence.STEP) -> Followed:
        """Take these steps, and delete what they leave. A deletion that follows another one is sent on a sandbox only:
        elsewhere it may take a key of somebody."""
        followed: Followed = []
        is_registered = False
        for step in sequence:
            exchange = None
            if step in _READS:
                exchange = self._read(_READS[step], self.profile.accounts[0], purpose)
            elif self._may_change(key) and step is Step.REGISTER:
                exchange = self.registrar.register(key, purpose)
                is_registered = is_registered or registered(exchange)
            elif self._may_change(key) and (is_registered or self.profile.is_sandbox):
                exchange = self.registrar.delete(key, self.registrar.account, valid=is_registered)
                is_registered = is_registered and not is_granted(exchange)
            if exchange:
                followed.append((step, exchange))
        if is_registered and key:
            followed.append((Step.DELETE, self.registrar.delete(key, self.registrar.account, valid=True)))
        return followed

    def _may_change(self, key: PixKey | None) -> TypeGuard[PixKey]:
        return key is not None and "registerPixKey" in self.reach.operations and not self.findings.cut

    def _take(self, followed: Followed, what: str = "") -> None:
        """Have the answers judged, each as the last one of its steps."""
        steps = tuple(step.value for step, _ in followed)
        for count, (_, exchange) in enumerate(followed, 1):
            self._take_one(exchange, steps[:count], what)

    def _take_one(self, exchange: Exchange, steps: tuple[str, ...], what: str = "") -> None:
        self.findings.take(Case(exchange.operation, what=what, valid=True, steps=steps), exchange)

    def _execute_twice(self) -> None:
        """Prepare a transfer, execute it, and execute it again; the balance is read before, between and after."""
        guard = self.client.door.guard
        if self.findings.cut or not (self.reach.spends_codes and self.reach.wants("executePix.repeated")):
            return
        prepared = prepare(self.client, self.profile, min(1, guard.room), InSequence.EXECUTED_TWICE)
        code = next(iter(guard.prepared.codes_of(prepared)), None)
        if code is None:
            return
        execute = partial(self.client.send, "executePix", code)
        before, first = self._balances(), execute(valid=True, purpose=InSequence.EXECUTED_TWICE)
        self._take_one(first, (_EXECUTE,))
        if not succeeded(first):
            return
        between = self._balances()
        if not guard.permit_again(code):
            return
        second = execute(purpose=InSequence.AGAIN)
        self._take_one(second, (_EXECUTE, _AGAIN))
        if second.response:
            self.twice = _Repeated(first, second, _changes(before, between), _changes(between, self._balances()))

    def _read(self, operation: str, account: str, purpose: Purpose) -> Exchange | None:
        if operation not in self.reach.operations or self.findings.cut:
            return None
        return self.client.send(operation, account, valid=True, purpose=purpose)

    def _balances(self) -> Numbers:
        answers = {
            account: self._read("getBalance", account, InSequence.BALANCE) for account in self.profile.accounts[:3]
        }
        for answer in answers.values():
            if answer:
                self._take_one(answer, (Step.BALANCE.value,))
        return {
            (account, *path): number
            for account, answer in answers.items()
            if answer and answer.response and is_granted(answer)
            for path, number in numbers(answer.response.json.value)
        }


@dataclass
class _Search:
    """A search for the shortest sequence that shows a finding."""

    world: World
    requirement: str
    finding: Finding
    most: int
    times_sent: int = 0
    known: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for case, exchange in self.world.findings.taken:
            is_shown_before = self.known.get(case.steps[:-1], False)
            self.known[case.steps] = is_shown_before or self._is_shown(exchange)

    def shows(self, sequence: Sequence[Step]) -> bool:
        """True if the sequence shows the finding. It is followed, unless it was before, or takes more than is left."""
        steps = tuple(step.value for step in sequence)
        if steps not in self.known:
            may_be_followed = self.times_sent + len(steps) < self.most  # it may delete its key besides
            followed = self.world.follow_shorter(sequence) if may_be_followed else []
            self.times_sent += len(followed)
            self.known[steps] = any(self._is_shown(exchange) for _, exchange in followed)
        return self.known[steps]

    def _is_shown(self, exchange: Exchange) -> bool:
        findings = judge(self.requirement, exchange).findings if _answers_for(self.requirement, exchange) else ()
        return self.finding in [replace(finding, exchanges=()) for finding in findings]


def situations_in(sequence: Sequence[Step]) -> set[Hashable]:
    """What each step follows: the two steps before it, and the last two changes of the key before it. A fault of three
    steps shows in one of them."""
    situations: set[Hashable] = set()
    changes: tuple[Step, ...] = ()
    for place, step in enumerate(sequence):
        situations.add(("steps", tuple(sequence[max(0, place - 2) : place + 1])))
        situations.add(("changes", changes[-2:], step))
        if step not in _READS:
            changes = (*changes, step)
    return situations


def _answers_for(requirement: str, exchange: Exchange) -> bool:
    return requirement.startswith(f"{exchange.operation}.")


def _deviates(followed: tuple[Step, Exchange]) -> bool:
    exchange = followed[1]
    return any(judge(requirement, exchange).deviates for requirement in RULES if _answers_for(requirement, exchange))


def numbers(value: Any) -> Iterator[tuple[JsonPath, Decimal]]:
    """Every number of a JSON value, as a number or as text, by its place."""
    for path, item in leaves_of(value):
        if isinstance(item, Decimal | str):
            with suppress(InvalidOperation):
                number = Decimal(item)
                if number.is_finite():
                    yield path, number


def _changes(before: Numbers, after: Numbers) -> Numbers:
    """The numbers that changed, and by how much."""
    kept = {place: number - before[place] for place, number in after.items() if place in before}
    return {place: change for place, change in kept.items() if change}
