"""Which names are made of words of fields. Any other one may be the name of a person, an alias or a code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from spec.interface import openapi

_FILE = Path(__file__).with_name("field_words.txt")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BESIDE = "~"
_SHORTEST_PART = 4
"""Letters of a word within a word, as in `accountnumber`: shorter ones are in names of people, too."""


def is_of_words(name: str) -> bool:
    """Whether each word in a name is known. One letter counts as a word beside others, as in `xTotal`; alone, or beside
    words that may be names of people, it may be an initial."""
    if name.lower() in _known():
        return True
    words = [word.lower() for word in _WORDS.findall(_plain(name))]
    longer = [word for word in words if len(word) > 1]
    others = {word for word in longer if not _is_made_of(word)}
    return len(others) < len(set(longer)) and others <= _known_beside()


@lru_cache(10_000)
def _is_made_of(word: str) -> bool:
    """Whether it is a word, or words one after the other."""
    if word in _known():
        return True
    ends = range(_SHORTEST_PART, len(word) - 1)
    return any(word[:end] in _known() and _is_rest(word[end:]) for end in ends)


def _is_rest(word: str) -> bool:
    return word == "id" or (len(word) >= _SHORTEST_PART and _is_made_of(word))


@cache
def _known() -> frozenset[str]:
    """The words of the committed list, and those of the names in the schema of the interface document."""
    documented = (word.lower() for name in _names_in(openapi()) for word in _WORDS.findall(name))
    return frozenset(word for word in _listed() if not word.startswith(_BESIDE)).union(documented)


@cache
def _known_beside() -> frozenset[str]:
    """The words that may be names of people, and count beside a word that is none."""
    return frozenset(word.removeprefix(_BESIDE) for word in _listed() if word.startswith(_BESIDE))


def _listed() -> Iterator[str]:
    for line in _FILE.read_text("utf-8").splitlines():
        yield from line.split() if not line.startswith("#") else ()


def _names_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (name for name in schema.get("properties", ()))
        for inner in schema.values():
            yield from _names_in(inner)


def _plain(name: str) -> str:
    """The name without its accents."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
