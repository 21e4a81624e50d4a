"""Placeholders in the bodies of a profile: ``{account}``, ``{key}`` and ``{type}``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

_KNOWN = ("account", "key", "type")


def fill(template: Any, *, account: str, key: str, type: str) -> Any:
    """A copy of a JSON value with the three placeholders replaced in its strings, at any depth."""
    if isinstance(template, dict):
        return {name: fill(item, account=account, key=key, type=type) for name, item in template.items()}
    if isinstance(template, list):
        return [fill(item, account=account, key=key, type=type) for item in template]
    if isinstance(template, str):
        return template.replace("{account}", account).replace("{key}", key).replace("{type}", type)
    return template


def placeholder_problems(body: Any) -> Iterator[str]:
    """``{acount}`` would go out as it stands. Braces around anything less alike are left alone."""
    for word in re.findall(r"\{([A-Za-z_]{2,20})\}", json.dumps(body)):
        near = get_close_matches(word.lower(), _KNOWN, 1)
        if near and word not in _KNOWN:
            yield f'unknown placeholder {{{word}}}; did you mean "{{{near[0]}}}"?'
