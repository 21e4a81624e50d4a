"""Accounts and keys that a request to a real service may name: no account and no key of a stranger.

| permitted | meaning |
|---|---|
| of the profile | the accounts and keys in the settings of a run |
| synthetic | made up by the suite, such as `pixconf-1a2b3c4d` (SYNTHETIC_PREFIX): nobody has it |
| keys of runs | registered by this run or an earlier one |

The door asks `Identifiers.check` before it sends a request, so that requests drawn at random are checked as well.
Nothing is checked on a sandbox (a test system without anybody's keys). Also refused are malformed registrations and
deletions at an account of the profile. Examples are a DELETE with an empty key, which a service may take for a deletion
of all keys, and a registration of a key with control characters, which nobody can name in a deletion afterwards.
Source: a rule of the suite; the interface document does not show which accounts and keys a service accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any
from urllib.parse import quote

from environments.door.bodies import NumberText, bodies_of_the_profile, key_and_type_in, leaves_in
from environments.door.key_states import is_unambiguous
from environments.door.outgoing import Sending
from environments.door.permission import ForbiddenError
from environments.door.run_keys import Keys
from environments.profiles.model import PixKey, Profile, filled_in
from spec.exchange import FILE_EXTENSION
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations, path_parameters_reached
from spec.json_text import JsonPath, as_bytes

_REGISTER = "registerPixKey"
_OPERATIONS_THAT_CHANGE_KEYS = (_REGISTER, "deletePixKey")
_MEMBERS_WITHOUT_IDENTIFIERS = frozenset({"date", "pixKeyType", "description", "message"})
"""Names of members in a body whose value is never an account or a key, so any value is permitted there."""
_MEMBER_WITH_AMOUNT = "value"
"""Name of the member whose number is an amount, which is checked in amounts.py. A text in this member is checked here,
because a service may take it for the value of a key."""
_KEY_TYPES_MADE_BY_THE_SERVICE = ("RANDOM", "EVP")
"""Key types whose empty key asks the service to make one. EVP is the name of the Central Bank for RANDOM."""
_SYNTHETIC_IDENTIFIER = re.compile(rb"%b[\w-]*" % SYNTHETIC_PREFIX.encode())
"""A synthetic identifier: the mark, and all letters, digits, _ and - that follow it."""
_MAY_BE_AN_IDENTIFIER = re.compile(rb"[\d@]")
"""What a body that is not JSON must not have. Amounts, phone numbers, CPFs, CNPJs and practically all UUIDs have a
digit, and an e-mail address has an @. So a text with neither of them holds no amount and no key."""
_RANDOM_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
"""A UUID of version 4, which is random (RFC 9562 section 5.4)."""
Leaf = tuple[JsonPath, Any]
"""The path of a text, number, boolean or null in a body, and its value."""


class Identifiers:
    """The accounts and keys that requests may name, so that nobody else's account or key is touched.

    Permitted are the accounts and keys of the profile (the settings of a run), accounts and keys that the suite made
    up, and keys that runs registered (`keys` knows these keys).
    """

    def __init__(self, profile: Profile, keys: Keys) -> None:
        """Collect the accounts, keys and other texts that the profile (the settings of the run) has."""
        self._profile = profile
        self._keys = keys
        self._profile_keys = frozenset(key.key for key in profile.pix_keys if key.key)
        readings: set[str] = set()
        for account in profile.accounts:
            readings |= _possible_readings_of_account(account)
        self._accounts_of_profile_in_paths = frozenset(readings)
        self._texts_of_profile = self._find_texts_of_profile()

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for a request that may touch an account or a key of somebody else.

        Permitted are accounts and keys of the profile (the settings of the run), those that the suite made up, and keys
        that runs registered. Any other account or key is called foreign here.

        | request | is refused because of |
        |---|---|
        | any | a foreign account in the path |
        | registers or deletes a key, or prepares a transfer | a foreign account or key in the body |
        | registers or deletes a key at an account of the profile | a malformed body, see `_refuse_malformed` |

        The last row is there because a service may take a malformed body for a deletion of all keys.
        """
        accounts_in_path = self._accounts_in_path(sending)
        accounts_of_profile_in_path = accounts_in_path & self._accounts_of_profile_in_paths
        for account in accounts_in_path - accounts_of_profile_in_path:
            is_synthetic = SYNTHETIC_PREFIX in account
            if not is_synthetic:
                raise ForbiddenError("an account in the path that is neither of the profile nor synthetic")
        # A server may read several operations from an unusual path, such as one with two slashes.
        changing_operations = sending.reachable_operations.intersection(
            (*_OPERATIONS_THAT_CHANGE_KEYS, *PREPARING_OPERATIONS)
        )
        if not changing_operations:
            return
        leaves = leaves_in(sending.plain_request.body)
        if leaves is None:
            _refuse_unreadable(sending.plain_request.body)
            leaves = []  # no JSON, so it has no values that could be looked at one by one
        self._refuse_identifiers_of_others(sending, leaves)
        body_names_account = any(leaf in self._profile.accounts for _, leaf in leaves)
        names_account_of_profile = bool(accounts_of_profile_in_path) or body_names_account
        changes_keys = bool(changing_operations.intersection(_OPERATIONS_THAT_CHANGE_KEYS))
        if names_account_of_profile and changes_keys:
            self._refuse_malformed(sending, leaves)

    def _find_texts_of_profile(self) -> frozenset[str]:
        """Every text and number that a body may have because the profile (the settings of the run) has it.

        The profile has them in its accounts, its keys, and its request bodies with each key filled in. The documented
        key types, such as EMAIL, are added, because every registration has one.
        """
        texts = {*self._profile_keys, *self._profile.accounts, *KEY_TYPES}
        # Some bodies are sent without a key: malformed registrations, and those that ask the service to make a key. The
        # type is empty if the registration names a type that the interface document does not have.
        empty_keys = [PixKey(key_type, "") for key_type in ("", *KEY_TYPES)]
        for key in (*self._profile.pix_keys, *empty_keys):
            texts |= self._texts_of_bodies_with_key(key)
        return frozenset(texts)

    # -- what a request names ---------------------------------------------------------------------------------

    def _accounts_in_path(self, sending: Sending) -> set[str]:
        """Every text that a server may read as an account in the path of the request.

        An unusual path, such as one with an encoded letter, may be read in several ways.
        """
        accounts: set[str] = set()
        for name in sending.reachable_operations:
            if operations()[name].path_parameter == "accountId":
                accounts |= path_parameters_reached(name, sending.path)
        return accounts

    def _refuse_identifiers_of_others(self, sending: Sending, leaves: Iterable[Leaf]) -> None:
        """Raises ForbiddenError if the body may name an account or a key of somebody else.

        `leaves` are the values in the body (texts, numbers, booleans, null) with their paths. A random UUID in a
        registration is permitted: nobody else can have that key.
        """
        new_key = _new_uuid_in(sending)
        for path, leaf in leaves:
            is_new_key = leaf is not None and leaf == new_key
            if not is_new_key and not self._is_permitted(path, leaf):
                raise ForbiddenError("an account or a key in the body that is neither of the profile nor synthetic")

    def _is_permitted(self, path: JsonPath, leaf: Any) -> bool:
        """True if this value in a body cannot be the account or key of somebody else.

        `leaf` is a text, a number, a boolean or null. `path` leads to it, such as `("to", "account")`. Permitted are:

        - a value that is no account or key at all
        - a value that the suite made up, or that the profile (the settings of the run) has
        - a key that a run registered
        """
        if not isinstance(leaf, str):  # a boolean or null: numbers are texts here, too (NumberText)
            return True
        # A member with a made-up name is not documented, so no service reads an account or a key from it.
        member_is_made_up = any(SYNTHETIC_PREFIX in str(name) for name in path)
        member_has_no_identifier = any(name in _MEMBERS_WITHOUT_IDENTIFIERS for name in path)
        if member_is_made_up or member_has_no_identifier:
            return True
        is_synthetic = SYNTHETIC_PREFIX in leaf
        # A text without any letter or digit, such as "" or "--", names nobody.
        has_letter_or_digit = any(character.isalnum() for character in leaf)
        if is_synthetic or not has_letter_or_digit or leaf in self._texts_of_profile:
            return True
        if isinstance(leaf, NumberText):
            return _is_permitted_number(path, float(leaf))
        # The key itself, or a text of the profile into which the key was filled, such as `+55{key}`.
        return any(leaf in self._texts_of_bodies_with_key(key) for key in self._keys.keys_of_runs())

    def _texts_of_bodies_with_key(self, key: PixKey) -> set[str]:
        """Every text and number in the request bodies of the profile (the settings of the run) for this key.

        The bodies are templates with `{account}`, `{key}` and `{type}`, which are filled in here, with each account of
        the profile. A template may put text around the key, such as `+55{key}`, so that the result has the whole text.
        """
        texts = {key.key}
        accounts = self._profile.accounts or ("",)
        for _, template in bodies_of_the_profile(self._profile):
            for account in accounts:
                body = filled_in(template, account=account, key=key.key, type=key.type)
                texts |= _texts_in(body)
        return texts

    # -- malformed registrations and deletions ----------------------------------------------------------------

    def _refuse_malformed(self, sending: Sending, leaves: Iterable[Leaf]) -> None:
        """Raises ForbiddenError for a malformed registration or deletion of a key at an account of the profile.

        The profile is the settings of the run. The effect of such a request could not be known or undone:

        - A service may take a deletion without a key for a deletion of all keys.
        - A service may register a key that no list shows and no deletion can name.
        - If the Content-Type of a deletion is not JSON, the service may not read its body, and so find no key in it.

        `leaves` are the values in the body with their paths. Three kinds of bodies are not malformed:

        - A body with keys, each of which can be named in a deletion.
        - A registration that asks the service to make a key.
        - The deletion body of the profile, even if it has no key.
        """
        keys = list(self._possible_keys_in(sending, leaves))
        can_be_deleted = bool(keys) and all(self._names_no_other_key(key) for key in keys)
        # If the service does not read the body, a registration has no effect, but a deletion may delete all keys.
        is_only_a_registration = sending.reachable_operations == {_REGISTER}
        is_harmless_if_not_read = is_only_a_registration or _is_sent_as_json(sending)
        is_well_formed = is_harmless_if_not_read and can_be_deleted
        if is_well_formed or _asks_for_a_new_key(sending) or self._is_deletion_without_a_key(sending):
            return
        raise ForbiddenError("a malformed registration or deletion to an account of the profile")

    def _possible_keys_in(self, sending: Sending, leaves: Iterable[Leaf]) -> Iterator[str]:
        """The texts of a registration or deletion body that may be a PIX key.

        Key types (such as EMAIL) and accounts are no keys. The profile (the settings of the run) may have a body for
        deletions with further texts, such as `{"reason": "test", "pixKey": "{key}"}`; these are no keys either.
        """
        no_keys = {*KEY_TYPES, *self._profile.accounts}
        template = self._profile.requests.get("deletePixKey")
        if template and "deletePixKey" in sending.reachable_operations:
            body_without_key = filled_in(template.json, account="", key="", type="")
            no_keys |= _texts_in(body_without_key)
        no_keys -= self._profile_keys  # a CPF may be a key and also the number of an account
        for path, leaf in leaves:
            if not isinstance(leaf, str) or leaf in no_keys:
                continue
            # A number is a key only if the profile has it, as a CPF may be: other numbers are amounts or the like.
            is_other_number = isinstance(leaf, NumberText) and leaf not in self._texts_of_profile
            member_may_hold_a_key = (_MEMBERS_WITHOUT_IDENTIFIERS | {"account"}).isdisjoint(path)
            if member_may_hold_a_key and not is_other_number:
                yield leaf

    def _names_no_other_key(self, key: str) -> bool:
        """True if a deletion that names this key cannot make the service delete another key.

        A key without characters, or with unusual characters, may be read as another key. So may the bare prefix of the
        keys that the suite makes up, `pixconf-` (SYNTHETIC_PREFIX). The bare prefix is permitted only if a run
        registered a key with just this value, which happens if a service cuts a longer key.
        """
        if not is_unambiguous(key):
            return False
        has_more_than_the_mark = is_unambiguous(key.removeprefix(SYNTHETIC_PREFIX))
        return has_more_than_the_mark or any(run_key.key == key for run_key in self._keys.keys_of_runs())

    def _is_deletion_without_a_key(self, sending: Sending) -> bool:
        """True if the request has the deletion body of the profile (the settings of the run), and this body has no key.

        Some services have one key for each account, so a deletion need not name it. Such a body is permitted, because
        the user has written it. A request that was drawn at random (by Hypothesis or Schemathesis) may have the same
        body by chance. It is not permitted, because the user did not ask for it.
        """
        template = self._profile.requests.get("deletePixKey")
        if template is None or "{key}" in str(template.json):
            return False
        if sending.intent.is_generated or not _is_sent_as_json(sending):
            return False
        return sending.plain_request.body in self._deletion_bodies_without_a_key(template.json)

    def _deletion_bodies_without_a_key(self, template: Any) -> Iterator[bytes]:
        """Each body that a run may make of this template for deletions: for each account and each type of a key.

        The accounts are those of the profile (the settings of the run). The type of a key is empty if the run
        registered it with a type that the interface document does not name.
        """
        for account, key_type in product(self._profile.accounts, ("", *KEY_TYPES)):
            yield as_bytes(filled_in(template, account=account, key="", type=key_type))


def _is_permitted_number(path: JsonPath, number: float) -> bool:
    """True if a number at this path of a body is an amount, or cannot be the account or key of anybody.

    Amounts are checked in amounts.py. 0 is no account or key. A negative number is no account, but a service may drop
    the minus sign of a key: `-11999990001` may be read as the phone number 11999990001. So a negative number is
    permitted only where no service looks for a key: in a member `account`, or as the whole body.
    """
    is_amount = _MEMBER_WITH_AMOUNT in path
    is_whole_body = not path
    holds_no_key = is_whole_body or "account" in path
    is_no_account_of_anybody = number < 0 and holds_no_key
    return is_amount or number == 0 or is_no_account_of_anybody


def _refuse_unreadable(body: bytes) -> None:
    """Raises ForbiddenError if a lenient service may find an account, a key or an amount in a body that is not JSON.

    It may find one if the body has a digit or an at sign, outside the identifiers that the suite made up.
    """
    body_without_made_up_identifiers = _SYNTHETIC_IDENTIFIER.sub(b"", body)
    if _MAY_BE_AN_IDENTIFIER.search(body_without_made_up_identifiers):
        raise ForbiddenError("a body that is no JSON, and that may hold an account, a key or an amount")


def _possible_readings_of_account(account: str) -> frozenset[str]:
    """Every text that a server may read as the account if the path has this account.

    The account `a;b` may be read as it is, or as `a` alone. A way to write the path adds `.json` to it.
    """
    operation = operations()["listPixKeys"]
    path = operation.path.replace("{accountId}", quote(account, safe=""))
    return path_parameters_reached(operation.id, path) | path_parameters_reached(operation.id, path + FILE_EXTENSION)


def _texts_in(body: Any) -> set[str]:
    """Every text and number in a request body, which is given as a JSON value. A number is a text, too (NumberText)."""
    leaves = leaves_in(as_bytes(body)) or []
    return {leaf for _, leaf in leaves if isinstance(leaf, str)}


def _is_sent_as_json(sending: Sending) -> bool:
    """True if the header Content-Type of the request says that its body is JSON."""
    content_type = str(sending.request.headers.get("Content-Type", ""))
    return content_type.startswith("application/json")


def _asks_for_a_new_key(sending: Sending) -> bool:
    """True if the request registers an empty key of the type RANDOM (or EVP), which asks the service to make the key.

    False for a request that was drawn at random (by Hypothesis or Schemathesis). There are many of them, and each would
    add a key to a real account. Perhaps nobody could delete these keys again.
    """
    is_generated = sending.intent.is_generated
    if is_generated or sending.reachable_operations != {_REGISTER}:
        return False
    key, key_type = key_and_type_in(sending.plain_request.body)
    return not key and key_type in _KEY_TYPES_MADE_BY_THE_SERVICE


def _new_uuid_in(sending: Sending) -> str | None:
    """The key in the body of a registration of type RANDOM (or EVP), if it is a random UUID; else None.

    Nobody else has such a key, so it may be registered. Other keys that are not in the settings of the run (the
    profile) must begin with `pixconf-`, by which everybody sees that the suite made them up.
    """
    key, key_type = key_and_type_in(sending.plain_request.body)
    is_registration = sending.reachable_operations == {_REGISTER} and key_type in _KEY_TYPES_MADE_BY_THE_SERVICE
    is_random_uuid = key is not None and _RANDOM_UUID.fullmatch(key) is not None
    if is_registration and is_random_uuid:
        return key
    return None
