"""Why requests about keys are sent, and questions to the log about registrations.

The scenarios of this folder give each request one of these purposes, and the tests ask the log by them.

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

REGISTER = "registerPixKey"
LIST = "listPixKeys"
DELETE = "deletePixKey"


class Registering(Purpose):
    """Why a request is sent to POST /v1/pix/keys/{accountId}, unless it is generated or a step of a sequence."""

    FIRST_TIME = "a key for the first time"
    PERHAPS_REGISTERED = "a key that may be registered already"
    SECOND_TIME = "the same key again"
    BESIDE_OTHERS = "a key at the same moment as others"
    ONCE_MORE = "a key once more after its deletion, because one answer of several may differ"
    RIGHT_BEHIND_MONEY = "a key right behind an execution or a preparation"
    AFTER_A_REFUSAL = "the same key again, because its type was refused"
    OF_ANOTHER_TYPE = "a key of another type, because one was refused"
    WITH_A_DIFFERENCE = "a key in another form, to see what the service needs"
    WITHOUT_THE_DIFFERENCE = "the same key as documented, because another form was accepted"
    UNDOCUMENTED_TYPE = "a type that is not documented"
    WITHOUT_A_TYPE = "no type, because an empty one was accepted"
    OTHER_NAME = "another name of RANDOM"
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


OTHER_TYPES = (Registering.UNDOCUMENTED_TYPE, Registering.OTHER_NAME, Registering.LOWER_CASE, Registering.NUMERIC)
"""Purposes of registrations with a type that is not written as in the interface document."""


# -- one registration -----------------------------------------------------------------------------------------------


def body_sent(exchange: Exchange) -> dict[str, Any]:
    """The body of a registration, which must be a JSON object."""
    body: dict[str, Any] = read_json(exchange.request.body).value
    return body


def key_sent(exchange: Exchange) -> str:
    """The key that a registration names; empty if it names none."""
    return _key_in(exchange.request.body)


@lru_cache(maxsize=2_000)  # a run sends fewer registrations, and its judges ask for the key of each many times
def _key_in(body: bytes) -> str:
    """The text of the member `pixKey`; empty if there is none."""
    content = read_json(body).value
    key = content.get("pixKey") if isinstance(content, dict) else None
    return key if isinstance(key, str) else ""


def type_sent(exchange: Exchange) -> str:
    """The key type that a registration names, as text; the text "None" if it names none."""
    return str(body_sent(exchange).get("pixKeyType"))


def is_understood(exchange: Exchange) -> bool:
    """True if the service understood the key type of a registration.

    It answered 409 (conflict), or a registration result. The field Success of the result may be true or false.
    """
    return refusal_or_failure(exchange) is RefusalKind.CONFLICT or succeeded(exchange)


def is_refused_outright(exchange: Exchange) -> bool:
    """True if the service refused a request because of its content.

    A refusal for the token, the rate or the load is not about its content. Nor is a conflict: the key is registered.
    """
    return refusal_or_failure(exchange) in ABOUT_THE_REQUEST - {RefusalKind.CONFLICT}


# -- registrations in the log ---------------------------------------------------------------------------------------


def valid_registrations(log: Log) -> list[Exchange]:
    """The answers to valid registrations of the scenarios, without those of sequences and of generated traffic."""
    return log.valid(REGISTER)


def first_registrations(log: Log) -> list[Exchange]:
    """The answers to valid registrations of keys that were not registered."""
    return log.of(REGISTER, Registering.FIRST_TIME)


def registrations_of_free_keys(log: Log) -> list[Exchange]:
    """The answers to valid registrations of keys that were free: for the first time, or after their deletion."""
    purposes = (
        Registering.FIRST_TIME,
        Registering.BESIDE_OTHERS,
        Registering.ONCE_MORE,
        Registering.RIGHT_BEHIND_MONEY,
    )
    return log.of(REGISTER, *purposes)


def repeated_registrations(log: Log) -> list[Exchange]:
    """The answers to registrations of keys that were registered just before."""
    return log.of(REGISTER, Registering.SECOND_TIME)


def registrations_for(log: Log, *purposes: Registering) -> list[Exchange]:
    """The registrations with one of these purposes, without those that a limit kept back."""
    return log.sent(REGISTER, *purposes)


def understood_registrations(log: Log) -> list[Exchange]:
    """The valid registrations whose key type was understood."""
    return list(filter(is_understood, valid_registrations(log)))


def accepted_registrations(log: Log) -> list[Exchange]:
    """The valid registrations that were granted."""
    return list(filter(registered, valid_registrations(log)))


def of_undocumented_types(log: Log) -> list[Exchange]:
    """The registrations with a key type that is not documented.

    The empty text and null are left out if a registration without a type is accepted, too. They mean "no type" then.
    """
    registrations = registrations_for(log, Registering.UNDOCUMENTED_TYPE)
    type_may_be_missing = any(map(registered, registrations_for(log, Registering.WITHOUT_A_TYPE)))
    if not type_may_be_missing:
        return registrations
    return [exchange for exchange in registrations if body_sent(exchange)["pixKeyType"]]


def declined_types(log: Log) -> list[Exchange]:
    """The registration results for types that are not written as in the interface document.

    A registration result has status 200, code 0 and a field Success, which says whether the key was registered.
    """
    return list(filter(is_judged_as_success, registrations_for(log, *OTHER_TYPES)))


def valid_deletions(log: Log) -> list[Exchange]:
    """The answers to deletions of keys that were surely registered at that moment."""
    return log.valid(DELETE)
