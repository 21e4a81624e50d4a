"""Sequences of operations: described answers keep their shape in any order. And a second execution of a code.

A sequence is some operations in a drawn order, such as: register a key, list the keys, delete the key.

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
    out_of_scope_unless,
    report_observation,
    requirement,
    warn,
)
from tests.harness.session import Session
from tests.traffic.phases import RunTraffic
from tests.traffic.robustness import results_with_untested_out_of_scope
from tests.traffic.stateful import DrawnSequences

pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz")]
_NEEDS_A_SANDBOX_AND_PREPARED_TRANSFERS = say(
    "not tried: needs a sandbox, transactions.prepare, and room in limits.executions"
)
"""Reason to skip a test of sequences with executions: each of these three may be missing."""


@pytest.fixture(scope="session")
def sequences(run_traffic: RunTraffic) -> DrawnSequences | None:
    """The answers to sequences of operations (operations in a drawn order), and their deviations from requirements.

    A test is skipped if no sequence was sent. The reason is then that the profile names no account.
    """
    not_exercised_unless(run_traffic.sequences, NO_ACCOUNT)
    return run_traffic.sequences


@requirement("executePix.repeated")
def test_second_execution(sequences: DrawnSequences):
    """The report says how the second execution of a transaction code is answered, and whether money moves again.

    A code is executed twice on a sandbox only (a test service without real money).
    """
    twice = sequences.executed_twice  # two executions of one code, with the balances before and after
    not_exercised_unless(twice, _NEEDS_A_SANDBOX_AND_PREPARED_TRANSFERS)

    report_observation("executePix.repeated", {"the answer": twice.answers}, [twice.first, twice.second])
    # If money moved twice, this observation is the first one in the report, because a bank loses money then.
    report_observation("executePix.repeated", {"the balance": twice.balances}, may_cost_money=twice.moves_money_twice)


@requirement("executePix.status")
def test_shapes_hold_around_executions(sequences: DrawnSequences, session: Session):
    """Every described answer has its status, envelope and fields before and after executions, and a key stays listed.

    A key that is missing from the list after an execution is a warning only, because the document does not mention it.
    """
    judged_answers = sequences.answers_with_transfers
    out_of_scope_unless(session.profile.is_sandbox, _NEEDS_A_SANDBOX_AND_PREPARED_TRANSFERS)
    # On a sandbox they are missing if a limit was reached, or if the profile prepares no transfers.
    not_exercised_unless(
        judged_answers.cases_with_answers, judged_answers.why_incomplete or _NEEDS_A_SANDBOX_AND_PREPARED_TRANSFERS
    )

    warn("listPixKeys.exists", finding("lost-by-execution"), sequences.executions_after_which_a_key_is_missing)
    # Also results for requirements of the other operations in the sequences, such as "deletePixKey.status".
    results = judged_answers.results(session.run.seed, session.profile.fail_on)
    assert_requirements("executePix.status", results)


@requirement("registerPixKey.status")
def test_shapes_hold_in_any_order(sequences: DrawnSequences, run_traffic: RunTraffic, session: Session):
    """Every answer of a described operation has its status, envelope and fields, in whatever order requests are sent.

    Judges the sequences that register, delete and list keys, but transfer no money.
    """
    judged_answers = sequences.answers_without_transfers
    not_exercised_unless(judged_answers.cases_with_answers, judged_answers.why_incomplete or "nothing was sent")

    # Also results for requirements of the other operations in the sequences, such as "deletePixKey.status". A
    # requirement of robustness must not pass if all invalid requests were refused because their account is made up.
    results = judged_answers.results(session.run.seed, session.profile.fail_on)
    assert_requirements(
        "registerPixKey.status", results_with_untested_out_of_scope(results, run_traffic.traffic.log, session.profile)
    )
