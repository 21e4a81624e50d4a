"""Deletion of a PIX key: DELETE /v1/pix/keys/{accountId}.

Self-tests: promises/test_keys.py.
"""

from __future__ import annotations

import pytest

from environments.profiles.loading import missing_for_deletions
from environments.profiles.model import Profile
from spec.answers import answers_in_words, is_granted
from spec.exchange import Exchange
from spec.findings import finding
from spec.log import Log
from spec.message import say
from tests.harness.judging import assert_found, assert_holds, not_exercised_unless, observe, requirement, rules_of, warn
from tests.traffic.judgements import json_is_understood
from tests.traffic.keys.purposes import valid_deletions
from tests.traffic.keys.registration import nothing_to_delete
from tests.traffic.observations import observed
from tests.traffic.undescribed import why_no_shape


@pytest.fixture(scope="session")
def deletions(registrations_log: Log, profile: Profile) -> list[Exchange]:
    """The answers to deletions of keys that this run had registered. The test is skipped if there are none."""
    what_to_supply = missing_for_deletions(profile)
    not_exercised_unless(not what_to_supply, what_to_supply)
    answers = valid_deletions(registrations_log)
    not_exercised_unless(answers, nothing_to_delete(registrations_log))
    return answers


@pytest.mark.parametrize("requirement_id", rules_of("deletePixKey"))
def test_statement_holds_in_every_answer(requirement_id, deletions):
    """Status, JSON and envelope of a successful deletion are as documented."""
    assert_holds(requirement_id, deletions)


@requirement("deletePixKey.exists")
def test_a_granted_deletion_deletes_its_key_alone(deletions, traffic):
    """A key whose deletion was granted is not listed at the end, and no other key is gone.

    There is a warning instead of a failure, because the interface document says nothing about either.
    """
    keys = traffic.client.door.keys
    granted = list(filter(is_granted, deletions))
    not_exercised_unless(granted, say("no key was deleted: {answers}", answers=answers_in_words(deletions)))

    warn("deletePixKey.exists", finding("kept"), keys.deletions_still_listed(granted))
    warn("deletePixKey.exists", finding("besides"), granted if keys.lists.has_vanished_after_a_deletion else [])


@requirement("deletePixKey.contentType.accepted")
def test_json_is_understood(deletions):
    """A deletion sent as application/json is understood."""
    none_deleted = say("no key was deleted: {answers}", answers=answers_in_words(deletions))

    assert_found("deletePixKey.contentType.accepted", json_is_understood(deletions, none_deleted))


@requirement("deletePixKey.data")
@pytest.mark.usefixtures("deletions")
def test_shape_of_the_answer(log, profile):
    """The report says with which status, media type and JSON members a deletion is answered."""
    observation = observed("deletePixKey.data", log)
    not_exercised_unless(observation.values, why_no_shape(log, profile, "deletePixKey"))

    observe("deletePixKey.data", observation.values, observation.exchanges[:3])
