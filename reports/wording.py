"""How things are counted, listed and grouped in every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from spec.interface import MONEY, Operation
from spec.message import Text, in_a_row, say
from spec.requirements import LEVELS

_MOST_NAMED = 3
Item = TypeVar("Item")
Key = TypeVar("Key")


def counted(number: int, noun: str, *, none: str = "0") -> str:
    """`1 request`, `2 requests`; `none` requests where there is none."""
    return f"{number or none} {noun}{'' if number == 1 else 's'}"


def listed(parts: Sequence[Text]) -> Text:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return parts[0] if parts else ""
    return say("{some} and {last}", some=in_a_row(parts[:-1], ", "), last=parts[-1])


def first_few(parts: Sequence[object]) -> Text:
    """`a, b, c and 2 more`."""
    more: list[Text] = [say("{n} more", n=len(parts) - _MOST_NAMED)] if len(parts) > _MOST_NAMED else []
    return listed([*map(str, parts[:_MOST_NAMED]), *more])


def one_line(text: str) -> str:
    """A text that ends no line, and in which no CI system finds a command of its own."""
    return " ".join(_without_commands(text).split())


def quoted(text: str) -> str:
    """A text with its lines, each but the first behind a bar, in which no CI system finds a command of its own."""
    return "\n  | ".join(_without_commands(text).splitlines())


def _without_commands(text: str) -> str:
    """Commands of CI systems begin with ## anywhere. Those that begin with :: stand at the start of a line."""
    return text.replace("##", "# #")


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, and a sign for what is left out."""
    return text if len(text) <= most else f"{text[:most]}…"


def needed_for(operation: Operation) -> str:
    """What a request to an operation needs: `GET /v1/pix/: needs read in allow`."""
    money = "; it moves money, or may do so" if operation.permission in MONEY else ""
    return f"{operation.method} {operation.path}: needs {operation.permission} in allow{money}"


def exchanges_in_words(numbers: Sequence[int]) -> str:
    """The first few exchanges: `exchanges 7 and 9`."""
    return f"exchange{'s' * (len(numbers) > 1)} {first_few(numbers)}"


def by_level(levels: Iterable[str]) -> str:
    """Requirements counted level by level, never together: `2 documented and 1 implied requirements`."""
    tally = Counter(levels)
    parts = [f"{tally[level]} {level}" for level in LEVELS if tally[level]]
    return f"{listed(parts)} requirement{'' if sum(tally.values()) == 1 else 's'}"


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their key, both in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
