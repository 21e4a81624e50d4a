"""Execution of a prepared transfer: GET /v1/execute/pix/{transactionId}."""

from __future__ import annotations

from decimal import Decimal

import pytest

from spec.answers import data_of, gives_result, is_judged_as_success
from spec.exchange import Exchange
from spec.json_text import is_number
from spec.rules import ROBUSTNESS
from tests.harness.judging import (
    NotExercised,
    assert_found,
    assert_holds,
    cite,
    observe,
    remark,
    requirement,
    rows,
)
from tests.traffic.findings import accepted_under_another_scheme, needs_more, seen_in_one_answer, token_accepted
from tests.traffic.refused_credentials import MOST_CITED, credentials_of, of_a_guessable_token

OVER_ALL_ANSWERS = "type.example"
"""The type is that of the key that was used: four of the five documented ones differ from the example."""


@pytest.mark.parametrize("row", rows("executePix", lambda what: what not in (*ROBUSTNESS, OVER_ALL_ANSWERS)))
def test_statement_holds_in_every_answer(row, executions, execution_answers):
    """Status, JSON, envelope and every field of the execution result are as stated."""
    assert_holds(*execution_answers)


@requirement("executePix.type.example")
def test_the_type_that_is_shown_is_seen(execution_answers):
    """At least one execution result has the type that the document shows."""
    assert_found(seen_in_one_answer("executePix.type.example", execution_answers))


@requirement("executePix.token.required")
def test_without_a_valid_token_nothing_is_executed(executions, execution_answers, token):
    """No request without a valid token gets an execution result."""
    if not executions.refusals:
        raise NotExercised("no refusal was probed")
    granted = [refusal for refusal in executions.refusals if gives_result(refusal)]
    cite(*(granted or executions.refusals[:MOST_CITED]))
    remark(of_a_guessable_token(token))

    assert not granted, f"executed with {credentials_of(granted)}"


@requirement("executePix.token.accepted")
def test_a_valid_token_is_accepted(endpoints, execution_answers):
    """A valid access token is accepted for an execution."""
    assert_found(token_accepted(endpoints, "executePix", execution_answers))


@requirement("executePix.token.scheme")
def test_the_token_is_accepted_as_a_bearer_only(executions):
    """The token bare or under another scheme is answered like no token."""
    assert_found(accepted_under_another_scheme(executions))


@requirement("executePix.request.sufficient")
def test_an_execution_needs_no_more_than_the_token(executions, execution_answers):
    """Neither a query nor a body nor another header is needed."""
    assert_found(needs_more(executions))


@requirement("executePix.unknownCode")
def test_unknown_code(executions):
    """How a code that nobody prepared is answered."""
    if executions.unknown is None:
        raise NotExercised("not reached")
    observe(executions.unknown.summary, executions.unknown)


@requirement("executePix.status.values")
def test_status_values(execution_answers):
    """Which status values are seen."""
    observe(_values("status", execution_answers), *execution_answers)


@requirement("executePix.accountType.meaning")
def test_account_types(execution_answers):
    """Which account types are seen."""
    observe(_values("accountType", execution_answers), *execution_answers)


@requirement("executePix.date.unit")
def test_unit_of_date(execution_answers):
    """The unit that the size of date suggests."""
    observe(_unit(execution_answers), *execution_answers)


def _values(field: str, answers: list[Exchange]) -> str:
    seen = {str(data[field])[:40] for data in _results(answers) if field in data}
    if not seen:
        raise NotExercised("no execution result was given")
    return ", ".join(sorted(seen))


def _unit(answers: list[Exchange]) -> str:
    dates = [data["date"] for data in _results(answers) if is_number(data.get("date"))]
    if not dates:
        raise NotExercised("no execution result with a number as date was given")
    return ", ".join(sorted({_unit_of(date) for date in dates}))


def _unit_of(date: object) -> str:
    if not isinstance(date, Decimal):
        return "a number of very many digits"
    units = {9: "seconds since 1970", 12: "milliseconds since 1970", 15: "microseconds since 1970"}
    return units.get(date.adjusted(), f"a number of the order of 1e{date.adjusted()}")


def _results(answers: list[Exchange]) -> list[dict]:
    return [data_of(answer.response) or {} for answer in answers if is_judged_as_success(answer)]
