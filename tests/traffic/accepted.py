"""Drawn registrations that the service accepted, although the interface document promises them no success.

The document says what the answer to a successful registration is. A registration that was drawn at random may be
refused. But if it is accepted, its answer is judged like that to any other registration. Two things show that:

- the answer says so: `Success` is true
- the answer is no refusal, and the list of keys shows the key, which no other registration named. So an answer that
  cannot be read is judged, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from environments.door.bodies import key_and_type_in
from environments.door.client import Client
from environments.profiles.model import Profile
from spec.answers import is_granted, is_uncertain_registration, registered
from spec.exchange import VALID, Exchange
from spec.json_text import read_json
from tests.traffic.case import TYPES_EXCEPT_RANDOM
from tests.traffic.collecting import requirements_of
from tests.traffic.keys.registrar import Registrar

_REGISTER = "registerPixKey"
REQUIREMENTS_OF_ACCEPTED = tuple(
    requirement_id
    for requirement_id in requirements_of(_REGISTER, valid=True)
    # A service may store an unusual key in another form, such as in small letters, so this one is left out.
    if requirement_id != "registerPixKey.Key.matches" and requirement_id not in requirements_of(_REGISTER, valid=False)
)
"""The requirements by which the answer to an accepted registration is judged, besides those on robustness."""


class AcceptedRegistrations:
    """Says which drawn registrations of a run were accepted: by their answers, or by the list of keys."""

    def __init__(self, client: Client, profile: Profile) -> None:
        """`client` sends the request for the list, and has the log of the run."""
        self._client = client
        self._profile = profile

    def read_list(self) -> None:
        """Read the list of keys, which shows whether a registration with an unclear answer was accepted."""
        Registrar(self._client, self._profile).read_key_list()

    def is_accepted(self, exchange: Exchange) -> bool:
        """True if the registration has the documented form, and the service registered its key."""
        if not _is_of_documented_form(exchange) or not is_granted(exchange):
            return False
        return registered(exchange) or (is_unclear(exchange) and self._key_is_listed(exchange))

    def as_valid(self, requirement_id: str, exchange: Exchange) -> Exchange:
        """The exchange to judge for a requirement: as a valid one if the registration was accepted, else as it is."""
        if requirement_id in REQUIREMENTS_OF_ACCEPTED and self.is_accepted(exchange):
            return replace(exchange, valid=True)
        return exchange

    def _key_is_listed(self, exchange: Exchange) -> bool:
        """True if a list showed the key of the registration, and no other request of the run tried to register it."""
        value, _ = key_and_type_in(exchange.request.body)
        run_key = self._client.door.keys.key_of(exchange)
        if run_key is None or run_key.value != value or not run_key.was_listed:
            return False
        registrations = self._client.door.log.attempts(_REGISTER)
        numbers = [other.number for other in registrations if key_and_type_in(other.request.body)[0] == value]
        return numbers == [exchange.number]


def is_unclear(exchange: Exchange) -> bool:
    """True if only the list of keys can show if a registration was accepted, because its answer does not say it."""
    return _is_of_documented_form(exchange) and is_granted(exchange) and is_uncertain_registration(exchange)


def _is_of_documented_form(exchange: Exchange) -> bool:
    """True if a registration has the valid token, a text as key, a documented type, and a text as account or none.

    RANDOM is left out, because the service makes the key for it, so that no list can show that it was accepted.
    """
    if exchange.operation != _REGISTER or exchange.credential != VALID:
        return False
    body: Any = read_json(exchange.request.body).value
    if not isinstance(body, dict):
        return False
    key = body.get("pixKey")
    has_text_as_key = isinstance(key, str) and key != ""
    has_text_as_account_or_none = isinstance(body.get("account", ""), str)
    has_documented_type = body.get("pixKeyType") in TYPES_EXCEPT_RANDOM
    return has_text_as_key and has_text_as_account_or_none and has_documented_type
