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
"""Characters at the end of the window in which JSON may seem broken only because its rest was not read so far."""
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
    """Reads JSON from a file of which only a part, the window, is in memory."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""  # the part in memory
        self._at = 0  # position in it of the character that is read next

    def peek(self) -> str:
        """The next character that is no blank; empty at the end of the file. It is read again by the next call."""
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
        """Yield before each member of an object or item of an array. The caller must read it before it goes on.

        `opening` and `closing` are the brackets: `{` and `}`, or `[` and `]`.
        """
        self._take(opening)
        if self._take_if_next(closing):
            return
        yield
        while self._take_if_next(","):
            yield
        self._take(closing)

    def value(self) -> Any:
        """Read the next JSON value. The window grows until it has the whole value. Raises DamagedError."""
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
        """Read more of the file if the JSON may be broken only because the window ends there.

        Raises DamagedError if it is broken in any case, if the value is too large, or if the file has ended.
        """
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
        """Read more of the file, and forget the text that was used already. False at the end of the file.

        The text that is not used so far at least doubles, so that a large entry is not decoded once for each chunk.
        """
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        if more:
            self._text = self._text[self._at :] + more
            self._at = 0
        return bool(more)
