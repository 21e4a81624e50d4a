"""The invalid requests that the targeted tests send: a few of each class. Generated traffic sends them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from environments.door.client import synthetic
from environments.profiles.profile import Profile
from spec.interface import operations
from tests.traffic import invalid
from tests.traffic.case import Case, as_bytes, form_of

_REGISTER = "registerPixKey"
_ARGUMENTS = (
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
        yield from invalid.with_parameter(Case(operation), _ARGUMENTS)
    elif documented.path_parameter and documented.method == "GET":
        yield from invalid.with_parameter(Case(operation), ("unknown", "with an encoded slash"))
    elif operation == _REGISTER:
        yield from _registrations(profile)
    elif documented.method == "DELETE":
        yield from invalid.with_each(Case(operation, argument=synthetic()), "body", "body", invalid.TEXTS, _TEXTS[:4])
    elif documented.method == "POST":
        yield from invalid.with_each(Case(operation), "body", "body", invalid.TEXTS, _TEXTS[:2])
        yield from invalid.with_member(
            Case(operation), form_of(operation, profile) or {}, "value", invalid.VALUES, ("text",)
        )


def _registrations(profile: Profile) -> Iterator[Case]:
    form = form_of(_REGISTER, profile) or {}
    case = Case(_REGISTER, argument=profile.accounts[0] if profile.accounts else synthetic(), body=as_bytes(form))
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, _TEXTS)
    yield from invalid.with_other_types(case, form, ("null", "a number"))
    yield from invalid.with_member(case, form, "account", invalid.VALUES, ("an object",))
    yield from invalid.with_member(case, form, "pixKey", invalid.STRINGS, _STRINGS)
    yield from invalid.with_each(case, "Content-Type", "content_type", invalid.CONTENT_TYPES, ("a form",))
    yield replace(case, where="accountId", what="unknown", argument=synthetic())


def incomplete(profile: Profile, account: str) -> Iterator[Case]:
    """Registrations of a synthetic key, each without one of the documented members."""
    return invalid.without_each_member(Case(_REGISTER, argument=account), form_of(_REGISTER, profile) or {})
