"""Known values, which are never shown: the token, and the accounts, keys and codes of the profile.

`KnownValues` finds all of them in a text in one pass, in the forms in which a text may hold them, and gives the
placeholder of each, such as `<token>` or `<account 2>`.
"""

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
"""Characters of the shortest value that is found within a longer text: one digit is in every number."""
_ORDINARY = NAME_WORDS | frozenset(COMMON_TYPES.split())
"""Words and media types that a profile and an answer may both hold by chance."""
_LONG_ENOUGH = 8
"""Characters of a value that is no part of another word by chance."""
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")


class KnownValues:
    """Finds known values in texts, in any letter case. It does not change, so that several threads may read it."""

    size: int
    """Number of values that it was made of."""
    plain: dict[str, str]
    """The value behind each placeholder."""
    origins: dict[str, str]
    """The key of the profile that has a value, by placeholder, if the value is a text of a body or of a header."""

    def __init__(self, values: Sequence[Known]) -> None:
        self.size = len(values)
        self.plain = {}
        self.origins = {}
        self._placeholders: dict[str, str] = {}  # by the folded value
        self._placeholders_in_requests: dict[str, str] = {}  # of values that are looked for in our own requests alone
        self._forms: dict[str, tuple[str, bool]] = {}  # by the folded form: placeholder; true if part of a word counts
        self._words: set[str] = set()  # words of secrets without a digit
        last_numbers: Counter[str] = Counter()  # by the name of values
        for known_value in values:
            is_new = self._is_new(known_value)
            if known_value.place:  # the values of the profile have the numbers that a reader counts there
                last_numbers[known_value.name] = known_value.place
            elif is_new:
                last_numbers[known_value.name] += 1
            if is_new:
                self._add(known_value, last_numbers[known_value.name])
        self._automaton = AhoCorasick(list(self._forms))
        self._placeholders_of_forms = list(self._forms.values())  # by the number that the automaton gives a form

    def _is_new(self, known_value: Known) -> bool:
        """True for a value that is not empty, and was not added under another name before."""
        if not known_value.value.strip():
            return False
        placeholder = self.whole_in_request(known_value.value) if known_value.origin else self.whole(known_value.value)
        return not placeholder

    def _add(self, known_value: Known, number: int) -> None:
        """Add a value. `number` is its place in the profile, or else the next number of its name."""
        value = _fold(known_value.value)
        has_number = number > 1 and not known_value.secret
        placeholder = f"<{known_value.name} {number}>" if has_number else f"<{known_value.name}>"
        self.plain.setdefault(placeholder, known_value.value)
        if known_value.origin:
            self.origins[placeholder] = known_value.origin
            if len(value) < LEAST or value in _ORDINARY:  # such as 1 or `type`: an answer that has it tells nothing
                self._placeholders_in_requests[value] = placeholder
                return
        self._placeholders[value] = placeholder
        self._add_forms(known_value, placeholder)
        if known_value.secret and not _DIGIT.search(value):
            self._words.update(_LETTERS.findall(value))

    def _add_forms(self, known_value: Known, placeholder: str) -> None:
        """Add the forms in which a text may hold a value. A form of a short value does not count within a word."""
        value = _fold(known_value.value)
        is_long_enough = known_value.secret or len(value) >= _LONG_ENOUGH
        counts_within_words = is_long_enough and value not in NAME_WORDS
        for form in map(_fold, forms_of(known_value.value)):
            if len(form) >= LEAST:
                self._forms.setdefault(form, (placeholder, counts_within_words))

    def split(self, text: str) -> list[str]:
        """The text in pieces: every second one is the placeholder of a known value.

        If several values start at one place, the longest counts. Of values that overlap, the first counts.
        """
        pieces = []
        end_of_last = 0
        for start, negative_end, placeholder in sorted(self._matches(_fold(text))):
            if start >= end_of_last:
                pieces += [text[end_of_last:start], placeholder]
                end_of_last = -negative_end
        return [*pieces, text[end_of_last:]]

    def _matches(self, folded: str) -> Iterator[tuple[int, int, str]]:
        """Start, negative end and placeholder of each match: sorted, the longest of one start comes first."""
        for number, start, end in self._automaton.find_matches_as_indexes(folded, overlapping=True):
            placeholder, counts_within_words = self._placeholders_of_forms[number]
            neighbours = folded[max(start - 1, 0) : start] + folded[end : end + 1]
            is_within_word = any(map(str.isalnum, neighbours))
            if counts_within_words or not is_within_word:
                yield start, -end, placeholder

    def whole(self, text: str) -> str:
        """The placeholder of a text that is a known value, however short; else empty."""
        return self._placeholders.get(_fold(text), "")

    def whole_in_request(self, text: str) -> str:
        """The placeholder of a text that the suite sent, if it is a known value; else empty.

        Short and ordinary values of the profile count here, because the suite sent them.
        """
        return self.whole(text) or self._placeholders_in_requests.get(_fold(text), "")

    def has(self, text: str) -> bool:
        """True for a text that is or holds a known value."""
        return bool(self.whole(text)) or len(self.split(text)) > 1

    def has_word(self, word: str) -> bool:
        """True for a word, in lower-case letters, of a secret that may be made of ordinary words."""
        return word in self._words


def _fold(text: str) -> str:
    """A text without letter case and of the same length, so that a place in it is a place in the text.

    Half a surrogate pair, which the automaton cannot read, is `?`.
    """
    return text.lower() if text.isascii() else "".join(map(_folded_character, text))


@lru_cache(10_000)
def _folded_character(character: str) -> str:
    """A character in small letters. One whose small letter is two characters stays, such as `İ`."""
    if "\ud800" <= character <= "\udfff":
        return "?"
    lower = character.lower()
    return lower if len(lower) == 1 else character


def forms_of(value: str) -> Iterator[str]:
    """The forms in which a text may hold the value: plain, percent-encoded, JSON, and base64.

    Of base64 only the characters that the value alone decides: the last one may depend on what follows.
    """
    data = value.encode("utf-8", "surrogatepass")
    yield value
    yield quote(data, safe="")
    yield quote(data)  # a slash stays
    yield json.dumps(value)[1:-1]  # without its quotes
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]  # as a traceback has it
    whole_characters = len(data) * 8 // 6  # each character of base64 stands for 6 bits
    in_base64 = base64.b64encode(data).decode()[:whole_characters]
    yield in_base64
    yield in_base64.translate(str.maketrans("+/", "-_"))  # base64url (RFC 4648 section 5)
