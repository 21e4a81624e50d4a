"""The parts that a run works with, and how a signal stops it."""

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
from reports.showing.evidence import Resending
from reports.showing.show import Display
from spec.rules import Reproduction

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NO_SIGNAL = 0


@dataclass(frozen=True)
class Session:
    """The record of a run, and what sends for it."""

    profile: Profile
    run: Run
    door: Door
    client: Client
    display: Display
    """What may be shown of the exchanges."""
    resending: Resending
    """How a person sends the requests again."""
    reproduction: Reproduction
    """The judge of exchanges, which knows what deviations showed again."""


SESSION = pytest.StashKey[Session]()


def session_of(run: Run, door: Door, client: Client) -> Session:
    """The session of a run that sends through this door."""
    display = Display(door.secrets)
    resending = Resending(display, run.profile)
    reproduction = Reproduction(door.exchanges, door.sent_again)
    return Session(run.profile, run, door, client, display, resending, reproduction)


class Interruption:
    """SIGINT and SIGTERM until `restore`: the first one stops what is sent, later ones change nothing. The tests go on:
    each judges what there is, and the reports are written.

    A signal does not raise where it comes, between any two instructions. A thread hears of it through the wakeup
    descriptor: the handler runs in the main thread alone, which may wait for an answer meanwhile.
    """

    def __init__(self, stop_sending: Callable[[], None]) -> None:
        self.was_asked, self._stop_sending = False, stop_sending
        self._inside, self._outside = socket.socketpair()
        self._outside.setblocking(False)
        self._thread = threading.Thread(target=self._listen, name="pix-interruption", daemon=True)
        self._thread.start()
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._descriptor_before = signal.set_wakeup_fd(self._outside.fileno(), warn_on_full_buffer=False)
            self._before = {number: signal.signal(number, self._take) for number in SIGNALS}

    def restore(self) -> None:
        """Restore the handlers that were there before."""
        if self._before:
            signal.set_wakeup_fd(self._descriptor_before)
        for number, handler in self._before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        self._outside.send(bytes([_NO_SIGNAL]))
        self._thread.join()
        self._inside.close()
        self._outside.close()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.was_asked = True

    def _listen(self) -> None:
        while (number := self._inside.recv(1)[0]) != _NO_SIGNAL:
            if number in SIGNALS:
                self.was_asked = True
                self._stop_sending()
