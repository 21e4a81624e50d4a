"""The rules: each is a pure function that checks one exchange for one requirement.

All traffic is judged by the same rules, through the function `judge` of this module: the requests of scenarios,
generated requests, and recorded traffic of a HAR file.

| module | content |
|---|---|
| `table.py` | the table RULES, the decorator `rule` that fills it, and what every rule needs to read an answer |
| `success.py` | rules on every successful answer: status, JSON, envelope, and the type of each field |
| `results.py` | rules on the values of the two documented results, such as `document` |
| `tax_document.py` | how a masked tax document is read, for the rules in `results.py` |
| `robustness.py` | rules that are the policy of the suite, such as "no server error" |
| `reproduction.py` | judges with the knowledge of the whole run: which deviations showed again |
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from spec.exchange import SMALL, Exchange
from spec.findings import Judgement, deviates, holds, inconclusive
from spec.message import say
from spec.rules import results, robustness, success
from spec.rules.robustness import ROBUSTNESS, robustness_of
from spec.rules.table import RULES, InconclusiveError

__all__ = ["ROBUSTNESS", "RULES", "robustness_of"]
_MODULES = (success, results, robustness)
"""The modules with the rules. Importing them puts their rules into RULES."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """The judgement of one exchange by the rule of a requirement: the requirement holds, deviates, or is inconclusive.

    It is inconclusive if the exchange is with another operation than the requirement is about. Raises KeyError if the
    requirement has no rule.
    """
    operation = requirement_id.split(".")[0]
    if exchange.operation != operation:
        return inconclusive(say("another operation"), exchange)
    has_small_body = exchange.response is None or exchange.response.size <= SMALL
    if has_small_body:
        return _judge(requirement_id, exchange)
    # The parsed JSON of a larger body is dropped soon, and parsing it again takes time. So all requirements of the
    # operation are judged at once, and the judgements are stored in the attributes of the exchange.
    judgements: dict[tuple[str, bool], Judgement] = vars(exchange).setdefault("judgements", {})
    # Stored by this value, too, because the run may learn later that the token had expired. Then the judgement changes.
    expects_success = exchange.expects_success
    if (requirement_id, expects_success) not in judgements:
        for id_with_a_rule in _ids_with_a_rule(operation):
            judgements[id_with_a_rule, expects_success] = _judge(id_with_a_rule, exchange)
    return judgements[requirement_id, expects_success]


@cache
def _ids_with_a_rule(operation: str) -> list[str]:
    """Ids of the requirements of an operation for which there is a rule, such as `executePix.json`."""
    return [requirement_id for requirement_id in RULES if requirement_id.split(".")[0] == operation]


def _judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Call the rule of the requirement, and make a judgement of what it returns or raises."""
    rule = RULES[requirement_id]
    try:
        deviation = rule(exchange)
    except InconclusiveError as error:
        return inconclusive(error.why, exchange)
    if deviation is None:
        return holds(exchange)
    return deviates(replace(deviation, requirement=requirement_id), exchange)
