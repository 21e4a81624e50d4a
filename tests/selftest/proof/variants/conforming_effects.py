"""Lists that show more than registered keys, such as refused ones with a status.

If such a list shows a refused key, that does not prove that the refusal registered it.
"""

import uuid

from environments.sandbox import Key, Refusal, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import RemembersThePast
from tests.selftest.proof.variants.conforming_registrations import RefusesDuplicates

_UNGRANTED = ("registerPixKey.pixKeyType.*", "registerPixKey.Key.example")
_NOTHING_GRANTED = ("registerPixKey.*", "deletePixKey.*")


class ListsAttempts(Service):
    """The sandbox, which refuses keys of the types in `REFUSED`, and shows them in the list of keys all the same.

    `list_with_attempts` makes the list from the list of registered keys. `attempts` are the refused keys with their types.
    """

    REFUSED = ("EMAIL",)
    STATUS = 422

    def __init__(self):
        super().__init__()
        self.attempts = {}

    def register_pix_key(self, request, account_id):
        """Register a key. Raises Refusal for a key of a type in REFUSED, and notes the attempt."""
        body = self.read_json(request, "registerPixKey")
        key_type, key = str(body.get("pixKeyType")), body.get("pixKey")
        if key_type in self.REFUSED and isinstance(key, str):
            self.attempts[key] = key_type
            raise Refusal(self.STATUS, "The key waits to be confirmed.")
        return super().register_pix_key(request, account_id)

    def list_pix_keys(self, request, account_id):
        list_of_registered_keys = super().list_pix_keys(request, account_id)
        return self.list_with_attempts(list_of_registered_keys)

    def items_for_attempts(self, **mark):
        """An item of the list for each attempt. `mark` is a further member, such as {"status": "FAILED"}."""
        return [{"pixKey": key, "pixKeyType": key_type, **mark} for key, key_type in self.attempts.items()]


def _with_a_status(status_of_registered, status_of_attempt):
    """A method that makes one list of registered keys and attempts, in which each item has a status."""

    def list_with_attempts(self, listed):
        registered = [key | {"status": status_of_registered} for key in listed["keys"]]
        return {"keys": registered + self.items_for_attempts(status=status_of_attempt)}

    return list_with_attempts


class ListsRequests(ListsAttempts):
    """The sandbox, which refuses keys of the types in `REFUSED`, and lists every request for a key beside its keys."""

    def register_pix_key(self, request, account_id):
        """Note every registration of a documented type as the last attempt, and then register or refuse the key."""
        body = self.read_json(request, "registerPixKey")
        key_type, key = body.get("pixKeyType"), body.get("pixKey")
        if isinstance(key_type, str) and key_type in self.KEY_FORMATS and isinstance(key, str):
            self.attempts.pop(key, None)  # so that it becomes the last one
            self.attempts[key] = str(key_type)
        return super().register_pix_key(request, account_id)


STATUSES = {
    "Word": ("ACTIVE", "WAITING_FOR_CONFIRMATION"),
    "Number": (1, 2),
    "Digit": ("1", "2"),
    "Flag": (True, False),
    "Null": ("2026-01-01T00:00:00Z", None),
}
ATTEMPTS = {
    **{
        f"ListsWaitingKeysWithAStatus{name}": (
            f"Keys that wait are listed with another status ({name}).", ListsAttempts, _with_a_status(*statuses),
        )
        for name, statuses in STATUSES.items()
    },
    "ListsAttemptsApart": (
        "Attempts stand in a list of their own.", ListsAttempts,
        lambda self, listed: {**listed, "attempts": self.items_for_attempts()},
    ),
    "ListsAttemptsByStatus": (
        "The list is one of statuses, each with its keys.", ListsAttempts,
        lambda self, listed: {"groups": [
            {"status": "ACTIVE", "keys": listed["keys"]}, {"status": "PENDING", "keys": self.items_for_attempts()},
        ]},
    ),
    "NamesTheLastKeyInItsList": (
        "The list names the key that was sent last.", ListsAttempts,
        lambda self, listed: {**listed, "last": {"pixKey": next(reversed(self.attempts), None)}},
    ),
    "ListsAttemptsWithTheirReason": (
        "A key that was refused stands in the list with a reason.", ListsAttempts,
        lambda self, listed: {"keys": listed["keys"] + self.items_for_attempts(reason="waits")},
    ),
    "ListsEveryRequestWithItsStatus": (
        "The list is a history of all requests for keys, each with what became of it.", ListsAttempts,
        _with_a_status("DONE", "REFUSED"),
    ),
    "ListsEveryRequestBesideItsKeys": (
        "A history of all requests stands beside the keys.", ListsRequests,
        lambda self, listed: {**listed, "asked": self.items_for_attempts()},
    ),
    "NamesTheLastRequestBesideItsKeys": (
        "The list names the key of the last request.", ListsRequests,
        lambda self, listed: {**listed, "last": next(reversed(self.attempts), None)},
    ),
}  # fmt: skip
for _name, (_fact, _base, _tell) in ATTEMPTS.items():
    declare_variant("attempts in the list", _name, _fact, _base, list_with_attempts=_tell, hides=_UNGRANTED)
for _status in (400, 403, 404, 415, 422, 409, 408, 503):
    declare_variant(
        "attempts in the list", f"ListsKeysThatWereRefusedWith{_status}",
        f"EMAIL keys get {_status} and are listed as failed.", ListsAttempts,
        list_with_attempts=_with_a_status("OK", "FAILED"), hides=_UNGRANTED, STATUS=_status,
    )  # fmt: skip


def remove_first_keys(service):
    """Remove the keys that the first account of a service has from the start."""
    with service.database.transaction() as ledger:
        for key in ledger.keys("ac-0001"):
            ledger.remove_key(key)


class EveryKeyWaits(ListsAttempts):
    """The sandbox, which refuses every key because it must be confirmed first. A deletion takes the attempt back."""

    REFUSED = KEY_TYPES
    STATUS = 403

    def __init__(self):
        super().__init__()
        remove_first_keys(self)

    def delete_pix_key(self, request, account_id):
        """Delete an attempt, or else a registered key."""
        key = str(self.read_json(request, "deletePixKey").get("pixKey"))
        was_attempted = key in self.attempts
        if was_attempted:
            del self.attempts[key]
            return {"message": "The request is withdrawn."}
        return super().delete_pix_key(request, account_id)


for _name, _mark in {
    "Word": {"status": "WAITING"}, "Number": {"state": 0}, "Flag": {"active": False}, "Null": {"since": None},
    "Name": {"pendingSince": "2026-11-21T10:00:00Z"}, "Text": {"note": "awaiting the owner"},
}.items():  # fmt: skip
    declare_variant(
        "every key waits", f"EveryKeyWaitsWithA{_name}", f"No key is accepted, and each is listed with a mark ({_name}).",
        EveryKeyWaits, hides=_NOTHING_GRANTED, list_with_attempts=lambda self, listed, mark=_mark: {"keys": self.items_for_attempts(**mark)},
    )  # fmt: skip
declare_variant(
    "every key waits", "EveryKeyWaitsInAListOfItsOwn", "No key is accepted, and each stands among those that wait.",
    EveryKeyWaits, hides=_NOTHING_GRANTED, list_with_attempts=lambda self, listed: {"keys": [], "pending": self.items_for_attempts()},
)  # fmt: skip


class SomebodyElse(RefusesDuplicates):
    """The sandbox, where somebody else registers the same EMAIL key at the account just before the suite does, once."""

    STATUS = 422
    somebody_has_registered = False

    def register(self, ledger, account_id, key_type, value):
        """Register a key. The first EMAIL key is registered by somebody else before, so it is a duplicate."""
        if key_type == "EMAIL" and not self.somebody_has_registered:
            self.somebody_has_registered = True
            ledger.add_key(Key(value, key_type, account_id))
        return super().register(ledger, account_id, key_type, value)


for _status in (400, 422, 409):
    declare_variant(
        "somebody else", f"SomebodyElseRegistersTheKeyAndItGets{_status}",
        f"Somebody else registers the key just before; a registered key gets {_status}.", SomebodyElse, STATUS=_status,
        hides=_UNGRANTED,
    )  # fmt: skip


@variant("made keys")
class OthersHaveRandomKeysMade(RemembersThePast):
    """Somebody else has a RANDOM key made for the account whenever the suite does.

    `past` has the keys of somebody else. The run must not delete them.
    """

    def register(self, ledger, account_id, key_type, value):
        """Register a key. If it is a RANDOM key that the service makes, register another one for somebody else first."""
        if key_type == "RANDOM" and not value:
            key_of_somebody_else = str(uuid.uuid4())
            self.past.append(key_of_somebody_else)
            ledger.add_key(Key(key_of_somebody_else, key_type, account_id))
        return super().register(ledger, account_id, key_type, value)


class ListsLag(RemembersThePast):
    """The sandbox, whose list of keys is an older one: with BEHIND = 1 that of the request for a list before."""

    BEHIND = 1

    def list_pix_keys(self, request, account_id):
        """The list of keys as it was BEHIND requests for a list before, or as it was at the first of them."""
        self.past.append(super().list_pix_keys(request, account_id))
        number_of_shown_list = max(0, len(self.past) - 1 - self.BEHIND)
        return self.past[number_of_shown_list]


@variant("list")
class ListsWhatWasRefused(RemembersThePast):
    """The list shows the keys that were refused, too, with a status that says so."""

    def register_pix_key(self, request, account_id):
        """Register a key. If it is refused, note it for the list."""
        try:
            return super().register_pix_key(request, account_id)
        except Refusal:
            refused_key = self.read_json(request, "registerPixKey") | {"status": "REFUSED"}
            self.past.append(refused_key)
            raise

    def list_pix_keys(self, request, account_id):
        """The registered keys with the status ACTIVE, and then the refused ones."""
        keys = super().list_pix_keys(request, account_id)["keys"]
        active_keys = [key | {"status": "ACTIVE"} for key in keys]
        return {"keys": active_keys + self.past}


@variant("made keys")
class IdsVaryInTheList(Service):
    """Each list has new identifiers (UUIDs), in its keys and beside them. None of them is a RANDOM key."""

    def list_pix_keys(self, request, account_id):
        """The list of keys with a new id for each key, a new id of the request, and a revision of the list."""
        listed = super().list_pix_keys(request, account_id)
        keys = [key | {"id": str(uuid.uuid4())} for key in listed["keys"]]
        return {"request": str(uuid.uuid4()), "keys": keys, "revision": self.revision(len(keys))}

    def revision(self, number_of_keys):
        """A UUID that changes only if the number of keys in the list changes."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number_of_keys)))


for _behind in (1, 2, 5):
    declare_variant("made keys", f"ListsLagBy{_behind}", f"The list is {_behind} behind.", ListsLag, BEHIND=_behind)
