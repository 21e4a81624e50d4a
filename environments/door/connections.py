"""Which connection a request goes over.

Requests share kept connections. A service may close one at any time; what is lost by that is sent again, over a fresh
one. A request that may move money is not sent again, so it always has a fresh one. Of transaction codes only the
first one of a process always does: a later one goes over the connection that carried an answer just before, since a
service may answer differently on a known one. After one failure there, or once the service was seen to close a kept
connection right after an answer, every code has a fresh connection.

A service may take few connections: a fresh one takes the place of a kept one that no request goes over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from environments.door.attempt import Handshake, Wire, WireSettings
from environments.door.deadline import KEPT_S
from environments.door.ending import Ending
from environments.door.outgoing import Sending
from spec.exchange import Failure, FailureKind, Response

_SETTLES_S = 0.005
"""A service that closes a connection after an answer has done so by then, and the connection is seen to be closed."""
MOST_KEPT = 100_000_000
"""Bytes of large bodies, compressed, that a process keeps in memory."""


class Memory:
    """Bounds what answers take: past MOST_KEPT a large one is not kept, and that is said."""

    def __init__(self) -> None:
        self._size = 0
        self._guard = threading.Lock()

    def keep(self, result: Response | Failure) -> Response | Failure:
        """The result, or the limit that it exceeds."""
        if not isinstance(result, Response) or not result.kept[1]:
            return result
        size = len(result.kept[0])
        with self._guard:
            if self._size + size <= MOST_KEPT:
                self._size += size
                return result
        return Failure(FailureKind.LIMIT, f"more answers than the suite keeps ({MOST_KEPT} bytes of large ones)")


class Connections:
    """The connections of one door. Nothing below it sends a request twice, on whatever connection.

    Any thread may send here. Transaction codes come one at a time, each in the turn that the journal gives it; two that
    are sent together change nothing here but in a single step. So what is known of them needs no lock.
    """

    def __init__(
        self,
        settings: WireSettings,
        parallel: int,
        ending: Ending | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._memory = Memory()
        self._wire = Wire(settings, parallel, ending)
        self._keeps_codes = settings.proxy is None  # a proxy may send again what it loses on a connection of its own
        self._first_code = ""
        self._answered_at = float("-inf")

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send once."""
        return self._memory.keep(self._attempt(sending, sending.code))

    def _attempt(self, sending: Sending, code: str | None) -> Response | Failure:
        afresh = not self._may_be_kept(code) if code else sending.is_lost or not sending.repeatable
        if code and afresh:
            self._first_code = self._first_code or code
        elif code:
            self._sleep(max(0.0, self._answered_at + _SETTLES_S - self._clock()))
        result = self._wire.attempt(sending.request, afresh=afresh)
        self._answered_at = self._clock() if isinstance(result, Response) else float("-inf")
        if code and not afresh and isinstance(result, Failure):
            self._keeps_codes = False
            broken = result.kind is FailureKind.TLS  # the handshake is long done: the connection was dropped
            result = replace(result, kept=True, kind=FailureKind.DROPPED if broken else result.kind)
        return result

    def connect(self, base_url: str) -> Handshake:
        """Open a connection and close it, with nothing sent."""
        return self._wire.connect(base_url)

    def close(self) -> None:
        """Close the connections that are kept, and end the thread that watches them."""
        self._wire.close()

    def _may_be_kept(self, code: str) -> bool:
        later, keeps = self._first_code not in ("", code), self._keeps_codes and not self._wire.closes_soon
        return keeps and later and self._clock() - self._answered_at < KEPT_S
