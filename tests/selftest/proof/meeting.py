"""A base class for services whose answer to a request depends on other requests that they get at the same moment.

A request is inside the service from its arrival until it is answered. Two requests that are inside together have met.
"""

import threading
from contextlib import contextmanager
from dataclasses import dataclass

from environments.sandbox import Request, Response, Service


@dataclass(eq=False)
class Visit:
    """A request while it is inside the service: from its arrival until it is answered."""

    request: Request
    operation: str
    """Its operation, such as "executePix"; empty for an undocumented path."""
    has_token: bool
    """True if it has the valid token."""
    beside: "Visit | None" = None
    """The visit of another request that was inside at the same moment. None if there was none so far."""
    answer: Response | None = None
    """Its answer, once `publish_answer` was called."""


class HoldsRequestsTogether(Service):
    """The sandbox, which can hold a request until another one is inside, too."""

    HOLD_S = 0.4
    """Seconds that a request is held until another one comes."""
    HOLD_LESS_S = 0.1
    """The same, after requests were held for MOST_IN_VAIN_S seconds in all, and no other request came."""
    MOST_IN_VAIN_S = 2.4
    LOOK_S = 0.01
    """Seconds between two looks whether another request is inside. A request is held for a number of looks, and not of
    seconds: on a busy machine each look takes longer, and so does the other request."""

    def __init__(self, **options):
        """`options` are those of the sandbox. No request is inside yet."""
        super().__init__(**options)
        self.changed = threading.Condition()  # wakes up threads that wait for another request or for its answer
        self.inside = []  # the visits of all requests that are inside now
        self._in_vain_s = 0.0  # seconds for which requests were held although no other one came
        self._here = threading.local()  # has the visit of the request that a thread answers

    def affect_each_other(self, visit, other_visit):
        """True if one of two requests that are inside together may change the answer to the other one.

        Here that is true of all requests. A subclass may leave out some pairs.
        """
        return True

    def respond(self, request):
        """The answer of the sandbox to a request. Meanwhile the request is inside, and `visit` is its visit."""
        with self._visiting(request) as visit:
            self._here.visit = visit
            return super().respond(request)

    @property
    def visit(self):
        """The visit of the request that this thread answers."""
        return self._here.visit

    def wait_for_another_request(self):
        """Hold the request until another one is inside, or until the time is over. Returns True if another one came."""
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
        """The answer to the request that was inside together with this one.

        It waits until the thread of that request publishes the answer. None if this does not happen in HOLD_S seconds.
        """
        other_visit = self.visit.beside
        with self.changed:
            return self.changed.wait_for(lambda: other_visit.answer, self.HOLD_S)

    @contextmanager
    def _visiting(self, request):
        """Make the visit of a request, which is inside the service during the block. Yields the visit."""
        has_token = request.header("Authorization") == f"Bearer {self.token}"
        visit = Visit(request, self.operation_of(request), has_token)
        with self.changed:  # only one thread at a time may change the list
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
        """The operation of a request, such as "executePix"; empty for an undocumented path or method."""
        for method, operation, _ in self.routes_of(request.path):
            if method == request.method:
                return operation
        return ""
