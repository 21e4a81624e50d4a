"""Accounts, balances and entries; four ways to prepare a transfer, and GET /v1/execute/pix/{transactionId}, which moves
the money. A field of a body that is not as it should be is refused with 400, and never repeated.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from environments.sandbox.double_entry import Account, Entry, Ledger, Transfer
from environments.sandbox.protocol import Data, HttpService, Refusal, Request

MAX_VALUE = 10**12
"""The largest amount, in reais: far below where a float, or an integer of SQLite, loses cents."""


def text(body: Mapping[str, object], name: str, default: str | None = None) -> str:
    """A string; without a default it is required."""
    value = body.get(name, default)
    if not isinstance(value, str) or not _is_unicode(value):
        raise Refusal(400, f"The field {name} holds a string.")
    return value


def cents(body: Mapping[str, object]) -> int:
    """A positive amount in reais with at most two decimals, as cents."""
    value = body.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_VALUE:
        raise Refusal(400, f"The field value holds a positive number, at most {MAX_VALUE}.")
    amount = Decimal(str(value)) * 100
    if amount % 1:
        raise Refusal(400, "The field value has at most two decimals.")
    return int(amount)


def milliseconds(body: Mapping[str, object]) -> int:
    """A point in time in milliseconds since 1970, as the execution result has it."""
    value = body.get("date")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise Refusal(400, "The field date holds milliseconds since 1970 as an integer.")
    return value


def _is_unicode(value: str) -> bool:
    """JSON can escape half of a surrogate pair, which neither UTF-8 nor SQLite can hold."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


class AccountOperations(HttpService):
    """GET /v1/accounts, GET /v1/accounts/balance/{accountId} and GET /v1/accounts/entries/{accountId}."""

    def list_accounts(self, request: Request) -> Data:
        with self.database.transaction() as ledger:
            return {"accounts": [self.account_result(account) for account in ledger.own_accounts()]}

    def get_balance(self, request: Request, account_id: str) -> Data:
        with self.database.transaction() as ledger:
            account = self.own_account(ledger, account_id)
            return {"account": account.id, "balance": self.reais(ledger.balance(account.id))}

    def list_entries(self, request: Request, account_id: str) -> Data:
        with self.database.transaction() as ledger:
            account = self.own_account(ledger, account_id)
            return {"entries": [self.entry_result(entry) for entry in ledger.entries(account.id)]}

    def account_result(self, account: Account) -> Data:
        return {"id": account.id, **self.holder_result(account)}

    def holder_result(self, account: Account) -> Data:
        """Where an account is held and by whom, as an execution result shows its counterparty, too."""
        return {
            "bank": account.bank,
            "account": account.number,
            "digit": account.digit,
            "branch": account.branch,
            "accountType": account.type,
            "document": self.mask(account.document),
            "name": account.name,
        }

    def entry_result(self, entry: Entry) -> Data:
        """What leaves the account has a negative value."""
        return {"transactionId": entry.transfer, "date": entry.date, "value": self.reais(entry.cents)}

    def own_account(self, ledger: Ledger, account_id: str) -> Account:
        """The account of this service with this id."""
        account = ledger.account(account_id)
        if account is None or account.role != "OWN":
            raise Refusal(404, "There is no such account.")
        return account

    def reais(self, cents: int) -> float:
        """An amount as the interface has it, a decimal number."""
        return cents / 100

    def mask(self, document: str) -> str:
        """A masked tax document: ***.456.789-** for a CPF, **.345.678/0001-** for a CNPJ."""
        if len(document) == 11:
            return f"***.{document[3:6]}.{document[6:9]}-**"
        return f"**.{document[2:5]}.{document[5:8]}/{document[8:12]}-**"


@dataclass(frozen=True)
class Order:
    """What a body asks for: from an account, to a PIX key."""

    payer: str
    key: str
    cents: int
    message: str
    date: int


class TransferOperations(AccountOperations):
    """Prepares and executes transfers."""

    def execute_pix(self, request: Request, transaction_id: str) -> Data:
        return self.execution_result(self.confirm(transaction_id))

    def create_pix(self, request: Request) -> Data:
        return self.prepare("createPix", self.pix_order(self.read_json(request, "createPix")))

    def transfer_external(self, request: Request) -> Data:
        """To an account at another bank."""
        return self.prepare("transferExternal", self.transfer_order(self.read_json(request, "transferExternal")))

    def transfer_internal(self, request: Request) -> Data:
        """To another account of this service."""
        return self.prepare("transferInternal", self.transfer_order(self.read_json(request, "transferInternal")))

    def transfer_p2p(self, request: Request) -> Data:
        """To a person, at any bank."""
        return self.prepare("transferP2p", self.transfer_order(self.read_json(request, "transferP2p")))

    # Preparation

    def pix_order(self, body: Data) -> Order:
        """The fields account, pixKey and value, and message where there is one."""
        message = text(body, "message", "")
        return Order(text(body, "account"), text(body, "pixKey"), cents(body), message, self.now())

    def transfer_order(self, body: Data) -> Order:
        """The fields from, to, value and date, and description where there is one."""
        message = text(body, "description", "")
        return Order(text(body, "from"), text(body, "to"), cents(body), message, milliseconds(body))

    def prepare(self, operation: str, order: Order) -> Data:
        """Note a transfer to a registered key. No money moves."""
        with self.database.transaction() as ledger:
            payer = self.own_account(ledger, order.payer)
            key = ledger.key(order.key)
            if key is None:
                raise Refusal(404, "There is no such key.")
            payee = ledger.payee(key.account)
            self.check_parties(operation, payer, payee)
            details = vars(order) | {"payee": payee, "key_type": key.type, "status": "PREPARED"}
            transfer = Transfer(id=self.new_code(), **details)
            ledger.prepare(transfer)
            return self.preparation_result(transfer)

    def check_parties(self, operation: str, payer: Account, payee: Account) -> None:
        """Between two accounts, and of the sort that the operation is for."""
        if payer.id == payee.id:
            raise Refusal(422, "The key belongs to the paying account itself.")
        fits = {
            "transferExternal": payee.role == "ELSEWHERE",
            "transferInternal": payee.role == "OWN",
            "transferP2p": len(payee.document) == 11,
        }
        if not fits.get(operation, True):
            raise Refusal(422, "The key belongs to an account that this transfer does not reach.")

    def new_code(self) -> str:
        """A transaction code that nobody can guess."""
        return f"SBX-{secrets.token_hex(8).upper()}"

    def preparation_result(self, transfer: Transfer) -> Data:
        return {
            "transactionId": transfer.id,
            "status": transfer.status,
            "value": self.reais(transfer.cents),
            "date": transfer.date,
            "name": transfer.payee.name,
            "document": self.mask(transfer.payee.document),
        }

    # Execution

    def confirm(self, code: str) -> Transfer:
        """Move the money of a prepared transfer, or refuse and move none."""
        with self.database.transaction() as ledger:
            transfer = self.transfer(ledger, code)
            self.check_prepared(transfer)
            self.check_funds(ledger, transfer)
            return ledger.settle(transfer, self.now())

    def transfer(self, ledger: Ledger, code: str) -> Transfer:
        transfer = ledger.transfer(code)
        if transfer is None:
            raise Refusal(404, "There is no such transaction code.")
        return transfer

    def check_prepared(self, transfer: Transfer) -> None:
        """A transfer is executed once."""
        if transfer.status != "PREPARED":
            raise Refusal(409, "The transfer was executed before.")

    def check_funds(self, ledger: Ledger, transfer: Transfer) -> None:
        if ledger.balance(transfer.payer) < transfer.cents:
            raise Refusal(422, "The balance of the paying account is too low.")

    def execution_result(self, transfer: Transfer) -> Data:
        """The fields of the execution result."""
        return {
            "id": transfer.id,
            "date": transfer.date,
            **self.holder_result(transfer.payee),
            "type": transfer.key_type,
            "key": transfer.key,
            "value": self.reais(transfer.cents),
            "message": transfer.message,
            "status": transfer.status,
            "error": self.execution_error(transfer),
        }

    def execution_error(self, transfer: Transfer) -> str | None:
        """Null: an execution that fails moves no money, and is refused with an HTTP status."""
        return None
