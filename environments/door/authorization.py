"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from environments.door.wrong_tokens import ANOTHER, FORMS, NO_HEADER, OTHER_SCHEMES, Form, wrong_tokens

if TYPE_CHECKING:
    from environments.profiles.profile import Profile

VALID = "valid"
INVALID_CREDENTIALS: Mapping[str, str] = {
    "an empty header": "",
    "an unknown scheme": "Pixconf a=b,c",
    "a bearer of two words": "Bearer pixconf pixconf",
    "a bearer outside ASCII": "Bearer pixconf-ação",
    "an over-long bearer": "Bearer " + "x" * 4_000,
    "a signed token cut short": "Bearer eyJhbGciOiJSUzI1NiJ9.e30",
    "a signed token that is no JSON": "Bearer cGl4.cGl4.cGl4",
    "Basic credentials that are no base64": "Basic %pixconf%",
}
"""Headers that are not well formed. A service that reads them carelessly breaks on them."""
_FORMS = {form.name: form for form in FORMS}
_SCHEMES = {form.name: form.scheme for form in OTHER_SCHEMES}
RESTORABLE = frozenset(form.name for form in (*FORMS, *OTHER_SCHEMES) if form.restorable)
"""Forms that tell the token to all who read them: they need `fuzz`."""


def forms(profile: Profile, token: str = "", among: tuple[Form, ...] = FORMS) -> list[Form]:
    """The rows of the table that the profile permits, in their order; of a token those that apply to it."""
    permitted = [form for form in among if not form.restorable or "fuzz" in profile.allow]
    return [form for form in permitted if not (token and form.make) or form.name in wrong_tokens(token)]


def authorization(credential: str, token: str) -> str | None:
    """The value of the Authorization header; None for no header. KeyError for an unknown name.

    A token that was fetched again may be of another sort than the one that the names were chosen for: where a form does
    not apply to it, ANOTHER stands for it.
    """
    if credential == NO_HEADER:
        return None
    if credential == VALID or credential in _SCHEMES:
        return _SCHEMES.get(credential, "Bearer ") + token
    if credential in INVALID_CREDENTIALS:
        return INVALID_CREDENTIALS[credential]
    form, wrong = _FORMS[credential], wrong_tokens(token)
    return (form.scheme + (wrong.get(form.name, wrong[ANOTHER]) if form.make else "")).rstrip()
