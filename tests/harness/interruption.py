"""SIGINT and SIGTERM: the first one stops the run, which then writes its reports; later ones are ignored.

A signal handler may raise between any two instructions. In the middle of pytest's own work that would be an internal
error, so the handler raises only while a test or the preflight runs; at other times the next test raises. Python drops
exceptions in callbacks of the garbage collector and in `__del__`: a signal that comes there is sent again.
"""

from __future__ import annotations

import gc
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

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KNOCK_S = 0.1
_NO_SIGNAL = 0
_WORKERS_S = 3.0
_PID, _STOPPED = ".pid", "stopped"
_Step = Generator[None, object, object]


class Interruption:
    """Handles the signals until `restore`. `stop_sending` and `stop_workers` are called from another thread."""

    def __init__(self, stop_workers: Callable[[], None] = lambda: None) -> None:
        self.stop_sending: Callable[[], None] = lambda: None
        self.stop_workers = stop_workers
        self._before: dict[signal.Signals, Any] = {}
        self._heard: list[int] = []
        self._asked, self._raises = False, False
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _SIGNALS}
            self._waker = _Waker(self._heard, self._stop_others)
            for number in _SIGNALS:
                signal.signal(number, self._take)

    @contextmanager
    def may_stop(self) -> Iterator[None]:
        """A signal stops what runs inside at once."""
        self._raises = True
        try:
            if self._asked:
                self._stop()
            yield
        finally:
            self._raises = False

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """A signal stops the main thread at the end of what runs inside, which `stop_sending` brings about. Within it,
        something would be half recorded, or a lock be kept that other threads wait for."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        raises, self._raises = self._raises, False
        try:
            yield
        finally:
            self._raises = raises
            if raises and self._asked:
                self._stop()

    @property
    def was_asked(self) -> bool:
        """Whether the run was asked to stop."""
        return self._asked

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> _Step:
        result = yield
        if self._asked:
            self._stop()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> _Step:
        with self.may_stop():
            return (yield)

    pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup

    def ask(self) -> None:
        """Stop the run at its next step."""
        self._asked = True

    def restore(self) -> None:
        """Restore the handlers that were there before."""
        if self._before:
            self._waker.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal without taking a lock: a second signal in the same thread would wait for it for ever."""
        if _drops_exceptions(frame):
            return
        self._heard.append(number)
        first, self._asked = not self._asked, True
        if first and self._raises:
            self._stop()

    def _stop_others(self) -> None:
        self.stop_sending()
        self.stop_workers()

    def _stop(self) -> None:
        self._raises = False
        raise KeyboardInterrupt("the run was stopped by a signal")


def _drops_exceptions(frame: FrameType | None) -> bool:
    collecting = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    while frame is not None:
        if frame.f_code in collecting or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


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
    controller.shouldstop = controller.shouldstop or "the run was stopped by a signal"
    controller.worker_wake_up = lambda: None  # the loop looks at shouldstop after a message alone
    controller.queue.put(("wake_up", {}))


class _Waker:
    """Repeats a signal until it is heard, and tells the workers of a parallel run.

    A signal that comes just before the main thread waits for an answer would be heard only after the answer.
    """

    def __init__(self, heard: list[int], stop_workers: Callable[[], None]) -> None:
        self._heard, self._stop_workers = heard, stop_workers
        self._inside, self._outside = socket.socketpair()
        self._outside.setblocking(False)
        self._before = signal.set_wakeup_fd(self._outside.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, name="pix-interruption", daemon=True)
        self._thread.start()

    def close(self) -> None:
        signal.set_wakeup_fd(self._before)
        self._heard.append(_NO_SIGNAL)
        self._outside.send(bytes([_NO_SIGNAL]))
        self._thread.join()
        self._inside.close()
        self._outside.close()

    def _listen(self) -> None:
        main, told = threading.main_thread().ident or 0, False
        while (number := self._inside.recv(1)[0]) != _NO_SIGNAL:
            if number in _SIGNALS and not told:
                told = True
                self._stop_workers()
            while number in _SIGNALS and not self._heard:
                time.sleep(_KNOCK_S)
                if not self._heard:
                    signal.pthread_kill(main, number)
