"""Which members may be named by data that looks like a name: a person in one word, a short token.

A name with no word of a field in it is doubtful. An object of which all names are doubtful, and all values have one
shape, is keyed by data as far as anyone can tell: its shape says "any name". This is for shapes that are merged over a
run: it asks for all names that an object has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from spec.interface import openapi
from spec.shapes.inference import gathered
from spec.shapes.schema_parts import Shape, changed_inside, ordered

IsWord = Callable[[str], bool]
"""Whether a text is a word that names nobody."""
_FILE = Path(__file__).with_name("field_words.txt")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHARE = 3
"""One letter in so many belongs to a known word, or the name is doubtful: two letters of a token may be a word."""
_SHORTEST, _SHORTEST_OTHER = 3, 4
"""Letters of a word within a name in small letters, and of a word that is not one of fields: `dos` is in names, too."""


def without_doubtful_names(shape: Shape, is_word: IsWord) -> Shape:
    """The shape with "any name" in place of doubtful names. `is_word` knows words beside those of fields."""
    return ordered(_settled(shape, is_word))


def is_doubtful(name: str, is_word: IsWord) -> bool:
    """Whether a name has no word in it that names of fields are made of."""
    words = _WORDS.findall(_plain(name))
    known = sum(len(word) for word in words if _is_known(word, is_word))
    is_listed = name.lower() in field_words()
    return not is_listed and (known == 0 or known * _SHARE < sum(map(len, words)))


def _settled(shape: Shape, is_word: IsWord) -> Shape:
    whole = changed_inside(shape, lambda inner: _settled(inner, is_word))
    members = whole.pop("properties", {})
    if not members or not all(is_doubtful(name, is_word) for name in members):
        return whole | ({"properties": members} if members else {})
    others, left = gathered(whole.get("additionalProperties", members[min(members)]), members)
    if left:
        return whole | {"properties": members}
    whole.pop("required", None)
    return whole | {"additionalProperties": others}


def _is_known(word: str, is_word: IsWord) -> bool:
    return word.lower() in field_words() or _is_made_of(word, is_word)


def _is_made_of(word: str, is_word: IsWord) -> bool:
    """Whether it is a word, or words one after the other, as in `accountnumber`."""
    return _is_part(word, is_word) or any(
        _is_part(word[:end], is_word) and _is_made_of(word[end:], is_word) for end in range(_SHORTEST, len(word) - 1)
    )


def _is_part(word: str, is_word: IsWord) -> bool:
    if word.lower() in field_words():
        return len(word) >= _SHORTEST or word == "id"
    return len(word) >= _SHORTEST_OTHER and is_word(word)


@cache
def field_words() -> frozenset[str]:
    """The words of the committed list, and those of the names in the schema of the interface document."""
    lines = (line for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#"))
    documented = (word.lower() for name in _names_in(openapi()) for word in _WORDS.findall(name))
    return frozenset(word for line in lines for word in line.split()).union(documented)


def _names_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (name for name in schema.get("properties", ()))
        for inner in schema.values():
            yield from _names_in(inner)


def _plain(name: str) -> str:
    """The name without its accents."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
