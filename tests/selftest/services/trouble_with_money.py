"""Services that conform until a real code is executed."""

import json
import socket
import threading
from dataclasses import replace
from typing import ClassVar

from environments.sandbox import Response
from tests.selftest.services.serving import (
    EXECUTION_PATH,
    SocketService,
    has_real_code,
    reset_connection,
    response_bytes,
)


class Trouble(SocketService):
    """Answers as the sandbox does, except for executions of a real code with the valid token (without it if
    `granted` is False), which `execute` answers. `silent` is set when an answer is held back.
    """

    granted = True
    answers = Response(504, b"gateway timeout")

    def __init__(self):
        super().__init__()
        self.silent = threading.Event()

    def answer(self, connection, request):
        if has_real_code(request.path) and self.has_valid_token(request) is self.granted:
            self.execute(connection, request)
        else:
            super().answer(connection, request)

    def execute(self, connection, request):
        connection.sendall(response_bytes(self.answers))


class GatewayTimesOut(Trouble):
    """A gateway answers 504 in the service's place."""


class NeverAnswersAnExecution(Trouble):
    """Reads the execution and says nothing."""

    def execute(self, connection, request):
        self.silent.set()
        self._stopped.wait()


class NeverAnswersARefusal(NeverAnswersAnExecution):
    """Says nothing to a request with a real code and without the valid token: it may have executed it."""

    granted = False


class BreaksOnARefusal(Trouble):
    """Answers 500 to a request with a real code and without the valid token: it may have executed it."""

    granted = False
    answers = Response(500, b'{"code": 5, "data": {}}', (("Content-Type", "application/json"),))


class RedirectsARefusal(BreaksOnARefusal):
    """Sends whoever has no valid token to a page to log in."""

    answers = Response(302, b"", (("Location", "/login"),))


class ResetsAnExecution(Trouble):
    """Reads the execution and resets the connection."""

    def execute(self, connection, request):
        reset_connection(connection)


class DropsAnExecution(Trouble):
    """Reads the execution on a connection that it kept alive and closes it."""

    def execute(self, connection, request):
        connection.shutdown(socket.SHUT_RDWR)


class CutsAnExecutionShort(Trouble):
    """Sends half of what Content-Length promises."""

    def execute(self, connection, request):
        connection.sendall(response_bytes(self.sandbox.respond(request))[:-40])
        connection.shutdown(socket.SHUT_RDWR)


class ExecutesAndBreaksA400Off(Trouble):
    """Executes, answers 400, and sends half of what Content-Length promises."""

    def execute(self, connection, request):
        answer = replace(self.sandbox.respond(request), status=400)
        connection.sendall(response_bytes(answer)[:-40])
        connection.shutdown(socket.SHUT_RDWR)


class ExecutesAndAnswers400(Trouble):
    """Executes, and answers 400 with the result of the transfer."""

    status = 400
    changes: ClassVar[dict[str, object]] = {}

    def execute(self, connection, request):
        answer = self.sandbox.respond(request)
        envelope = json.loads(answer.body)
        envelope["data"] |= self.changes.get("data", {})
        body = json.dumps(envelope | {"code": self.changes.get("code", 400)}).encode()
        connection.sendall(response_bytes(Response(self.status, body, answer.headers)))


class ExecutesAndAnswers409(ExecutesAndAnswers400):
    """Executes, and says that the code was used before, with the result of the transfer."""

    status = 409


class ExecutesAndAnswersCode1(ExecutesAndAnswers400):
    """Executes later: a 200 whose envelope has code 1, and a result that is pending, without an error."""

    status = 200
    changes: ClassVar[dict[str, object]] = {"code": 1, "data": {"status": "PENDING", "error": None}}


class RedirectsToAnExecution(SocketService):
    """Answers everything with a redirect to the execution of a code, which moves the money when it is followed."""

    def answer(self, connection, request):
        location = ("Location", f"{self.base_url}{EXECUTION_PATH}SBX-PHONE-1")
        connection.sendall(response_bytes(Response(307, b"", (location,))))


class SlowsAnExecutionDown(Trouble):
    """Answers 429 to the first execution, which says that nothing was done."""

    asked = False

    def execute(self, connection, request):
        is_first = not self.asked
        self.asked = True
        limited = Response(429, b"", (("Retry-After", "0"),))
        connection.sendall(response_bytes(limited if is_first else self.sandbox.respond(request)))


class ExecutesForAnybody(SocketService):
    """Checks no token."""

    def __init__(self):
        super().__init__()
        self.sandbox.authorize = lambda request, operation: None


class RefusesEveryExecution(Trouble):
    """Answers 401 to an execution, and lets the token in everywhere else."""

    answers = Response(401, b'{"code": 401}', (("Content-Type", "application/json"),))


class RefusesEveryExecutionIn200(Trouble):
    """Answers an execution with 200 and an envelope whose code is 401."""

    answers = Response(200, b'{"code": 401, "data": null}', (("Content-Type", "application/json"),))
