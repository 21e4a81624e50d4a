"""Each way of not checking the token, for both operations that document it; and a token that is refused."""

from dataclasses import replace

from environments.sandbox import Refusal
from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import DELETION, OfOperations, breaks, members_of


class LaxService(OfOperations):
    """The sandbox, which for `OPERATIONS` takes what `lets_in` lets in for the token."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.served = set()

    def authorize(self, request, operation):
        if operation in self.OPERATIONS:
            self.calls += 1
            if self.lets_in(request, request.header("Authorization")):
                return
        super().authorize(request, operation)
        self.served.add(operation)

    def key_type_of(self, request):
        """The kind of the key that a registration, or a prepared transfer, is about."""
        if request.method == "POST":
            return str(members_of(request).get("pixKeyType"))
        with self.database.transaction() as ledger:
            transfer = ledger.transfer(request.path.rsplit("/", 1)[-1])
            return transfer.key_type if transfer else ""


def _bearer(sent):
    scheme, _, credential = sent.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


def _starts(whole, part):
    return bool(part) and whole.startswith(part)


WAYS = {
    "IgnoresTheToken": ("The token is not looked at.", lambda self, request, sent: True),
    "NeedsNoHeader": ("A request without the header is let in.", lambda self, request, sent: not sent),
    "TakesAnEmptyBearer": (
        "A bearer without a token is let in.", lambda self, request, sent: sent.strip().lower() == "bearer",
    ),
    "TakesAnyHeader": ("Any Authorization header will do.", lambda self, request, sent: bool(sent)),
    "TakesAnyBearer": ("Any bearer token will do.", lambda self, request, sent: bool(_bearer(sent))),
    "TakesTheBeginningOfTheToken": (
        "A beginning of the token is let in.", lambda self, request, sent: _starts(self.token, _bearer(sent)),
    ),
    "IgnoresWhatFollowsTheToken": (
        "What follows the token is ignored.", lambda self, request, sent: _bearer(sent).startswith(self.token),
    ),
    "ComparesEightCharacters": (
        "The first eight characters of the token are compared.", lambda self, request, sent: _bearer(sent)[:8] == self.token[:8],
    ),
    "DoesNotCheckTheSignature": (
        "Of a token all but its last eight characters, and its length, are compared.", lambda self, request, sent: len(_bearer(sent)) == len(self.token) and _bearer(sent)[:-8] == self.token[:-8],
    ),
    "ComparesTheEndOfTheToken": (
        "Whatever ends with the token is let in.", lambda self, request, sent: _bearer(sent).endswith(self.token),
    ),
    "ComparesTheLengthOfTheToken": (
        "The length of the token is compared.", lambda self, request, sent: len(_bearer(sent)) == len(self.token),
    ),
    "IgnoresLetterCase": (
        "The token is compared without its letter case.", lambda self, request, sent: _bearer(sent).lower() == self.token.lower(),
    ),
    "TakesBasic": (
        "Basic credentials are let in, whatever they are.", lambda self, request, sent: sent.startswith("Basic "),
    ),
    "ChecksTheFirstRequestOnly": (
        "The token is checked in the first request that the service gets.", lambda self, request, sent: bool(self.served),
    ),
    "TakesAnyBearerAfterAGrant": (
        "After the first request with the token to the operation, any bearer token is let in.", lambda self, request, sent: bool(_bearer(sent)) and self.served.issuperset(self.OPERATIONS),
    ),
    "ForgetsEverySecondTime": (
        "A bearer token is checked one time in two.", lambda self, request, sent: bool(_bearer(sent)) and self.calls % 2 == 0,
    ),
    "ForgetsEveryThirdTime": (
        "A bearer token is not checked one time in three.", lambda self, request, sent: bool(_bearer(sent)) and self.calls % 3 == 0,
    ),
}  # fmt: skip
_TAKE_A_WRONG_TOKEN = (
    "IgnoresTheToken", "TakesAnyHeader", "TakesAnyBearer", "ComparesTheLengthOfTheToken", "ChecksTheFirstRequestOnly",
    "TakesAnyBearerAfterAGrant", "ForgetsEverySecondTime",
)  # fmt: skip
"""What answers a synthetic code alike with and without the token, so that other schemes cannot be told apart."""
_TAKE_ANOTHER_SCHEME = ("IgnoresTheToken", "TakesAnyHeader", "ChecksTheFirstRequestOnly", "OfEMAILNeedsNoToken")
"""What registers a key under another scheme, too."""


def _not_checked(operation, name, text, lets_in):
    blurred = operation == "executePix" and name in _TAKE_A_WRONG_TOKEN
    breaks(
        "token not checked", operation, name, text, LaxService, "token.required",
        warns=("token.scheme",) if operation == "registerPixKey" and name in _TAKE_ANOTHER_SCHEME else (),
        hides=("executePix.token.scheme",) if blurred else (), lets_in=lets_in,
    )  # fmt: skip


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


class AnswersAfterItsRefusal(LaxService):
    """The sandbox, which writes the status of a refusal and goes on."""

    STATUS = 401

    def lets_in(self, request, sent):
        return True

    def finish(self, request, operation, response):
        refused = operation in self.OPERATIONS and _bearer(request.header("Authorization")) != self.token
        return super().finish(request, operation, replace(response, status=self.STATUS) if refused else response)


for _operation in ("executePix", "registerPixKey"):
    for _status in (302, 401, 403):
        breaks(
            "refusal with the result", _operation, f"IsDoneWithA{_status}",
            f"Without a valid token the answer has status {_status} and the whole result.",
            AnswersAfterItsRefusal, "token.required",
            warns=("token.scheme",) if _operation == "registerPixKey" else (), STATUS=_status,
        )  # fmt: skip


for _operation in ("executePix", "registerPixKey"):
    for _name, _scheme in (("Bare", ""), ("UnderToken", "Token ")):
        breaks(
            "token under another scheme", _operation, f"TakesTheToken{_name}",
            f"The token is taken as 'Authorization: {_scheme}<ACCESS_TOKEN>'.", LaxService, warns=("token.scheme",),
            lets_in=lambda self, request, sent, scheme=_scheme: sent == f"{scheme}{self.token}",
        )  # fmt: skip


class RefusesTheToken(OfOperations):
    """The sandbox, which never accepts the token for `OPERATIONS`."""

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if operation in self.OPERATIONS:
            raise Refusal(401, "A valid access token is required.")


for _operation, _what, _unseen in (
    ("executePix", "an execution", ()),
    ("registerPixKey", "a key registration", DELETION),
):
    breaks(
        "token refused", _operation, "RefusesTheToken", f"A valid token is never accepted for {_what}.", RefusesTheToken,
        "token.accepted", hides=(f"{_operation}.*", *_unseen),
    )  # fmt: skip
