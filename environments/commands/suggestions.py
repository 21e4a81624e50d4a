"""Lines that a profile lacks, as a list of keys suggests them, ready to paste. `check` prints them.

Nothing of the list is shown but names of members that are ordinary words.

Self-tests: environments/commands/test_check.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stdnum.br import cnpj, cpf

from environments.profiles.model import Profile
from spec.facts import is_name
from spec.json_text import JsonPath, folded, leaves_of
from spec.key_list import UUID, has_mask

_ADDRESS_OR_PHONE = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|\+[0-9]{8,15}")
"""An e-mail address, or a phone number in the form of E.164: a plus sign and up to 15 digits."""
_ENDS_OF_NAMES_OF_KEYS = ("key", "chave")
_DEFAULT_NAME = "pixKey"
"""Name of the key in the documented body of a registration."""


def missing_lines(key_list: Any, profile: Profile) -> Iterator[str]:
    """Each line that a profile lacks, with the reason for it. `key_list` is the answer to listPixKeys."""
    places = _places_of_keys(key_list, profile)
    if profile.key_at is None and places:
        lines = " or ".join(f"key_at: {place}" for place in places)
        yield f"{lines} (keys seem to stand there in the list; without key_at, no key is deleted off a sandbox)"
    if profile.key_at is None and not places:
        yield (
            "key_at: … (the list shows no key, so its place is not known: register one by hand at the first of "
            "accounts, and check again)"
        )
    if "delete-keys" in profile.allow and "deletePixKey" not in profile.requests:
        name = places[0].rpartition("/")[2] if len(places) == 1 else _DEFAULT_NAME
        member = _DEFAULT_NAME if name == "*" else name
        body = f'{{{member}: "{{key}}"}}'
        yield f"requests: {{deletePixKey: {{json: {body}}}}} (a guess, because the document does not show the body)"
    foreign_type = _type_for_others(key_list)
    wanted_types = {key.type for key in profile.pix_keys} - {*profile.not_for_this_account}
    if foreign_type in wanted_types:
        types = ", ".join([*profile.not_for_this_account, foreign_type])
        yield f"not_for_this_account: [{types}] (if the account may have no {foreign_type} key)"


def _places_of_keys(key_list: Any, profile: Profile) -> list[str]:
    """Pointers to the places in items of the list where only keys stand, with * for every item.

    If some of these places have the name of a key, such as `pixKey`, only those.
    """
    values_by_place: dict[JsonPath, list[Any]] = {}
    for path, value in leaves_of(key_list):
        place: JsonPath = tuple("*" if isinstance(part, int) else part for part in path)
        values_by_place.setdefault(place, []).append(value)
    own_keys = {key.key for key in profile.pix_keys if key.key}
    pointers = []
    for place, values in values_by_place.items():
        has_only_keys = all(_is_a_key(value, own_keys) for value in values)
        may_be_shown = all(name == "*" or is_name(str(name)) for name in place)
        if "*" in place and has_only_keys and may_be_shown:
            pointers.append("/" + "/".join(map(str, place)))
    named_like_keys = [place for place in pointers if folded(place.rpartition("/")[2]).endswith(_ENDS_OF_NAMES_OF_KEYS)]
    return named_like_keys or pointers


def _is_a_key(value: Any, own_keys: set[str]) -> bool:
    """True for a key of the profile, and for a text in the form of a key of any type."""
    if not isinstance(value, str) or has_mask(value):
        return False
    is_typical = bool(_ADDRESS_OR_PHONE.fullmatch(value) or UUID.fullmatch(value))
    return value in own_keys or is_typical or _tax_document_type(value) != ""


def _tax_document_type(text: str) -> str:
    """`CPF` or `CNPJ` if a text is one, with valid check digits; else empty."""
    if not re.fullmatch(r"[0-9./-]{11,18}", text):
        return ""
    if cpf.is_valid(text):
        return "CPF"
    return "CNPJ" if cnpj.is_valid(text) else ""


def _type_for_others(key_list: Any) -> str:
    """The type of tax document that the holder of the account cannot have; empty if the list does not tell.

    A person has a CPF, a company a CNPJ. The list tells if it shows one of both, and not the other.
    """
    texts = [value for _, value in leaves_of(key_list) if isinstance(value, str)]
    types_in_list = {_tax_document_type(text) for text in texts} - {""}
    if len(types_in_list) != 1:
        return ""
    return "CNPJ" if types_in_list == {"CPF"} else "CPF"
