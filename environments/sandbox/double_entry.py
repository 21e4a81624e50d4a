"""The double-entry ledger: accounts, keys, transfers and entries, in SQLite, in memory.

It keeps books and decides nothing: the service decides who may do what.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).parent
SCRIPT = (HERE / "schema.sql").read_text("utf-8") + (HERE / "seeds.sql").read_text("utf-8")

T = TypeVar("T")
CLEARING = "clearing"
"""The account where money is booked that leaves for other banks, or comes from them."""


@dataclass(frozen=True)
class Account:
    """One row of `accounts`; `role` is OWN, ELSEWHERE (held at another bank) or CLEARING."""

    id: str
    role: str
    name: str
    document: str
    bank: str
    branch: str
    number: str
    digit: str
    type: int


@dataclass(frozen=True)
class Key:
    """A registered key: its value, its type, and the id of the account that it pays into."""

    key: str
    type: str
    account: str


@dataclass(frozen=True)
class Entry:
    """One line of an account: the transaction code, signed cents, and milliseconds since 1970."""

    transfer: str
    cents: int
    date: int


@dataclass(frozen=True)
class Transfer:
    """One transfer; `payee` is the counterparty, `status` is PREPARED or DONE."""

    id: str
    payer: str
    payee: Account
    key_type: str
    key: str
    cents: int
    message: str
    date: int
    status: str


class Ledger:
    """The books. Whatever is unknown is None."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def _all(self, kind: Callable[..., T], query: str, *values: str) -> list[T]:
        return [kind(*row) for row in self._execute(query, values)]

    def account(self, account_id: str) -> Account:
        """An account that a key or a transfer refers to, and that therefore exists."""
        return self._all(Account, "SELECT * FROM accounts WHERE id = ?", account_id)[0]

    def own_accounts(self) -> list[Account]:
        return self._all(Account, "SELECT * FROM accounts WHERE role = 'OWN' ORDER BY id")

    def balance(self, account_id: str) -> int:
        """Cents: the sum of the account's entries."""
        return sum(entry.cents for entry in self.entries(account_id))

    def entries(self, account_id: str) -> list[Entry]:
        query = (
            "SELECT transfer, entries.cents, date FROM entries JOIN transfers ON transfers.id = transfer"
            " WHERE account = ? ORDER BY number"
        )
        return self._all(Entry, query, account_id)

    def key(self, key: str) -> Key | None:
        return next(iter(self._all(Key, "SELECT * FROM keys WHERE key = ?", key)), None)

    def keys(self, account_id: str) -> list[Key]:
        return self._all(Key, "SELECT * FROM keys WHERE account = ? ORDER BY rowid", account_id)

    def add_key(self, key: Key) -> None:
        self._execute("INSERT INTO keys VALUES (?, ?, ?)", [key.key, key.type, key.account])

    def remove_key(self, key: Key) -> None:
        self._execute("DELETE FROM keys WHERE key = ?", [key.key])

    def transfer(self, code: str) -> Transfer | None:
        """The transfer with this transaction code."""
        row = self._execute("SELECT * FROM transfers WHERE id = ?", [code]).fetchone()
        return row and Transfer(row[0], row[1], self.account(row[2]), *row[3:])

    def prepare(self, transfer: Transfer) -> None:
        """Note a transfer. No money moves."""
        columns = vars(transfer) | {"payee": transfer.payee.id}
        self._execute(f"INSERT INTO transfers VALUES ({', '.join(f':{name}' for name in columns)})", columns)

    def settle(self, transfer: Transfer, date: int) -> Transfer:
        """Move the money, once for each call: out of the payer's account, into the payee's or to clearing."""
        self._execute("UPDATE transfers SET status = 'DONE', date = ? WHERE id = ?", [date, transfer.id])
        into = transfer.payee.id if transfer.payee.role == "OWN" else CLEARING
        for account, cents in ((transfer.payer, -transfer.cents), (into, transfer.cents)):
            query = "INSERT INTO entries (transfer, account, cents) VALUES (?, ?, ?)"
            self._execute(query, [transfer.id, account, cents])
        return replace(transfer, date=date, status="DONE")


class Database:
    """A fresh world, as seeds.sql has it: one connection, one transaction at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.executescript(f"PRAGMA foreign_keys = ON; {SCRIPT}")
        weakref.finalize(self, self._connection.close)

    @contextmanager
    def transaction(self) -> Iterator[Ledger]:
        """The ledger, alone: what is done with it is kept as a whole, or, on an exception, not at all."""
        with self._lock, self._connection:
            yield Ledger(self._connection)
