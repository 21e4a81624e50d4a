"""The coverage phase: which classes of invalid requests an operation gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from environments.profiles.profile import Profile
from spec.interface import operations
from tests.traffic import invalid
from tests.traffic.case import Case, as_bytes, form_of, places_of

_HARDEST = {
    "registerPixKey": "pixKey", "deletePixKey": "pixKey", "createPix": "message",
    "transferExternal": "to", "transferInternal": "description", "transferP2p": "description",
}  # fmt: skip
"""The member that gets the texts that are hard to hold."""

_OF_EVERY_CREDENTIAL = ("registerPixKey", "listAccounts")
"""One that writes and one that reads: a service reads the header in one place, or in one for each."""


def coverage(operation: str, profile: Profile) -> Iterator[Case]:
    """A case for each class of invalid requests, and what Schemathesis makes of the schema."""
    from tests.traffic.generation.schema import coverage_cases

    place = next(iter(places_of(operation, profile)), None)
    form = form_of(operation, profile)
    body = as_bytes(form) if form else None
    yield from invalid.query_cases(operation, place, body)
    if operations()[operation].path_parameter:
        names = invalid.ARGUMENTS if operation == "executePix" else invalid.EVERYWHERE
        yield from invalid.argument_cases(operation, body, names)
    credentials = invalid.CREDENTIALS if operation in _OF_EVERY_CREDENTIAL else invalid.COMMON_CREDENTIALS
    yield from invalid.credential_cases(operation, place, body, credentials)
    if form:
        yield from _body_classes(operation, place, form, profile)
    yield from coverage_cases(operation, place if form else None, form)


def _body_classes(operation: str, place: str | None, form: Mapping[str, Any], profile: Profile) -> Iterator[Case]:
    registers, deletes = operation == "registerPixKey", operation == "deletePixKey"
    yield from invalid.text_cases(operation, place, invalid.TEXTS if registers else invalid.ANYWHERE)
    yield from invalid.missing_cases(operation, place, form)
    yield from invalid.value_cases(operation, place, form)
    own = profile.accounts[0] if deletes and profile.accounts else place
    if own != place:
        yield from invalid.text_cases(operation, own, invalid.UNREADABLE)
    texts = invalid.STRINGS if registers or deletes else invalid.HARDEST
    yield from invalid.string_cases(operation, own, form, _HARDEST[operation], texts)
    for name in (name for name, valid in form.items() if isinstance(valid, str) and name != _HARDEST[operation]):
        yield from invalid.string_cases(operation, place, form, name, invalid.OVERFLOWING)
    yield from invalid.shape_cases(operation, own, form)
    if registers:
        yield from invalid.key_type_cases(operation, place, form)
    types = tuple(invalid.CONTENT_TYPES) if registers else invalid.COMMON_TYPES
    yield from invalid.content_type_cases(operation, place, as_bytes(form), types)
