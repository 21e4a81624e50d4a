"""Why requests about keys are sent, and functions that find the registrations and deletions of a run by that reason.

The scenarios of this folder give each request one of these purposes. The tests find the requests of a purpose in the
log, which has all requests of a run with their answers.

Self-tests: traffic/keys/test_listed.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from spec.answers import (
    ABOUT_THE_REQUEST,
    RefusalKind,
    is_judged_as_success,
    refusal_or_failure,
    registered,
    succeeded,
)
from spec.exchange import Exchange, Purpose
from spec.json_text import read_json
from spec.log import Log
from spec.observed import is_answered_like_each

REGISTER = "registerPixKey"
"""POST /v1/pix/keys/{accountId}."""
LIST = "listPixKeys"
"""GET /v1/pix/keys/{accountId}."""
DELETE = "deletePixKey"
"""DELETE /v1/pix/keys/{accountId}."""


class Registering(Purpose):
    """Why a request is sent to POST /v1/pix/keys/{accountId}, unless it is generated or a step of a sequence."""

    FIRST_TIME = "a key for the first time"
    PERHAPS_REGISTERED = "a key that may be registered already"
    SECOND_TIME = "the same key again"
    SIMULTANEOUS = "a key at the same moment as others"
    ONCE_MORE = "a key once more after its deletion, because one answer of several may differ"
    RIGHT_AFTER_A_TRANSFER = "a key right behind an execution or a preparation"
    AFTER_A_REFUSAL = "the same key again, because its type was refused"
    OF_ANOTHER_TYPE = "a key of another type, because one was refused"
    TYPE_ONCE_MORE = "the same key once more, because its type was refused at times"
    CONTROL_OF_A_TYPE = "a key of another type in between, to see that the account takes keys"
    WITH_A_DIFFERENCE = "a key in another form, to see what the service needs"
    WITHOUT_THE_DIFFERENCE = "the same key as documented, because another form was accepted"
    UNDOCUMENTED_TYPE = "a type that is not documented"
    WITHOUT_A_TYPE = "no type, because an empty one was accepted"
    OTHER_NAME_OF_RANDOM = "another name of RANDOM"
    RANDOM_WITH_OTHER_KEYS = "RANDOM with a key, with null or without a key, as the service makes the key"
    LOWER_CASE = "a type in lower-case letters"
    NUMERIC = "a number as type"
    OTHER_SCHEME = "the token under another scheme"
    WITHOUT_A_TOKEN = "no valid token"
    UNDOCUMENTED_PATH = "to an unknown path, which must not change what comes next"


class Deleting(Purpose):
    """Why a key is deleted."""

    REGISTERED_KEY = "a key that was registered just before"
    TO_CLEAN_UP = "a key that is left, to clean up"


class KeyListing(Purpose):
    """Why the list of keys is read."""

    KEYS_OF_NOW = "the list, to see which keys are there"
    BESIDE_A_REGISTRATION = "the list at the same moment as a registration"


PURPOSES_OF_FREE_KEYS = (
    Registering.FIRST_TIME,
    Registering.SIMULTANEOUS,
    Registering.ONCE_MORE,
    Registering.RIGHT_AFTER_A_TRANSFER,
)
"""Purposes of registrations whose key is free: not registered, or deleted before."""
PURPOSES_WITH_OTHER_TYPES = (
    Registering.UNDOCUMENTED_TYPE,
    Registering.OTHER_NAME_OF_RANDOM,
    Registering.LOWER_CASE,
    Registering.NUMERIC,
)
"""Purposes of registrations with a type that is not written as in the interface document."""


# -- one registration -----------------------------------------------------------------------------------------------


def body_sent(exchange: Exchange) -> dict[str, Any]:
    """The JSON object in the body of a registration: {"pixKeyType": "EMAIL", …}. The body must be such an object."""
    body: dict[str, Any] = read_json(exchange.request.body).value
    return body


def key_sent(exchange: Exchange) -> str:
    """The key in the body of a registration (`pixKey`), such as an e-mail address; empty if there is none."""
    return _key_in(exchange.request.body)


@lru_cache(maxsize=2_000)  # a run sends fewer registrations, and its judges ask for the key of each many times
def _key_in(body: bytes) -> str:
    """The key in a JSON body: the text of its field `pixKey`. Empty if there is none, or if it is no text."""
    content = read_json(body).value
    key = content.get("pixKey") if isinstance(content, dict) else None
    return key if isinstance(key, str) else ""


def type_sent(exchange: Exchange) -> str:
    """The key type in the body of a registration (`pixKeyType`), such as "EMAIL"; the text "None" if there is none."""
    return str(body_sent(exchange).get("pixKeyType"))


def is_understood(exchange: Exchange) -> bool:
    """True if the service understood a registration and its key type, even if it did not register the key.

    Then it answered 409 (conflict), because the key is registered already; or with a success, in which the field
    `Success` may be true or false.
    """
    return refusal_or_failure(exchange) is RefusalKind.CONFLICT or succeeded(exchange)


def is_refused_for_its_content(exchange: Exchange) -> bool:
    """True if the service refused a registration because of its content, such as its key type: a 400, for example.

    A refusal because of the token, the rate or the load says nothing about the content. Nor does a conflict (409),
    because the key is registered then.
    """
    return refusal_or_failure(exchange) in ABOUT_THE_REQUEST - {RefusalKind.CONFLICT}


# -- registrations in the log ---------------------------------------------------------------------------------------


def valid_registrations(log: Log) -> list[Exchange]:
    """All valid registrations of a run, except those that Schemathesis generated and those in drawn sequences."""
    return log.valid(REGISTER)


def first_registrations(log: Log) -> list[Exchange]:
    """The valid registrations of keys that were not registered before, as far as the run knew."""
    return log.of(REGISTER, Registering.FIRST_TIME)


def registrations_of_free_keys(log: Log) -> list[Exchange]:
    """The valid registrations of keys that were free (not registered): for the first time, or after their deletion.

    A service must accept them, so statements on accepted registrations are judged by them.
    """
    return log.of(REGISTER, *PURPOSES_OF_FREE_KEYS)


def repeated_registrations(log: Log) -> list[Exchange]:
    """The registrations of keys that were registered right before, so that they were registered a second time."""
    return log.of(REGISTER, Registering.SECOND_TIME)


def is_answered_like_registered_keys(registration: Exchange, log: Log) -> bool:
    """True if a registration is answered like each second registration of a registered key; False if none was sent.

    Then its answer may say that the key is registered already.
    """
    second_registrations = repeated_registrations(log)
    return bool(second_registrations) and is_answered_like_each(registration, second_registrations)


def registrations_for(log: Log, *purposes: Registering) -> list[Exchange]:
    """The registrations that were sent for one of these purposes, without those that a limit of the run kept back."""
    return log.sent(REGISTER, *purposes)


def understood_registrations(log: Log) -> list[Exchange]:
    """The valid registrations that the service understood: it accepted the key, or said that it is registered."""
    return list(filter(is_understood, valid_registrations(log)))


def accepted_registrations(log: Log) -> list[Exchange]:
    """The valid registrations that the service accepted: the answer says that the key is registered."""
    return list(filter(registered, valid_registrations(log)))


def of_undocumented_types(log: Log) -> list[Exchange]:
    """The registrations with a key type that is not documented, which a service must refuse.

    Those with an empty type ("" or null) are left out if a registration without a type is accepted, too: then they mean
    "no type", and the interface document does not show whether a type is required.
    """
    registrations = registrations_for(log, Registering.UNDOCUMENTED_TYPE)
    type_may_be_missing = any(map(registered, registrations_for(log, Registering.WITHOUT_A_TYPE)))
    if not type_may_be_missing:
        return registrations
    return [exchange for exchange in registrations if body_sent(exchange)["pixKeyType"]]


def results_for_other_types(log: Log) -> list[Exchange]:
    """The registrations of a key type that is not as documented, which were answered with a registration result.

    A registration result has status 200, code 0 and the field `Success`. It must be as documented, even if it says that
    the key was not registered. Such a type is an undocumented one, a number, or a type in lower case.
    """
    return list(filter(is_judged_as_success, registrations_for(log, *PURPOSES_WITH_OTHER_TYPES)))


def valid_deletions(log: Log) -> list[Exchange]:
    """The deletions that the service must accept: their keys were certainly registered at that moment."""
    return log.valid(DELETE)
