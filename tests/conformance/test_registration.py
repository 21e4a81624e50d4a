"""Registration of a PIX key: POST /v1/pix/keys/{accountId}.

The tests judge answers that the run has got before: tests/traffic/keys/ has the requests, and says why each is sent.
"""

from __future__ import annotations

import pytest

from environments.profiles.loading import missing_for_deletions
from reports.sentences.wording import joined_with_and
from spec.answers import answers_in_words, registered
from spec.findings import finding
from spec.interface import KEY_TYPES
from spec.message import say
from tests.harness.judging import (
    assert_holds,
    assert_judgement,
    not_exercised_unless,
    out_of_scope_unless,
    remark,
    report_observation,
    requirement,
    requirements_named,
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
    granted_but_not_listed,
    refused_but_perhaps_registered,
    refused_but_registered,
    without_token_but_perhaps_registered,
    without_token_but_registered,
)
from tests.traffic.keys.purposes import (
    Registering,
    accepted_registrations,
    body_sent,
    of_undocumented_types,
    registrations_for,
    registrations_of_free_keys,
    repeated_registrations,
    results_for_other_types,
    valid_registrations,
)
from tests.traffic.keys.refused_types import judgement_on_key_type
from tests.traffic.observations import observation_of
from tests.traffic.trust.asking import tried_with_stand_ins_in_words
from tests.traffic.trust.let_in import requests_let_in_by_finding, results_without_valid_token

JUDGED_BY_FREE_KEYS = ("Success.example", "Key.example")
"""Ends of the ids of requirements that only the registration of a key that is free can show."""
JUDGED_BY_ANY_RESULT = (
    "Success.type", "Success.text", "Success.letterCase", "Message.type", "Key.type", "DocumentNumber.type",
)  # fmt: skip
"""Ends of the ids of requirements that also a result for an undocumented key type has to meet."""


def why_keys_cannot_be_deleted(profile):
    """Reason why a kind of registration was not tried: the run could not delete the key afterwards.

    It says everything that the user has to add to the profile so that keys can be deleted, for example "add delete-keys
    to allow". Empty if nothing is missing.
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
    return say("not tried, as the key could not be deleted: {remedy}", remedy=joined_with_and(remedies))


def without_successes_whose_key_is_not_listed(registrations, log, profile):
    """These registrations, without those whose answer says success although later lists of keys do not show the key.

    Their answers may be wrong about the success, so they do not prove that the service registered the key.
    """
    if not any(map(registered, registrations)):
        return registrations  # without a success there is nothing to compare with the lists
    lost = granted_but_not_listed(log, profile)
    return [exchange for exchange in registrations if exchange not in lost]


@pytest.mark.parametrize(
    "requirement_id",
    rules_of("registerPixKey", but=("status", "Key.matches", *JUDGED_BY_FREE_KEYS, *JUDGED_BY_ANY_RESULT)),
)
def test_statement_holds_in_every_answer(requirement_id, log_with_registrations):
    """Status, JSON, envelope and every field of the key registration result are as documented.

    Each requirement is a test of its own. Those that are left out here (`but`) have other tests, because other answers
    show whether they are met.
    """
    assert_holds(requirement_id, valid_registrations(log_with_registrations))


@requirement("registerPixKey.status")
def test_a_registration_is_answered_with_200(log_with_registrations, profile):
    """A successful registration has status 200, and a refused key is not registered.

    There is a warning instead of a failure if a list has the text of a refused key, but the profile does not say where
    lists show keys (`key_at`): the text may be something else. There is also a warning if a key was registered, and no
    list shows it ("lost"), because the interface document does not say what lists contain.
    """
    refusals_with_effect = refused_but_registered(log_with_registrations, profile)

    assert_judgement("registerPixKey.status", no_refusal_had_an_effect(refusals_with_effect))
    assert_holds("registerPixKey.status", valid_registrations(log_with_registrations))
    warn("registerPixKey.status", finding("lost"), granted_but_not_listed(log_with_registrations, profile))
    perhaps_registered = refused_but_perhaps_registered(log_with_registrations, profile)
    warn("registerPixKey.status", finding("refused-and-listed"), perhaps_registered)


@requirement("registerPixKey.Key.matches")
def test_a_result_is_of_the_key_that_was_sent(log_with_registrations):
    """The Key in a result is the key of its own request, and not the key of another registration."""
    answers = valid_registrations(log_with_registrations)
    keys = {exchange: body_sent(exchange).get("pixKey") for exchange in answers}

    assert_judgement("registerPixKey.Key.matches", value_is_of_no_other_request("registerPixKey.Key.matches", keys))
    assert_holds("registerPixKey.Key.matches", answers)


@pytest.mark.parametrize(
    "requirement_id", requirements_named(*(f"registerPixKey.{end_of_id}" for end_of_id in JUDGED_BY_ANY_RESULT))
)
def test_type_holds_in_every_result(requirement_id, log_with_registrations):
    """Each field of a result has its type if the field is present.

    A service may decline an undocumented key type with a result whose Success is false. Such results are judged, too.
    """
    assert_holds(
        requirement_id, [*valid_registrations(log_with_registrations), *results_for_other_types(log_with_registrations)]
    )


@requirement("registerPixKey.Success.example")
def test_example_of_success_holds_for_a_new_key(log_with_registrations):
    """The registration of a key that is not registered yet is answered with Success true."""
    assert_holds("registerPixKey.Success.example", registrations_of_free_keys(log_with_registrations))


@requirement("registerPixKey.Key.example")
def test_example_of_key_holds_for_a_new_key(log_with_registrations, why_type_not_registered, profile):
    """The registration of a RANDOM key is answered with Key null.

    The test is skipped if the profile permits no RANDOM key, or if the run registered none for another reason.
    """
    has_random_key = any(key.type == "RANDOM" for key in profile.pix_keys)
    out_of_scope_unless(has_random_key, say("pix_keys permits no key of the type {type}; supply one", type="RANDOM"))
    why_not_registered = why_type_not_registered.get("RANDOM", "")
    out_of_scope_unless("RANDOM" not in why_type_not_registered, why_not_registered)

    assert_holds("registerPixKey.Key.example", registrations_of_free_keys(log_with_registrations))


@requirement("registerPixKey.token.required")
def test_without_a_valid_token_no_key_is_registered(log_with_registrations, traffic, profile):
    """A request without a valid token does not register a key.

    There is a warning instead of a failure if a list has the text of a refused key, but the profile does not say where
    lists show keys (`key_at`): the text may be something else, such as a note about the refusal.
    """
    registrations_without_token = registrations_for(log_with_registrations, Registering.WITHOUT_A_TOKEN)
    results_for_made_up_keys = results_without_valid_token(log_with_registrations, "registerPixKey")
    # For the report: which wrong tokens were tried, and which stand-ins (headers that some services trust instead).
    credentials_tried = tried_with_stand_ins_in_words("registerPixKey", registrations_without_token, traffic)
    remark("registerPixKey.token.required", credentials_tried)

    # Pairs: the code of a finding, and the requests that show it. A request was let in if it was answered as if it had
    # the valid token.
    refused_with_effect = ("refused-with-effect", without_token_but_registered(log_with_registrations, profile))
    deviations = (refused_with_effect, *requests_let_in_by_finding(log_with_registrations, "registerPixKey"))
    without_token = [*registrations_without_token, *results_for_made_up_keys]
    code_of_finding = "registered"  # for all requests that got a result and are in no pair
    valid = valid_registrations(log_with_registrations)
    judgement = token_is_required(without_token, valid, code_of_finding, *deviations)
    assert_judgement("registerPixKey.token.required", judgement)
    warn(
        "registerPixKey.token.required",
        finding("refused-and-listed"),
        without_token_but_perhaps_registered(log_with_registrations, profile),
    )


@requirement("registerPixKey.token.accepted")
def test_a_valid_token_is_accepted(traffic, log_with_registrations):
    """A valid access token is accepted for a key registration."""
    judgement = token_is_accepted(traffic, "registerPixKey", valid_registrations(log_with_registrations))
    assert_judgement("registerPixKey.token.accepted", judgement)


@requirement("registerPixKey.token.scheme")
@pytest.mark.needs("fuzz")
def test_the_token_is_accepted_as_a_bearer_only(log_with_registrations, profile):
    """The valid token registers no key without the word Bearer before it, or under another scheme such as Basic.

    Only invalid requests show it. The profile permits them with `fuzz`. They are sent only if the run can delete the
    key, because a service may register it although the request is invalid.
    """
    answers = registrations_for(log_with_registrations, Registering.OTHER_SCHEME)
    not_exercised_unless(answers, why_keys_cannot_be_deleted(profile))

    assert_judgement("registerPixKey.token.scheme", none_granted(answers, code_of_finding="scheme-accepted"))


@pytest.mark.parametrize(
    "key_type",
    [pytest.param(name, marks=requirement(f"registerPixKey.pixKeyType.{name}"), id=name) for name in KEY_TYPES],
)
def test_documented_key_type_is_accepted(key_type, log_with_registrations, why_type_not_registered, traffic, profile):
    """Keys of a documented type can be registered.

    The test is skipped if the profile permits no key of this type, or if the run registered no such key for another
    reason: for example, somebody uses them already.
    """
    has_key_of_this_type = any(key.type == key_type for key in profile.pix_keys)
    out_of_scope_unless(
        has_key_of_this_type, say("pix_keys permits no key of the type {type}; supply one", type=key_type)
    )
    why_not_registered = why_type_not_registered.get(key_type, "")
    out_of_scope_unless(key_type not in why_type_not_registered, why_not_registered)
    requirement_id = f"registerPixKey.pixKeyType.{key_type}"
    why_not_tried = traffic.why_not_sent.get(requirement_id, say("not reached"))

    assert_judgement(requirement_id, judgement_on_key_type(log_with_registrations, profile, key_type, why_not_tried))


@requirement("registerPixKey.pixKeyType.undocumented")
def test_undocumented_key_type_is_not_registered(log_with_registrations, profile):
    """A key type that the interface document does not have is not registered with Success true."""
    answers = without_successes_whose_key_is_not_listed(
        of_undocumented_types(log_with_registrations), log_with_registrations, profile
    )

    assert_judgement(
        "registerPixKey.pixKeyType.undocumented", none_granted(answers, code_of_finding="undocumented-type")
    )


@requirement("registerPixKey.pixKeyType.EVP")
def test_another_name_of_random_is_not_registered(log_with_registrations, profile):
    """The key type EVP, the Central Bank's own name for RANDOM, is not registered, because it is not documented.

    An answer of success is left out if the lists of keys do not show the key: then perhaps nothing was registered.
    """
    registrations = registrations_for(log_with_registrations, Registering.OTHER_NAME_OF_RANDOM)
    answers = without_successes_whose_key_is_not_listed(registrations, log_with_registrations, profile)

    assert_judgement("registerPixKey.pixKeyType.EVP", none_granted(answers, code_of_finding="type-EVP"))


@requirement("registerPixKey.pixKeyType.letterCase")
def test_key_type_in_lower_case(log_with_registrations, profile):
    """A key type in lower-case letters, such as "email", is not registered.

    It is tried only if the run can delete the key, because a service may register it nevertheless.
    """
    registrations = registrations_for(log_with_registrations, Registering.LOWER_CASE)
    not_exercised_unless(registrations, why_keys_cannot_be_deleted(profile))
    answers = without_successes_whose_key_is_not_listed(registrations, log_with_registrations, profile)

    assert_judgement("registerPixKey.pixKeyType.letterCase", none_granted(answers, code_of_finding="type-lower-case"))


@pytest.mark.parametrize(
    "requirement_id",
    requirements_named(
        "registerPixKey.contentType.accepted",
        "registerPixKey.body.pixKey",
        "registerPixKey.body.account",
        "registerPixKey.body.pixKeyType",
        "registerPixKey.body.sufficient",
    ),
)
def test_the_documented_request_is_enough(requirement_id, log_with_registrations):
    """A registration that has only the documented fields and Content-Type is accepted, so nothing else is needed."""
    assert_judgement(requirement_id, registration_is_understood(requirement_id, log_with_registrations))


@requirement("registerPixKey.repeated")
def test_repeated_registration(log_with_registrations):
    """The report says how a second registration of the same key is answered."""
    observation = observation_of("registerPixKey.repeated", log_with_registrations)
    not_exercised_unless(observation.values, "no key was registered twice")

    report_observation("registerPixKey.repeated", observation.values, repeated_registrations(log_with_registrations))


@requirement("registerPixKey.pixKeyType.numeric")
def test_numeric_key_types(log_with_registrations, profile):
    """The report says whether digits are accepted as a key type, because the document's example has digits there.

    Nobody knows which key type a number means. If it means RANDOM, the service makes a key whose value the run can only
    see in the next list. So the run must be allowed to delete any new RANDOM key there: `disposable: true` in the
    profile says that nobody else registers keys at this account meanwhile.
    """
    observation = observation_of("registerPixKey.pixKeyType.numeric", log_with_registrations)
    why_not_deleted = say(
        "not tried, as a key that the service makes could not be deleted: if nobody else registers keys at this "
        "account, set disposable: true on the RANDOM entry of pix_keys"
    )
    why_not_tried = why_not_deleted if profile.may_delete_keys else why_keys_cannot_be_deleted(profile)
    not_exercised_unless(observation.values, why_not_tried)

    report_observation("registerPixKey.pixKeyType.numeric", observation.values, observation.exchanges)


@requirement("registerPixKey.body.required")
@pytest.mark.needs("fuzz")
def test_required_fields(log):
    """The report says which fields of the body a registration needs.

    Only invalid requests show it. The profile permits them with `fuzz`.
    """
    observation = observation_of("registerPixKey.body.required", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    report_observation("registerPixKey.body.required", observation.values, observation.exchanges)


@requirement("registerPixKey.account.relation")
@pytest.mark.needs("fuzz")
def test_another_account_in_the_body(log):
    """The report says whether a registration is accepted whose body names another account than its path.

    Only invalid requests show it. The profile permits them with `fuzz`.
    """
    observation = observation_of("registerPixKey.account.relation", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    report_observation("registerPixKey.account.relation", observation.values, observation.exchanges)


@requirement("registerPixKey.pixKey.format")
def test_formats_of_keys(log_with_registrations):
    """The report says in which formats keys of each type are accepted."""
    observation = observation_of("registerPixKey.pixKey.format", log_with_registrations)
    accepted = accepted_registrations(log_with_registrations)
    answers = valid_registrations(log_with_registrations)
    not_exercised_unless(accepted, say("no key was registered: {answers}", answers=answers_in_words(answers)))

    report_observation("registerPixKey.pixKey.format", observation.values, accepted[:5])  # a few are enough as examples


@requirement("registerPixKey.pixKey.format")
@pytest.mark.needs("fuzz")
def test_a_text_that_is_no_key(log):
    """The report says whether a text that is no key of its type is accepted.

    Only invalid requests show it. The profile permits them with `fuzz`.
    """
    observation = observation_of("registerPixKey.pixKey.format", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    example = observation.exchanges[-1:]  # one is enough
    report_observation("registerPixKey.pixKey.format", observation.values, example)
