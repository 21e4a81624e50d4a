"""The accounts, their balances and their entries; the document shows no shape of them."""

from __future__ import annotations

from environments.sandbox.double_entry import Account, Entry, Ledger
from environments.sandbox.messages import Data, Refusal, Request
from environments.sandbox.protocol import HttpService


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
