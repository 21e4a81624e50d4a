"""SIGINT and SIGTERM: the first one stops the run, which then writes its reports; later ones are ignored.

A signal does not raise where it comes, between any two instructions: something would be half recorded, a lock or a file
be left open. It stops what is sent, in all threads, and so ends what the main thread waits for. That raises at its next
step: after a request, or where a part of a test begins or ends.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.harness.starting import SIGNALS, starting

_NO_SIGNAL = 0
_WORKERS_S = 3.0
_PID, _STOPPED = ".pid", "stopped"
_Step = Generator[None, object, object]


class Interruption:
    """Handles the signals until `restore`. `stop_sending` and `stop_workers` are called from another thread."""

    def __init__(self) -> None:
        self.stop_sending: Callable[[], None] = lambda: None
        self.stop_workers: Callable[[], None] = lambda: None
        self.was_asked = self._was_raised = False
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
            self._listener = _Listener(self._stop_all)
            for number in SIGNALS:
                signal.signal(number, self._take)

    def ask(self) -> None:
        """Stop the run at its next step."""
        self.was_asked = True

    @contextmanager
    def step(self) -> Iterator[None]:
        """What runs inside is not begun in a run that was asked to stop, and counts for nothing where it was asked
        meanwhile: in the main thread, this raises KeyboardInterrupt, once."""
        self._raise_if_asked()
        try:
            yield
        finally:
            self._raise_if_asked()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> _Step:
        with self.step():
            return (yield)

    pytest_runtest_call = pytest_runtest_teardown = pytest_runtestloop = pytest_runtest_setup

    def restore(self) -> None:
        """Restore the handlers that were there before."""
        if self._before:
            self._listener.close()
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: it is not Python's

    def _take(self, number: int, frame: FrameType | None) -> None:
        """Without a lock: a second signal in the same thread would wait for it for ever."""
        self.was_asked = True

    def _stop_all(self) -> None:
        self.was_asked = True
        self.stop_sending()
        self.stop_workers()

    def _raise_if_asked(self) -> None:
        if self.was_asked and not self._was_raised and threading.current_thread() is threading.main_thread():
            self._was_raised = True
            raise KeyboardInterrupt("the run was stopped by a signal")


def hear_signals(config: pytest.Config) -> Interruption:
    """Handle the signals until the end of pytest: what stops the run has a report by now."""
    starting.end()
    interruption = Interruption()
    config.add_cleanup(interruption.restore)
    config.pluginmanager.register(interruption, "conformance-interruption")
    return interruption


def join_parallel_run(folder: Path, interruption: Interruption) -> None:
    """Let the controller stop this worker, also when the run was stopped while the worker started."""
    (folder / f"{os.getpid()}{_PID}").touch()
    if (folder / _STOPPED).exists():
        interruption.ask()


def stop_parallel_run(controller: Any, folder: Path) -> None:
    """Stop the workers of xdist's controller, which then say what they know; do not wait long for those who do not."""
    (folder / _STOPPED).touch()
    for worker in folder.glob(f"*{_PID}"):
        with suppress(ProcessLookupError):  # it has ended
            os.kill(int(worker.stem), signal.SIGTERM)
    time.sleep(_WORKERS_S)
    stopped_before = getattr(controller, "shouldstop", False)  # it has none before its loop has begun
    controller.shouldstop = stopped_before or "the run was stopped by a signal"
    controller.worker_wake_up = lambda: None  # the loop looks at shouldstop after a message alone
    controller.queue.put(("wake_up", {}))


class _Listener:
    """A thread that hears of a signal at once, whatever the main thread waits for."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._inside, self._outside = socket.socketpair()
        self._outside.setblocking(False)
        self._before = signal.set_wakeup_fd(self._outside.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, name="pix-interruption", daemon=True)
        self._thread.start()

    def close(self) -> None:
        signal.set_wakeup_fd(self._before)
        self._outside.send(bytes([_NO_SIGNAL]))
        self._thread.join()
        self._inside.close()
        self._outside.close()

    def _listen(self) -> None:
        told = False
        while (number := self._inside.recv(1)[0]) != _NO_SIGNAL:
            if number in SIGNALS and not told:
                told = True
                self._stop()
