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
    not_exercised_unless(sequences.executed_twice, _NEEDS_A_SANDBOX)

    observe(
        "executePix.repeated",
        {"the answer": sequences.executed_twice.answers},
        [sequences.executed_twice.first, sequences.executed_twice.second],
    )
    observe(
        "executePix.repeated",
        {"the balance": sequences.executed_twice.balances},
        first=sequences.executed_twice.moves_money_twice,
    )


@requirement("executePix.status")
def test_shapes_hold_around_executions(sequences: DrawnSequences, session: Session):
    """Every described answer keeps status, envelope and fields before and after executions, and a key stays listed."""
    out_of_scope_unless(session.profile.is_sandbox, _NEEDS_A_SANDBOX)
    not_exercised_unless(
        sequences.findings_with_transfers.cases_with_answers,
        sequences.findings_with_transfers.why_incomplete or _NEEDS_A_SANDBOX,
    )

    warn("listPixKeys.exists", finding("lost-by-execution"), sequences.executions_losing_a_key)
    assert_requirements(
        "executePix.status", sequences.findings_with_transfers.results(session.run.seed, session.profile.fail_on)
    )


@requirement("registerPixKey.status")
def test_shapes_hold_in_any_order(sequences: DrawnSequences, run_traffic: RunTraffic, session: Session):
    """Every answer of a described operation has its status, envelope and fields, in any order of requests."""
    not_exercised_unless(
        sequences.findings_without_transfers.cases_with_answers,
        sequences.findings_without_transfers.why_incomplete or "nothing was sent",
    )

    results = sequences.findings_without_transfers.results(session.run.seed, session.profile.fail_on)
    assert_requirements(
        "registerPixKey.status", with_untested_out_of_scope(results, run_traffic.traffic.log, session.profile)
    )
