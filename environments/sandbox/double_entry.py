"""The double-entry ledger: accounts, keys, transfers and entries, in SQLite, in memory.

It keeps books and decides nothing: the service decides who may do what.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = (HERE / "schema.sql").read_text("utf-8") + (HERE / "seeds.sql").read_text("utf-8")

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

    def account(self, account_id: str) -> Account | None:
        row = self._execute("SELECT * FROM accounts WHERE id = ?", [account_id]).fetchone()
        return row and Account(*row)

    def payee(self, account_id: str) -> Account:
        """An account that a key or a transfer refers to, and that therefore exists."""
        account = self.account(account_id)
        assert account is not None, "keys and transfers reference accounts"
        return account

    def own_accounts(self) -> list[Account]:
        rows = self._execute("SELECT * FROM accounts WHERE role = 'OWN' ORDER BY id")
        return [Account(*row) for row in rows]

    def balance(self, account_id: str) -> int:
        """Cents: the sum of the account's entries."""
        query = "SELECT coalesce(sum(cents), 0) FROM entries WHERE account = ?"
        return int(self._execute(query, [account_id]).fetchone()[0])

    def entries(self, account_id: str) -> list[Entry]:
        query = (
            "SELECT transfer, entries.cents, date FROM entries JOIN transfers ON transfers.id = transfer"
            " WHERE account = ? ORDER BY number"
        )
        return [Entry(*row) for row in self._execute(query, [account_id])]

    def total(self) -> int:
        """The sum of all entries: 0, or money was made or lost."""
        return int(self._execute("SELECT sum(cents) FROM entries").fetchone()[0])

    def key(self, key: str) -> Key | None:
        row = self._execute("SELECT * FROM keys WHERE key = ?", [key]).fetchone()
        return row and Key(*row)

    def keys(self, account_id: str) -> list[Key]:
        rows = self._execute("SELECT * FROM keys WHERE account = ? ORDER BY rowid", [account_id])
        return [Key(*row) for row in rows]

    def add_key(self, key: Key) -> None:
        self._execute("INSERT INTO keys VALUES (?, ?, ?)", [key.key, key.type, key.account])

    def remove_key(self, key: Key) -> None:
        self._execute("DELETE FROM keys WHERE key = ?", [key.key])

    def add_registration(self, account_id: str, key_type: str, accepted: bool) -> int:
        """Note a request for a key, and number it: numbers only ever grow."""
        query = "INSERT INTO registrations (account, type, accepted) VALUES (?, ?, ?)"
        return int(self._execute(query, [account_id, key_type, accepted]).lastrowid or 0)

    def transfer(self, code: str) -> Transfer | None:
        """The transfer with this transaction code."""
        row = self._execute("SELECT * FROM transfers WHERE id = ?", [code]).fetchone()
        return row and Transfer(row[0], row[1], self.payee(row[2]), *row[3:])

    def prepare(self, transfer: Transfer) -> None:
        """Note a transfer. No money moves."""
        columns = vars(transfer) | {"payee": transfer.payee.id}
        self._execute(f"INSERT INTO transfers VALUES ({', '.join(f':{name}' for name in columns)})", columns)

    def settle(self, transfer: Transfer, date: int) -> Transfer:
        """Move the money, once for each call: out of the payer's account, into the payee's or to clearing."""
        self._execute("UPDATE transfers SET status = 'DONE', date = ? WHERE id = ?", [date, transfer.id])
        into = transfer.payee.id if transfer.payee.role == "OWN" else CLEARING
        self._post(transfer.id, transfer.payer, -transfer.cents)
        self._post(transfer.id, into, transfer.cents)
        return replace(transfer, date=date, status="DONE")

    def _post(self, code: str, account_id: str, cents: int) -> None:
        query = "INSERT INTO entries (transfer, account, cents) VALUES (?, ?, ?)"
        self._execute(query, [code, account_id, cents])


class Database:
    """A fresh world, as seeds.sql has it: one connection, one transaction at a time. Safe to use from many threads."""

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
