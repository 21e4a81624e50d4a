"""How services are made that answer otherwise while several requests are inside at once."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass

from environments.sandbox import Request, Response, Service


@dataclass(eq=False)
class Visit:
    """A request that is inside; `beside` is one that was inside together with it."""

    request: Request
    operation: str
    has_token: bool
    beside: "Visit | None" = None
    answer: Response | None = None


class Meets(Service):
    """The sandbox, which knows of each request whether another one is inside at the same time."""

    HOLD_S = 0.4
    HOLD_LESS_S = 0.1
    MOST_IN_VAIN_S = 2.4
    """How long a request is held until another one comes; and less, once so many seconds were waited in vain."""
    LOOK_S = 0.01
    """A hold is made of looks: on a busy machine each takes longer, as does the way of the other request."""

    def __init__(self, **given):
        super().__init__(**given)
        self.changed = threading.Condition()
        self.inside = []
        self._in_vain_s = 0.0
        self._here = threading.local()

    def are_company(self, one, other):
        """Whether the two make a difference to each other."""
        return True

    def respond(self, request):
        with self._visiting(request) as self._here.visit:
            return super().respond(request)

    @property
    def visit(self):
        """The request that this thread answers."""
        return self._here.visit

    def in_company(self):
        """Hold the request until another one is inside with it, or long enough. True where there is one."""
        visit = self.visit
        with self.changed:
            hold = self.HOLD_S if self._in_vain_s < self.MOST_IN_VAIN_S else self.HOLD_LESS_S
            looks = (self.changed.wait_for(lambda: visit.beside, self.LOOK_S) for _ in range(round(hold / self.LOOK_S)))
            if not any(looks):
                self._in_vain_s += hold
            return visit.beside is not None

    def tell(self, response):
        """Let the other requests know the answer to this one."""
        with self.changed:
            self.visit.answer = response
            self.changed.notify_all()

    def answer_beside(self):
        """The answer to the request that was inside together with this one; None where it is not told."""
        other = self.visit.beside
        with self.changed:
            return self.changed.wait_for(lambda: other.answer, self.HOLD_S)

    @contextmanager
    def _visiting(self, request):
        visit = Visit(request, self.operation_of(request), request.header("Authorization") == f"Bearer {self.token}")
        with self.changed:
            for other in self.inside:
                if self.are_company(visit, other):
                    visit.beside, other.beside = other, visit
            self.inside.append(visit)
            self.changed.notify_all()
        try:
            yield visit
        finally:
            with self.changed:
                self.inside.remove(visit)
                self.changed.notify_all()

    def operation_of(self, request):
        """The operation that a request is for; empty where there is none."""
        return next((name for method, name, _ in self.routes_of(request.path) if method == request.method), "")
