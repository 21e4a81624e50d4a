"""Which classes of invalid requests an operation gets: a few of each from the targeted tests, all from the coverage phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from environments.door.permission import synthetic
from environments.profiles.profile import Profile
from spec.interface import operations
from tests.traffic import invalid
from tests.traffic.case import NAMED_TYPES, Case, Form, as_bytes, form_of, places_of

_REGISTER = "registerPixKey"
_PATH_PARAMETERS = (
    "very long", "with an encoded slash", "outside the basic plane", "with quotes", "with NUL", "with a question mark",
)  # fmt: skip
_TEXTS = ("cut short", "empty", "an array", "a text", "null", "an empty object", "deeply nested", "no UTF-8")
_STRINGS = ("a long text", "text outside the basic plane", "text with NUL")


def malformed(operation: str, profile: Profile) -> Iterator[Case]:
    """The invalid requests to an operation; none where the profile does not permit them."""
    documented = operations()[operation]
    if "fuzz" not in profile.allow:
        return
    if operation == "executePix":
        yield from invalid.with_parameter(Case(operation), _PATH_PARAMETERS)
    elif documented.path_parameter and documented.method == "GET":
        yield from invalid.with_parameter(Case(operation), ("unknown", "with an encoded slash"))
    elif operation == _REGISTER:
        yield from _registrations(profile)
    elif documented.method == "DELETE":
        yield from invalid.with_each(
            Case(operation, path_parameter=synthetic()), "body", "body", invalid.TEXTS, _TEXTS[:4]
        )
    elif documented.method == "POST":
        yield from invalid.with_each(Case(operation), "body", "body", invalid.TEXTS, _TEXTS[:2])
        yield from invalid.with_member(
            Case(operation), form_of(operation, profile) or {}, "value", invalid.VALUES, ("text",)
        )


def _registrations(profile: Profile) -> Iterator[Case]:
    form = form_of(_REGISTER, profile) or {}
    case = Case(_REGISTER, path_parameter=profile.accounts[0] if profile.accounts else synthetic(), body=as_bytes(form))
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, _TEXTS)
    yield from invalid.with_other_types(case, form, ("null", "a number"))
    yield from invalid.with_member(case, form, "account", invalid.VALUES, ("an object",))
    yield from invalid.with_member(case, form, "pixKey", invalid.STRINGS, _STRINGS)
    yield from invalid.with_each(case, "Content-Type", "content_type", invalid.CONTENT_TYPES, ("a form",))
    yield replace(case, where="accountId", what="unknown", path_parameter=synthetic())


def incomplete(profile: Profile, account: str) -> Iterator[Case]:
    """Registrations of a synthetic key, each without one of the documented members."""
    return invalid.without_each_member(Case(_REGISTER, path_parameter=account), form_of(_REGISTER, profile) or {})


# -- generated traffic -------------------------------------------------------------------------------------------------

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
    case = Case(operation, path_parameter=place, body=as_bytes(form) if form else None)
    yield from invalid.with_each(case, "query", "query", invalid.QUERIES)
    if operations()[operation].path_parameter:
        yield from invalid.with_parameter(
            case, invalid.PATH_PARAMETERS if operation == "executePix" else invalid.EVERYWHERE
        )
    credentials = invalid.CREDENTIALS if operation in _OF_EVERY_CREDENTIAL else invalid.COMMON_CREDENTIALS
    yield from invalid.with_each(case, "Authorization", "credential", invalid.CREDENTIALS, credentials)
    if form:
        yield from _bodies(case, form, profile)
    yield from coverage_cases(operation, place if form else None, form)


def _bodies(case: Case, form: Form, profile: Profile) -> Iterator[Case]:
    registers, deletes = case.operation == "registerPixKey", case.operation == "deletePixKey"
    own = replace(case, path_parameter=profile.accounts[0]) if deletes and profile.accounts else case
    hardest = _HARDEST[case.operation]
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, None if registers else invalid.ANYWHERE)
    yield from invalid.without_each_member(case, form)
    yield from invalid.with_other_types(case, form)
    if own != case:
        yield from invalid.with_each(own, "body", "body", invalid.TEXTS, invalid.UNREADABLE)
    yield from invalid.with_member(
        own, form, hardest, invalid.STRINGS, None if registers or deletes else invalid.HARDEST
    )
    for name in (name for name, valid in form.items() if isinstance(valid, str) and name != hardest):
        yield from invalid.with_member(case, form, name, invalid.STRINGS, invalid.OVERFLOWING)
    yield from invalid.with_other_shapes(own, form)
    if registers:
        wrong = invalid.with_member(case, form, "pixKeyType", {f"no {name}": name for name in NAMED_TYPES})
        yield from (replace(each, where="pixKey") for each in wrong)  # it is the key that does not fit
    types = None if registers else invalid.COMMON_TYPES
    yield from invalid.with_each(case, "Content-Type", "content_type", invalid.CONTENT_TYPES, types)
