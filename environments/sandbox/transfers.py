"""Transfers: four ways to prepare one, and GET /v1/execute/pix/{transactionId}, which moves the money."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from environments.sandbox.accounts import AccountOperations
from environments.sandbox.double_entry import Account, Ledger, Transfer
from environments.sandbox.messages import Data, Refusal, Request, cents, milliseconds, text


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
