"""How a request without the token is refused, which operations ask for the token at all, and tokens of other kinds."""

import secrets

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS
from tests.selftest.proof.registry import declare_variant, ids_of_operation, variant
from tests.selftest.proof.variants.conforming_making import (
    RefusesTokensDifferently,
    declined_registration,
    empty_answer,
    html_answer,
    json_answer,
    problem_answer,
    text_answer,
)
from tests.selftest.services.signed import CLAIMS, SignsItsToken

LOGIN = (("Location", "/login?next=%2Fv1"), ("Set-Cookie", "session=new; HttpOnly; Path=/"))
RESULT = ("id", "date", "bank", "account", "digit", "branch", "accountType", "document", "name", "type", "key", "value")
SKELETON = dict.fromkeys((*RESULT, "message", "status", "error"))
CHALLENGE = (("WWW-Authenticate", 'Bearer realm="pix", error="invalid_token", error_description="ex\\"pired"'),)
WAYS = {
    "401WithoutABody": lambda refusal: empty_answer(401, (("WWW-Authenticate", "Bearer"),)),
    "401WithoutAChallenge": lambda refusal: json_answer(401, {"code": 401, "data": {}}),
    "401WithTwoChallenges": lambda refusal: text_answer(401, "no", headers=(*CHALLENGE, ("WWW-Authenticate", "Basic"))),
    "403": lambda refusal: json_answer(403, {"message": "Forbidden"}),
    "400": lambda refusal: problem_answer(400, "invalid_request"),
    "404LikeAnUnknownPath": lambda refusal: json_answer(
        404, {"code": 404, "data": {"error": "There is no such path."}}
    ),
    "407": lambda refusal: text_answer(407, "proxy authentication required"),
    "419": lambda refusal: html_answer(419, "Page expired"),
    "302ToALoginPage": lambda refusal: empty_answer(302, LOGIN),
    "302ToAnotherHost": lambda refusal: empty_answer(302, (("Location", "https://login.example.test/authorize"),)),
    "303WithALoginPage": lambda refusal: html_answer(303, "Entrar", LOGIN),
    "ALoginPage": lambda refusal: html_answer(200, "Entrar"),
    "AnEmpty200": lambda refusal: empty_answer(200),
    "AnEmpty204": lambda refusal: empty_answer(204),
    "Text": lambda refusal: text_answer(200, "unauthorized"),
    "CodeMinus1": lambda refusal: json_answer(200, {"code": -1, "data": None}),
    "Code401AndASkeleton": lambda refusal: json_answer(200, {"code": 401, "data": {**SKELETON, "status": "DENIED"}}),
    "CodeZeroAndNulls": lambda refusal: json_answer(200, {"code": 0, "data": SKELETON}),
    "CodeZeroAndNothing": lambda refusal: json_answer(200, {"code": 0, "data": {}}),
    "CodeZeroAndAnError": lambda refusal: json_answer(
        200, {"code": 0, "data": {"status": "DENIED", "error": "no token"}}
    ),
    "SuccessFalse": lambda refusal: json_answer(200, {"code": 0, "data": declined_registration("no token")}),
    "429AndComeAgain": lambda refusal: text_answer(429, "slow down", headers=(("Retry-After", "0"),)),
}
LIKE_ANSWERS = (
    "ALoginPage", "AnEmpty200", "AnEmpty204", "Text",
    "CodeZeroAndNulls", "CodeZeroAndNothing", "CodeZeroAndAnError", "SuccessFalse",
)  # fmt: skip
NO_REFUSAL = ("listAccounts.refusal",)
"""The accounts are never refused, or not in a way that can be told from an answer."""

HIDDEN_BY = {
    "429AndComeAgain": ("executePix.token.scheme", "registerPixKey.token.scheme"),
}
"""What no answer shows, because no more wrong tokens are sent after the second lock."""

for _name, _way in WAYS.items():
    declare_variant(
        "no token", f"NoTokenGets{_name}", f"A request without the token gets {_name}.", RefusesTokensDifferently,
        say_no=staticmethod(_way),
        hides=HIDDEN_BY.get(_name, NO_REFUSAL if _name in LIKE_ANSWERS else ()),
    )  # fmt: skip


class OtherToken(Service):
    """The sandbox with a token of another form, which `draw` makes."""

    def __init__(self):
        super().__init__(token=self.draw())


class CaselessToken(OtherToken):
    """The sandbox with a token that has no letter case."""

    def is_token(self, credential):
        return super().is_token(credential.lower())


for _name, _fact, _base, _draw in (
    ("TokenIsAUuid", "The token is a UUID.", CaselessToken, lambda: "6fa459ea-ee8a-3ca4-894e-db77e160355e"),
    ("TokenIsHexadecimal", "The token is a hexadecimal number.", CaselessToken, lambda: secrets.token_hex(24)),
    ("TokenIsGuessable", "The token is that of a test environment.", OtherToken, lambda: "qa-token-1"),
    ("TokenIsOfDigits", "The token is a long number.", OtherToken, lambda: str(10**40 + secrets.randbelow(10**40))),
):
    declare_variant("token", _name, _fact, _base, draw=staticmethod(_draw))


class OpenTo(Service):
    """The sandbox with operations that need no token."""

    OPEN = ()

    def authorize(self, request, operation):
        if operation not in self.OPEN:
            super().authorize(request, operation)


OPEN = {
    "ReadsArePublic": READ_OPERATIONS,
    "OnlyTheTwoAskForTheToken": (*READ_OPERATIONS, *PREPARING_OPERATIONS, "deletePixKey"),
    "AccountsArePublic": ("listAccounts",),
    "KeysArePublic": ("listPixKeys",),
    "BalancesArePublic": ("getBalance", "listEntries"),
    "PreparingIsPublic": PREPARING_OPERATIONS,
}
for _name, _operations in OPEN.items():
    declare_variant(
        "open", _name, f"No token is asked for by {', '.join(_operations)}.", OpenTo,
        OPEN=_operations, GETS_THE_REQUESTS_OF_THE_SANDBOX=True, hides=NO_REFUSAL if "listAccounts" in _operations else (),
    )  # fmt: skip


@variant("no token")
class LowerCaseBearerIsRefused(Service):
    """The scheme is compared letter by letter, and exactly one space stands before the token."""

    def authorize(self, request, operation):
        if request.header("Authorization") != f"Bearer {self.token}":
            raise Refusal(401, "A valid access token is required.")


@variant("no token", hides=NO_REFUSAL)
class PublicReadsMindABadToken(Service):
    """Reads are open to a request without a token, and refuse a wrong one."""

    def authorize(self, request, operation):
        if operation not in READ_OPERATIONS or request.header("Authorization"):
            super().authorize(request, operation)


@variant("no token", hides=("executePix.token.scheme",))
class LooksUpTheCodeFirst(Service):
    """An unknown code is refused before the token is looked at."""

    def authorize(self, request, operation):
        code = request.path.rsplit("/", 1)[-1]
        with self.database.transaction() as ledger:
            if operation == "executePix" and ledger.transfer(code) is None:
                raise Refusal(404, "There is no such transaction code.")
        super().authorize(request, operation)


@variant("no token")
class ReadsTheBodyFirst(Service):
    """A body that is wrong is refused before the token is looked at."""

    def authorize(self, request, operation):
        if operation == "registerPixKey":
            self.key_type(self.read_json(request, operation))
        super().authorize(request, operation)


@variant("no token")
class TellsTheReasonApart(Service):
    """No token is a 401, a wrong one a 403, another scheme a 400."""

    def authorize(self, request, operation):
        scheme, _, credential = request.header("Authorization").partition(" ")
        if not scheme:
            raise Refusal(401, "A token is required.")
        if scheme.lower() != "bearer":
            raise Refusal(400, "Another scheme than Bearer.")
        if not self.is_token(credential):
            raise Refusal(403, "Another token.")


@variant("no token", hides=ids_of_operation("getBalance", "json", "status", "envelope.shape", "shape"))
class ReadsTellTheScopeWith401(Service):
    """The token is not for the balance, which is told with 401."""

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if operation == "getBalance":
            raise Refusal(401, "The token does not reach so far.")


# -- tokens of other kinds than the sandbox has, and conforming ways of refusing a wrong one

_REFUSALS = {"form": 400, "algorithm": 403, "exp": 419, "nbf": 425, "sub": 404, "signature": 422}


@variant("signed token")
class TokenIsSigned(SignsItsToken):
    """The token is signed, and its signature is compared as bytes."""


@variant("signed token")
class TokenIsSignedInWholeGroups(SignsItsToken):
    """The signature has no spare bits, and what stands behind it is left out where it is no byte."""

    ALGORITHM = "HS384"


@variant("signed token")
class TokenNeverExpires(SignsItsToken):
    """The token has no exp, and says what it is for in another language."""

    CLAIMS = {"iss": CLAIMS["iss"], "função": "integração", "sub": CLAIMS["sub"]}


@variant("signed token")
class TellsEachFlawApart(SignsItsToken):
    """What is wrong with a token is told by the status: another one for each flaw."""

    def authorize(self, request, operation):
        scheme, _, credential = request.header("Authorization").partition(" ")
        flaws = self.flaws_of(credential.strip()) if scheme.lower() == "bearer" else {"form"}
        for flaw, status in _REFUSALS.items():
            if flaw in flaws:
                raise Refusal(status, f"The {flaw} of the token is wrong.")


@variant("token")
class BlanksAroundTheTokenAreTrimmed(Service):
    """The scheme is taken in any letter case, with blanks before, between and behind."""

    def authorize(self, request, operation):
        scheme, *credentials = request.header("Authorization").split() or [""]
        if scheme.lower() != "bearer" or not self.is_token(" ".join(credentials)):
            raise Refusal(401, "A valid access token is required.")


@variant("token")
class WrongTokensAreForbiddenAfterSome(Service):
    """After five wrong tokens in a row those that follow are refused with 403; the right one counts anew."""

    wrong = 0

    def authorize(self, request, operation):
        try:
            super().authorize(request, operation)
        except Refusal as refusal:
            self.wrong += 1
            raise Refusal(403, "Too many wrong tokens.") if self.wrong > 5 else refusal from None
        self.wrong = 0
