"""Verdicts of a run of recorded traffic, from the numbers of exchanges that conform and that deviate."""

from reports.recorded.counts import BROKEN, DEVIATION, EXCHANGES, HELD, RecordedCounts, RecordedExample, ShownDeviation
from reports.recorded.recorded_run import fill_run
from reports.result.run import Run
from reports.result.verdicts import Verdict
from spec.findings import finding
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.reports.outputs.page.test_rendering import exchange

EXISTS = "listAccounts.exists"


def verdict_of(requirement_id, code, *, held, broken):
    """The verdict on a requirement if `held` recorded exchanges conform to it and `broken` exchanges do not.

    An exchange that does not conform has a finding with this code, such as "missing". `counts.times` has numbers of
    exchanges by what was counted: EXCHANGES are all, HELD those that conform, BROKEN those that deviate, and DEVIATION
    those that deviate with this finding.
    """
    counts = RecordedCounts()
    counts.times[EXCHANGES] = held + broken
    counts.times[HELD, requirement_id] = held
    counts.times[BROKEN, requirement_id] = broken
    deviation = (DEVIATION, requirement_id, code)
    counts.times[deviation] = broken
    shown_deviation = ShownDeviation(finding(code, status=404), exchange(1))
    counts.examples[deviation] = [RecordedExample("traffic.har", 1, deviation=shown_deviation)]
    run = Run(SANDBOX_PROFILE, "http://bank.example")
    fill_run(run, counts)
    verdict_by_id = {result.id: result.verdict for result in run.results}
    return verdict_by_id[requirement_id]


def test_an_endpoint_exists_if_one_recorded_answer_shows_it():
    """The requirement that an endpoint exists passes if one recorded answer shows it, even if another answer denies it.

    An answer with 405 or 501 beside it may come from another release or from a gateway.
    """
    verdict_of_both = verdict_of(EXISTS, "no-endpoint", held=1, broken=1)
    verdict_of_a_denial_alone = verdict_of(EXISTS, "no-endpoint", held=0, broken=1)

    assert (verdict_of_both, verdict_of_a_denial_alone) == (Verdict.PASS, Verdict.FAIL)


def test_a_field_that_one_of_many_answers_lacks_is_missing():
    """If one of 1,000 recorded answers lacks a documented field, the requirement of the field fails."""
    verdict = verdict_of("executePix.digit.present", "missing", held=999, broken=1)

    assert verdict == Verdict.FAIL
