"""Sequences of operations: what is described keeps its shape in any order, and what is not shown is observed."""

from __future__ import annotations

import pytest

from spec.message import joined, say
from tests.harness.judging import assert_requirements, observe, requirement, supplied
from tests.harness.session import Session
from tests.traffic.answered import by_situation
from tests.traffic.stateful import World

_NOT_FOLLOWED = say("no transfer was executed between two readings of a balance")
pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz")]


@requirement("executePix.repeated")
def test_second_execution(world: World):
    """A code that was executed is answered in this way when it is sent again, and money moves again or not."""
    supplied(world.twice, "not tried: supply transactions.prepare and room in limits.executions; only on loopback")

    observe({"the answer": world.twice.answers}, world.twice.first, world.twice.second)
    observe({"the balance": world.twice.balances}, first=world.twice.moves_money_twice)


@requirement("listPixKeys.shape")
def test_keys_come_and_go(world: World):
    """A registered key is listed or not, and a deleted one is gone or not."""
    left_out = world.reach.left_out("registerPixKey")
    supplied(world.listings, joined((say("no key was registered and listed"), left_out)))

    observe(by_situation(world.listings), *world.listings.values())


@requirement("getBalance.shape")
def test_balance_follows(world: World):
    """The balance follows an execution, or does not."""
    left_out = world.reach.left_out("executePix")
    supplied(world.followed, joined((_NOT_FOLLOWED, left_out)))

    observe(by_situation(world.followed), *world.followed.values())


@requirement("registerPixKey.status")
def test_shapes_hold_in_any_order(world: World, session: Session):
    """Every described answer keeps status, envelope and fields, whatever came before it."""
    supplied(world.findings.numbers, world.findings.cut or "nothing was sent")

    assert_requirements(world.findings.results(session.seed, session.profile.fail_on), judged=())
