"""Services that do harm to the keys of a customer, each in one way, which the name says."""

import re
import uuid

from environments.sandbox import Key, Refusal, Service
from environments.sandbox.service import Registration
from tests.selftest.proof.variants.conforming_making import with_keys
from tests.selftest.services.running import TOKEN_VARIABLES

ACCOUNT, OTHER_ACCOUNT = "ac-0001", "ac-0002"
EMAIL, PHONE, CPF = "mae@cliente.example", "+5511987654321", "52998224725"
KEYS_OF_CUSTOMER = {"EMAIL": EMAIL, "PHONE": PHONE, "CPF": CPF}
OLD_RANDOM = "c0ffee00-0001-4000-8000-00000000000a"


class HoldsKeysOfACustomer(Service):
    """The sandbox, whose first account has the keys of a customer. `received` are the requests in their order."""

    def __init__(self) -> None:
        """The sandbox, after the keys of the customer were registered at its first account."""
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])
        self.received = []
        with_keys(self, **KEYS_OF_CUSTOMER)
        self.keys_at_first = self.keys_held()

    def respond(self, request):
        """Answer a request as the sandbox does, and keep it."""
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
        """Delete the oldest key, whatever key `value` names. The deletion succeeds even if the account has no key."""
        keys_from_oldest = ledger.keys(account_id)
        if keys_from_oldest:
            ledger.remove_key(keys_from_oldest[0])


class DeletesTheOldestForAnyAccount(DeletesTheOldest):
    """Deletes the oldest key of the first account, whatever account a deletion names, and answers 400."""

    def delete_pix_key(self, request, account_id):
        """Delete a key of the customer, and raise Refusal as if nothing had been deleted."""
        with self.database.transaction() as ledger:
            self.remove(ledger, ACCOUNT, "")
        raise Refusal(400, "The key is not deleted.")


class HoldsKeysOfTwoAccounts(HoldsKeysOfACustomer):
    """The sandbox, whose first account has the keys of a customer, and whose second account has other keys of theirs."""

    KEYS = ("+5511987650000", "tia@cliente.example")

    def __init__(self) -> None:
        """The sandbox, after keys of the customer were registered at both accounts."""
        super().__init__()
        with self.database.transaction() as ledger:
            for key in self.KEYS:
                key_type = "EMAIL" if "@" in key else "PHONE"
                ledger.add_key(Key(key, key_type, OTHER_ACCOUNT))
        self.keys_of_other_account_at_first = self.keys_held_at_other_account()

    def keys_held_at_other_account(self) -> set[str]:
        """The keys of the second account."""
        with self.database.transaction() as ledger:
            return {key.key for key in ledger.keys(OTHER_ACCOUNT)}

    @property
    def keys_lost(self) -> set[str]:
        """Keys that the customer had at first at either account, and has no more."""
        return super().keys_lost | (self.keys_of_other_account_at_first - self.keys_held_at_other_account())


class DeletesAtTheOtherAccountToo(HoldsKeysOfTwoAccounts):
    """Deletes the named key, and with it the oldest key of the other account."""

    def remove(self, ledger, account_id, value):
        """Delete the key `value`, and the oldest key of OTHER_ACCOUNT."""
        super().remove(ledger, account_id, value)
        keys_of_other_account = ledger.keys(OTHER_ACCOUNT)
        if keys_of_other_account:
            ledger.remove_key(keys_of_other_account[0])


class ReplacesTheKeyOfItsType(HoldsKeysOfACustomer):
    """Keeps one key of each type at an account: a new key takes the place of the old key."""

    def register(self, ledger, account_id, key_type, value):
        """Register a key, and delete the other keys of this type at the account."""
        registration = super().register(ledger, account_id, key_type, value)
        for key in ledger.keys(account_id):
            if registration.accepted and key.type == key_type and key.key != registration.key.key:
                ledger.remove_key(key)
        return registration


class MovesKeys(HoldsKeysOfTwoAccounts):
    """Moves a key from another account to the account that registers it, as a customer who changes banks wants it."""

    def register(self, ledger, account_id, key_type, value):
        """Register a key, after it was removed from another account."""
        registered_key = ledger.key(value)
        if registered_key is not None and registered_key.account != account_id:
            ledger.remove_key(registered_key)
        return super().register(ledger, account_id, key_type, value)


class NeverDeletes(HoldsKeysOfACustomer):
    """Says that a key was deleted, and deletes nothing."""

    def remove(self, ledger, account_id, value):
        """Do nothing. The answer to the deletion is a success."""


class ShowsNumbersInAForm(HoldsKeysOfACustomer):
    """Its list shows a phone number as the function `written_number` writes it, for example "(11) 98765-4321".

    The registration of a key that is registered already succeeds, too.
    """

    def __init__(self, written_number) -> None:
        """`written_number` is a function of PHONE_FORMS, which writes a phone number in another form."""
        super().__init__()
        self.written_number = written_number

    def register(self, ledger, account_id, key_type, value):
        """Register a key. If the key is registered already, this succeeds and changes nothing."""
        registered_key = ledger.key(value)
        if registered_key is not None:
            return Registration(number=1, key=registered_key, made=False, accepted=True)
        return super().register(ledger, account_id, key_type, value)

    def key_result(self, key):
        """A key as the list shows it: a phone number in the other form, and any other key as the sandbox shows it."""
        result = super().key_result(key)
        if key.type == "PHONE":
            result["pixKey"] = self.written_number(key.key)
        return result


def _digits(key: str) -> str:
    """The digits of a phone number: "5511987654321" for "+5511987654321"."""
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
"""Functions that write the phone number of a key in another form: {"a URI": "+5511987654321" -> "tel:+5511987654321"}."""


class TheCustomerUsesTheApp(HoldsKeysOfACustomer):
    """Whenever the run registers a RANDOM key, the customer does so at the same moment, and only theirs is kept."""

    def __init__(self) -> None:
        """The sandbox, before the customer has registered a RANDOM key."""
        super().__init__()
        self.random_keys_of_customer = set()

    def register(self, ledger, account_id, key_type, value):
        """Register a key. The registration of a RANDOM key succeeds, but the account gets only the customer's own one."""
        if key_type == "RANDOM":
            key_of_customer = Key(str(uuid.uuid4()), key_type, account_id)
            self.random_keys_of_customer.add(key_of_customer.key)
            ledger.add_key(key_of_customer)
            # the answer shows this key to the run, too, because an account has only one RANDOM key
            return Registration(number=1, key=key_of_customer, made=True, accepted=True)
        return super().register(ledger, account_id, key_type, value)

    @property
    def keys_lost(self):
        """Keys that the customer had at first or registered meanwhile, and has no more."""
        return super().keys_lost | (self.random_keys_of_customer - self.keys_held())


class GivesAnOldRandomKey(HoldsKeysOfACustomer):
    """Answers a RANDOM registration with the RANDOM key that the account has had for long.

    Its list shows only the keys that were used last, as many as `NUMBER_OF_LISTED_KEYS`.
    """

    NUMBER_OF_LISTED_KEYS = 100

    def __init__(self) -> None:
        """The sandbox, whose first account has an old RANDOM key beside the other keys of the customer."""
        super().__init__()
        with self.database.transaction() as ledger:
            ledger.add_key(Key(OLD_RANDOM, "RANDOM", ACCOUNT))
        self.keys_at_first = self.keys_held()
        self.keys_by_last_use = [OLD_RANDOM, EMAIL, CPF]

    def register(self, ledger, account_id, key_type, value):
        """Register a key. The registration of a RANDOM key succeeds, and its answer has the old RANDOM key."""
        if key_type == "RANDOM":
            self._note_use(OLD_RANDOM)
            old_key = Key(OLD_RANDOM, key_type, account_id)
            return Registration(number=1, key=old_key, made=False, accepted=True)
        registration = super().register(ledger, account_id, key_type, value)
        self._note_use(registration.key.key)
        return registration

    def list_pix_keys(self, request, account_id):
        """The list of the keys that were used last, at most NUMBER_OF_LISTED_KEYS. The key of the last use is at its
        end.
        """
        keys = super().list_pix_keys(request, account_id)["keys"]
        keys.sort(key=self._place_of_last_use)
        return {"keys": keys[-self.NUMBER_OF_LISTED_KEYS :]}

    def _place_of_last_use(self, listed_key):
        """The place of a key in the order of last uses, from 0. It is -1 if the key was never used."""
        key = listed_key["pixKey"]
        if key not in self.keys_by_last_use:
            return -1
        return self.keys_by_last_use.index(key)

    def _note_use(self, key):
        """Put a key at the end of the order of last uses."""
        if key in self.keys_by_last_use:
            self.keys_by_last_use.remove(key)
        self.keys_by_last_use.append(key)


class ListsTheTwoUsedLast(GivesAnOldRandomKey):
    """Shows no more than the two keys that were used last."""

    NUMBER_OF_LISTED_KEYS = 2


class RegistersAtTheAccountOfTheToken(HoldsKeysOfACustomer):
    """Registers every key at the first account, to which the token belongs, and answers 400 if the path names another."""

    def register_pix_key(self, request, account_id):
        """Register a key at ACCOUNT, whatever account the path names. Raises Refusal afterwards if it names another
        account.

        A key that is empty or no text is not registered. Nor is a key with half a surrogate pair, which the database
        cannot store.
        """
        body = self.read_json(request, "registerPixKey")
        key = body.get("pixKey")
        is_text = isinstance(key, str) and key != ""
        has_half_a_surrogate_pair = is_text and re.search("[\ud800-\udfff]", key) is not None
        if is_text and not has_half_a_surrogate_pair:
            with self.database.transaction() as ledger:
                if ledger.key(key) is None:
                    ledger.add_key(Key(key, "EMAIL", ACCOUNT))
        if account_id != ACCOUNT:
            raise Refusal(400, "There is no such account.")
        return {"Success": "true", "Message": "", "Key": None, "DocumentNumber": 1}


class CutsKeys(RegistersAtTheAccountOfTheToken):
    """Registers every key at the first account, too. It keeps the first 40 characters of a key, without control
    characters.
    """

    def read_json(self, request, operation):
        """The members of a body, whose key has at most 40 characters and no control characters."""
        body = dict(super().read_json(request, operation))
        if isinstance(body.get("pixKey"), str):
            body["pixKey"] = re.sub(r"[\x00-\x1f]", "", body["pixKey"])[:40]
        return body


class RegistersInAMinute(HoldsKeysOfACustomer):
    """Accepts a registration at once and carries it out a minute later, so no list of the run shows the key."""

    def register(self, ledger, account_id, key_type, value):
        """A registration that is accepted. Its key is not added to the account.

        If the request has no key, the service makes one.
        """
        is_made_by_service = not value
        key_text = str(uuid.uuid4()) if is_made_by_service else value
        key = Key(key_text, key_type, account_id)
        return Registration(number=1, key=key, made=is_made_by_service, accepted=True)

    def remove(self, ledger, account_id, value):
        """Do nothing. The answer to the deletion is a success."""


class RegistersInAMinuteWithoutAResult(RegistersInAMinute):
    """Accepts a registration, too, without a key in any list. The result in its answer is an empty object."""

    def register_pix_key(self, request, account_id):
        """Check and accept a registration. The result is an empty object."""
        super().register_pix_key(request, account_id)
        return {}


class ShowsOnePage(HoldsKeysOfACustomer):
    """Its list shows only the first key, with members that say that there are more pages, such as `hasMore=True`."""

    def __init__(self, **members_about_pages) -> None:
        """`members_about_pages` are members of each list that say that there are more pages, such as `hasMore=True`."""
        super().__init__()
        self.members_about_pages = members_about_pages

    def list_pix_keys(self, request, account_id):
        """The first page of the list: one key, and the members that say that there are more pages."""
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": keys[:1], **self.members_about_pages}


class ConcatenatesSql(HoldsKeysOfACustomer):
    """Puts values into SQL without quoting them, so a quote in a request gets 500 with an error of the database.

    `statements` are the paths and bodies of such requests.
    """

    def __init__(self) -> None:
        """The sandbox, before a request with a quote has arrived."""
        super().__init__()
        self.statements = []

    def perform(self, operation, request, parameter):
        """Do what a request asks for. Raises Refusal (500) if there is a quote in its path or body."""
        text = request.path + request.body.decode("utf-8", "replace")
        if "'" in text:
            self.statements.append(text)
            raise Refusal(500, "syntax error at or near")
        return super().perform(operation, request, parameter)
