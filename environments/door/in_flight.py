"""How many requests of a run are on the wire at once, and which of them are alone there.

Within a process a condition counts them. The processes of a run share one lock file for each place on the wire.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

_LOOK_S = 0.002
"""How often a process looks for a free place, where others of the run share them."""


@dataclass
class Presence:
    """One request on the wire. `beside` counts the others that were there at any time of it."""

    beside: int = 0


class InFlight:
    """Bounds the requests on the wire to `most`, and to `window()` where that is fewer.

    `shared` is a folder in which the processes of a run keep the places that they take.
    """

    def __init__(self, most: int, window: Callable[[], int] | None = None, shared: Path | None = None) -> None:
        self.most, self.window, self._shared = most, window or (lambda: most), shared
        self._changed = threading.Condition()
        self._present: list[Presence] = []
        self._alone_in: int | None = None
        self._wanting_to_be_alone = self._urgent = 0
        self._local = threading.local()

    @contextmanager
    def on_the_wire(self) -> Iterator[Presence]:
        """Wait for a place, and keep it."""
        if self._alone_in == threading.get_ident():
            yield Presence()
            return
        present = self._enter()
        try:
            with self._place() as others:
                present.beside += others
                yield present
        finally:
            with self._changed:
                self._present.remove(present)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nothing of the run is on the wire. Until the end, only this thread sends."""
        if self._alone_in == threading.get_ident():
            yield
            return
        self._clear_the_wire()
        try:
            with ExitStack() as places:
                for number in range(self.most if self._shared else 0):
                    places.enter_context(FileLock(self._name(number), mode=0o600))
                yield
        finally:
            with self._changed:
                self._alone_in = None
                self._changed.notify_all()

    @contextmanager
    def background(self) -> Iterator[None]:
        """What this thread sends gives way to what other threads send: nobody waits for it."""
        self._local.background = True
        try:
            yield
        finally:
            self._local.background = False

    def share(self, folder: Path) -> None:
        """Share the places with other processes."""
        self._shared = folder

    def _enter(self) -> Presence:
        urgent, present = not getattr(self._local, "background", False), Presence()
        with self._changed:
            self._urgent += urgent
            try:
                self._changed.wait_for(lambda: self._has_room(urgent=urgent))
            finally:
                self._urgent -= urgent
            for other in self._present:
                other.beside += 1
            present.beside = len(self._present)
            self._present.append(present)
        return present

    def _has_room(self, *, urgent: bool) -> bool:
        if self._alone_in is not None or self._wanting_to_be_alone or (self._urgent and not urgent):
            return False
        return len(self._present) < min(self.most, self.window())

    def _clear_the_wire(self) -> None:
        with self._changed:
            self._wanting_to_be_alone += 1
            try:
                self._changed.wait_for(lambda: self._alone_in is None and not self._present)
                self._alone_in = threading.get_ident()
            finally:
                self._wanting_to_be_alone -= 1
                self._changed.notify_all()

    @contextmanager
    def _place(self) -> Iterator[int]:
        """Take a place that the processes share; how many others may be there meanwhile."""
        if self._shared is None:
            yield 0
            return
        while (place := self._free_place()) is None:
            time.sleep(_LOOK_S)
        try:
            yield self.most - 1
        finally:
            place.release()

    def _free_place(self) -> FileLock | None:
        for number in range(self.most):
            place = FileLock(self._name(number), mode=0o600)
            with suppress(Timeout):
                place.acquire(blocking=False)
                return place
        return None

    def _name(self, number: int) -> str:
        assert self._shared is not None
        return str(self._shared / f"place-{number}.lock")
