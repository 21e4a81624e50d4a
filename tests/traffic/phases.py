"""All that a run sends, phase after phase, before the first test judges.

1. Preflight: `tests/harness/controller.py`.
2. Alone and in order: the keys, then the money, then sequences of both.
3. Together: all that names nobody, or only reads.
4. Side by side on purpose. Wrong tokens, two registrations and two executions go so within phase 2.
5. Alone: what the answers leave open, and what may have changed since. Then the generated requests, together.
6. Clean up.

What deviates is sent once more, alone, by the door itself: `environments/door/company.py`, `tests/harness/reproduction.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from environments.door.client import Client
from environments.profiles.gaps import NO_ACCOUNT
from environments.profiles.profile import Profile
from tests.harness.judging import NotExercised
from tests.harness.reproduction import Reproduction
from tests.harness.selection import requirements, uses
from tests.harness.session import Session
from tests.harness.watcher import in_scope
from tests.traffic.collecting import Findings
from tests.traffic.execution import execute
from tests.traffic.existence import find_out, order, read, read_again
from tests.traffic.property import FUZZING, REGISTER, Generation
from tests.traffic.reach import Reach, reach_of
from tests.traffic.registrar import Registrar
from tests.traffic.registration import register, register_incomplete
from tests.traffic.robustness import ask_without_the_token, delete_synthetic_keys, read_beside_refusals, send_invalid
from tests.traffic.scenario import Scenario, Traffic
from tests.traffic.settings import GenerationSettings, settings_of
from tests.traffic.stateful import World

SEQUENCES = "sequences"
IN_ORDER: tuple[Scenario[Any], ...] = (register, execute, order)
"""The keys, then the money."""
AT_ONCE: tuple[Scenario[Any], ...] = (read, send_invalid, ask_without_the_token)
SIDE_BY_SIDE: tuple[Scenario[Any], ...] = (read_beside_refusals,)
IN_THE_END: tuple[Scenario[Any], ...] = (register_incomplete, find_out, read_again)
"""What needs the other answers: they are compared, leave a question open, or have changed since."""


@dataclass(frozen=True)
class RunTraffic:
    """What was sent for the selected tests; `world` is None where nothing in sequences was."""

    traffic: Traffic
    generation: Generation
    world: World | None


def send(config: pytest.Config, session: Session, items: Sequence[pytest.Item]) -> RunTraffic:
    """Send everything that the tests judge. Whatever happens, no key is left that may be deleted."""
    try:
        settings = settings_of(config, session.profile, seed=session.seed)
        return send_all(session.client, session.profile, settings, items, session.collector.reproduction)
    finally:
        _clean_up(session)


def send_all(
    client: Client,
    profile: Profile,
    settings: GenerationSettings,
    items: Sequence[pytest.Item],
    reproduction: Reproduction,
) -> RunTraffic:
    """Send everything that the tests judge through this client."""
    items = in_scope(items, profile)
    traffic = Traffic(client, profile, reach_of(requirements(items, "traffic"), profile))
    generation = Generation(client, profile, settings, reproduction, traffic.reach.surveyed)
    in_sequences = reach_of(requirements(items, "traffic", "world"), profile)
    follows = any(uses(item, "world") for item in items) and profile.accounts
    world = _world(client, profile, in_sequences, reproduction) if follows else None
    _draw(generation, items, steps=world is not None)
    traffic.send(IN_ORDER)
    generation.register()
    if world is not None:  # last, as a transfer that is executed twice gets the room that is left
        world.follow(generation.steps)
    traffic.send(AT_ONCE)
    traffic.send(SIDE_BY_SIDE)
    traffic.send(IN_THE_END)
    generation.send(traffic.together)
    delete_synthetic_keys(traffic)
    return RunTraffic(traffic, generation, world)


def _draw(generation: Generation, items: Sequence[pytest.Item], *, steps: bool) -> None:
    """Draw everything before the first request, in the only thread: CPython 3.11 fails where two parse Python at once
    (SystemError: AST constructor recursion depth mismatch)."""
    generated = [item.callspec.params for item in items if uses(item, "generation")]  # type: ignore[attr-defined]
    for params in sorted(generated, key=lambda params: params["phase"] == FUZZING):
        generation.draw(params["operation"], params["phase"])
    if steps:
        generation.draw_steps()


def _world(client: Client, profile: Profile, reach: Reach, reproduction: Reproduction) -> World:
    client = client.of_part(SEQUENCES)
    registrar = Registrar(client, profile) if REGISTER in reach.operations else None
    findings = Findings(client.door, reproduction, SEQUENCES)
    return World(client, profile, registrar, findings, reach)


def _clean_up(session: Session) -> None:
    """Leave no key that may be deleted."""
    if session.profile.accounts and "register-keys" in session.profile.allow:
        Registrar(session.client, session.profile).clean_up()


def world_of(sent: RunTraffic) -> World:
    """What the sequences showed. Raises NotExercised where there is no account for them."""
    if sent.world is None:
        raise NotExercised(NO_ACCOUNT)
    return sent.world
