"""Known values, which are never shown: the token, and the accounts, keys and codes of the profile.

`KnownValues` finds all of them in a text in one pass, and gives the placeholder of each: the name that replaces it in
outputs, such as `<token>` or `<account 2>`. A text may hold a value in several encodings, such as percent-encoded or in
base64 (`encodings_of`). A text in small letters.

This module only finds values. `show.py` uses it for answers and other texts, and `request_parts.py` for requests.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from ahocorasick_rs import AhoCorasick

from environments.secret_values import Known
from spec.exchange import SHOWN_MEDIA_TYPES
from spec.facts import NAME_WORDS

SHORTEST_FOUND_IN_TEXTS = 4
"""Fewest characters of a value that is looked for within a longer text. A shorter value, such as one digit, would be
found by chance in too many texts. The number is a choice."""
_ORDINARY = NAME_WORDS | frozenset(SHOWN_MEDIA_TYPES.split())
"""Words and media types that a profile and an answer may both hold by chance."""
_LONG_ENOUGH = 8
"""Fewest characters of a value that is also looked for inside words. So long a value is hardly ever a part of another
word by chance. The number is a choice."""
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")
"""A word: letters without digits and underscores."""


class _Match(NamedTuple):
    """A place in a text with a value that must be hidden."""

    start: int
    end: int  # the position after the last character
    placeholder: str  # such as `<account>`: it replaces the value


def _start_and_longest_first(match: _Match) -> tuple[int, int]:
    """Sort key of matches: by their start, and the longest first if several have the same start."""
    return match.start, -match.end


class KnownValues:
    """Finds known values in texts, in any letter case. It does not change, so that several threads may read it."""

    size: int
    """Number of values that it was made of."""
    value_by_placeholder: dict[str, str]
    """The value behind each placeholder."""
    profile_key_by_placeholder: dict[str, str]
    """The key of the profile that has a value, by placeholder, if the value is a text of a body or of a header."""

    def __init__(self, values: Sequence[Known]) -> None:
        """Prepare a search for these values, such as tokens and account numbers, and for their encodings."""
        self.size = len(values)
        # A placeholder, such as `<account 2>`, replaces a value in outputs.
        self.value_by_placeholder = {}
        self.profile_key_by_placeholder = {}  # such as `requests.createPix.json.to`
        # All keys below are in small letters.
        self._placeholders: dict[str, str] = {}  # by value
        # By value: placeholders of values that are hidden only in requests of the suite, not in answers.
        self._placeholders_in_requests: dict[str, str] = {}
        # By encoding of a value: its placeholder, and true if the encoding is hidden within a longer word, too.
        self._encodings: dict[str, tuple[str, bool]] = {}
        # Words of secrets without a digit, such as `correct` of the password `correct horse`, see `has_word`.
        self._words: set[str] = set()
        last_numbers: Counter[str] = Counter()  # by name, such as "account": the last number, as in `<account 2>`
        for known_value in values:
            is_new = self._is_new(known_value)
            if known_value.number:  # a list of the profile has the value, and gives it its number
                last_numbers[known_value.name] = known_value.number
            elif is_new:  # the run learned the value: it gets the next number
                last_numbers[known_value.name] += 1
            if is_new:
                self._add(known_value, last_numbers[known_value.name])
        self._automaton = AhoCorasick(list(self._encodings))  # finds all of them in one pass over a text
        self._placeholders_of_encodings = list(self._encodings.values())  # the automaton refers to one by its index

    def _is_new(self, known_value: Known) -> bool:
        """True if a value is not empty, and was not added before. Only such a value gets a name such as `<account 2>`.

        A value with an origin is a text from a request body or a header of the profile. If such a text is short, it is
        hidden only in requests. So a value with an origin is compared with the values that are hidden only there, too.
        """
        value = known_value.value
        if value.strip() == "":
            return False
        # The name that replaces an equal value in outputs; empty if no equal value was added.
        if known_value.origin:
            placeholder_of_equal_value = self.placeholder_in_request(value)
        else:
            placeholder_of_equal_value = self.placeholder_of(value)
        return placeholder_of_equal_value == ""

    def _add(self, known_value: Known, number: int) -> None:
        """Add a value that no output may show, so that it is found in texts from now on.

        Its placeholder replaces it there. `number` is the number in the placeholder, such as 2 in `<account 2>`. The
        first value of a name has no number: `<account>`. A secret never has a number, so that a token that was fetched
        again is also `<token>`.
        """
        value = _small_letters(known_value.value)
        has_number = number > 1 and not known_value.secret
        placeholder = f"<{known_value.name} {number}>" if has_number else f"<{known_value.name}>"
        self.value_by_placeholder.setdefault(placeholder, known_value.value)
        if known_value.origin:
            self.profile_key_by_placeholder[placeholder] = known_value.origin
            # A text such as `1` or `type` may be in an answer by chance, so it is hidden only in requests of the suite.
            if len(value) < SHORTEST_FOUND_IN_TEXTS or value in _ORDINARY:
                self._placeholders_in_requests[value] = placeholder
                return
        self._placeholders[value] = placeholder
        self._add_encodings(known_value, placeholder)
        # A password such as `correct horse` is made of words that may be shown as ordinary ones. These words let the
        # caller hide each of them (`has_word`).
        if known_value.secret and not _DIGIT.search(value):
            self._words.update(_LETTERS.findall(value))

    def _add_encodings(self, known_value: Known, placeholder: str) -> None:
        """Add the encodings of a value, such as percent-encoded, so that each is found in texts.

        `placeholder`, such as `<account>`, replaces them in outputs. A short value is found only as a whole word,
        because it may be a part of another word by chance. A secret is found everywhere. But a value that is also a
        word of member names, such as `account`, is found only as a whole word, even if it is a secret: otherwise
        `accountType` would become `<token>Type`.
        """
        value = _small_letters(known_value.value)
        is_long_enough = known_value.secret or len(value) >= _LONG_ENOUGH
        is_hidden_within_words = is_long_enough and value not in NAME_WORDS
        for encoding in map(_small_letters, encodings_of(known_value.value)):
            if len(encoding) >= SHORTEST_FOUND_IN_TEXTS:
                self._encodings.setdefault(encoding, (placeholder, is_hidden_within_words))

    def split(self, text: str) -> list[str]:
        """The text in pieces: text, placeholder, text, placeholder, …, text.

        A placeholder is the name of a value that must be hidden, and replaces it: `"key 123456789 of"` gives
        `["key ", "<account>", " of"]`. If several such values start at the same character, the longest is replaced. If
        such values overlap, the first is replaced.
        """
        pieces = []
        end_of_last = 0
        for match in sorted(self._matches(_small_letters(text)), key=_start_and_longest_first):
            if match.start >= end_of_last:
                pieces += [text[end_of_last : match.start], match.placeholder]
                end_of_last = match.end
        return [*pieces, text[end_of_last:]]

    def _matches(self, text: str) -> Iterator[_Match]:
        """The places where a text in small letters has values that must be hidden. They may overlap."""
        for index, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            placeholder, is_hidden_within_words = self._placeholders_of_encodings[index]
            characters_around = text[max(start - 1, 0) : start] + text[end : end + 1]
            is_within_word = any(map(str.isalnum, characters_around))
            if is_hidden_within_words or not is_within_word:
                yield _Match(start, end, placeholder)

    def placeholder_of(self, text: str) -> str:
        """The name that replaces a text in outputs, such as `<account>`, if the whole text must be hidden; else empty.

        Letter case does not count. Even the shortest value is recognised, because the whole text is compared.
        """
        return self._placeholders.get(_small_letters(text), "")

    def placeholder_in_request(self, text: str) -> str:
        """The name that replaces a text of a sent request in outputs, such as `<identifier>`; empty if it may be shown.

        Unlike `placeholder_of`, this recognises short and ordinary texts of the profile as well, such as `1`. In a
        request they are values that the suite filled in. In an answer they could be there by chance.
        """
        return self.placeholder_of(text) or self._placeholders_in_requests.get(_small_letters(text), "")

    def has(self, text: str) -> bool:
        """True for a text that is a value which must be hidden, or that holds such a value in any encoding."""
        if self.placeholder_of(text):  # the whole text is such a value, perhaps a short one
            return True
        return len(self.split(text)) > 1  # without a value to hide there is one piece: the text itself

    def has_word(self, word: str) -> bool:
        """True if a secret without a digit, such as `correct horse`, has this word. `word` is in small letters."""
        return word in self._words


def _small_letters(text: str) -> str:
    """A text in small letters with the same length, so that a match in it has the same position in the text itself.

    Half a surrogate pair, which the search (ahocorasick_rs) cannot read, becomes `?`.
    """
    if text.isascii():  # then the length cannot change, and this is quicker
        return text.lower()
    return "".join(map(_small_letter, text))


@lru_cache(10_000)  # results for so many characters are remembered, because texts repeat their characters
def _small_letter(character: str) -> str:
    """A character as a small letter; `?` for half a surrogate pair, which the search cannot read.

    A character is unchanged if its small letter is two characters, as for `İ`, because the length of the text must
    not change.
    """
    is_half_of_surrogate_pair = "\ud800" <= character <= "\udfff"
    if is_half_of_surrogate_pair:
        return "?"
    lower = character.lower()
    return lower if len(lower) == 1 else character


def encodings_of(value: str) -> Iterator[str]:
    """The encodings in which a text may hold a secret value: plain, percent-encoded, in JSON, in Python, in base64.

    The base64 is cut to the characters that the value alone decides. The character after them also depends on what
    follows the value.
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
