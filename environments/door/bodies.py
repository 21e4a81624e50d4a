"""Texts, numbers and keys in the body of a request, as a lenient service may read them.

The checks before a request is sent ask for them, to decide whether the body may be sent. A lenient service may accept
an object in which a name stands twice, numbers of any size, or an HTML form (`pixKey=a&account=1`) instead of JSON.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from environments.profiles.model import Profile
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.json_text import MAX_DEPTH_OF_A_REQUEST, JsonPath, as_bytes, is_nested_deeper_than, leaves_of


class NumberText(str):
    """A JSON number as the text in which it is written, such as "1e900".

    Python's float or int would change it or fail: 1e900 is beyond a float, and an int has at most 4,300 digits.
    """


class _AllMembers(dict[Any, Any]):
    """The members of a JSON object. If a name occurs several times, none of its values is lost.

    A parser keeps the last value alone, although the service may read the first one.

    | object | members |
    |---|---|
    | `{"type": 1, "value": 2}` | the same, because no name occurs twice |
    | `{"type": 1, "value": 2, "value": 3}` | `{"type": [1], "value": [2, 3]}`: each name has a list |

    The lists put an index into the path of a value: `("type", 0)`. That does no harm, because the checks only ask
    whether a name such as "value" is anywhere in the path.
    """

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        """Take the members in their order: `[("value", "1"), ("value", "2")]` gives `{"value": ["1", "2"]}`."""
        super().__init__(members)
        has_no_name_twice = len(self) == len(members)
        if has_no_name_twice:
            return
        values_by_name: dict[str, list[Any]] = {}
        for name, value in members:
            values_by_name.setdefault(name, []).append(value)
        self.update(values_by_name)


def leaves_in(body: bytes) -> list[tuple[JsonPath, Any]] | None:
    """Every text, number, boolean and null of a body in JSON, each with the path to it.

    `{"to": {"account": "7"}, "keys": ["a"]}` gives `[(("to", "account"), "7"), (("keys", 0), "a")]`. A number is a
    `NumberText`. If a name occurs twice in an object, both values are in the result, because a service may read either.
    None if not even a lenient reader finds JSON in the body, or if it is nested too deeply to be read.
    """
    if is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):
        return None
    try:
        return leaves_of(_read_json(body))
    except (ValueError, RecursionError):
        return None


def bodies_of_the_profile(profile: Profile) -> Iterator[tuple[str, Any]]:
    """Each operation for which the profile (the settings of a run) has a request body, and this body.

    The bodies are templates: they have placeholders such as `{account}` and `{key}`, which are not filled in here.
    """
    for operation, body in profile.requests.items():
        yield operation, body.json
    preparation = profile.transactions.prepare
    if preparation:
        yield preparation.operation, preparation.json


def texts_of(body: bytes) -> list[str]:
    """Every text and number in the body of a request, as texts, whether the body is JSON or an HTML form.

    `{"pixKey": "a@b.example", "pixKeyType": 2}` gives `["a@b.example", "2"]`.
    """
    return _texts(_read(body))


def key_and_type_in(body: bytes) -> tuple[str | None, str]:
    """The members `pixKey` and `pixKeyType` in the body of a registration, such as `("a@b.example", "EMAIL")`.

    A number is given as its text. The type is empty if the body has none. The key is None if the body has none, and
    also if it is empty and the service may make a key. A service makes keys of the type RANDOM, and perhaps of a type
    that the interface document does not name. An empty key of another type is the text "".
    """
    value = _read(body)
    members = value if isinstance(value, dict) else {}
    key = _first_text(members.get("pixKey"))
    key_type = _first_text(members.get("pixKeyType")) or ""
    service_makes_keys_of_type = key_type == "RANDOM" or key_type not in KEY_TYPES
    if not key and service_makes_keys_of_type:
        key = None
    return key, key_type


def body_with_another_key(body: bytes) -> bytes | None:
    """The body of a registration with another made-up key of the same form. The rest of the body is unchanged.

    A made-up key has the prefix `pixconf-` (`SYNTHETIC_PREFIX`). None if the key in the body is not made up, or if it
    is not written in the body as `as_bytes` writes it.
    """
    value = _read(body)
    key = value.get("pixKey") if isinstance(value, dict) else None
    if not isinstance(key, str) or SYNTHETIC_PREFIX not in key:
        return None
    key_in_body = as_bytes(key)
    if key_in_body not in body:  # the body has the key with other escapes
        return None
    another_key = _another_key_like(key)
    return body.replace(key_in_body, as_bytes(another_key))


_LETTERS_OF_A_NEW_KEY = 8
"""Random letters in a new key: so many that no service knows the key. A choice."""


def _another_key_like(key: str) -> str:
    """A made-up key that no service knows, of the same form as `key`.

    Eight random letters are put behind the prefix `pixconf-`:

    | behind the prefix there are | example |
    |---|---|
    | at least eight small letters or digits: the first eight are replaced | `pixconf-xxxxxxxxx`: `pixconf-qkwbmtzax` |
    | fewer: the letters are inserted | `pixconf-%`: `pixconf-qkwbmtza%` |
    """
    before, prefix, behind = key.partition(SYNTHETIC_PREFIX)
    letters = "".join(secrets.choice(string.ascii_lowercase) for _ in range(_LETTERS_OF_A_NEW_KEY))
    replaced = behind[:_LETTERS_OF_A_NEW_KEY]
    can_be_replaced = len(replaced) == _LETTERS_OF_A_NEW_KEY and re.fullmatch("[0-9a-z]+", replaced) is not None
    if can_be_replaced:
        behind = behind.removeprefix(replaced)
    return f"{before}{prefix}{letters}{behind}"


def contains_key(text: str, key: str) -> bool:
    """True if the text has the key in it as a whole word.

    The text `mailto:a@b.example` has the key `a@b.example`. The text 5511999990001 does not have the key 11999990001,
    because a digit stands before it: a deletion with this text names another key.
    """
    if key not in text:  # a fast answer, because texts and keys may be long
        return False
    key_as_whole_word = rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])"  # no letter or digit before or behind it
    return re.search(key_as_whole_word, text) is not None


def _read(body: bytes) -> Any:
    """The value of a body in JSON. If it is no JSON, the fields of an HTML form, such as `{"pixKey": ["a@b.example"]}`.

    Numbers are kept as texts, because some are too great for a float.
    """
    if not is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):
        with suppress(ValueError, RecursionError):
            return json.loads(body, parse_int=str, parse_float=str, parse_constant=str)
    return parse_qs(body.decode("utf-8", "replace"))


def _read_json(body: bytes) -> Any:
    """The value of a body in JSON, as a lenient service may read it. Raises ValueError if the body is no JSON.

    Each number is a `NumberText` (the text in which it is written). If a name stands twice in an object, both values
    are kept (`_AllMembers`).
    """
    return json.loads(
        body, object_pairs_hook=_AllMembers, parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText
    )


def _first_text(value: Any) -> str | None:
    """The first text or number in a value, as a text; None if it has none.

    The value may be a list: in an HTML form each name has a list of values, such as `["a@b.example"]`.
    """
    texts = _texts(value)
    return texts[0] if texts else None


def _texts(value: Any) -> list[str]:
    """Every text and number in a JSON value, at any depth, as texts.

    The result is empty if the value is nested so deeply that no service can read it.
    """
    try:
        leaves = leaves_of(value)
    except RecursionError:
        return []
    texts = []
    for _, leaf in leaves:
        is_text_or_number = not isinstance(leaf, dict | list | bool | None)
        if is_text_or_number:
            texts.append(str(leaf))
    return texts
