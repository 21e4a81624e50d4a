"""The run that recorded traffic makes: which requirements one answer settles."""

from reports.recorded.recorded_run import fill_run
from reports.recorded.tally import BROKEN, DEVIATION, EXCHANGES, HELD, RecordedExample, ShownDeviation, Tally
from reports.result.run import Run
from reports.result.verdicts import Verdict
from spec.findings import finding
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.reports.outputs.page.test_rendering import exchange

EXISTS = "listAccounts.exists"


def verdict_of(requirement_id, code, *, held, broken):
    """The verdict after `held` recorded exchanges that conform and `broken` ones with a finding of this code."""
    tally = Tally()
    tally.times.update({(EXCHANGES,): held + broken, (HELD, requirement_id): held, (BROKEN, requirement_id): broken})
    key = (DEVIATION, requirement_id, code)
    tally.times[key] = broken
    tally.examples[key] = [
        RecordedExample("traffic.har", 1, deviation=ShownDeviation(finding(code, status=404), exchange(1)))
    ]
    run = Run(SANDBOX_PROFILE, "http://bank.example")
    fill_run(run, tally)
    return {result.id: result.verdict for result in run.results}[requirement_id]


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
