"""What a list of keys shows, and what it cannot tell.

A list is the answer to GET /v1/pix/keys/{accountId}. The interface document does not show its shape (Resources and
their fields, last line). So a key is in the list if one of the texts in it is the key, in any punctuation and letter
case. The profile may say where the keys are with `key_at`, a JSON pointer (RFC 6901) in which * is every item.

The run reads a list before and after each deletion, to see what became of a key. Outside a sandbox a key counts as
listed as soon as any part of the list may be the key, because a deletion could delete the key of a real customer.

| word | meaning |
|---|---|
| masked text | a key with some of its characters hidden, such as `***.456.789-**` |
| item | an entry of the list, with a key and what the service says about it |
| plain text | a key without punctuation and letter case, so that two spellings of one key are equal |
| holder | an object or array around a value |
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import unquote

from spec.exchange import Exchange
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.json_text import HugeNumber, JsonPath, folded, leaves_of, parts_of_pointer
from spec.message import Text, say

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""The usual form of a RANDOM key."""
VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
"""Numbers and identifiers, which differ from answer to answer."""
_ANY_ITEM = "*"
"""Part of a pointer for every item of an array and every member of an object."""
_NO_DIGITS = bytes(range(128)).translate(None, b"0123456789")
"""The ASCII characters that are no digits."""
_NO_PART_OF_A_KEY = bytes(range(128)).translate(None, b"0123456789abcdefghijklmnopqrstuvwxyz@")
"""The ASCII characters that do not count if two keys are compared. The text is in small letters by then."""
_PUNCTUATION = re.compile(r"[\W_]+")
"""Characters that are neither letters nor digits of any script."""
_LAST_DIGITS = 8
"""Number of last digits by which a number is recognized. They are the local part of a phone number, without country and
area code. For a CPF or a CNPJ they are enough, too."""
_FEWEST_DIGITS_SHOWN = 3
"""Fewest digits of a short text that may be the end of a masked number. Services usually show four digits. A choice."""
_MOST_VALUES_OF_AN_ITEM = 40
"""Most values of one item of a list. An object or array with more values holds several items. Digits of different keys
in it could make up a number by chance. The number is a choice."""
_MASK = re.compile(r"[*#•●\u2217\uff0a…]|x{3}|\.\.", re.IGNORECASE)
"""Signs that are written instead of hidden characters."""
_MOST_MASKED = 100
"""Most masked texts of a list that are compared with each key of the run, because this takes time. A choice."""
_LONGEST_MASKED = 300
"""Most characters of a text that may be a masked key: no key is nearly so long."""
_OF_ANOTHER_TYPE = re.compile(r".*@.*|\+?[0-9][0-9 ().\-/]{8,18}[0-9]")
"""An e-mail address, a phone number, a CPF or a CNPJ. Such a text is no RANDOM key, whose value the service chose."""

# Names of members that say whether the list has further parts (pages). They are folded: in small letters, without
# separators.
_NEXT_PART = re.compile(r"(has)?(more|next).*|.*(cursor|continuation).*")
"""Members that lead to the next part. Their value is empty at the end of the list."""
_NUMBER_OF_KEYS = re.compile(r"total|total(count|elements|items|keys|records|results|size)|count|number(ofkeys)?")
"""Members with the number of all keys. If the list shows fewer keys, there are further parts."""
_NUMBER_OF_PAGES = re.compile(r"(total|number|last)?(of)?pages?(count)?")
"""Members with the number of all pages. If there is more than one page, there are further parts."""
_OWN_PAGE = frozenset({"page", "pagenumber", "currentpage", "size", "pagesize"})
"""Members about the part of the list that this answer shows. They do not say whether there are further parts, although
`page` matches the pattern of a number of pages."""


ValuesBeside = frozenset[tuple[str, str]]
"""What the list says about a key: names and values beside it, such as `{("0/pixKeyType", "<type>"),
("0/status", "ACTIVE")}`.

Values that differ from key to key are replaced by placeholders such as `<type>`, so that two keys with the same status
have equal sets. A name begins with the number of the object in which it is: 0 is the outermost object of the item."""

NOT_AT_KEY_AT = say("key_at is not the place where listPixKeys shows each key")
"""Reason why a list cannot be compared with another one."""


class Listing:
    """One successful answer to listPixKeys.

    `key_at` is the JSON pointer to its keys, with * for every item, if the profile names it.

    | method | true if |
    |---|---|
    | `shows` | a text that may be a key is this key |
    | `shows_outside_key_at` | the list has the key, but surely not at `key_at` |
    | `may_show` | any part of the list may be the key; in doubt it is true |
    | `may_show_masked` | a masked text of the list may be the key |
    | `hides_keys` | any key at `key_at` is masked or cut |
    """

    def __init__(self, exchange: Exchange, key_at: str | None = None) -> None:
        """Read the list from the answer of the exchange.

        `key_at` is the JSON pointer to the keys, such as /data/keys/*/key, if the profile (the settings of the run) has
        one.
        """
        response = exchange.response
        self._headers = response.headers if response else ()
        self._value = response.json.value if response else None
        self._pointer = parts_of_pointer(key_at) if key_at else []
        at_pointer = []  # the value of each item at `key_at`: _ABSENT if the item has no value there
        if key_at:
            at_pointer = list(_values_at(self._value, self._pointer))
        each_has_a_key = all(_is_text_or_number(value) for value in at_pointer)
        # True also if the profile has no `key_at`, because then nobody knows where the keys are.
        self._some_item_has_no_key = not key_at or not each_has_a_key
        self.number = exchange.number
        """The number of the exchange."""
        self.is_readable = response is not None and response.json.readable
        """True if it is JSON, and exceeds no limit of the suite."""
        self.values = [str(value) for value in at_pointer if _is_text_or_number(value)]
        """The keys at `key_at`, with repeats."""
        self.keys = frozenset(self.values)
        """The distinct keys at `key_at`."""

    @cached_property
    def _leaves(self) -> list[tuple[JsonPath, Any]]:
        """Every value of the list that is no object and no array, with the path of names and indexes to it.

        Such as (("data", "keys", 0), "a@b.example").
        """
        return leaves_of(self._value)

    @cached_property
    def all_texts(self) -> frozenset[str]:
        """Every text, number and member name of the list as text, because each may be a key. Array indexes are not.

        It is computed at the first use, because a list may have 100,000 values. Often it is not needed: if the settings
        of the run say where the keys are (`key_at`), only the texts there are keys.
        """
        texts = set[str]()
        for path, value in self._leaves:
            # An index of an array in the path is an int, and a number of the list a Decimal. Only the latter counts.
            names_and_value = [part for part in (*path, value) if _is_text_or_number(part)]
            texts.update(map(str, names_and_value))
        return frozenset(texts)

    @property
    def texts(self) -> frozenset[str]:
        """The texts that may be keys.

        These are the texts at `key_at`, the JSON pointer to the keys, which the settings of the run have. If there are
        none, these are all texts, numbers and member names of the list.
        """
        return self.keys or self.all_texts

    @cached_property
    def plain_texts(self) -> frozenset[str]:
        """The texts that may be keys, without punctuation and letter case, so that spellings of a key are equal."""
        return frozenset(map(plain, self.texts)) - {""}  # a text of punctuation alone is no key

    def shows(self, key: str) -> bool:
        """True if one of the texts that may be keys is this key, in any punctuation and letter case.

        A synthetic key (one that the suite made up) must be listed exactly as it is, because some synthetic keys differ
        in letter case alone.
        """
        if key in self.texts:
            return True
        is_synthetic = SYNTHETIC_PREFIX in key
        return not is_synthetic and plain(key) in self.plain_texts

    def shows_outside_key_at(self, key: str) -> bool:
        """True if the list has the key, but surely not at `key_at`, the place of the keys by the settings of the run.

        Then `key_at` is probably wrong. The result is False if a text at `key_at` may be the key in another form: a
        number without its country code, or a masked text such as `+55*******4321`.
        """
        plain_key = plain(key)
        if not plain_key or plain_key not in self._plain_texts_anywhere:
            return False
        end_of_key = plain_key
        if plain_key.isdecimal():
            end_of_key = plain_key[-_LAST_DIGITS:]  # without a country code, which the list may leave out
        may_be_at_key_at = any(plain(text).endswith(end_of_key) for text in self.keys)
        return not may_be_at_key_at and not self.may_show_masked(key)

    @cached_property
    def _plain_texts_anywhere(self) -> frozenset[str]:
        """Every text, number and member name of the whole list, without punctuation and letter case."""
        return frozenset(map(plain, self.all_texts))

    @cached_property
    def _masked_texts(self) -> Counter[str]:
        """The texts that may be keys with some characters hidden, such as `***.456.789-**`, and how often each occurs.

        If the list has keys at `key_at` (the JSON pointer to the keys, which the settings of the run have), only these
        texts are looked at: the masked and cut texts among them are returned. If not, all strings of the list with a
        sign of a mask are returned.
        """
        if self.values:
            short_keys = [text for text in self.values if len(text) <= _LONGEST_MASKED]
            return Counter(text for text in short_keys if _is_masked_or_cut(text))
        strings = [value for _, value in self._leaves if isinstance(value, str)]
        short_strings = [text for text in strings if len(text) <= _LONGEST_MASKED]
        return Counter(text for text in short_strings if has_mask(text))

    # -- whether a key may be there nevertheless ---------------------------------------------------------------

    def may_show(self, key: str) -> bool:
        """True if any part of the list may be the key. In doubt it is True, so that no listed key is overlooked.

        An e-mail address or a RANDOM key is compared without letter case and punctuation, and a number by its last
        eight digits. A key is also found if it is spread over several members of one item.
        """
        last_digits = _digits_of(key)[-_LAST_DIGITS:]
        is_email_address = "@" in key
        is_random_key = UUID.fullmatch(key) is not None
        has_enough_digits = len(last_digits) == _LAST_DIGITS
        if has_enough_digits and not is_email_address and not is_random_key:  # a phone number, a CPF or a CNPJ
            return last_digits in self._all_digits or self._has_the_parts_of(last_digits)
        letters_and_digits = _letters_and_digits_of(key)
        return bool(letters_and_digits) and letters_and_digits in self._all_letters_and_digits

    @cached_property
    def _all_digits(self) -> str:
        """Lines of digits, in which `may_show` looks for a number.

        The first line has the digits of all values in the order of the list, so that a number is also found if it is
        spread over several values. Each further line has the digits of one text, number or member name.
        """
        digits_of_all_values = _digits_of(self._all_letters_and_digits)
        digits_of_each_text = [_digits_of(text) for text in self.all_texts]
        return "\n".join([digits_of_all_values, *digits_of_each_text])

    @cached_property
    def hides_keys(self) -> bool:
        """True if one of the keys is masked or cut, so that nobody can tell which keys are listed.

        A masked key has hidden characters, such as `+55*******4321`. Only the texts at `key_at` count, the place of the
        keys by the settings of the run.
        """
        return any(_is_masked_or_cut(text) for text in self.values)

    def may_show_masked(self, key: str, before: Listing | None = None) -> bool:
        """True if a masked text of the list, such as `+55*******4321`, may be the key.

        Then nobody can tell whether the key is listed. If `before` is an earlier list, only masked texts that are new
        since then are compared. If they are too many to compare, it is True, because any of them may be the key.
        """
        masked_texts = self._masked_texts
        if before:
            masked_texts = masked_texts - before._masked_texts
        has_too_many = len(masked_texts) > _MOST_MASKED
        return has_too_many or any(_may_show_key_masked(text, key) for text in masked_texts)

    @property
    def incomplete(self) -> Text:
        """Why the list may lack keys of the account, so that an absent key proves nothing; empty if there is no reason.

        Such as "the list of keys cannot be read".
        """
        if not self.is_readable:
            return say("the list of keys cannot be read")
        if self._some_item_has_no_key:
            return NOT_AT_KEY_AT
        if self._has_further_pages:
            return say("the list of keys is not complete: it says that there are more")
        return ""

    @property
    def _has_further_pages(self) -> bool:
        """True if a member or a header of the answer says that the account has more keys than this list shows.

        Such as `"hasNext": true`, or the header `Link: <…>; rel="next"`.
        """
        for path, value in self._leaves:
            names = [folded(part) for part in path if isinstance(part, str)]
            is_outside_the_items = bool(path) and len(names) == len(path)  # the path has no index of an array
            if is_outside_the_items and self._says_more(names, value):
                return True
        headers = {name.lower(): value for name, value in self._headers}
        link = headers.get("link", "")
        links_to_next_page = re.search(r"rel=\"?next\b", link) is not None  # RFC 8288 section 3.3
        number_of_keys = headers.get("x-total-count", "")
        return links_to_next_page or self._is_more_than_shown(number_of_keys)

    def _says_more(self, names: list[str], value: Any) -> bool:
        """True if a member outside the items says that there are more keys, such as `hasNext` or `totalPages`.

        `names` are the folded names (small letters, no separators) of the member and, before it, of the objects around
        it: `["page", "hasnext"]`.
        """
        leads_to_next_part = any(_NEXT_PART.fullmatch(name) for name in names)
        if leads_to_next_part:
            is_empty = value in (None, False, "", 0, {}, [])  # an empty `next` means that this is the last part
            return not is_empty
        own_name = names[-1]
        if own_name == "last":  # the web framework Spring writes `"last": false` if there are further pages
            return value is False
        # `page` or `pageSize` is about the part that this answer shows, and does not say whether there are more.
        # Without these lines, `page` would match the pattern for the number of all pages.
        if own_name in _OWN_PAGE:
            return False
        if _NUMBER_OF_PAGES.fullmatch(own_name):
            return _number_of(value) > 1
        if _NUMBER_OF_KEYS.fullmatch(own_name):
            return self._is_more_than_shown(value)
        return False

    def _is_more_than_shown(self, value: Any) -> bool:
        """True if a value, such as that of `totalItems`, is a number greater than the number of keys in this list."""
        return _number_of(value) > len(self.values)

    @cached_property
    def _all_letters_and_digits(self) -> str:
        """The letters and digits of all values in the order of the list, as one text.

        A key that is spread over several members, such as the two sides of an e-mail address, is whole in this text.
        """
        texts = [_written_out(value) for _, value in self._leaves if _is_text_or_number(value)]
        return "".join(_letters_and_digits_of(text) for text in texts)

    def _has_the_parts_of(self, number: str) -> bool:
        """True if members of one item, put together in any order, make up the end of a number.

        The area code 11 and the local number 987654321 make up the end of +5511987654321.
        """
        return any(_ends_with_parts(number, parts) for parts in self._digits_by_item)

    @cached_property
    def _digits_by_item(self) -> list[set[str]]:
        """The digits of each value in an item, such as {"11", "987654321"}, for every item of the list.

        A phone number may be spread over members of an item, such as the area code and the local number. Every object
        or array with few values may be an item.
        """
        digits_by_holder: dict[JsonPath, set[str]] = {}
        for path, value in self._leaves:
            if not _is_text_or_number(value):
                continue
            digits = _digits_of(_written_out(value))
            if len(digits) < 2:  # any number can be put together from single digits
                continue
            for length in range(len(path)):  # for each object and array around the value
                holder = path[:length]
                digits_by_holder.setdefault(holder, set()).add(digits)
        return [parts for parts in digits_by_holder.values() if len(parts) <= _MOST_VALUES_OF_AN_ITEM]

    # -- what the list says about a key -----------------------------------------------------------------------

    def values_beside(self, key: str) -> set[ValuesBeside]:
        """What the list says about a key: names and values beside it, such as {("0/status", "ACTIVE")}.

        The 0 in `0/status` is the outermost object of the item, and 1 an object inside it. There is one such set for
        each item that has the key at `key_at`, the place of the keys by the settings of the run. By comparing the sets
        of two keys, the run finds out whether a key is listed in the same state as an accepted key.
        """
        # True if the items are the keys themselves, and no objects: ["a@b.example", "c@b.example"].
        items_are_keys = self._pointer[-1:] == [_ANY_ITEM]  # such as /data/keys/*
        values_of_items = set()
        for value, holders in _values_with_holders(self._value, self._pointer):
            if _is_the_key(value, key):
                values_of_items.add(_values_in_holders(holders, key, is_a_member=not items_are_keys))
        return values_of_items


_ABSENT = object()
"""Used as a value if there is no value at a pointer."""
_Holders = tuple[Any, ...]
"""The objects around a value in an item of the list, the outermost first."""


def _values_at(value: Any, pointer_parts: list[str]) -> Iterator[Any]:
    """The values inside `value` at a JSON pointer in which * is every item, such as /data/keys/*/key.

    If an item has no value there, `_ABSENT` is yielded, so that the caller sees that something is missing.
    """
    if not pointer_parts:  # the end of the pointer
        yield value
        return
    name, *further_parts = pointer_parts
    if isinstance(value, list):  # the parts of a pointer are texts, also if they are indexes
        members = {str(index): item for index, item in enumerate(value)}
    else:
        members = value if isinstance(value, dict) else {}
    if name == _ANY_ITEM and isinstance(value, dict | list):
        for item in members.values():
            yield from _values_at(item, further_parts)
    elif name in members:
        yield from _values_at(members[name], further_parts)
    else:
        yield _ABSENT


def _values_with_holders(
    value: Any, pointer_parts: list[str], holders: _Holders = (), *, is_in_an_item: bool = False
) -> Iterator[tuple[Any, _Holders]]:
    """The values inside `value` at a JSON pointer in which * is every item, each with the objects around it.

    In the list [{"id": "7", "pix": {"key": "a"}}] the pointer /*/pix/key leads to "a", and around it are the objects
    {"id": "7", …} and {"key": "a"}. The first of these objects (`holders`) is the item of the list, and the last one
    has the value as a member. Objects around the item do not count, because what they say is about all items. `holders`
    and `is_in_an_item` are for the recursive calls: what is known from the parts of the pointer before.
    """
    if not pointer_parts:  # the end of the pointer
        yield value, holders
        return
    name, *further_parts = pointer_parts
    if is_in_an_item and isinstance(value, dict):
        holders = (*holders, value)
    if name == _ANY_ITEM and isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        for item in items:
            yield from _values_with_holders(item, further_parts, holders, is_in_an_item=True)
    elif isinstance(value, dict) and name in value:
        yield from _values_with_holders(value[name], further_parts, holders, is_in_an_item=is_in_an_item)


def _values_in_holders(holders: _Holders, key: str, *, is_a_member: bool) -> ValuesBeside:
    """Names and values beside a key in an item of a list, such as {("0/status", "ACTIVE")}.

    `holders` are the objects around the key, the outermost first. `is_a_member` is True if the last of them has the key
    as a member. All values of this object are taken, also values that are nested deeper. Of the objects around it only
    direct members are taken, because a value that is nested deeper there may be about another key.
    """
    values = set()
    for depth, holder in enumerate(holders):
        is_own_object = is_a_member and depth == len(holders) - 1
        for path, value in leaves_of(holder):
            is_direct_member = len(path) == 1
            if is_own_object or is_direct_member:
                # An index of an array differs from key to key, so it is written as *.
                names = [_ANY_ITEM if isinstance(part, int) else _with_placeholders(part, key) for part in path]
                name_with_depth = "/".join([str(depth), *names])  # such as 0/status
                values.add((name_with_depth, _with_placeholders(value, key)))
    return frozenset(values)


_FEWEST_CHARACTERS_OF_AN_IDENTIFIER = 8
"""Fewest characters of a text that may be an identifier or a time, which differ from key to key. A choice."""
_SMALLEST_TIME = 1_000_000
"""Smallest number that may be a time, such as the seconds since 1970. A smaller number may be the status of a key. A
choice."""


def _with_placeholders(value: Any, key: str) -> str:
    """A value as text, with placeholders for what differs from key to key.

    The key itself becomes `<key>`, its type `<type>`, a time or an identifier `#`. So the values beside two keys are
    equal if the keys have the same status.
    """
    if _is_the_key(value, key):
        return "<key>"
    if isinstance(value, str):
        if value.upper() in KEY_TYPES:
            return "<type>"
        if len(value) < _FEWEST_CHARACTERS_OF_AN_IDENTIFIER:  # a short text such as `v2` is no time and no identifier
            return value
        return VARYING.sub("#", value)
    is_large = isinstance(value, Decimal) and abs(value) >= _SMALLEST_TIME  # perhaps a time in seconds since 1970
    has_thousands_of_digits = isinstance(value, HugeNumber)
    return "#" if is_large or has_thousands_of_digits else str(value)


# -- keys that are masked or cut ----------------------------------------------------------------------------------


def _is_masked_or_cut(text: str) -> bool:
    """True if a text may be a key with hidden characters: `+55*******4321`, or the end of a number, such as 4321."""
    is_short = len(_letters_and_digits_of(text)) < _LAST_DIGITS and "@" not in text
    may_be_end_of_number = is_short and len(_digits_of(text)) >= _FEWEST_DIGITS_SHOWN
    return has_mask(text) or may_be_end_of_number


def has_mask(text: str) -> bool:
    """True if a text has signs that hide characters, such as `***` or `xxx`, so that it is no key in full."""
    return bool(_MASK.search(text))


def may_be_random_key(text: str) -> bool:
    """True if a text may be a RANDOM key, whose value the service chose: it is no e-mail address and no number."""
    return not _OF_ANOTHER_TYPE.fullmatch(text)


def _may_show_key_masked(masked_text: str, key: str) -> bool:
    """True if a masked text may be the key: the key has the visible pieces of the text, in the same order.

    `+55*******4321` has the pieces `55` and `4321`. A text that is no number must also begin and end as the key does. A
    number need not, because it may lack its country code.
    """
    pieces = _visible_pieces(masked_text)
    characters = _letters_and_digits_of_key(key)
    has_same_ends = characters.startswith(pieces[0]) and characters.endswith(pieces[-1])
    if not characters.isdecimal() and not has_same_ends:
        return False
    end_of_last_piece = 0
    for piece in pieces:
        start = characters.find(piece, end_of_last_piece)
        if start < 0:  # the key does not have this piece after the last one
            return False
        end_of_last_piece = start + len(piece)
    return True


@lru_cache(maxsize=_MOST_MASKED)  # each masked text is compared with each key of the run
def _visible_pieces(masked_text: str) -> list[str]:
    """The letters and digits between the signs of a mask: `["55", …, "4321"]` for `+55*******4321`.

    Between two signs beside each other the piece is empty.
    """
    return [_letters_and_digits_of(piece) for piece in _MASK.split(unquote(masked_text))]


@lru_cache(maxsize=1_000)  # each key of the run is compared with each masked text of each list
def _letters_and_digits_of_key(key: str) -> str:
    """The letters and digits of a key, in small letters and without punctuation. The result is cached."""
    return _letters_and_digits_of(key)


def is_masked_form_of(text: str, key: str) -> bool:
    """True if the text may be the key with some of its characters hidden: `m***@b.example` for `maria@b.example`.

    Unlike in `_may_show_key_masked`, punctuation counts, and both ends must agree: `***4321` may be a key that ends in
    4321, but `***-4321` is not.
    """
    if not _is_masked_or_cut(text):
        return False
    pieces = re.split(rf"(?:{_MASK.pattern})+", text, flags=re.IGNORECASE)  # what is between the signs of a mask
    pattern = ".*".join(map(re.escape, pieces))  # any characters may be hidden between two pieces
    return re.fullmatch(pattern, key, re.IGNORECASE | re.DOTALL) is not None


# -- how texts are compared ---------------------------------------------------------------------------------------


def _ends_with_parts(number: str, parts: set[str]) -> bool:
    """True if the end of a number can be put together from some of these parts: 8765432 from {"432", "8765"}.

    A list may show a phone number in several members of an item, such as an area code and the rest of the number.

    The search begins with the last part: the rest of the number is then looked for in the same way.
    """
    for part in parts:
        if part.endswith(number):  # the part has all of the number, perhaps with a country code before it
            return True
        if number.endswith(part) and _ends_with_parts(number[: -len(part)], parts):
            return True
    return False


def _number_of(value: Any) -> int:
    """A number, or a text of digits, as an integer; 0 for anything else. Used for members such as `total`."""
    text = str(value) if _is_text_or_number(value) else ""
    is_count = re.fullmatch(r"[0-9]{1,9}", text) is not None  # no account has more keys than nine digits can say
    return int(text) if is_count else 0


_MOST_DIGITS = 40
"""Most digits of a number that is written without an exponent. No key has so many digits, and 1e900 would have 901."""


def _written_out(value: Any) -> str:
    """A value as the text in which digits are looked for: 5.5e12 as 5500000000000, and `%2B55` as `+55`."""
    if not isinstance(value, Decimal):
        return unquote(str(value))
    has_few_digits = abs(value.adjusted()) < _MOST_DIGITS  # `adjusted` is the exponent of the first digit
    return f"{value:f}" if has_few_digits else str(value)  # `f` writes no exponent


def _digits_of(text: str) -> str:
    """The digits of a text in ASCII. Full-width digits, which East Asian keyboards write, are converted first."""
    return _ascii_without(_NO_DIGITS, unicodedata.normalize("NFKC", text))


def _letters_and_digits_of(text: str) -> str:
    """A text in small letters and without punctuation, with full-width characters replaced by usual characters.

    Unlike `plain`, it keeps letters that are not ASCII.
    """
    return _PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold())


def _is_the_key(value: Any, key: str) -> bool:
    """True if a value of the list is the key, in any punctuation and letter case."""
    plain_key = plain(key)
    if plain_key == "" or not _is_text_or_number(value):
        return False
    return plain(str(value)) == plain_key


def _is_text_or_number(value: Any) -> bool:
    """True for a text or a number, which is a `Decimal` here: a service may write a key such as a CPF as either."""
    return isinstance(value, str | Decimal)


def plain(text: str) -> str:
    """The ASCII letters and digits of a text, and @, in lower case: equal for one key in two spellings."""
    return _ascii_without(_NO_PART_OF_A_KEY, text.casefold())


def _ascii_without(removed: bytes, text: str) -> str:
    """The ASCII characters of a text, without those in `removed`.

    It translates bytes, because a regular expression would take seconds for a long text.
    """
    return text.encode("ascii", "ignore").translate(None, delete=removed).decode()
