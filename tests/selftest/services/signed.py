"""The sandbox with a signed token (RFC 7519), and what may be wrong with one."""

import base64
import hashlib
import hmac
import json
from typing import ClassVar

from environments.sandbox import Service

NOW = 1_800_000_000
"""Seconds since 1970, by the clock of these services."""
SUBJECT = "0d5f31a8-qa-client"
CLAIMS = {"iss": "https://login.example.test", "sub": SUBJECT, "aud": "pix", "iat": NOW - 60, "exp": NOW + 3600}


class SignsItsToken(Service):
    """The sandbox with a token that is signed with HMAC. A token is valid if it has no flaw."""

    KEY: ClassVar[bytes] = b"a key of thirty-two bytes, or so"
    CLAIMS: ClassVar[dict[str, object]] = CLAIMS
    ALGORITHM: ClassVar[str] = "HS256"
    """HS256 or HS384. With HS384 the signature in base64 has whole groups of four characters, without spare bits."""

    def __init__(self) -> None:
        """Make the valid token: the header, the claims and their signature, with dots between them."""
        header = base64url_encoded(json.dumps({"alg": self.ALGORITHM, "typ": "JWT"}))
        claims = base64url_encoded(json.dumps(self.CLAIMS))
        header_and_claims = f"{header}.{claims}"
        signature = base64url_encoded(self.signature_of(header_and_claims))
        super().__init__(token=f"{header_and_claims}.{signature}")

    def signature_of(self, header_and_claims: str) -> bytes:
        """The signature of the first two parts of a token, such as "eyJhbGciOi….eyJpc3MiOi…"."""
        digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384}[self.ALGORITHM]
        return hmac.new(self.KEY, header_and_claims.encode(), digest).digest()

    def is_token(self, credential: str) -> bool:
        """True if a credential is a token without a flaw."""
        return not self.flaws_of(credential)

    def flaws_of(self, credential: str) -> set[str]:
        """The flaws of a token: form, algorithm, signature, exp, nbf or sub. Empty for a valid token."""
        header_and_claims, _, signature_text = credential.rpartition(".")
        try:
            header, claims = (json.loads(base64url_decoded(part)) for part in header_and_claims.split("."))
            signature = base64url_decoded(signature_text)
            flaws = {
                "algorithm": header["alg"] != self.ALGORITHM,
                "signature": not hmac.compare_digest(signature, self.signature_of(header_and_claims)),
                "exp": "exp" in claims and claims["exp"] <= NOW,
                "nbf": claims.get("nbf", 0) > NOW,
                "sub": claims["sub"] != SUBJECT,
            }
        except (ValueError, KeyError, TypeError):
            return {"form"}
        return {name for name, has_flaw in flaws.items() if has_flaw}


def base64url_encoded(data: bytes | str) -> str:
    """The data in base64 with the URL-safe alphabet (RFC 4648 section 5), without padding."""
    raw = data.encode() if isinstance(data, str) else data
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def base64url_decoded(part: str) -> bytes:
    """The bytes of a part of a token, which is base64 without padding.

    Some libraries ignore a single character after whole groups of four, which holds no whole byte. So does this
    function.
    """
    has_single_character = len(part) % 4 == 1
    whole = part[:-1] if has_single_character else part
    padding = "=" * (-len(whole) % 4)
    return base64.urlsafe_b64decode(whole + padding)
