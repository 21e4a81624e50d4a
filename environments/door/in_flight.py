"""How many requests of a run are on the wire at once, and which of them are alone there.

What keeps the threads of the door from waiting for each other in a ring:

- A thread that needs several of these takes them in this order: the turn of the journal, `alone()`, the lock of one
  policy. Who has its turn may take it again.
- A thread that is on the wire waits for its answer, for the pace, and for the place of a transfer, which only threads
  have that are sending. A request that is to leave with another one waits for it before, and not for long.
- No lock of a policy is held while a request is sent. What has to send and to be undisturbed is alone.
- No policy takes a lock of another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from environments.door.ending import Ending

_MEETS_S = 1.0
"""How long a request waits for the one that it is to leave with."""
_ENOUGH_PUT_OFF = 3
"""A service that puts so many pairs off takes fewer requests at once; fewer may have met a limit of the rate."""


@dataclass(eq=False)
class Presence:
    """One request on the wire. `beside` counts the others that were there at any time of it."""

    beside: int = 0


class Meeting:
    """Two requests that leave at the same moment; where one does not come in time, the other one goes on."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2)

    def wait(self) -> None:
        """Wait for the other request. A request that is sent again does not wait again."""
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(_MEETS_S)
        self.call_off()

    def call_off(self) -> None:
        """Let the other request go on."""
        self._barrier.abort()


class InFlight:
    """Bounds the requests on the wire to `window`: `most`, until the service asks for fewer. `put_off_together` counts
    the requests that met another one on purpose, and were put off for it, perhaps.

    Who waits while the run is stopped gets a NotSentError.
    """

    def __init__(self, most: int) -> None:
        self.most = self.window = most
        self.put_off_together = 0
        self.ending = Ending()
        self._changed = threading.Condition()
        self._present: list[Presence] = []
        self._alone_in: int | None = None
        self._wanting_to_be_alone = 0
        self._local = threading.local()

    @property
    def is_alone(self) -> bool:
        """Whether nobody else can be on the wire while this thread sends."""
        return self._alone_in == threading.get_ident()

    @contextmanager
    def on_the_wire(self, *, meets: bool = False) -> Iterator[Presence]:
        """Wait for a place, and keep it. `meets`: with another request on purpose, also where the window is smaller."""
        present = Presence()
        try:
            self._enter(present, meets=meets)
            yield present
        finally:
            self._leave(present)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nothing of the run is on the wire. Until the end, only this thread sends."""
        if self.is_alone:
            yield
            return
        try:
            self._clear_the_wire()
            yield
        finally:
            self._let_others_in()

    @contextmanager
    def meeting(self, meeting: Meeting) -> Iterator[None]:
        """The next request of this thread leaves at the same moment as another one."""
        self._local.meeting = meeting
        try:
            yield
        finally:
            self._local.meeting = None
            meeting.call_off()

    def take_meeting(self) -> Meeting | None:
        """The meeting of the next request of this thread, if any; it has it alone."""
        meeting, self._local.meeting = getattr(self._local, "meeting", None), None
        return meeting

    def _enter(self, present: Presence, *, meets: bool) -> None:
        with self._changed:
            self._wait_until(lambda: self._has_room(meets=meets and self.put_off_together < _ENOUGH_PUT_OFF))
            self._join(present)

    def _join(self, present: Presence) -> None:
        for other in self._present:
            other.beside += 1
        present.beside = len(self._present)
        self._present.append(present)

    def wake(self) -> None:
        """Have everybody who waits look again."""
        with self._changed:
            self._changed.notify_all()

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: self.ending.is_stopped or is_so())
        self.ending.refuse_after_stop()

    def _has_room(self, *, meets: bool) -> bool:
        is_kept = self._alone_in is not None or self._wanting_to_be_alone > 0
        return self.is_alone or (not is_kept and len(self._present) < (self.most if meets else self.window))

    def _leave(self, present: Presence) -> None:
        with self._changed:
            if present in self._present:  # it was not stopped while it waited
                self._present.remove(present)
            self._changed.notify_all()

    def _clear_the_wire(self) -> None:
        with self._changed:
            self._wanting_to_be_alone += 1
            try:
                self._wait_until(lambda: self._alone_in is None and not self._present)
                self._alone_in = threading.get_ident()
            finally:
                self._wanting_to_be_alone -= 1

    def _let_others_in(self) -> None:
        with self._changed:
            if self.is_alone:  # it was not stopped while it waited
                self._alone_in = None
            self._changed.notify_all()
