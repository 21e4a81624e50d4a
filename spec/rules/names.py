"""Member names of a service in messages: they may be anything, so only plain ones are shown."""

from __future__ import annotations

import re


def listed(names: list[str], most: int = 10) -> str:
    """Names for a message, at most `most` of them; the others are counted."""
    plain = [name for name in names if is_plain_name(name)]
    shown = ", ".join(plain[:most])
    rest = len(names) - len(plain[:most])
    more = f"{rest} more" if rest else ""
    return " and ".join(part for part in (shown, more) if part)


def is_plain_name(name: str) -> bool:
    """Whether a name is letters and a few signs, and short: no value that was put where a name belongs."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z_ .$@-]{0,39}", name) is not None
