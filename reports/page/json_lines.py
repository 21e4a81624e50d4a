"""A JSON text in lines, its tokens untouched: numbers, escapes and repeated names stay as they were sent.

Only blanks between the tokens change. A text that is not JSON has no lines: it is shown as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import count

from spec.json_text import JsonPath

DEEPEST = 32
"""Deeper texts are shown as they are: their indentation would be longer than they are."""
MARK = r"\ufeff"
"""A byte order mark as it is shown."""
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"'
_WORD = r"(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null)(?![\w.+-])"
_TOKEN = re.compile(rf"[ \t\r\n]*+({_STRING}|{_WORD}|[{{}}\[\],:])")
_CUT = re.compile(r"… \([0-9]+ bytes in all\)\Z")
_CLOSING = {"{": "}", "[": "]"}


@dataclass
class Line:
    """One line: the name of a member, if any, and a scalar, an empty value, or a bracket; `tail` is its comma.

    `path` leads to the value that starts here. Where `closes`, the line only ends one.
    """

    path: JsonPath
    name: str
    value: str
    tail: str = ""
    closes: bool = False

    @property
    def depth(self) -> int:
        """How many objects and arrays hold what starts or ends here."""
        return len(self.path)


@dataclass
class Lines:
    """A JSON text in lines. `mark` is its byte order mark; `rest` stands after the last line of one that was cut."""

    lines: list[Line]
    mark: str = ""
    rest: str = ""


class _BrokenError(Exception):
    """The text goes on as no JSON does."""


def in_lines(text: str) -> Lines | None:
    """The lines of a text, None where it is not JSON. A text that was cut is JSON as far as it goes."""
    cut = _CUT.search(text)
    mark = MARK if text.startswith(MARK) else ""
    reader = _Reader(text[: cut.start()] if cut else text, len(mark))
    try:
        reader.value(())
        reader.end()
    except _BrokenError:
        if not cut or not reader.lines:
            return None
    return Lines(reader.lines, mark, text[reader.done :].strip() if cut else "")


class _Reader:
    """Reads a text once. `done` is the end of the last line."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.done = text, at, at
        self.lines: list[Line] = []

    def value(self, path: JsonPath, name: str = "") -> None:
        token = self._take()
        if token in ("}", "]", ",", ":"):
            raise _BrokenError
        self._add(Line(path, name, token))
        if token in _CLOSING:
            self._members(token, path)

    def end(self) -> None:
        """Nothing but blanks follows."""
        if self.text[self.at :].strip(" \t\r\n"):
            raise _BrokenError

    def _members(self, opening: str, path: JsonPath) -> None:
        closing = _CLOSING[opening]
        if len(path) >= DEEPEST:
            raise _BrokenError
        if self._next() == closing:
            self.lines[-1].value += self._take()
            self.done = self.at
            return
        for position in count():
            name = self._name() if opening == "{" else ""
            self.value((*path, json.loads(name) if name else position), name)
            if self._next() != ",":
                break
            self.lines[-1].tail = self._take()
            self.done = self.at
        if self._take() != closing:
            raise _BrokenError
        self._add(Line(path, "", closing, closes=True))

    def _name(self) -> str:
        name = self._take()
        if name[0] != '"' or self._take() != ":":
            raise _BrokenError
        return name

    def _add(self, line: Line) -> None:
        self.lines.append(line)
        self.done = self.at

    def _take(self) -> str:
        token, self.at = self._read()
        return token

    def _next(self) -> str:
        """The next token, which stays to be taken."""
        return self._read()[0]

    def _read(self) -> tuple[str, int]:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise _BrokenError
        return found[1], found.end()
