"""Entries of a HAR 1.2 file, one at a time, so that a file may be larger than the memory.

Each entry is read by `json` from a window of the text, in less time than `json.load` of the whole takes. ijson keeps
the path to every value: a deeply nested file of a few hundred kilobytes takes all the memory there is.
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
"""Characters of an entry: the largest take some hundred megabytes of memory."""
_TORN = 1 << 10
"""Characters at the end of the window in which an error may come from the end itself."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODE = JSONDecoder().raw_decode
_NOT_JSON, _NO_HAR = say("not the JSON of a HAR file"), say("no HAR: expected log.entries")
_CUT, _TOO_LARGE = say("cut short, or not JSON"), say("an entry is too large, or nested too deeply")


class DamagedError(Exception):
    """The file is not read further. Its argument says why, and repeats nothing of the file."""


def entries(file: TextIO) -> Iterator[Any]:
    """What stands in log.entries. Raises DamagedError after the last entry that can be read."""
    window, has_entries = _Window(file), False
    for name in window.members():
        if name != "log":
            window.value()
            continue
        for member in window.members():
            if member == "entries":
                has_entries = True
                for _ in window.parts("[", "]"):
                    yield window.value()
            else:
                window.value()
    if window.next:
        raise DamagedError(_NOT_JSON)
    if not has_entries:
        raise DamagedError(_NO_HAR)


class _Window:
    """The part of a text that is read now."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._text, self._at = file, "", 0

    @property
    def next(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            self._at = _BLANKS.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self._at < len(self._text) or not self._grow():
                return self._text[self._at : self._at + 1]

    def members(self) -> Iterator[str]:
        """The names of the members of an object; the caller reads the value of each."""
        for _ in self.parts("{", "}"):
            name = self.value()
            self._take(":")
            yield name

    def parts(self, opening: str, closing: str) -> Iterator[None]:
        """Once for each part of an object or an array, which the caller reads."""
        self._take(opening)
        if self._takes(closing):
            return
        yield
        while self._takes(","):
            yield
        self._take(closing)

    def value(self) -> Any:
        """The value that comes next."""
        if not self.next:
            raise DamagedError(_CUT)
        while True:
            try:
                value, end = _DECODE(self._text, self._at)
            except JSONDecodeError as error:
                is_torn = error.msg.startswith("Unterminated") or error.pos + _TORN > len(self._text)
                if not is_torn:
                    raise DamagedError(_NOT_JSON) from None
                if len(self._text) - self._at > _LARGEST:
                    raise DamagedError(_TOO_LARGE) from None
                if not self._grow():
                    raise DamagedError(_CUT) from None
            except (ValueError, RecursionError):
                raise DamagedError(_TOO_LARGE) from None
            else:
                if end + _TORN > len(self._text) and self._grow():  # a number may go on
                    continue
                self._at = end
                return value

    def _takes(self, character: str) -> bool:
        is_next = self.next == character
        self._at += is_next
        return is_next

    def _take(self, character: str) -> None:
        if not self._takes(character):
            raise DamagedError(_NOT_JSON if self.next else _CUT)

    def _grow(self) -> bool:
        """Read on, and forget what was read: gives false at the end of the file."""
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        if more:
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)
