"""The invalid requests that the targeted tests send: a few of each class. Generated traffic sends them all."""

from __future__ import annotations

from collections.abc import Iterator

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
        yield from invalid.argument_cases(operation, None, _ARGUMENTS)
    elif documented.path_parameter and documented.method == "GET":
        yield from invalid.argument_cases(operation, None, ("unknown", "with an encoded slash"))
    elif operation == _REGISTER:
        yield from _registrations(profile)
    elif documented.method == "DELETE":
        yield from invalid.text_cases(operation, synthetic(), _TEXTS[:4])
    elif documented.method == "POST":
        yield from invalid.text_cases(operation, None, _TEXTS[:2])
        yield from invalid.value_cases(operation, None, form_of(operation, profile) or {}, ("text",))


def _registrations(profile: Profile) -> Iterator[Case]:
    account = profile.accounts[0] if profile.accounts else synthetic()
    form = form_of(_REGISTER, profile) or {}
    yield from invalid.text_cases(_REGISTER, account, _TEXTS)
    yield from invalid.value_cases(_REGISTER, account, form, ("null", "a number"))
    objects = invalid.value_cases(_REGISTER, account, form, ("an object",))
    yield from (case for case in objects if case.where == "account")
    yield from invalid.string_cases(_REGISTER, account, form, "pixKey", _STRINGS)
    yield from invalid.content_type_cases(_REGISTER, account, as_bytes(form), ("a form",))
    yield Case(_REGISTER, "accountId", "unknown", synthetic(), as_bytes(form))


def incomplete(profile: Profile, account: str) -> Iterator[Case]:
    """Registrations of a synthetic key, each without one of the documented members."""
    return invalid.missing_cases(_REGISTER, account, form_of(_REGISTER, profile) or {})
