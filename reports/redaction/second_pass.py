"""Plain data that was redacted when less was known is redacted once more, member by member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from spec.findings import Finding
from spec.message import Message

OUR_OWN = frozenset(("id", "number", "numbers", "operation", "credential", "input", "method", "part", "cut", "verdict"))
"""Members that hold words of the suite alone. What refers to another place by a name must not change."""

_Data = TypeVar("_Data")


def redact_again(data: _Data, again: Callable[[str], str]) -> _Data:
    """The data with every text in it as `again` gives it: in dictionaries, lists, tuples and dataclasses, but for the
    members of OUR_OWN and the names of members."""
    redacted: Any = _redacted(data, again)
    return redacted  # type: ignore[no-any-return]


def _redacted(data: Any, again: Callable[[str], str]) -> Any:
    if isinstance(data, Message | Finding):
        return data.map(again)
    if isinstance(data, str) and not isinstance(data, Enum):
        return again(data)
    if isinstance(data, dict):
        return {name: value if name in OUR_OWN else _redacted(value, again) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(_redacted(value, again) for value in data)
    if is_dataclass(data) and not isinstance(data, type):
        members = {member.name: getattr(data, member.name) for member in fields(data)}
        return replace(data, **_redacted(members, again))
    return data
