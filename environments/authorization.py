"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping

VALID = "valid"
ANOTHER_CASE = "the token in another letter case"
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f-]+")
_NEXT = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "bcdefghijklmnopqrstuvwxyzaBCDEFGHIJKLMNOPQRSTUVWXYZA1234567890",
)


def _basic(_: str) -> str:
    return "Basic " + base64.b64encode(b"pixconf:pixconf").decode()


BAD_CREDENTIALS: Mapping[str, Callable[[str], str | None]] = {
    "no header": lambda token: None,
    "a wrong token": lambda token: "Bearer " + token.translate(_NEXT),
    "the token cut short": lambda token: "Bearer " + token[:-1],
    "the token lengthened": lambda token: "Bearer " + token + "x",
    ANOTHER_CASE: lambda token: "Bearer " + token.swapcase(),
    "an empty bearer": lambda token: "Bearer",
    "Basic credentials": _basic,
}
"""Credentials that are not the access token (document, Authentication 1), by the name that reports give them."""

OTHER_SCHEMES: Mapping[str, Callable[[str], str | None]] = {
    "the bare token": lambda token: token,
    "the token under the scheme Token": lambda token: "Token " + token,
}
"""The access token itself, but not as the document shows it."""


def authorization(credential: str, token: str) -> str | None:
    """The value of the Authorization header; None for no header. KeyError for an unknown name."""
    if credential == VALID:
        return f"Bearer {token}"
    return {**BAD_CREDENTIALS, **OTHER_SCHEMES}[credential](token)


def is_bad(credential: str, token: str) -> bool:
    """Whether the credential differs from the valid one for this token.

    One of digits alone has no letter case, nor has one of hexadecimal digits, as a UUID (RFC 9562 section 4).
    """
    if credential == ANOTHER_CASE and _HEXADECIMAL.fullmatch(token):
        return False
    return authorization(credential, token) != f"Bearer {token}"
