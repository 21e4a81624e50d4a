"""The values that are never shown (the token, accounts, keys, codes of the profile) found in a text in one pass."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import quote

from ahocorasick_rs import AhoCorasick

from environments.secret_values import Known
from spec.exchange import COMMON_TYPES
from spec.facts import NAME_WORDS

LEAST = 4
"""A value of fewer characters is no match within a longer text: one digit is in every number."""
_ORDINARY = NAME_WORDS | frozenset(COMMON_TYPES.split())
"""Words and media types that a profile and an answer may both hold without the one telling of the other."""
_SURE = 8
"""A value of so many characters is no part of another word by chance."""
_DIGIT, _LETTERS = re.compile(r"\d"), re.compile(r"[^\W\d_]+")


class KnownValues:
    """Finds known values in texts. `plain` has the value behind each placeholder. `origins` has the key of the profile
    that it is under, if it is a text of a body or of a header. It does not change: several threads may read it."""

    def __init__(self, known: Sequence[Known]) -> None:
        self.size = len(known)
        self.plain: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        self._whole: dict[str, str] = {}  # placeholders, by the folded value
        self._sent: dict[str, str] = {}  # those of values that are looked for in our own requests alone
        self._forms: dict[str, tuple[str, bool]] = {}  # placeholders, by the folded form; true where it is sure
        self._words: set[str] = set()  # of secrets without a digit
        counts: Counter[str] = Counter()
        for each in known:
            whole = self.whole_in_request if each.origin else self.whole
            is_new = bool(each.value.strip()) and not whole(each.value)
            counts[each.name] = each.place or counts[each.name] + is_new
            if is_new:
                self._add(each, counts[each.name])
        self._automaton = AhoCorasick(list(self._forms))
        self._shown = list(self._forms.values())

    def _add(self, known: Known, number: int) -> None:
        """One value. A listed one has the number of its place, any other the next number of its name."""
        value = _fold(known.value)
        shown = f"<{known.name} {number}>" if number > 1 and not known.secret else f"<{known.name}>"
        self.plain.setdefault(shown, known.value)
        if known.origin:
            self.origins[shown] = known.origin
            if len(value) < LEAST or value in _ORDINARY:  # such as 1 or `type`: an answer that has it tells nothing
                self._sent[value] = shown
                return
        self._whole[value] = shown
        is_sure = value not in NAME_WORDS and (known.secret or len(value) >= _SURE)
        for form in map(_fold, forms_of(known.value)):
            if len(form) >= LEAST:
                self._forms.setdefault(form, (shown, is_sure))
        if known.secret and not _DIGIT.search(value):
            self._words.update(_LETTERS.findall(value))

    def split(self, text: str) -> list[str]:
        """The text in pieces: every second one is the placeholder of a known value, the longest where several start."""
        pieces, last = [], 0
        for start, negative_end, shown in sorted(self._find(_fold(text))):
            if start >= last:
                pieces += [text[last:start], shown]
                last = -negative_end
        return [*pieces, text[last:]]

    def _find(self, folded: str) -> Iterator[tuple[int, int, str]]:
        for number, start, end in self._automaton.find_matches_as_indexes(folded, overlapping=True):
            shown, is_sure = self._shown[number]
            if is_sure or not any(map(str.isalnum, folded[max(start - 1, 0) : start] + folded[end : end + 1])):
                yield start, -end, shown

    def whole(self, text: str) -> str:
        """The placeholder of a text that is a known value, however short; else empty."""
        return self._whole.get(_fold(text), "")

    def whole_in_request(self, text: str) -> str:
        """The same of a text that the suite sent. There a short value of the profile is known, too, by its whole."""
        return self.whole(text) or self._sent.get(_fold(text), "")

    def has(self, text: str) -> bool:
        """True for a text that is or holds a known value."""
        return bool(self.whole(text)) or len(self.split(text)) > 1

    def has_word(self, word: str) -> bool:
        """True for a word, in lower-case letters, of a secret that may be made of ordinary words."""
        return word in self._words


def _fold(text: str) -> str:
    """A text without letter case, as long as before; half a surrogate pair, which no automaton reads, is `?`."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(10_000)
def _folded(character: str) -> str:
    lower = character.lower()
    return "?" if "\ud800" <= character <= "\udfff" else lower if len(lower) == 1 else character


def forms_of(value: str) -> Iterator[str]:
    """The value in plain, percent, JSON and base64 form."""
    data = value.encode("utf-8", "surrogatepass")
    packed = base64.b64encode(data).decode()[: len(data) * 8 // 6]
    yield value
    yield from (quote(data, safe=""), quote(data))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1])
    yield from (packed, packed.translate(str.maketrans("+/", "-_")))
