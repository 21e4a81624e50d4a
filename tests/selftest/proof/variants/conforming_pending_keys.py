"""Keys that come and go later than the answer says, and what a deletion may answer."""

from environments.sandbox import Key, Refusal, Service
from environments.sandbox.service import Registration
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    ForgetsKeys,
    RefusesDifferently,
    RemembersThePast,
    RewritesAnswers,
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
    """The sandbox with another answer to a deletion."""

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
    """The sandbox with another refusal of a key that is not there."""

    def refuses_so(self, refusal):
        return refusal.error == "The account has no such key."


for _status in (400, 403, 409, 410, 422):
    declare_variant(
        "deletion", f"UnknownKeysGet{_status}", f"The deletion of an unknown key gets {_status}.", NoSuchKey,
        say_no=lambda self, refusal, _status=_status: json_answer(_status, {"error": refusal.error}),
    )  # fmt: skip
declare_variant(
    "deletion", "UnknownKeysAreACodeIn200", "The deletion of an unknown key is a 200 with code 12.", NoSuchKey,
    say_no=lambda self, refusal: json_answer(200, {"code": 12, "data": None}),
)  # fmt: skip


@variant("deletion")
class DeletesWhatIsNotThere(Service):
    """The deletion of a key that is not there is a success, too."""

    def remove(self, ledger, account_id, value):
        key = ledger.key(value)
        if key is not None and key.account == account_id:
            ledger.remove_key(key)


@variant("pending")
class KeysAppearLater(RemembersThePast):
    """A registration is received at once and done later: a deletion right after it is refused once."""

    def register(self, ledger, account_id, kind, value):
        registration = super().register(ledger, account_id, kind, value)
        if registration.accepted:
            self.past.append(registration.key.key)
        return registration

    def remove(self, ledger, account_id, value):
        if value in self.past:
            self.past.remove(value)
            raise Refusal(404, "The account has no such key.")
        super().remove(ledger, account_id, value)


@variant("pending", hides=(*DELETION, "deletePixKey.exists", "executePix.token.scheme"))
class KeysAppearInAMinute(RemembersThePast, RefusesDifferently):
    """A registration is done a minute later, and until then its key is as unknown as every other path: a bare 404."""

    def register(self, ledger, account_id, kind, value):
        if value in self.past:
            raise Refusal(404, "")
        self.past.append(value)
        return Registration(len(self.past), Key(value or self.new_key(), kind, account_id), not value, True)

    def say_no(self, refusal):
        return empty_answer(404)


@variant("pending", hides=DELETION)
class KeysAppearInAMinuteAndDeletionsGetNoSuchPath(KeysAppearInAMinute):
    """A registration is done a minute later, and until then a deletion is refused like an unknown path."""

    def refuses_so(self, refusal):
        return False

    def remove(self, ledger, account_id, value):
        raise Refusal(404, "There is no such path.")


@variant("pending")
class KeysGoLater(RemembersThePast):
    """A deleted key stays registered until the next request for a key has been answered."""

    def remove(self, ledger, account_id, value):
        key = ledger.key(value)
        if key is None or key.account != account_id:
            raise Refusal(404, "The account has no such key.")
        self.past.append(value)

    def register(self, ledger, account_id, kind, value):
        registration = super().register(ledger, account_id, kind, value)
        for key in [ledger.key(going) for going in self.past]:
            if key is not None:
                ledger.remove_key(key)
        self.past.clear()
        return registration


@variant("pending")
class RegistersNothingAtOnce(ForgetsKeys):
    """Every well-formed registration is received, and none is done while the run lasts."""

    def remove(self, ledger, account_id, value):
        """A request to delete is received, too."""


@variant("pending", hides=("deletePixKey.[!ers]*", "deletePixKey.envelope.*", "deletePixKey.status"))
class KeysCannotBeDeletedYet(Service):
    """A key is deleted after a day at the earliest: 409."""

    def remove(self, ledger, account_id, value):
        raise Refusal(409, "The key is too young.")


@variant("pending")
class OneDeletionInTwoIsRefused(RewritesAnswers):
    """Every second deletion is refused with 423, as the account is locked for a moment."""

    OPERATIONS = ("deletePixKey",)

    deletions = 0

    def remove(self, ledger, account_id, value):
        self.deletions += 1
        if self.deletions % 2:
            raise Refusal(423, "The account is locked.")
        super().remove(ledger, account_id, value)

    def changed(self, request, response):
        return response
