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
    not_exercised_unless,
    observe,
    out_of_scope_unless,
    requirement,
    warn,
)
from tests.harness.session import Session
from tests.traffic.phases import RunTraffic
from tests.traffic.robustness import with_untested_out_of_scope
from tests.traffic.stateful import DrawnSequences

pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz")]
_NEEDS_A_SANDBOX = say("not tried: needs a sandbox, transactions.prepare, and room in limits.executions")


@pytest.fixture(scope="session")
def sequences(run_traffic: RunTraffic) -> DrawnSequences | None:
    """The answers to the sequences of operations, and their findings. A test is skipped if none were sent."""
    not_exercised_unless(run_traffic.sequences, NO_ACCOUNT)
    return run_traffic.sequences


@requirement("executePix.repeated")
def test_second_execution(sequences: DrawnSequences):
    """The report says how a code is answered that was executed before, and whether money moves a second time."""
    not_exercised_unless(sequences.twice, _NEEDS_A_SANDBOX)

    observe(
        "executePix.repeated", {"the answer": sequences.twice.answers}, [sequences.twice.first, sequences.twice.second]
    )
    observe("executePix.repeated", {"the balance": sequences.twice.balances}, first=sequences.twice.moves_money_twice)


@requirement("executePix.status")
def test_shapes_hold_around_executions(sequences: DrawnSequences, session: Session):
    """Every described answer keeps status, envelope and fields before and after executions, and a key stays listed."""
    out_of_scope_unless(session.profile.is_sandbox, _NEEDS_A_SANDBOX)
    not_exercised_unless(sequences.of_transfers.taken, sequences.of_transfers.cut or _NEEDS_A_SANDBOX)

    warn("listPixKeys.exists", finding("lost-by-execution"), sequences.losing_keys)
    assert_requirements("executePix.status", sequences.of_transfers.results(session.run.seed, session.profile.fail_on))


@requirement("registerPixKey.status")
def test_shapes_hold_in_any_order(sequences: DrawnSequences, run_traffic: RunTraffic, session: Session):
    """Every answer of a described operation has its status, envelope and fields, in any order of requests."""
    not_exercised_unless(sequences.of_keys.taken, sequences.of_keys.cut or "nothing was sent")

    results = sequences.of_keys.results(session.run.seed, session.profile.fail_on)
    assert_requirements(
        "registerPixKey.status", with_untested_out_of_scope(results, run_traffic.traffic.log, session.profile)
    )
