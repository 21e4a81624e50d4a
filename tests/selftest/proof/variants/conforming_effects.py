"""Lists that show more than registered keys: a refusal whose key stands there had no effect for all that is known."""

import uuid

from environments.sandbox import Key, Refusal, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import RemembersThePast
from tests.selftest.proof.variants.conforming_registrations import RefusesDuplicates

_UNGRANTED = ("registerPixKey.pixKeyType.*", "registerPixKey.Key.example")
_NOTHING_GRANTED = ("registerPixKey.*", "deletePixKey.*")


class ListsAttempts(Service):
    """The sandbox, which refuses keys of the types in `REFUSED`, and lists them beside the registered ones as `tell` says."""

    REFUSED = ("EMAIL",)
    STATUS = 422

    def __init__(self):
        super().__init__()
        self.attempts = {}

    def register_pix_key(self, request, account_id):
        body = self.read_json(request, "registerPixKey")
        kind, key = str(body.get("pixKeyType")), body.get("pixKey")
        if kind in self.REFUSED and isinstance(key, str):
            self.attempts[key] = kind
            raise Refusal(self.STATUS, "The key waits to be confirmed.")
        return super().register_pix_key(request, account_id)

    def list_pix_keys(self, request, account_id):
        return self.tell(super().list_pix_keys(request, account_id))

    def attempted(self, **mark):
        """The keys that were refused, as they stand in the list."""
        return [{"pixKey": key, "pixKeyType": kind, **mark} for key, kind in self.attempts.items()]


def _with_a_status(registered, attempted):
    def tell(self, listed):
        return {"keys": [key | {"status": registered} for key in listed["keys"]] + self.attempted(status=attempted)}

    return tell


class ListsRequests(ListsAttempts):
    """The sandbox, which refuses keys of the types in `REFUSED`, and lists every request for a key beside its keys."""

    def register_pix_key(self, request, account_id):
        body = self.read_json(request, "registerPixKey")
        kind, key = body.get("pixKeyType"), body.get("pixKey")
        if isinstance(kind, str) and kind in self.KEY_FORMATS and isinstance(key, str):
            self.attempts.pop(key, None)
            self.attempts[key] = str(kind)
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
        lambda self, listed: {**listed, "attempts": self.attempted()},
    ),
    "ListsAttemptsByStatus": (
        "The list is one of statuses, each with its keys.", ListsAttempts,
        lambda self, listed: {"groups": [
            {"status": "ACTIVE", "keys": listed["keys"]}, {"status": "PENDING", "keys": self.attempted()},
        ]},
    ),
    "NamesTheLastKeyInItsList": (
        "The list names the key that was sent last.", ListsAttempts,
        lambda self, listed: {**listed, "last": {"pixKey": next(reversed(self.attempts), None)}},
    ),
    "ListsAttemptsWithTheirReason": (
        "A key that was refused stands in the list with a reason.", ListsAttempts,
        lambda self, listed: {"keys": listed["keys"] + self.attempted(reason="waits")},
    ),
    "ListsEveryRequestWithItsStatus": (
        "The list is a history of all requests for keys, each with what became of it.", ListsAttempts,
        _with_a_status("DONE", "REFUSED"),
    ),
    "ListsEveryRequestBesideItsKeys": (
        "A history of all requests stands beside the keys.", ListsRequests,
        lambda self, listed: {**listed, "asked": self.attempted()},
    ),
    "NamesTheLastRequestBesideItsKeys": (
        "The list names the key of the last request.", ListsRequests,
        lambda self, listed: {**listed, "last": next(reversed(self.attempts), None)},
    ),
}  # fmt: skip
for _name, (_fact, _base, _tell) in ATTEMPTS.items():
    declare_variant("attempts in the list", _name, _fact, _base, tell=_tell, hides=_UNGRANTED)
for _status in (400, 403, 404, 415, 422, 409, 408, 503):
    declare_variant(
        "attempts in the list", f"ListsKeysThatWereRefusedWith{_status}",
        f"EMAIL keys get {_status} and are listed as failed.", ListsAttempts,
        tell=_with_a_status("OK", "FAILED"), hides=_UNGRANTED, STATUS=_status,
    )  # fmt: skip


def without_keys(service):
    """Take the keys away that the first account has from the start."""
    with service.database.transaction() as ledger:
        for key in ledger.keys("ac-0001"):
            ledger.remove_key(key)


class EveryKeyWaits(ListsAttempts):
    """An account without a key, in which every key waits to be confirmed and can be withdrawn."""

    REFUSED, STATUS = KEY_TYPES, 403

    def __init__(self):
        super().__init__()
        without_keys(self)

    def delete_pix_key(self, request, account_id):
        if self.attempts.pop(str(self.read_json(request, "deletePixKey").get("pixKey")), None):
            return {"message": "The request is withdrawn."}
        return super().delete_pix_key(request, account_id)


for _name, _mark in {
    "Word": {"status": "WAITING"}, "Number": {"state": 0}, "Flag": {"active": False}, "Null": {"since": None},
    "Name": {"pendingSince": "2026-11-21T10:00:00Z"}, "Text": {"note": "awaiting the owner"},
}.items():  # fmt: skip
    declare_variant(
        "every key waits", f"EveryKeyWaitsWithA{_name}", f"No key is accepted, and each is listed with a mark ({_name}).",
        EveryKeyWaits, hides=_NOTHING_GRANTED, tell=lambda self, listed, mark=_mark: {"keys": self.attempted(**mark)},
    )  # fmt: skip
declare_variant(
    "every key waits", "EveryKeyWaitsInAListOfItsOwn", "No key is accepted, and each stands among those that wait.",
    EveryKeyWaits, hides=_NOTHING_GRANTED, tell=lambda self, listed: {"keys": [], "pending": self.attempted()},
)  # fmt: skip


class SomebodyElse(RefusesDuplicates):
    """The sandbox, where somebody else registers a key of the account just before the suite does, once."""

    STATUS, left = 422, 1

    def register(self, ledger, account_id, kind, value):
        if kind == "EMAIL" and self.left:
            self.left -= 1
            ledger.add_key(Key(value, kind, account_id))
        return super().register(ledger, account_id, kind, value)


for _status in (400, 422, 409):
    declare_variant(
        "somebody else", f"SomebodyElseRegistersTheKeyAndItGets{_status}",
        f"Somebody else registers the key just before; a registered key gets {_status}.", SomebodyElse, STATUS=_status,
        hides=_UNGRANTED,
    )  # fmt: skip


@variant("made keys")
class OthersHaveRandomKeysMade(RemembersThePast):
    """Somebody else has a RANDOM key made for the account whenever the suite does.

    `past` are theirs; the test of the keys that are left looks whether they are still there.
    """

    def register(self, ledger, account_id, kind, value):
        if kind == "RANDOM" and not value:
            self.past.append(str(uuid.uuid4()))
            ledger.add_key(Key(self.past[-1], kind, account_id))
        return super().register(ledger, account_id, kind, value)


class ListsLag(RemembersThePast):
    """The sandbox, whose list is as it was before the last `BEHIND` requests for it."""

    BEHIND = 1

    def list_pix_keys(self, request, account_id):
        self.past.append(super().list_pix_keys(request, account_id))
        return self.past[max(0, len(self.past) - 1 - self.BEHIND)]


@variant("list")
class ListsWhatWasRefused(RemembersThePast):
    """The list shows the keys that were refused, too, with a status that says so."""

    def register_pix_key(self, request, account_id):
        try:
            return super().register_pix_key(request, account_id)
        except Refusal:
            self.past += [self.read_json(request, "registerPixKey") | {"status": "REFUSED"}]
            raise

    def list_pix_keys(self, request, account_id):
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": [*(key | {"status": "ACTIVE"} for key in keys), *self.past]}


@variant("made keys")
class IdsVaryInTheList(Service):
    """The list carries identifiers that are others each time, in its keys and beside them."""

    def list_pix_keys(self, request, account_id):
        listed = super().list_pix_keys(request, account_id)
        keys = [key | {"id": str(uuid.uuid4())} for key in listed["keys"]]
        return {"request": str(uuid.uuid4()), "keys": keys, "revision": self.revision(len(keys))}

    def revision(self, count):
        """A UUID that changes with the list."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(count)))


for _behind in (1, 2, 5):
    declare_variant("made keys", f"ListsLagBy{_behind}", f"The list is {_behind} behind.", ListsLag, BEHIND=_behind)
