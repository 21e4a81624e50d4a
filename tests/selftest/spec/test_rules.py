"""Each rule holds for a conforming exchange, and deviates for one that breaks its requirement."""

from pathlib import Path

import pytest

from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.requirements import read_yaml, requirements
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT, REGISTRATION_RESULT, answer, execution, registration, unanswered

CASES = read_yaml(Path(__file__).with_name("rules.yaml"))


EXAMPLES = {"executePix": execution(), "registerPixKey": registration()}


def unlike(conclusion, exchange_of, ids):
    """The rules that come to another conclusion on an exchange with their operation."""
    return [id for id in ids if judge(id, exchange_of(id.partition(".")[0])).conclusion is not conclusion]


def test_the_examples_hold():
    """The example of the document breaks no rule of its operation."""
    ids = [id for id in RULES if id.partition(".")[0] in EXAMPLES]

    assert unlike(Conclusion.HOLDS, EXAMPLES.get, ids) == []


def test_no_rule_fails_without_an_answer():
    """A time-out shows nothing about any requirement."""
    assert unlike(Conclusion.INCONCLUSIVE, lambda operation: unanswered(FailureKind.TIMEOUT, operation), RULES) == []


@pytest.mark.parametrize("status", [302, 500])
def test_a_refusal_breaks_no_rule(status):
    """Whatever a refusal looks like, no rule of success judges it."""
    of_success = [id for id in RULES if requirements()[id].level != "robustness"]

    assert unlike(Conclusion.INCONCLUSIVE, lambda one: answer(one, b"<html>no</html>", status=status), of_success) == []


@pytest.mark.parametrize(
    ("sent", "received", "outcome"),
    [
        ("+5511955500777", "(11) 95550-0777", Conclusion.HOLDS),
        ("qa@bank.example", "QA@BANK.EXAMPLE", Conclusion.HOLDS),
        ("qa@bank.example", "q***@bank.example", Conclusion.HOLDS),
        ("13579246828", None, Conclusion.HOLDS),
        ("13579246828", "135.xxx.xxx-28", Conclusion.HOLDS),
        ("13579246828", "XXX.579.246-XX", Conclusion.INCONCLUSIVE),
        ("13579246828", "***********", Conclusion.INCONCLUSIVE),
        ("13579246828", 13579246828, Conclusion.INCONCLUSIVE),
        ("", "qa@bank.example", Conclusion.INCONCLUSIVE),
        ("13579246828", "", Conclusion.INCONCLUSIVE),
        ("13579246828", "qa@bank.example", Conclusion.DEVIATES),
    ],
)
def test_the_key_of_a_registration(sent, received, outcome):
    """The answer may write the key in another form or hide a part of it. Another key deviates."""
    exchange = registration({**REGISTRATION_RESULT, "Key": received}, sent={"pixKeyType": "CPF", "pixKey": sent})

    assert judge("registerPixKey.Key.matches", exchange).conclusion is outcome


def broken(rule, *, body=None, data=None, changes=None, **options):
    """The exchange of a case of rules.yaml."""
    if body is not None:
        return answer(rule.split(".")[0], body.encode(), **options)
    example, build = (
        (EXECUTION_RESULT, execution) if rule.startswith("executePix") else (REGISTRATION_RESULT, registration)
    )
    return build({**example, **(changes or {})} if data is None else data, **options)


@pytest.mark.parametrize("case", CASES["deviations"], ids=lambda case: case["rule"])
def test_the_message_of_a_deviation(case):
    """The message says what is expected and what came back, without a value of the service."""
    exchange = broken(case["rule"], **case["answer"])

    judgement = judge(case["rule"], exchange)

    assert (str(judgement.message), judgement.exchanges) == (case["message"], (exchange,))
