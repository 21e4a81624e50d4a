"""The values that are never shown (the token, accounts, keys, codes of the profile) found in a text in one pass."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from urllib.parse import quote

from ahocorasick_rs import AhoCorasick

from environments.secrets import Known, Secrets
from spec.names import WORDS

LEAST = 4
"""A value of fewer characters is no match within a longer text: one digit is in every number."""
_SURE = 8
"""A value of so many characters is no part of another word by chance."""
_DIGIT, _SIGN, _LETTERS = re.compile(r"\d"), re.compile(r"[\d@_]|[a-z][A-Z]"), re.compile(r"[^\W\d_]+")
_BEFORE_A_VALUE = ("/", "=", '"', "'", "earer ")
"""What stands before a value that is an ordinary word: only there is it a value."""


class KnownValues:
    """Finds what a registry knows, also what becomes known later. `plain` has the value behind each placeholder."""

    def __init__(self, secrets: Secrets) -> None:
        self.plain: dict[str, str] = {}
        self._secrets, self._read, self._reading = secrets, 0, Lock()
        self._whole: dict[str, str] = {}
        self._forms: dict[str, tuple[str, bool]] = {}
        self._counts: dict[str, int] = {}
        self._words: set[str] = set()
        self._has_letters_alone = False
        self._pieces = ""
        self._built: tuple[AhoCorasick, list[tuple[str, bool]]] = AhoCorasick([]), []

    def split(self, text: str) -> list[str]:
        """The text in pieces: every second one is the placeholder of a known value."""
        pieces, last = [], 0
        for start, end, shown in self.find(text):
            if start >= last:
                pieces += [text[last:start], shown]
                last = end
        return [*pieces, text[last:]]

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Start, end and placeholder of each known value in a text, the longest first where several start."""
        self._take_over()
        if len(text) < LEAST:
            return []
        folded, (automaton, forms) = fold(text), self._built
        found = []
        for number, start, end in automaton.find_matches_as_indexes(folded, overlapping=True):
            shown, is_sure = forms[number]
            if is_sure or _stands_alone(folded, start, end):
                found.append((start, end, shown))
        return sorted(found, key=lambda one: (one[0], -one[1]))

    def whole(self, text: str) -> str:
        """The placeholder of a text that is a known value, however short; else empty."""
        self._take_over()
        return self._whole.get(fold(text), "")

    def has_word(self, word: str) -> bool:
        """True for a word of lower-case letters that a known value is made of, or that is a piece of one."""
        self._take_over()
        return word in self._words or (word not in WORDS and word in self._pieces)

    def may_look_like_words(self) -> bool:
        """True where a value has neither a digit nor a sign: another spelling of it may be small letters."""
        self._take_over()
        return self._has_letters_alone

    def _take_over(self) -> None:
        """Take over what became known since the last time."""
        if self._read == len(self._secrets.known):
            return
        with self._reading:
            new = self._secrets.known[self._read :]
            for known in new:
                self._add(known)
            self._built = AhoCorasick(list(self._forms)), list(self._forms.values())
            self._read += len(new)

    def _add(self, known: Known) -> None:
        """One value: a listed one has the number of its place, any other the next number of its name."""
        folded, is_one_of_many = fold(known.value), not known.secret
        if not known.value.strip() or folded in self._whole:
            self._counts[known.name] = known.place or self._counts.get(known.name, 0)
            return
        number = self._counts[known.name] = known.place or self._counts.get(known.name, 0) + 1
        shown = f"<{known.name} {number}>" if number > 1 and is_one_of_many else f"<{known.name}>"
        self._whole[folded] = shown
        self.plain.setdefault(shown, known.value)
        is_sure = folded not in WORDS and (known.secret or len(folded) >= _SURE)
        for form in map(fold, forms_of(known.value)):
            if len(form) >= LEAST:
                self._forms.setdefault(form, (shown, is_sure))
        self._has_letters_alone |= not _SIGN.search(known.value)
        if known.secret and not _DIGIT.search(folded):
            self._words.update(_LETTERS.findall(folded))
        self._pieces += f"\n{folded}\n{folded[::-1]}"


def fold(text: str) -> str:
    """A text without letter case, as long as before; half a surrogate pair, which no automaton reads, is `?`."""
    if text.isascii():
        return text.lower()
    return "".join(map(_folded, text))


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


def _stands_alone(folded: str, start: int, end: int) -> bool:
    """True for a short value without a letter or digit beside it; a value that is an ordinary word stands in a value's
    place, too."""
    before, after = folded[max(0, start - 6) : start], folded[end : end + 1]
    if before[-1:].isalnum() or after.isalnum():
        return False
    return folded[start:end] not in WORDS or before.endswith(_BEFORE_A_VALUE)
