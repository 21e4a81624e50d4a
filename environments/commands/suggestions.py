"""Lines that a profile lacks, as the list of keys suggests them, ready to paste.

Nothing of a list is shown but names of members that are ordinary words.
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
_NAMES_OF_KEYS = ("key", "chave")
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
    foreign_type = _type_of_others(key_list)
    wanted_types = {key.type for key in profile.pix_keys} - {*profile.not_for_this_account}
    if foreign_type in wanted_types:
        types = ", ".join([*profile.not_for_this_account, foreign_type])
        yield f"not_for_this_account: [{types}] (if the account may have no {foreign_type} key)"


def _places_of_keys(key_list: Any, profile: Profile) -> list[str]:
    """Pointers to texts in items of the list that are all keys. If some of these are named like keys, only those."""
    values: dict[JsonPath, list[Any]] = {}
    for path, value in leaves_of(key_list):
        pattern: JsonPath = tuple("*" if isinstance(part, int) else part for part in path)
        values.setdefault(pattern, []).append(value)
    known = {key.key for key in profile.pix_keys if key.key}
    places = []
    for pattern, texts in values.items():
        is_shown = all(name == "*" or is_name(str(name)) for name in pattern)
        if "*" in pattern and is_shown and all(_is_a_key(text, known) for text in texts):
            places.append("/" + "/".join(map(str, pattern)))
    named_like_keys = [place for place in places if folded(place.rpartition("/")[2]).endswith(_NAMES_OF_KEYS)]
    return named_like_keys or places


def _is_a_key(text: Any, known: set[str]) -> bool:
    if not isinstance(text, str) or has_mask(text):
        return False
    is_typical = bool(_ADDRESS_OR_PHONE.fullmatch(text) or UUID.fullmatch(text))
    return text in known or is_typical or _tax_document(text) != ""


def _tax_document(text: str) -> str:
    """`CPF` or `CNPJ` if a text is one, with valid check digits; else empty."""
    if not re.fullmatch(r"[0-9./-]{11,18}", text):
        return ""
    if cpf.is_valid(text):
        return "CPF"
    return "CNPJ" if cnpj.is_valid(text) else ""


def _type_of_others(key_list: Any) -> str:
    """The tax document that the holder of the account does not have, if the list shows the other one: a person has a
    CPF, a company a CNPJ. Empty if it shows neither or both."""
    shown = {_tax_document(value) for _, value in leaves_of(key_list) if isinstance(value, str)} - {""}
    if len(shown) != 1:
        return ""
    return "CNPJ" if shown == {"CPF"} else "CPF"
