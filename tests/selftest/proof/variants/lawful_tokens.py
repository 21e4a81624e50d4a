"""Tokens of other kinds than the sandbox has, and lawful ways of refusing a wrong one."""

from __future__ import annotations

import secrets
from typing import ClassVar

from environments.sandbox import Refusal, Request, Service
from tests.selftest.proof.registry import variant
from tests.selftest.services.signed import CLAIMS, Signing

_REFUSALS = {"form": 400, "algorithm": 403, "exp": 419, "nbf": 425, "sub": 404, "signature": 422}


@variant("signed token")
class TokenIsSigned(Signing):
    """The token is signed, and its signature is compared as bytes."""


@variant("signed token")
class TokenIsSignedInWholeGroups(Signing):
    """The signature has no spare bits, and what stands behind it is left out where it is no byte."""

    ALGORITHM: ClassVar[str] = "HS384"


@variant("signed token")
class TokenNeverExpires(Signing):
    """The token has no exp, and says what it is for in another language."""

    CLAIMS: ClassVar[dict[str, object]] = {"iss": CLAIMS["iss"], "função": "integração", "sub": CLAIMS["sub"]}


@variant("signed token")
class TellsEachFlawApart(Signing):
    """What is wrong with a token is told by the status: another one for each flaw."""

    def authorize(self, request: Request, operation: str) -> None:
        scheme, _, credential = request.header("Authorization").partition(" ")
        flaws = self.flaws_of(credential.strip()) if scheme.lower() == "bearer" else {"form"}
        for flaw, status in _REFUSALS.items():
            if flaw in flaws:
                raise Refusal(status, f"The {flaw} of the token is wrong.")


@variant("token")
class TokenIsHexadecimal(Service):
    """The token is a hexadecimal number, which has no letter case."""

    def __init__(self) -> None:
        super().__init__(token=secrets.token_hex(24))

    def is_token(self, credential: str) -> bool:
        return super().is_token(credential.lower())


@variant("token")
class TokenIsGuessable(Service):
    """The token is that of a test environment."""

    def __init__(self) -> None:
        super().__init__(token="qa-token-1")


@variant("token")
class TokenIsOfDigits(Service):
    """The token is a long number."""

    def __init__(self) -> None:
        super().__init__(token=str(10**40 + secrets.randbelow(10**40)))


@variant("token")
class BlanksAroundTheTokenAreTrimmed(Service):
    """The scheme is taken in any letter case, with blanks before, between and behind."""

    def authorize(self, request: Request, operation: str) -> None:
        scheme, *credentials = request.header("Authorization").split() or [""]
        if scheme.lower() != "bearer" or not self.is_token(" ".join(credentials)):
            raise Refusal(401, "A valid access token is required.")


class Counting(Service):
    """The sandbox, which counts wrong tokens and refuses those past `most` in another way."""

    most: ClassVar[int] = 5

    wrong = 0

    def authorize(self, request: Request, operation: str) -> None:
        try:
            super().authorize(request, operation)
        except Refusal as refusal:
            self.wrong += 1
            raise self.past(refusal) if self.wrong > self.most else refusal from None
        self.wrong = 0


@variant("token")
class WrongTokensAreForbiddenAfterSome(Counting):
    """After five wrong tokens in a row those that follow are refused with 403; the right one counts anew."""

    def past(self, refusal: Refusal) -> Refusal:
        return Refusal(403, "Too many wrong tokens.")
