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
"""Most parts of a path that a token has: only the last parts of a longer path. Without a limit, a body that opens
thousands of braces would take memory for thousands of paths. No JSON that the suite reads is nested deeper."""
_PERSONAL_NAMES = frozenset(map(folded, personal_fields()))
"""Names of members that describe a person, in small letters and without separators."""
_TOKEN = re.compile(
    r"""
      (?: (?P<text> " [^"\\]*+ (?: \\. [^"\\]*+ )*+ (?: " | \\?\Z ) )  # in quotes; it may end where the body was cut
        | (?P<word> [^\s"{}\[\],:]++ )
      )
      (?P<name> (?= \s*+ : ) )?                                        # a text or a word before a colon is a name
    | (?P<sign> [{}\[\],:] )
    | (?P<blank> \s++ )
    """,
    re.DOTALL | re.VERBOSE,
)
"""One token; its last group is its kind. No quantifier gives back what it took (`*+`), so that the time grows with the
length alone."""


class Token(NamedTuple):
    """A piece of a JSON text."""

    kind: str
    """`name` of a member, `text` in quotes, another `word`, `sign` such as a brace, or `blank`."""
    text: str
    """The piece as it is written."""
    path: JsonPath = ()
    """The name or the array index in each object or array around the token, from the outside. The first part is the
    name before the outermost brace, which is empty in JSON."""
    is_personal: bool = False
    """True within a member whose value describes a person, such as `document`, and if the path is too long to know."""

    @property
    def member(self) -> str:
        """Name of the innermost member that holds this piece: `to` for `1` in `{"to": [1]}`; empty if there is none."""
        names = [part for part in self.path if isinstance(part, str)]  # the path has a number for an array item
        return names[-1] if names else ""

    @property
    def content(self) -> str:
        """The text without its quotes and escapes. If an escape is broken, as `\\u00`, all escapes are unchanged."""
        inner = self.text.removeprefix('"').removesuffix('"')
        if "\\" not in inner:
            return inner
        try:
            return str(json.loads(f'"{inner}"', strict=False))
        except ValueError:
            return inner


@lru_cache(1_000)  # so many results are remembered, because the same names come again and again
def _is_personal_name(part: str | int) -> bool:
    """True for the name of a member whose value describes a person, such as `document`, in any letter case.

    `part` is a part of a path in JSON. A number, which is the index of an array item, is no such name.
    """
    return folded(str(part)) in _PERSONAL_NAMES


def tokens(text: str) -> Iterator[Token]:
    """The smallest pieces of a text in their order: names, strings, other words, signs such as `{`, and blanks.

    Each piece has its path, so that the caller knows in which member it is. The text may be broken JSON, such as a body
    that was cut: it still must be shown without personal data.
    """
    path: list[str | int] = [""]  # the last part is the name of the present member, or the index of the array item
    is_in_personal_member = [False]  # for each part of the path: true if a part before it is a name such as `document`
    for match in _TOKEN.finditer(text):
        token = Token(match.lastgroup or "", match[0])
        closes = token.text in ("}", "]")
        opens = token.text in ("{", "[")
        if token.kind == "name":
            path[-1] = token.content
        elif closes and len(path) > 1:  # a text that is no JSON may close more than it opens
            path.pop()
            is_in_personal_member.pop()
        last_part = path[-1]
        # Nothing so deep is documented, so nobody knows what it says. To be safe, it is treated as personal.
        is_too_deep = len(path) >= DEEPEST
        is_in_personal_or_too_deep = is_in_personal_member[-1] or is_too_deep
        is_personal = is_in_personal_or_too_deep or _is_personal_name(last_part)
        yield Token(token.kind, token.text, tuple(path[-DEEPEST:]), is_personal)
        if token.text == "," and isinstance(last_part, int):  # the next item of an array
            path[-1] = last_part + 1
        elif opens:
            is_in_personal_member.append(is_personal)
            path.append("" if token.text == "{" else 0)


def is_json_like(text: str) -> bool:
    """True for a text that starts with `{`, `[` or `"`, as a JSON object, array or string does.

    Such a text is shown piece by piece, even if it is broken JSON. A byte order mark before the sign is allowed.
    """
    return text.lstrip(" \t\r\n\ufeff")[:1] in ("{", "[", '"')
