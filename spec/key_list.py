"""How a key stands in an answer whose shape is not shown: the list of keys.

Source: interface document, Resources and their fields, last line. Nothing is supposed of names and nesting: the places
of one key are compared with those of another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spec.exchange import Exchange
from spec.json_text import HugeNumber, is_number

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_KEY, _TYPE, _ANY = "<key>", "<type>", "*"
_VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
_LONG = 8
"""Characters from which a text may be an identifier or a time, which differ from key to key."""
_LARGE = 1_000_000
"""Numbers from here on may be times; smaller ones may say how a key stands."""
_ENOUGH = 3
"""Values that are all different, of as many keys, say nothing of how a key stands."""
_SAYS_NOTHING = re.compile(
    rf"{_KEY}|{_TYPE}|[#:.+/TZ -]+|active|registered|confirmed|enabled|done|ok|ativ[ao]|registrad[ao]|confirmad[ao]",
    re.IGNORECASE,
)
"""Values of which none says that a key waits: the key, its type, times, identifiers, and that it is in use."""
_SAYS_NOT_YET = re.compile(
    "pend|wait|attempt|fail|reject|refus|deni|histor|request|confirm|tentativ|aguard|espera|recus|falh|solicit",
    re.IGNORECASE,
)
"""Names of members under which keys may stand that are not registered."""
Leaf = tuple[tuple[str | int, ...], Any]


@dataclass(frozen=True)
class Place:
    """Where a key stands: the path, without what names the key, and what stands around it in the same item."""

    path: str
    around: frozenset[tuple[str, str]]


class Listing:
    """One answer to listPixKeys that was a success."""

    def __init__(self, exchange: Exchange) -> None:
        text = exchange.response.json if exchange.response else None
        self.number = exchange.number
        self._value = text.value if text and text.readable else None
        self._raw = exchange.response.body.decode("utf-8", "replace") if exchange.response and text else ""

    def shows(self, key: str) -> bool:
        """Whether the key stands anywhere, in whatever punctuation."""
        if not key:
            return False
        return key in self._raw or any(_is_in(key, part) for path, value in self._leaves for part in (*path, value))

    def places(self, key: str, kind: str) -> frozenset[Place]:
        """Every place where the key stands, as a value or as a name."""
        return frozenset(
            Place(_pattern(path, key, kind), self._around(_item(path, key), key, kind))
            for path, value in self._leaves
            if key and any(_is_in(key, part) for part in (*path, value))
        )

    def texts_at(self, paths: Collection[str], kinds: Collection[str]) -> frozenset[str]:
        """The texts that stand at one of these paths: keys, where keys of these types stand there."""
        return frozenset(
            part
            for path, value in self._leaves
            for part in (*path, value)
            if isinstance(part, str) and _plain(part)
            if any(_pattern(path, part, kind) in paths for kind in kinds)
        )

    @cached_property
    def _leaves(self) -> list[Leaf]:
        return list(_flattened(self._value, ()))

    def _around(self, item: tuple[str | int, ...], key: str, kind: str) -> frozenset[tuple[str, str]]:
        """What the item holds, and the plain members of the items that it stands in."""
        outermost = next((at for at, part in enumerate(item) if isinstance(part, int)), len(item))
        return frozenset(
            (_pattern(path, key, kind), _normal(value, key, kind))
            for path, value in self._leaves
            if path[: len(item)] == item or (len(path) > outermost + 1 and path[:-1] == item[: len(path) - 1])
        )


def alike(places: Collection[Place], references: Collection[Collection[Place]]) -> bool:
    """Whether a key stands where, and as, keys stand that were accepted: each reference is the places of one key."""
    known = [place for reference in references for place in reference]
    return bool(places) and all(
        any(_agree(place, other, [each for each in known if each.path == place.path]) for other in known)
        for place in places
    )


def is_unmarked(places: Collection[Place], account: str) -> bool:
    """Whether nothing around a key says how it stands but that it is in use: a lawful list may show keys that wait."""
    return bool(places) and all(
        not _SAYS_NOT_YET.search(f"{place.path} {name}") and (value == account or _SAYS_NOTHING.fullmatch(value))
        for place in places
        for name, value in place.around
    )


def accepted_alike(places: Collection[Place], references: Collection[Collection[Place]]) -> bool:
    """Whether a key stands like keys that were accepted, and at every path where all of them stand.

    What a list holds beside its keys, a history of requests or the last one, shows keys that were refused, too.
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


def _flattened(value: Any, path: tuple[str | int, ...]) -> Iterator[Leaf]:
    parts: list[tuple[str | int, Any]] = []
    if isinstance(value, Mapping):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    if not parts:
        yield path, value
    for name, part in parts:
        yield from _flattened(part, (*path, name))


def _item(path: tuple[str | int, ...], key: str) -> tuple[str | int, ...]:
    """The innermost item that holds the key: of an array, or the member that is called like the key."""
    ends = [at for at, part in enumerate(path) if isinstance(part, int) or _is_in(key, part)]
    return path[: ends[-1] + 1] if ends else path


def _pattern(path: tuple[str | int, ...], key: str, kind: str) -> str:
    return "/".join(_ANY if isinstance(part, int) else _normal(part, key, kind) for part in path)


def _normal(value: Any, key: str, kind: str) -> str:
    """A value without what names the key, its type, a time or an identifier."""
    if _is_in(key, value):
        return _KEY
    if isinstance(value, str):
        if value.casefold() == kind.casefold():
            return _TYPE
        return _VARYING.sub("#", value) if len(value) >= _LONG else value
    if isinstance(value, HugeNumber) or (is_number(value) and abs(value) >= _LARGE):
        return "#"
    return str(value)


def _is_in(key: str, value: Any) -> bool:
    if not isinstance(value, str) and (isinstance(value, HugeNumber) or not is_number(value)):
        return False
    plain = _plain(key)
    return bool(plain) and plain in _plain(str(value))


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-z@]", "", text.casefold())
