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
"""Characters that are read from the file at a time, about a megabyte. A choice."""
_LARGEST = 1 << 25
"""Most characters of an entry, some 30 million. An entry of this size takes a few hundred megabytes of memory."""
_LONGEST_CUT_WORD = 1 << 10
"""Most characters of a word or number of which only the start is in memory, such as `fals` of `false`. If a value ends
so near to the end of the window, or cannot be decoded there, its rest may be in the part of the file that is not read
so far. The number is a choice: more than any single word or number of JSON has."""
_BLANKS = re.compile(r"[ \t\r\n]*")
"""The blanks that JSON permits between its parts, or nothing."""
_DECODE = JSONDecoder().raw_decode
"""Decodes the JSON value that begins at a position of a text. Returns the value and the position after it."""
# Reasons why a file is not read further.
_NOT_JSON = say("not the JSON of a HAR file")
_NO_HAR = say("no HAR: expected log.entries")
_CUT = say("cut short, or not JSON")
_TOO_LARGE = say("an entry is too large, or nested too deeply")


class DamagedError(Exception):
    """Reason why a file is not read further. It repeats nothing of the file."""


def entries(file: TextIO) -> Iterator[Any]:
    """The entries of a HAR file (the items of log.entries), read one at a time as the caller needs them.

    If the file is cut or is no HAR file, DamagedError is raised after the last entry that can be read. The window is
    the part of the file that is in memory, because the file may be larger than the memory.
    """
    window = _Window(file)
    has_entries = False
    for name in window.read_member_names():
        if name != "log":
            window.read_value()  # not needed, but it must be read to get to the next member
            continue
        for member in window.read_member_names():
            if member == "entries":
                has_entries = True
                for _ in window.before_each_part("[", "]"):
                    yield window.read_value()
            else:
                window.read_value()
    has_more_text = window.next_character() != ""
    if has_more_text:  # after the end of the JSON
        raise DamagedError(_NOT_JSON)
    if not has_entries:
        raise DamagedError(_NO_HAR)


class _Window:
    """Reads JSON from a file of which only a part, the window, is in memory."""

    def __init__(self, file: TextIO) -> None:
        """A window at the start of the file. Nothing is read so far."""
        self._file = file
        self._text = ""  # the part in memory
        self._at = 0  # position in it of the character that is read next

    def next_character(self) -> str:
        """The next character that is no blank; empty at the end of the file. Blanks before it are skipped.

        The character itself is not skipped: the next call returns it again.
        """
        while True:
            blanks = _BLANKS.match(self._text, self._at)  # perhaps none
            assert blanks is not None
            self._at = blanks.end()
            is_end_of_window = self._at == len(self._text)
            if is_end_of_window and self._read_more():
                continue  # the part of the file that was read now may begin with blanks, too
            return self._text[self._at : self._at + 1]  # empty at the end of the file

    def read_member_names(self) -> Iterator[str]:
        """Read a JSON object, and yield the name of each member. The caller must read the value after each name."""
        for _ in self.before_each_part("{", "}"):
            name = self.read_value()  # a JSON string
            self._skip(":")
            yield name

    def before_each_part(self, opening: str, closing: str) -> Iterator[None]:
        """Read an object or array. Yields before each member or item, which the caller must read before the next step.

        `opening` and `closing` are the brackets: `{` and `}`, or `[` and `]`.
        """
        self._skip(opening)
        if self._skip_if_next(closing):  # it is empty
            return
        yield
        while self._skip_if_next(","):
            yield
        self._skip(closing)

    def read_value(self) -> Any:
        """Read the next JSON value and return it. More of the file is read until the whole value is in memory.

        Raises DamagedError if the file is cut, is no JSON, or has a value that is too large.
        """
        if not self.next_character():  # the end of the file
            raise DamagedError(_CUT)
        while True:
            try:
                value, end = _DECODE(self._text, self._at)
            except JSONDecodeError as error:
                self._read_more_or_give_up(error)
                continue
            except (ValueError, RecursionError):
                raise DamagedError(_TOO_LARGE) from None
            is_at_the_end = end + _LONGEST_CUT_WORD > len(self._text)
            if is_at_the_end and self._read_more():  # a number may continue: only 12 was read of 123
                continue
            self._at = end
            return value

    def _read_more_or_give_up(self, error: JSONDecodeError) -> None:
        """Read more of the file if the value could not be decoded only because its end is not in memory so far.

        `error` says where decoding failed. Raises DamagedError if more text cannot repair the value, if the value is
        too large, or if the file has ended.
        """
        # A string without its closing quote may be long, so it may continue wherever it begins.
        is_string_without_end = error.msg.startswith("Unterminated")
        # An error near the end may come from a word such as `fals`, of which the rest is not in memory so far.
        is_near_the_end = error.pos + _LONGEST_CUT_WORD > len(self._text)
        if not is_string_without_end and not is_near_the_end:
            raise DamagedError(_NOT_JSON) from None
        if len(self._text) - self._at > _LARGEST:
            raise DamagedError(_TOO_LARGE) from None
        if not self._read_more():
            raise DamagedError(_CUT) from None

    def _skip_if_next(self, character: str) -> bool:
        """Skip this character if it is the next one, and return True; False if another character comes next."""
        if self.next_character() != character:
            return False
        self._at += 1
        return True

    def _skip(self, character: str) -> None:
        """Skip this character, which must be the next one. Raises DamagedError if another character comes next."""
        if not self._skip_if_next(character):
            file_has_ended = self.next_character() == ""
            raise DamagedError(_CUT if file_has_ended else _NOT_JSON)

    def _read_more(self) -> bool:
        """Read more of the file into memory, and drop the text that was used already. False at the end of the file.

        At least as much is read as is in memory and not used so far. So a large entry, which is decoded from its start
        after each step, is decoded only a few times.
        """
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        if more:
            self._text = self._text[self._at :] + more
            self._at = 0
        return bool(more)
