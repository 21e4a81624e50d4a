"""All that a run sends, phase after phase, before the first test judges.

1. Preflight: `tests/harness/controller.py`.
2. Alone and in order: the keys, then the money, then sequences of both.
3. Together: all that names nobody, or only reads.
4. Side by side on purpose. Wrong tokens, two registrations and two executions go so within phase 2.
5. Once more and alone: what deviates, or was refused beside others (`once_more.py`). Then what the answers leave open,
   and what may have changed since; the generated requests, together; and of these, once more, what deviates.
6. Clean up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from environments.door.client import Client
from environments.profiles.loading import NO_ACCOUNT
from environments.profiles.model import Profile
from spec.interface import operations
from spec.reproduction import Reproduction
from tests.harness.judging import NotExercised
from tests.harness.selection import ids_tested, uses
from tests.harness.session import Session
from tests.harness.watcher import in_scope
from tests.traffic.collecting import Findings
from tests.traffic.execution import execute
from tests.traffic.existence import find_out
from tests.traffic.once_more import OnceMore
from tests.traffic.property import Generation
from tests.traffic.reach import Reach, reach_of
from tests.traffic.registrar import Registrar
from tests.traffic.registration import register
from tests.traffic.robustness import ask_without_the_token, delete_synthetic_keys, read_beside_refusals, send_invalid
from tests.traffic.scenario import Scenario, Traffic
from tests.traffic.settings import GenerationSettings, settings_of
from tests.traffic.stateful import World
from tests.traffic.undescribed import order, read, read_again

SEQUENCES = "sequences"
IN_ORDER: tuple[Scenario[Any], ...] = (register, execute, order)
"""The keys, then the money."""
AT_ONCE: tuple[Scenario[Any], ...] = (read, send_invalid, ask_without_the_token)
SIDE_BY_SIDE: tuple[Scenario[Any], ...] = (read_beside_refusals,)
IN_THE_END: tuple[Scenario[Any], ...] = (find_out, read_again)
"""What needs the other answers: they leave a question open, or have changed since."""


@dataclass(frozen=True)
class RunTraffic:
    """What was sent for the selected tests; `world` is None where nothing in sequences was."""

    traffic: Traffic
    generation: Generation
    world: World | None


def scenarios_of(requirement_id: str) -> list[str]:
    """Names of what is sent for a requirement."""
    operation, _, what = requirement_id.partition(".")
    ids = (
        [requirement_id]
        if operation in operations()
        else [requirement_id, *(f"{name}.{what}" for name in operations())]
    )
    chosen = [one for one in (*IN_ORDER, *AT_ONCE, *SIDE_BY_SIDE, *IN_THE_END) if any(map(one.is_for, ids))]
    return [one.name for one in chosen]


def send(config: pytest.Config, session: Session, items: Sequence[pytest.Item]) -> RunTraffic:
    """Send everything that the tests judge. Whatever happens, no key is left that may be deleted."""
    try:
        settings = settings_of(config, session.profile, seed=session.run.seed)
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
    traffic = Traffic(client, profile, reach_of(ids_tested(items, "traffic"), profile), reproduction)
    once_more = OnceMore(client.door, reproduction)
    surveyed = traffic.reach.subjects if traffic.selects(send_invalid) else frozenset()
    generation = Generation(client, profile, settings, reproduction, surveyed)
    in_sequences = reach_of(ids_tested(items, "traffic", "world"), profile)
    follows = any(uses(item, "world") for item in items) and profile.accounts
    world = _world(client, profile, in_sequences, reproduction) if follows else None
    for item in items:
        if uses(item, "generation"):
            generation.draw(item.callspec.params["operation"])  # type: ignore[attr-defined]
    traffic.send(IN_ORDER)
    if world is not None:  # last, as a transfer that is executed twice gets the room that is left
        world.follow(settings)
    traffic.send(AT_ONCE)
    traffic.send(SIDE_BY_SIDE)
    once_more.send()
    traffic.take_over()
    traffic.send(IN_THE_END)
    generation.send(traffic.together)
    once_more.send()
    delete_synthetic_keys(client, profile)
    return RunTraffic(traffic, generation, world)


def _world(client: Client, profile: Profile, reach: Reach, reproduction: Reproduction) -> World:
    client = client.of_part(SEQUENCES)
    findings = Findings(client.door, reproduction, SEQUENCES)
    return World(client, profile, Registrar(client, profile), findings, reach)


def _clean_up(session: Session) -> None:
    """Leave no key that may be deleted."""
    if session.profile.accounts and "register-keys" in session.profile.allow:
        Registrar(session.client, session.profile).clean_up()


def world_of(sent: RunTraffic) -> World:
    """What the sequences showed. Raises NotExercised where there is no account for them."""
    if sent.world is None:
        raise NotExercised(NO_ACCOUNT)
    return sent.world
