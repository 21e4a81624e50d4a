"""Deletion of a PIX key: DELETE /v1/pix/keys/{accountId}."""

from __future__ import annotations

import pytest

from spec.answers import data_of, is_refusal, succeeded
from spec.rules import ROBUSTNESS, deviates, holds, inconclusive
from tests.harness.judging import NotExercised, assert_found, assert_holds, observe, requirement, rows


@pytest.mark.parametrize("row", rows("deletePixKey", lambda what: what not in ROBUSTNESS))
def test_statement_holds_in_every_answer(row, deletions):
    """Status, JSON and envelope of a successful deletion are as stated."""
    assert_holds(*deletions)


@requirement("deletePixKey.contentType.accepted")
def test_json_is_understood(deletions):
    """A deletion sent as application/json is understood."""
    assert_found(_understood(deletions))


@requirement("deletePixKey.data")
def test_fields_of_the_answer(deletions):
    """Which members the data of a deletion has."""
    names = {name for seen in deletions if succeeded(seen) for name in data_of(seen.response) or {}}
    if not any(succeeded(seen) for seen in deletions):
        raise NotExercised("no key was deleted")
    observe(", ".join(sorted(names)) or "no members", *deletions)


def _understood(deletions):
    statuses = {seen.response.status for seen in deletions if seen.response}
    if statuses == {415}:
        return deviates("status 415 for application/json", *deletions[:1])
    if any(seen.response and not is_refusal(seen.response) for seen in deletions):
        return holds(*deletions[:1])
    return inconclusive("no key was deleted", *deletions[:1])
