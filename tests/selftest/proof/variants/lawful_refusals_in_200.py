"""Refusals as HTTP 200 with a code other than 0 (document, Errors 4: what codes mean is not shown)."""

from __future__ import annotations

from environments.sandbox import Refusal, Response, Service
from tests.selftest.proof.registry import lawful, variant
from tests.selftest.proof.variants.lawful_making import Refuses, Verbatim, as_json, verbatim

CODES = {
    "ItsStatus": None,
    "1": "1",
    "Minus1": "-1",
    "1e2": "1e2",
    "404AsADecimal": "404.0",
    "40Digits": "9" * 40,
    "2000Digits": "9" * 2_000,
    "1e5000": "1e5000",
    "1e999999": "1e999999",
}
DATA = {
    "Null": {"data": None},
    "NoData": {},
    "EmptyData": {"data": {}},
    "TextData": {"data": "no"},
    "ArrayData": {"data": ["no"]},
    "ErrorBeside": {"error": "no", "message": None},
    "ASkeleton": {"data": {"Success": "false", "Message": "no", "Key": None, "DocumentNumber": 0}},
}


class RefusesIn200(Refuses, Verbatim):
    """The sandbox, whose refusals have status 200 and a code."""

    CODE: str | None = None
    REST: dict[str, object] = {"data": {}}

    def say_no(self, refusal: Refusal) -> Response:
        code = refusal.status if self.CODE is None else verbatim(self.CODE)
        return self.render(200, {"code": code, **self.REST}, refusal.headers)


ALIKE = ("executePix.token.scheme",)
"""A bad token and an unknown code get the same refusal, so that an unknown code shows nothing about a scheme."""

for _name, _code in CODES.items():
    lawful(
        "refusal in 200", f"RefusesIn200WithCode{_name}", f"Every refusal is a 200 with the code {_name}.",
        RefusesIn200, CODE=_code, hides=ALIKE if _code else (),
    )  # fmt: skip

for _name, _rest in DATA.items():
    lawful(
        "refusal in 200", f"RefusesIn200With{_name}", f"Every refusal is a 200 with {_name}.", RefusesIn200, REST=_rest
    )


@variant("refusal in 200", hides=("*.refusal",))
class DeclinesIn200(Refuses):
    """A refused registration is a 200, code 0 and Success "false"; so is everything else that is refused."""

    def say_no(self, refusal: Refusal) -> Response:
        data = {"Success": "false", "Message": refusal.error, "Key": None, "DocumentNumber": 0}
        return as_json(200, {"code": 0, "data": data})


@variant("refusal in 200", hides=("*.refusal",))
class EnvelopeSaysSuccessToo(DeclinesIn200):
    """Every envelope says `success: true`, as the request was answered; the result itself says Success "false"."""

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        return {"success": True, "code": code, "data": data}

    def say_no(self, refusal: Refusal) -> Response:
        data = {"Success": "false", "Message": refusal.error, "Key": None, "DocumentNumber": 0}
        return self.render(200, self.envelope(None, data))


@variant("refusal in 200")
class UnknownCodesGetAResult(Service):
    """An unknown code gets an execution result with the status UNKNOWN and an error."""

    def refusal(self, refusal: Refusal) -> Response:
        if refusal.error != "There is no such transaction code.":
            return super().refusal(refusal)
        names = ("id", "bank", "account", "digit", "branch", "document", "name", "type", "key", "message")
        data = {**dict.fromkeys(names, ""), "date": 0, "accountType": 0, "value": 0}
        return as_json(200, {"code": 0, "data": {**data, "status": "UNKNOWN", "error": refusal.error}})
