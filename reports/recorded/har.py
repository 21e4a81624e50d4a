"""Entries of a HAR 1.2 file, one at a time, so that a file may be larger than the memory.

`json` reads each entry from a window of the text, in less time than `json.load` of the whole file takes. A reader such
as ijson is not used, because it keeps the path to every value: a deeply nested file of a few hundred kilobytes takes
all memory.

Self-tests: reports/recorded/test_entry.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any, TextIO

from spec.message import say

_CHUNK = 1 << 20
"""Characters that are read at a time."""
_LARGEST = 1 << 25
"""Characters of an entry. Such a large one takes some hundred megabytes of memory."""
_TORN = 1 << 10
"""Characters at the end of the window in which the text may only seem broken, because it goes on."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODE = JSONDecoder().raw_decode
_NOT_JSON = say("not the JSON of a HAR file")
_NO_HAR = say("no HAR: expected log.entries")
_CUT = say("cut short, or not JSON")
_TOO_LARGE = say("an entry is too large, or nested too deeply")


class DamagedError(Exception):
    """Reason why a file is not read further. It repeats nothing of the file."""


def entries(file: TextIO) -> Iterator[Any]:
    """The values in log.entries. Raises DamagedError after the last entry that can be read."""
    window = _Window(file)
    has_entries = False
    for name in window.members():
        if name != "log":
            window.value()  # reads over it
            continue
        for member in window.members():
            if member == "entries":
                has_entries = True
                for _ in window.parts("[", "]"):
                    yield window.value()
            else:
                window.value()
    if window.peek():
        raise DamagedError(_NOT_JSON)
    if not has_entries:
        raise DamagedError(_NO_HAR)


class _Window:
    """The part of a file that is in memory, and the place in it that is read next."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """The next character that is no blank, which is not taken; empty at the end."""
        while True:
            self._at = _BLANKS.match(self._text, self._at).end()  # type: ignore[union-attr]  # it always matches
            if self._at < len(self._text) or not self._grow():
                return self._text[self._at : self._at + 1]

    def members(self) -> Iterator[str]:
        """The names of the members of an object; the caller reads the value of each."""
        for _ in self.parts("{", "}"):
            name = self.value()
            self._take(":")
            yield name

    def parts(self, opening: str, closing: str) -> Iterator[None]:
        """Yield before each part of an object or an array. The caller reads the part."""
        self._take(opening)
        if self._take_if_next(closing):
            return
        yield
        while self._take_if_next(","):
            yield
        self._take(closing)

    def value(self) -> Any:
        """Read the value that comes next. The window grows until it holds the whole value."""
        if not self.peek():
            raise DamagedError(_CUT)
        while True:
            try:
                value, end = _DECODE(self._text, self._at)
            except JSONDecodeError as error:
                self._grow_or_give_up(error)
                continue
            except (ValueError, RecursionError):
                raise DamagedError(_TOO_LARGE) from None
            is_at_the_end = end + _TORN > len(self._text)
            if is_at_the_end and self._grow():  # a number may go on: 12 was read of 123
                continue
            self._at = end
            return value

    def _grow_or_give_up(self, error: JSONDecodeError) -> None:
        """Read on, because the text may only seem broken where the window ends. Raises DamagedError if it is broken."""
        may_go_on = error.msg.startswith("Unterminated") or error.pos + _TORN > len(self._text)
        if not may_go_on:
            raise DamagedError(_NOT_JSON) from None
        if len(self._text) - self._at > _LARGEST:
            raise DamagedError(_TOO_LARGE) from None
        if not self._grow():
            raise DamagedError(_CUT) from None

    def _take_if_next(self, character: str) -> bool:
        """Read this character if it comes next. False if another one does."""
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def _take(self, character: str) -> None:
        """Read this character. Raises DamagedError if another one comes next."""
        if not self._take_if_next(character):
            raise DamagedError(_NOT_JSON if self.peek() else _CUT)

    def _grow(self) -> bool:
        """Read on in the file, and forget the text before the place. False at the end of the file.

        The unread text doubles at least, so that a large entry is not decoded once for each chunk.
        """
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        if more:
            self._text = self._text[self._at :] + more
            self._at = 0
        return bool(more)
