"""Server errors, stack traces and dropped connections for an invalid request, one input class each."""

import json
from urllib.parse import unquote

from environments.sandbox import Response, Server, Service
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from tests.selftest.proof.mutants.making_faults import (
    ChangesAnswers,
    Demands,
    DiffersInOperations,
    json_members,
    without_self,
)
from tests.selftest.proof.registry import declare_mutant, ids_of_operation
from tests.selftest.proof.variants.conforming_making import DROPPED, DropsConnections

TRACE = b"Traceback (most recent call last):\n  File \"app.py\", line 7, in handle\nKeyError: 'pixKey'\n"
JAVA = b"java.lang.NullPointerException\n\tat br.bank.pix.Keys.register(Keys.java:81)\n"
NODE = b"TypeError: x is undefined\n    at handle (/srv/app/keys.js:12:7)\n"
PLAIN = (("Content-Type", "text/plain"),)
JSON = (("Content-Type", "application/json"),)
_IN_JSON = json.dumps({"error": NODE.decode()}).encode()
FALLS = {
    "Fails": ("ends in a server error", Response(500, b"{}", JSON), ("serverError",)),
    "ShowsATrace": ("ends in a stack trace", Response(500, TRACE, PLAIN), ("serverError", "stackTrace")),
    "ShowsATraceWith400": ("is refused with a stack trace", Response(400, JAVA, PLAIN), ("stackTrace",)),
    "ShowsATraceInJson": ("is refused with a stack trace in JSON", Response(422, _IN_JSON, JSON), ("stackTrace",)),
    "IsDropped": ("ends with a dropped connection", DROPPED, ("connection",)),
}
"""How a service falls over: what its text says of it, the answer, and the rows that it breaks."""


class Falls(DiffersInOperations, DropsConnections):
    """The sandbox, which falls over what `trips` picks of the requests to `OPERATIONS`."""

    def finish(self, request, operation, response):
        return self.FALL if operation in self.OPERATIONS and self.trips(request) else response


def argument(request):
    """The path argument, decoded."""
    return unquote(request.path.rsplit("/", 1)[-1])


def holds(name, fits):
    """A member of the body whose value fits."""
    return lambda request: name in json_members(request) and fits(json_members(request)[name])


def lacks(name):
    """A body of three members that is short of one."""
    return lambda request: len(json_members(request)) == 2 and name not in json_members(request)


def is_invented(code):
    """The mark of the suite and eight hex digits."""
    return code.startswith(SYNTHETIC_PREFIX) and len(code) == len(SYNTHETIC_PREFIX) + 8


MALFORMED = {
    "MalformedJson": ("malformed JSON", lambda r: r.body.startswith(b'{"pixconf')),
    "AnEmptyBody": ("an empty body", lambda r: not r.body),
}
NO_OBJECT = {
    "AnArray": ("an array as body", lambda r: r.body == b"[]"),
    "AText": ("a text as body", lambda r: r.body.startswith(b'"')),
}
NO_TOKEN = {"AMissingToken": ("a request without a token", lambda r: not r.header("Authorization"))}
UNKNOWN = {"AnUnknownAccount": ("an unknown account", lambda r: argument(r).startswith(SYNTHETIC_PREFIX))}
ENCODED = {"AnEncodedAccount": ("an account with encoded slashes", lambda r: "%252f" in r.path.lower())}
TRANSFER = {**MALFORMED, "TextForValue": ("text for value", holds("value", lambda v: str(v).endswith("text")))}
INPUTS = {
    "executePix": {
        **NO_TOKEN,
        "BasicCredentials": ("basic credentials", lambda r: r.header("Authorization").startswith("Basic ")),
        "AnUnknownCode": ("an unknown code", lambda r: is_invented(argument(r))),
        "AnOverLongCode": ("an over-long code", lambda r: len(argument(r)) > 1000),
        "AnEncodedCode": ("a code with encoded slashes", lambda r: "%252f" in r.path.lower()),
        "ACodeOutsideAscii": ("a code outside ASCII", lambda r: not argument(r).isascii()),
        "ACodeWithNul": ("a code with NUL", lambda r: "\0" in argument(r)),
    },
    "registerPixKey": {
        **MALFORMED, **NO_TOKEN, **UNKNOWN, **NO_OBJECT,
        "AnEmptyObject": ("an empty object", lambda r: r.body == b"{}"),
        "ADeepBody": ("a deeply nested body", lambda r: r.body.startswith(b"[[[[")),
        "AForm": ("a form", lambda r: "form" in r.header("Content-Type")),
        "AMissingKey": ("a missing pixKey", lacks("pixKey")),
        "AMissingKind": ("a missing pixKeyType", lacks("pixKeyType")),
        "AnUnknownKind": ("a kind that is not documented", holds("pixKeyType", lambda v: v == "IBAN")),
        "ANullKey": ("null as key", holds("pixKey", lambda v: v is None)),
        "AKeyOutsideAscii": ("a key outside ASCII", holds("pixKey", lambda v: not str(v).isascii())),
        "AKeyWithNul": ("a key with NUL", holds("pixKey", lambda v: "\0" in str(v))),
        "AnOverLongKey": ("an over-long key", holds("pixKey", lambda v: len(str(v)) > 1000)),
        "AnIllFormedEmail": ("an ill-formed address", holds("pixKey", lambda v: is_invented(str(v)))),
    },
    "deletePixKey": {**MALFORMED, **NO_OBJECT},
    **{read: {**NO_TOKEN, **UNKNOWN, **ENCODED} if operations()[read].path_parameter else NO_TOKEN for read in READ_OPERATIONS},
    **dict.fromkeys(PREPARING_OPERATIONS, TRANSFER),
}  # fmt: skip
"""By operation: what the name of the mutant calls the input, what its text does, and how it is told."""


HIDES = {
    ("executePix", "AnUnknownCode"): ("executePix.token.scheme",),
    **{(read, "AMissingToken"): (f"{read}.token",) for read in READ_OPERATIONS},
}
"""What an operation does not show where it answers like that: a drop, or a server error, is nothing to observe."""


def _lie(operation, fall, word, shown, trips):
    how, response, rows = FALLS[fall]
    declare_mutant(
        "breaks on an invalid request", f"{operation[0].upper()}{operation[1:]}{fall}For{word}",
        f"{shown[0].upper()}{shown[1:]} {how}.", Falls, *ids_of_operation(operation, *rows),
        hides=HIDES.get((operation, word), ()) if response is DROPPED or response.status >= 500 or operation == "executePix" else (),
        OPERATIONS=(operation,), FALL=response, trips=without_self(trips),
    )  # fmt: skip


for _operation, _inputs in INPUTS.items():
    for _index, (_word, (_shown, _trips)) in enumerate(_inputs.items()):
        _lie(_operation, list(FALLS)[_index % 4], _word, _shown, _trips)
    _word, (_shown, _trips) = next(iter(_inputs.items()))
    _lie(_operation, "IsDropped", _word, _shown, _trips)
    if len(_inputs) < 2:
        _lie(_operation, "ShowsATrace", _word, _shown, _trips)


class FallsOnce(Falls):
    """The sandbox, which answers to an undocumented key type when it is sent again."""

    def trips(self, request):
        asked, self.asked = getattr(self, "asked", b""), request.body
        return self.asked != asked and json_members(request).get("pixKeyType") not in KEY_TYPES


declare_mutant(
    "breaks on an invalid request", "RegistrationIsDroppedOnce", "An undocumented key type drops the connection once.",
    FallsOnce, "registerPixKey.connection", OPERATIONS=("registerPixKey",), FALL=DROPPED,
)  # fmt: skip
for _name, _what, _operation, _strikes in (
    ("ExecutionOfACnpjFails", "The execution of a CNPJ key", "executePix", lambda r: "CNPJ" in r.path),
    ("DeletionOfAnEmailFails", "The deletion of an EMAIL key", "deletePixKey", lambda r: b"@" in r.body),
    ("BalanceFails", "Reading the balance", "getBalance", lambda r: True),
):
    declare_mutant(
        "breaks on a valid request", _name, f"{_what} ends in a server error.", Demands, f"{_operation}.serverError",
        hides=() if _operation in ("executePix", "deletePixKey") else (f"{_operation}.*",),
        OPERATIONS=(_operation,), REFUSAL=(500, "Internal server error."), lacks=without_self(_strikes),
    )  # fmt: skip
declare_mutant(
    "breaks on a valid request", "DeletionsFailAfterDeleting", "Every deletion deletes the key and ends in a server error.",
    ChangesAnswers, "deletePixKey.serverError", hides=("deletePixKey.*",), OPERATIONS=("deletePixKey",),
    alter=lambda self, response: Response(500, b"", PLAIN),
)  # fmt: skip


# -- the process ends


class Mortal(Server):
    """Tells the service who serves it. A successor on the same port takes its place."""

    successor = None

    def __init__(self, service, port=0):
        service.server = self
        super().__init__(service, port)

    def start_again(self):
        super().stop()
        self.successor = Mortal(self.service, self.server_address[1])

    def stop(self):
        super().stop()
        if self.successor:
            self.successor.stop()


class Ends(Service):
    """The sandbox, whose process ends at an undocumented key type, and is started again."""

    ON_THE_WIRE, SERVER = True, Mortal

    def serve(self, request, connection):
        if json_members(request).get("pixKeyType") != "IBAN":
            return super().serve(request, connection)
        self.server.start_again()
        return None


declare_mutant(
    "ends", "RegistrationOfAnUnknownTypeEndsTheService", "Each undocumented key type ends the process.", Ends,
    "registerPixKey.connection",
)  # fmt: skip
