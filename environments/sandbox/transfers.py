"""Accounts, balances and entries; four ways to prepare a transfer, and GET /v1/execute/pix/{transactionId}, which moves
the money. A field of a body that is not as it should be is refused with 400, and never repeated.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from environments.sandbox.double_entry import Account, Ledger, Transfer
from environments.sandbox.protocol import Data, HttpService, Refusal, Request

MAX_NUMBER = 10**13
"""The largest amount, in reais, and time, in milliseconds: far below where a float loses cents."""


def text(body: Mapping[str, object], name: str, default: str | None = None) -> str:
    """A string; without a default it is required."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise Refusal(400, f"The field {name} holds a string.")
    return value


def integer(body: Mapping[str, object], name: str, factor: int = 1) -> int:
    """A number that is an integer once it is multiplied."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_NUMBER:
        raise Refusal(400, f"The field {name} holds a positive number, at most {MAX_NUMBER}.")
    product = Decimal(str(value)) * factor
    if product % 1:
        raise Refusal(400, f"The field {name} has too many decimals.")
    return int(product)


class AccountOperations(HttpService):
    """GET /v1/accounts, GET /v1/accounts/balance/{accountId} and GET /v1/accounts/entries/{accountId}."""

    def list_accounts(self, request: Request) -> Data:
        with self.database.transaction() as ledger:
            return {
                "accounts": [{"id": account.id, **self.holder_result(account)} for account in ledger.own_accounts()]
            }

    def get_balance(self, request: Request, account_id: str) -> Data:
        with self.database.transaction() as ledger:
            account = self.own_account(ledger, account_id)
            return {"account": account.id, "balance": self.reais(ledger.balance(account.id))}

    def list_entries(self, request: Request, account_id: str) -> Data:
        with self.database.transaction() as ledger:
            entries = ledger.entries(self.own_account(ledger, account_id).id)
        shown = [
            {"transactionId": each.transfer, "date": each.date, "value": self.reais(each.cents)} for each in entries
        ]
        return {"entries": shown}

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

    def own_account(self, ledger: Ledger, account_id: str) -> Account:
        """The account of this service with this id."""
        for account in ledger.own_accounts():
            if account.id == account_id:
                return account
        raise Refusal(404, "There is no such account.")

    def reais(self, cents: int) -> float:
        """An amount as the interface has it, a decimal number."""
        return cents / 100

    def mask(self, document: str) -> str:
        """A masked tax document: ***.456.789-** for a CPF, **.345.678/0001-** for a CNPJ."""
        if len(document) == 11:
            return f"***.{document[3:6]}.{document[6:9]}-**"
        return f"**.{document[2:5]}.{document[5:8]}/{document[8:12]}-**"


class TransferOperations(AccountOperations):
    """Prepares and executes transfers."""

    def execute_pix(self, request: Request, transaction_id: str) -> Data:
        return self.execution_result(self.confirm(transaction_id))

    def create_pix(self, request: Request) -> Data:
        return self.prepare("createPix", request)

    def transfer_external(self, request: Request) -> Data:
        """To an account at another bank."""
        return self.prepare("transferExternal", request)

    def transfer_internal(self, request: Request) -> Data:
        """To another account of this service."""
        return self.prepare("transferInternal", request)

    def transfer_p2p(self, request: Request) -> Data:
        """To a person, at any bank."""
        return self.prepare("transferP2p", request)

    # Preparation

    def order(self, operation: str, body: Data) -> dict[str, Any]:
        """What a body asks for: from an account, to a PIX key. createPix has names of its own, and no date."""
        is_pix = operation == "createPix"
        return {
            "payer": text(body, "account" if is_pix else "from"),
            "key": text(body, "pixKey" if is_pix else "to"),
            "cents": integer(body, "value", 100),
            "message": text(body, "message" if is_pix else "description", ""),
            "date": self.now() if is_pix else integer(body, "date"),
        }

    def prepare(self, operation: str, request: Request) -> Data:
        """Note a transfer to a registered key. No money moves."""
        order = self.order(operation, self.read_json(request, operation))
        with self.database.transaction() as ledger:
            payer, key = self.own_account(ledger, order["payer"]), ledger.key(order["key"])
            if key is None:
                raise Refusal(404, "There is no such key.")
            payee = ledger.account(key.account)
            self.check_parties(operation, payer, payee)
            transfer = Transfer(self.new_code(), payee=payee, key_type=key.type, status="PREPARED", **order)
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
            transfer = ledger.transfer(code)
            if transfer is None:
                raise Refusal(404, "There is no such transaction code.")
            self.check_prepared(transfer)
            self.check_funds(ledger, transfer)
            return ledger.settle(transfer, self.now())

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
            "error": None,  # an execution that fails moves no money, and is refused with an HTTP status
        }
