"""What the answers to key registrations show of what the interface document does not show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from environments.profiles.model import PixKey
from reports.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import ABOUT_THE_CALLER, data_of, find, refusal_kind, registered
from spec.exchange import Exchange
from spec.observed import ObservedValues, answer_of, by_situation, counts, indistinguishable
from tests.traffic.observations import format_of
from tests.traffic.registrar import Registrations, body_sent, type_sent

ACCEPTED, REFUSED = "accepted", "refused"
LIKE_COMPLETE = "answered like a complete registration"
"""Accepted, as any key is, or refused: then the service looks at something else first."""
_SUCCESSES = ("true", "false", "True", "False")


def _outcome(seen: Exchange) -> str:
    return ACCEPTED if registered(seen) else REFUSED


def repeated_values(repeated: Iterable[Exchange]) -> ObservedValues:
    """The answers to registrations of keys that are there already, and what they have as Success."""
    found: ObservedValues = {}
    for seen in filter(counts, repeated):
        found.setdefault("", []).append(answer_of(seen))
        success = find(data_of(seen.response) or {}, "Success") if seen.response else None
        if success:
            word = success[1] if success[1] in _SUCCESSES else "another value"
            found.setdefault("the field Success", []).append(word)
    return found


def numeric_values(numeric: Iterable[Exchange], keys: Iterable[PixKey]) -> ObservedValues:
    """The digits that are accepted as key type. A service may look whether the key fits, and another profile has another
    key: so the situation says which type is right."""
    types = {key.key: key.type for key in keys if key.key}

    def situation(seen: Exchange) -> str:
        return f"digit {type_sent(seen)} in place of {types.get(body_sent(seen)['pixKey'], 'EMAIL')}"

    return by_situation((situation(seen), _outcome(seen)) for seen in filter(counts, numeric))


def required_values(without: Mapping[str, Exchange], complete: Exchange | None) -> ObservedValues:
    """The fields that a registration needs: not where one without it is accepted, and surely where a complete one of the
    same key is answered otherwise."""
    return by_situation(
        (f"without {name}", value) for name, seen in without.items() if (value := _needed(seen, complete))
    )


def _needed(seen: Exchange, complete: Exchange | None) -> str:
    """What a service that looks at the key first refuses, one that takes any key accepts: both answer it like a complete
    one."""
    if complete is None:
        return NOT_REQUIRED if registered(seen) else ""
    is_alike = registered(seen) and registered(complete)
    if is_alike or indistinguishable(seen, complete):
        return LIKE_COMPLETE
    return NOT_REQUIRED if registered(seen) else REQUIRED


def relation_values(seen: Exchange | None, complete: Exchange | None) -> ObservedValues:
    """What becomes of a registration whose body names another account than its path."""
    told = {NOT_REQUIRED: ACCEPTED, REQUIRED: REFUSED}
    value = _needed(seen, complete) if seen else ""
    return {"an unknown account in the body": [told.get(value, value)]} if value else {}


def formats_of_granted(registrations: Registrations) -> ObservedValues:
    """The formats of the keys of valid registrations that were granted. How a RANDOM key is asked for is the service's
    choice; keys of the other types are those of the profile, and other ones may be accepted as well."""
    bodies = [body_sent(seen) for seen in registrations.accepted]
    forms = [(body["pixKeyType"], format_of(body["pixKey"]) if "pixKey" in body else "left out") for body in bodies]
    return by_situation((name, form) if name == "RANDOM" else (f"{name}, {form}", ACCEPTED) for name, form in forms)


def formats_of_synthetic(seen: Exchange | None) -> ObservedValues:
    """What becomes of a synthetic text that is sent as a key: it has the format of none."""
    if seen is None or seen.response is None or refusal_kind(seen.response) in ABOUT_THE_CALLER:
        return {}
    return {f"{type_sent(seen)}, a text that is no such key": [_outcome(seen)]}
