"""Accounts and keys that a request may name off a sandbox: those of the profile, synthetic ones, and keys of runs.

A synthetic identifier is made up by the suite and is the account or key of nobody. It begins with SYNTHETIC_PREFIX
(`pixconf-`), by which it is known again. A key of runs was registered by this run or an earlier one.

The door asks `Identifiers.check` before it sends a request, so that generated requests are checked as well. A request
goes to no account of the profile if a service may take it for a deletion of all keys, or for the registration of a key
that nobody can delete again.
Source: a rule of the suite; the interface document does not show which accounts and keys a service accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, product
from typing import Any
from urllib.parse import quote

from environments.door.bodies import NumberText, bodies_of_the_profile, key_and_type_in, leaves_in
from environments.door.key_states import can_be_named
from environments.door.outgoing import Sending
from environments.door.permission import ForbiddenError
from environments.door.run_keys import Keys
from environments.profiles.model import PixKey, Profile, fill
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations, path_parameters_reached
from spec.json_text import JsonPath, as_bytes

_REGISTER = "registerPixKey"
_CHANGE_KEYS = (_REGISTER, "deletePixKey")
_MEMBERS_WITHOUT_IDENTIFIERS = frozenset({"date", "pixKeyType", "description", "message"})
"""Names of members in a body whose value is never an account or a key, so any value is permitted there."""
_AMOUNT = "value"
"""Name of the member whose number is an amount. A text there may be a key."""
_MADE_BY_THE_SERVICE = ("RANDOM", "EVP")
"""Key types whose empty key asks the service to make one. EVP is the name of the Central Bank for RANDOM."""
_SYNTHETIC = re.compile(rb"%b[\w-]*" % SYNTHETIC_PREFIX.encode())
"""A synthetic identifier: the mark, and all letters, digits, _ and - that follow it."""
_MAY_BE_AN_IDENTIFIER = re.compile(rb"[\d@]")
"""Each key but a RANDOM key has a digit or an at sign, and so has an amount."""
_RANDOM_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
"""A UUID of version 4, which is random (RFC 9562 section 5.4)."""
Leaf = tuple[JsonPath, Any]
"""The path of a text, number, boolean or null in a body, and its value."""


class Identifiers:
    """The accounts and keys that requests to a target may name. `keys` knows the keys that runs registered."""

    def __init__(self, profile: Profile, keys: Keys) -> None:
        self._profile = profile
        self._keys = keys
        self._own_keys = frozenset(key.key for key in profile.pix_keys if key.key)
        self._own_accounts_in_paths = frozenset(chain.from_iterable(map(_readings_of, profile.accounts)))
        self._own_texts = self._texts_of_the_profile()

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for a request that may name somebody else, or may change the keys of an account of the
        profile in a way that cannot be undone.

        | request | refused because of |
        |---|---|
        | any | an account in the path that is neither of the profile nor synthetic |
        | registers, deletes or prepares | the same for an account or a key in the body; keys of runs are permitted |
        | registers or deletes at an account of the profile | a malformed body, see `_refuse_malformed` |
        """
        accounts_in_path = self._accounts_in_path(sending)
        own_accounts_in_path = accounts_in_path & self._own_accounts_in_paths
        for account in accounts_in_path - own_accounts_in_path:
            is_synthetic = SYNTHETIC_PREFIX in account
            if not is_synthetic:
                raise ForbiddenError("an account in the path that is neither of the profile nor synthetic")
        changes_something = not sending.reachable_operations.isdisjoint((*_CHANGE_KEYS, *PREPARING_OPERATIONS))
        if not changes_something:
            return
        leaves = leaves_in(sending.plain_request.body)
        if leaves is None:
            _refuse_unreadable(sending.plain_request.body)
            leaves = []  # no JSON, so it has no values that could be looked at one by one
        self._refuse_identifiers_of_others(sending, leaves)
        names_own_account = bool(own_accounts_in_path) or any(leaf in self._profile.accounts for _, leaf in leaves)
        changes_keys = not sending.reachable_operations.isdisjoint(_CHANGE_KEYS)
        if names_own_account and changes_keys:
            self._refuse_malformed(sending, leaves)

    def _texts_of_the_profile(self) -> frozenset[str]:
        """Every text and number that a body may have because the profile has it: in its bodies, keys and accounts."""
        texts = {*self._own_keys, *self._profile.accounts, *KEY_TYPES}
        # Bodies go out without a key, too: as a malformed registration, or to have the service make a RANDOM key.
        empty_keys = [PixKey(key_type, "") for key_type in ("", *KEY_TYPES)]
        for key in (*self._profile.pix_keys, *empty_keys):
            texts |= self._texts_of_bodies_with_key(key)
        return frozenset(texts)

    # -- what a request names ---------------------------------------------------------------------------------

    def _accounts_in_path(self, sending: Sending) -> set[str]:
        """Every text that a server may read as an account in the path."""
        accounts: set[str] = set()
        for name in sending.reachable_operations:
            if operations()[name].path_parameter == "accountId":
                accounts |= path_parameters_reached(name, sending.path)
        return accounts

    def _refuse_identifiers_of_others(self, sending: Sending, leaves: Iterable[Leaf]) -> None:
        """Raises ForbiddenError if the body may name an account or a key of somebody else.

        A random UUID in a registration is permitted: nobody else can have that key.
        """
        new_key = _new_uuid_in(sending)
        for path, leaf in leaves:
            if leaf != new_key and not self._is_permitted(path, leaf):
                raise ForbiddenError("an account or a key in the body that is neither of the profile nor synthetic")

    def _is_permitted(self, path: JsonPath, leaf: Any) -> bool:
        """True if this value in a body is nobody's account or key, or one that the request may name.

        `leaf` is a text, a number, a boolean or null; `path` leads to it. Accounts and keys of the profile, and keys
        that runs registered, may be named.
        """
        if not isinstance(leaf, str):  # a boolean or null: numbers are texts here, too (NumberText)
            return True
        # A member with a made-up name is not documented, so no service reads an account or a key from it.
        member_is_made_up = any(SYNTHETIC_PREFIX in str(name) for name in path)
        member_has_no_identifier = not _MEMBERS_WITHOUT_IDENTIFIERS.isdisjoint(path)
        if member_is_made_up or member_has_no_identifier:
            return True
        is_synthetic = SYNTHETIC_PREFIX in leaf
        has_letter_or_digit = any(map(str.isalnum, leaf))  # without one, as in "" or "--", it names nobody
        if is_synthetic or not has_letter_or_digit or leaf in self._own_texts:
            return True
        if isinstance(leaf, NumberText):
            return _is_permitted_number(path, float(leaf))
        return any(leaf in self._texts_of_bodies_with_key(key) for key in self._keys.keys_of_runs())

    def _texts_of_bodies_with_key(self, key: PixKey) -> set[str]:
        """Every text and number that the bodies of the profile have with this key in the place of `{key}`.

        The profile has templates of bodies, with `{account}`, `{key}` and `{type}`. A template may put text around the
        key, such as `+55{key}`, so the whole text is permitted and not the key alone. Each account of the profile is
        filled in.
        """
        texts = {key.key}
        accounts = self._profile.accounts or ("",)
        for _, template in bodies_of_the_profile(self._profile):
            for account in accounts:
                body = fill(template, account=account, key=key.key, type=key.type)
                texts |= _texts_in(body)
        return texts

    # -- malformed registrations and deletions ----------------------------------------------------------------

    def _refuse_malformed(self, sending: Sending, leaves: Iterable[Leaf]) -> None:
        """Raises ForbiddenError for a registration or deletion whose effect cannot be known or undone.

        - A service may take a deletion without a key for a deletion of all keys.
        - It may register a key that no list shows and no deletion can name.
        - It may look at the Content-Type, and then find no key in a deletion that is not sent as JSON.

        Three kinds pass: a body in which each key can be named in a deletion, a registration that asks the service to
        make a key, and the deletion of the profile if it has no key.
        """
        keys = list(self._keys_in(sending, leaves))
        keys_can_be_named = bool(keys) and all(map(self._can_be_named, keys))
        service_reads_keys = sending.reachable_operations == {_REGISTER} or _is_sent_as_json(sending)
        is_well_formed = service_reads_keys and keys_can_be_named
        if is_well_formed or _asks_for_a_new_key(sending) or self._is_deletion_without_a_key(sending):
            return
        raise ForbiddenError("a malformed registration or deletion to an account of the profile")

    def _keys_in(self, sending: Sending, leaves: Iterable[Leaf]) -> Iterator[str]:
        """The texts of a body that may be a key.

        Key types and accounts are no keys, nor are other texts of the body that the profile has for deletions.
        """
        no_keys = {*KEY_TYPES, *self._profile.accounts}
        template = self._profile.requests.get("deletePixKey")
        if template and "deletePixKey" in sending.reachable_operations:
            body_without_key = fill(template.json, account="", key="", type="")
            no_keys |= _texts_in(body_without_key)
        no_keys -= self._own_keys
        for path, leaf in leaves:
            if not isinstance(leaf, str) or leaf in no_keys:
                continue
            is_foreign_number = isinstance(leaf, NumberText) and leaf not in self._own_texts
            member_may_hold_a_key = (_MEMBERS_WITHOUT_IDENTIFIERS | {"account"}).isdisjoint(path)
            if member_may_hold_a_key and not is_foreign_number:
                yield leaf

    def _can_be_named(self, key: str) -> bool:
        """True if a request to delete this key cannot make the service delete another key.

        SYNTHETIC_PREFIX alone, or with blanks, is permitted only if a run registered it. That happens if a service cuts
        a longer key of a run to these characters.
        """
        if not can_be_named(key):
            return False
        has_more_than_the_mark = can_be_named(key.removeprefix(SYNTHETIC_PREFIX))
        return has_more_than_the_mark or any(run_key.key == key for run_key in self._keys.keys_of_runs())

    def _is_deletion_without_a_key(self, sending: Sending) -> bool:
        """True for the deletion body of the profile, if that body names no key.

        Some services have one key for each account, so a deletion need not name it. A request that a generator drew
        (Hypothesis, Schemathesis) is never taken for it.
        """
        is_generated = sending.intent.is_generated
        template = self._profile.requests.get("deletePixKey")
        if is_generated or template is None or "{key}" in str(template.json):
            return False
        bodies = [
            fill(template.json, account=account, key="", type=key_type)
            for account, key_type in product(self._profile.accounts, ("", *KEY_TYPES))
        ]
        return _is_sent_as_json(sending) and sending.plain_request.body in map(as_bytes, bodies)


def _is_permitted_number(path: JsonPath, number: float) -> bool:
    """True if a number at this path of a body is an amount, or is nobody's account or key.

    No account is negative, but a key may be. So a negative number is permitted only if it can be no key: in a member
    for an account, or as the whole body.
    """
    is_amount = _AMOUNT in path
    is_whole_body = not path
    holds_no_key = is_whole_body or "account" in path
    is_nobodys_account = number < 0 and holds_no_key
    return is_amount or number == 0 or is_nobodys_account


def _refuse_unreadable(body: bytes) -> None:
    """Raises ForbiddenError if a lenient reader may find an identifier or an amount in a body that is not JSON."""
    if _MAY_BE_AN_IDENTIFIER.search(_SYNTHETIC.sub(b"", body)):
        raise ForbiddenError("a body that is no JSON, and that may hold an account, a key or an amount")


def _readings_of(account: str) -> frozenset[str]:
    """Every text that a server may read in a path that has this account."""
    operation = operations()["listPixKeys"]
    return path_parameters_reached(operation.id, operation.path.replace("{accountId}", quote(account, safe="")))


def _texts_in(body: Any) -> set[str]:
    """Every text and number in a body."""
    return {leaf for _, leaf in leaves_in(as_bytes(body)) or () if isinstance(leaf, str)}


def _is_sent_as_json(sending: Sending) -> bool:
    """True if the Content-Type of the request is that of JSON."""
    return str(sending.request.headers.get("Content-Type", "")).startswith("application/json")


def _asks_for_a_new_key(sending: Sending) -> bool:
    """True for a registration with an empty key of the type RANDOM, which asks the service to make the key.

    A request that a generator drew (Hypothesis, Schemathesis) is never taken for it.
    """
    is_generated = sending.intent.is_generated
    if is_generated or sending.reachable_operations != {_REGISTER}:
        return False
    key, key_type = key_and_type_in(sending.plain_request.body)
    return not key and key_type in _MADE_BY_THE_SERVICE


def _new_uuid_in(sending: Sending) -> str | None:
    """The key of a registration of the type RANDOM, if it is a random UUID, which nobody else has; else None."""
    key, key_type = key_and_type_in(sending.plain_request.body)
    is_registration = sending.reachable_operations == {_REGISTER} and key_type in _MADE_BY_THE_SERVICE
    is_random = key is not None and _RANDOM_UUID.fullmatch(key) is not None
    return key if is_registration and is_random else None
