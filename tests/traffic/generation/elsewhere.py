"""Draws generated traffic in a process of its own, while the run sends its targeted traffic.

What draws takes most of a second to be imported, which the run need not wait for. The process gets what may stand in a
request, over a pipe, and sends nothing; what it draws is the same as if it were drawn here.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, TypeVar

from tests.traffic.generation.search import Search
from tests.traffic.generation.settings import GenerationSettings

Drawn = TypeVar("Drawn")
STEPS = "steps"
"""The name under which the steps of the sequences are drawn."""
_ROOT = Path(__file__).parents[3]
_DRAWS = "schemathesis"
"""Where this module is imported already, drawing here takes less time than a process."""

_NEEDED = frozenset(["HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV"])
_NEEDED_BEGINNINGS = ("LC_", "PYTHON")
"""The variables that the process gets: any other one may be a token."""


@dataclass(frozen=True)
class Order:
    """What is to be drawn: the cases of each search, and the steps of sequences over so many keys, None for no steps."""

    settings: GenerationSettings
    searches: tuple[Search, ...] = ()
    keys: int | None = None


class Elsewhere:
    """The process. It is there for one order, and ends with it."""

    def __init__(self, order: Order) -> None:
        self.is_stopped = False
        self._known: dict[str, Any] = {}
        self._guard = threading.Lock()
        self._process: Popen[bytes] | None = None
        if _DRAWS not in sys.modules and (order.searches or order.keys is not None):
            with suppress(OSError):  # no process: what it would have drawn is drawn here
                self._process = Popen(
                    [sys.executable, "-m", __name__],
                    cwd=_ROOT,
                    env=_environment(),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=DEVNULL,
                )
                threading.Thread(target=self._give, args=(order,), name="pix-order", daemon=True).start()

    def _give(self, order: Order) -> None:
        """In a thread of its own: the process reads it once everything is imported, and may end before."""
        if self._process and self._process.stdin:
            with suppress(OSError), self._process.stdin as pipe:
                pickle.dump(order, pipe)

    def drawn(self, name: str) -> Any | None:
        """What was drawn under the name, once it is; None where it was not ordered, or the process ended before."""
        with self._guard:
            while name not in self._known:
                try:
                    found, self._known[found] = _read(self._process)
                except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                    return None
            return self._known[name]

    def drawn_or(self, draw: Callable[[], list[Drawn]], name: str) -> list[Drawn]:
        """What was drawn under the name, or else what `draw` draws here; nothing where the run is over."""
        found: list[Drawn] | None = self.drawn(name)
        if found is None:
            return [] if self.is_stopped else draw()
        return found

    def stop(self) -> None:
        """The run is over: end the process, so that who waits for it goes on. Any thread may call it."""
        self.is_stopped = True
        if self._process:
            self._process.kill()

    def close(self) -> None:
        """End the process, and leave nothing of it."""
        self.stop()
        if self._process and self._process.stdout:
            self._process.wait()
            self._process.stdout.close()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _NEEDED or name.startswith(_NEEDED_BEGINNINGS)}


def _read(process: Popen[bytes] | None) -> tuple[str, Any]:
    if process is None or process.stdout is None:
        raise EOFError
    name, drawn = pickle.load(process.stdout)
    return name, drawn


def _draw(order: Order) -> Iterator[tuple[str, Any]]:
    for search in order.searches:
        yield search.name, search.draw()
    if order.keys is not None:
        from tests.traffic.generation.machine import draw_steps

        yield STEPS, draw_steps(order.settings, order.keys)


def main() -> None:
    """Draw what stdin orders, and write each to stdout as soon as it is drawn."""
    gc.set_threshold(10_000, 20, 20)  # it ends soon, and imports much that stays
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the run, which a signal stops
    pipe, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else is written there
    with suppress(BrokenPipeError):
        for found in _draw(pickle.load(sys.stdin.buffer)):
            pickle.dump(found, pipe)
            pipe.flush()


if __name__ == "__main__":
    main()
