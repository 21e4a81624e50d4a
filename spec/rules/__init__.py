"""The rules: each a pure function of one exchange that answers for a requirement.

`judge` is the only way in. Targeted tests, generated traffic and recorded traffic are judged by the same rules.
"""

from __future__ import annotations

from spec.exchange import Exchange
from spec.rules import envelope, execution, fields, registration, robustness
from spec.rules.robustness import ROBUSTNESS
from spec.rules.table import (
    RULES,
    Contrast,
    InconclusiveError,
    Judgement,
    Outcome,
    deviates,
    got,
    holds,
    inconclusive,
    joined,
    remarked,
    reworded,
)

__all__ = [
    "ROBUSTNESS",
    "RULES",
    "Contrast",
    "Judgement",
    "Outcome",
    "deviates",
    "got",
    "holds",
    "inconclusive",
    "joined",
    "judge",
    "remarked",
    "reworded",
]
_MODULES = (envelope, execution, fields, registration, robustness)
"""Imported for their rules."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one requirement. KeyError where no rule answers for it."""
    rule = RULES[requirement_id]
    if exchange.operation != requirement_id.split(".")[0]:
        return inconclusive("another operation", exchange)
    try:
        deviation = rule(exchange)
    except InconclusiveError as reason:
        return inconclusive(str(reason), exchange)
    return deviates(deviation, exchange) if deviation else holds(exchange)
