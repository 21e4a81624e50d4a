"""Execution of a prepared transfer: GET /v1/execute/pix/{transactionId}.

Self-tests: promises/test_money.py.
"""

from __future__ import annotations

import pytest

from environments.profiles.loading import NO_CODE
from spec.answers import answers_in_words, grants_protected_result
from spec.exchange import Exchange
from spec.log import Log
from spec.message import say
from tests.harness.judging import (
    assert_holds,
    assert_judgement,
    not_exercised_unless,
    remark,
    report_observation,
    requirement,
    requirements_named,
    rules_of,
)
from tests.traffic.judgements import (
    documented_execution_is_enough,
    executions_to_compare_with,
    holds_in_one_answer,
    no_refused_execution_shows_done,
    token_is_accepted,
    token_is_accepted_as_bearer_only,
    token_is_required,
    value_is_of_no_other_request,
    value_is_the_prepared_amount,
)
from tests.traffic.money.executions import (
    Execution,
    answers_to_real_codes,
    later_executions,
    perhaps_spent_by_wrong_tokens,
    repeated_executions,
)
from tests.traffic.observations import observation_of
from tests.traffic.refused_credentials import remedy_for_spent_codes
from tests.traffic.scenario import Traffic
from tests.traffic.trust.asking import tried_with_stand_ins_in_words
from tests.traffic.trust.let_in import requests_let_in_by_finding, results_without_valid_token

JUDGED_BY_A_PHONE_KEY = "type.example"
"""End of the id of a requirement that is judged separately: only a transfer to a PHONE key can show the example."""
_PERHAPS_SPENT = say("a code was perhaps spent by a wrong token: {remedy}")
FIELDS_OBSERVED_IN_RESULTS = requirements_named(
    "executePix.status.values", "executePix.date.unit", "executePix.accountType.meaning"
)


@pytest.fixture(scope="session")
def log_with_executions(log: Log, traffic: Traffic) -> Log:
    """All requests of this run with their answers (`log`), for a test that needs executions of a real transaction code.

    The test is skipped, with a reason, if the run had no real code: none in the profile, and none that it prepared.
    """
    # The scenario of executions sends a made-up code first. If it is missing, the scenario was not sent.
    was_scenario_sent = log.of("executePix", Execution.UNKNOWN_CODE)
    not_exercised_unless(was_scenario_sent, NO_CODE)
    why_nothing_was_sent = traffic.why_not_sent.get("executePix", "")  # empty if real codes were sent
    was_something_sent = not why_nothing_was_sent
    not_exercised_unless(was_something_sent, why_nothing_was_sent)
    return log


@pytest.fixture(scope="session")
def execution_answers(log_with_executions: Log) -> list[Exchange]:
    """All answers whose execution result must be as documented, if they have one.

    They are the answers to valid executions, the results that were granted without a valid token, and the results of
    codes that were executed a second time. If no valid execution succeeded, those of drawn sequences count, too.
    """
    executions = answers_to_real_codes(log_with_executions)
    # These executions have a body, more headers and a query. The run sends them if the service seems to need more than
    # is documented.
    with_extra_parts = log_with_executions.of("executePix", Execution.PREPARED_WITH_EXTRA_PARTS)
    # `sent` leaves out requests that a limit of the run kept back, and `of` does not.
    without_valid_token = log_with_executions.sent("executePix", Execution.UNAUTHORIZED_BEFORE_EXECUTION)
    results_without_valid_token = filter(grants_protected_result, without_valid_token)
    later = later_executions(log_with_executions)
    repeated = repeated_executions(log_with_executions)
    return [*executions, *with_extra_parts, *results_without_valid_token, *repeated, *later]


@pytest.mark.parametrize("requirement_id", rules_of("executePix", but=[JUDGED_BY_A_PHONE_KEY, "id.matches", "status"]))
def test_statement_holds_in_every_answer(requirement_id, execution_answers):
    """Status, JSON, envelope and every field of the execution result are as documented.

    Each requirement is a test of its own. Those that are left out here (`but`) have other tests, because one answer
    alone does not show whether they are met.
    """
    assert_holds(requirement_id, execution_answers)


@requirement("executePix.status")
def test_an_execution_is_answered_with_200(log_with_executions, execution_answers):
    """A successful execution has status 200, and an answer that refuses an execution does not show it as DONE.

    DONE means that the transfer was executed, so such an answer would contradict itself.
    """
    assert_judgement("executePix.status", no_refused_execution_shows_done(log_with_executions))
    assert_holds("executePix.status", execution_answers)


@requirement("executePix.id.matches")
def test_a_result_is_of_the_code_that_was_sent(execution_answers):
    """The id in a result is the transaction code of its own request, and not the code of another execution."""
    codes = {exchange: exchange.request.last_segment for exchange in execution_answers}  # the code ends the path

    assert_judgement("executePix.id.matches", value_is_of_no_other_request("executePix.id.matches", codes))
    assert_holds("executePix.id.matches", execution_answers)


@requirement("executePix.value.matches")
def test_the_amount_that_was_prepared_comes_back(log_with_executions):
    """The value in a result is the amount that the run sent when it prepared the transfer."""
    assert_judgement("executePix.value.matches", value_is_the_prepared_amount(log_with_executions))


@requirement("executePix.type.example")
def test_one_result_has_the_documented_type(execution_answers):
    """At least one execution result has the type that the interface document shows (PHONE).

    One is enough, because the type depends on the transfer: it is the kind of the key that the payee uses.
    """
    assert_judgement("executePix.type.example", holds_in_one_answer("executePix.type.example", execution_answers))


@requirement("executePix.token.required")
def test_without_a_valid_token_nothing_is_executed(log_with_executions, traffic):
    """A request without a valid token does not get an execution result.

    The run asks without a valid token for real codes, before and after their execution, and for made-up codes.
    """
    before_execution = log_with_executions.sent("executePix", Execution.UNAUTHORIZED_BEFORE_EXECUTION)
    # A result after the execution may come from a cache of the service, and moves no money again. So it has a finding
    # of its own ("answered-again") instead of "executed".
    after_execution = log_with_executions.sent("executePix", Execution.UNAUTHORIZED_AFTER_EXECUTION)
    results_for_made_up_codes = results_without_valid_token(log_with_executions, "executePix")
    valid_successes = executions_to_compare_with(log_with_executions, before_execution)
    results_after_execution = list(filter(grants_protected_result, after_execution))
    # Pairs: the code of a finding, and the requests that show it. A request was let in if it was answered as if it had
    # the valid token.
    deviations = (
        ("answered-again", results_after_execution),
        *requests_let_in_by_finding(log_with_executions, "executePix"),
    )
    without_token = [*before_execution, *results_for_made_up_codes]
    code_of_finding = "executed"  # for all requests that got a result and are in no pair
    judgement = token_is_required(without_token, valid_successes, code_of_finding, *deviations)
    not_exercised_unless([*before_execution, *after_execution], "no request without a valid token was sent")
    # A wrong token that spent a code may have executed its transfer, although its answer was a refusal.
    are_codes_unspent = not perhaps_spent_by_wrong_tokens(log_with_executions)
    perhaps_spent = _PERHAPS_SPENT.with_values(remedy=remedy_for_spent_codes(traffic.profile))
    not_exercised_unless(judgement.deviates or are_codes_unspent, perhaps_spent)
    # For the report: which wrong tokens were tried, and which stand-ins (headers that some services trust instead).
    credentials_tried = tried_with_stand_ins_in_words("executePix", [*before_execution, *after_execution], traffic)
    remark("executePix.token.required", credentials_tried)

    assert_judgement("executePix.token.required", judgement)


@requirement("executePix.token.accepted")
def test_a_valid_token_is_accepted(traffic, execution_answers):
    """A valid access token is accepted for an execution."""
    assert_judgement("executePix.token.accepted", token_is_accepted(traffic, "executePix", execution_answers))


@requirement("executePix.token.scheme")
@pytest.mark.needs("fuzz")
def test_the_token_is_accepted_as_a_bearer_only(log):
    """The valid token is refused without the word Bearer before it, and under another scheme such as Basic.

    Only invalid requests show it. The profile permits them with `fuzz`.
    """
    assert_judgement("executePix.token.scheme", token_is_accepted_as_bearer_only(log))


@requirement("executePix.request.sufficient")
def test_an_execution_needs_no_more_than_the_token(log_with_executions, traffic):
    """An execution needs only what is documented: it is accepted without a query, a body and further headers."""
    prepare = traffic.profile.transactions.prepare  # how the run prepares transfers; None if it prepares none

    assert_judgement("executePix.request.sufficient", documented_execution_is_enough(log_with_executions, prepare))


@requirement("executePix.unknownCode")
def test_unknown_code(log):
    """The report says how a transaction code that does not exist is answered."""
    answers = log.of("executePix", Execution.UNKNOWN_CODE)
    not_exercised_unless(answers, "not reached")
    observation = observation_of("executePix.unknownCode", log)
    # An answer such as a server error is no observation, because the same request may soon get a different answer.
    not_exercised_unless(observation.values, say("answered only with {answer}", answer=answers_in_words(answers)))

    report_observation("executePix.unknownCode", observation.values, observation.exchanges)


@pytest.mark.parametrize("requirement_id", FIELDS_OBSERVED_IN_RESULTS)
def test_observed_values_of_result_fields(requirement_id, log_with_executions):
    """The report says which values an undescribed field of execution results has.

    The fields are status and accountType, and date, whose unit is observed (seconds or milliseconds).
    """
    observation = observation_of(requirement_id, log_with_executions)
    not_exercised_unless(observation.values, "no execution result has a value that shows it")

    report_observation(requirement_id, observation.values, observation.exchanges)


@requirement("executePix.status.transitions")
def test_status_before_the_execution(log):
    """The report says which status the answer to a preparation has, before the transfer is executed."""
    observation = observation_of("executePix.status.transitions", log)
    why_none = say("no transfer was prepared: needs a body in transactions.prepare that is accepted")
    not_exercised_unless(observation.values, why_none)

    report_observation("executePix.status.transitions", observation.values, observation.exchanges)
