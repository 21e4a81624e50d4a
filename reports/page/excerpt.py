"""The part of a body that a finding is about, short enough to stand beside it."""

from __future__ import annotations

import json

_AROUND = 2
_MOST_LINES = 6
_LONGEST = 600
_READABLE = 20_000


def excerpt(body: str, requirement_id: str) -> str:
    """The lines around the member that the requirement names, else the first lines of the body."""
    lines = _lines(body, requirement_id)
    at = _line_of(requirement_id.split("."), lines)
    start = max(at - _AROUND, 0) if at is not None else 0
    shown = lines[start : start + (2 * _AROUND + 1 if at is not None else _MOST_LINES)]
    cut = ["…"] * (start > 0), ["…"] * (start + len(shown) < len(lines))
    text = "\n".join([*cut[0], *shown, *cut[1]])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _lines(body: str, requirement_id: str) -> list[str]:
    """The body, a member on each line where it is JSON; as it came where the requirement is about JSON itself."""
    if len(body) > _READABLE or ".json" in requirement_id:
        return body.splitlines()
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return body.splitlines()


def _line_of(names: list[str], lines: list[str]) -> int | None:
    """Where the last of the names stands that the lines have as a member."""
    for name in reversed(names):
        for number, line in enumerate(lines):
            if line.lstrip().startswith(f'"{name}":'):
                return number
    return None
