"""Registration of a PIX key: POST /v1/pix/keys/{accountId}."""

from __future__ import annotations

import pytest

from environments.profiles.loading import missing_for_deletions
from reports.sentences.wording import listed
from spec.answers import answers_in_words, registered
from spec.findings import finding
from spec.interface import KEY_TYPES
from spec.message import say
from tests.harness.judging import (
    assert_found,
    assert_holds,
    named,
    not_exercised_unless,
    observe,
    out_of_scope_unless,
    remark,
    requirement,
    rules_of,
    warn,
)
from tests.traffic.judgements import (
    no_refusal_had_an_effect,
    none_granted,
    registration_is_understood,
    token_is_accepted,
    token_is_required,
    value_is_of_no_other_request,
)
from tests.traffic.keys.listed import (
    lost_registrations,
    refused_and_listed,
    refused_with_effect,
    without_token_and_listed,
    without_token_with_effect,
)
from tests.traffic.keys.purposes import (
    Registering,
    accepted_registrations,
    body_sent,
    declined_types,
    of_undocumented_types,
    registrations_for,
    registrations_of_free_keys,
    repeated_registrations,
    valid_registrations,
)
from tests.traffic.keys.refused_types import type_is_accepted
from tests.traffic.observations import observed
from tests.traffic.trust.asking import tried_with_stand_ins_in_words
from tests.traffic.trust.let_in import granted_to_anybody, let_in

JUDGED_BY_FREE_KEYS = ("Success.example", "Key.example")
"""Ends of the ids of requirements that only the registration of a key that is free can show."""
JUDGED_BY_ANY_RESULT = (
    "Success.type", "Success.text", "Success.letterCase", "Message.type", "Key.type", "DocumentNumber.type",
)  # fmt: skip
"""Ends of the ids of requirements that also a result for an undocumented key type has to meet."""


def deletions_needed(profile):
    """Reason why a registration was not tried whose key the run might have to delete, and could not.

    It says everything that the profile has to supply for deletions; empty if nothing is missing.
    """
    remedies = []
    if "delete-keys" not in profile.allow:
        remedies.append(say("add delete-keys to allow"))
    if "deletePixKey" not in profile.requests:
        remedies.append(say("supply requests.deletePixKey"))
    if not remedies and missing_for_deletions(profile):
        remedies.append(say(missing_for_deletions(profile)))
    if not remedies:
        return ""
    return say("not tried, as the key could not be deleted: {remedy}", remedy=listed(remedies))


def without_keys_that_lists_lack(registrations, log, profile):
    """These registrations, but for those that were granted although later lists of keys lack their key."""
    lost = lost_registrations(log, profile) if any(map(registered, registrations)) else []
    return [exchange for exchange in registrations if exchange not in lost]


@pytest.mark.parametrize(
    "requirement_id",
    rules_of("registerPixKey", but=("status", "Key.matches", *JUDGED_BY_FREE_KEYS, *JUDGED_BY_ANY_RESULT)),
)
def test_statement_holds_in_every_answer(requirement_id, registrations_log):
    """Status, JSON, envelope and every field of the key registration result are as documented."""
    assert_holds(requirement_id, valid_registrations(registrations_log))


@requirement("registerPixKey.status")
def test_a_registration_is_answered_with_200(registrations_log, profile):
    """A successful registration has status 200, and a refused key is not registered."""
    effects = refused_with_effect(registrations_log, profile)

    assert_found("registerPixKey.status", no_refusal_had_an_effect(effects))
    assert_holds("registerPixKey.status", valid_registrations(registrations_log))
    warn("registerPixKey.status", finding("lost"), lost_registrations(registrations_log, profile))
    warn("registerPixKey.status", finding("refused-and-listed"), refused_and_listed(registrations_log, profile))


@requirement("registerPixKey.Key.matches")
def test_a_result_is_of_the_key_that_was_sent(registrations_log):
    """The Key in a result is the key of its own request, and not that of another registration."""
    answers = valid_registrations(registrations_log)
    keys = {exchange: body_sent(exchange).get("pixKey") for exchange in answers}

    assert_found("registerPixKey.Key.matches", value_is_of_no_other_request("registerPixKey.Key.matches", keys))
    assert_holds("registerPixKey.Key.matches", answers)


@pytest.mark.parametrize(
    "requirement_id", named(*(f"registerPixKey.{end_of_id}" for end_of_id in JUDGED_BY_ANY_RESULT))
)
def test_type_holds_in_every_result(requirement_id, registrations_log):
    """Each present field has its type, also in a result that declines an undocumented key type."""
    assert_holds(requirement_id, [*valid_registrations(registrations_log), *declined_types(registrations_log)])


@requirement("registerPixKey.Success.example")
def test_example_of_success_holds_for_a_new_key(registrations_log):
    """The registration of a key that is free is answered with Success true."""
    assert_holds("registerPixKey.Success.example", registrations_of_free_keys(registrations_log))


@requirement("registerPixKey.Key.example")
def test_example_of_key_holds_for_a_new_key(registrations_log, left_alone_types, profile):
    """The registration of a RANDOM key is answered with Key null."""
    has_random_key = any(key.type == "RANDOM" for key in profile.pix_keys)
    out_of_scope_unless(has_random_key, say("pix_keys permits no key of the type {type}; supply one", type="RANDOM"))
    out_of_scope_unless("RANDOM" not in left_alone_types, left_alone_types.get("RANDOM", ""))

    assert_holds("registerPixKey.Key.example", registrations_of_free_keys(registrations_log))


@requirement("registerPixKey.token.required")
def test_without_a_valid_token_no_key_is_registered(registrations_log, traffic, profile):
    """A request without a valid token does not register a key."""
    refusals = registrations_for(registrations_log, Registering.WITHOUT_A_TOKEN)
    credentials_tried = tried_with_stand_ins_in_words("registerPixKey", refusals, traffic)
    remark("registerPixKey.token.required", credentials_tried)

    with_effect = ("refused-with-effect", without_token_with_effect(registrations_log, profile))
    deviations = (with_effect, *let_in(registrations_log, "registerPixKey"))
    without_token = [*refusals, *granted_to_anybody(registrations_log, "registerPixKey")]
    judgement = token_is_required(without_token, valid_registrations(registrations_log), "registered", *deviations)
    assert_found("registerPixKey.token.required", judgement)
    warn(
        "registerPixKey.token.required",
        finding("refused-and-listed"),
        without_token_and_listed(registrations_log, profile),
    )


@requirement("registerPixKey.token.accepted")
def test_a_valid_token_is_accepted(traffic, registrations_log):
    """A valid access token is accepted for a key registration."""
    judgement = token_is_accepted(traffic, "registerPixKey", valid_registrations(registrations_log))
    assert_found("registerPixKey.token.accepted", judgement)


@requirement("registerPixKey.token.scheme")
@pytest.mark.needs("fuzz")
def test_the_token_is_accepted_as_a_bearer_only(registrations_log, profile):
    """The token bare or under another scheme does not register a key."""
    answers = registrations_for(registrations_log, Registering.OTHER_SCHEME)
    not_exercised_unless(answers, deletions_needed(profile))

    assert_found("registerPixKey.token.scheme", none_granted(answers, "scheme-accepted"))


@pytest.mark.parametrize(
    "key_type",
    [pytest.param(name, marks=requirement(f"registerPixKey.pixKeyType.{name}"), id=name) for name in KEY_TYPES],
)
def test_documented_key_type_is_accepted(key_type, registrations_log, left_alone_types, traffic, profile):
    """Keys of a documented type can be registered."""
    has_key_of_this_type = any(key.type == key_type for key in profile.pix_keys)
    out_of_scope_unless(
        has_key_of_this_type, say("pix_keys permits no key of the type {type}; supply one", type=key_type)
    )
    out_of_scope_unless(key_type not in left_alone_types, left_alone_types.get(key_type, ""))
    requirement_id = f"registerPixKey.pixKeyType.{key_type}"
    why_not_tried = traffic.why_not_sent.get(requirement_id, say("not reached"))

    assert_found(requirement_id, type_is_accepted(registrations_log, profile, key_type, why_not_tried))


@requirement("registerPixKey.pixKeyType.undocumented")
def test_undocumented_key_type_is_not_registered(registrations_log, profile):
    """A key type that is not documented is not registered with Success true."""
    answers = without_keys_that_lists_lack(of_undocumented_types(registrations_log), registrations_log, profile)

    assert_found("registerPixKey.pixKeyType.undocumented", none_granted(answers, "undocumented-type"))


@requirement("registerPixKey.pixKeyType.EVP")
def test_another_name_of_random_is_not_registered(registrations_log, profile):
    """EVP, the Central Bank's own name for RANDOM, is no key type of the interface document."""
    registrations = registrations_for(registrations_log, Registering.OTHER_NAME)
    answers = without_keys_that_lists_lack(registrations, registrations_log, profile)

    assert_found("registerPixKey.pixKeyType.EVP", none_granted(answers, "type-EVP"))


@requirement("registerPixKey.pixKeyType.letterCase")
def test_key_type_in_lower_case(registrations_log, profile):
    """A key type in lower-case letters is not registered."""
    registrations = registrations_for(registrations_log, Registering.LOWER_CASE)
    not_exercised_unless(registrations, deletions_needed(profile))
    answers = without_keys_that_lists_lack(registrations, registrations_log, profile)

    assert_found("registerPixKey.pixKeyType.letterCase", none_granted(answers, "type-lower-case"))


@pytest.mark.parametrize(
    "requirement_id",
    named(
        "registerPixKey.contentType.accepted",
        "registerPixKey.body.pixKey",
        "registerPixKey.body.account",
        "registerPixKey.body.pixKeyType",
        "registerPixKey.body.sufficient",
    ),
)
def test_the_documented_request_is_enough(requirement_id, registrations_log):
    """A registration with the documented fields and Content-Type is understood; nothing else is needed."""
    assert_found(requirement_id, registration_is_understood(requirement_id, registrations_log))


@requirement("registerPixKey.repeated")
def test_repeated_registration(registrations_log):
    """The report says how a second registration of the same key is answered."""
    observation = observed("registerPixKey.repeated", registrations_log)
    not_exercised_unless(observation.values, "no key was registered twice")

    observe("registerPixKey.repeated", observation.values, repeated_registrations(registrations_log))


@requirement("registerPixKey.pixKeyType.numeric")
def test_numeric_key_types(registrations_log, profile):
    """The report says whether digits are accepted as a key type."""
    observation = observed("registerPixKey.pixKeyType.numeric", registrations_log)
    why_no_digits = say(
        "not tried, as a key that the service makes could not be deleted: if nobody else registers keys at this "
        "account, set disposable: true on the RANDOM entry of pix_keys"
    )
    why_not_tried = why_no_digits if profile.deletes_keys else deletions_needed(profile)
    not_exercised_unless(observation.values, why_not_tried)

    observe("registerPixKey.pixKeyType.numeric", observation.values, observation.exchanges)


@requirement("registerPixKey.body.required")
@pytest.mark.needs("fuzz")
def test_required_fields(log):
    """The report says which fields of the body a registration needs."""
    observation = observed("registerPixKey.body.required", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    observe("registerPixKey.body.required", observation.values, observation.exchanges)


@requirement("registerPixKey.account.relation")
@pytest.mark.needs("fuzz")
def test_another_account_in_the_body(log):
    """The report says whether a registration is accepted whose body names another account than its path."""
    observation = observed("registerPixKey.account.relation", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    observe("registerPixKey.account.relation", observation.values, observation.exchanges)


@requirement("registerPixKey.pixKey.format")
def test_formats_of_keys(registrations_log):
    """The report says in which formats keys of each type are accepted."""
    observation = observed("registerPixKey.pixKey.format", registrations_log)
    accepted = accepted_registrations(registrations_log)
    answers = valid_registrations(registrations_log)
    not_exercised_unless(accepted, say("no key was registered: {answers}", answers=answers_in_words(answers)))

    observe("registerPixKey.pixKey.format", observation.values, accepted[:5])


@requirement("registerPixKey.pixKey.format")
@pytest.mark.needs("fuzz")
def test_a_text_that_is_no_key(log):
    """The report says whether a text that is no key of its type is accepted."""
    observation = observed("registerPixKey.pixKey.format", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    observe("registerPixKey.pixKey.format", observation.values, observation.exchanges[-1:])
