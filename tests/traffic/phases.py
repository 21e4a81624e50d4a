"""All that a run sends, phase after phase, before the first test judges.

1. Preflight: `check_target`.
2. Alone and in order: the keys, then the executions, then transfers that are only prepared, then sequences of all
   three. Within this, wrong tokens, two registrations and two executions go side by side.
3. Together: all that names nobody, or only reads.
4. Side by side on purpose; then what may stand in for a token, together.
5. What the answers leave open, and what may have changed since; and the generated requests, together.
6. Clean up.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TextIO

import pytest

from environments.door.client import Client
from environments.door.door import NoteAbout
from environments.door.limits import WANT_THE_TOKEN
from environments.door.preflight import preflight
from environments.profiles.model import Profile
from spec.exchange import VALID
from spec.interface import PREPARING
from spec.message import say
from spec.rules import Reproduction
from tests.harness.options import examples_of
from tests.harness.pen import OurLine
from tests.harness.selection import ids_tested, in_scope, reach_of, uses
from tests.harness.session import Session
from tests.traffic.at_times import ask_where_answers_disagree
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

IN_ORDER: tuple[Scenario, ...] = (ask_at_the_start, register, execute, prepare_transfers)
"""What needs the first second; the keys, then the executions, then the transfers that are only prepared."""
AT_ONCE: tuple[Scenario, ...] = (read, send_invalid, ask_without_the_token)
SIDE_BY_SIDE: tuple[Scenario, ...] = (read_beside_refusals,)
WITH_STAND_INS: tuple[Scenario, ...] = (ask_in_place_of_a_token,)
"""Wrong tokens that name nobody: behind all that a lock would keep from being answered."""
IN_THE_END: tuple[Scenario, ...] = (read_again, ask_in_the_end, find_out)
"""Scenarios that need the other answers: these leave a question open, or have changed since."""
LAST: tuple[Scenario, ...] = (ask_for_unknown_accounts, ask_where_answers_disagree)
"""What other answers are compared with: it takes no place in limits.transfers from them."""
ALL = (*IN_ORDER, *AT_ONCE, *SIDE_BY_SIDE, *WITH_STAND_INS, *IN_THE_END, *LAST)


@dataclass(frozen=True)
class RunTraffic:
    """Traffic of the selected tests; `world` is None if no sequences were sent."""

    traffic: Traffic
    generation: Generation
    world: World | None


SENT = pytest.StashKey[RunTraffic]()


def send(config: pytest.Config, session: Session, items: Sequence[pytest.Item]) -> RunTraffic:
    """Send everything that the tests judge; nothing where the preflight found the token refused. Whatever happens, no
    key is left that may be deleted."""
    client, profile = session.client, session.profile
    try:
        asked = [] if client.token_is_refused else items
        return send_all(config, client, profile, session.run.seed, asked, session.reproduction)
    finally:
        if profile.accounts and "register-keys" in profile.allow:
            Registrar(client, profile).clean_up_at_the_end()


def send_all(
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
        tried = credentials_of([seen for seen in traffic.log.targeted(name) if seen.credential != VALID])
        why = say("the service locks the caller out after wrong tokens (tried: {tried})", tried=tried)
        client.door.note(NoteAbout.CUT, why, name)
    return RunTraffic(traffic, generation, world)


# -- the run -------------------------------------------------------------------------------------------------------

_NEW_LINE = "\r\x1b[K"
"""Carriage return, and a line without text (ECMA-48, EL)."""


def check_target(session: Session) -> None:
    """Check the target once. A run whose target cannot be reached ends here."""
    run, foreign = session.run, session.display.foreign
    if unreachable := preflight(session.client):
        run.unreachable = foreign(unreachable)
        why = f"{run.base_url} cannot be reached: {unreachable}; this is no verdict on the service"
        pytest.exit(foreign(why), returncode=7)


def send_showing_progress(session: Session, tests: pytest.Session) -> None:
    """Send everything that the tests judge, and print how far it is."""
    terminal = tests.config.pluginmanager.get_plugin("terminalreporter")
    is_shown = terminal is not None and terminal.verbosity >= 0
    say_line = terminal.write_line if terminal and is_shown else lambda line: None
    progress = partial(_progress_of, session)
    say_line(OurLine(f"sending to {session.run.base_url}: {progress()}"))
    with _shown_again_and_again(sys.stdout, progress) if is_shown else nullcontext():
        tests.config.stash[SENT] = send(tests.config, session, tests.items)
    say_line(OurLine(f"judging {len(session.door.exchanges)} answers"))


def _progress_of(session: Session) -> str:
    return f"{len(session.door.exchanges)} of at most {session.profile.limits.requests} requests"


@contextmanager
def _shown_again_and_again(file: TextIO, line: Callable[[], str]) -> Iterator[None]:
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
        if in_place:
            _print(file, _NEW_LINE)


def _print(file: TextIO, text: str) -> None:
    with suppress(OSError):  # nobody looks any more
        file.write(text)
        file.flush()
