"""Tokens of JSON, or of a text that is nearly JSON, such as a body that was cut. Joined, they are the text.

`show.py` decides for each token what may be shown, and the page marks lines of tokens. No input raises or recurses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from spec.interface import personal_fields
from spec.json_text import MAX_DEPTH, JsonPath, folded

DEEPEST = MAX_DEPTH
"""Last parts of a path that are kept. No JSON that the suite reads is nested deeper."""
_PERSONAL = frozenset(map(folded, personal_fields()))
_TOKEN = re.compile(
    r'(?:(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|(?P<word>[^\s"{}\[\],:]++))(?P<name>(?=\s*+:))?'
    r"|(?P<sign>[{}\[\],:])|(?P<blank>\s++)",
    re.DOTALL,
)
"""One token; its last group is its kind. A text in quotes may end where the body was cut. A text or a word before a
colon is a name. No quantifier gives back what it took (`*+`), so that the time grows with the length alone."""


class Token(NamedTuple):
    """A piece of a JSON text."""

    kind: str
    """`name` of a member, `text` in quotes, another `word`, `sign` such as a brace, or `blank`."""
    text: str
    """The piece as it is written."""
    path: JsonPath = ()
    """The name or the place in each object or array around the token, from the outside. Before them stands the name
    outside of all of them, which is empty in JSON."""
    is_personal: bool = False
    """True within a member that names a person, and if the path is too deep to know."""

    @property
    def member(self) -> str:
        """Name of the innermost member that holds the token; empty if there is none."""
        names = [part for part in self.path if isinstance(part, str)]  # a place in an array is a number
        return names[-1] if names else ""

    @property
    def content(self) -> str:
        """The text without its quotes and escapes. A text with a broken escape keeps its escapes."""
        inner = self.text.removeprefix('"').removesuffix('"')
        if "\\" not in inner:
            return inner
        try:
            return str(json.loads(f'"{inner}"', strict=False))
        except ValueError:
            return inner


@lru_cache(1_000)
def _names_somebody(part: str | int) -> bool:
    """True for the name of a personal member, in any spelling."""
    return folded(str(part)) in _PERSONAL


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, whether it is JSON or not."""
    path: list[str | int] = [""]
    is_within_personal = [False]  # for each part of the path: true if a part before it names a person
    for match in _TOKEN.finditer(text):
        token = Token(match.lastgroup or "", match[0])
        closes = token.text in ("}", "]")
        opens = token.text in ("{", "[")
        if token.kind == "name":
            path[-1] = token.content
        elif closes and len(path) > 1:  # a text that is no JSON may close more than it opens
            path.pop()
            is_within_personal.pop()
        last_part = path[-1]
        is_too_deep = len(path) >= DEEPEST
        is_within_or_too_deep = is_within_personal[-1] or is_too_deep
        is_personal = is_within_or_too_deep or _names_somebody(last_part)
        yield Token(token.kind, token.text, tuple(path[-DEEPEST:]), is_personal)
        if token.text == "," and isinstance(last_part, int):  # the next item of an array
            path[-1] = last_part + 1
        elif opens:
            is_within_personal.append(is_personal)
            path.append("" if token.text == "{" else 0)


def is_json_like(text: str) -> bool:
    """True for a text that starts as a JSON object, array or string does."""
    return text.lstrip(" \t\r\n\ufeff")[:1] in ("{", "[", '"')
