"""What a list of keys shows, whose shape the interface document does not show.

Source: interface document, Resources and their fields, last line. A key is in the list if one of its texts is the key,
punctuation and letter case apart; a profile may name the place of the keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spec.exchange import Exchange
from spec.interface import KEY_TYPES, MARK
from spec.json_text import HugeNumber, JsonPath, is_number, leaves_of, parts_of_pointer

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
"""Numbers and identifiers, which differ from answer to answer."""
_BETWEEN = re.compile(r"[\s,;|]+")
"""Between two keys in one text."""
_KEY, _TYPE, _ANY = "<key>", "<type>", "*"
_LONG = 8
"""Texts of this length or more may be identifiers or times, which differ from key to key."""
_LARGE = 1_000_000
"""Numbers from here on may be times; smaller ones may be the status of a key."""


@dataclass(frozen=True)
class Place:
    """Where a key stands: the path without the key itself, and the other members of the same item."""

    path: str
    around: frozenset[tuple[str, str]]


class Listing:
    """One successful answer to listPixKeys. `key_at` is the JSON pointer to its keys, with * for every item, where the
    profile names it."""

    def __init__(self, exchange: Exchange, key_at: str | None = None) -> None:
        text = exchange.response.json if exchange.response else None
        self.number, self._key_at = exchange.number, key_at
        self._leaves = list(leaves_of(text.value)) if text and text.readable else []

    def shows(self, key: str) -> bool:
        """Whether one of the texts is the key, in any punctuation and letter case; a synthetic one as it is, as some
        differ in that alone."""
        is_exact = MARK in key or not _plain(key)
        return key in self._texts if is_exact else _plain(key) in self._plain_texts

    def mentions(self, key: str) -> bool:
        """True if any of its texts, at whatever place, is the key, or has it between blanks or commas."""
        texts = (str(part) for path, value in self._leaves for part in (*path, value) if _is_text(part))
        pieces = (piece for text in texts for piece in (text, *_BETWEEN.split(text)))
        return _plain(key) in map(_plain, pieces)

    def may_have_made_keys(self, known: Collection[str]) -> bool:
        """True if it may show a key that a service made, beside those that are known: it names the type, or a UUID."""
        named = {"RANDOM", "EVP"} & {text.upper() for text in self._texts}
        return bool(named) or any(UUID.fullmatch(text) for text in self._texts - set(known))

    @cached_property
    def keys(self) -> frozenset[str]:
        """The texts where the profile says that the keys stand."""
        wanted = parts_of_pointer(self._key_at) if self._key_at else None
        return frozenset(
            str(value) for path, value in self._leaves if wanted and _is_at(path, wanted) and _is_text(value)
        )

    def has_new(self, before: Listing, known: Collection[str]) -> bool:
        """True if the list may show a key that an earlier one did not, beside those that are known."""
        is_named = bool(self.keys or before.keys)
        new = self.keys - before.keys if is_named else self._texts - before._texts
        return not {_plain(text) for text in new} <= set(map(_plain, known))

    def places(self, key: str, key_type: str) -> frozenset[Place]:
        """Every place where the key stands, as a value or as a name."""
        plain = _plain(key)
        return frozenset(
            Place(_pattern(path, key, key_type), self._around(_item(path, key), key, key_type))
            for path, value in self._leaves
            if plain and any(_is_text(part) and _plain(str(part)) == plain for part in (*path, value))
        )

    def places_like(self, places: Collection[Place]) -> Iterator[frozenset[Place]]:
        """The places of each key that stands at one of these paths."""
        paths = {place.path for place in places}
        for path, value in self._leaves:
            for part in {part for part in (*path, value) if isinstance(part, str) and _plain(part)}:
                for key_type in KEY_TYPES:
                    if _pattern(path, part, key_type) in paths:
                        yield self.places(part, key_type)

    @cached_property
    def _texts(self) -> frozenset[str]:
        """The keys where the profile says that they stand, if any are there; else every text, number and name."""
        parts = (part for path, value in self._leaves for part in (*path, value) if _is_text(part))
        return self.keys or frozenset(map(str, parts))

    @cached_property
    def _plain_texts(self) -> frozenset[str]:
        return frozenset(map(_plain, self._texts))

    def _around(self, item: JsonPath, key: str, key_type: str) -> frozenset[tuple[str, str]]:
        """The members of the item, and the plain members of the items around it."""
        outermost = next((at for at, part in enumerate(item) if isinstance(part, int)), len(item))
        return frozenset(
            (_pattern(path, key, key_type), _normal(value, key, key_type))
            for path, value in self._leaves
            if path[: len(item)] == item or (len(path) > outermost + 1 and path[:-1] == item[: len(path) - 1])
        )


def _is_at(path: JsonPath, wanted: list[str]) -> bool:
    return len(path) == len(wanted) and all(name in (_ANY, str(part)) for part, name in zip(path, wanted, strict=True))


def _item(path: JsonPath, key: str) -> JsonPath:
    """The innermost item that holds the key: an element of an array, or the member that has the key as its name."""
    ends = [at for at, part in enumerate(path) if isinstance(part, int) or _is(key, part)]
    return path[: ends[-1] + 1] if ends else path


def _pattern(path: JsonPath, key: str, key_type: str) -> str:
    return "/".join(_ANY if isinstance(part, int) else _normal(part, key, key_type) for part in path)


def _normal(value: Any, key: str, key_type: str) -> str:
    """A value, with a placeholder for the key, its type, a time or an identifier."""
    if _is(key, value):
        return _KEY
    if isinstance(value, str):
        if value.casefold() == key_type.casefold():
            return _TYPE
        return VARYING.sub("#", value) if len(value) >= _LONG else value
    if isinstance(value, HugeNumber) or (is_number(value) and abs(value) >= _LARGE):
        return "#"
    return str(value)


def _is(key: str, value: Any) -> bool:
    return _is_text(value) and bool(_plain(key)) and _plain(str(value)) == _plain(key)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (not isinstance(value, HugeNumber) and is_number(value))


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-z@]", "", text.casefold())
