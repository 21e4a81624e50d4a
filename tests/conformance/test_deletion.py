"""Deletion of a PIX key: DELETE /v1/pix/keys/{accountId}."""

from __future__ import annotations

import pytest

from spec.answers import data_of, succeeded
from tests.harness.judging import assert_found, assert_holds, observe, requirement, rules_of, supplied
from tests.traffic.findings import json_is_understood


@pytest.mark.parametrize("requirement_id", rules_of("deletePixKey"))
def test_statement_holds_in_every_answer(requirement_id, deletions):
    """Status, JSON and envelope of a successful deletion are as documented."""
    assert_holds(*deletions)


@requirement("deletePixKey.contentType.accepted")
def test_json_is_understood(deletions):
    """A deletion sent as application/json is understood."""
    assert_found(json_is_understood(deletions, "no key was deleted"))


@requirement("deletePixKey.data")
def test_fields_of_the_answer(deletions):
    """The data of a successful deletion has these members."""
    successes = [seen for seen in deletions if succeeded(seen)]
    supplied(successes, "no key was deleted")
    names = {name for seen in successes for name in data_of(seen.response) or {}}

    observe(", ".join(sorted(names)) or "no members", *deletions)
