"""Where known values stand in a text: an index of their first four characters, so that learning is cheap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

GRAM = 4
"""A value of fewer characters is no match within a longer text."""

_PIECE, _LONG_PIECE = 8, 12
_DIGIT = re.compile("[0-9]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]")
_LEFT = re.compile(r"[0-9][-:.,/]?\Z")
_RIGHT = re.compile(r"[-:.,/]?[0-9]")
_RUN = re.compile(r"[0-9](?:[ ().\-/+]{0,3}[0-9]){7,}+")


class Beside(Enum):
    """What must not stand right beside a value, so that numbers, dates and words stay whole."""

    ANYTHING = "anything may"
    DIGIT = "no digit"
    NUMBER = "no digit, not even after a point, colon, slash or hyphen"
    WORD = "no letter or digit"


@dataclass(frozen=True, slots=True)
class Sought:
    """One spelling of a value. `shown` stands for it, `inexact` where it differs from `exact`; None: its mask.

    `rank` orders overlapping finds, the lowest first. `packed` text blurs into its neighbours (base64).
    """

    shown: str | None
    rank: int
    inexact: str | None = None
    exact: str | None = None
    beside: Beside = Beside.ANYTHING
    packed: bool = False

    def name(self, found: str) -> str | None:
        """What stands for the text as it was found."""
        return self.shown if self.exact is None or found == self.exact else self.inexact


@dataclass(frozen=True, slots=True)
class _Part:
    """A spelling of which a part at its start or end, of at least so many characters, is a find too."""

    text: str
    least: int
    sought: Sought


@dataclass(frozen=True, slots=True)
class _Inner:
    """A place within a spelling that is told by its next few characters."""

    text: str
    offset: int
    sought: Sought

    def common(self, folded: str, start: int) -> int:
        """How many characters the two have in common from there; 0 where they have one before it, too."""
        if self.offset and start and folded[start - 1] == self.text[self.offset - 1]:
            return 0
        return _common(self.text[self.offset :], folded[start : start + len(self.text) - self.offset])


Found = tuple[int, int, Sought]


class Index:
    """Folded spellings by their first four characters, then by length."""

    def __init__(self) -> None:
        self.longest = GRAM
        self._grams: dict[str, dict[int, dict[str, Sought]]] = {}
        self._heads: dict[str, list[_Part]] = {}
        self._tails: dict[str, list[_Part]] = {}
        self._inner: dict[str, list[_Inner]] = {}
        self._digits = False

    def add(self, folded: str, sought: Sought, least: int | None = None) -> None:
        """Seek a folded spelling of four or more characters; also parts of `least` at its start and end."""
        lengths = self._grams.setdefault(folded[:GRAM], {})
        spellings = lengths.setdefault(len(folded), {})
        if folded not in spellings or sought.rank < spellings[folded].rank:
            spellings[folded] = sought
        self.longest = max(self.longest, len(folded))
        self._digits |= len(folded) >= 8 and folded.isdigit()
        if least and least < len(folded):
            part = _Part(folded, least, sought)
            self._grams.setdefault(folded[-GRAM:], {})
            self._heads.setdefault(folded[:GRAM], []).append(part)
            self._tails.setdefault(folded[-GRAM:], []).append(part)

    def add_pieces(self, folded: str, sought: Sought) -> None:
        """Seek the pieces that a folded spelling is split into: eight characters with a digit, twelve without."""
        for offset in range(len(folded) - _PIECE + 1):
            gram = folded[offset : offset + GRAM]
            self._grams.setdefault(gram, {})
            self._inner.setdefault(gram, []).append(_Inner(folded, offset, sought))

    def find(self, text: str, folded: str) -> Iterator[Found]:
        """Start, end and spelling of every find in a text and its folded form; finds may overlap."""
        grams = self._grams
        for start in [at for at in range(len(folded) - GRAM + 1) if folded[at : at + GRAM] in grams]:
            yield from self._at(text, folded, start)
        if self._digits and len(text) > 8:
            yield from self._in_runs(text)

    def _at(self, text: str, folded: str, start: int) -> Iterator[Found]:
        gram = folded[start : start + GRAM]
        for length, spellings in self._grams[gram].items():
            sought = spellings.get(folded[start : start + length])
            if sought and _stands_alone(text, start, start + length, sought.beside):
                yield _blurred(text, start, start + length, sought)
        for part in self._heads.get(gram, ()):
            if folded.startswith(part.text[: part.least], start):
                common = _common(part.text, folded[start : start + len(part.text)])
                yield _blurred(text, start, start + common, part.sought)
        for inner in self._inner.get(gram, ()):
            common = inner.common(folded, start)
            if common >= _LONG_PIECE or (common >= _PIECE and _DIGIT.search(folded, start, start + common)):
                yield start, start + common, inner.sought
        for part in self._tails.get(gram, ()):
            end = start + GRAM
            if folded.endswith(part.text[-part.least :], max(0, end - part.least), end):
                before = folded[max(0, end - len(part.text)) : end]
                common = _common(part.text[::-1], before[::-1])
                yield _blurred(text, end - common, end, part.sought)

    def _in_runs(self, text: str) -> Iterator[Found]:
        """Numbers of eight or more digits with punctuation between their digits."""
        for run in _RUN.finditer(text):
            if run.group().isdigit():
                continue
            places = [at for at in range(*run.span()) if text[at].isdigit()]
            digits = "".join(text[at] for at in places)
            for start in [at for at in range(len(digits) - 7) if digits[at : at + GRAM] in self._grams]:
                for length, spellings in self._grams[digits[start : start + GRAM]].items():
                    sought = spellings.get(digits[start : start + length])
                    if sought and length >= 8:
                        yield places[start], places[start + length - 1] + 1, sought


def _stands_alone(text: str, start: int, end: int, beside: Beside) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if beside is Beside.DIGIT:
        return not before[-1:].isdigit() and not after[:1].isdigit()
    if beside is Beside.WORD:
        return not before[-1:].isalnum() and not after[:1].isalnum()
    return beside is Beside.ANYTHING or not (_LEFT.search(before) or _RIGHT.match(after))


def _blurred(text: str, start: int, end: int, sought: Sought) -> Found:
    if not sought.packed:
        return start, end, sought
    start -= bool(start and _BASE64.match(text, start - 1))
    end += bool(_BASE64.match(text, end))
    while text.startswith("=", end):
        end += 1
    return start, end, sought


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
