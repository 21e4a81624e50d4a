"""Lawful services, each of which does one thing otherwise that the interface document does not show."""

import itertools
import json
import threading
import uuid
from dataclasses import replace
from urllib.parse import unquote

from environments.sandbox import Refusal, Response, Service
from spec.interface import READS

SEEN_OTHERWISE: dict[str, list[type[Service]]] = {}
"""By requirement, the services in which it alone is observed otherwise than in the sandbox."""


def otherwise(requirement_id):
    """Declare the requirement whose behaviour is another one."""

    def declared(service):
        SEEN_OTHERWISE.setdefault(requirement_id, []).append(service)
        return service

    return declared


def as_json(status, value, headers=()):
    """A response with a JSON text as its body."""
    return Response(status, json.dumps(value).encode(), (("Content-Type", "application/json"), *headers))


# -- refusals -----------------------------------------------------------------------------------------------------


class RefusesOtherwise(Service):
    """The sandbox, which refuses requests to one operation with other statuses, but for unknown codes."""

    OPERATION = ""
    STATUSES = {400: 422, 401: 403}

    def finish(self, request, operation, response):
        status = self.STATUSES.get(response.status, response.status) if operation == self.OPERATION else response.status
        return replace(response, status=status)


for _operation in dict.fromkeys(route[2] for route in Service.ROUTES):
    _name = f"Refuses{_operation[0].upper()}{_operation[1:]}Otherwise"
    otherwise(f"{_operation}.refusal")(type(_name, (RefusesOtherwise,), {"OPERATION": _operation}))


class ForbidsWithoutAToken(Service):
    """The sandbox, which refuses requests to one operation without a token with 403."""

    OPERATION = ""

    def finish(self, request, operation, response):
        return replace(response, status=403) if (operation, response.status) == (self.OPERATION, 401) else response


for _operation in ("deletePixKey", "createPix", "transferExternal", "transferInternal", "transferP2p"):
    _name = f"Forbids{_operation[0].upper()}{_operation[1:]}"
    otherwise(f"{_operation}.refusal")(type(_name, (ForbidsWithoutAToken,), {"OPERATION": _operation}))


@otherwise("getBalance.refusal")
class RefusesBalancesAsProblems(Service):
    """A refused balance is an object of problem+json (RFC 9457), without an envelope."""

    def finish(self, request, operation, response):
        if operation != "getBalance" or response.status < 400:
            return response
        problem = {"type": "about:blank", "title": "Refused", "status": response.status, "detail": request.path}
        return Response(response.status, json.dumps(problem).encode(), (("Content-Type", "application/problem+json"),))


@otherwise("listEntries.refusal")
class RefusesWithoutABody(Service):
    """A refusal of entries has no body."""

    def finish(self, request, operation, response):
        return Response(response.status, b"", ()) if operation == "listEntries" and response.status >= 400 else response


@otherwise("listAccounts.refusal")
class NamesNoScheme(Service):
    """A 401 of listAccounts names no scheme."""

    def finish(self, request, operation, response):
        if operation != "listAccounts" or response.status != 401:
            return response
        return replace(response, headers=tuple(one for one in response.headers if one[0] != "WWW-Authenticate"))


@otherwise("executePix.refusal")
class RefusesStrangeCodes(Service):
    """A code with a quotation mark is refused with another status."""

    def finish(self, request, operation, response):
        strange = operation == "executePix" and response.status == 404 and "'" in unquote(request.path)
        return replace(response, status=400) if strange else response


@otherwise("registerPixKey.refusal")
class RefusesTypesWithText(Service):
    """An undocumented key type, a number too, is refused with plain text."""

    def finish(self, request, operation, response):
        refused = operation == "registerPixKey" and b"pixKeyType is one of" in response.body
        return Response(400, b"unknown type", (("Content-Type", "text/plain"),)) if refused else response


def _of(path=None, body=None, content_type="", token=""):
    """Whether a request is the one that is answered otherwise, by a text of its parts."""
    return lambda request: (
        (path is None or path in request.path)
        and (body is None or body in request.body)
        and content_type in (request.header("Content-Type") or "")
        and token in (request.header("Authorization") or "")
    )


ONE_THING = {
    ("deletePixKey", "UnknownAccounts"): _of(path="pixconf-0"),
    ("deletePixKey", "UnknownKeys"): _of(path="ac-0001", body=b"pixconf-unknown"),
    **{(name, "Forms"): _of(content_type="form") for name in ("deletePixKey", "createPix", "transferP2p")},
    **{(name, "UnknownPayers"): _of(body=b'-account"', content_type="json") for name in ("createPix", "transferP2p")},
    ("createPix", "Amounts"): _of(body=b": -1"),
    **{(name, "WrongTokens"): _of(token="Bearer ") for name in ("getBalance", "listAccounts", "transferExternal")},
}
"""By operation and what its name says, the refused requests that a service answers otherwise."""


class RefusesOneThingOtherwise(Service):
    """The sandbox, which refuses one sort of requests to one operation with another status."""

    OPERATION, IS_IT = "", staticmethod(_of())
    WAS = frozenset({400, 401, 404, 415})

    def finish(self, request, operation, response):
        is_it = operation == self.OPERATION and response.status in self.WAS and self.IS_IT(request)
        return replace(response, status=406) if is_it else response


for (_operation, _what), _is_it in ONE_THING.items():
    _name = f"Refuses{_what}Of{_operation[0].upper()}{_operation[1:]}"
    _members = {"OPERATION": _operation, "IS_IT": staticmethod(_is_it)}
    otherwise(f"{_operation}.refusal")(type(_name, (RefusesOneThingOtherwise,), _members))


@otherwise("listEntries.refusal")
class HasNoEntriesOfUnknownAccounts(Service):
    """The entries of an unknown account are an empty list."""

    def finish(self, request, operation, response):
        unknown = operation == "listEntries" and response.status == 404
        return as_json(200, {"code": 0, "data": {"entries": []}}) if unknown else response


# -- tokens -------------------------------------------------------------------------------------------------------


class Open(Service):
    """The sandbox, which wants no token for one operation."""

    OPERATION = ""

    def authorize(self, request, operation):
        if operation != self.OPERATION:
            super().authorize(request, operation)


for _operation in READS:
    otherwise(f"{_operation}.token")(type(f"Opens_{_operation}", (Open,), {"OPERATION": _operation}))
otherwise("general.otherTokens")(type("OpensP2p", (Open,), {"OPERATION": "transferP2p"}))
otherwise("general.otherTokens")(type("OpensDeletions", (Open,), {"OPERATION": "deletePixKey"}))
_MAY_BE_OPEN = ("createPix", "transferExternal", "transferInternal", "transferP2p", "deletePixKey")


class RefusesAllWith400(Service):
    """The sandbox, which refuses everything that it may with 400, and a missing token without a word."""

    def finish(self, request, operation, response):
        if operation not in _MAY_BE_OPEN or response.status < 400:
            return response
        return Response(400, b"", ()) if response.status == 401 else replace(response, status=400)


class ReadsTheBodyFirst(RefusesAllWith400):
    """It looks at the token once it has read the body."""

    def authorize(self, request, operation):
        if operation in _MAY_BE_OPEN:
            try:
                json.loads(request.body)
            except ValueError as error:
                raise Refusal(400, "The body is no JSON.") from error
        super().authorize(request, operation)


# -- executions ---------------------------------------------------------------------------------------------------


class ExecutesOtherwise(Service):
    """The sandbox with other values in execution results."""

    def execution_result(self, transfer):
        result = super().execution_result(transfer)
        return result | self.other(result)


@otherwise("executePix.status.values")
class HasAnotherStatus(ExecutesOtherwise):
    """An executed transfer is CONFIRMED."""

    def other(self, result):
        return {"status": "CONFIRMED"}


@otherwise("executePix.date.unit")
class TellsSeconds(ExecutesOtherwise):
    """The date is in seconds."""

    def other(self, result):
        return {"date": result["date"] // 1000}


@otherwise("executePix.accountType.meaning")
class HasOtherAccountTypes(ExecutesOtherwise):
    """Account types are tens."""

    def other(self, result):
        return {"accountType": result["accountType"] * 10}


@otherwise("executePix.status.transitions")
class WaitsFirst(Service):
    """A prepared transfer is PENDING."""

    def preparation_result(self, transfer):
        return super().preparation_result(transfer) | {"status": "PENDING"}


class AnswersUnknownCodesOtherwise(Service):
    """The sandbox with another answer to an unknown transaction code."""

    def finish(self, request, operation, response):
        return self.unknown(response) if operation == "executePix" and response.status == 404 else response


@otherwise("executePix.unknownCode")
class RefusesUnknownCodesAsInvalid(AnswersUnknownCodesOtherwise):
    """An unknown code is refused with 422."""

    def unknown(self, response):
        return replace(response, status=422)


@otherwise("executePix.unknownCode")
class RefusesUnknownCodesInTheEnvelope(AnswersUnknownCodesOtherwise):
    """An unknown code is answered with 200, and the envelope says 404."""

    def unknown(self, response):
        return replace(response, status=200)


@otherwise("executePix.unknownCode")
class RefusesUnknownCodesWithText(AnswersUnknownCodesOtherwise):
    """An unknown code is refused with plain text."""

    def unknown(self, response):
        return Response(404, b"unknown", (("Content-Type", "text/plain"),))


# -- registrations ------------------------------------------------------------------------------------------------


@otherwise("registerPixKey.repeated")
class RefusesAgain(Service):
    """The registration of a key that is registered already is refused with 409."""

    def register_pix_key(self, request, account_id):
        result = super().register_pix_key(request, account_id)
        if result["Success"] == "false":
            raise Refusal(409, "The key is already registered.")
        return result


@otherwise("registerPixKey.repeated")
class RegistersAgain(Service):
    """The registration of a key that is registered already succeeds again."""

    def registration_success(self, registration):
        return "true"


@otherwise("registerPixKey.pixKeyType.numeric")
class TakesDigits(Service):
    """Digits are key types: 1 is PHONE, 3 is EMAIL."""

    def key_type(self, body):
        return super().key_type(
            body | {"pixKeyType": {"1": "PHONE", "3": "EMAIL"}.get(body.get("pixKeyType"), body.get("pixKeyType"))}
        )


@otherwise("registerPixKey.body.required")
class WantsTheAccount(Service):
    """A registration without the field account is refused."""

    def check_body_account(self, body, account_id):
        if "account" not in body:
            raise Refusal(400, "The field account is missing.")
        super().check_body_account(body, account_id)


@otherwise("registerPixKey.account.relation")
class LooksAtThePathAlone(Service):
    """The account of the body may be another one."""

    def check_body_account(self, body, account_id):
        if not isinstance(body.get("account", ""), str):
            super().check_body_account(body, account_id)


@otherwise("registerPixKey.pixKey.format")
class TakesAnyText(Service):
    """Any text is a key of any type."""

    KEY_FORMATS = dict.fromkeys(Service.KEY_FORMATS, lambda key: True)


@otherwise("registerPixKey.pixKey.format")
class WantsARandomKey(Service):
    """The client makes a RANDOM key."""

    def requested_key(self, body, key_type):
        key = super().requested_key(body, key_type)
        if not key:
            raise Refusal(422, "The field pixKey is empty.")
        return key


# -- in general ---------------------------------------------------------------------------------------------------


@otherwise("general.codeValues")
class HasOneCode(Service):
    """Every refusal has the code 1."""

    def envelope(self, operation, data, code=0):
        return super().envelope(operation, data, int(bool(code)))


@otherwise("general.codeValues")
class HasAnotherCode(Service):
    """A refusal of accounts without a valid token has the code 403."""

    def finish(self, request, operation, response):
        refused = operation == "listAccounts" and response.status == 401
        return as_json(401, {"code": 403, "data": {"error": "no"}}, response.headers[1:]) if refused else response


@otherwise("general.codeValues")
class HasLongCodes(Service):
    """Refusals have codes of four digits."""

    def envelope(self, operation, data, code=0):
        return super().envelope(operation, data, code and 1000 + code)


@otherwise("general.sizeLimit")
class LimitsBodies(Service):
    """A body of 100 kB is too large."""

    def check_size(self, request):
        if len(request.body) > 100_000:
            raise Refusal(413, "The body is too large.")


@otherwise("general.sizeLimit")
class LimitsTheFirstLine(Service):
    """A path of 4 kB is too long, and so is a query."""

    def check_size(self, request):
        if len(request.path + request.query) > 4_000:
            raise Refusal(414, "The path is too long.")


@otherwise("general.deprecation")
class IsDeprecated(Service):
    """The accounts are deprecated."""

    def finish(self, request, operation, response):
        headers = (("Deprecation", "@1767225600"), ("Sunset", "Fri, 01 Jan 2027 00:00:00 GMT"))
        return replace(response, headers=(*response.headers, *headers)) if operation == "listAccounts" else response


@otherwise("general.identifierFormat")
class MakesUuids(Service):
    """A transaction code is a UUID."""

    def new_code(self):
        return str(uuid.uuid4())


@otherwise("general.identifierFormat")
class MakesNumbers(Service):
    """A transaction code is a number."""

    def new_code(self):
        return str(uuid.uuid4().int)


# -- the same service ---------------------------------------------------------------------------------------------


class LimitsTheRate(Service):
    """Every twentieth request is one too many."""

    def __init__(self):
        super().__init__()
        self.count, self.guard = itertools.count(1), threading.Lock()

    def respond(self, request):
        with self.guard:
            too_many = next(self.count) % 20 == 0
        if not too_many:
            return super().respond(request)
        return as_json(429, {"code": 429, "data": {}}, [("Retry-After", "0"), ("RateLimit-Limit", "20")])


class Stumbles(Service):
    """The sandbox, which answers each sixteenth request that is no execution with 500 or 503 in turn, once."""

    def __init__(self):
        super().__init__()
        self.count, self.guard, self.stumbled = itertools.count(1), threading.Lock(), set()

    def respond(self, request):
        what = (request.method, request.path, request.body, request.header("Authorization"))
        with self.guard:
            number = next(self.count)
            stumbles = number % 16 == 0 and what not in self.stumbled and "/execute/" not in request.path
            self.stumbled |= {what} if stumbles else set()
        status = 500 if number % 32 else 503
        return as_json(status, {"code": status, "data": {}}) if stumbles else super().respond(request)
