"""The texts in a body, whatever its form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

from spec.json_text import leaves_of


def names(text: str, key: str) -> bool:
    """Whether the text names the key, and not a longer one that it is a part of."""
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", text) is not None


def member(body: bytes, name: str) -> str:
    """The text under a name of the JSON object in a body, or the empty string."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    said = value.get(name) if isinstance(value, dict) else None
    return said if isinstance(said, str) else ""


def texts_of(body: bytes) -> Iterator[str]:
    """Every text and number of a body, and the values of a form."""
    try:
        yield from (text for _, text in members(json.loads(body)))
    except (ValueError, RecursionError):
        for pair in body.decode("utf-8", "replace").split("&"):
            yield unquote_plus(pair.partition("=")[2])


def members(value: Any) -> Iterator[tuple[str, str]]:
    """Every text and number in a JSON value, at any depth, with the name of its member; "" in an array."""
    for path, item in leaves_of(value):
        if not isinstance(item, dict | list | bool | None):
            yield path[-1] if path and isinstance(path[-1], str) else "", str(item)
