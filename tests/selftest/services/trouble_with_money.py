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
    """The sandbox, in trouble with executions of a real code (one that the suite did not make up).

    `execute` answers executions with the valid token. If `has_trouble_with_valid_token` is False, it answers executions
    without the valid token instead. All other requests are answered as the sandbox does. `silent` is set when an answer
    is held back.
    """

    has_trouble_with_valid_token = True
    answer_in_trouble = Response(504, b"gateway timeout")

    def __init__(self):
        """The sandbox, before an answer was held back."""
        super().__init__()
        self.silent = threading.Event()

    def answer(self, connection, request):
        """Answer an execution of a real code by `execute`, if its token is such that there is trouble with it."""
        token_leads_to_trouble = self.has_valid_token(request) is self.has_trouble_with_valid_token
        if has_real_code(request.path) and token_leads_to_trouble:
            self.execute(connection, request)
        else:
            super().answer(connection, request)

    def execute(self, connection, request):
        """Answer an execution without executing it. Subclasses override this with another kind of trouble."""
        connection.sendall(response_bytes(self.answer_in_trouble))


class GatewayTimesOut(Trouble):
    """A gateway before the service answers an execution with 504."""


class NeverAnswersAnExecution(Trouble):
    """Reads an execution and sends no answer."""

    def execute(self, connection, request):
        """Keep the connection open, without an answer, until the service is stopped."""
        self.silent.set()
        self._stopped.wait()


class NeverAnswersARefusal(NeverAnswersAnExecution):
    """Sends no answer to an execution without the valid token, so the code may have been executed."""

    has_trouble_with_valid_token = False


class BreaksOnARefusal(Trouble):
    """Answers 500 to an execution without the valid token, so the code may have been executed."""

    has_trouble_with_valid_token = False
    answer_in_trouble = Response(500, b'{"code": 5, "data": {}}', (("Content-Type", "application/json"),))


class RedirectsARefusal(BreaksOnARefusal):
    """Redirects an execution without the valid token to a page to log in."""

    answer_in_trouble = Response(302, b"", (("Location", "/login"),))


class ResetsAnExecution(Trouble):
    """Reads the execution and resets the connection."""

    def execute(self, connection, request):
        """Reset the connection in the place of an answer. Nothing is executed."""
        reset_connection(connection)


class DropsAnExecution(Trouble):
    """Reads the execution, and closes the connection without an answer."""

    def execute(self, connection, request):
        """Close the connection in the place of an answer. Nothing is executed."""
        connection.shutdown(socket.SHUT_RDWR)


class CutsAnExecutionShort(Trouble):
    """Executes the code, and sends the answer without its last 40 bytes."""

    def execute(self, connection, request):
        """Execute the code, and close the connection before the end of the answer."""
        whole_answer = response_bytes(self.sandbox.respond(request))
        connection.sendall(whole_answer[:-40])
        connection.shutdown(socket.SHUT_RDWR)


class ExecutesAndBreaksA400Off(Trouble):
    """Executes the code, and sends an answer with status 400, without its last 40 bytes."""

    def execute(self, connection, request):
        """Execute the code, send the status 400, and close the connection before the end of the answer."""
        answer = replace(self.sandbox.respond(request), status=400)
        connection.sendall(response_bytes(answer)[:-40])
        connection.shutdown(socket.SHUT_RDWR)


class ExecutesAndAnswers400(Trouble):
    """Executes the code, and sends the result of the transfer with status 400 and code 400."""

    status = 400
    code = 400
    changes_of_result: ClassVar[dict[str, object]] = {}

    def execute(self, connection, request):
        """Execute the code, and send its result under another status and code."""
        result = self.sandbox.respond(request)
        connection.sendall(response_bytes(self.contradicting(result)))

    @classmethod
    def contradicting(cls, answer):
        """The answer to a successful execution, with another status and code, which say that it did not succeed."""
        envelope = json.loads(answer.body)
        envelope["code"] = cls.code
        envelope["data"] |= cls.changes_of_result
        return Response(cls.status, json.dumps(envelope).encode(), answer.headers)


class ExecutesAndAnswers409(ExecutesAndAnswers400):
    """Executes the code, and sends the result of the transfer with status 409, as if it had been executed before."""

    status = 409


class ExecutesAndAnswersCode1(ExecutesAndAnswers400):
    """Executes the code, and answers as if it did so later: status 200, code 1, and a result that is PENDING."""

    status = 200
    code = 1
    changes_of_result: ClassVar[dict[str, object]] = {"status": "PENDING", "error": None}


class RedirectsToAnExecution(SocketService):
    """Answers everything with a redirect to the execution of a code. Whoever follows the redirect moves money."""

    def answer(self, connection, request):
        """Send a redirect to the execution of the code SBX-PHONE-1."""
        location = ("Location", f"{self.base_url}{EXECUTION_PATH}SBX-PHONE-1")
        connection.sendall(response_bytes(Response(307, b"", (location,))))


class SlowsAnExecutionDown(Trouble):
    """Answers the first execution with 429 (come again), which says that nothing was done. Later executions succeed."""

    is_first_execution = True

    def execute(self, connection, request):
        """Send 429 with Retry-After: 0 the first time. Later execute the code, and send the result."""
        if self.is_first_execution:
            self.is_first_execution = False
            answer = Response(429, b"", (("Retry-After", "0"),))
        else:
            answer = self.sandbox.respond(request)
        connection.sendall(response_bytes(answer))


class ExecutesForAnybody(SocketService):
    """The sandbox, which checks the token of no request."""

    def __init__(self):
        """The sandbox, whose check of the token does nothing."""
        super().__init__()
        self.sandbox.authorize = lambda request, operation: None  # raises no refusal, whatever the token


class RefusesEveryExecution(Trouble):
    """Answers 401 to an execution with the valid token, and accepts the token everywhere else."""

    answer_in_trouble = Response(401, b'{"code": 401}', (("Content-Type", "application/json"),))


class RefusesEveryExecutionIn200(Trouble):
    """Answers an execution with 200 and an envelope whose code is 401."""

    answer_in_trouble = Response(200, b'{"code": 401, "data": null}', (("Content-Type", "application/json"),))
