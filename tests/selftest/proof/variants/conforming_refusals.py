"""Refusals with many statuses and bodies. All conform, because the interface document shows neither."""

import uuid

from environments.sandbox import Refusal, Response, Service
from spec.interface import PREPARING_OPERATIONS, operations
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
    profile_path,
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
    """The sandbox, whose refusals have STATUS: all of them, or only those that have ORIGINAL_STATUS in the sandbox."""

    ORIGINAL_STATUS = None
    STATUS = 400

    def is_affected(self, refusal):
        """True of the refusals that get another status."""
        return self.ORIGINAL_STATUS in (None, refusal.status)

    def answer_to_refusal(self, refusal):
        return Service.refusal(self, Refusal(self.STATUS, refusal.error, refusal.headers))


_KEPT_BACK = ("executePix.*", "registerPixKey.token.scheme")
"""Not exercised: these statuses ask the run to come later. It then sends no further code, and after the second one no
wrong token, and says what to set in the profile."""
_UNKNOWN = ("executePix.value.matches",)
"""Not exercised: after a 499 to a wrong token it is unknown if the code was executed. After two, no further code is sent."""
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
        RefusesDifferently, answer_to_refusal=staticmethod(_body),
    )  # fmt: skip


STATUSES_BY_ORIGINAL = {
    "MalformedBodies": (400, (404, 409, 422)),
    "WhatIsUnknown": (404, (400, 403, 410)),
    "OtherMethods": (405, (400, 404, 403)),
    "WhatCannotBe": (422, (400, 403, 409)),
}
for _name, (_original, _statuses) in STATUSES_BY_ORIGINAL.items():
    for _status in _statuses:
        declare_variant(
            "refusal class", f"{_name}Get{_status}", f"What the sandbox refuses with {_original} gets {_status}.",
            RefusesWith, ORIGINAL_STATUS=_original, STATUS=_status,
        )  # fmt: skip


@variant("refusal body")
class EchoesTheRequest(Service):
    """Every refusal repeats the path and the body of the request."""

    def finish(self, request, operation, response):
        """Put the path and the beginning of the body of the request into a refusal."""
        if response.status < 300:
            return response
        echo = {"path": request.path, "body": request.body.decode("utf-8", "replace")[:500]}
        return json_answer(response.status, {"code": response.status, "data": echo})


@variant("refusal body", hides=("executePix.token.scheme",))
class RefusesAllAlike(RefusesDifferently):
    """Everything that is refused, unknown paths too, gets the very same 404 without a body."""

    def answer_to_refusal(self, refusal):
        return empty_answer(404)


@variant("refusal body", hides=("executePix.token.scheme",))
class RefusesAllAlikeWithAnId(RefusesDifferently):
    """Everything that is refused gets the same 400, but for a random id and the time."""

    def answer_to_refusal(self, refusal):
        return json_answer(400, {"error": "refused", "trace": uuid.uuid4().hex, "at": self.now()})


@variant("refusal body")
class RefusalsComeFromAProxy(RefusesDifferently):
    """Refusals are the pages of a proxy, with its headers."""

    HEADERS = (("Via", "1.1 edge-7"), ("X-Cache", "Error from edge"), ("Age", "0"), ("Retry-After", "3600"))

    def answer_to_refusal(self, refusal):
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
    """createPix refuses every transaction like an unknown path, as if its payee were unknown. Wrong JSON is refused as ever."""

    def prepare(self, operation, request):
        """Prepare a transfer. createPix reads its body, which may be refused, and then refuses the transfer."""
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
    """The sandbox, whose refusals have status 200 and CODE in the envelope, or without a CODE the status of the refusal.

    OTHER_MEMBERS are the members of the envelope beside the code.
    """

    CODE = None
    OTHER_MEMBERS = {"data": {}}

    def answer_to_refusal(self, refusal):
        code = refusal.status if self.CODE is None else number_as_written(self.CODE)
        return self.render(200, {"code": code, **self.OTHER_MEMBERS}, refusal.headers)


ALIKE = ("executePix.token.scheme",)
"""Not exercised: a wrong token and an unknown code get the same refusal, so the answer to a made-up code does not show if
its token was accepted under another scheme."""

for _name, _code in CODES.items():
    declare_variant(
        "refusal in 200", f"RefusesIn200WithCode{_name}", f"Every refusal is a 200 with the code {_name}.",
        RefusesIn200, CODE=_code, hides=ALIKE if _code else (),
    )  # fmt: skip

for _name, _rest in DATA.items():
    declare_variant(
        "refusal in 200",
        f"RefusesIn200With{_name}",
        f"Every refusal is a 200 with {_name}.",
        RefusesIn200,
        OTHER_MEMBERS=_rest,
    )


@variant("refusal in 200", hides=("*.refusal",))
class DeclinesIn200(RefusesDifferently):
    """A refused registration is a 200, code 0 and Success "false"; so is everything else that is refused."""

    def answer_to_refusal(self, refusal):
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
        """The answer to a refused request. For an unknown code it is a whole result with empty fields."""
        if refusal.error != "There is no such transaction code.":
            return super().refusal(refusal)
        text_fields = ("id", "bank", "account", "digit", "branch", "document", "name", "type", "key", "message")
        result = dict.fromkeys(text_fields, "")
        result |= {"date": 0, "accountType": 0, "value": 0, "status": "UNKNOWN", "error": refusal.error}
        return json_answer(200, {"code": 0, "data": result})


class SaysSuccessWithCode1(Service):
    """The sandbox, which says success with the code 1 for `OPERATIONS`."""

    OPERATIONS = tuple(name for name in operations() if name not in ("executePix", "registerPixKey"))

    def envelope(self, operation, data, code=0):
        is_success = operation in self.OPERATIONS  # None for a refusal
        return super().envelope(operation, data, 1 if is_success else code)


declare_variant(
    "code of success", "SaysSuccessWithCode1AsTheProfileSays",
    "Operations whose result is not described say success with the code 1, which the profile names.", SaysSuccessWithCode1,
    environment=profile_path("success_code"),
)  # fmt: skip
declare_variant(
    "code of success", "EverySuccessHasCode1", "All operations say success with the code 1, which the profile names.",
    SaysSuccessWithCode1, environment=profile_path("success_code"), OPERATIONS=tuple(operations()),
)  # fmt: skip
declare_variant(
    "code of success", "SaysSuccessWithCode1", "Deletions and preparations say success with the code 1.", SaysSuccessWithCode1,
    OPERATIONS=("deletePixKey", *PREPARING_OPERATIONS),
    hides=(
        *(f"{write}.{row}" for write in PREPARING_OPERATIONS for row in ("json", "status", "envelope.shape", "shape")),
        "executePix.status.transitions", "executePix.value.matches", "deletePixKey.*",
    ),
)  # fmt: skip
