"""Each way of not checking the token, for both operations that document it; and a token that is refused."""

from __future__ import annotations

from typing import Any, ClassVar

from environments.sandbox import Refusal, Request, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import DELETION, SUBJECT, members_of
from tests.selftest.proof.registry import broken


class LaxService(Service):
    """The sandbox, which for one operation takes what `lets_in` lets in for the token."""

    OPERATION: ClassVar[str] = "executePix"

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.served: set[str] = set()

    def authorize(self, request: Request, operation: str) -> None:
        if operation == self.OPERATION:
            self.calls += 1
            if self.lets_in(request, request.header("Authorization")):
                return
        super().authorize(request, operation)
        self.served.add(operation)

    def lets_in(self, request: Request, sent: str) -> bool:
        raise NotImplementedError

    def key_type_of(self, request: Request) -> str:
        """The kind of the key that a registration, or a prepared transfer, is about."""
        if request.method == "POST":
            return str(members_of(request).get("pixKeyType"))
        with self.database.transaction() as ledger:
            transfer = ledger.transfer(request.path.rsplit("/", 1)[-1])
            return transfer.key_type if transfer else ""


def _bearer(sent: str) -> str:
    scheme, _, credential = sent.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


def _starts(whole: str, part: str) -> bool:
    return bool(part) and whole.startswith(part)


WAYS = {
    "IgnoresTheToken": ("The token is not looked at.", lambda self, request, sent: True),
    "NeedsNoHeader": ("A request without the header is let in.", lambda self, request, sent: not sent),
    "TakesAnEmptyBearer": (
        "A bearer without a token is let in.",
        lambda self, request, sent: sent.strip().lower() == "bearer",
    ),
    "TakesAnyHeader": ("Any Authorization header will do.", lambda self, request, sent: bool(sent)),
    "TakesAnyBearer": ("Any bearer token will do.", lambda self, request, sent: bool(_bearer(sent))),
    "TakesTheBeginningOfTheToken": (
        "A beginning of the token is let in.",
        lambda self, request, sent: _starts(self.token, _bearer(sent)),
    ),
    "IgnoresWhatFollowsTheToken": (
        "What follows the token is ignored.",
        lambda self, request, sent: _bearer(sent).startswith(self.token),
    ),
    "ComparesEightCharacters": (
        "The first eight characters of the token are compared.",
        lambda self, request, sent: _bearer(sent)[:8] == self.token[:8],
    ),
    "DoesNotCheckTheSignature": (
        "Of a token all but its last eight characters, and its length, are compared.",
        lambda self, request, sent: len(_bearer(sent)) == len(self.token) and _bearer(sent)[:-8] == self.token[:-8],
    ),
    "ComparesTheEndOfTheToken": (
        "Whatever ends with the token is let in.",
        lambda self, request, sent: _bearer(sent).endswith(self.token),
    ),
    "ComparesTheLengthOfTheToken": (
        "The length of the token is compared.",
        lambda self, request, sent: len(_bearer(sent)) == len(self.token),
    ),
    "IgnoresLetterCase": (
        "The token is compared without its letter case.",
        lambda self, request, sent: _bearer(sent).lower() == self.token.lower(),
    ),
    "TakesBasic": (
        "Basic credentials are let in, whatever they are.",
        lambda self, request, sent: sent.startswith("Basic "),
    ),
    "ChecksTheFirstRequestOnly": (
        "The token is checked in the first request that the service gets.",
        lambda self, request, sent: bool(self.served),
    ),
    "ChecksItsFirstRequestOnly": (
        "The token is checked in the first request to the operation.",
        lambda self, request, sent: self.OPERATION in self.served,
    ),
    "ForgetsEverySecondTime": (
        "The token is checked one time in two.",
        lambda self, request, sent: self.calls % 2 == 0,
    ),
    "ForgetsEveryThirdTime": (
        "The token is not checked one time in three.",
        lambda self, request, sent: self.calls % 3 == 0,
    ),
}  # fmt: skip
_TAKE_A_WRONG_TOKEN = (
    "IgnoresTheToken", "TakesAnyHeader", "TakesAnyBearer", "ComparesTheLengthOfTheToken", "ChecksTheFirstRequestOnly",
)  # fmt: skip
"""What answers a synthetic code alike with and without the token, so that other schemes cannot be told apart."""
_TAKE_ANOTHER_SCHEME = {
    "executePix": ("ForgetsEverySecondTime", "ForgetsEveryThirdTime"),
    "registerPixKey": (
        "IgnoresTheToken", "TakesAnyHeader", "ChecksTheFirstRequestOnly", "ChecksItsFirstRequestOnly",
        "ForgetsEverySecondTime", "ForgetsEveryThirdTime", "OfPHONENeedsNoToken",
    ),
}  # fmt: skip


def _not_checked(operation: str, name: str, text: str, lets_in: Any) -> None:
    blurred = operation == "executePix" and name in _TAKE_A_WRONG_TOKEN
    broken(
        "token not checked",
        f"{SUBJECT[operation]}{name}",
        text,
        LaxService,
        f"{operation}.token.required",
        warns=(f"{operation}.token.scheme",) if name in _TAKE_ANOTHER_SCHEME[operation] else (),
        hides=("executePix.token.scheme",) if blurred else (),
        OPERATION=operation,
        lets_in=lets_in,
    )


for _operation in ("executePix", "registerPixKey"):
    for _name, (_text, _lets_in) in WAYS.items():
        _not_checked(_operation, _name, _text, _lets_in)
    for _kind in KEY_TYPES:
        _not_checked(
            _operation,
            f"Of{_kind}NeedsNoToken",
            f"The token is not checked where the key is of the type {_kind}.",
            lambda self, request, sent, kind=_kind: self.key_type_of(request) == kind,
        )


class AnotherScheme(LaxService):
    """The sandbox, which takes the token in another form than the document shows."""

    SCHEME: ClassVar[str] = ""

    def lets_in(self, request: Request, sent: str) -> bool:
        return sent == f"{self.SCHEME} {self.token}".strip()


for _operation, _of in list(SUBJECT.items())[:2]:
    for _name, _scheme in (("Bare", ""), ("UnderToken", "Token")):
        broken(
            "token under another scheme",
            f"{_of}TakesTheToken{_name}",
            f"The token is taken as 'Authorization: {_scheme} <ACCESS_TOKEN>'.",
            AnotherScheme,
            warns=(f"{_operation}.token.scheme",),
            OPERATION=_operation,
            SCHEME=_scheme,
        )


class RefusesTheToken(Service):
    """The sandbox, which never accepts the token for one operation."""

    OPERATION: ClassVar[str] = ""

    def authorize(self, request: Request, operation: str) -> None:
        super().authorize(request, operation)
        if operation == self.OPERATION:
            raise Refusal(401, "A valid access token is required.")


broken(
    "token refused",
    "ExecutionRefusesTheToken",
    "A valid token is never accepted for an execution.",
    RefusesTheToken,
    "executePix.token.accepted",
    hides=("executePix.*",),
    OPERATION="executePix",
)
broken(
    "token refused",
    "RegistrationRefusesTheToken",
    "A valid token is never accepted for a key registration.",
    RefusesTheToken,
    "registerPixKey.token.accepted",
    hides=("registerPixKey.*", *DELETION),
    OPERATION="registerPixKey",
)
