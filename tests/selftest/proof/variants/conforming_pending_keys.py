"""Keys that are registered or deleted later than the answer says, and answers that a deletion may get."""

from environments.sandbox import Key, Refusal, Service
from environments.sandbox.service import Registration
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    ForgetsKeys,
    RefusesDifferently,
    RemembersThePast,
    declined_registration,
    empty_answer,
    json_answer,
)
from tests.selftest.proof.variants.conforming_scopes import DELETION

DELETED = {
    "Nothing": {},
    "Null": {"result": None},
    "Much": {"deleted": True, "at": 1_767_312_000, "keys": [], "links": {"self": "/v1/pix/keys"}},
    "LikeARegistration": {"Success": "true", "Message": "deleted", "Key": None, "DocumentNumber": 7},
    "LikeADecline": declined_registration("will be deleted", 7),
    "LikeAnExecution": {"id": "1", "status": "DONE", "error": None},
}


class Deletes(Service):
    """The sandbox, whose answer to a deletion has ANSWER as its data."""

    ANSWER = {}
    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def delete_pix_key(self, request, account_id):
        super().delete_pix_key(request, account_id)
        return self.ANSWER


for _name, _data in DELETED.items():
    declare_variant(
        "deletion", f"DeletionAnswers{_name}", f"The data of a deletion holds {_name}.", Deletes, ANSWER=_data
    )


class NoSuchKey(RefusesDifferently):
    """The sandbox, which refuses the deletion of an unknown key in another way."""

    def is_affected(self, refusal):
        """True of the refusal of an unknown key."""
        return refusal.error == "The account has no such key."


for _status in (400, 403, 409, 410, 422):
    declare_variant(
        "deletion", f"UnknownKeysGet{_status}", f"The deletion of an unknown key gets {_status}.", NoSuchKey,
        answer_to_refusal=lambda self, refusal, _status=_status: json_answer(_status, {"error": refusal.error}),
    )  # fmt: skip
declare_variant(
    "deletion", "UnknownKeysAreACodeIn200", "The deletion of an unknown key is a 200 with code 12.", NoSuchKey,
    answer_to_refusal=lambda self, refusal: json_answer(200, {"code": 12, "data": None}),
)  # fmt: skip


@variant("deletion")
class DeletesWhatIsNotThere(Service):
    """The deletion of a key that is not there is a success, too."""

    def remove(self, ledger, account_id, value):
        """Delete a key if the account has it. No error is raised if it has not, so the answer is a success."""
        key = ledger.key(value)
        if key is not None and key.account == account_id:
            ledger.remove_key(key)


@variant("pending")
class KeysAppearLater(RemembersThePast):
    """A registration is carried out some time after its answer, so the first deletion of the key does not find it.

    `past` has the keys that no deletion has named yet.
    """

    def register(self, ledger, account_id, key_type, value):
        """Register a key, and note it, so that its first deletion does not find it."""
        registration = super().register(ledger, account_id, key_type, value)
        if registration.accepted:
            self.past.append(registration.key.key)
        return registration

    def remove(self, ledger, account_id, value):
        """Delete a key. Raises Refusal for its first deletion."""
        if value in self.past:
            self.past.remove(value)
            raise Refusal(404, "The account has no such key.")
        super().remove(ledger, account_id, value)


@variant("pending", hides=(*DELETION, "deletePixKey.exists", "executePix.token.scheme"))
class KeysAppearInAMinute(RemembersThePast, RefusesDifferently):
    """A registration is carried out a minute after its answer. Until then its key is refused like any unknown path.

    Each refusal is a 404 without a body. `past` has the keys that were sent.
    """

    def register(self, ledger, account_id, key_type, value):
        """A registration that is accepted, and whose key is not kept. Raises Refusal if the key was sent before."""
        if value in self.past:
            raise Refusal(404, "")
        self.past.append(value)
        is_made_by_service = not value
        key = Key(value or self.new_key(), key_type, account_id)
        return Registration(len(self.past), key, is_made_by_service, True)

    def answer_to_refusal(self, refusal):
        return empty_answer(404)


@variant("pending", hides=DELETION)
class KeysAppearInAMinuteAndDeletionsGetNoSuchPath(KeysAppearInAMinute):
    """A registration is carried out a minute after its answer. Until then a deletion is refused like an unknown path."""

    def is_affected(self, refusal):
        return False

    def remove(self, ledger, account_id, value):
        """Refuse every deletion with the text that an unknown path gets."""
        raise Refusal(404, "There is no such path.")


@variant("pending")
class KeysGoLater(RemembersThePast):
    """A deleted key stays registered until the next registration. `past` has the keys that are still to be deleted."""

    def remove(self, ledger, account_id, value):
        """Note a key that is to be deleted later. Raises Refusal if the account has not the key."""
        key = ledger.key(value)
        if key is None or key.account != account_id:
            raise Refusal(404, "The account has no such key.")
        self.past.append(value)

    def register(self, ledger, account_id, key_type, value):
        """Register a key, and then delete the keys that are still to be deleted."""
        registration = super().register(ledger, account_id, key_type, value)
        for deleted_value in self.past:
            key = ledger.key(deleted_value)
            if key is not None:
                ledger.remove_key(key)
        self.past.clear()
        return registration


@variant("pending")
class RegistersNothingAtOnce(ForgetsKeys):
    """Every well-formed registration and deletion succeeds by its answer, and none is carried out while the run lasts."""

    def remove(self, ledger, account_id, value):
        """Do nothing. The answer to the deletion is a success."""


@variant("pending", hides=("deletePixKey.[!ers]*", "deletePixKey.envelope.*", "deletePixKey.status"))
class KeysCannotBeDeletedYet(Service):
    """A key is deleted after a day at the earliest: 409."""

    def remove(self, ledger, account_id, value):
        raise Refusal(409, "The key is too young.")


@variant("pending")
class OneDeletionInTwoIsRefused(Service):
    """The first, the third, the fifth deletion and so on are refused with 423, as if the account were locked."""

    number_of_deletions = 0

    def remove(self, ledger, account_id, value):
        """Delete a key. Raises Refusal for every second deletion, beginning with the first."""
        self.number_of_deletions += 1
        if self.number_of_deletions % 2 == 1:
            raise Refusal(423, "The account is locked.")
        super().remove(ledger, account_id, value)
