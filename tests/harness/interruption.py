"""SIGINT and SIGTERM: the first one stops what is sent, later ones change nothing. The tests go on without it: each judges
what there is, and the reports are written.

A signal does not raise where it comes, between any two instructions: something would be half recorded, a lock or a file
be left open.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.harness.starting import SIGNALS, starting

_NO_SIGNAL = 0


class Interruption:
    """Handles the signals until `restore`. `stop_sending` is called once, from a thread that hears of a signal at once,
    whatever the main thread waits for."""

    def __init__(self) -> None:
        self.stop_sending: Callable[[], None] = lambda: None
        self.was_asked = False
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
            self._open()

    def restore(self) -> None:
        """Restore the handlers that were there before."""
        if self._before:
            signal.set_wakeup_fd(self._descriptor_before)
            self._outside.send(bytes([_NO_SIGNAL]))
            self._thread.join()
            self._inside.close()
            self._outside.close()
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: it is not Python's

    def _open(self) -> None:
        self._inside, self._outside = socket.socketpair()
        self._outside.setblocking(False)
        self._descriptor_before = signal.set_wakeup_fd(self._outside.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, name="pix-interruption", daemon=True)
        self._thread.start()
        for number in SIGNALS:
            signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        """Without a lock: a second signal in the same thread would wait for it for ever."""
        self.was_asked = True

    def _listen(self) -> None:
        while (number := self._inside.recv(1)[0]) != _NO_SIGNAL:
            if number in SIGNALS:
                self.was_asked = True
                self.stop_sending()


def hear_signals(config: pytest.Config) -> Interruption:
    """Handle the signals until the end of pytest: what stops the run has a report by now."""
    starting.end()
    interruption = Interruption()
    config.add_cleanup(interruption.restore)
    return interruption
