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
"""Not exercised, because the list of accounts is never refused, or its refusal looks like a successful answer."""

HIDDEN_BY = {
    "429AndComeAgain": ("executePix.token.scheme", "registerPixKey.token.scheme"),
}
"""Requirements that are not exercised, because a run sends no more wrong tokens after it was locked out twice."""

for _name, _way in WAYS.items():
    declare_variant(
        "no token", f"NoTokenGets{_name}", f"A request without the token gets {_name}.", RefusesTokensDifferently,
        answer_to_refusal=staticmethod(_way),
        hides=HIDDEN_BY.get(_name, NO_REFUSAL if _name in LIKE_ANSWERS else ()),
    )  # fmt: skip


class OtherToken(Service):
    """The sandbox with a token of another form, which `make_token` makes."""

    def __init__(self):
        super().__init__(token=self.make_token())


class CaselessToken(OtherToken):
    """The sandbox with a token whose letters may be written in capitals, too."""

    def is_token(self, credential):
        """True if the credential is the token in any letter case."""
        return super().is_token(credential.lower())


for _name, _fact, _base, _make_token in (
    ("TokenIsAUuid", "The token is a UUID.", CaselessToken, lambda: "6fa459ea-ee8a-3ca4-894e-db77e160355e"),
    ("TokenIsHexadecimal", "The token is a hexadecimal number.", CaselessToken, lambda: secrets.token_hex(24)),
    ("TokenIsGuessable", "The token is that of a test environment.", OtherToken, lambda: "qa-token-1"),
    ("TokenIsOfDigits", "The token is a long number.", OtherToken, lambda: str(10**40 + secrets.randbelow(10**40))),
):
    declare_variant("token", _name, _fact, _base, make_token=staticmethod(_make_token))


class OpenTo(Service):
    """The sandbox, where the operations in OPEN need no token."""

    OPEN = ()

    def authorize(self, request, operation):
        """Check the token, unless the operation needs none."""
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
    """The header Authorization must be "Bearer", one space and the token, in exactly these letters."""

    def authorize(self, request, operation):
        """Refuse any other spelling of the header, such as "bearer" or two spaces."""
        if request.header("Authorization") != f"Bearer {self.token}":
            raise Refusal(401, "A valid access token is required.")


@variant("no token", hides=NO_REFUSAL)
class PublicReadsMindABadToken(Service):
    """Reads are open to a request without a token, and refuse a wrong token."""

    def authorize(self, request, operation):
        """Check the token, unless the request is a read without the header Authorization."""
        is_open = operation in READ_OPERATIONS and not request.header("Authorization")
        if not is_open:
            super().authorize(request, operation)


@variant("no token", hides=("executePix.token.scheme",))
class LooksUpTheCodeFirst(Service):
    """An unknown code is refused with 404 before the token is checked."""

    def authorize(self, request, operation):
        """Check the code of an execution, and then the token."""
        code = request.path.rsplit("/", 1)[-1]
        with self.database.transaction() as ledger:
            if operation == "executePix" and ledger.transfer(code) is None:
                raise Refusal(404, "There is no such transaction code.")
        super().authorize(request, operation)


@variant("no token")
class ReadsTheBodyFirst(Service):
    """A registration whose body is no JSON or has an unknown key type is refused before the token is checked."""

    def authorize(self, request, operation):
        """Read the body of a registration, which refuses a wrong one, and then check the token."""
        if operation == "registerPixKey":
            body = self.read_json(request, operation)
            self.key_type(body)
        super().authorize(request, operation)


@variant("no token")
class TellsTheReasonApart(Service):
    """A request without a token gets 401, with a wrong token 403, and with another scheme than Bearer 400."""

    def authorize(self, request, operation):
        """Check the header Authorization, and refuse each fault of it with its own status."""
        scheme, _, credential = request.header("Authorization").partition(" ")
        if not scheme:
            raise Refusal(401, "A token is required.")
        if scheme.lower() != "bearer":
            raise Refusal(400, "Another scheme than Bearer.")
        if not self.is_token(credential):
            raise Refusal(403, "Another token.")


@variant("no token", hides=ids_of_operation("getBalance", "json", "status", "envelope.shape", "shape"))
class ReadsTellTheScopeWith401(Service):
    """The token is not for the balance: a request for it gets 401, although the token is valid."""

    def authorize(self, request, operation):
        """Check the token, and refuse a request for the balance even with the valid token."""
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
    """Each flaw of a signed token, such as a wrong signature, has its own status."""

    def authorize(self, request, operation):
        """Refuse a token that has flaws with the status of the first one in _REFUSALS."""
        scheme, _, credential = request.header("Authorization").partition(" ")
        flaws = self.flaws_of(credential.strip()) if scheme.lower() == "bearer" else {"form"}
        for flaw, status in _REFUSALS.items():
            if flaw in flaws:
                raise Refusal(status, f"The {flaw} of the token is wrong.")


@variant("token")
class BlanksAroundTheTokenAreTrimmed(Service):
    """The scheme may be in any letter case, and there may be blanks before it, behind it and behind the token."""

    def authorize(self, request, operation):
        """Check the token. Blanks around the scheme and the token make no difference."""
        scheme, *credentials = request.header("Authorization").split() or [""]
        if scheme.lower() != "bearer" or not self.is_token(" ".join(credentials)):
            raise Refusal(401, "A valid access token is required.")


@variant("token")
class WrongTokensAreForbiddenAfterSome(Service):
    """After five wrong tokens in a row, the next wrong ones get 403. The valid token is still accepted."""

    wrong_in_a_row = 0

    def authorize(self, request, operation):
        """Check the token. The sixth wrong token in a row and those after it are refused with 403."""
        try:
            super().authorize(request, operation)
        except Refusal:
            self.wrong_in_a_row += 1
            if self.wrong_in_a_row > 5:
                raise Refusal(403, "Too many wrong tokens.") from None
            raise
        self.wrong_in_a_row = 0
