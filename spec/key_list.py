"""Contents of a list of keys, whose shape the interface document does not show.

Source: interface document, Resources and their fields, last line. A key is in the list if one of its texts is the key,
punctuation and letter case apart; a profile may name the place of the keys.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import unquote

from spec.exchange import Exchange
from spec.interface import KEY_TYPES, MARK
from spec.json_text import HugeNumber, JsonPath, folded, leaves_of, parts_of_pointer
from spec.message import Text, say

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
"""Numbers and identifiers, which differ from answer to answer."""
_KEY, _TYPE, _ANY = "<key>", "<type>", "*"
_LONG = 8
"""Texts of this length or more may be identifiers or times, which differ from key to key."""
_LARGE = 1_000_000
"""Numbers from here on may be times; smaller ones may be the status of a key."""
_LAST_DIGITS = 8
"""Digits by which a number is known: the local part of a phone number, without country and area. Of a CPF or a CNPJ
they are enough, too."""
_FEWEST_DIGITS_SHOWN = 3
"""Digits that a service leaves of a number, as a rule the last four."""
_FEW = 40
"""Values of an item of a list. What holds more is a list itself, in which digits of several keys would meet."""
_MOST_ITEMS = 10
"""Items of a list in which one key may stand. For each of them the whole list is walked through."""
_MASK = re.compile(r"[*#•●\u2217\uff0a…]|x{3}|\.\.", re.IGNORECASE)
"""Signs in the place of characters that are hidden."""
_NO_DIGITS = bytes(range(128)).translate(None, b"0123456789")
_NO_PART_OF_A_KEY = bytes(range(128)).translate(None, b"0123456789abcdefghijklmnopqrstuvwxyz@")
_PUNCTUATION = re.compile(r"[\W_]+")
"""What is neither a letter nor a digit of any script."""
_MANY = 100
"""Masked texts of a list that are compared with each key of the run."""
_LONGEST = 300
"""Signs of the longest text that may be a masked key."""
_MORE = re.compile(r"(has)?(more|next).*|.*(cursor|continuation).*")
"""Names of members that say where the list goes on, folded. Their value is empty at its end."""
_NUMBER_OF_KEYS = re.compile(r"total|total(count|elements|items|keys|records|results|size)|count|number(ofkeys)?")
_NUMBER_OF_PAGES = re.compile(r"(total|number|last)?(of)?pages?(count)?")
_OWN_PAGE = frozenset({"page", "pagenumber", "currentpage", "size", "pagesize"})
_NOT_THERE = object()


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
        at_pointer = list(_values_at(text and text.value, parts_of_pointer(key_at))) if key_at else []
        self._lacks_a_key = not key_at or any(not _is_text(value) for value in at_pointer)
        self._headers = exchange.response.headers if exchange.response else ()
        self.values = [str(value) for value in at_pointer if _is_text(value)]
        self.keys = frozenset(self.values)

    @cached_property
    def all_texts(self) -> frozenset[str]:
        """Every text, number and name. Made only if it is asked for: a list may have 100,000 of them."""
        return frozenset(str(part) for path, value in self._leaves for part in (*path, value) if _is_text(part))

    @property
    def texts(self) -> frozenset[str]:
        """The keys at `key_at`, if any; else every text."""
        return self.keys or self.all_texts

    @cached_property
    def plain_texts(self) -> frozenset[str]:
        """The texts without punctuation and letter case."""
        return frozenset(map(plain, self.texts)) - {""}

    def shows(self, key: str) -> bool:
        """True if one of the texts is the key, in any punctuation and letter case; a synthetic one as it is, as some
        differ in that alone."""
        return key in self.texts or (MARK not in key and plain(key) in self.plain_texts)

    @cached_property
    def _masked(self) -> Counter[str]:
        """The masked texts: keys at `key_at`, if any, and pieces of numbers there; else any value with a sign of a
        mask."""
        if self.values:
            return Counter(text for text in self.values if len(text) <= _LONGEST and _is_masked(text))
        texts = (str(value) for _, value in self._leaves if isinstance(value, str) and len(value) <= _LONGEST)
        return Counter(filter(has_mask, texts))

    # -- what it can prove -------------------------------------------------------------------------------------

    def may_show(self, key: str) -> bool:
        """True if any part of the list may be the key. Letters are compared casefolded and without punctuation, a
        number by its last eight digits; both also if they are spread over several members of one item."""
        number = _digits(key)[-_LAST_DIGITS:]
        if "@" in key or UUID.fullmatch(key) or len(number) < _LAST_DIGITS:
            wanted = _letters_and_digits(key)
            return bool(wanted) and wanted in self._all_letters_and_digits
        return number in self._all_digits or self._has_the_parts_of(number)

    @cached_property
    def _all_digits(self) -> str:
        """The digits of all values in their order, and on a line of its own those of each text, number and name."""
        return "\n".join([_digits(self._all_letters_and_digits), *map(_digits, self.all_texts)])

    @cached_property
    def hides_keys(self) -> bool:
        """True if a key that it shows is masked or cut: nobody can tell from the list which keys are there."""
        return any(map(_is_masked, self.values))

    def may_hide(self, key: str, before: Listing | None = None) -> bool:
        """True if a masked text may be the key: nobody can tell whether it is there. With `before`, one that this list
        had does not count. Where so many are masked that it takes long to look, any may be."""
        masked = self._masked - before._masked if before else self._masked
        return len(masked) > _MANY or any(_may_stand_for(text, key) for text in masked)

    @property
    def incomplete(self) -> Text:
        """Reason why the list may lack keys of the account; empty if nothing says so."""
        if not self.is_readable:
            return say("the list of keys cannot be read")
        if self._lacks_a_key:
            return say("key_at is not the place where listPixKeys shows each key")
        if self._goes_on:
            return say("the list of keys is not complete: it says that there are more")
        return ""

    @property
    def _goes_on(self) -> bool:
        """True if a member beside the keys, or a header, says that there are more of them than the list shows."""
        for path, value in self._leaves:
            is_in_an_item = any(isinstance(part, int) for part in path)
            names = [] if is_in_an_item else [folded(part) for part in path if isinstance(part, str)]
            if names and self._says_more(names, value):
                return True
        headers = {name.lower(): value for name, value in self._headers}
        is_linked = re.search(r"rel=\"?next\b", headers.get("link", "")) is not None
        return is_linked or self._is_more_than_shown(headers.get("x-total-count", ""))

    def _says_more(self, names: list[str], value: Any) -> bool:
        if any(map(_MORE.fullmatch, names)):
            return value not in (None, False, "", 0, {}) and value != []
        last = names[-1]
        if last == "last":  # as Spring's pages say it
            return value is False
        if last in _OWN_PAGE:
            return False
        if _NUMBER_OF_PAGES.fullmatch(last):
            return _number_of(value) > 1
        return bool(_NUMBER_OF_KEYS.fullmatch(last)) and self._is_more_than_shown(value)

    def _is_more_than_shown(self, value: Any) -> bool:
        return _number_of(value) > len(self.values)

    @cached_property
    def _all_letters_and_digits(self) -> str:
        """Every value in its order as one text: what is spread over the members of an item stands together there."""
        return "".join(_letters_and_digits(_written(value)) for _, value in self._leaves if _is_text(value))

    def _has_the_parts_of(self, number: str) -> bool:
        """True if members of one item make up the end of a number, in whatever order they stand."""
        return any(_ends_with_parts(number, parts) for parts in self._digits_by_item)

    @cached_property
    def _digits_by_item(self) -> list[set[str]]:
        """The digits in the members of each item, but of one that is a list itself."""
        items: dict[JsonPath, set[str]] = {}
        for path, value in self._leaves:
            digits = _digits(_written(value)) if _is_text(value) else ""
            if len(digits) > 1:  # of single digits any number could be made
                for end in range(len(path)):
                    items.setdefault(path[:end], set()).add(digits)
        return [parts for parts in items.values() if len(parts) <= _FEW]

    # -- how a key stands -------------------------------------------------------------------------------------

    def places(self, key: str, key_type: str) -> frozenset[Place]:
        """Every place where the key stands, as a value or as a name. None if it stands in many items: nobody can tell
        from such a list how a key stands there."""
        paths = [path for path, _ in self._leaves_by_text.get(plain(key), ())]
        items = {_item(path, key) for path in paths}
        if len(items) > _MOST_ITEMS:
            return frozenset()
        around = {item: self._around(item, key, key_type) for item in items}
        return frozenset(Place(_pattern(path, key, key_type), around[_item(path, key)]) for path in paths)

    @cached_property
    def _leaves_by_text(self) -> dict[str, list[tuple[JsonPath, Any]]]:
        """The leaves in which a text stands, as a value or as a name, by the text without punctuation and letter
        case."""
        leaves: dict[str, list[tuple[JsonPath, Any]]] = {}
        for path, value in self._leaves:
            texts = {plain(str(part)) for part in (*path, value) if _is_text(part)}
            for text in texts - {""}:
                leaves.setdefault(text, []).append((path, value))
        return leaves

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


def _is_masked(text: str) -> bool:
    """True if a text is a masked key, or a piece of a number."""
    is_short = len(_letters_and_digits(text)) < _LAST_DIGITS and "@" not in text
    is_a_piece = is_short and len(_digits(text)) >= _FEWEST_DIGITS_SHOWN
    return has_mask(text) or is_a_piece


def has_mask(text: str) -> bool:
    """True if signs of a mask are in a text, so that it is no key."""
    return bool(_MASK.search(text))


def _may_stand_for(text: str, key: str) -> bool:
    """True if the letters and digits that a masked text shows are in the key, in their order. Punctuation apart; a
    number may lack its country code, anything else begins and ends as the key does."""
    pieces, whole, place = _shown_pieces(text), _compared(key), 0
    if not whole.isdecimal() and not (whole.startswith(pieces[0]) and whole.endswith(pieces[-1])):
        return False
    for piece in pieces:
        place = whole.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


@lru_cache(maxsize=_MANY)
def _shown_pieces(text: str) -> list[str]:
    """The pieces between the signs of a mask, as they are compared."""
    return [_letters_and_digits(piece) for piece in _MASK.split(unquote(text))]


@lru_cache(maxsize=1_000)
def _compared(key: str) -> str:
    """A key of the run as it is compared: with each masked text of each list."""
    return _letters_and_digits(key)


def may_be_masked(text: str, key: str) -> bool:
    """True if the text may be the key with some of its characters hidden."""
    shown = [re.escape(piece) for piece in re.split(rf"(?:{_MASK.pattern})+", text, flags=re.IGNORECASE)]
    return _is_masked(text) and re.fullmatch(".*".join(shown), key, re.IGNORECASE | re.DOTALL) is not None


def _values_at(value: Any, wanted: list[str]) -> Iterator[Any]:
    """The values at a JSON pointer in which * is every item; `_NOT_THERE` in the place of one that is missing."""
    if not wanted:
        yield value
        return
    name, rest = wanted[0], wanted[1:]
    if isinstance(value, list):
        members = {str(place): item for place, item in enumerate(value)}
    else:
        members = value if isinstance(value, dict) else {}
    if name == _ANY and isinstance(value, dict | list):
        for item in members.values():
            yield from _values_at(item, rest)
    else:
        yield from _values_at(members[name], rest) if name in members else [_NOT_THERE]


def _ends_with_parts(number: str, parts: set[str]) -> bool:
    """True if the end of a number can be put together from these digits, the last part first."""
    return any(
        part.endswith(number) or (number.endswith(part) and _ends_with_parts(number[: -len(part)], parts))
        for part in parts
    )


def _number_of(value: Any) -> int:
    """A number, or a text of digits, as an integer; 0 for anything else."""
    text = str(value) if _is_text(value) else ""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def _written(value: Any) -> str:
    """A value with all its digits; a percent-encoded text as it is meant."""
    if isinstance(value, Decimal):
        return f"{value:f}" if abs(value.adjusted()) < 40 else str(value)
    return unquote(str(value))


def _digits(text: str) -> str:
    return _ascii_without(_NO_DIGITS, unicodedata.normalize("NFKC", text))


def _letters_and_digits(text: str) -> str:
    """A text without punctuation and letter case, with digits of any width as the usual ones."""
    return _PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold())


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
    return _ascii_without(_NO_PART_OF_A_KEY, text.casefold())


def _ascii_without(removed: bytes, text: str) -> str:
    """The characters of ASCII in a text, but for these. A regular expression takes seconds for a long text."""
    return text.encode("ascii", "ignore").translate(None, delete=removed).decode()
