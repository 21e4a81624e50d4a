"""The double-entry ledger: accounts, keys, transfers and entries, in SQLite, in memory.

It reads and writes the tables of schema.sql, and checks nothing: the service (service.py) decides who may do what.
"Double entry" means that each transfer has two entries, one for the paying account and one for the receiving account.

Self-tests: environments/test_sandbox.py.
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
"""Makes the tables, and fills them with made-up accounts."""

T = TypeVar("T")
CLEARING = "clearing"
"""The account for money that leaves for other banks, or comes from them."""


@dataclass(frozen=True)
class Account:
    """An account: one row of the table `accounts`."""

    id: str
    role: str
    """OWN, ELSEWHERE (held at another bank) or CLEARING."""
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
    """One movement of money on an account: one half of a transfer."""

    transfer: str
    """The transaction code."""
    cents: int
    """Negative for money that leaves the account."""
    date: int
    """Milliseconds since 1970."""


@dataclass(frozen=True)
class Transfer:
    """A transfer that was prepared, or executed."""

    id: str
    """The transaction code."""
    payer: str
    """The id of an account."""
    payee: Account
    """The counterparty."""
    key_type: str
    key: str
    cents: int
    message: str
    date: int
    """Milliseconds since 1970: the day that the preparation asks for, then the moment of the execution."""
    status: str
    """PREPARED or DONE."""


class Ledger:
    """Reads and writes the tables. A row that does not exist is None."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """`connection` leads to a database with the tables of schema.sql, and has an open transaction."""
        self._execute = connection.execute

    def _objects(self, make: Callable[..., T], query: str, *values: str) -> list[T]:
        """The rows of an SQL query as objects: `make` is called with the columns of each row."""
        return [make(*row) for row in self._execute(query, values)]

    def account(self, account_id: str) -> Account:
        """The account with this id. It must exist: the callers take the id from a key or a transfer in the database."""
        return self._objects(Account, "SELECT * FROM accounts WHERE id = ?", account_id)[0]

    def own_accounts(self) -> list[Account]:
        """The accounts that are held at this bank, and not at another one, sorted by id."""
        return self._objects(Account, "SELECT * FROM accounts WHERE role = 'OWN' ORDER BY id")

    def balance(self, account_id: str) -> int:
        """The balance of an account in cents: the sum of its entries, of which outgoing ones are negative."""
        return sum(entry.cents for entry in self.entries(account_id))

    def entries(self, account_id: str) -> list[Entry]:
        """The movements of money on an account, the oldest first."""
        query = (
            "SELECT transfer, entries.cents, date FROM entries JOIN transfers ON transfers.id = transfer"
            " WHERE account = ? ORDER BY number"
        )
        return self._objects(Entry, query, account_id)

    def key(self, value: str) -> Key | None:
        """The registered PIX key with this value, at whatever account; None if there is none."""
        keys = self._objects(Key, "SELECT * FROM keys WHERE key = ?", value)
        return keys[0] if keys else None

    def keys(self, account_id: str) -> list[Key]:
        """The PIX keys that are registered for an account, in the order of their registration."""
        return self._objects(Key, "SELECT * FROM keys WHERE account = ? ORDER BY rowid", account_id)

    def add_key(self, key: Key) -> None:
        """Add a PIX key to the registered keys."""
        self._execute("INSERT INTO keys VALUES (?, ?, ?)", [key.key, key.type, key.account])

    def remove_key(self, key: Key) -> None:
        """Remove a PIX key from the registered keys."""
        self._execute("DELETE FROM keys WHERE key = ?", [key.key])

    def transfer(self, code: str) -> Transfer | None:
        """The transfer with this transaction code; None if there is none."""
        row = self._execute("SELECT * FROM transfers WHERE id = ?", [code]).fetchone()
        if row is None:
            return None
        id_, payer, payee_id, *further_columns = row  # in the order of the fields of `Transfer`
        return Transfer(id_, payer, self.account(payee_id), *further_columns)

    def prepare(self, transfer: Transfer) -> None:
        """Write a prepared transfer to the database, so that it can be executed later. No money moves."""
        columns = vars(transfer) | {"payee": transfer.payee.id}
        placeholders = ", ".join(f":{name}" for name in columns)
        self._execute(f"INSERT INTO transfers VALUES ({placeholders})", columns)

    def move_money(self, transfer: Transfer, date: int) -> Transfer:
        """Move the money of a transfer: write an entry for the payer and one for the receiving account.

        If the payee has the account at another bank, the receiving account is the one for clearing with other banks.
        Whether the money was moved before is not checked here: each call moves it once more. Returns the transfer with
        its new status and date.
        """
        self._execute("UPDATE transfers SET status = 'DONE', date = ? WHERE id = ?", [date, transfer.id])
        receiving_account = transfer.payee.id if transfer.payee.role == "OWN" else CLEARING
        for account, cents in ((transfer.payer, -transfer.cents), (receiving_account, transfer.cents)):
            query = "INSERT INTO entries (transfer, account, cents) VALUES (?, ?, ?)"
            self._execute(query, [transfer.id, account, cents])
        return replace(transfer, date=date, status="DONE")


class Database:
    """A new database with the accounts and transfers of seeds.sql.

    It has one connection and one transaction at a time, so that many threads may use it.
    """

    def __init__(self) -> None:
        """Make the tables in memory, and fill them with the made-up accounts and transfers."""
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)  # the lock lets threads take turns
        self._connection.executescript(f"PRAGMA foreign_keys = ON; {SCRIPT}")
        weakref.finalize(self, self._connection.close)  # closes the database when this object is not used any more

    @contextmanager
    def transaction(self) -> Iterator[Ledger]:
        """A context in which one thread alone reads and changes the database through a ledger.

        At its end all changes are saved together. If an exception is raised in it, no change is saved.
        """
        with self._lock, self._connection:
            yield Ledger(self._connection)
