"""A base for services whose answers depend on requests that are inside at the same moment."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass

from environments.sandbox import Request, Response, Service


@dataclass(eq=False)
class Visit:
    """A request that is inside the service. `beside` is one that was inside at the same moment."""

    request: Request
    operation: str
    has_token: bool
    beside: "Visit | None" = None
    answer: Response | None = None


class HoldsRequestsTogether(Service):
    """The sandbox, which can hold a request until another one is inside, too."""

    HOLD_S = 0.4
    HOLD_LESS_S = 0.1
    MOST_IN_VAIN_S = 2.4
    """Seconds that a request is held until another one comes. After MOST_IN_VAIN_S seconds in vain it is HOLD_LESS_S."""
    LOOK_S = 0.01
    """Seconds of one look. A hold is a number of looks, because each look takes longer on a busy machine, as the other
    request does."""

    def __init__(self, **options):
        super().__init__(**options)
        self.changed = threading.Condition()
        self.inside = []
        self._in_vain_s = 0.0
        self._here = threading.local()

    def affect_each_other(self, visit, other_visit):
        """True if the two visits make a difference to each other."""
        return True

    def respond(self, request):
        with self._visiting(request) as self._here.visit:
            return super().respond(request)

    @property
    def visit(self):
        """The visit of the request that this thread answers."""
        return self._here.visit

    def wait_for_another_request(self):
        """Hold the request until another one is inside, or until the time is over. True if there is one."""
        visit = self.visit
        with self.changed:
            hold = self.HOLD_S if self._in_vain_s < self.MOST_IN_VAIN_S else self.HOLD_LESS_S
            looks = (self.changed.wait_for(lambda: visit.beside, self.LOOK_S) for _ in range(round(hold / self.LOOK_S)))
            if not any(looks):
                self._in_vain_s += hold
            return visit.beside is not None

    def publish_answer(self, response):
        """Let the threads of other requests read the answer to this one."""
        with self.changed:
            self.visit.answer = response
            self.changed.notify_all()

    def answer_to_the_other_request(self):
        """The answer to the request that was inside together with this one. None if its thread does not publish it."""
        other = self.visit.beside
        with self.changed:
            return self.changed.wait_for(lambda: other.answer, self.HOLD_S)

    @contextmanager
    def _visiting(self, request):
        visit = Visit(request, self.operation_of(request), request.header("Authorization") == f"Bearer {self.token}")
        with self.changed:
            for other in self.inside:
                if self.affect_each_other(visit, other):
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
        """The operation of a request. An empty text for an undocumented path."""
        return next((name for method, name, _ in self.routes_of(request.path) if method == request.method), "")
