"""All that a run sends: its parts, and in which threads those are sent that need not wait until a test asks for them.

Two chains are sent beside each other: executions, and what touches the keys of the profile. All else is stateless, and is
sent behind them. Invalid requests to the operations that prepare transfers come last, in turns: limits.transfers is first
for what is valid, and then for each operation and each class alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any, TypeVar

import pytest

from environments.door.liveness import UnreachableError
from environments.profiles.gaps import NO_ACCOUNT
from spec.exchange import Exchange
from spec.interface import PREPARING, READS
from tests.harness.judging import NotExercised
from tests.harness.lanes import Part
from tests.harness.selection import requirements, uses
from tests.harness.session import Session
from tests.harness.watcher import in_scope
from tests.traffic.beside import Beside
from tests.traffic.case import Case
from tests.traffic.classes import malformed
from tests.traffic.endpoints import Endpoints
from tests.traffic.generation.collecting import Findings
from tests.traffic.generation.phases import COVERAGE, EXAMPLES, FUZZING, REGISTER, Generation
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.generation.world import World
from tests.traffic.reach import reach_of
from tests.traffic.registrar import Registrar
from tests.traffic.targeted_traffic import TargetedTraffic

T = TypeVar("T")
_SEQUENCES = "sequences"
_PROBED = ("executePix", "registerPixKey")
"""Operations that get requests which must be refused, with companions. Their invalid requests are sent last, as they may
be companions."""
_ROOM_FOR_ALL = 1_200
"""With fewer requests than these, generated traffic waits for its tests: it would take what the targeted tests need."""
_NEED_KEYS = ("registrations", "endpoints")
_NEED_EXECUTIONS = ("executions", "endpoints")
"""The fixtures whose tests judge what the chain of keys sends, and what the chain of money does."""


class RunTraffic:
    """What the selected tests need; nothing is sent before `start`."""

    def __init__(self, session: Session, settings: GenerationSettings, items: Sequence[pytest.Item]) -> None:
        client, profile = session.client, session.profile
        self._session, self._items = session, items
        self._beside = Beside(client, session.lanes)
        reach = reach_of(requirements(items, "traffic"), profile)
        self.traffic = TargetedTraffic(client, profile, session.target.secrets.token(), reach, self._beside)
        self.endpoints = Endpoints(self.traffic)
        reproduction = session.collector.reproduction
        self.generation = Generation(client, profile, settings, reproduction, session.lanes, reach.surveyed)
        self.follow_sequences = Part(self._follow_sequences)
        self._transfers, self._generated_transfers = Part(self._send_transfers), Part(self._send_generated_transfers)
        self.endpoints.before_transfers = self._transfers
        self.generation.before_transfers = self._generated_transfers

    def start(self) -> None:
        """Begin to send what the tests will ask for, where that may be sent ahead."""
        lanes, items = self._session.lanes, self._items_ahead()
        if not lanes.parallel:
            return
        generated = [_generated(item) for item in items if uses(item, "generation")]
        drawn = [item for item in generated if item[1] == FUZZING]
        company = [(operation, COVERAGE) for operation in _PROBED if (operation, COVERAGE) in generated]
        self._offer(company)
        lanes.start_chain(self._chain_of_money(items))
        lanes.start_chain(self._chain_of_keys(items, generated))
        lanes.start(self.traffic.visits(READS))
        self._start_surveys(self.endpoints.surveys.keys() - {*_PROBED, *PREPARING})
        self._start_generated(item for item in generated if item not in (*drawn, *company) and item[0] not in PREPARING)
        lanes.start_chain([Part(partial(self._start_later, drawn, company))])
        lanes.start_chain([self._transfers, *([self._generated_transfers] if generated else [])])
        self._draw(generated, steps=any(uses(item, "world") for item in items))

    def _draw(self, generated: Iterable[tuple[str, str]], *, steps: bool) -> None:
        """Draw everything before the first test, in the thread that reports tests: both parse Python, and CPython 3.11
        fails where two threads do that at once (SystemError: AST constructor recursion depth mismatch)."""
        for item in generated:
            self.generation.draw(*item)
        if steps:
            self.generation.draw_steps()

    def _items_ahead(self) -> list[pytest.Item]:
        """The tests whose traffic may be sent before they ask for it."""
        items, profile = in_scope(self._items, self._session.profile), self._session.profile
        room_for_all = profile.limits.requests >= _ROOM_FOR_ALL
        return [item for item in items if room_for_all or not item.get_closest_marker("property")]

    def _start_surveys(self, operations: Iterable[str]) -> None:
        for operation in operations:
            self._session.lanes.start(self.endpoints.surveys.get(operation, ()))

    def _start_generated(self, items: Iterable[tuple[str, str]]) -> None:
        for item in items:
            self.generation.start(*item)

    def _offer(self, company: Iterable[tuple[str, str]]) -> None:
        """Keep what may be sent as company for others."""
        for operation in _PROBED:
            self._beside.offer(operation, self.endpoints.surveys.get(operation, ()))
        for operation, phase in company:
            self._beside.offer(operation, self.generation.draw(operation, phase).parts)

    def _start_later(self, drawn: Iterable[tuple[str, str]], company: Iterable[tuple[str, str]]) -> None:
        """Have sent what is drawn meanwhile; then what may be company for others, and waits for them."""
        self._start_generated(item for item in drawn if item[0] not in PREPARING)
        self._start_surveys(_PROBED)
        self._start_generated(company)

    def close(self) -> None:
        """Leave no key that may be deleted."""
        profile, client = self._session.profile, self._session.client
        if profile.accounts and "register-keys" in profile.allow:
            with suppress(UnreachableError):
                Registrar(client, profile).clean_up()

    def _chain_of_money(self, items: Sequence[pytest.Item]) -> Iterator[Part[Any]]:
        if self.traffic.permitted("executePix") and any(uses(item, *_NEED_EXECUTIONS) for item in items):
            yield self.traffic.execute_once
        yield from self.traffic.visits(PREPARING)

    def _chain_of_keys(self, items: Sequence[pytest.Item], generated: list[tuple[str, str]]) -> Iterator[Part[Any]]:
        if self.traffic.permitted(REGISTER) and any(uses(item, *_NEED_KEYS) for item in items):
            yield self.traffic.register_once
        if (REGISTER, EXAMPLES) in generated:
            yield self.generation.register
        if any(uses(item, "world") for item in items):
            yield from self._chain_of_money(items)  # the transfer that is executed twice gets the room that is left
            yield self.follow_sequences

    def _follow_sequences(self) -> World:
        profile, client = self._session.profile, self._session.client.of_part(_SEQUENCES)
        if not profile.accounts:
            raise NotExercised(NO_ACCOUNT)
        reach = reach_of(requirements(self._items, "traffic", "world"), profile)
        registrar = Registrar(client, profile) if REGISTER in reach.operations else None
        findings = Findings(client.door, self._session.collector.reproduction, _SEQUENCES)
        world = World(client, profile, registrar, findings, reach)
        return world.follow(self.generation.draw_steps())

    # -- invalid transfers ------------------------------------------------------------------------------------

    def _send_transfers(self) -> None:
        """Send the targeted ones, after what is valid."""
        items = self._items_ahead()
        follows = any(uses(item, "world") for item in items)
        _send_all([*(self._chain_of_keys(items, []) if follows else self._chain_of_money(items))])
        surveys = self.endpoints.surveys
        cases = {
            operation: malformed(operation, self._session.profile) for operation in PREPARING if operation in surveys
        }
        self._send_in_turns(list(zip(cases[name], surveys[name], strict=True)) for name in cases)

    def _send_generated_transfers(self) -> None:
        """Send the generated ones, after the targeted ones."""
        self._transfers()
        generated = [
            _generated(item) for item in in_scope(self._items, self._session.profile) if uses(item, "generation")
        ]
        for phase in (COVERAGE, FUZZING):
            drawn = [self.generation.draw(*item) for item in generated if item[0] in PREPARING and item[1] == phase]
            self._send_in_turns(batch.sent for batch in drawn)

    def _send_in_turns(self, sent: Iterable[list[tuple[Case, Part[Exchange]]]]) -> None:
        """Send these, one of each list in turn, and of each list one of each part of a request that is unusual."""
        parts = _in_turns(_in_turns(_by_class(one)) for one in sent)
        self._session.lanes.start(parts)
        _send_all(parts)


def _send_all(parts: Iterable[Part[Any]]) -> None:
    """Send these, or wait until they are sent. What they raise, who asks for them will hear."""
    for part in parts:
        with suppress(Exception, pytest.skip.Exception):
            part()


def _by_class(sent: Iterable[tuple[Case, Part[T]]]) -> Iterable[list[Part[T]]]:
    found: dict[str, list[Part[T]]] = {}
    for case, part in sent:
        found.setdefault(case.where, []).append(part)
    return found.values()


def _in_turns(lists: Iterable[Iterable[T]]) -> list[T]:
    return [one for turn in zip_longest(*lists) for one in turn if one is not None]


def _generated(item: pytest.Item) -> tuple[str, str]:
    """The operation and the phase of an item of generated traffic."""
    params = item.callspec.params  # type: ignore[attr-defined]
    return params["operation"], params["phase"]
