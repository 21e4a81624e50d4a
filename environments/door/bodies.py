"""What the body of a request names, as a lenient reader takes it: its texts and numbers, and the key of a
registration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from environments.profiles.model import Profile
from spec.interface import KEY_TYPES
from spec.json_text import JsonPath, leaves_of


class NumberText(str):
    """A JSON number as it is written: some are beyond a float, or too long for an int."""


class _Twice(dict[Any, Any]):
    """The members of an object. A name that stands twice has a list of its values."""

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        super().__init__(members)
        if len(self) < len(members):
            self.update({name: [value for other, value in members if other == name] for name in self})


def leaves_in(body: bytes) -> list[tuple[JsonPath, Any]] | None:
    """Every text, number, boolean and null of a body in JSON, with the names and places that lead to it. A member that
    stands twice has all of its values. None if a lenient reader finds no JSON either."""
    try:
        return leaves_of(_read_json(body))
    except (ValueError, RecursionError):
        return None


def bodies_of_the_profile(profile: Profile) -> Iterator[tuple[str, Any]]:
    """Each body that the profile says, with its operation, before anything is filled in."""
    for operation, body in profile.requests.items():
        yield operation, body.json
    if prepare := profile.transactions.prepare:
        yield prepare.operation, prepare.json


def texts_of(body: bytes) -> list[str]:
    """Every text and number of a body, in JSON or in a form."""
    return _texts(_read(body))


def key_sent(body: bytes) -> tuple[str | None, str]:
    """The key and the type in the body of a registration, a number as the text that it is. None where the service has
    to make the key."""
    value = _read(body)
    members = value if isinstance(value, dict) else {}
    key, key_type = (next(iter(_texts(members.get(name))), None) for name in ("pixKey", "pixKeyType"))
    is_made = not key and (key_type == "RANDOM" or key_type not in KEY_TYPES)
    return None if is_made else key, key_type or ""


def names(text: str, key: str) -> bool:
    """True if the text names the key, and not a longer one that it is a part of."""
    return key in text and re.search(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", text) is not None


def _read(body: bytes) -> Any:
    """The body with each number as the text that it is: some are beyond a float, or too long for an int."""
    try:
        return json.loads(body, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return parse_qs(body.decode("utf-8", "replace"))


def _read_json(body: bytes) -> Any:
    return json.loads(
        body, object_pairs_hook=_Twice, parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText
    )


def _texts(value: Any) -> list[str]:
    try:
        return [str(leaf) for _, leaf in leaves_of(value) if not isinstance(leaf, dict | list | bool | None)]
    except RecursionError:  # nobody reads as deep a body
        return []
