"""What is shown instead of personal data, and what is safe to print."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 64
"""Characters of a masked text, or digits of a masked number, before it is cut."""

_CUT = re.compile(r"[^0-8b-zB-Z]{0,4}…\([0-9]{1,7} characters\)")
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_DIGIT = re.compile(r"[0-9]")
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


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
    """Whether nothing would be hidden by masking once more."""
    return mask(text[:LONGEST]) == text[:LONGEST]


def is_number(text: str) -> bool:
    """Whether a text is a JSON number, leading zeros forgiven."""
    return bool(_NUMBER.fullmatch(text))


def mask_number(text: str) -> str:
    """A JSON number with its sign, point and exponent kept: `-12.5e3` is `-99.9e3`. At most 64 digits a part."""
    mantissa, mark, exponent = re.split(r"([eE]|$)", text, maxsplit=1)
    parts = (_DIGIT.sub("9", part[: LONGEST + 1]) for part in mantissa.split("."))
    return ".".join(parts) + mark + exponent[:LONGEST]


def printable(text: str) -> str:
    r"""Control characters, bidi overrides and lone surrogates as `\x1b` or `\ud800`; new lines and tabs stay."""
    return _UNSAFE.sub(_escape, text)


def printable_json(text: str) -> str:
    r"""The same inside a JSON string, where only `\u001b` is an escape."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
