"""Services whose gateway or token is at odds with the set-up of the run."""

from environments.sandbox import Response
from tests.selftest.services.serving import Raw, as_bytes


class ExpiresTheToken(Raw):
    """Accepts the token for a number of requests, and from then on the one that is issued later."""

    def __init__(self, after, refusal=None):
        super().__init__()
        self.after = after
        finish = self.service.finish
        if refusal:
            self.service.finish = lambda request, operation, response: (
                refusal if response.status == 401 else finish(request, operation, response)
            )

    def answer(self, connection, request):
        if len(self.seen) == self.after + 1:
            self.service.token = "Lat3r.Tok-en_of-the-service"
        super().answer(connection, request)


class AnswersAll(Raw):
    """Gives one status and body to every request."""

    def __init__(self, status, body=b""):
        super().__init__()
        self.response = Response(status, body)

    def answer(self, connection, request):
        connection.sendall(as_bytes(self.response))
