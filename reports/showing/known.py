"""Known values, which are never shown: the token, and the accounts, keys and codes of the profile.

`KnownValues` finds all of them in a text in one pass, and gives the placeholder of each, such as `<token>` or
`<account 2>`. A text may hold a value in several spellings, such as percent-encoded or in base64 (`forms_of`). A folded
text is one without letter case.
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
from spec.exchange import SHOWN_MEDIA_TYPES
from spec.facts import NAME_WORDS

LEAST = 4
"""Characters of the shortest value that is found within a longer text: one digit is in every number."""
_ORDINARY = NAME_WORDS | frozenset(SHOWN_MEDIA_TYPES.split())
"""Words and media types that a profile and an answer may both hold by chance."""
_LONG_ENOUGH = 8
"""Characters of a value that is hardly ever a part of another word by chance."""
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
        # By the folded value: placeholders of values that are hidden only in requests of the suite, not in answers.
        self._placeholders_in_requests: dict[str, str] = {}
        # By the folded spelling: the placeholder, and true if the spelling is hidden within a longer word, too.
        self._forms: dict[str, tuple[str, bool]] = {}
        self._words: set[str] = set()  # words of which secrets without a digit are made, see `has_word`
        last_numbers: Counter[str] = Counter()  # by the name of values
        for known_value in values:
            is_new = self._is_new(known_value)
            if known_value.place:  # a value of a list in the profile: its placeholder has its number in that list
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
        """Add a value, so that it is found in texts from now on.

        `number` is the number in its placeholder, such as 2 in `<account 2>`. The first value of a name has none. A
        secret never has one: a token that was fetched again is `<token>`, too.
        """
        value = _fold(known_value.value)
        has_number = number > 1 and not known_value.secret
        placeholder = f"<{known_value.name} {number}>" if has_number else f"<{known_value.name}>"
        self.plain.setdefault(placeholder, known_value.value)
        if known_value.origin:
            self.origins[placeholder] = known_value.origin
            # A text such as `1` or `type` may be in an answer by chance, so it is hidden only in requests of the suite.
            if len(value) < LEAST or value in _ORDINARY:
                self._placeholders_in_requests[value] = placeholder
                return
        self._placeholders[value] = placeholder
        self._add_forms(known_value, placeholder)
        # A password such as `correct horse` is made of words that may be shown as ordinary ones. Their list lets the
        # caller hide each of them (`has_word`).
        if known_value.secret and not _DIGIT.search(value):
            self._words.update(_LETTERS.findall(value))

    def _add_forms(self, known_value: Known, placeholder: str) -> None:
        """Add the spellings of a value, so that each is found in texts.

        A short value is found only as a whole word, because it may be a part of another word by chance. A secret is
        found everywhere.
        """
        value = _fold(known_value.value)
        is_long_enough = known_value.secret or len(value) >= _LONG_ENOUGH
        counts_within_words = is_long_enough and value not in NAME_WORDS
        for form in map(_fold, forms_of(known_value.value)):
            if len(form) >= LEAST:
                self._forms.setdefault(form, (placeholder, counts_within_words))

    def split(self, text: str) -> list[str]:
        """The text in pieces: text, placeholder, text, placeholder, …, text. A placeholder stands for a known value.

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
        """Start, negative end and placeholder of each known value in a folded text.

        The end is negative, so that of matches with one start the longest comes first when they are sorted.
        """
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
        """True if a secret without a digit has this word, which is in lower-case letters."""
        return word in self._words


def _fold(text: str) -> str:
    """A text in small letters and of the same length, so that a position in it is the same position in the text.

    Half a surrogate pair, which the search (ahocorasick_rs) cannot read, becomes `?`.
    """
    return text.lower() if text.isascii() else "".join(map(_folded_character, text))


@lru_cache(10_000)
def _folded_character(character: str) -> str:
    """A character as a small letter; `?` for half a surrogate pair.

    A character stays as it is if its small letter is two characters, as that of `İ`, because the length of the text
    must not change.
    """
    if "\ud800" <= character <= "\udfff":
        return "?"
    lower = character.lower()
    return lower if len(lower) == 1 else character


def forms_of(value: str) -> Iterator[str]:
    """The spellings in which a text may hold the value: as it is, percent-encoded, in JSON, in Python, and in base64.

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
