"""The session: the parts that a run works with, such as the door that every request passes; and the end by a signal.

Self-tests: promises/test_stopped_runs.py.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pytest

from environments.door.client import Client
from environments.door.door import Door
from environments.profiles.model import Profile
from reports.result.run import Run
from reports.showing.resending import Resending
from reports.showing.show import Display
from spec.rules.reproduction import Reproduction

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that end a run: Ctrl-C, and the end of a job of the CI."""
_NO_SIGNAL = 0
"""A number that no signal has. It ends the thread that listens."""


@dataclass(frozen=True)
class Session:
    """The record of a run, the door and the client that send for it, and what shows and judges the exchanges."""

    profile: Profile
    run: Run
    door: Door
    client: Client
    display: Display
    """Hides known values in everything that is shown."""
    resending: Resending
    """Writes the curl lines by which a person sends requests again."""
    reproduction: Reproduction
    """The judge of exchanges, which knows which deviations showed again."""


SESSION = pytest.StashKey[Session]()
"""The key under which the configuration of pytest keeps the session."""


def session_of(run: Run, door: Door, client: Client) -> Session:
    """The objects that a run works with, in one object.

    `run` is the record of what happens. `door` is the only way by which requests leave for the service, and `client`
    sends them through it.
    """
    display = Display(door.secrets)  # hides tokens, account numbers, keys and codes in texts
    resending = Resending(display, run.profile)  # writes the shell lines that send a request again
    reproduction = Reproduction(door.exchanges, door.sent_again)  # knows which deviations a second request showed, too
    return Session(run.profile, run, door, client, display, resending, reproduction)


class Interruption:
    """Handles SIGINT and SIGTERM from its creation until `restore`.

    The first signal stops the sending, later ones change nothing. The tests go on: each judges the exchanges that there
    are, and the reports are written.

    A signal raises no exception, which could come between any two instructions. A thread reads it from the wakeup
    descriptor of Python, because a handler runs only in the main thread, which may wait for an answer.
    """

    def __init__(self, stop_sending: Callable[[], None]) -> None:
        """Handle Ctrl-C and SIGTERM from now on. The first of them calls `stop_sending`, in a thread of its own."""
        self.was_asked = False
        """True once a signal asked the run to end."""
        self._stop_sending = stop_sending
        # Python writes the number of each signal to one end of this pair of sockets. The thread waits at the other end,
        # so that it can act at once, while the main thread may be waiting for an answer.
        self._reading_end, self._writing_end = socket.socketpair()
        self._writing_end.setblocking(False)  # as signal.set_wakeup_fd demands
        self._thread = threading.Thread(target=self._listen, name="pix-interruption", daemon=True)
        self._thread.start()
        self._handlers_before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():  # no other thread may set a handler
            # From now on Python writes signals to this socket.
            self._descriptor_before = signal.set_wakeup_fd(self._writing_end.fileno(), warn_on_full_buffer=False)
            for number in SIGNALS:
                self._handlers_before[number] = signal.signal(number, self._note_signal)

    def restore(self) -> None:
        """Restore the handlers that were there before, and end the thread that listens for signals."""
        if self._handlers_before:
            signal.set_wakeup_fd(self._descriptor_before)
        for number, handler in self._handlers_before.items():
            # None stands for a handler that was not set from Python, which Python cannot set again.
            signal.signal(number, handler or signal.SIG_DFL)
        self._writing_end.send(bytes([_NO_SIGNAL]))  # wakes the thread, which ends
        self._thread.join()
        self._reading_end.close()
        self._writing_end.close()

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler that Python calls for both signals in the main thread. It only remembers that a signal came.

        The thread that listens does the work, because the main thread may be waiting for an answer.
        """
        self.was_asked = True

    def _listen(self) -> None:
        """Wait for signals in a thread of its own, and stop the sending of requests when one comes.

        Python writes the number of each signal as one byte to a socket, which this thread reads.
        """
        while True:
            number = self._reading_end.recv(1)[0]
            if number == _NO_SIGNAL:  # `restore` sends this number to end the thread
                return
            if number in SIGNALS:
                self.was_asked = True
                self._stop_sending()
