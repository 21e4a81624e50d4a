"""Sequences of operations: described answers keep their shape in any order. And a second execution of a code.

Self-tests: promises/test_generated_traffic.py.
"""

from __future__ import annotations

import pytest

from environments.profiles.loading import NO_ACCOUNT
from spec.findings import finding
from spec.message import say
from tests.harness.judging import (
    assert_requirements,
    observe,
    require_permission,
    require_supplied,
    requirement,
    warn,
)
from tests.harness.session import Session
from tests.traffic.phases import RunTraffic
from tests.traffic.robustness import with_untested_out_of_scope
from tests.traffic.stateful import World

pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz")]
_NEEDS_A_SANDBOX = say("not tried: needs a sandbox, transactions.prepare, and room in limits.executions")


@pytest.fixture(scope="session")
def world(run_traffic: RunTraffic) -> World | None:
    """The answers to the sequences of operations, and their findings."""
    require_supplied(run_traffic.world, NO_ACCOUNT)
    return run_traffic.world


@requirement("executePix.repeated")
def test_second_execution(world: World):
    """A second request with an executed code is answered in this way, and moves money a second time or not."""
    require_supplied(world.twice, _NEEDS_A_SANDBOX)

    observe("executePix.repeated", {"the answer": world.twice.answers}, [world.twice.first, world.twice.second])
    observe("executePix.repeated", {"the balance": world.twice.balances}, first=world.twice.moves_money_twice)


@requirement("executePix.status")
def test_shapes_hold_around_executions(world: World, session: Session):
    """Every described answer keeps status, envelope and fields before and after executions, and a key stays listed."""
    require_permission(session.profile.is_sandbox, _NEEDS_A_SANDBOX)
    require_supplied(world.of_transfers.taken, world.of_transfers.cut or _NEEDS_A_SANDBOX)

    warn("listPixKeys.exists", finding("lost-by-execution"), world.losing_keys)
    assert_requirements("executePix.status", world.of_transfers.results(session.run.seed, session.profile.fail_on))


@requirement("registerPixKey.status")
def test_shapes_hold_in_any_order(world: World, run_traffic: RunTraffic, session: Session):
    """Every described answer keeps status, envelope and fields, whatever came before it."""
    require_supplied(world.of_keys.taken, world.of_keys.cut or "nothing was sent")

    results = world.of_keys.results(session.run.seed, session.profile.fail_on)
    assert_requirements(
        "registerPixKey.status", with_untested_out_of_scope(results, run_traffic.traffic.log, session.profile)
    )
