"""Deletion of a PIX key: DELETE /v1/pix/keys/{accountId}.

Self-tests: promises/test_keys.py.
"""

from __future__ import annotations

import pytest

from environments.door.run_keys import Keys
from environments.profiles.loading import missing_for_deletions
from environments.profiles.model import Profile
from spec.answers import answers_in_words, is_granted
from spec.exchange import Exchange
from spec.findings import finding
from spec.log import Log
from spec.message import say
from tests.harness.judging import (
    assert_holds,
    assert_judgement,
    not_exercised_unless,
    report_observation,
    requirement,
    rules_of,
    warn,
)
from tests.traffic.judgements import json_is_understood
from tests.traffic.keys.purposes import valid_deletions
from tests.traffic.keys.registration import why_nothing_was_deleted
from tests.traffic.observations import observation_of
from tests.traffic.scenario import Traffic
from tests.traffic.undescribed import why_no_shape


@pytest.fixture(scope="session")
def deletions(log_with_registrations: Log, profile: Profile) -> list[Exchange]:
    """The deletions of keys that this run had registered, with their answers. The test is skipped if there are none."""
    what_to_supply = missing_for_deletions(profile)  # what the user has to add to the profile; empty if it is complete
    is_profile_complete = not what_to_supply
    not_exercised_unless(is_profile_complete, what_to_supply)
    answers = valid_deletions(log_with_registrations)
    not_exercised_unless(answers, why_nothing_was_deleted(log_with_registrations))
    return answers


@pytest.fixture(scope="session")
def keys_in_lists(traffic: Traffic) -> Keys:
    """What the lists of keys showed during the run: which keys stayed in a list after their deletion, for example.

    The door (the only way by which requests leave for the service) compares each list with the earlier ones.
    """
    return traffic.client.door.keys


@pytest.mark.parametrize("requirement_id", rules_of("deletePixKey"))
def test_statement_holds_in_every_answer(requirement_id, deletions):
    """Status, JSON and envelope of a successful deletion are as documented. Each requirement is a test of its own."""
    assert_holds(requirement_id, deletions)


@requirement("deletePixKey.exists")
def test_a_granted_deletion_deletes_its_key_alone(deletions, keys_in_lists):
    """A deletion that was answered as successful removes its key from the list of keys, and removes no other key.

    There is a warning instead of a failure, because the interface document says nothing about either.
    """
    granted = list(filter(is_granted, deletions))
    not_exercised_unless(granted, say("no key was deleted: {answers}", answers=answers_in_words(deletions)))
    # Any of the deletions may have removed a key that it does not name, so the report shows all of them.
    another_key_vanished = keys_in_lists.lists.key_vanished_after_deletion
    perhaps_deleting_other_keys = granted if another_key_vanished else []

    warn("deletePixKey.exists", finding("kept"), keys_in_lists.deletions_still_listed(granted))
    warn("deletePixKey.exists", finding("besides"), perhaps_deleting_other_keys)


@requirement("deletePixKey.contentType.accepted")
def test_json_is_understood(deletions):
    """At least one deletion that was sent with the Content-Type application/json is not refused because of that."""
    none_deleted = say("no key was deleted: {answers}", answers=answers_in_words(deletions))

    assert_judgement("deletePixKey.contentType.accepted", json_is_understood(deletions, none_deleted))


@requirement("deletePixKey.data")
@pytest.mark.usefixtures("deletions")
def test_shape_of_the_answer(log, profile):
    """The report says with which status, media type and JSON members a deletion is answered.

    The interface document does not show the fields of the answer.
    """
    observation = observation_of("deletePixKey.data", log)
    not_exercised_unless(observation.values, why_no_shape(log, profile, "deletePixKey"))

    examples = observation.exchanges[:3]  # a few are enough
    report_observation("deletePixKey.data", observation.values, examples)
