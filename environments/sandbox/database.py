"""The embedded database: SQLite in memory, one connection, one transaction at a time."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from environments.sandbox.double_entry import Ledger

HERE = Path(__file__).parent
SCRIPT = (HERE / "schema.sql").read_text("utf-8") + (HERE / "seeds.sql").read_text("utf-8")


class Database:
    """A fresh world, as seeds.sql has it. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(f"BEGIN; {SCRIPT} COMMIT;")
        weakref.finalize(self, self._connection.close)

    @contextmanager
    def transaction(self) -> Iterator[Ledger]:
        """The ledger, alone: what is done with it is kept as a whole, or, on an exception, not at all."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield Ledger(self._connection)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
