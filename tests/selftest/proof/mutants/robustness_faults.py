"""Services that answer one kind of invalid request with a server error, a stack trace or a dropped connection."""

import json
from urllib.parse import unquote

from environments.sandbox import Response, Server, Service
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from tests.selftest.proof.mutants.making_faults import (
    ChangesAnswers,
    DiffersInOperations,
    RefusesSomeRequests,
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
"""Ways in which a service fails on a request: in words, the answer, and the ends of the ids of requirements that it breaks."""


class Falls(DiffersInOperations, DropsConnections):
    """The sandbox, which answers the requests to `OPERATIONS` of which `is_affected` is true with `FALL`.

    FALL is the answer of a service that fails, such as a server error or a dropped connection.
    """

    def finish(self, request, operation, response):
        return self.FALL if operation in self.OPERATIONS and self.is_affected(request) else response


def path_argument(request):
    """The last part of the path, decoded: an account or a code."""
    return unquote(request.path.rsplit("/", 1)[-1])


def has_member(name, fits):
    """A function that is true of a request if its JSON body has this member, with a value of which `fits` is true."""
    return lambda request: name in json_members(request) and fits(json_members(request)[name])


def lacks_only(name):
    """A function that is true of a registration whose body lacks this one of its three members."""
    return lambda request: len(json_members(request)) == 2 and name not in json_members(request)


def is_made_up(text):
    """True if a code or key has the form that the suite makes up: its prefix and eight more characters."""
    return text.startswith(SYNTHETIC_PREFIX) and len(text) == len(SYNTHETIC_PREFIX) + 8


MALFORMED = {
    "MalformedJson": ("malformed JSON", lambda request: request.body.startswith(b'{"pixconf')),
    "AnEmptyBody": ("an empty body", lambda request: not request.body),
}
NO_OBJECT = {
    "AnArray": ("an array as body", lambda request: request.body == b"[]"),
    "AText": ("a text as body", lambda request: request.body.startswith(b'"')),
}
NO_TOKEN = {"AMissingToken": ("a request without a token", lambda request: not request.header("Authorization"))}
UNKNOWN = {
    "AnUnknownAccount": ("an unknown account", lambda request: path_argument(request).startswith(SYNTHETIC_PREFIX))
}
ENCODED = {"AnEncodedAccount": ("an account with encoded slashes", lambda request: "%252f" in request.path.lower())}
TRANSFER = {
    **MALFORMED,
    "TextForValue": ("text for value", has_member("value", lambda value: str(value).endswith("text"))),
}
INPUTS = {
    "executePix": {
        **NO_TOKEN,
        "BasicCredentials": ("basic credentials", lambda request: request.header("Authorization").startswith("Basic ")),
        "AnUnknownCode": ("an unknown code", lambda request: is_made_up(path_argument(request))),
        "AnOverLongCode": ("an over-long code", lambda request: len(path_argument(request)) > 1000),
        "AnEncodedCode": ("a code with encoded slashes", lambda request: "%252f" in request.path.lower()),
        "ACodeOutsideAscii": ("a code outside ASCII", lambda request: not path_argument(request).isascii()),
        "ACodeWithNul": ("a code with NUL", lambda request: "\0" in path_argument(request)),
    },
    "registerPixKey": {
        **MALFORMED, **NO_TOKEN, **UNKNOWN, **NO_OBJECT,
        "AnEmptyObject": ("an empty object", lambda request: request.body == b"{}"),
        "ADeepBody": ("a deeply nested body", lambda request: request.body.startswith(b"[[[[")),
        "AForm": ("a form", lambda request: "form" in request.header("Content-Type")),
        "AMissingKey": ("a missing pixKey", lacks_only("pixKey")),
        "AMissingKind": ("a missing pixKeyType", lacks_only("pixKeyType")),
        "AnUnknownKind": ("a kind that is not documented", has_member("pixKeyType", lambda value: value == "IBAN")),
        "ANullKey": ("null as key", has_member("pixKey", lambda value: value is None)),
        "AKeyOutsideAscii": ("a key outside ASCII", has_member("pixKey", lambda value: not str(value).isascii())),
        "AKeyWithNul": ("a key with NUL", has_member("pixKey", lambda value: "\0" in str(value))),
        "AnOverLongKey": ("an over-long key", has_member("pixKey", lambda value: len(str(value)) > 1000)),
        "AnIllFormedEmail": ("an ill-formed address", has_member("pixKey", lambda value: is_made_up(str(value)))),
    },
    "deletePixKey": {**MALFORMED, **NO_OBJECT},
    **{read: {**NO_TOKEN, **UNKNOWN, **ENCODED} if operations()[read].path_parameter else NO_TOKEN for read in READ_OPERATIONS},
    **dict.fromkeys(PREPARING_OPERATIONS, TRANSFER),
}  # fmt: skip
"""Invalid requests by operation: the words for one in the name and in the text of a mutant, and what is true of it."""


HIDES = {
    ("executePix", "AnUnknownCode"): ("executePix.token.scheme",),
    **{(read, "AMissingToken"): (f"{read}.token",) for read in READ_OPERATIONS},
}
"""Requirements that are not exercised if the service fails on such a request: a failure is nothing to observe."""


def _declare_failure(operation, way, word, request_in_words, is_affected):
    """Declare a mutant that fails in this way of FALLS on the requests of which `is_affected` is true."""
    how, response, rows = FALLS[way]
    is_nothing_to_observe = response is DROPPED or response.status >= 500 or operation == "executePix"
    declare_mutant(
        "breaks on an invalid request", f"{operation[0].upper()}{operation[1:]}{way}For{word}",
        f"{request_in_words[0].upper()}{request_in_words[1:]} {how}.", Falls, *ids_of_operation(operation, *rows),
        hides=HIDES.get((operation, word), ()) if is_nothing_to_observe else (),
        OPERATIONS=(operation,), FALL=response, is_affected=without_self(is_affected),
    )  # fmt: skip


for _operation, _inputs in INPUTS.items():
    for _index, (_word, (_in_words, _is_affected)) in enumerate(_inputs.items()):
        _declare_failure(_operation, list(FALLS)[_index % 4], _word, _in_words, _is_affected)
    _word, (_in_words, _is_affected) = next(iter(_inputs.items()))
    _declare_failure(_operation, "IsDropped", _word, _in_words, _is_affected)
    if len(_inputs) < 2:
        _declare_failure(_operation, "ShowsATrace", _word, _in_words, _is_affected)


class FallsOnce(Falls):
    """The sandbox, which fails on an undocumented key type, but answers the same request if it is sent again."""

    last_body = b""

    def is_affected(self, request):
        """True of a registration with an undocumented key type, unless the request before had the same body."""
        is_new = request.body != self.last_body
        self.last_body = request.body
        return is_new and json_members(request).get("pixKeyType") not in KEY_TYPES


declare_mutant(
    "breaks on an invalid request", "RegistrationIsDroppedOnce", "An undocumented key type drops the connection once.",
    FallsOnce, "registerPixKey.connection", OPERATIONS=("registerPixKey",), FALL=DROPPED,
)  # fmt: skip
for _name, _what, _operation, _is_refused in (
    ("ExecutionOfACnpjFails", "The execution of a CNPJ key", "executePix", lambda request: "CNPJ" in request.path),
    ("DeletionOfAnEmailFails", "The deletion of an EMAIL key", "deletePixKey", lambda request: b"@" in request.body),
    ("BalanceFails", "Reading the balance", "getBalance", lambda request: True),
):
    declare_mutant(
        "breaks on a valid request", _name, f"{_what} ends in a server error.", RefusesSomeRequests, f"{_operation}.serverError",
        hides=() if _operation in ("executePix", "deletePixKey") else (f"{_operation}.*",),
        OPERATIONS=(_operation,), REFUSAL=(500, "Internal server error."), is_refused=without_self(_is_refused),
    )  # fmt: skip
declare_mutant(
    "breaks on a valid request", "DeletionsFailAfterDeleting", "Every deletion deletes the key and ends in a server error.",
    ChangesAnswers, "deletePixKey.serverError", hides=("deletePixKey.*",), OPERATIONS=("deletePixKey",),
    alter=lambda self, response: Response(500, b"", PLAIN),
)  # fmt: skip


# -- the process ends


class RestartableServer(Server):
    """A server that the service itself can stop and start again, as if its process had ended."""

    successor = None

    def __init__(self, service, port=0):
        service.server = self
        super().__init__(service, port)

    def start_again(self):
        """Close all connections, and start a successor on the same port."""
        super().stop()
        self.successor = RestartableServer(self.service, self.server_address[1])

    def stop(self):
        super().stop()
        if self.successor:
            self.successor.stop()


class Ends(Service):
    """The sandbox, whose process ends when it gets the undocumented key type IBAN, and is started again."""

    ON_THE_WIRE = True
    SERVER = RestartableServer

    def serve(self, request, connection):
        """Answer a request. A request with the key type IBAN gets no answer, because the server restarts."""
        if json_members(request).get("pixKeyType") != "IBAN":
            return super().serve(request, connection)
        self.server.start_again()
        return None


declare_mutant(
    "ends", "RegistrationOfAnUnknownTypeEndsTheService", "Each undocumented key type ends the process.", Ends,
    "registerPixKey.connection",
)  # fmt: skip
