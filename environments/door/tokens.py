"""The parts of a signed access token."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BASE64URL = re.compile("[A-Za-z0-9_-]*")


@dataclass(frozen=True, repr=False)
class SignedToken:
    """A JSON Web Token in its compact form (RFC 7519 section 3, RFC 7515 section 3.1)."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: bytes
    written: tuple[str, str, str]

    def altered(
        self,
        *,
        header: Mapping[str, Any] | None = None,
        claims: Mapping[str, Any] | None = None,
        signature: bytes | None = None,
    ) -> str:
        """The token with some members replaced or added, or with another signature; the rest stays as written."""
        head, body, tail = self.written
        return ".".join(
            (
                _encoded(_json(self.header, header)) if header else head,
                _encoded(_json(self.claims, claims)) if claims else body,
                tail if signature is None else _encoded(signature),
            )
        )


def signed_token(token: str) -> SignedToken | None:
    """The parts of a JSON Web Token: three of base64url, the first two of them JSON objects. None for another text."""
    parts = token.split(".")
    if len(parts) != 3 or not all(map(_BASE64URL.fullmatch, parts)):
        return None
    try:
        header, claims = (json.loads(_decoded(part)) for part in parts[:2])
        signature = _decoded(parts[2])
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return SignedToken(header, claims, signature, (parts[0], parts[1], parts[2]))


def parts_that_tell(token: str) -> tuple[str, ...]:
    """A token, and of a signed one the parts that are a secret by themselves: its claims and its signature."""
    signed = signed_token(token)
    return (token, *(part for part in signed.written[1:] if part)) if signed else (token,)


def personal_claims(token: str) -> tuple[str, ...]:
    """What a signed token says of whom it was given to: its claims as written, and texts among them that name somebody
    (OpenID Connect Core section 5.1, and what is usual beside it). A plain word names no person."""
    signed = signed_token(token)
    if signed is None:
        return ()
    texts = (value for name, value in signed.claims.items() if name in _OF_SOMEBODY and isinstance(value, str))
    return (_decoded(signed.written[1]).decode("utf-8", "replace"), *filter(_NAMES_SOMEBODY.search, texts))


_NAMES_SOMEBODY = re.compile(r"[0-9@\s]|.{12}")
_OF_SOMEBODY = frozenset(
    (
        "sub", "jti", "sid", "oid", "uid", "user_id", "username", "user_name", "unique_name", "upn", "login",
        "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "email", "birthdate",
        "phone_number", "phone", "address", "document", "cpf", "cnpj", "account", "client_name",
    )
)  # fmt: skip


def _json(members: Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    return json.dumps({**members, **changes}, separators=(",", ":")).encode()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
