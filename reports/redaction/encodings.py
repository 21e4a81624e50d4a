"""How one value may be written: escapes are undone in the text, packed forms are computed from the value."""

from __future__ import annotations

import base64
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5

_ESCAPE = re.compile(
    r"%[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U000[0-9a-fA-F]{5}|\\x[0-9a-fA-F]{2}|\\[\\/\"'bfnrt]"
    r"|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});?|&[A-Za-z][A-Za-z0-9]{1,31};"
)
_BETWEEN_BYTES = r"(?:[ :-]|, ?)(?:0x)?"
_LINE_BREAK = r"(?=[\r\n\\])(?<=[A-Za-z0-9+/_-]{60})(?:\r?\n|(?:\\r)?\\n)"
_IS_APART = re.compile(rf"(?:[0-9a-fA-F]{{2}}{_BETWEEN_BYTES}){{7}}[0-9a-fA-F]{{2}}|{_LINE_BREAK}")
_APART = re.compile(
    rf"(?<=[0-9a-fA-F]{{2}}){_BETWEEN_BYTES}(?=[0-9a-fA-F]{{2}})"
    rf"|{_LINE_BREAK}(?=[A-Za-z0-9+/_-])"
)
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST = 3
_PUNCTUATION = re.compile(r"[ ().\-/+]")
_CORE = 5


class _Fold(dict[int, str]):
    """Letter case folded one character at a time, so that positions stay what they are. A lone surrogate, which no
    automaton reads, is the character that stands for what cannot be shown."""

    def __missing__(self, code: int) -> str:
        character = chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"
        folded = next((form for form in (character.casefold(), character.lower()) if len(form) == 1), character)
        self[code] = folded
        return folded


_FOLD = _Fold()


def fold(text: str) -> str:
    """A text without letter case, as long as before."""
    return text.lower() if text.isascii() else text.translate(_FOLD)


@dataclass(frozen=True)
class Reading:
    """A text with its escapes undone a number of times, and the way back to the text as it stands."""

    text: str
    below: Reading | None = None
    here: tuple[int, ...] = ()
    there: tuple[int, ...] = ()

    def position(self, index: int) -> int:
        """Where the character stands in the original text."""
        if self.below is None:
            return index
        found = bisect_right(self.here, index) - 1
        return self.below.position(index if found < 0 else self.there[found] + index - self.here[found])


def readings(text: str) -> Iterator[Reading]:
    """The text as it stands, then with its escapes undone once, twice and three times where there are any.

    What stands before a value may take its start for an escape, as in `100%` before `0042`. So the text is read
    carefully too: without undoing what no encoder writes. Bytes in hexadecimal that
    stand apart, and lines of base64, are read joined.
    """
    whole = Reading(text)
    yield whole
    if _IS_APART.search(text):
        yield _undone(whole, lambda between: "", _APART)
    seen = {text}
    for undo in (_character, _careful):
        reading = whole
        for _ in range(_DEEPEST):
            if not _ESCAPE.search(reading.text):
                break
            below, reading = reading, _undone(reading, undo)
            if reading.text == below.text:
                break
            if reading.text not in seen:
                seen.add(reading.text)
                yield reading


def unescape(text: str) -> str:
    """The text with its percent, JSON and HTML escapes undone once."""
    return _ESCAPE.sub(lambda match: _character(match.group()), text)


def _undone(below: Reading, undo: Callable[[str], str], escape: re.Pattern[str] = _ESCAPE) -> Reading:
    pieces: list[str] = []
    here, there = [], []
    last = length = 0
    for match in escape.finditer(below.text):
        start, end = match.span()
        character = undo(match.group())
        pieces += (below.text[last:start], character)
        length += start - last + len(character)
        last = end
        here.append(length)
        there.append(end)
    return Reading("".join([*pieces, below.text[last:]]), below, tuple(here), tuple(there))


@lru_cache(10_000)
def _character(escape: str) -> str:
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    if escape[0] == "\\":
        return chr(int(escape[2:], 16)) if escape[1] in "uUx" else _CONTROL.get(escape[1], escape[1])
    if escape[1] != "#":
        return html5.get(escape[1:], escape)
    digits = escape[2:].rstrip(";")
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return chr(code) if code < 0x110000 else escape


@lru_cache(10_000)
def _careful(escape: str) -> str:
    """Encoders escape neither letters nor digits; control characters are in no value."""
    character = _character(escape)
    return escape if character.isascii() and (character.isalnum() or character < " ") else character


def spellings(value: str) -> set[str]:
    """The characters that a value may show as once escapes are undone.

    Bytes of UTF-8 one by one (percent-encoding, mojibake), UTF-16 pairs (JSON escapes), composed and decomposed
    accents, `+` for a space, no punctuation in numbers, and what undoing escapes makes of the value itself.
    """
    forms = {value, value.replace(" ", "+")}
    bare = _PUNCTUATION.sub("", value)
    if sum(character.isdigit() for character in bare) >= 8 or len(bare) == 14:
        forms.add(bare)
    if not value.isascii():
        forms |= {unicodedata.normalize(form, each) for form in ("NFC", "NFD") for each in tuple(forms)}
        forms |= {_wide(each) for each in forms} | {_narrow(each) for each in forms}
    for _ in range(_DEEPEST if _ESCAPE.search(value) else 0):
        forms |= {unescape(form) for form in forms}
    return forms


def packed_forms(value: str) -> set[str]:
    """Hexadecimal, and the characters of base64 that depend on the value alone, at each of three alignments."""
    data = value.encode("utf-8", "surrogatepass")
    forms = {data.hex()}
    for offset, skipped in enumerate((0, 2, 3)):
        code = base64.b64encode(bytes(offset) + data).decode()[skipped : (offset + len(data)) * 8 // 6]
        forms |= {code, code.translate(_URLSAFE)}
    return {form for form in forms if len(form) >= _CORE}


_URLSAFE = str.maketrans("+/", "-_")


def _narrow(value: str) -> str:
    return value.encode("utf-8", "surrogatepass").decode("latin-1")


def _wide(value: str) -> str:
    units = memoryview(value.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(map(chr, units))
