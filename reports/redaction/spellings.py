"""Where known values stand in a text: one linear pass of an Aho-Corasick automaton over all of their spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ahocorasick_rs import AhoCorasick

LEAST = 4
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

    def allows(self, before: str, after: str) -> bool:
        """Whether a value may stand between these characters."""
        if self is Beside.DIGIT:
            return not before[-1:].isdigit() and not after[:1].isdigit()
        if self is Beside.WORD:
            return not before[-1:].isalnum() and not after[:1].isalnum()
        return self is Beside.ANYTHING or not (_LEFT.search(before) or _RIGHT.match(after))


@dataclass(frozen=True, slots=True, eq=False)
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
    """A place within a folded spelling. Where it is found, so is as much of the spelling as stands around it."""

    spelling: str
    offset: int
    sought: Sought

    def around(self, folded: str, start: int, end: int) -> tuple[int, int]:
        """What stands in the text of the spelling, from a part of it at `start` to `end`."""
        first, last = self.offset, self.offset + end - start
        while first and start and folded[start - 1] == self.spelling[first - 1]:
            start, first = start - 1, first - 1
        while last < len(self.spelling) and end < len(folded) and folded[end] == self.spelling[last]:
            end, last = end + 1, last + 1
        return start, end


Found = tuple[int, int, Sought]


class Spellings:
    """Folded spellings, whole or in part. What was added is built into an automaton when a text is searched next; the
    few automata that this makes are joined as they grow, so that learning is cheap."""

    def __init__(self) -> None:
        self.longest = LEAST
        self._parts: dict[str, list[_Part]] = {}
        self._new: list[str] = []
        self._built: list[tuple[AhoCorasick, list[str]]] = []

    def add(self, folded: str, sought: Sought, least: int | None = None) -> None:
        """Seek a folded spelling of four or more characters; also parts of `least` at its start and end."""
        self.longest = max(self.longest, len(folded))
        self._add(folded, _Part(folded, 0, sought))
        if least and least < len(folded):
            self._add(folded[:least], _Part(folded, 0, sought))
            self._add(folded[-least:], _Part(folded, len(folded) - least, sought))

    def add_pieces(self, folded: str, sought: Sought) -> None:
        """Seek the pieces that a folded spelling is split into: eight characters with a digit, twelve without."""
        for size in (_PIECE, _LONG_PIECE):
            for offset in range(len(folded) - size + 1):
                piece = folded[offset : offset + size]
                if size == _LONG_PIECE or _DIGIT.search(piece):
                    self._add(piece, _Part(folded, offset, sought))

    def _add(self, pattern: str, part: _Part) -> None:
        if pattern not in self._parts:
            self._new.append(pattern)
        self._parts.setdefault(pattern, []).append(part)

    def find(self, text: str, folded: str) -> Iterator[Found]:
        """Start, end and spelling of every find in a text and its folded form; finds may overlap."""
        done: dict[tuple[str, Sought], int] = {}
        for start, end, part in self._matches(folded):
            if len(part.spelling) == end - start:
                if part.sought.beside.allows(text[max(0, start - 2) : start], text[end : end + 2]):
                    yield _blurred(text, start, end, part.sought)
            elif done.get((part.spelling, part.sought), 0) < end:
                first, last = part.around(folded, start, end)
                done[part.spelling, part.sought] = last
                yield _blurred(text, first, last, part.sought)
        yield from self._in_runs(text)

    def _matches(self, folded: str) -> Iterator[tuple[int, int, _Part]]:
        self._build()
        for automaton, patterns in self._built:
            for number, start, end in automaton.find_matches_as_indexes(folded, overlapping=True):
                for part in self._parts[patterns[number]]:
                    yield start, end, part

    def _build(self) -> None:
        if not self._new:
            return
        patterns, self._new = self._new, []
        while self._built and len(self._built[-1][1]) < 4 * len(patterns):
            patterns = self._built.pop()[1] + patterns
        self._built.append((AhoCorasick(patterns), patterns))

    def _in_runs(self, text: str) -> Iterator[Found]:
        """Numbers of eight or more digits with punctuation between their digits."""
        for run in _RUN.finditer(text) if len(text) > _PIECE else ():
            if run.group().isdigit():
                continue
            places = [at for at in range(*run.span()) if text[at].isdigit()]
            for start, end, part in self._matches("".join(text[at] for at in places)):
                if end - start == len(part.spelling) >= _PIECE:
                    yield places[start], places[end - 1] + 1, part.sought


def _blurred(text: str, start: int, end: int, sought: Sought) -> Found:
    if not sought.packed:
        return start, end, sought
    start -= bool(start and _BASE64.match(text, start - 1))
    end += bool(_BASE64.match(text, end))
    while text.startswith("=", end):
        end += 1
    return start, end, sought
