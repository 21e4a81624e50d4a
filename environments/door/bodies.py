"""Texts, numbers and keys in the body of a request, as a lenient service may read them.

Policies of the door ask for them to decide whether a body may be sent. Such a service may accept a member that stands
twice, numbers of any size, or a form in the place of JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from environments.profiles.model import Profile
from spec.interface import KEY_TYPES
from spec.json_text import MAX_DEPTH_OF_A_REQUEST, JsonPath, is_nested_deeper_than, leaves_of


class NumberText(str):
    """A JSON number as it is written: some are beyond a float, or too long for an int."""


class _AllMembers(dict[Any, Any]):
    """The members of a JSON object. If a name stands several times, each name has a list of all its values.

    A parser keeps the last value alone, although the service may read the first one.
    """

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        super().__init__(members)
        if len(self) == len(members):
            return
        values_by_name: dict[str, list[Any]] = {}
        for name, value in members:
            values_by_name.setdefault(name, []).append(value)
        self.update(values_by_name)


def leaves_in(body: bytes) -> list[tuple[JsonPath, Any]] | None:
    """Every text, number, boolean and null of a body in JSON, with its path of names and positions.

    If a name stands twice in an object, all of its values are leaves. None if not even a lenient reader finds JSON.
    """
    if is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):
        return None
    try:
        return leaves_of(_read_json(body))
    except (ValueError, RecursionError):
        return None


def bodies_of_the_profile(profile: Profile) -> Iterator[tuple[str, Any]]:
    """Each operation for which the profile has a body, and this body before its placeholders are filled in."""
    for operation, body in profile.requests.items():
        yield operation, body.json
    preparation = profile.transactions.prepare
    if preparation:
        yield preparation.operation, preparation.json


def texts_of(body: bytes) -> list[str]:
    """Every text and number of a body, in JSON or in a form."""
    return _texts(_read(body))


def key_and_type_in(body: bytes) -> tuple[str | None, str]:
    """The key and the key type in the body of a registration. A number is given as its text.

    The key is None if the body has none, or if the service has to make it: an empty key of type RANDOM, or of a type
    that the interface document does not name.
    """
    value = _read(body)
    members = value if isinstance(value, dict) else {}
    key = _first_text(members.get("pixKey"))
    key_type = _first_text(members.get("pixKeyType"))
    service_makes_key = not key and (key_type == "RANDOM" or key_type not in KEY_TYPES)
    return None if service_makes_key else key, key_type or ""


def contains_key(text: str, key: str) -> bool:
    """True if the text has the key, and not only as a part of a longer word.

    A letter or digit must not stand beside it: a deletion of the key 5511999990001 does not name the key 11999990001.
    """
    return key in text and re.search(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", text) is not None


def _read(body: bytes) -> Any:
    """The value of a body in JSON, or else the fields of a form. Numbers stay texts: some are too great for a float."""
    if not is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):
        with suppress(ValueError, RecursionError):
            return json.loads(body, parse_int=str, parse_float=str, parse_constant=str)
    return parse_qs(body.decode("utf-8", "replace"))


def _read_json(body: bytes) -> Any:
    """The value of a body in JSON. Each number is a `NumberText`, each object has all of its members."""
    return json.loads(
        body, object_pairs_hook=_AllMembers, parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText
    )


def _first_text(value: Any) -> str | None:
    """The first text or number in a value; None if it has none. A form has its values in lists."""
    return next(iter(_texts(value)), None)


def _texts(value: Any) -> list[str]:
    """Every text and number in a value, as text. None of a body that is nested too deep for any reader."""
    try:
        return [str(leaf) for _, leaf in leaves_of(value) if not isinstance(leaf, dict | list | bool | None)]
    except RecursionError:
        return []
