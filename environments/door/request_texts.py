"""The texts in a body, whatever its form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, unquote_plus

from spec.interface import KEY_TYPES
from spec.json_text import leaves_of

_GIVEN = tuple(name for name in KEY_TYPES if name != "RANDOM")
"""The types of keys that the service does not make."""


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
        leaves = (item for _, item in leaves_of(json.loads(body)))
        yield from (str(item) for item in leaves if not isinstance(item, dict | list | bool | None))
    except (ValueError, RecursionError):
        for pair in body.decode("utf-8", "replace").split("&"):
            yield unquote_plus(pair.partition("=")[2])


def key_sent(body: bytes) -> tuple[str | None, str]:
    """The key and the type in the body of a registration, in JSON or in a form; a number as the text that it is. None
    where the service has to make the key."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = {name: texts[0] for name, texts in parse_qs(body.decode("utf-8", "replace")).items()}
    members = value if isinstance(value, dict) else {}
    key, key_type = _text(members.get("pixKey")), _text(members.get("pixKeyType")) or ""
    return (None if not key and key_type not in _GIVEN else key), key_type


def _text(value: object) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return value if isinstance(value, str) else None
