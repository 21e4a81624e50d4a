"""How a conformance test names its row and is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from spec.requirements import ledger
from spec.rules import RULES
from tests.harness.recorder import NotExercised, OutOfScope, assert_found, assert_holds, cite, observe, remark

__all__ = [
    "NotExercised",
    "OutOfScope",
    "assert_found",
    "assert_holds",
    "cite",
    "observe",
    "remark",
    "requirement",
    "rows",
    "turn_of",
]


def requirement(row_id: str) -> pytest.MarkDecorator:
    """The ledger row that a test answers for."""
    return pytest.mark.requirement(row_id)


judged_last = pytest.mark.judged_last
"""A test that judges what the whole run showed, generated traffic included."""


def turn_of(item: pytest.Item) -> int:
    """When a test has its turn: targeted ones find the keys of the profile as nobody has touched them, then comes
    generated traffic, and then what judges all of it."""
    if item.get_closest_marker("judged_last"):
        return 2
    return 1 if item.get_closest_marker("property") else 0


def rows(operation: str, wanted: Callable[[str], bool] = lambda what: True) -> list[object]:
    """The rows of an operation that a rule answers for, as parameters; `wanted` sees the id without the operation."""
    ids = [row_id for row_id in ledger() if row_id in RULES and row_id.startswith(f"{operation}.")]
    chosen = [row_id for row_id in ids if wanted(row_id.removeprefix(f"{operation}."))]
    return [pytest.param(row_id, marks=requirement(row_id), id=row_id) for row_id in chosen]


def each(operations: Iterable[str], what: str) -> list[object]:
    """The row `<operation>.<what>` of each operation, as parameters."""
    return [pytest.param(op, marks=requirement(f"{op}.{what}"), id=f"{op}.{what}") for op in operations]
