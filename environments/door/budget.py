"""What a run may send, counted over all its workers and at what rate, and which transfers it executes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from environments.door.ending import Ending
from environments.door.outgoing import LimitError, Sending
from environments.profiles.profile import Profile


class Budget:
    """Counts requests and executions. `shared` is a file that the workers of a parallel run count in together."""

    def __init__(self, *, requests: int, executions: int, rate: float | None, shared: Path | None = None) -> None:
        self._requests, self._executions, self._rate = requests, executions, rate
        self._shared, self.ending = shared, Ending()
        self._counts: dict[str, float] = {}
        self._guard = threading.Lock()

    def take_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError when none is left."""
        self._take("requests", self._requests)

    def wait_for_turn(self, sending: Sending) -> None:
        """Wait until limits.rate permits the next request."""
        if not self._rate:
            return
        with self._state() as counts:
            turn = max(time.time(), counts.get("turn", 0.0))
            counts["turn"] = turn + 1 / self._rate
        self.ending.sleep(turn - time.time())

    def reserve_execution(self) -> None:
        """Take the room of one execution. Raises LimitError when none is left."""
        self._take("executions", self._executions)

    def release_execution(self) -> None:
        """Give the room of one execution back: nothing was executed."""
        with self._state() as counts:
            counts["executions"] -= 1

    def _take(self, what: str, limit: int) -> None:
        with self._state() as counts:
            if counts.get(what, 0) >= limit:
                raise LimitError(f"limits.{what} ({limit}) is spent")
            counts[what] = counts.get(what, 0) + 1

    @property
    def requests_sent(self) -> int:
        """How many requests were counted, in all processes of the run."""
        with self._state() as counts:
            return int(counts.get("requests", 0))

    @property
    def executions_left(self) -> int:
        """How many executions there is room for."""
        with self._state() as counts:
            return max(0, self._executions - int(counts.get("executions", 0)))

    def mark(self, fact: str) -> None:
        """Remember a fact, in every process of the run."""
        with self._state() as counts:
            counts[fact] = 1

    def is_marked(self, fact: str) -> bool:
        """Whether any process of the run remembers the fact."""
        with self._state() as counts:
            return fact in counts

    @property
    def is_shared(self) -> bool:
        """Whether other processes count in it, too."""
        return self._shared is not None

    def share(self, path: Path) -> None:
        """Count on in a file, which the workers of a parallel run count in, too."""
        counts, self._shared = self._counts, path
        with self._state() as shared:
            shared.update(counts)

    @contextmanager
    def _state(self) -> Iterator[dict[str, float]]:
        with self._guard:
            if self._shared is None:
                yield self._counts
                return
            with FileLock(f"{self._shared}.lock", mode=0o600, poll_interval=0.002):
                counts = json.loads(self._shared.read_text()) if self._shared.exists() else {}
                yield counts
                self._shared.touch(mode=0o600)
                self._shared.write_text(json.dumps(counts))


@dataclass(frozen=True)
class Spending:
    """`codes` are sent, `sent_before` the journal keeps from being sent again, `prepared` transfers are prepared and
    executed. `left_out` says what limits.executions has no room for; empty where it has room for all."""

    codes: tuple[str, ...] = ()
    sent_before: tuple[str, ...] = ()
    prepared: int = 0
    left_out: str = ""


def spending(profile: Profile, sent_before: Collection[str] = ()) -> Spending:
    """How limits.executions is shared out: first to the supplied codes that no earlier run sent, then to transfers that
    the run prepares."""
    limit, prepare = profile.limits.executions, profile.transactions.prepare
    supplied = tuple(dict.fromkeys(profile.transactions.codes))
    usable = tuple(code for code in supplied if code not in sent_before)
    wanted, codes = prepare.count if prepare else 0, usable[:limit]
    prepared = min(wanted, limit - len(codes))
    cut = [
        f"{total - taken} of {total} {what}"
        for total, taken, what in (
            (len(usable), len(codes), "transaction codes"),
            (wanted, prepared, "transfers to prepare"),
        )
        if taken < total
    ]
    left_out = f"limits.executions ({limit}) leaves out {' and '.join(cut)}" if cut else ""
    return Spending(codes, tuple(code for code in supplied if code in sent_before), prepared, left_out)
