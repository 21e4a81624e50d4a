"""The operations of the sandbox: one method for each, such as `register_pix_key` for registerPixKey.

protocol.py has what all operations share, and double_entry.py the accounts, keys and transfers. The docstring of the
package (`__init__.py`) lists what the sandbox chooses, because the interface document does not show it. A request with
a wrong field in its body is refused with 400, and the refusal repeats nothing of the request.

Self-tests: environments/test_sandbox.py.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from stdnum.br import cnpj, cpf

from environments.sandbox.double_entry import Account, Entry, Key, Ledger, Transfer
from environments.sandbox.protocol import Data, HttpService, Refusal, Request, integer_field, text_field


@dataclass(frozen=True)
class Registration:
    """One request for a key, and what became of it."""

    number: int
    """1 for the first registration of the service, and so on."""
    key: Key
    made: bool
    """True if the service made the key itself."""
    accepted: bool
    """False if the key was registered before."""


class Service(HttpService):
    """A service that conforms to the interface document.

    Mutants and variants subclass it and override one method, of this class or of `HttpService`. `finish` sees every
    response before it leaves.
    """

    KEY_FORMATS: ClassVar[Mapping[str, Callable[[str], object]]] = {
        "PHONE": re.compile(r"\+[1-9][0-9]{7,14}").fullmatch,  # E.164
        # One address of at most 77 characters, as the central bank's directory has it.
        "EMAIL": re.compile(r"(?!.{78})[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(\.[\w-]+)+", re.ASCII).fullmatch,
        # Empty: the service makes the key.
        "RANDOM": re.compile(r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?").fullmatch,
        # Without punctuation, and with right check digits. A CNPJ has letters since July 2026.
        "CNPJ": lambda key: re.fullmatch(r"[0-9A-Z]{12}[0-9]{2}", key) and cnpj.is_valid(key),
        "CPF": lambda key: re.fullmatch(r"[0-9]{11}", key) and cpf.is_valid(key),
    }
    """The key types that are accepted, each with the test that its keys pass."""

    # Accounts

    def list_accounts(self, request: Request) -> Data:
        """The data of an answer to listAccounts: every account of this bank."""
        with self.database.transaction() as ledger:
            return {
                "accounts": [{"id": account.id, **self.holder_result(account)} for account in ledger.own_accounts()]
            }

    def get_balance(self, request: Request, account_id: str) -> Data:
        """The data of an answer to getBalance: the balance of an account in reais. Raises Refusal if it is unknown."""
        with self.database.transaction() as ledger:
            account = self.own_account(ledger, account_id)
            return {"account": account.id, "balance": self.reais(ledger.balance(account.id))}

    def list_entries(self, request: Request, account_id: str) -> Data:
        """The data of an answer to listEntries: the movements of money on an account, the oldest first.

        Raises Refusal if the account is unknown.
        """
        with self.database.transaction() as ledger:
            entries = ledger.entries(self.own_account(ledger, account_id).id)
        return {"entries": [self.entry_result(entry) for entry in entries]}

    def entry_result(self, entry: Entry) -> Data:
        """One movement of money as listEntries answers it. The value is negative for outgoing money."""
        return {"transactionId": entry.transfer, "date": entry.date, "value": self.reais(entry.cents)}

    def holder_result(self, account: Account) -> Data:
        """Bank, branch, number and holder of an account, as a list of accounts and an execution result have them.

        The tax document is partly hidden, because the interface document says so for the execution result.
        """
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
        """The account at this bank with this id. Raises Refusal (404) if there is none."""
        for account in ledger.own_accounts():
            if account.id == account_id:
                return account
        raise Refusal(404, "There is no such account.")

    def reais(self, cents: int) -> float:
        """An amount in reais, as the interface has it: 1.5 for 150 cents."""
        return cents / 100

    def mask(self, document: str) -> str:
        """A tax document with some of its digits hidden: ***.456.789-** for a CPF, **.345.678/0001-** for a CNPJ."""
        is_cpf = len(document) == 11  # a CNPJ has 14 characters
        if is_cpf:
            return f"***.{document[3:6]}.{document[6:9]}-**"
        return f"**.{document[2:5]}.{document[5:8]}/{document[8:12]}-**"

    # Keys

    def register_pix_key(self, request: Request, account_id: str) -> Data:
        """Register the PIX key in the body of a request. Returns the data of the answer to registerPixKey.

        Raises Refusal for an unknown account, and for a wrong body.
        """
        body = self.read_json(request, "registerPixKey")
        with self.database.transaction() as ledger:
            self.own_account(ledger, account_id)
            self.check_body_account(body, account_id)
            key_type = self.key_type(body)
            key = self.requested_key(body, key_type)
            return self.registration_result(self.register(ledger, account_id, key_type, key))

    def delete_pix_key(self, request: Request, account_id: str) -> Data:
        """Delete the PIX key in the body of a request. Returns the data of the answer to deletePixKey.

        Raises Refusal if the account does not have the key.
        """
        body = self.read_json(request, "deletePixKey")
        with self.database.transaction() as ledger:
            self.own_account(ledger, account_id)
            self.remove(ledger, account_id, text_field(body, "pixKey"))
            return {"message": "The key is deleted."}

    def list_pix_keys(self, request: Request, account_id: str) -> Data:
        """The data of an answer to listPixKeys: every PIX key of an account. Raises Refusal for an unknown account."""
        with self.database.transaction() as ledger:
            account = self.own_account(ledger, account_id)
            return {"keys": [self.key_result(key) for key in ledger.keys(account.id)]}

    # Fields in the body of a registration

    def check_body_account(self, body: Data, account_id: str) -> None:
        """Check that the body of a registration names the account of the path, or none. Raises Refusal (422)."""
        if text_field(body, "account", account_id) != account_id:
            raise Refusal(422, "The account of the body is another one than that of the path.")

    def key_type(self, body: Data) -> str:
        """The field pixKeyType of a body, which must be a documented name such as PHONE. Raises Refusal (422)."""
        key_type = text_field(body, "pixKeyType")
        if key_type not in self.KEY_FORMATS:
            raise Refusal(422, f"The field pixKeyType is one of {', '.join(self.KEY_FORMATS)}.")
        return key_type

    def requested_key(self, body: Data, key_type: str) -> str:
        """The field pixKey of a body. It is empty if the service is to make the key, which only RANDOM permits.

        Raises Refusal (422) if the key does not have the format of its type.
        """
        may_be_missing = key_type == "RANDOM"
        key = text_field(body, "pixKey", default="" if may_be_missing else None)
        has_format_of_type = self.KEY_FORMATS[key_type]  # a function
        if not has_format_of_type(key):
            raise Refusal(422, f"The field pixKey does not have the format of a key of the type {key_type}.")
        return key

    # Changes of the registered keys

    def register(self, ledger: Ledger, account_id: str, key_type: str, value: str) -> Registration:
        """Register a PIX key for an account, and return what was done. An empty value makes the service choose a key.

        If the key is registered already, for this account or another one, nothing changes and `accepted` is false.
        """
        is_made_by_service = value == ""
        key = Key(self.new_key() if is_made_by_service else value, key_type, account_id)
        is_accepted = ledger.key(key.key) is None
        if is_accepted:
            ledger.add_key(key)
        number = next(self.registration_numbers)  # 1 for the first registration of this service
        return Registration(number, key, made=is_made_by_service, accepted=is_accepted)

    def new_key(self) -> str:
        """A key of type RANDOM that the service makes: a random UUID."""
        return str(uuid.uuid4())

    def remove(self, ledger: Ledger, account_id: str, value: str) -> None:
        """Delete a PIX key of this account. Raises Refusal (404) if the key is unknown, or is one of another account.

        Both are refused in the same way, so that nobody learns which keys other accounts have.
        """
        key = ledger.key(value)
        if key is None or key.account != account_id:
            raise Refusal(404, "The account has no such key.")
        ledger.remove_key(key)

    # The response

    def registration_result(self, registration: Registration) -> Data:
        """The data of the answer to a registration: the four fields of the key registration result.

        Source: interface document, Resources and their fields, Key registration result.
        """
        return {
            "Success": self.registration_success(registration),
            "Message": self.registration_message(registration),
            "Key": self.registration_key(registration),
            "DocumentNumber": registration.number,
        }

    def registration_success(self, registration: Registration) -> str:
        """The field Success of a registration result: "true" if the key was registered now, as a text."""
        return "true" if registration.accepted else "false"

    def registration_message(self, registration: Registration) -> str:
        """The field Message of a registration result: says whether the key was registered now or before."""
        return "The registration request was received." if registration.accepted else "The key is already registered."

    def registration_key(self, registration: Registration) -> str | None:
        """The field Key of a registration result: null (None) for a key that the service made itself.

        The interface document shows null for a RANDOM key. listPixKeys shows such a key.
        """
        return None if registration.made else registration.key.key

    def key_result(self, key: Key) -> Data:
        """A PIX key as an item in the answer to listPixKeys: `{"pixKey": "a@example.com", "pixKeyType": "EMAIL"}`."""
        return {"pixKey": key.key, "pixKeyType": key.type}

    # Transfers

    def execute_pix(self, request: Request, transaction_id: str) -> Data:
        """Execute a prepared transfer: its money moves. Returns the data of the answer to executePix.

        Raises Refusal if the transfer cannot be executed; then no money moves.
        """
        return self.execution_result(self.confirm(transaction_id))

    # Preparation

    def order(self, operation: str, body: Data) -> dict[str, Any]:
        """The transfer that the body of a request asks for: payer, PIX key of the payee, cents, message and date.

        createPix has other names for these fields than the transfer operations, and no date. Raises Refusal for a
        missing or wrong field.
        """
        if operation == "createPix":
            return {
                "payer": text_field(body, "account"),
                "key": text_field(body, "pixKey"),
                "cents": integer_field(body, "value", factor=100),
                "message": text_field(body, "message", default=""),
                "date": self.now(),
            }
        return {
            "payer": text_field(body, "from"),
            "key": text_field(body, "to"),
            "cents": integer_field(body, "value", factor=100),
            "message": text_field(body, "description", default=""),
            "date": integer_field(body, "date"),
        }

    def prepare(self, operation: str, request: Request) -> Data:
        """Prepare a transfer from an account of this bank to a registered PIX key. No money moves yet.

        Returns the data of the answer, with a new transaction code, by which the transfer can be executed. Raises
        Refusal if the key is not registered, or if it belongs to the paying account.
        """
        order = self.order(operation, self.read_json(request, operation))
        with self.database.transaction() as ledger:
            payer = self.own_account(ledger, order["payer"])
            key = ledger.key(order["key"])
            if key is None:
                raise Refusal(404, "There is no such key.")
            payee = ledger.account(key.account)
            if payer.id == payee.id:
                raise Refusal(422, "The key belongs to the paying account itself.")
            transfer = Transfer(self.new_code(), payee=payee, key_type=key.type, status="PREPARED", **order)
            ledger.prepare(transfer)
            return self.preparation_result(transfer)

    def new_code(self) -> str:
        """A new transaction code, such as `SBX-0123456789ABCDEF`. It is random, so that nobody can guess it."""
        return f"SBX-{secrets.token_hex(8).upper()}"

    def preparation_result(self, transfer: Transfer) -> Data:
        """The data of the answer to an operation that prepares a transfer. `transactionId` is the transaction code."""
        return {
            "transactionId": transfer.id,
            "status": transfer.status,
            "value": self.reais(transfer.cents),
            "date": transfer.date,
        }

    # Execution

    def confirm(self, code: str) -> Transfer:
        """Move the money of the prepared transfer with this transaction code, and return the executed transfer.

        Raises Refusal, and moves no money, if there is no such transfer, if it was executed before, or if the payer has
        too little money.
        """
        with self.database.transaction() as ledger:
            transfer = ledger.transfer(code)
            if transfer is None:
                raise Refusal(404, "There is no such transaction code.")
            self.check_prepared(transfer)
            self.check_funds(ledger, transfer)
            return ledger.move_money(transfer, self.now())

    def check_prepared(self, transfer: Transfer) -> None:
        """Check that the transfer was not executed before, because each may be executed once. Raises Refusal (409)."""
        if transfer.status != "PREPARED":
            raise Refusal(409, "The transfer was executed before.")

    def check_funds(self, ledger: Ledger, transfer: Transfer) -> None:
        """Check that the paying account has enough money for the transfer. Raises Refusal (422)."""
        if ledger.balance(transfer.payer) < transfer.cents:
            raise Refusal(422, "The balance of the paying account is too low.")

    def execution_result(self, transfer: Transfer) -> Data:
        """The data of the answer to an executed transfer: the fields of the execution result.

        Source: interface document, Resources and their fields, Execution result.
        """
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
