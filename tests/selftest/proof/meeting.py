"""A base for services whose answers depend on requests that are inside at the same moment."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass

from environments.sandbox import Request, Response, Service


@dataclass(eq=False)
class Visit:
    """A request that is inside the service. `beside` is the visit of a request that was inside at the same moment."""

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
    """Seconds that a request is held until another one comes: HOLD_S at first. Once requests were held for MOST_IN_VAIN_S
    seconds in all and no other one came, it is HOLD_LESS_S."""
    LOOK_S = 0.01
    """Seconds between two looks if another request is inside. A request is held for a number of looks, not of seconds:
    on a busy machine each look takes longer, and so does the other request."""

    def __init__(self, **options):
        super().__init__(**options)
        self.changed = threading.Condition()
        self.inside = []
        self._in_vain_s = 0.0
        self._here = threading.local()

    def affect_each_other(self, visit, other_visit):
        """True if the two requests count as inside at the same moment. A subclass may leave out some pairs of requests."""
        return True

    def respond(self, request):
        """Answer a request, which is inside the service meanwhile. `visit` is its visit in this thread."""
        with self._visiting(request) as visit:
            self._here.visit = visit
            return super().respond(request)

    @property
    def visit(self):
        """The visit of the request that this thread answers."""
        return self._here.visit

    def wait_for_another_request(self):
        """Hold the request until another one is inside, or until the time is over. True if there is one."""
        visit = self.visit
        with self.changed:
            hold_s = self.HOLD_S if self._in_vain_s < self.MOST_IN_VAIN_S else self.HOLD_LESS_S
            for _ in range(round(hold_s / self.LOOK_S)):
                another_request_is_inside = self.changed.wait_for(lambda: visit.beside, self.LOOK_S)
                if another_request_is_inside:
                    return True
            self._in_vain_s += hold_s
            return visit.beside is not None

    def publish_answer(self, response):
        """Let the threads of other requests read the answer to this one."""
        with self.changed:
            self.visit.answer = response
            self.changed.notify_all()

    def answer_to_the_other_request(self):
        """The answer to the request that was inside together with this one. None if its thread does not publish it."""
        other_visit = self.visit.beside
        with self.changed:
            return self.changed.wait_for(lambda: other_visit.answer, self.HOLD_S)

    @contextmanager
    def _visiting(self, request):
        """The visit of a request. During the block the request is inside, and other requests can meet it."""
        has_token = request.header("Authorization") == f"Bearer {self.token}"
        visit = Visit(request, self.operation_of(request), has_token)
        with self.changed:
            for other_visit in self.inside:
                if self.affect_each_other(visit, other_visit):
                    visit.beside = other_visit
                    other_visit.beside = visit
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
