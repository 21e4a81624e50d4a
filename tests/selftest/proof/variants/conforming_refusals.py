"""How a service says no, in statuses and in bodies: the document shows neither."""

import uuid

from environments.sandbox import Refusal, Response, Service
from tests.selftest.proof.registry import declare_variant, ids_of_operation, variant
from tests.selftest.proof.variants.conforming_making import (
    RefusesDifferently,
    WritesNumbersVerbatim,
    declined_registration,
    empty_answer,
    html_answer,
    json_answer,
    number_as_written,
    problem_answer,
    text_answer,
)

STATUSES = (300, 302, 307, 400, 401, 402, 403, 404, 406, 409, 410, 412, 415, 418, 422, 423, 428, 451, 499)
BODIES = {
    "Problem": lambda refusal: problem_answer(refusal.status, refusal.error),
    "Text": lambda refusal: text_answer(refusal.status, refusal.error),
    "NoBody": lambda refusal: empty_answer(refusal.status),
    "Html": lambda refusal: html_answer(refusal.status, refusal.error),
    "Xml": lambda refusal: text_answer(refusal.status, f"<error>{refusal.error}</error>", "application/xml"),
    "JsonArray": lambda refusal: json_answer(refusal.status, [refusal.error]),
    "JsonString": lambda refusal: json_answer(refusal.status, refusal.error),
    "JsonNull": lambda refusal: json_answer(refusal.status, None),
    "BrokenJson": lambda refusal: text_answer(refusal.status, "{'error': ", "application/json"),
    "Latin1": lambda refusal: Response(
        refusal.status, "Não é válido".encode("latin-1"), (("Content-Type", "text/plain"),)
    ),
    "BareError": lambda refusal: json_answer(refusal.status, {"error": "invalid", "error_description": refusal.error}),
    "CodeZero": lambda refusal: json_answer(refusal.status, {"code": 0, "data": {}}),
    "CodeAsText": lambda refusal: json_answer(refusal.status, {"code": "PIX-17", "data": None}),
    "SuccessFalse": lambda refusal: json_answer(
        refusal.status, {"code": 0, "data": declined_registration(refusal.error)}
    ),
    "Id": lambda refusal: json_answer(refusal.status, {"error": refusal.error, "requestId": str(uuid.uuid4())}),
}


class RefusesWith(RefusesDifferently):
    """The sandbox with another status for every refusal, or for those with the status `CLASS`."""

    CLASS = None
    STATUS = 400

    def refuses_so(self, refusal):
        return self.CLASS in (None, refusal.status)

    def say_no(self, refusal):
        return Service.refusal(self, Refusal(self.STATUS, refusal.error, refusal.headers))


_KEPT_BACK = ("executePix.*", "registerPixKey.token.scheme")
"""What is always told to come later sends no further code, and after the second lock no wrong token: an agreed loss, and
the run says what to set."""
_UNKNOWN = ("executePix.value.matches",)
"""A 499 to a wrong token leaves the outcome of a code unknown: after two, no further code is sent, an agreed loss."""
for _status in STATUSES:
    declare_variant(
        "refusal status", f"RefusesWith{_status}", f"Every refusal has status {_status}.", RefusesWith, STATUS=_status,
        hides={423: _KEPT_BACK, 499: _UNKNOWN}.get(_status, ()),  # 499: the outcome is unknown
    )  # fmt: skip

declare_variant(
    "refusal status", "RefusesWith429", "Every refusal has status 429, and none says when to come again.",
    RefusesWith, STATUS=429, hides=_KEPT_BACK,
)  # fmt: skip

for _name, _body in BODIES.items():
    declare_variant(
        "refusal body", f"RefusesWith{_name}", f"The body of every refusal is of the sort {_name}.",
        RefusesDifferently, say_no=staticmethod(_body),
    )  # fmt: skip


CLASSES = {
    "MalformedBodies": (400, (404, 409, 422)),
    "WhatIsUnknown": (404, (400, 403, 410)),
    "OtherMethods": (405, (400, 404, 403)),
    "WhatCannotBe": (422, (400, 403, 409)),
}
for _name, (_class, _statuses) in CLASSES.items():
    for _status in _statuses:
        declare_variant(
            "refusal class", f"{_name}Get{_status}", f"What the sandbox refuses with {_class} gets {_status}.",
            RefusesWith, CLASS=_class, STATUS=_status,
        )  # fmt: skip


@variant("refusal body")
class EchoesTheRequest(Service):
    """Every refusal repeats the path and the body of the request."""

    def finish(self, request, operation, response):
        if response.status < 300:
            return response
        asked = {"path": request.path, "body": request.body.decode("utf-8", "replace")[:500]}
        return json_answer(response.status, {"code": response.status, "data": asked})


@variant("refusal body", hides=("executePix.token.scheme",))
class RefusesAllAlike(RefusesDifferently):
    """Everything that is refused, unknown paths too, gets the very same 404 without a body."""

    def say_no(self, refusal):
        return empty_answer(404)


@variant("refusal body", hides=("executePix.token.scheme",))
class RefusesAllAlikeWithAnId(RefusesDifferently):
    """Everything that is refused gets the same 400, but for a random id and the time."""

    def say_no(self, refusal):
        return json_answer(400, {"error": "refused", "trace": uuid.uuid4().hex, "at": self.now()})


@variant("refusal body")
class RefusalsComeFromAProxy(RefusesDifferently):
    """Refusals are the pages of a proxy, with its headers."""

    HEADERS = (("Via", "1.1 edge-7"), ("X-Cache", "Error from edge"), ("Age", "0"), ("Retry-After", "3600"))

    def say_no(self, refusal):
        return html_answer(refusal.status, f"Request blocked, reference {uuid.uuid4()}", self.HEADERS)


@variant(
    "refusal status",
    hides=(
        *ids_of_operation("createPix", "json", "json.*", "envelope.*", "status", "shape"),
        "executePix.status.transitions",
        "executePix.value.matches",
    ),
)
class UnknownPayeesGetNoSuchPath(Service):
    """A transaction for an unknown payee is refused like an unknown path; a body that is no JSON is not."""

    def prepare(self, operation, request):
        if operation == "createPix":
            self.order(operation, self.read_json(request, operation))
            raise Refusal(404, "There is no such path.")
        return super().prepare(operation, request)


# -- HTTP 200 with a code other than 0 (document, Errors 4: what codes mean is not shown)

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
    "ASkeleton": {"data": declined_registration("no")},
}


class RefusesIn200(RefusesDifferently, WritesNumbersVerbatim):
    """The sandbox, whose refusals have status 200 and a code."""

    CODE = None
    REST = {"data": {}}

    def say_no(self, refusal):
        code = refusal.status if self.CODE is None else number_as_written(self.CODE)
        return self.render(200, {"code": code, **self.REST}, refusal.headers)


ALIKE = ("executePix.token.scheme",)
"""A bad token and an unknown code get the same refusal, so that an unknown code shows nothing about a scheme."""

for _name, _code in CODES.items():
    declare_variant(
        "refusal in 200", f"RefusesIn200WithCode{_name}", f"Every refusal is a 200 with the code {_name}.",
        RefusesIn200, CODE=_code, hides=ALIKE if _code else (),
    )  # fmt: skip

for _name, _rest in DATA.items():
    declare_variant(
        "refusal in 200", f"RefusesIn200With{_name}", f"Every refusal is a 200 with {_name}.", RefusesIn200, REST=_rest
    )


@variant("refusal in 200", hides=("*.refusal",))
class DeclinesIn200(RefusesDifferently):
    """A refused registration is a 200, code 0 and Success "false"; so is everything else that is refused."""

    def say_no(self, refusal):
        return self.render(200, self.envelope(None, declined_registration(refusal.error)))


@variant("refusal in 200", hides=("*.refusal",))
class EnvelopeSaysSuccessToo(DeclinesIn200):
    """Every envelope says `success: true`, as the request was answered; the result itself says Success "false"."""

    def envelope(self, operation, data, code=0):
        return {"success": True, "code": code, "data": data}


@variant("refusal in 200")
class UnknownCodesGetAResult(Service):
    """An unknown code gets an execution result with the status UNKNOWN and an error."""

    def refusal(self, refusal):
        if refusal.error != "There is no such transaction code.":
            return super().refusal(refusal)
        names = ("id", "bank", "account", "digit", "branch", "document", "name", "type", "key", "message")
        data = {**dict.fromkeys(names, ""), "date": 0, "accountType": 0, "value": 0}
        return json_answer(200, {"code": 0, "data": {**data, "status": "UNKNOWN", "error": refusal.error}})
