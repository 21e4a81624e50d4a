"""Lawful services that stop at a certain request until the test goes on."""

from __future__ import annotations

import threading

from tests.selftest.services.serving import Raw


class PausesAt(Raw):
    """Holds the answer to one request back; `reached` is set when it has come in."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.reached = threading.Event()

    def answer(self, connection, request):
        if len(self.seen) == self.number:
            self.reached.set()
            self._stopped.wait(60)
        else:
            super().answer(connection, request)
