"""What sequences of operations do to the service, step by step, and what they show that the document does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from environments.door.client import Client
from environments.door.preparing import prepare
from environments.profiles.gaps import deletes_keys
from environments.profiles.profile import PixKey, Profile
from spec.answers import data_of, grants_protected_result, is_granted, registered, succeeded
from spec.exchange import Exchange
from spec.facts import Facts
from spec.json_text import JsonPath, leaves_of
from tests.traffic.answered import answer_of, counts
from tests.traffic.case import Case
from tests.traffic.collecting import Findings
from tests.traffic.reach import Reach, may_execute_twice
from tests.traffic.registrar import Registrar
from tests.traffic.unusual_registrations import given

Numbers = Mapping[JsonPath, Decimal]


def numbers(value: Any) -> Iterator[tuple[JsonPath, Decimal]]:
    """Every number of a JSON value, as a number or as text, by its place."""
    for path, item in leaves_of(value):
        if isinstance(item, Decimal | str):
            with suppress(InvalidOperation):
                yield path, Decimal(item)


def changes(before: Numbers, after: Numbers) -> Numbers:
    """What changed, and by how much."""
    return {
        place: number - before[place]
        for place, number in after.items()
        if place in before and number.is_finite() and before[place].is_finite() and number != before[place]
    }


MOVED_TWICE = "MONEY MOVED TWICE: a second execution of a code changes the balance again"


@dataclass(frozen=True)
class Repeated:
    """Two executions of one code: `moved` is what the first changed in the balances, `again` what the second did."""

    first: Exchange
    second: Exchange
    moved: Numbers
    again: Numbers

    @property
    def moves_money_twice(self) -> bool:
        """Whether the second execution changed a balance as the first one did."""
        return any(self.again.get(place) == amount for place, amount in self.moved.items())

    @property
    def answers(self) -> list[Facts | str]:
        """How the second execution is answered."""
        if not counts(self.second):
            return []
        if not grants_protected_result(self.second):
            return [answer_of(self.second)]
        results = [data_of(seen.response) for seen in (self.first, self.second) if seen.response]
        return ["the same result" if results[0] == results[1] else "another result"]

    @property
    def balances(self) -> list[str]:
        """Whether money moved again, where a balance shows that it moved at all."""
        return [MOVED_TWICE if self.moves_money_twice else "does not change again"] if self.moved else []


MOST_TRANSFERS = 1
"""Transfers that the sequences prepare in a run, and execute twice."""


class StepKind(Enum):
    """What a step does."""

    REGISTER = "register"
    DELETE = "delete"
    LIST = "list"
    READ_BALANCE = "read_balance"
    EXECUTE_TWICE = "execute_twice"
    TIDY = "tidy"


@dataclass(frozen=True)
class Step:
    """One step; `place` is that of a key among those of the world."""

    kind: StepKind
    place: int = 0


@dataclass
class World:
    """Keys and money of one run: the steps, and what they showed."""

    client: Client
    profile: Profile
    registrar: Registrar | None
    findings: Findings
    reach: Reach
    registrations: dict[str, Exchange] = field(default_factory=dict)
    touched: dict[str, PixKey] = field(default_factory=dict)
    listings: dict[tuple[str, str], Exchange] = field(default_factory=dict)
    followed: dict[tuple[str, str], Exchange] = field(default_factory=dict)
    twice: Repeated | None = None
    transfers: int = 0
    unseen: bool = False
    """Whether a registration or a deletion was sent since the list was read."""

    @property
    def keys(self) -> list[PixKey]:
        """The keys that can be registered and deleted again; none where the profile does not say how."""
        return self.registrar.that_come_and_go() if self.registrar else []

    def follow(self, steps: Iterable[Step]) -> World:
        """Take these steps. Whatever is drawn, one key comes and goes, and one transfer is executed twice."""
        for key in self.keys[:1]:
            self.register(key)
            self.tidy()
        for step in steps:
            self._take_step(step)
        self.list()  # once more where it still showed a deleted key
        self.execute_twice()
        return self

    def _take_step(self, step: Step) -> None:
        of_a_key = {StepKind.REGISTER: self.register, StepKind.DELETE: self.delete}
        others = {
            StepKind.LIST: self.list,
            StepKind.READ_BALANCE: self.read_balance,
            StepKind.EXECUTE_TWICE: self.execute_twice,
            StepKind.TIDY: self.tidy,
        }
        if step.kind in others:
            others[step.kind]()
            return
        for key in self.keys[step.place : step.place + 1]:
            of_a_key[step.kind](key)

    def register(self, key: PixKey) -> None:
        """Register a key that may be registered already."""
        if self.registrar is None or self.findings.cut:
            return
        exchange = self.registrar.register(key)
        self.unseen = True
        self._take("registerPixKey", exchange)
        if registered(exchange) and not self.registrar.keys.was_there_before(key.key):
            self.registrations[key.key] = exchange
            self.touched[key.key] = key

    def delete(self, key: PixKey) -> None:
        """Delete a key that a step registered."""
        exchange = self.registrations.get(key.key)
        if exchange is None or self.registrar is None:
            return
        gone = self.registrar.undo(exchange)
        self.unseen = True
        self._take("deletePixKey", self.registrar.found.deletions[-1])
        if gone:
            del self.registrations[key.key]

    def list(self) -> None:
        """List the keys and see which of those that were touched are among them; if that may have changed."""
        if not self.keys or not (self.unseen or self._lingers()):
            return
        exchange = self._read("listPixKeys", self.profile.accounts[0])
        if exchange is None or not succeeded(exchange) or exchange.response is None:
            return
        self.unseen = False
        body = exchange.response.body.decode("utf-8", "replace")
        for key in self.touched:
            state = "a registered key" if key in self.registrations else "a deleted key"
            self.listings[state, "is listed" if key in body else "is not listed"] = exchange

    def read_balance(self) -> None:
        """Read a balance, as any other step may come between."""
        self._read("getBalance", self.profile.accounts[0])

    def execute_twice(self) -> None:
        """Prepare a transfer, execute it, and execute it again; the balance is read before, between and after."""
        if self.transfers >= MOST_TRANSFERS or self.findings.cut or not may_execute_twice(self.reach):
            return
        code = self._prepare()
        if code is None:
            return
        before = self._balances()
        first = self._execute(code, valid=True)
        if first is None or not succeeded(first):
            return
        between = self._balances()
        moved = changes(before, between)
        self.followed["the balance", "follows an execution" if moved else "does not follow an execution"] = first
        if self.client.door.guard.permit_once_more(code):
            second = self._execute(code, valid=False)
            if second is not None:
                self.twice = Repeated(first, second, moved, changes(between, self._balances()))

    def _prepare(self) -> str | None:
        """Prepare a transfer. Gives its code, if there is one."""
        self.transfers += 1
        sent = prepare(self.client, self.profile, min(1, self.client.door.guard.room))
        return next(iter(self.client.door.guard.prepared.codes_of(sent)), None)

    def tidy(self) -> None:
        """Delete what is still registered, and look whether it is gone."""
        self.list()
        for key in list(self.registrations):
            self.delete(self.touched[key])
        self.list()

    def _lingers(self) -> bool:
        """Whether the last list showed a key that was deleted before it."""
        states = self.client.door.keys
        return any(states.is_still_listed(value) for value in self.touched)

    def _execute(self, code: str, *, valid: bool) -> Exchange | None:
        exchange = self.client.send("executePix", code, valid=valid)
        self._take("executePix", exchange, valid=valid)
        return exchange if exchange.response is not None else None

    def _read(self, operation: str, account: str) -> Exchange | None:
        if operation not in self.reach.operations or self.findings.cut:
            return None
        exchange = self.client.send(operation, account, valid=True)
        self._take(operation, exchange)
        return exchange

    def _balances(self) -> Numbers:
        read = {account: self._read("getBalance", account) for account in self.profile.accounts[:3]}
        return {
            (account, *path): number
            for account, exchange in read.items()
            if exchange is not None and exchange.response is not None and is_granted(exchange)
            for path, number in numbers(exchange.response.json.value)
        }

    def _take(self, operation: str, exchange: Exchange, *, valid: bool = True) -> None:
        self.findings.take(Case(operation, "in a sequence", "valid" if valid else "sent again", valid=valid), exchange)


def keys_to_come_and_go(profile: Profile) -> list[PixKey]:
    """The keys that can be registered and deleted again; none where the profile does not say how."""
    return given(profile.pix_keys) or [PixKey("EMAIL", "")] if deletes_keys(profile) else []
