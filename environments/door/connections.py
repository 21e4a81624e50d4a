"""Which connection a request goes over.

Requests share kept connections. The first transaction code of a process gets a fresh one for each send. A later code
goes over the connection that carried an answer just before, since a service may answer differently on a known one.
After one failure there, every code gets a fresh connection again.

A service may take few connections: once one was lost, those that are kept are closed before a fresh one is opened.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import replace

import requests

from environments.door.attempt import Result, Wire, WireSettings
from environments.door.deadline import KEPT_S
from environments.door.handshake import Handshake
from environments.door.watchdog import rest
from spec.exchange import Failure, FailureKind, Response

_SETTLES_S = 0.005
"""A service that closes a connection after an answer has done so by then, and the connection is seen to be closed."""
_SEEN_TO_CLOSE_S = 0.1
"""A service sees by then that a connection was closed."""
_LOST = (FailureKind.DROPPED, FailureKind.NO_CONNECTION)
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

    def __init__(self, settings: WireSettings, parallel: int = 1) -> None:
        self._settings = settings
        self._memory = Memory()
        self._kept = Wire(settings, parallel)
        self._keeps_codes = settings.proxy is None  # a proxy may send again what it loses on a connection of its own
        self._first_code = ""
        self._may_be_few = False
        self._answered_at = float("-inf")

    def attempt(self, request: requests.PreparedRequest, code: str | None) -> Result:
        """Send once. `code` is the transaction code that the request carries."""
        raw, result = self._attempt(request, code)
        return raw, self._memory.keep(result)

    def _attempt(self, request: requests.PreparedRequest, code: str | None) -> Result:
        if code and not self._may_be_kept(code):
            self._first_code = self._first_code or code
            self._make_room()
            with closing(Wire(self._settings)) as afresh:
                return afresh.attempt(request)
        if code:
            time.sleep(_SETTLES_S)
        raw, result = self._kept.attempt(request)
        if isinstance(result, Failure) and result.kind in _LOST:  # no thread takes it back, so it needs no lock
            self._may_be_few = True
        self._answered_at = time.monotonic() if raw is not None else float("-inf")
        if code and isinstance(result, Failure):
            self._keeps_codes = False
            broken = result.kind is FailureKind.TLS  # the handshake is long done: the connection was dropped
            result = replace(result, kept=True, kind=FailureKind.DROPPED if broken else result.kind)
        return raw, result

    def connect(self, base_url: str) -> Handshake:
        """Open a connection and close it, with nothing sent."""
        return self._kept.connect(base_url)

    def close(self) -> None:
        """Close the connections that are kept, and end the thread that watches them."""
        self._kept.close()
        rest()

    def _make_room(self) -> None:
        """Close the kept connections where the service may take few, and let it see that."""
        if self._may_be_few:
            self._kept.close_idle()
            time.sleep(_SEEN_TO_CLOSE_S)

    def _may_be_kept(self, code: str) -> bool:
        later = self._first_code not in ("", code)
        return self._keeps_codes and later and time.monotonic() - self._answered_at < KEPT_S
