"""JSON, or what is nearly JSON, token by token: no input overflows it, and a body that is cut is read, too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from spec.interface import personal_fields
from spec.json_text import folded

_PERSONAL = frozenset(map(folded, personal_fields()))
_STRING = r'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))'
_TOKEN = re.compile(
    rf"(?P<layout>[\s\[\]{{}},:]*+)(?:(?:{_STRING}|(?P<word>[^\s\"{{}}\[\],:]++))(?P<name>(?=\s*+:))?|\Z)", re.DOTALL
)
_LATIN = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?(?:iso-8859-1|latin-?1|windows-1252)\b", re.IGNORECASE)


@dataclass
class _Holder:
    """An object or array that is being read: the name of the member that it is, whether that is personal, and where
    its own names stand."""

    name: str = ""
    personal: bool = False
    names: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Token:
    """A string, a word or a name of a JSON text, and the brackets, commas and blanks before it. `member` is the name
    that holds it; `personal` members hold what names somebody. `holder` is the object or array around it."""

    kind: str
    text: str
    layout: str
    member: str
    personal: bool
    holder: _Holder

    @property
    def content(self) -> str:
        """What a string says; a broken one as it is written."""
        inner = self.text.removeprefix('"').removesuffix('"')
        try:
            return str(json.loads(f'"{inner}"', strict=False))
        except ValueError:
            return inner


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a JSON text, or of one that is nearly so; joined they are the text. No input overflows it."""
    holders, member, personal = [_Holder()], "", False
    for match in _TOKEN.finditer(text):
        for bracket in match["layout"]:
            if bracket in "[{":
                holders.append(_Holder(member, personal))
            elif bracket in "]}" and holders[1:]:
                holders.pop()
                member, personal = holders[-1].name, holders[-1].personal
        kind = match.lastgroup or "layout"
        token = Token(kind, match[0][len(match["layout"]) :], match["layout"], member, personal, holders[-1])
        if kind == "name":
            member = token.content
            personal = holders[-1].personal or folded(member) in _PERSONAL
        yield token


def decoded(body: bytes, content_type: str = "") -> str:
    """The characters of a body: Latin-1 where it says so, else UTF-8, -16 or -32 by its first bytes."""
    return body.decode("latin-1" if _LATIN.search(content_type) else json.detect_encoding(body), "replace")


def is_json_like(text: str) -> bool:
    """True for a text that starts as a JSON object, array or string does."""
    return text.lstrip(" \t\r\n\ufeff")[:1] in ("{", "[", '"')
