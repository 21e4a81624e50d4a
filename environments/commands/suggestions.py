"""Lines that a profile (the settings of a run) probably lacks, guessed from a list of keys that the service answered.

`check` prints these lines, so that the user can paste them. A line may have names of JSON members of the list, such as
`/data/keys/*/pixKey`, but no value. A name that may be data, such as an account number, is not printed.

Self-tests: environments/commands/test_check.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stdnum.br import cnpj, cpf

from environments.profiles.model import Profile
from spec.facts import is_surely_no_data
from spec.json_text import JsonPath, folded, leaves_of
from spec.key_list import UUID, has_mask

_ADDRESS_OR_PHONE = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|\+[0-9]{8,15}")
"""An e-mail address, or a phone number in the form of E.164: a plus sign and up to 15 digits."""
_ENDS_OF_MEMBER_NAMES = ("key", "chave")
"""How the names of JSON members that hold a key usually end: "key" in English, "chave" in Portuguese."""
_DEFAULT_NAME = "pixKey"
"""Name of the key in the documented body of a registration."""


def lines_to_add_to_profile(key_list: Any, profile: Profile) -> Iterator[str]:
    """Lines that the profile probably lacks, ready to be pasted, each with its reason in brackets.

    `key_list` is the JSON of an answer to listPixKeys: it shows where the service lists its keys.

    | line | if |
    |---|---|
    | `key_at` | the profile does not say where a list has its keys; "…" if the list has no key that shows it |
    | `requests: {deletePixKey: …}` | keys may be deleted, and the profile has no body for that |
    | `not_for_this_account` | the profile has a key of a type that the holder of the account cannot have |

    For example, the list has a CNPJ, so the holder is a company, but the profile has a CPF key.
    """
    places = _places_of_keys(key_list, profile)
    if profile.key_at is None and places:
        lines = " or ".join(f"key_at: {place}" for place in places)
        yield f"{lines} (the list seems to have its keys there; only on a sandbox a key is deleted without key_at)"
    if profile.key_at is None and not places:
        yield (
            "key_at: … (the list shows no key, so its place is not known: register one by hand at the first of "
            "accounts, and check again)"
        )
    if "delete-keys" in profile.allow and "deletePixKey" not in profile.requests:
        # A deletion probably names the key as the list does. `*` is no name: then the list is an array of texts.
        name = places[0].rpartition("/")[2] if len(places) == 1 else _DEFAULT_NAME
        member = _DEFAULT_NAME if name == "*" else name
        requests = '{deletePixKey: {json: {MEMBER: "{key}"}}}'.replace("MEMBER", member)
        yield f"requests: {requests} (a guess, because the document does not show the body)"
    impossible_type = _type_that_the_holder_cannot_have(key_list)
    wanted_types = {key.type for key in profile.pix_keys} - {*profile.not_for_this_account}
    if impossible_type in wanted_types:
        types = ", ".join([*profile.not_for_this_account, impossible_type])
        yield f"not_for_this_account: [{types}] (if the account may have no {impossible_type} key)"


def _places_of_keys(key_list: Any, profile: Profile) -> list[str]:
    """JSON pointers to the members that hold PIX keys, with * for every item of an array: `["/data/keys/*/pixKey"]`.

    All values of such a member look like keys. It is in an array, because an account may have several keys. If the
    names of some of these members end with "key" or "chave", only these are returned. A member whose name may be data
    is left out, because the pointer is printed.
    """
    values_by_place: dict[JsonPath, list[Any]] = {}
    for path, value in leaves_of(key_list):
        place: JsonPath = tuple("*" if isinstance(part, int) else part for part in path)
        values_by_place.setdefault(place, []).append(value)
    own_keys = {key.key for key in profile.pix_keys if key.key}
    pointers: list[str] = []
    for place, values in values_by_place.items():
        has_only_keys = all(_is_a_key(value, own_keys) for value in values)
        names = [str(part) for part in place]
        may_be_shown = all(name == "*" or is_surely_no_data(name) for name in names)
        if "*" in names and has_only_keys and may_be_shown:
            pointers.append("/" + "/".join(names))
    named_like_a_key = [pointer for pointer in pointers if _is_named_like_a_key(pointer)]
    return named_like_a_key or pointers


def _is_named_like_a_key(pointer: str) -> bool:
    """True if the last member of a JSON pointer has a name such as `pixKey` or `chave`."""
    _, _, name = pointer.rpartition("/")
    return folded(name).endswith(_ENDS_OF_MEMBER_NAMES)


def _is_a_key(value: Any, own_keys: set[str]) -> bool:
    """True for a text that looks like a PIX key: an e-mail address, a phone number, a UUID, or a valid CPF or CNPJ.

    Also true for one of `own_keys`, which are the keys of the profile. False for a masked text such as
    `+55*******4321`, because a key in it could not be recognised.
    """
    if not isinstance(value, str) or has_mask(value):
        return False
    if value in own_keys or _ADDRESS_OR_PHONE.fullmatch(value) or UUID.fullmatch(value):
        return True
    return _tax_document_type(value) in ("CPF", "CNPJ")


def _tax_document_type(text: str) -> str:
    """`CPF` or `CNPJ` if a text is such a tax document with valid check digits; else empty.

    A CNPJ may have letters since July 2026: 12.ABC.345/01DE-35.
    """
    if not re.fullmatch(r"[0-9A-Z./-]{11,18}", text):  # from 12345678909 to 12.345.678/0001-95
        return ""
    if cpf.is_valid(text):
        return "CPF"
    return "CNPJ" if cnpj.is_valid(text) else ""


def _type_that_the_holder_cannot_have(key_list: Any) -> str:
    """The type of tax document that the holder of the account cannot have as a key, `CPF` or `CNPJ`.

    A person has a CPF, a company has a CNPJ. If the list of keys has a CNPJ and no CPF, the holder is a company, so the
    result is `CPF`. If the list has a CPF and no CNPJ, the result is `CNPJ`. Else the result is empty.
    """
    texts = [value for _, value in leaves_of(key_list) if isinstance(value, str)]
    types_in_list = {_tax_document_type(text) for text in texts} - {""}
    if types_in_list == {"CPF"}:
        return "CNPJ"
    return "CPF" if types_in_list == {"CNPJ"} else ""
