"""How a conformance test names its requirement and is judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest

from spec.requirements import ledger
from spec.rules import ROBUSTNESS, RULES
from tests.harness.recorder import assert_found, assert_holds, observe, permits, remark, supplied

__all__ = ["assert_found", "assert_holds", "observe", "permits", "remark", "supplied"]


def requirement(requirement_id: str) -> pytest.MarkDecorator:
    """The requirement that a test answers for."""
    return pytest.mark.requirement(requirement_id)


judged_last = pytest.mark.judged_last
"""A test that judges what the whole run showed, generated traffic included."""


def turn_of(item: pytest.Item) -> int:
    """The place of a test in the run: targeted tests need keys that no other test has touched, then comes generated
    traffic, and then what judges all of it."""
    if item.get_closest_marker("judged_last"):
        return 2
    return 1 if item.get_closest_marker("property") else 0


def rules_of(*operations: str, but: Collection[str] = ()) -> list[object]:
    """The requirements of the operations that a rule answers for, as parameters; those of robustness are judged apart.
    `but` names others to leave out, without the operation."""
    left_out = {f"{operation}.{what}" for operation in operations for what in (*ROBUSTNESS, *but)}
    mine = [id for id in ledger() if id in RULES and id.partition(".")[0] in operations]
    return named(*(id for id in mine if id not in left_out))


def named(*requirement_ids: str) -> list[object]:
    """Requirements as parameters."""
    return [pytest.param(id, marks=requirement(id), id=id) for id in requirement_ids]


def each(operations: Iterable[str], what: str) -> list[object]:
    """The requirement `<operation>.<what>` of each operation, as parameters."""
    return [pytest.param(op, marks=requirement(f"{op}.{what}"), id=f"{op}.{what}") for op in operations]
