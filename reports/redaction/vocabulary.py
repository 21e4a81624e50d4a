"""Words that name nobody: they stay readable where the rest of a text is masked."""

from __future__ import annotations

import re
from pathlib import Path

from reports.redaction.masks import is_masked, shape

_FILE = Path(__file__).with_name("vocabulary.txt")
_LINES = (line for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#"))
_WORDS = frozenset(word for line in _LINES for word in line.split())
_WORD = re.compile(r"[^\W\d_]+")
_OTHERS = re.compile(r"[^\W\d_]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]*")
_LONGEST_WORD = 30
_CUT = re.compile(r"…\([0-9]{1,7} characters\)\Z")
_LONGEST = 300
"""Characters of a text of a refusal before it is cut."""


def is_word(word: str) -> bool:
    """Whether the vocabulary holds a word."""
    return word.lower() in _WORDS or f"~{word}" in _WORDS


def is_plain(text: str) -> bool:
    """Whether a text is made of words of the vocabulary alone."""
    words = _WORD.findall(text)
    return bool(words) and not any(map(str.isdigit, text)) and all(map(is_word, words))


def is_within_word(text: str, start: int, end: int) -> bool:
    """Whether a part of a text is a word of the vocabulary, or a piece of one."""
    before = _LETTERS.match(text[max(0, start - _LONGEST_WORD) : start][::-1])
    after = _LETTERS.match(text, end, end + _LONGEST_WORD)
    return before is not None and after is not None and is_word(text[start - len(before[0]) : end + len(after[0])])


def mask_others(text: str) -> str:
    """The text with everything masked that is no word of the vocabulary: `CNPJ of Maria` is `CNPJ of Aaaaa`."""
    cut = _CUT.search(text)
    if cut and cut.start() <= _LONGEST:
        return _masked(text[: cut.start()]) + cut.group()
    return _masked(text) if len(text) <= _LONGEST else f"{_masked(text[:_LONGEST])}…({len(text)} characters)"


def _masked(text: str) -> str:
    return _OTHERS.sub(lambda match: match.group() if is_word(match.group()) else shape(match.group()), text)


def names_nobody(text: str) -> bool:
    """Whether nothing would be hidden in a personal text: it is masked, or so are all words beyond the vocabulary."""
    return is_masked(text) or (len(text) < 2 * _LONGEST and mask_others(text) == text)
