"""Services that lock their callers out after wrong tokens. They keep what they were sent, and when they were locked."""

from environments.sandbox import Response
from tests.selftest.services.serving import Raw, as_bytes, is_real


class Locks(Raw):
    """Locks a caller out for a moment after some wrong tokens; the time counts from the first request that finds it
    locked. `refused` are the real codes whose execution found it locked."""

    def __init__(self, refusal: Response, *, most: int = 3, requests: int = 1) -> None:
        super().__init__()
        self.refusal, self.most, self.requests = refusal, most, requests
        self.wrong = self.locked = self.locks = 0
        self.refused: list[str] = []

    def answer(self, connection, request):
        valid = self.is_granted(request)
        if self.locked:
            self.locked -= 1
            if valid and is_real(request.path):
                self.refused.append(request.path)
            connection.sendall(as_bytes(self.refusal))
            return
        self.wrong += not valid
        if self.wrong >= self.most:
            self.wrong, self.locked, self.locks = 0, self.requests, self.locks + 1
        super().answer(connection, request)


class LocksForGood(Locks):
    """Does not let anybody in again."""

    def answer(self, connection, request):
        super().answer(connection, request)
        self.locked = self.locked and 99


def refusal(status: int, after: str | None = None) -> Response:
    """How a locked service answers."""
    return Response(status, b"{}", (("Retry-After", after),) if after is not None else ())
