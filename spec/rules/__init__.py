"""The rules: each a pure function of one exchange that answers for a requirement.

`judge` is the only way in. Targeted tests, generated traffic and recorded traffic are judged by the same rules.
"""

from __future__ import annotations

from dataclasses import replace

from spec.exchange import Exchange
from spec.findings import Judgement, deviates, holds, inconclusive
from spec.message import say
from spec.rules import results, robustness, success
from spec.rules.robustness import ROBUSTNESS
from spec.rules.table import RULES, InconclusiveError

__all__ = ["ROBUSTNESS", "RULES", "judge"]
_MODULES = (success, results, robustness)
"""Imported for their rules."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one requirement. KeyError where no rule answers for it."""
    rule = RULES[requirement_id]
    if exchange.operation != requirement_id.split(".")[0]:
        return inconclusive(say("another operation"), exchange)
    try:
        found = rule(exchange)
    except InconclusiveError as error:
        return inconclusive(error.why, exchange)
    return deviates(replace(found, requirement=requirement_id), exchange) if found else holds(exchange)
