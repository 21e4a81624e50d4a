"""The texts in the body of a request, whatever its form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote_plus


def names(text: str, key: str) -> bool:
    """Whether the text names the key, and not a longer one that it is a part of."""
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", text) is not None


def member(body: bytes, name: str) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    said = value.get(name) if isinstance(value, dict) else None
    return said if isinstance(said, str) else ""


def texts_of(body: bytes) -> Iterator[str]:
    """Every text and number of a body, and the values of a form."""
    try:
        yield from _texts(json.loads(body))
    except (ValueError, RecursionError):
        for pair in body.decode("utf-8", "replace").split("&"):
            yield unquote_plus(pair.partition("=")[2])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
