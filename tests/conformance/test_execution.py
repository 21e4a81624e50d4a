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
    assert_found,
    assert_holds,
    named,
    observe,
    remark,
    require_supplied,
    requirement,
    rules_of,
)
from tests.traffic.judgements import (
    documented_execution_is_enough,
    holds_in_one_answer,
    no_refusal_was_executed,
    token_is_accepted,
    token_is_accepted_as_bearer_only,
    token_is_required,
    value_is_of_no_other_request,
    value_is_the_prepared_amount,
)
from tests.traffic.money.executions import (
    Execution,
    answers_to_real_codes,
    perhaps_spent,
    repeated_executions,
    successful_executions,
)
from tests.traffic.observations import observed
from tests.traffic.scenario import Traffic
from tests.traffic.trust.asking import tried_with_stand_ins_in_words
from tests.traffic.trust.let_in import granted_to_anybody, let_in

JUDGED_BY_A_PHONE_KEY = "type.example"
"""End of the id of a requirement that is judged separately: only a transfer to a PHONE key can show the example."""
_PERHAPS_SPENT = say(
    "a code was perhaps spent by a wrong token: supply more codes, set transactions.prepare, or lower "
    "limits.wrong_tokens"
)
SEEN_IN_RESULTS = named("executePix.status.values", "executePix.date.unit", "executePix.accountType.meaning")


@pytest.fixture(scope="session")
def executions_log(log: Log, traffic: Traffic) -> Log:
    """The log of a run that had a real code to send. In another run the test cannot judge, and is skipped."""
    require_supplied(log.of("executePix", Execution.UNKNOWN_CODE), NO_CODE)
    why_nothing_was_sent = traffic.missing.get("executePix", "")
    require_supplied(not why_nothing_was_sent, why_nothing_was_sent)
    return log


@pytest.fixture(scope="session")
def execution_answers(executions_log: Log) -> list[Exchange]:
    """The answers to valid executions, the results that were given without a valid token, and repeated results."""
    executions = answers_to_real_codes(executions_log)
    with_more = executions_log.of("executePix", Execution.PREPARED_WITH_MORE)
    offers = executions_log.sent("executePix", Execution.OFFERED)  # real codes without the valid token
    granted_offers = filter(grants_protected_result, offers)
    return [*executions, *with_more, *granted_offers, *repeated_executions(executions_log)]


@pytest.mark.parametrize("requirement_id", rules_of("executePix", but=[JUDGED_BY_A_PHONE_KEY, "id.matches", "status"]))
def test_statement_holds_in_every_answer(requirement_id, execution_answers):
    """Status, JSON, envelope and every field of the execution result are as documented."""
    assert_holds(requirement_id, execution_answers)


@requirement("executePix.status")
def test_an_execution_is_answered_with_200(executions_log, execution_answers):
    """A successful execution has status 200, and a refused transfer is not executed."""
    assert_found("executePix.status", no_refusal_was_executed(executions_log))
    assert_holds("executePix.status", execution_answers)


@requirement("executePix.id.matches")
def test_a_result_is_of_the_code_that_was_sent(execution_answers):
    """The id is the code of the request, and not the code of another execution."""
    codes = {exchange: exchange.request.last_segment for exchange in execution_answers}

    assert_found("executePix.id.matches", value_is_of_no_other_request("executePix.id.matches", codes))
    assert_holds("executePix.id.matches", execution_answers)


@requirement("executePix.value.matches")
def test_the_amount_that_was_prepared_comes_back(executions_log):
    """The value is the amount that the run prepared."""
    assert_found("executePix.value.matches", value_is_the_prepared_amount(executions_log))


@requirement("executePix.type.example")
def test_the_type_that_is_shown_is_seen(execution_answers):
    """At least one execution result has the type that the interface document shows."""
    assert_found("executePix.type.example", holds_in_one_answer("executePix.type.example", execution_answers))


@requirement("executePix.token.required")
def test_without_a_valid_token_nothing_is_executed(executions_log, traffic):
    """A request without a valid token does not get an execution result."""
    offers = executions_log.sent("executePix", Execution.OFFERED)
    asked_again = executions_log.sent("executePix", Execution.AFTER_EXECUTION)
    successes = successful_executions(executions_log)
    to_anybody = granted_to_anybody(executions_log, "executePix")
    granted_again = list(filter(grants_protected_result, asked_again))
    deviations = (("answered-again", granted_again), *let_in(executions_log, "executePix"))
    judgement = token_is_required([*offers, *to_anybody], successes, "executed", *deviations)
    require_supplied([*offers, *asked_again], "no request without a valid token was sent")
    require_supplied(judgement.deviates or not perhaps_spent(executions_log), _PERHAPS_SPENT)
    credentials_tried = tried_with_stand_ins_in_words("executePix", [*offers, *asked_again], traffic)
    remark("executePix.token.required", credentials_tried)

    assert_found("executePix.token.required", judgement)


@requirement("executePix.token.accepted")
def test_a_valid_token_is_accepted(traffic, execution_answers):
    """A valid access token is accepted for an execution."""
    assert_found("executePix.token.accepted", token_is_accepted(traffic, "executePix", execution_answers))


@requirement("executePix.token.scheme")
@pytest.mark.needs("fuzz")
def test_the_token_is_accepted_as_a_bearer_only(log):
    """The token bare or under another scheme is answered like no token."""
    assert_found("executePix.token.scheme", token_is_accepted_as_bearer_only(log))


@requirement("executePix.request.sufficient")
def test_an_execution_needs_no_more_than_the_token(executions_log, traffic):
    """Neither a query nor a body nor another header is needed."""
    prepare = traffic.profile.transactions.prepare

    assert_found("executePix.request.sufficient", documented_execution_is_enough(executions_log, prepare))


@requirement("executePix.unknownCode")
def test_unknown_code(log):
    """An unknown transaction code is answered in this way."""
    answers = log.of("executePix", Execution.UNKNOWN_CODE)
    require_supplied(answers, "not reached")
    unknown_code = observed("executePix.unknownCode", log)
    require_supplied(unknown_code.values, say("answered with {answer} alone", answer=answers_in_words(answers)))

    observe("executePix.unknownCode", unknown_code.values, unknown_code.exchanges)


@pytest.mark.parametrize("requirement_id", SEEN_IN_RESULTS)
def test_values(requirement_id, executions_log):
    """The field has these values, or values of this unit."""
    field = observed(requirement_id, executions_log)
    require_supplied(field.values, "no execution result has a value that shows it")

    observe(requirement_id, field.values, field.exchanges)


@requirement("executePix.status.transitions")
def test_status_before_the_execution(log):
    """A transfer has this status when it is prepared."""
    states = observed("executePix.status.transitions", log)
    why_none = say("no transfer was prepared: needs a body in transactions.prepare that is accepted")
    require_supplied(states.values, why_none)

    observe("executePix.status.transitions", states.values, states.exchanges)
