"""Contents of a list of keys, whose shape the interface document does not show.

Source: interface document, Resources and their fields, last line. A key is in the list if one of its texts is the key,
punctuation and letter case apart; a profile may name the place of the keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from spec.exchange import Exchange
from spec.interface import KEY_TYPES, MARK
from spec.json_text import HugeNumber, JsonPath, leaves_of, parts_of_pointer

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
"""Numbers and identifiers, which differ from answer to answer."""
_KEY, _TYPE, _ANY = "<key>", "<type>", "*"
_LONG = 8
"""Texts of this length or more may be identifiers or times, which differ from key to key."""
_LARGE = 1_000_000
"""Numbers from here on may be times; smaller ones may be the status of a key."""


@dataclass(frozen=True)
class Place:
    """Place of a key: the path without the key itself, and the other members of the same item."""

    path: str
    around: frozenset[tuple[str, str]]


class Listing:
    """One successful answer to listPixKeys. `key_at` is the JSON pointer to its keys, with * for every item, where the
    profile names it. `texts` are the keys that stand there, if any; else every text, number and name."""

    def __init__(self, exchange: Exchange, key_at: str | None = None) -> None:
        text = exchange.response and exchange.response.json
        self.number, self.is_readable = exchange.number, bool(text and text.readable)
        self._leaves = leaves_of(text and text.value)
        self.keys = frozenset(self._at(parts_of_pointer(key_at)) if key_at else ())
        self.all_texts = frozenset(
            str(part) for path, value in self._leaves for part in (*path, value) if _is_text(part)
        )
        self.texts = self.keys or self.all_texts
        self.plain_texts = frozenset(map(plain, self.texts)) - {""}

    def shows(self, key: str) -> bool:
        """True if one of the texts is the key, in any punctuation and letter case; a synthetic one as it is, as some
        differ in that alone."""
        return key in self.texts or (MARK not in key and plain(key) in self.plain_texts)

    def mentions(self, key: str) -> bool:
        """True if any text, at whatever place, is the key."""
        return plain(key) in map(plain, self.all_texts)

    def _at(self, wanted: list[str]) -> Iterator[str]:
        for path, value in self._leaves:
            is_there = all(name in (_ANY, str(part)) for part, name in zip(path, wanted, strict=False))
            if is_there and len(path) == len(wanted) and _is_text(value):
                yield str(value)

    # -- how a key stands -------------------------------------------------------------------------------------

    def places(self, key: str, key_type: str) -> frozenset[Place]:
        """Every place where the key stands, as a value or as a name."""
        return frozenset(
            Place(_pattern(path, key, key_type), self._around(_item(path, key), key, key_type))
            for path, value in self._leaves
            if any(_is(key, part) for part in (*path, value))
        )

    def places_like(self, places: Collection[Place]) -> Iterator[frozenset[Place]]:
        """The places of each key that stands at one of these paths."""
        paths = {place.path for place in places}
        for path, value in self._leaves:
            for part in {part for part in (*path, value) if isinstance(part, str) and plain(part)}:
                for key_type in KEY_TYPES:
                    if _pattern(path, part, key_type) in paths:
                        yield self.places(part, key_type)

    def _around(self, item: JsonPath, key: str, key_type: str) -> frozenset[tuple[str, str]]:
        """The members of the item, and the plain members of the items around it."""
        outermost = next((at for at, part in enumerate(item) if isinstance(part, int)), len(item))
        return frozenset(
            (_pattern(path, key, key_type), _normal(value, key, key_type))
            for path, value in self._leaves
            if path[: len(item)] == item or (len(path) > outermost + 1 and path[:-1] == item[: len(path) - 1])
        )


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
        is_type = value.casefold() == key_type.casefold()
        return _TYPE if is_type else VARYING.sub("#", value) if len(value) >= _LONG else value
    is_large = abs(value) >= _LARGE if isinstance(value, Decimal) else isinstance(value, HugeNumber)
    return "#" if is_large else str(value)


def _is(key: str, value: Any) -> bool:
    return _is_text(value) and bool(plain(key)) and plain(str(value)) == plain(key)


def _is_text(value: Any) -> bool:
    return isinstance(value, str | Decimal)


def plain(text: str) -> str:
    """A text without punctuation and letter case."""
    return re.sub(r"[^0-9a-z@]", "", text.casefold())
