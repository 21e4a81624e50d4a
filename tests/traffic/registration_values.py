"""What the answers to key registrations show of what the interface document does not show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from environments.profiles.profile import PixKey
from reports.observations.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import ABOUT_THE_CALLER, data_of, find, refusal_kind, registered
from spec.exchange import Exchange
from spec.interface import KEY_TYPES
from spec.json_text import leaves_of, read_json
from tests.traffic.answered import Values, answer_of, answered_in_the_same_words, by_situation, counts
from tests.traffic.observations import format_of
from tests.traffic.refused_key_types import type_sent
from tests.traffic.registered import Registrations

ACCEPTED, REFUSED = "accepted", "refused"
LIKE_COMPLETE = "answered like a complete registration"
"""Accepted, as any key is, or refused: then the service looks at something else first."""
_SUCCESSES = ("true", "false", "True", "False")


def repeated_values(repeated: Iterable[Exchange]) -> Values:
    """How the registration of a key is answered that is there already, and what it has as Success."""
    found: Values = {}
    for seen in filter(counts, repeated):
        found.setdefault("", []).append(answer_of(seen))
        success = find(data_of(seen.response) or {}, "Success") if seen.response else None
        if success:
            word = success[1] if success[1] in _SUCCESSES else "another value"
            found.setdefault("the field Success", []).append(word)
    return found


def numeric_values(numeric: Iterable[Exchange], keys: Iterable[PixKey]) -> Values:
    """Whether each digit is accepted as key type, and as which where the service reveals it. A service may look whether
    the key fits, and another profile has another key: so the situation says which type is right."""
    types = {key.key: key.type for key in keys if key.key}

    def situation(seen: Exchange) -> str:
        return f"digit {type_sent(seen)} in place of {types.get(read_json(seen.request.body).value['pixKey'], 'EMAIL')}"

    def value(seen: Exchange) -> str:
        taken = type_told(seen)
        return (f"accepted as {taken}" if taken else "accepted") if registered(seen) else REFUSED

    return by_situation((situation(seen), value(seen)) for seen in filter(counts, numeric))


def type_told(seen: Exchange) -> str:
    """The one key type that an answer names, or an empty text."""
    value = seen.response.json.value if seen.response else None
    named = {item for _, item in leaves_of(value) if isinstance(item, str) and item in KEY_TYPES}
    return named.pop() if len(named) == 1 else ""


def required_values(without: Mapping[str, Exchange], complete: Exchange | None) -> Values:
    """Whether a registration needs each field: not where one without it is accepted, and surely where a complete one of
    the same key is answered otherwise."""
    return by_situation(
        (f"without {name}", value) for name, seen in without.items() if (value := _needed(seen, complete))
    )


def _needed(seen: Exchange, complete: Exchange | None) -> str:
    """What a service that looks at the key first refuses, one that takes any key accepts: both answer it like a complete
    one."""
    if complete is None:
        return NOT_REQUIRED if registered(seen) else ""
    is_alike = registered(seen) and registered(complete)
    if is_alike or answered_in_the_same_words(seen, complete):
        return LIKE_COMPLETE
    return NOT_REQUIRED if registered(seen) else REQUIRED


def relation_values(seen: Exchange | None, complete: Exchange | None, random: Exchange | None) -> Values:
    """Whether the body may name another account than the path. A RANDOM key has no format to look at first."""
    told = {NOT_REQUIRED: ACCEPTED, REQUIRED: REFUSED}
    found: Values = {}
    if value := _needed(seen, complete) if seen else "":
        found["an unknown account in the body"] = [told.get(value, value)]
    if random is not None and counts(random):
        found["an unknown account in the body, with a RANDOM key"] = [ACCEPTED if registered(random) else REFUSED]
    return found


def formats_of_granted(registrations: Registrations) -> Values:
    """The formats of the keys of valid registrations that were granted. How a RANDOM key is asked for is the service's
    choice; keys of the other types are those of the profile, and other ones may be accepted as well."""
    granted = (read_json(seen.request.body).value for seen in registrations.accepted)
    seen = ((body["pixKeyType"], _format_in(body)) for body in granted)
    return by_situation((name, form) if name == "RANDOM" else (f"{name}, {form}", ACCEPTED) for name, form in seen)


def _format_in(body: Mapping[str, Any]) -> str:
    key = body.get("pixKey")
    return "left out" if key is None else format_of(key)


def formats_of_synthetic(seen: Exchange | None) -> Values:
    """Whether a synthetic text is accepted as a key: it has the format of none."""
    if seen is None or seen.response is None or refusal_kind(seen.response) in ABOUT_THE_CALLER:
        return {}
    sent = read_json(seen.request.body).value["pixKeyType"]
    return {f"{sent}, a text that is no such key": [ACCEPTED if registered(seen) else REFUSED]}
