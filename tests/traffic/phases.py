"""All that a run sends, phase after phase, before the first test judges; and the plan of it.

1. Preflight: `Controller`.
2. Alone and in order: the keys, then the executions, then transfers that are only prepared, then sequences of all
   three. Within this, wrong tokens, two registrations and two executions go side by side.
3. Together: all that names nobody, or only reads.
4. Side by side on purpose; then what may stand in for a token, together.
5. What the answers leave open, and what may have changed since; and the generated requests, together.
6. Clean up.

The plan is the same traffic on a wire that sends nothing and answers as the interface document says.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TextIO

import pytest

from environments.door.client import Client
from environments.door.door import NoteAbout
from environments.door.limits import WANT_THE_TOKEN
from environments.door.opening import open_planned_door
from environments.door.outgoing import Sending
from environments.door.preflight import preflight
from environments.profiles.model import Profile
from reports.sentences.plan import Plan
from spec.exchange import VALID, Exchange, Response
from spec.interface import PREPARING, operations
from spec.json_text import parts_of_pointer
from spec.message import say
from spec.requirements import requirements
from spec.rules import Reproduction
from tests.harness.options import examples_of
from tests.harness.pen import OurLine
from tests.harness.selection import ids_tested, in_scope, permits, reach_of, uses
from tests.harness.session import SENT, Interruption, Session
from tests.traffic.case import Case
from tests.traffic.execution import ask_in_the_end, execute
from tests.traffic.existence import find_out
from tests.traffic.keys.registrar import Registrar
from tests.traffic.keys.registration import register
from tests.traffic.property import Generation
from tests.traffic.refused_credentials import credentials_of
from tests.traffic.robustness import ask_for_unknown_accounts, ask_without_the_token, send_invalid
from tests.traffic.scenario import Scenario, Traffic
from tests.traffic.stateful import World
from tests.traffic.trust.asking import ask_at_the_start, ask_in_place_of_a_token
from tests.traffic.undescribed import prepare_transfers, read, read_again, read_beside_refusals

IN_ORDER: tuple[Scenario[Any], ...] = (ask_at_the_start, register, execute, prepare_transfers)
"""What needs the first second; the keys, then the executions, then the transfers that are only prepared."""
AT_ONCE: tuple[Scenario[Any], ...] = (read, send_invalid, ask_without_the_token)
SIDE_BY_SIDE: tuple[Scenario[Any], ...] = (read_beside_refusals,)
WITH_STAND_INS: tuple[Scenario[Any], ...] = (ask_in_place_of_a_token,)
"""Wrong tokens that name nobody: behind all that a lock would keep from being answered."""
IN_THE_END: tuple[Scenario[Any], ...] = (read_again, ask_in_the_end, find_out)
"""Scenarios that need the other answers: these leave a question open, or have changed since."""
LAST: tuple[Scenario[Any], ...] = (ask_for_unknown_accounts,)
"""What the answers to invalid requests are compared with: it takes no place in limits.transfers from them."""
ALL = (*IN_ORDER, *AT_ONCE, *SIDE_BY_SIDE, *WITH_STAND_INS, *IN_THE_END, *LAST)


@dataclass(frozen=True)
class RunTraffic:
    """Traffic of the selected tests; `world` is None if no sequences were sent."""

    traffic: Traffic
    generation: Generation
    world: World | None

    @property
    def invalid(self) -> list[tuple[Case, Exchange]]:
        """The invalid requests of a class, targeted and generated, with their answers."""
        return [*self.traffic.result_of(send_invalid), *self.generation.sent]


def send(config: pytest.Config, session: Session, items: Sequence[pytest.Item]) -> RunTraffic:
    """Send everything that the tests judge; nothing where the preflight found the token refused. Whatever happens, no
    key is left that may be deleted."""
    client, profile = session.client, session.profile
    try:
        asked = [] if client.token_is_refused else items
        return _send_all(config, client, profile, session.run.seed, asked, session.collector.reproduction)
    finally:
        if profile.accounts and "register-keys" in profile.allow:
            Registrar(client, profile).finish()


def _send_all(
    config: pytest.Config,
    client: Client,
    profile: Profile,
    seed: int,
    items: Sequence[pytest.Item],
    reproduction: Reproduction,
) -> RunTraffic:
    """Send everything that the tests judge through this client."""
    items = in_scope(items, profile)
    traffic = Traffic(client, profile, reach_of(ids_tested(items, "traffic"), profile), reproduction)
    preparing = [name for name in PREPARING if traffic.permitted(name)]
    client.door.budget.share_transfers(preparing, [name for name in preparing if name in profile.requests])
    surveyed = traffic.reach.subjects if traffic.selects(send_invalid) else frozenset()
    generation = Generation(client, profile, reproduction, surveyed)
    world = None
    if profile.accounts and any(uses(item, "world") for item in items):
        world = World(client, profile, reach_of(ids_tested(items, "traffic", "world"), profile), reproduction)
    for item in items:
        if uses(item, "generation"):
            generation.draw(item.callspec.params["operation"], seed, examples_of(config, profile, 0))  # type: ignore[attr-defined]
    if world is not None:
        world.draw(seed, examples_of(config, profile))
    generation.begin()
    traffic.send(IN_ORDER)
    if world is not None:  # last, as a transfer that is executed twice gets the room that is left
        world.follow()
    traffic.send(AT_ONCE)
    traffic.send(SIDE_BY_SIDE)
    traffic.send(WITH_STAND_INS)
    traffic.send(IN_THE_END)
    generation.send(traffic.together)
    traffic.send(LAST)
    generation.look_for_smaller_cases()
    if world is not None:
        world.look_for_shorter_sequences()
    for name in filter(client.door.backoff.locks_out, WANT_THE_TOKEN):
        tried = credentials_of([seen for seen in traffic.targeted(name) if seen.credential != VALID])
        why = say("the service locks the caller out after wrong tokens (tried: {tried})", tried=tried)
        client.door.note(NoteAbout.CUT, why, name)
    return RunTraffic(traffic, generation, world)


# -- the run -------------------------------------------------------------------------------------------------------

_NEW_LINE = "\r\x1b[K"
"""Carriage return, and a line without text (ECMA-48, EL)."""


@dataclass(eq=False)
class Controller:
    """Checks the target once, has everything sent, and takes over what was sent."""

    session: Session
    interruption: Interruption

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the target, where a test needs it."""
        run, foreign = self.session.run, self.session.collector.display.foreign
        if session.items and (unreachable := preflight(self.session.client)):
            run.unreachable = foreign(unreachable)
            why = f"{run.base_url} cannot be reached: {unreachable}; this is no verdict on the service"
            pytest.exit(foreign(why), returncode=7)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Send everything before the first test judges; nothing where pytest runs no test."""
        if session.items and not session.testsfailed:
            terminal = session.config.pluginmanager.get_plugin("terminalreporter")
            is_shown = terminal is not None and terminal.verbosity >= 0
            say_line = terminal.write_line if terminal and is_shown else lambda line: None
            say_line(OurLine(f"sending to {self.session.run.base_url}: {self._progress()}"))
            with progress(sys.stdout, self._progress) if is_shown else nullcontext():
                session.config.stash[SENT] = send(session.config, self.session, session.items)
            say_line(OurLine(f"judging {len(self.session.door.exchanges)} answers"))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Send nothing more, and take over what was sent, before the reports are written."""
        run, ending = self.session.run, self.session.door.ending
        run.ended_by = ending.limit if ending.limit in self.session.door.unsent else ""
        run.interrupted |= self.interruption.was_asked
        ending.stop()
        self.session.collector.close()
        return (yield)

    def _progress(self) -> str:
        return f"{len(self.session.door.exchanges)} of at most {self.session.profile.limits.requests} requests"


@contextmanager
def progress(file: TextIO, line: Callable[[], str]) -> Iterator[None]:
    """Have a thread print the line while something else goes on that prints nothing; in the end nothing of it stays on
    a terminal."""
    in_place = file.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    stopped = threading.Event()

    def show() -> None:
        while not stopped.wait(0.25 if in_place else 15):
            _print(file, f"{_NEW_LINE}{line()}" if in_place else f"{line()}\n")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        _print(file, _NEW_LINE * in_place)


def _print(file: TextIO, text: str) -> None:
    with suppress(OSError):  # nobody looks any more
        file.write(text)
        file.flush()


# -- the plan ---------------------------------------------------------------------------------------------------------

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaXhjb25mLXBsYW4iLCJleHAiOjE5OTk5OTk5OTl9.cGl4Y29uZi1wbGFuLXNpZ25hdHVyZQ"
"""A token from which every form of wrong token can be made."""
_OF_TYPE = {"string": "*", "integer": 1, "number": 1, "null": None}
_SUCCESSFUL = {"status": "DONE", "Success": "true"}
"""Documented fields that say what became of a request."""


def planned(config: pytest.Config, profile: Profile, resend: Container[str], items: Sequence[pytest.Item]) -> Plan:
    """Plan of the requests of the selected tests. `resend` has the codes that may be sent although an earlier run sent
    them."""
    door = open_planned_door(profile, TOKEN, _Wire(profile), resend=resend, new_journal=config.getoption("new_journal"))
    client = Client(door)
    preflight(client)
    reproduction = Reproduction(door.exchanges, door.sent_again)
    traffic = _send_all(config, client, profile, config.getoption("seed") or 0, items, reproduction).traffic
    asked = (requirements()[name].operation for name in ids_tested(items, "sent"))
    return Plan(
        door.exchanges,
        denied=frozenset(name for name in asked if name and not permits(profile, name)),
        executes=traffic.reach.spends_codes,
        barred=list(door.guard.barred),
        cut=list(door.unsent),
        journal_trouble=door.guard.journal_trouble or door.guard.supplied_trouble,
    )


class _Wire:
    """Connections that send nothing. A valid request succeeds, as the interface document says; any other is refused."""

    def __init__(self, profile: Profile) -> None:
        self._plan, self._key_at = profile.transactions.prepare, profile.key_at
        self._prepared = 0

    def attempt(self, sending: Sending) -> Response:
        """The answer to a request that is not sent."""
        intent, body = sending.intent, dict[str, object]()
        status = 401 if intent.credential != VALID else 400 if intent.operation else 404
        if intent.valid or sending.executes:
            status, body = 200, {"code": 0, "data": self._data(intent.operation)}
        return Response(status, (("Content-Type", "application/json"),), json.dumps(body).encode())

    def connect(self, base_url: str) -> str:
        """Nothing is opened."""
        return ""

    def close(self) -> None:
        """Nothing is open."""

    def _data(self, operation: str) -> object:
        if operation in PREPARING and self._plan:
            self._prepared += 1
            value: object = f"plan-{self._prepared}"
            for part in reversed(parts_of_pointer(self._plan.code_at.removeprefix("/data"))):
                value = {part: value}
            return value
        if operation == "listPixKeys" and self._key_at:
            return _empty_list_at(self._key_at)
        fields = operations()[operation].result
        return {each.name: _SUCCESSFUL.get(each.name, _OF_TYPE[each.types[-1]]) for each in fields}


def _empty_list_at(key_at: str) -> object:
    """The data of a list without keys, where a profile says that they stand."""
    value: object = []
    around_the_list = takewhile("*".__ne__, parts_of_pointer(key_at.removeprefix("/data")))
    for part in reversed([*around_the_list]):
        value = {part: value}
    return value
