"""Sequences of operations: what is described keeps its shape in any order, and what is not shown is observed."""

from __future__ import annotations

import pytest

from environments.profiles.profile import Profile
from tests.harness.judging import NotExercised, observe, requirement
from tests.harness.recorder import assert_requirements
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.generation.world import World

pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz"), pytest.mark.xdist_group("targeted")]


@requirement("executePix.repeated")
def test_second_execution(world: World):
    """Whether a code that was executed can be executed again, and whether money moves again."""
    if world.twice is None:
        raise NotExercised("not tried: supply transactions.prepare and room in limits.executions; only on loopback")
    observe(world.twice.message, *world.twice.exchanges, first=world.twice.holds)


@requirement("listPixKeys.shape")
def test_keys_come_and_go(world: World):
    """Whether a registered key is listed, and whether a deleted one is gone."""
    if not world.listings:
        raise NotExercised(f"no key was registered and listed{world.reach.left_out('registerPixKey')}")
    observe("; ".join(sorted(world.listings)), *world.listings.values())


@requirement("getBalance.shape")
def test_balance_follows(world: World):
    """Whether the balance follows an execution."""
    if not world.followed:
        raise NotExercised(
            f"no transfer was executed between two readings of a balance{world.reach.left_out('executePix')}"
        )
    observe(f"the balance {' and '.join(sorted(world.followed))} an execution", *world.followed.values())


@requirement("registerPixKey.status")
def test_shapes_hold_in_any_order(world: World, profile: Profile, generation_settings: GenerationSettings):
    """Every described answer keeps status, envelope and fields, whatever came before it."""
    if not world.findings.numbers:
        raise NotExercised(world.findings.cut or "nothing was sent")

    assert_requirements(world.findings.results(generation_settings.seed, profile.fail_on), judged=())
