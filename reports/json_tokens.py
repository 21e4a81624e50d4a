"""JSON, or what is nearly JSON, token by token: joined, the tokens are the text. No input overflows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from spec.interface import personal_fields
from spec.json_text import MAX_DEPTH, JsonPath, folded

DEEPEST = MAX_DEPTH
"""Names and places of a path that are kept, from its end: no JSON that is read is nested deeper."""
_PERSONAL = frozenset(map(folded, personal_fields()))
_TOKEN = re.compile(
    r'(?:(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|(?P<word>[^\s"{}\[\],:]++))(?P<name>(?=\s*+:))?'
    r"|(?P<sign>[{}\[\],:])|(?P<blank>\s++)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A piece of a JSON text: a `name`, a `text` in quotes, another `word`, a `sign` or a `blank`. `path` leads to the
    value that it belongs to: for each object or array around it a name or a place, and first the name outside of all
    of them, empty in JSON. `is_personal` is true within a member that names somebody, and where the path is too long
    to tell."""

    kind: str
    text: str
    path: JsonPath = ()
    is_personal: bool = False

    @property
    def member(self) -> str:
        """The name that holds it."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), "")

    @property
    def content(self) -> str:
        """The text without its quotes and escapes; a broken one as it is written."""
        inner = self.text.removeprefix('"').removesuffix('"')
        if "\\" not in inner:
            return inner
        try:
            return str(json.loads(f'"{inner}"', strict=False))
        except ValueError:
            return inner


@lru_cache(1_000)
def _names_somebody(part: str | int) -> bool:
    return folded(str(part)) in _PERSONAL


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a JSON text, or of one that is nearly so."""
    path: list[str | int] = [""]
    around_personal = [False]  # for each part of the path: true if a part before it names somebody
    for match in _TOKEN.finditer(text):
        token = Token(match.lastgroup or "", match[0])
        if token.kind == "name":
            path[-1] = token.content
        elif token.text in ("}", "]") and len(path) > 1:
            path.pop()
            around_personal.pop()
        last = path[-1]
        is_too_deep = len(path) >= DEEPEST
        is_personal = is_too_deep or around_personal[-1] or _names_somebody(last)
        yield Token(token.kind, token.text, tuple(path[-DEEPEST:]), is_personal)
        if token.text == "," and isinstance(last, int):
            path[-1] = last + 1
        elif token.text in ("{", "["):
            around_personal.append(is_personal)
            path.append("" if token.text == "{" else 0)


def is_json_like(text: str) -> bool:
    """True for a text that starts as a JSON object, array or string does."""
    return text.lstrip(" \t\r\n\ufeff")[:1] in ("{", "[", '"')
