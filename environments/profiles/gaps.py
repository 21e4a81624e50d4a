"""What a profile permits and does not supply: a run would not exercise it, and say so in these words."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from environments.profiles.profile import Profile

NO_ACCOUNT = "no account: supply accounts"
NOTHING_TO_REGISTER = "nothing to register: supply {}"
NO_REGISTRATION = "only a key that the run registered is deleted: add register-keys to allow"
NO_DELETION = "no body for a deletion: supply requests.deletePixKey"
NO_CODE = "no transaction code: supply transactions.codes or transactions.prepare"
SENT_BEFORE = "every transaction code was sent by an earlier run: prepare new ones"


def gaps(profile: Profile, sent_before: Collection[str] = ()) -> Iterator[str]:
    """Each reason for which a run of everything would be incomplete. `sent_before` are the codes that the journal keeps
    from being sent."""
    allowed = profile.allow
    if not profile.accounts and allowed & {"read", "register-keys", "delete-keys"}:
        yield NO_ACCOUNT
    if not profile.pix_keys and "register-keys" in allowed:
        yield NOTHING_TO_REGISTER.format("pix_keys")
    if "delete-keys" in allowed and "register-keys" not in allowed:
        yield NO_REGISTRATION
    if "delete-keys" in allowed and not deletes_keys(profile):
        yield NO_DELETION
    codes = profile.transactions.codes
    if "execute" in allowed and not profile.transactions.prepare and not set(codes) - set(sent_before):
        yield SENT_BEFORE if codes else NO_CODE


def deletes_keys(profile: Profile) -> bool:
    """True if the profile says how a key is deleted, and permits it."""
    return "delete-keys" in profile.allow and "deletePixKey" in profile.requests
