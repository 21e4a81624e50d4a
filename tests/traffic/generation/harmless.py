"""What is generated names nobody: identifiers carry the suite's mark, numbers are no account and no key."""

from __future__ import annotations

import json
import re
from typing import Any

from spec.interface import KEY_TYPES, MARK

KINDS = tuple(kind for kind in KEY_TYPES if kind != "RANDOM")
"""The kinds that may stand beside a marked key: for RANDOM the service would make a key of its own."""
_SEPARATOR = re.compile(r"([/\\\u2215\u2044\u29f8\uff0f\uff3c\ufe68]|%(?:25)*(?:2f|5c))", re.IGNORECASE)
"""Slashes and backslashes, those of other widths and those that are percent-encoded however often."""
_NO_IDENTIFIERS = frozenset({"value", "date", "pixKeyType", "description", "message"})
_TEXTS_KEPT = frozenset({"", *KINDS})


def marked(text: str) -> str:
    """The text as an identifier of the suite. Each part that a lenient reader splits it into carries the mark."""
    return MARK + _SEPARATOR.sub(rf"\1{MARK}", text)


def marked_bytes(text: bytes) -> bytes:
    """Bytes that need not be text as an identifier of the suite."""
    return MARK.encode() + text.replace(b"/", b"").replace(b"\\", b"")


def harmless(value: Any, name: str = "") -> Any:
    """A JSON value whose strings carry the mark, and whose numbers name no account and no key.

    The empty string and the documented kinds, RANDOM excepted, stay as they are; so do names of members.
    """
    if isinstance(value, dict):
        return {member: harmless(item, member) for member, item in value.items()}
    if isinstance(value, list):
        return [harmless(item, name) for item in value]
    if isinstance(value, str):
        return value if value in _TEXTS_KEPT or value.startswith(MARK) else marked(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if name in _NO_IDENTIFIERS else -abs(value) - 1
    return value


def as_bytes(value: Any) -> bytes:
    """The JSON text of a value in UTF-8; what UTF-8 cannot hold (half a surrogate pair) is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
