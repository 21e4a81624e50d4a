"""What looks personal wherever it stands, what is shown instead, what is safe to print, and the words that name nobody:
they stay readable where the rest of a text is masked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from stdnum.br import cnpj, cpf

LONGEST = 64
"""Characters of a masked text, or digits of a masked number, before it is cut."""

_CUT = re.compile(r"[^0-8b-zB-Z]{0,4}…\([0-9]{1,7} characters\)")
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_DIGIT = re.compile(r"[0-9]")
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class _Shape(dict[int, str]):
    """Every character by its shape: `A`, `a`, `9`, or itself; filled in as characters turn up."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        shape = {"L": "A" if category == "Lu" else "a", "M": "a", "N": "9"}.get(category[0], character)
        self[code] = shape
        return shape


_SHAPES = _Shape()


def shape(text: str) -> str:
    """Every letter as `A` or `a`, every digit as `9`; the rest stays."""
    return text.translate(_SHAPES)


def mask(text: str) -> str:
    """The shape of a text: `Maria Silva 1` is `Aaaaa Aaaaa 9`. Over 64 characters: `aaaa…(1000 characters)`."""
    if len(text) <= LONGEST:
        return text if _CUT.fullmatch(text) else shape(text)
    return f"{shape(text[:4])}…({len(text)} characters)"


def is_masked(text: str) -> bool:
    """Whether masking would change nothing; by masking once more."""
    return mask(text[:LONGEST]) == text[:LONGEST]


def is_numeric(text: str) -> bool:
    """Whether a text is a JSON number, leading zeros forgiven."""
    return bool(_NUMBER.fullmatch(text))


def mask_number(text: str) -> str:
    """A JSON number with its sign, point and exponent kept: `-12.5e3` is `-99.9e3`. At most 64 digits a part."""
    mantissa, mark, exponent = re.split(r"([eE]|$)", text, maxsplit=1)
    parts = (_DIGIT.sub("9", part[: LONGEST + 1]) for part in mantissa.split("."))
    return ".".join(parts) + mark + exponent[:LONGEST]


def printable(text: str) -> str:
    r"""What is not seen, reorders what is read or has no bytes in UTF-8 as `\x1b` or `\u200b`; new lines, tabs stay."""
    return _UNSAFE.sub(_escape, text)


def printable_json(text: str) -> str:
    r"""The same inside a JSON string, where only `\u001b` is an escape."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_FILE = Path(__file__).parents[2] / "spec" / "words.txt"
_LINES = (line for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#"))
_WORDS = frozenset(word for line in _LINES for word in line.split())
_WORD = re.compile(r"[^\W\d_]+")
_OTHERS = re.compile(r"[^\W\d_]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]*")
_LONGEST_WORD = 30
_SENT = re.compile(r"(?:\bbearer\s{1,9}|=[\"']?)\Z", re.IGNORECASE)
"""What stands before a credential: not even a word of the vocabulary stays readable there."""
_CUT_BEFORE = re.compile(r"…\([0-9]{1,7} characters\)\Z")
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
    """Whether a part of a text is a word of the vocabulary, or a piece of one, and is not sent as a credential."""
    if _SENT.search(text, max(0, start - _LONGEST_WORD), start):
        return False
    before = _LETTERS.match(text[max(0, start - _LONGEST_WORD) : start][::-1])
    after = _LETTERS.match(text, end, end + _LONGEST_WORD)
    return before is not None and after is not None and is_word(text[start - len(before[0]) : end + len(after[0])])


def mask_others(text: str) -> str:
    """The text with everything masked that is no word of the vocabulary: `CNPJ of Maria` is `CNPJ of Aaaaa`."""
    cut = _CUT_BEFORE.search(text)
    if cut and cut.start() <= _LONGEST:
        return _masked(text[: cut.start()]) + cut.group()
    return _masked(text) if len(text) <= _LONGEST else f"{_masked(text[:_LONGEST])}…({len(text)} characters)"


def _masked(text: str) -> str:
    return _OTHERS.sub(lambda match: match.group() if is_word(match.group()) else shape(match.group()), text)


def names_nobody(text: str) -> bool:
    """Whether a personal text needs no redaction: it is masked, or so are all words beyond the vocabulary."""
    return is_masked(text) or (len(text) < 2 * _LONGEST and mask_others(text) == text)


LOOKS_PERSONAL = ("cpf", "cnpj", "e-mail", "phone")

# The start of a run only, and possessive: no text makes these scan twice.
_MAIL = re.compile(r"(?<![\w.+%'-])[\w.+%'-]++@[\w-]++(?:\.[\w-]++)++")
_EIGHT_DIGITS = re.compile(r"[0-9](?:[ ().\-/]{0,3}[0-9]){7}")
_ALPHANUMERIC = re.compile(r"(?<![0-9A-Za-z_])(?:[0-9A-Z]{12}|[0-9a-z]{12})[0-9]{2}(?![0-9A-Za-z_])")
# Alone: no letter or digit beside it, and no part of a longer decimal number.
_NUMBERS = re.compile(
    r"""
    (?<![0-9]) (?= [0-9+(] | [A-Za-z][0-9A-Za-z]\. | [0-9a-fA-F]{8}- )
    (?: (?P<other>  [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}
              | [0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?
                (?:[+-][0-9]{2}:?[0-9]{2})? )
    | (?<![0-9A-Za-z]) (?P<cnpj> [0-9A-Za-z]{2}\.[0-9A-Za-z]{3}\.[0-9A-Za-z]{3}/[0-9A-Za-z]{4}-[0-9]{2} ) (?![0-9])
    | (?<![0-9]) (?P<cpf> [0-9]{3}\.[0-9]{3}\.[0-9]{3}[-/][0-9]{2} ) (?![0-9])
    | (?<![\w+]) (?P<abroad> \+[1-9](?:[ ().\-]{0,2}[0-9]){7,14} ) (?![0-9])
    | (?<![0-9]) (?P<local> \(0?[1-9][0-9]\)[ ]?9?[0-9]{4}[- ]?[0-9]{4} ) (?![0-9])
    | (?<![\w-]) (?P<split> (?:0?[1-9][1-9][ -])?9[0-9]{4}-[0-9]{4} | [1-9][1-9][ -]9[0-9]{8} ) (?![\w-])
    | (?<![0-9A-Za-z_]) (?<![0-9][.,]) (?P<bare>
        [0-9]{14} | [0-9]{11} | 55[1-9][1-9]9[0-9]{8}
        | [0-9]{3}[ ][0-9]{3}[ ][0-9]{3}[ ][0-9]{2} | [0-9]{9}-[0-9]{2} | [0-9]{12}-[0-9]{2}
      ) (?![0-9A-Za-z_]) (?![.,-][0-9]) )
    """,
    re.VERBOSE,
)
_MOBILE = re.compile(r"(?:55)?[1-9][1-9]9[0-9]{8}")


def detect(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind (one of LOOKS_PERSONAL) of everything that looks personal and is not masked already."""
    if "@" in text:
        yield from ((*match.span(), "e-mail") for match in _MAIL.finditer(text) if not is_masked(match.group()))
    if len(text) < 8:
        return
    for match in _ALPHANUMERIC.finditer(text):
        if cnpj.is_valid(match.group().upper()):
            yield (*match.span(), "cnpj")
    if _EIGHT_DIGITS.search(text) or ("/" in text and "." in text):  # a CNPJ of letters has both
        for match in _NUMBERS.finditer(text):
            kind = _kind(match.lastgroup or "", match.group())
            if kind and not is_masked(match.group()):
                yield (*match.span(), kind)


def _kind(group: str, number: str) -> str:
    if group in ("cpf", "cnpj"):
        return group
    if group in ("abroad", "local", "split"):
        return "phone"
    if group == "bare" and cpf.is_valid(number):
        return "cpf"
    if group == "bare" and cnpj.is_valid(number):
        return "cnpj"
    return "phone" if group == "bare" and _MOBILE.fullmatch(number) else ""
