"""Sequences of operations on keys, each answer judged by the rules; and a transfer that is executed twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from random import Random
from typing import Any

from environments.door.client import Client
from environments.door.preparing import prepare
from environments.profiles.model import PixKey, Profile
from spec.answers import data_of, grants_protected_result, is_granted, registered, succeeded
from spec.exchange import Exchange
from spec.facts import Facts
from spec.json_text import JsonPath, leaves_of
from spec.observed import answer_of, counts
from spec.rules import Reproduction
from tests.harness.selection import Reach
from tests.traffic.case import Case
from tests.traffic.collecting import Findings
from tests.traffic.keys.purposes import key_sent
from tests.traffic.keys.registrar import Registrar

SEQUENCES = "sequences"
STEPS = ("registerPixKey", "registerPixKey", "deletePixKey", "deletePixKey", "listPixKeys", "getBalance")
"""One of these is drawn for each step of a sequence."""
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
        if not counts(self.second):
            return []
        if not grants_protected_result(self.second):
            return [answer_of(self.second)]
        is_the_same = data_of(self.first.response) == data_of(self.second.response)
        return ["the same result" if is_the_same else "another result"]

    @property
    def balances(self) -> list[str]:
        """Movement of money by the second execution, where a balance shows that the first one moved it."""
        return [MOVED_TWICE if self.moves_money_twice else "does not change again"] if self.moved else []


class World:
    """Keys and money of one run, the answers to the steps, and the transfer that was executed twice."""

    def __init__(self, client: Client, profile: Profile, reach: Reach, reproduction: Reproduction) -> None:
        self.client, self.profile, self.reach = client.of_part(SEQUENCES), profile, reach
        self.registrar = Registrar(self.client, profile)
        self.findings = Findings(reproduction)
        self.twice: _Repeated | None = None

    def follow(self, seed: int, registrations: int) -> None:
        """Take the steps that a seed draws, delete what they leave, and execute one transfer twice."""
        drawn = Random(seed)
        for _ in range(3 * registrations):  # one step of three registers
            operation, keys = drawn.choice(STEPS), self.registrar.that_come_and_go()
            if operation in ("listPixKeys", "getBalance"):
                self._read(operation, self.profile.accounts[0])
            elif keys and "registerPixKey" in self.reach.operations and not self.findings.cut:
                key = drawn.choice(keys)
                self._take(self.registrar.register(key)) if operation == "registerPixKey" else self.undo(key)
        self.undo()
        self._execute_twice()

    def undo(self, *keys: PixKey) -> None:
        """Delete these keys, or all, as far as a step registered them."""
        values = {key.key for key in keys}
        number_before = len(self._deletions())
        for exchange in filter(registered, self.client.door.log.valid("registerPixKey", SEQUENCES)):
            if not keys or key_sent(exchange) in values:
                self.registrar.undo(exchange)
        for deletion in self._deletions()[number_before:]:
            self._take(deletion)

    def _deletions(self) -> list[Exchange]:
        return self.client.door.log.valid("deletePixKey", SEQUENCES)

    def _execute_twice(self) -> None:
        """Prepare a transfer, execute it, and execute it again; the balance is read before, between and after."""
        guard = self.client.door.guard
        if self.findings.cut or not (self.reach.spends_codes and self.reach.wants("executePix.repeated")):
            return
        code = next(iter(guard.prepared.codes_of(prepare(self.client, self.profile, min(1, guard.room)))), None)
        if code is None:
            return
        execute = partial(self.client.send, "executePix", code)
        before, first = self._balances(), self._take(execute(valid=True))
        if not succeeded(first):
            return
        between = self._balances()
        if guard.permit_again(code) and (second := self._take(execute())).response:
            self.twice = _Repeated(first, second, _changes(before, between), _changes(between, self._balances()))

    def _read(self, operation: str, account: str) -> Exchange | None:
        if operation not in self.reach.operations or self.findings.cut:
            return None
        return self._take(self.client.send(operation, account, valid=True))

    def _balances(self) -> Numbers:
        read = {account: self._read("getBalance", account) for account in self.profile.accounts[:3]}
        return {
            (account, *path): number
            for account, seen in read.items()
            if seen and seen.response and is_granted(seen)
            for path, number in numbers(seen.response.json.value)
        }

    def _take(self, exchange: Exchange) -> Exchange:
        self.findings.take(
            Case(exchange.operation, "in a sequence", "valid" if exchange.valid else "sent again", valid=True), exchange
        )
        return exchange


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
