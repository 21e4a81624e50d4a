"""Services that are lawful until a real code is executed."""

import json
import socket
import threading

from environments.sandbox import Response
from tests.selftest.services.serving import EXECUTION, Raw, as_bytes, is_real, reset


class Trouble(Raw):
    """Answers everything but an execution of a real code with the valid token. `silent`: an answer is held back."""

    granted = True

    def __init__(self):
        super().__init__()
        self.silent = threading.Event()

    def answer(self, connection, request):
        if is_real(request.path) and self.is_granted(request) is self.granted:
            self.execute(connection, request)
        else:
            super().answer(connection, request)

    def execute(self, connection, request):
        raise NotImplementedError


class NeverAnswersAnExecution(Trouble):
    """Reads the execution and says nothing."""

    def execute(self, connection, request):
        self.silent.set()
        self._stopped.wait()


class ResetsAnExecution(Trouble):
    """Reads the execution and resets the connection."""

    def execute(self, connection, request):
        reset(connection)


class DropsAnExecution(Trouble):
    """Reads the execution on a connection that it kept alive and closes it."""

    def execute(self, connection, request):
        connection.shutdown(socket.SHUT_RDWR)


class CutsAnExecutionShort(Trouble):
    """Sends half of what Content-Length promises."""

    def execute(self, connection, request):
        connection.sendall(as_bytes(self.service.respond(request))[:-40])
        connection.shutdown(socket.SHUT_RDWR)


class GatewayTimesOut(Trouble):
    """A gateway answers 504 in the service's place."""

    def execute(self, connection, request):
        connection.sendall(as_bytes(Response(504, b"gateway timeout")))


class RedirectsAnExecution(Trouble):
    """Answers with a redirect to the same path, which moves the money when it is followed."""

    status = 307

    def execute(self, connection, request):
        location = ("Location", f"{self.base_url}{request.path}")
        connection.sendall(as_bytes(Response(self.status, b"", (location,))))


class RedirectsAnExecutionForGood(RedirectsAnExecution):
    """Says that the execution has moved permanently."""

    status = 308


class SlowsAnExecutionDown(Trouble):
    """Answers 429 once, which says that nothing was done."""

    asked = False

    def execute(self, connection, request):
        self.asked, before = True, self.asked
        limited = Response(429, b"", (("Retry-After", "0"),))
        connection.sendall(as_bytes(self.service.respond(request) if before else limited))


class RedirectsReadsToAnExecution(Raw):
    """Redirects a request for the accounts to the execution of a real code."""

    def answer(self, connection, request):
        if request.path == "/v1/accounts":
            location = ("Location", f"{self.base_url}{EXECUTION}SBX-PHONE-1")
            connection.sendall(as_bytes(Response(307, b"", (location,))))
        else:
            super().answer(connection, request)


class NeverAnswersARefusal(NeverAnswersAnExecution):
    """Says nothing to a request with a real code and without the valid token: it may have executed it."""

    granted = False


class ExecutesForAnybody(Raw):
    """Looks at no token."""

    def __init__(self):
        super().__init__()
        self.service.authorize = lambda request, operation: None


class RefusesEveryExecution(Trouble):
    """Answers 401 to an execution, and lets the token in everywhere else."""

    refusal = Response(401, b'{"code": 401}', (("Content-Type", "application/json"),))

    def execute(self, connection, request):
        connection.sendall(as_bytes(self.refusal))


class RefusesEveryExecutionIn200(RefusesEveryExecution):
    """Says so in the envelope of a 200."""

    refusal = Response(200, b'{"code": 401, "data": null}', (("Content-Type", "application/json"),))


class VanishesAfterPreparing(Raw):
    """Prepares two transfers, and takes no connection any more."""

    def answer(self, connection, request):
        super().answer(connection, request)
        if [seen.path for seen in self.seen].count("/v1/pix") == 2:
            self._listener.close()
            connection.shutdown(socket.SHUT_RDWR)


class HasAKeyAlready(Raw):
    """One key was registered before the run: with a 409, or with Success "false", it is not registered again."""

    def __init__(self, key: bytes, status: int):
        super().__init__()
        data = {"Success": "false", "Message": "The key is taken.", "Key": None, "DocumentNumber": 7}
        body = json.dumps({"code": 0, "data": data} if status == 200 else {"code": 9}).encode()
        self.key, self.taken = key, Response(status, body, (("Content-Type", "application/json"),))

    def answer(self, connection, request):
        if self.is_granted(request) and request.method == "POST" and self.key in request.body:
            connection.sendall(as_bytes(self.taken))
        else:
            super().answer(connection, request)
