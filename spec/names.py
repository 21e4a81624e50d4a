"""Names of members that may be shown: those of the interface document, and those made of ordinary words.

Any other name may be data: a service may name a member by a person, an account or a day. The name alone decides, so
that two answers of one service never disagree about it.
"""

from __future__ import annotations

import re
from pathlib import Path

from spec.interface import openapi, operations
from spec.json_text import folded

_LINES = Path(__file__).with_name("words.txt").read_text("utf-8").splitlines()
WORDS = frozenset(word for line in _LINES if not line.startswith("#") for word in line.split())
"""Ordinary words in English and Portuguese, which name nobody, in small letters."""
_DOCUMENTED = frozenset(
    name for schema in openapi()["components"]["schemas"].values() for name in schema.get("properties", ())
).union(operation.path_parameter for operation in operations().values() if operation.path_parameter)
"""Names of members, and of what stands in paths, in the interface document."""
_NAME = re.compile(r"[@$_]?[A-Za-z][A-Za-z_-]{0,60}[0-9]?")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_FOLDED = frozenset(map(folded, _DOCUMENTED))


def is_name(name: str) -> bool:
    """True for a name of a member that is no data: a documented one in any spelling, or one made of ordinary words."""
    if not name.isascii() or folded(name) in _FOLDED:
        return name.isascii()
    words = words_of(name)
    longer = [word for word in words if len(word) > 1]
    return bool(longer and _KNOWN.issuperset(longer) and len(words) - len(longer) < 2 and _NAME.fullmatch(name))


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters: `pixKeyType` has three."""
    return [word.lower() for word in _WORD.findall(name)]


_KNOWN = WORDS.union(*map(words_of, _DOCUMENTED))
