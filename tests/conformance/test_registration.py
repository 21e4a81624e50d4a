"""Registration of a PIX key: POST /v1/pix/keys/{accountId}."""

from __future__ import annotations

import pytest

from spec.answers import code_of, data_of, gives_result, registered
from spec.interface import KEY_TYPES
from spec.rules import ROBUSTNESS, deviates, holds, inconclusive
from tests.harness.judging import (
    NotExercised,
    OutOfScope,
    assert_found,
    assert_holds,
    cite,
    observe,
    remark,
    requirement,
    rows,
)
from tests.traffic.effects import mention_suspected
from tests.traffic.findings import token_accepted
from tests.traffic.refused_credentials import MOST_CITED, credentials_of, of_a_guessable_token
from tests.traffic.refused_key_types import type_sent
from tests.traffic.registrar import Attempted

OF_A_FIRST_REGISTRATION = ("Success.example", "Key.example")
OF_ANY_RESULT = (
    "Success.type",
    "Success.text",
    "Success.letterCase",
    "Message.type",
    "Key.type",
    "DocumentNumber.type",
)


def _of_good_answers(what):
    return what not in ("status", *ROBUSTNESS, *OF_A_FIRST_REGISTRATION, *OF_ANY_RESULT)


@pytest.mark.parametrize("row", rows("registerPixKey", _of_good_answers))
def test_statement_holds_in_every_answer(row, registrations):
    """Status, JSON, envelope and every field of the key registration result are as stated."""
    assert_holds(*registrations.answers)


@requirement("registerPixKey.status")
def test_a_registration_is_answered_with_200(registrations):
    """A successful registration has status 200: what is refused is not registered."""
    cite(*registrations.effects)
    assert not registrations.effects, _registered_nevertheless(registrations.effects)

    assert_holds(*registrations.answers)
    mention_suspected(registrations.suspected)


def _registered_nevertheless(effects):
    refused = ", ".join(dict.fromkeys(f"{type_sent(seen)}: {seen.summary}" for seen in effects))
    return f"refused, and the list shows the key afterwards like one that was accepted ({refused})"


@pytest.mark.parametrize("row", rows("registerPixKey", OF_ANY_RESULT.__contains__))
def test_type_holds_in_every_result(row, registrations):
    """A field that is there has its type, also in the result that says no to a kind that is not documented."""
    assert_holds(*registrations.answers, *registrations.declined)


@pytest.mark.parametrize("row", rows("registerPixKey", OF_A_FIRST_REGISTRATION.__contains__))
def test_example_holds_for_a_new_key(row, registrations):
    """The first registration of a key is answered like the one that the document shows."""
    if row == "registerPixKey.Key.example" and "RANDOM" not in registrations.key_types:
        raise OutOfScope("pix_keys permits no key of the type RANDOM; supply one")

    assert_holds(*registrations.fresh)


@requirement("registerPixKey.token.required")
def test_without_a_valid_token_no_key_is_registered(registrations, token):
    """No request without a valid token registers a key."""
    granted = [refusal for refusal in registrations.tried[Attempted.WITHOUT_A_TOKEN] if gives_result(refusal)]
    cite(*(granted or registrations.tried[Attempted.WITHOUT_A_TOKEN][:MOST_CITED]))
    remark(of_a_guessable_token(token))

    assert not granted, f"registered with {credentials_of(granted)}"


@requirement("registerPixKey.token.accepted")
def test_a_valid_token_is_accepted(endpoints, registrations):
    """A valid access token is accepted for a key registration."""
    assert_found(token_accepted(endpoints, "registerPixKey", registrations.answers))


@requirement("registerPixKey.token.scheme")
def test_the_token_is_accepted_as_a_bearer_only(registrations):
    """The token bare or under another scheme registers no key."""
    if not registrations.tried[Attempted.OTHER_SCHEME]:
        raise NotExercised("not tried, as the key could not be deleted: supply requests.deletePixKey")
    granted = [seen for seen in registrations.tried[Attempted.OTHER_SCHEME] if registered(seen)]
    cite(*(granted or registrations.tried[Attempted.OTHER_SCHEME]))

    assert not granted, f"accepted: {', '.join(seen.credential for seen in granted)}"


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=requirement(f"registerPixKey.pixKeyType.{kind}"), id=kind) for kind in KEY_TYPES],
)
def test_documented_kind_is_accepted(kind, registrations):
    """Keys of a documented kind can be registered."""
    if kind not in registrations.key_types:
        raise OutOfScope(f"pix_keys permits no key of the type {kind}; supply one")

    assert_found(registrations.key_types[kind])


@requirement("registerPixKey.pixKeyType.undocumented")
def test_undocumented_kind_is_not_registered(registrations):
    """A kind that is not documented is not registered with Success true."""
    granted = [seen for seen in registrations.tried[Attempted.UNDOCUMENTED_TYPE] if registered(seen)]
    cite(*(granted or registrations.tried[Attempted.UNDOCUMENTED_TYPE]))

    assert not granted, "a key of an undocumented type is registered"


@requirement("registerPixKey.pixKeyType.EVP")
def test_another_name_of_random_is_not_registered(registrations):
    """EVP, the Central Bank's own name for RANDOM, is no key type of the interface document."""
    granted = [seen for seen in registrations.tried[Attempted.OTHER_NAME] if registered(seen)]
    cite(*(granted or registrations.tried[Attempted.OTHER_NAME]))

    assert not granted, "a key of the type EVP is registered"


@requirement("registerPixKey.pixKeyType.letterCase")
def test_kind_in_lower_case(registrations):
    """A kind in lower-case letters is not registered."""
    if not registrations.tried[Attempted.LOWER_CASE]:
        raise NotExercised("not tried, as the key could not be deleted: supply requests.deletePixKey")
    cite(*registrations.tried[Attempted.LOWER_CASE])

    assert not any(registered(seen) for seen in registrations.tried[Attempted.LOWER_CASE]), (
        "a type in lower-case letters is registered"
    )


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=requirement(row), id=row)
        for row in (
            "registerPixKey.contentType.accepted",
            "registerPixKey.body.pixKey",
            "registerPixKey.body.account",
            "registerPixKey.body.pixKeyType",
            "registerPixKey.body.sufficient",
        )
    ],
)
def test_the_documented_request_is_enough(row, registrations):
    """A registration with the documented fields and Content-Type is understood; nothing else is needed."""
    assert_found(registrations.broken.get(row) or _understood(registrations, row))


def _understood(registrations, row):
    statuses = {answer.response.status for answer in registrations.answers if answer.response}
    if statuses == {415} and row == "registerPixKey.contentType.accepted":
        return deviates("status 415 for application/json", *registrations.answers[:1])
    if registrations.understood:
        return holds(*registrations.understood[:1])
    return inconclusive("no registration was understood", *registrations.answers[:1])


@requirement("registerPixKey.repeated")
def test_repeated_registration(registrations):
    """How the registration of a key that is registered already is answered."""
    if not registrations.repeated:
        raise NotExercised("no key was registered twice")
    observe(_summaries(registrations.repeated), *registrations.repeated)


@requirement("registerPixKey.pixKeyType.numeric")
def test_numeric_kinds(registrations):
    """Whether digits are accepted as kind."""
    if not registrations.tried[Attempted.NUMERIC]:
        raise NotExercised("not tried, as the key could not be deleted: supply requests.deletePixKey")
    observe(_summaries(registrations.tried[Attempted.NUMERIC]), *registrations.tried[Attempted.NUMERIC])


@requirement("registerPixKey.body.required")
@pytest.mark.needs("fuzz")
def test_required_fields(traffic, registrations):
    """Which body fields are required."""
    without = traffic.send_incomplete_registrations()
    observe(
        "; ".join(f"without {name}: {_summaries([seen])}" for name, seen in without.items()),
        *without.values(),
    )


def _summaries(exchanges):
    return ", ".join(sorted({f"{seen.summary}{_effect(seen)}" for seen in exchanges}))


def _effect(seen):
    if registered(seen):
        return " (registered)"
    data = data_of(seen.response) if seen.response else None
    success = f" Success {data['Success']!r}" if data and isinstance(data.get("Success"), str) else ""
    code = code_of(seen.response) if seen.response else None
    return f"{success} code {code}" if code is not None else success
