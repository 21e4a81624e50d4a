"""SIGINT and SIGTERM: the first one stops the run, which then writes its reports without being disturbed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import pytest

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Listens from its making on until the tests are over; `restore` gives the signals back."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _SIGNALS}
            self._handle(self._stop)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Once the tests are over, only the reports are left, and they are to be whole."""
        try:
            return (yield)
        finally:
            self._handle(_ignore)

    def restore(self) -> None:
        """The handlers as they were before the run."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._handle(_ignore)
        raise KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")

    def _handle(self, handler: Callable[[int, FrameType | None], None]) -> None:
        for number in self._before:
            signal.signal(number, handler)


def _ignore(number: int, frame: FrameType | None) -> None:
    """The run is ending already."""
