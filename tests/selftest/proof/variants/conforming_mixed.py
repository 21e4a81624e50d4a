"""Several differences at once, as real services have them."""

import gzip
import json
import uuid

from environments.sandbox import Response, Service
from tests.selftest.proof.registry import variant
from tests.selftest.proof.variants.conforming_making import (
    AddsFieldsInTurn,
    RefusesDifferently,
    declined_registration,
    empty_answer,
    html_answer,
    json_answer,
    number_as_written,
    problem_answer,
)
from tests.selftest.proof.variants.conforming_pending_keys import DeletesWhatIsNotThere
from tests.selftest.proof.variants.conforming_registrations import (
    DuplicatesAreWelcome,
    RefusesDuplicates,
    ShowsTheRandomKey,
    TakesNumericKinds,
)


@variant("mixed", hides=("listAccounts.refusal",))
class AnOldBankBehindSoap(AddsFieldsInTurn, TakesNumericKinds):
    """Refusals are 200 with a negative code and null, dates are seconds, amounts integers, JSON is indented."""

    EXECUTIONS = ({"date": 1_767_312_000, "value": 15_000, "status": "CONFIRMADA", "error": ""},)

    def authorize(self, request, operation):
        """Check the token of the two documented operations. All others need none."""
        if operation in ("executePix", "registerPixKey"):
            super().authorize(request, operation)

    def refusal(self, refusal):
        return json_answer(200, {"code": -refusal.status, "data": None})

    def render(self, status, body, headers=()):
        content = json.dumps(body, indent=2).replace("\n", "\r\n").encode()
        return Response(status, content, (("Content-Type", "application/json;charset=UTF-8"), *headers))


@variant("mixed")
class AModernApi(ShowsTheRandomKey, RefusesDuplicates, RefusesDifferently):
    """Problems for refusals, 403 for a bad token, gzip, ids and rate headers, further members, RANDOM keys shown."""

    ON_THE_WIRE = True

    def answer_to_refusal(self, refusal):
        return problem_answer(403 if refusal.status == 401 else refusal.status, refusal.error)

    def envelope(self, operation, data, code=0):
        return {"traceId": uuid.uuid4().hex, "code": code, "data": data, "links": {"self": "/v1"}}

    def finish(self, request, operation, response):
        """The answer with a compressed body and further headers."""
        further = (("Content-Encoding", "gzip"), ("X-Request-Id", str(uuid.uuid4())), ("RateLimit-Remaining", "17"))
        return Response(response.status, gzip.compress(response.body), (*response.headers, *further))


@variant("mixed", hides=("listAccounts.refusal",))
class BehindALoginProxy(Service):
    """Without a token there is a login page, unknown paths are the front page, cookies are set, connections closed."""

    def finish(self, request, operation, response):
        """Give a login page in the place of a 401, and the front page for an unknown path, which has no operation."""
        if response.status == 401:
            return html_answer(200, "Entrar", (("Set-Cookie", f"sid={uuid.uuid4()}"), ("Connection", "close")))
        is_known_path = operation is not None
        return response if is_known_path else html_answer(200, "Banco Aurora")


@variant("mixed", hides=("executePix.token.scheme",))
class HidesWhatItCan(AddsFieldsInTurn):
    """Every refusal is a 404 without a body, fields are empty if they may be, and documents are masked with dots."""

    EXECUTIONS = (dict.fromkeys(("name", "message", "key", "branch"), "") | {"error": None, "document": "...456..."},)
    REGISTRATIONS = ({"Key": None, "Message": "", "DocumentNumber": 0},)

    def refusal(self, refusal):
        return empty_answer(404)


@variant("mixed")
class NumbersInEveryForm(AddsFieldsInTurn):
    """Every number is a decimal or has an exponent, and codes of refusals are huge."""

    EXECUTIONS = (
        {
            "date": number_as_written("17673120e5"),
            "accountType": number_as_written("10E-1"),
            "value": number_as_written("1e-2"),
        },
    )
    REGISTRATIONS = ({"DocumentNumber": number_as_written("7.000")},)

    def envelope(self, operation, data, code=0):
        return {"code": 10**30 + code if code else number_as_written("0.0"), "data": data}


@variant("mixed")
class KnowsMoreKinds(TakesNumericKinds, DuplicatesAreWelcome, DeletesWhatIsNotThere):
    """Key types may be digits, the RANDOM key is always the same, and duplicates and deletions of no key succeed."""

    def new_key(self):
        return "5eed0000-0000-4000-8000-000000000001"


@variant("mixed")
class SaysFalseForWhatItDoesNotTake(RefusesDifferently):
    """Every refusal has status 200, code 1 in the envelope, and the data of a registration with Success "false"."""

    def answer_to_refusal(self, refusal):
        return json_answer(200, {"code": 1, "data": declined_registration(refusal.error)})
