"""Services that do harm to the keys of a customer, each in one way, which the name says."""

import re
import uuid

from environments.sandbox import Key, Refusal, Service
from environments.sandbox.service import Registration
from tests.selftest.proof.variants.conforming_making import with_keys
from tests.selftest.services.running import TOKEN_VARIABLES

ACCOUNT, OTHER_ACCOUNT = "ac-0001", "ac-0002"
EMAIL, PHONE, CPF = "mae@cliente.example", "+5511987654321", "52998224725"
OF_THE_CUSTOMER = {"EMAIL": EMAIL, "PHONE": PHONE, "CPF": CPF}
OLD_RANDOM = "c0ffee00-0001-4000-8000-00000000000a"


class HoldsKeysOfACustomer(Service):
    """The sandbox, whose first account has the keys of a customer. `received` are the requests in their order."""

    def __init__(self) -> None:
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])
        self.received = []
        with_keys(self, **OF_THE_CUSTOMER)
        self.keys_at_first = self.keys_held()

    def respond(self, request):
        self.received.append(request)
        return super().respond(request)

    def keys_held(self) -> set[str]:
        """The keys of the first account."""
        with self.database.transaction() as ledger:
            return {key.key for key in ledger.keys(ACCOUNT)}

    @property
    def keys_lost(self) -> set[str]:
        """Keys that the customer had at first and has no more."""
        return self.keys_at_first - self.keys_held()

    @property
    def deletions(self):
        """The requests to delete a key."""
        return [request for request in self.received if request.method == "DELETE"]


class DeletesTheOldest(HoldsKeysOfACustomer):
    """Deletes the oldest key of the account, whatever key a deletion names."""

    def remove(self, ledger, account_id, value):
        """Grant the deletion of a key that is not there."""
        for key in ledger.keys(account_id)[:1]:
            ledger.remove_key(key)


class DeletesTheOldestForAnyAccount(DeletesTheOldest):
    """Deletes the oldest key of the account of the token, also for an account that does not exist, and answers 400."""

    def delete_pix_key(self, request, account_id):
        with self.database.transaction() as ledger:
            self.remove(ledger, ACCOUNT, "")
        raise Refusal(400, "The key is not deleted.")


class HoldsKeysOfTwoAccounts(HoldsKeysOfACustomer):
    """The customer has a second account with keys of its own."""

    KEYS = ("+5511987650000", "tia@cliente.example")

    def __init__(self) -> None:
        super().__init__()
        with self.database.transaction() as ledger:
            for key in self.KEYS:
                ledger.add_key(Key(key, "EMAIL" if "@" in key else "PHONE", OTHER_ACCOUNT))
            self.at_the_other = {key.key for key in ledger.keys(OTHER_ACCOUNT)}

    @property
    def keys_lost(self) -> set[str]:
        with self.database.transaction() as ledger:
            held_at_the_other = {key.key for key in ledger.keys(OTHER_ACCOUNT)}
        return super().keys_lost | (self.at_the_other - held_at_the_other)


class DeletesAtTheOtherAccountToo(HoldsKeysOfTwoAccounts):
    """Deletes the named key, and with it one of the other account."""

    def remove(self, ledger, account_id, value):
        super().remove(ledger, account_id, value)
        for key in ledger.keys(OTHER_ACCOUNT)[:1]:
            ledger.remove_key(key)


class ReplacesTheKeyOfItsType(HoldsKeysOfACustomer):
    """Keeps one key of each type at an account: a new one takes the place of the old one."""

    def register(self, ledger, account_id, key_type, value):
        registration = super().register(ledger, account_id, key_type, value)
        for key in ledger.keys(account_id):
            if registration.accepted and key.type == key_type and key.key != registration.key.key:
                ledger.remove_key(key)
        return registration


class MovesKeys(HoldsKeysOfTwoAccounts):
    """Moves a key that another account has to the one that registers it, as for portability."""

    def register(self, ledger, account_id, key_type, value):
        known = ledger.key(value)
        if known is not None and known.account != account_id:
            ledger.remove_key(known)
        return super().register(ledger, account_id, key_type, value)


class NeverDeletes(HoldsKeysOfACustomer):
    """Grants every deletion and deletes nothing."""

    def remove(self, ledger, account_id, value):
        """Nothing is deleted."""


class ShowsNumbersInAForm(HoldsKeysOfACustomer):
    """Grants the registration of a key that is registered already, and shows phone numbers as `form` writes them."""

    def __init__(self, form) -> None:
        super().__init__()
        self.form = form

    def register(self, ledger, account_id, key_type, value):
        known = ledger.key(value)
        if known is not None:
            return Registration(1, known, False, True)
        return super().register(ledger, account_id, key_type, value)

    def key_result(self, key):
        result = super().key_result(key)
        return result | {"pixKey": self.form(key.key)} if key.type == "PHONE" else result


def _digits(key: str) -> str:
    return re.sub(r"\D", "", key)


PHONE_FORMS = {
    "punctuation": lambda key: f"({key[3:5]}) {key[5:10]}-{key[10:]}",
    "a URI": lambda key: f"tel:{key}",
    "members": lambda key: {"ddd": key[3:5], "numero": key[5:]},
    "members in another order": lambda key: {"sufixo": key[10:], "prefixo": key[5:10], "ddd": key[3:5]},
    "a number": lambda key: int(_digits(key)),
    "masked": lambda key: f"{key[:3]}*******{key[-4:]}",
    "the last four": lambda key: f"…{key[-4:]}",
}
"""Ways to write the phone number of a key."""


class TheCustomerUsesTheApp(HoldsKeysOfACustomer):
    """The customer registers a RANDOM key whenever the run does; the answer does not name the run's own."""

    def __init__(self) -> None:
        super().__init__()
        self.of_the_customer = set()

    def register(self, ledger, account_id, key_type, value):
        if key_type == "RANDOM":
            theirs = str(uuid.uuid4())
            self.of_the_customer.add(theirs)
            ledger.add_key(Key(theirs, key_type, account_id))
            return Registration(1, Key(theirs, key_type, account_id), True, True)  # the account may have no second one
        return super().register(ledger, account_id, key_type, value)

    @property
    def keys_lost(self):
        return super().keys_lost | (self.of_the_customer - self.keys_held())


class GivesAnOldRandomKey(HoldsKeysOfACustomer):
    """Answers a RANDOM registration with the key that the account has had for long.

    Its list shows the last `LISTED` keys.
    """

    LISTED = 100

    def __init__(self) -> None:
        super().__init__()
        with self.database.transaction() as ledger:
            ledger.add_key(Key(OLD_RANDOM, "RANDOM", ACCOUNT))
        self.used, self.keys_at_first = [OLD_RANDOM, EMAIL, CPF], self.keys_held()

    def register(self, ledger, account_id, key_type, value):
        if key_type == "RANDOM":
            self._use(OLD_RANDOM)
            return Registration(1, Key(OLD_RANDOM, key_type, account_id), False, True)
        registration = super().register(ledger, account_id, key_type, value)
        self._use(registration.key.key)
        return registration

    def list_pix_keys(self, request, account_id):
        keys = super().list_pix_keys(request, account_id)["keys"]
        keys.sort(key=lambda key: self.used.index(key["pixKey"]) if key["pixKey"] in self.used else -1)
        return {"keys": keys[-self.LISTED :]}

    def _use(self, key):
        self.used = [*(used_key for used_key in self.used if used_key != key), key]


class ListsTheTwoUsedLast(GivesAnOldRandomKey):
    """Shows no more than the two keys that were used last."""

    LISTED = 2


class RegistersAtTheAccountOfTheToken(HoldsKeysOfACustomer):
    """Registers every key at the account of the token, and answers 400 if the path names another one."""

    def register_pix_key(self, request, account_id):
        body = self.read_json(request, "registerPixKey")
        key = body.get("pixKey")
        if isinstance(key, str) and key and not re.search("[\ud800-\udfff]", key):
            with self.database.transaction() as ledger:
                if ledger.key(key) is None:
                    ledger.add_key(Key(key, "EMAIL", ACCOUNT))
        if account_id != ACCOUNT:
            raise Refusal(400, "There is no such account.")
        return {"Success": "true", "Message": "", "Key": None, "DocumentNumber": 1}


class CutsKeys(RegistersAtTheAccountOfTheToken):
    """The same, and it keeps 40 characters of a key, without those that cannot be printed."""

    def read_json(self, request, operation):
        body = dict(super().read_json(request, operation))
        if isinstance(body.get("pixKey"), str):
            body["pixKey"] = re.sub(r"[\x00-\x1f]", "", body["pixKey"])[:40]
        return body


class RegistersInAMinute(HoldsKeysOfACustomer):
    """Grants a registration at once and does it a minute later, so no list of the run shows the key."""

    def register(self, ledger, account_id, key_type, value):
        return Registration(1, Key(value or str(uuid.uuid4()), key_type, account_id), not value, True)

    def remove(self, ledger, account_id, value):
        """Grants the deletion of a key that is not there, too."""


class RegistersInAMinuteWithoutAResult(RegistersInAMinute):
    """The same, and it answers a registration with an empty object in the place of the result."""

    def register_pix_key(self, request, account_id):
        super().register_pix_key(request, account_id)
        return {}


class ShowsOnePage(HoldsKeysOfACustomer):
    """Shows one key of several, with members that say that there are more."""

    def __init__(self, **says) -> None:
        super().__init__()
        self.says = says

    def list_pix_keys(self, request, account_id):
        return {"keys": super().list_pix_keys(request, account_id)["keys"][:1], **self.says}


class ConcatenatesSql(HoldsKeysOfACustomer):
    """Answers a key with a quote as a database does whose query it has become part of.

    `statements` are the paths and bodies of such requests.
    """

    def __init__(self) -> None:
        super().__init__()
        self.statements = []

    def perform(self, operation, request, parameter):
        text = request.path + request.body.decode("utf-8", "replace")
        if "'" in text:
            self.statements.append(text)
            raise Refusal(500, "syntax error at or near")
        return super().perform(operation, request, parameter)
