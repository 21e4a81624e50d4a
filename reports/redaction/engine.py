"""Redaction of one text: every find replaced, until nothing is found any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from environments.secrets import ANOTHER_PREFIX
from reports.redaction import masks
from reports.redaction.encodings import Reading, fold, readings
from reports.redaction.knowledge import DETECTED, PERSONAL, Knowledge
from reports.redaction.masks import detect, is_within_word, names_nobody
from reports.redaction.spellings import LEAST
from spec.interface import MARK

_WINDOW = 4_500
"""Characters of a long text that are looked at, where only its start is shown; the margin where it is cut apart."""

_PASSES = 4
_SIZE = re.compile(r"… ?\([0-9]{1,7} (?:bytes in all|characters)\)")
_REMEMBERED = 5_000
_PAIR = re.compile(
    r"""["'](?P<name>[A-Za-z][\w-]{0,40})\\{0,3}["']\s{0,9}:\s{0,9}"""
    r"""(?:(?P<quote>\\{0,3}["'])(?P<text>(?:\\.|[^\\])*?)(?:(?P=quote)|\Z)|(?P<number>-?[0-9][0-9.eE+-]*+))""",
    re.DOTALL,
)


class Redacted(NamedTuple):
    """Redacted characters, and whether they are of the whole text or of its start."""

    text: str
    complete: bool


class _Find(NamedTuple):
    start: int
    end: int
    rank: int
    shown: str


class Engine:
    """Redacts texts by what is known. `masked` shows what is left of a personal text. Its output may hold control
    characters: see `masks.printable`."""

    def __init__(self, knowledge: Knowledge, masked: Callable[[str], str] = masks.mask) -> None:
        self.knowledge = knowledge
        self._masked = masked
        self._memory: dict[str, str] = {}
        self._version = knowledge.version

    def redact(self, text: str) -> str:
        """Free text without known values, personal pairs (`"name": "…"`) and what looks personal."""
        if len(text) < LEAST:
            return text
        if len(text) > masks.LONGEST:
            return self._redacted(text)
        if self._version != self.knowledge.version:
            self._memory.clear()
            self._version = self.knowledge.version
        shown = self._memory.get(text)
        if shown is None:
            shown = self._redacted(text)
            if len(self._memory) < _REMEMBERED:
                self._memory[text] = shown
        return shown

    @property
    def margin(self) -> int:
        """Written with an escape for each character, a value takes at most 12 times its length."""
        return 12 * self.knowledge.spellings.longest

    @property
    def window(self) -> int:
        """Characters of a long text that are looked at."""
        return _WINDOW + self.margin

    def start(self, text: str, complete: bool) -> Redacted:
        """The text redacted; of one that was cut, what stands near the cut and could be half a value is left off."""
        shown = self.redact(text)
        margin = 0 if complete else self.margin
        return Redacted(shown[: max(0, len(shown) - margin)], complete)

    def whole(self, text: str) -> str:
        """A text that is one value: short values of the profile are redacted too."""
        return self.knowledge.whole(text) or self.redact(text)

    def mask(self, text: str) -> str:
        """A personal text: its placeholder where it is a known value, else its shape; placeholders stay, and so do
        synthetic identifiers."""
        known = self.knowledge.whole(text)
        if known:
            return known
        if text.startswith(MARK):
            return self.redact(text)
        if "<" not in text or not self.knowledge.placeholder.search(text):
            return self._masked(text)
        pieces = self.knowledge.placeholder.split(text)
        return "".join(piece if at % 2 else self._masked(piece) for at, piece in enumerate(pieces))

    def number(self, text: str, personal: bool) -> str:
        """A JSON number; its digits are masked where its field or what stands in it asks for it."""
        if not personal and len(text) < LEAST:
            return text
        masked = personal or any(
            find.rank < PERSONAL or find.end - find.start >= 8 for find in self._finds(text[: 8 * masks.LONGEST])
        )
        return masks.mask_number(text) if masked else text

    def _redacted(self, text: str) -> str:
        for _ in range(_PASSES):
            finds = self._finds(text)
            if not finds:
                break
            text = _replaced(text, sorted(finds))
        return text

    def _finds(self, text: str) -> list[_Find]:
        finds = [find for reading in readings(text) for find in self._in_reading(reading)]
        if '"' in text or "'" in text:
            finds += self._pairs(text)
        return finds

    def _in_reading(self, reading: Reading) -> Iterator[_Find]:
        text = reading.text
        kept = self._kept(text)

        def find(start: int, end: int, rank: int, shown: str) -> Iterator[_Find]:
            if not any(first <= start and end <= last for first, last in kept):
                yield _Find(reading.position(start), reading.position(end), rank, shown)

        for start, end, sought in self.knowledge.spellings.find(text, fold(text)):
            found = text[start:end]
            if not is_within_word(text, start, end):
                yield from find(start, end, sought.rank, sought.name(found) or self._masked(found))
        for start, end, kind in detect(text):
            yield from find(start, end, DETECTED, f"<{kind}>")

    def _kept(self, text: str) -> list[tuple[int, int]]:
        """What stays as it is: placeholders."""
        return [match.span() for match in self.knowledge.placeholder.finditer(text)] if "<" in text else []

    def _pairs(self, text: str) -> Iterator[_Find]:
        for match in _PAIR.finditer(text):
            group = "number" if match["number"] else "text"
            if not self.knowledge.is_personal(match["name"]) or names_nobody(match[group]):
                continue
            shown = self.mask(match[group]) if group == "text" else masks.mask_number(match[group])
            if shown != match[group]:
                yield _Find(*match.span(group), PERSONAL, shown)


class SecondEngine(Engine):
    """Redacts what was redacted when less was known. The sizes stay that the suite added where it cut a text."""

    def _kept(self, text: str) -> list[tuple[int, int]]:
        sizes = [match.span() for match in _SIZE.finditer(text)] if "…" in text else []
        return super()._kept(text) + sizes


def _replaced(text: str, finds: list[_Find]) -> str:
    """The text with every run of overlapping finds replaced by what the first of them in rank shows."""
    pieces: list[str] = []
    last = 0
    for run in _runs(finds):
        start, end = run[0].start, max(find.end for find in run)
        best = min(
            run, key=lambda find: (find.rank, find.start - find.end, find.shown.startswith(f"<{ANOTHER_PREFIX}"))
        )
        partial = best.rank == PERSONAL and (best.start, best.end) != (start, end)
        pieces += (text[last:start], masks.mask(text[start:end]) if partial else best.shown)
        last = end
    return "".join([*pieces, text[last:]])


def _runs(finds: list[_Find]) -> Iterator[list[_Find]]:
    run: list[_Find] = []
    end = 0
    for find in finds:
        if run and find.start >= end:
            yield run
            run = []
        run.append(find)
        end = max(end, find.end) if len(run) > 1 else find.end
    if run:
        yield run
