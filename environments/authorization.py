"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping

VALID = "valid"
_NEXT = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "bcdefghijklmnopqrstuvwxyzaBCDEFGHIJKLMNOPQRSTUVWXYZA1234567890",
)


_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ENDING = "pixconf0"
"""As short as that, it stands in the signature of a signed token, and what is signed stays as it was."""


def _basic(_: str) -> str:
    return "Basic " + base64.b64encode(b"pixconf:pixconf").decode()


BAD_CREDENTIALS: Mapping[str, Callable[[str], str | None]] = {
    "no header": lambda token: None,
    "a wrong token": lambda token: "Bearer " + token.translate(_NEXT),
    "the token cut short": lambda token: "Bearer " + token[:-1],
    "the token lengthened": lambda token: "Bearer " + token + "x",
    "the token with another ending": lambda token: "Bearer " + token[: -len(_ENDING)] + _ENDING,
    "the token behind another character": lambda token: "Bearer x" + token,
    "the token in another letter case": lambda token: "Bearer " + token.swapcase(),
    "an empty bearer": lambda token: "Bearer",
    "Basic credentials": _basic,
}
"""Credentials that are not the access token (document, Authentication 1), by the name that reports give them."""

OTHER_SCHEMES: Mapping[str, Callable[[str], str | None]] = {
    "the bare token": lambda token: token,
    "the token under the scheme Token": lambda token: "Token " + token,
}
"""The access token itself, but not as the document shows it."""

MISTAKEN_CREDENTIALS: Mapping[str, Callable[[str], str | None]] = {
    "an empty header": lambda token: "",
    "a scheme that nobody knows": lambda token: "Pixconf a=b,c",
    "a bearer of two words": lambda token: "Bearer pixconf pixconf",
    "a bearer outside ASCII": lambda token: "Bearer pixconf-ação",
    "an over-long bearer": lambda token: "Bearer " + "x" * 4_000,
    "a signed token cut short": lambda token: "Bearer eyJhbGciOiJSUzI1NiJ9.e30",
    "a signed token that is no JSON": lambda token: "Bearer cGl4.cGl4.cGl4",
    "Basic credentials that are no base64": lambda token: "Basic %pixconf%",
}
"""What a client sends by mistake: a service that reads it carelessly breaks on it."""


def authorization(credential: str, token: str) -> str | None:
    """The value of the Authorization header; None for no header. KeyError for an unknown name."""
    if credential == VALID:
        return f"Bearer {token}"
    return {**BAD_CREDENTIALS, **OTHER_SCHEMES, **MISTAKEN_CREDENTIALS}[credential](token)


def is_bad(credential: str, token: str) -> bool:
    """Whether the credential differs from the valid one for this token: one of digits alone has no letter case, and a
    UUID is the same in either (RFC 9562 section 4)."""
    sent = authorization(credential, token)
    return sent != f"Bearer {token}" and not (_UUID.fullmatch(token) and sent == f"Bearer {token.swapcase()}")
