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
    """HS384 has a signature of whole groups of base64, without spare bits."""

    def __init__(self) -> None:
        signed = f"{base64url_encoded(json.dumps({'alg': self.ALGORITHM, 'typ': 'JWT'}))}.{base64url_encoded(json.dumps(self.CLAIMS))}"
        super().__init__(token=f"{signed}.{base64url_encoded(self.signature_of(signed))}")

    def signature_of(self, signed: str) -> bytes:
        """The signature of a header and claims."""
        digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384}[self.ALGORITHM]
        return hmac.new(self.KEY, signed.encode(), digest).digest()

    def is_token(self, credential: str) -> bool:
        return not self.flaws_of(credential)

    def flaws_of(self, credential: str) -> set[str]:
        """The flaws of a token: form, algorithm, signature, exp, nbf or sub. The valid token has none."""
        signed, _, signature_text = credential.rpartition(".")
        try:
            header, claims = (json.loads(base64url_decoded(part)) for part in signed.split("."))
            signature = base64url_decoded(signature_text)
            flaws = {
                "algorithm": header["alg"] != self.ALGORITHM,
                "signature": not hmac.compare_digest(signature, self.signature_of(signed)),
                "exp": "exp" in claims and claims["exp"] <= NOW,
                "nbf": claims.get("nbf", 0) > NOW,
                "sub": claims["sub"] != SUBJECT,
            }
        except (ValueError, KeyError, TypeError):
            return {"form"}
        return {name for name, is_there in flaws.items() if is_there}


def base64url_encoded(data: bytes | str) -> str:
    """Base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(data.encode() if isinstance(data, str) else data).rstrip(b"=").decode()


def base64url_decoded(part: str) -> bytes:
    """The bytes, read as leniently as libraries do that ignore a single character after whole groups of four."""
    whole = part[:-1] if len(part) % 4 == 1 else part
    return base64.urlsafe_b64decode(whole + "=" * (-len(whole) % 4))
