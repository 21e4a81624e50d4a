"""Bodies: bytes to characters, and which way of redaction fits them."""

from __future__ import annotations

import json
import re

from reports.redaction.engine import Engine, Redacted
from reports.redaction.json_scan import redact_json
from reports.redaction.markup import redact_fields

_LATIN = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?(?:iso-8859-1|latin-?1|windows-1252)\b", re.IGNORECASE)

_JSON = re.compile(r"[ \t\r\n\ufeff]*+[\[{\"]")


def decoded(body: bytes, content_type: str = "") -> str:
    r"""The characters of a body: Latin-1 where it says so, else UTF-8, -16 or -32 by its first bytes.

    Bytes that are no characters show as `\xff`.
    """
    encoding = "latin-1" if _LATIN.search(content_type) else json.detect_encoding(body)
    return body.decode(encoding, "backslashreplace")


def is_json_like(text: str) -> bool:
    """Whether a text starts as a JSON object, array or string does."""
    return bool(_JSON.match(text))


def redact_body(text: str, content_type: str, engine: Engine, limit: int) -> Redacted:
    """Redact as much of a body as is needed to show `limit` characters of it.

    The cut comes after redaction: what stands near the end of what was looked at is never shown.
    """
    start = text[:100].lstrip(" \t\r\n\ufeff")[:1]
    if is_json_like(text) or ("json" in content_type.lower() and start != "<"):
        return redact_json(text, engine, limit)
    return engine.start(redact_fields(text[: engine.window], engine), len(text) <= engine.window)
