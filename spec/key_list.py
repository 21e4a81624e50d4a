"""Where keys stand in the list of keys, whose shape the interface document does not show.

Source: interface document, Resources and their fields, last line. No names and no nesting are assumed: the places of
one key are compared with those of another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spec.exchange import Exchange
from spec.interface import KEY_TYPES
from spec.json_text import HugeNumber, JsonPath, is_number, leaves_of

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
MADE_KEY = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
"""A key that the service made, whole: a UUID, with or without its dashes."""
_KEY, _TYPE, _ANY = "<key>", "<type>", "*"
VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
"""Numbers and identifiers, which differ from answer to answer."""
_LONG = 8
"""Texts of this length or more may be identifiers or times, which differ from key to key."""
_LARGE = 1_000_000
"""Numbers from here on may be times; smaller ones may be the status of a key."""
_ENOUGH = 3
"""A member that differs in each of this many keys says nothing about the status of a key."""
_SAYS_NOTHING = re.compile(
    rf"{_KEY}|{_TYPE}|[#:.+/TZ -]+|active|registered|confirmed|enabled|done|ok|ativ[ao]|registrad[ao]|confirmad[ao]",
    re.IGNORECASE,
)
"""Values that do not say that a key is pending: the key, its type, times, identifiers, and that it is in use."""
_SAYS_NOT_YET = re.compile(
    "pend|wait|attempt|fail|reject|refus|deni|histor|request|confirm|tentativ|aguard|espera|recus|falh|solicit",
    re.IGNORECASE,
)
"""Names of members that may hold keys which are not registered."""


@dataclass(frozen=True)
class Place:
    """Where a key stands: the path without the key itself, and the other members of the same item."""

    path: str
    around: frozenset[tuple[str, str]]


class Listing:
    """One successful answer to listPixKeys."""

    def __init__(self, exchange: Exchange) -> None:
        text = exchange.response.json if exchange.response else None
        self.number = exchange.number
        self._value = text.value if text and text.readable else None
        self._raw = exchange.response.body.decode("utf-8", "replace") if exchange.response and text else ""

    def shows(self, key: str) -> bool:
        """Whether the key stands anywhere, in any punctuation."""
        if not key:
            return False
        return key in self._raw or any(self._leaves_with(key))

    def places(self, key: str, key_type: str) -> frozenset[Place]:
        """Every place where the key stands, as a value or as a name."""
        return frozenset(
            Place(_pattern(path, key, key_type), self._around(_item(path, key), key, key_type))
            for path, _ in self._leaves_with(key)
        )

    def holds(self, key: str) -> bool:
        """Whether the key stands as it is, as a value or as a name."""
        return any(key in (*path, value) for path, value in self._leaves)

    def type_beside(self, key: str) -> str:
        """The one documented key type that stands beside the key, or an empty text."""
        named = {value for place in self.places(key, "") for _, value in place.around if value in KEY_TYPES}
        return named.pop() if len(named) == 1 else ""

    def texts_at(self, paths: Collection[str], key_types: Collection[str]) -> frozenset[str]:
        """The texts at these paths, where keys of these types stand."""
        return frozenset(
            part
            for path, value in self._leaves
            for part in (*path, value)
            if isinstance(part, str) and _plain(part)
            if any(_pattern(path, part, key_type) in paths for key_type in key_types)
        )

    def _leaves_with(self, key: str) -> Iterator[tuple[JsonPath, Any]]:
        """The leaves with the key as their value, or as a name on their path."""
        plain = _plain(key)
        return (leaf for leaf, texts in zip(self._leaves, self._plain_texts, strict=True) if plain and plain in texts)

    @cached_property
    def _plain_texts(self) -> list[str]:
        """The texts of each leaf without punctuation, a line each: a list may be long, and is searched for each key."""
        return [
            "\n".join(_plain(str(part)) for part in (*path, value) if _is_text(part)) for path, value in self._leaves
        ]

    @cached_property
    def _leaves(self) -> list[tuple[JsonPath, Any]]:
        return list(leaves_of(self._value))

    def _around(self, item: JsonPath, key: str, key_type: str) -> frozenset[tuple[str, str]]:
        """The members of the item, and the plain members of the items around it."""
        outermost = next((at for at, part in enumerate(item) if isinstance(part, int)), len(item))
        return frozenset(
            (_pattern(path, key, key_type), _normal(value, key, key_type))
            for path, value in self._leaves
            if path[: len(item)] == item or (len(path) > outermost + 1 and path[:-1] == item[: len(path) - 1])
        )


def alike(places: Collection[Place], references: Collection[Collection[Place]]) -> bool:
    """Whether a key stands like keys that were accepted. Each reference has the places of one accepted key."""
    known = [place for reference in references for place in reference]
    return bool(places) and all(
        any(_agree(place, other, [each for each in known if each.path == place.path]) for other in known)
        for place in places
    )


def is_unmarked(places: Collection[Place], account: str) -> bool:
    """Whether the members around a key say no more than that it is in use: a list may show pending keys, too."""
    return bool(places) and all(
        not _SAYS_NOT_YET.search(f"{place.path} {name}") and (value == account or _SAYS_NOTHING.fullmatch(value))
        for place in places
        for name, value in place.around
    )


def accepted_alike(places: Collection[Place], references: Collection[Collection[Place]]) -> bool:
    """Whether a key stands like keys that were accepted, and at every path where all of them stand.

    A history of requests, which a list may hold beside its keys, shows refused keys, too.
    """
    paths = [{place.path for place in reference} for reference in references]
    everywhere = set.intersection(*paths) if paths else set()
    return alike(places, references) and everywhere <= {place.path for place in places}


def _agree(place: Place, other: Place, known: list[Place]) -> bool:
    mine, theirs = dict(place.around), dict(other.around)
    if place.path != other.path or set(mine) != set(theirs):
        return False
    return all(mine[name] == theirs[name] or _says_nothing(name, known) for name in mine)


def _says_nothing(name: str, known: list[Place]) -> bool:
    values = [dict(place.around).get(name) for place in known]
    return len(set(values)) == len(values) >= _ENOUGH


def _item(path: JsonPath, key: str) -> JsonPath:
    """The innermost item that holds the key: an element of an array, or the member that has the key as its name."""
    ends = [at for at, part in enumerate(path) if isinstance(part, int) or _is_in(key, part)]
    return path[: ends[-1] + 1] if ends else path


def _pattern(path: JsonPath, key: str, key_type: str) -> str:
    return "/".join(_ANY if isinstance(part, int) else _normal(part, key, key_type) for part in path)


def _normal(value: Any, key: str, key_type: str) -> str:
    """A value, with a placeholder for the key, its type, a time or an identifier."""
    if _is_in(key, value):
        return _KEY
    if isinstance(value, str):
        if value.casefold() == key_type.casefold():
            return _TYPE
        return VARYING.sub("#", value) if len(value) >= _LONG else value
    if isinstance(value, HugeNumber) or (is_number(value) and abs(value) >= _LARGE):
        return "#"
    return str(value)


def _is_in(key: str, value: Any) -> bool:
    plain = _plain(key)
    return bool(plain) and _is_text(value) and plain in _plain(str(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (not isinstance(value, HugeNumber) and is_number(value))


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-z@]", "", text.casefold())
