"""The PIX keys of an account: POST, DELETE and GET /v1/pix/keys/{accountId}, and the format that a key of each type has
(the interface document shows none).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from stdnum.br import cnpj, cpf

from environments.sandbox.double_entry import Key, Ledger
from environments.sandbox.protocol import Data, Refusal, Request
from environments.sandbox.transfers import AccountOperations, text


@dataclass(frozen=True)
class Registration:
    """What became of one request for a key; `made` where the service made the key itself."""

    number: int
    key: Key
    made: bool
    accepted: bool


class KeyOperations(AccountOperations):
    """Registers, deletes and lists keys."""

    KEY_FORMATS: ClassVar[Mapping[str, Callable[[str], object]]] = {
        "PHONE": re.compile(r"\+[1-9][0-9]{7,14}").fullmatch,  # E.164
        # One address of at most 77 characters, as the central bank's directory has it.
        "EMAIL": re.compile(r"(?!.{78})[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(\.[\w-]+)+", re.ASCII).fullmatch,
        # Empty: the service makes the key.
        "RANDOM": re.compile(r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?").fullmatch,
        # Without punctuation, with right check digits; a CNPJ has letters since July 2026.
        "CNPJ": lambda key: re.fullmatch(r"[0-9A-Z]{12}[0-9]{2}", key) and cnpj.is_valid(key),
        "CPF": lambda key: re.fullmatch(r"[0-9]{11}", key) and cpf.is_valid(key),
    }
    """The key types that are accepted, each with the test that its keys pass."""

    def register_pix_key(self, request: Request, account_id: str) -> Data:
        body = self.read_json(request, "registerPixKey")
        with self.database.transaction() as ledger:
            self.own_account(ledger, account_id)
            self.check_body_account(body, account_id)
            key_type = self.key_type(body)
            key = self.requested_key(body, key_type)
            return self.registration_result(self.register(ledger, account_id, key_type, key))

    def delete_pix_key(self, request: Request, account_id: str) -> Data:
        body = self.read_json(request, "deletePixKey")
        with self.database.transaction() as ledger:
            self.own_account(ledger, account_id)
            self.remove(ledger, account_id, text(body, "pixKey"))
            return {"message": "The key is deleted."}

    def list_pix_keys(self, request: Request, account_id: str) -> Data:
        with self.database.transaction() as ledger:
            account = self.own_account(ledger, account_id)
            return {"keys": [self.key_result(key) for key in ledger.keys(account.id)]}

    # What a request for a key holds

    def check_body_account(self, body: Data, account_id: str) -> None:
        """The body may leave out the account; it names no other than the path."""
        if text(body, "account", account_id) != account_id:
            raise Refusal(422, "The account of the body is another one than that of the path.")

    def key_type(self, body: Data) -> str:
        """The field pixKeyType, one of the documented names."""
        key_type = text(body, "pixKeyType")
        if key_type not in self.KEY_FORMATS:
            raise Refusal(422, f"The field pixKeyType is one of {', '.join(self.KEY_FORMATS)}.")
        return key_type

    def requested_key(self, body: Data, key_type: str) -> str:
        """The field pixKey, in the format of its type; empty where the service makes the key."""
        key = text(body, "pixKey", "" if key_type == "RANDOM" else None)
        if not self.KEY_FORMATS[key_type](key):
            raise Refusal(422, f"The field pixKey does not have the format of a key of the type {key_type}.")
        return key

    # What becomes of it

    def register(self, ledger: Ledger, account_id: str, key_type: str, value: str) -> Registration:
        """Register a key, unless it is registered already, here or anywhere."""
        key = Key(value or self.new_key(), key_type, account_id)
        accepted = ledger.key(key.key) is None
        if accepted:
            ledger.add_key(key)
        return Registration(next(self.numbers), key, not value, accepted)

    def new_key(self) -> str:
        return str(uuid.uuid4())

    def remove(self, ledger: Ledger, account_id: str, value: str) -> None:
        """Delete a key of this account; a key of another account is as good as unknown."""
        key = ledger.key(value)
        if key is None or key.account != account_id:
            raise Refusal(404, "The account has no such key.")
        ledger.remove_key(key)

    # The response

    def registration_result(self, registration: Registration) -> Data:
        """The four fields of the document, Resources, Key registration result."""
        return {
            "Success": self.registration_success(registration),
            "Message": self.registration_message(registration),
            "Key": self.registration_key(registration),
            "DocumentNumber": registration.number,
        }

    def registration_success(self, registration: Registration) -> str:
        """A boolean as text."""
        return "true" if registration.accepted else "false"

    def registration_message(self, registration: Registration) -> str:
        return "The registration request was received." if registration.accepted else "The key is already registered."

    def registration_key(self, registration: Registration) -> str | None:
        """Null for a key that the service made; listPixKeys shows it."""
        return None if registration.made else registration.key.key

    def key_result(self, key: Key) -> Data:
        return {"pixKey": key.key, "pixKeyType": key.type}
