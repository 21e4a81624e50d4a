"""Each rule holds for a conforming exchange, and deviates for one that breaks its requirement."""

from pathlib import Path

import pytest

from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.requirements import read_yaml, requirements
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT, REGISTRATION_RESULT, answer, execution, registration, unanswered

CASES = read_yaml(Path(__file__).with_name("rules.yaml"))
DOCUMENTED_EXAMPLES = {"executePix": execution(), "registerPixKey": registration()}
"""By operation, an exchange with a result as the interface document shows it."""


def conclusions_of(ids, exchange_for):
    """The conclusions of the rules with these ids, each on the exchange that `exchange_for` gives for its operation.

    A rule is a function that judges an exchange (a request and its answer) for one requirement.
    """
    conclusions = set()
    for id in ids:
        operation, _, _ = id.partition(".")
        conclusions.add(judge(id, exchange_for(operation)).conclusion)
    return conclusions


def test_the_examples_of_the_document_break_no_rule():
    """A rule judges an answer for one requirement. Each rule of the two documented operations holds for their example."""
    ids = [id for id in RULES if id.partition(".")[0] in DOCUMENTED_EXAMPLES]

    assert conclusions_of(ids, DOCUMENTED_EXAMPLES.get) == {Conclusion.HOLDS}


def test_no_rule_fails_without_an_answer():
    """A rule judges an answer for one requirement. After a time-out there is none, so each rule is inconclusive."""
    conclusions = conclusions_of(RULES, lambda operation: unanswered(FailureKind.TIMEOUT, operation))

    assert conclusions == {Conclusion.INCONCLUSIVE}


@pytest.mark.parametrize("status", [302, 500])
def test_a_refusal_breaks_no_rule_about_successes(status):
    """A rule judges an answer for one requirement. Those about successes say nothing of a refusal, whatever it looks
    like.

    The other rules are about robustness, such as "no server error".
    """
    ids_of_rules_about_successes = [id for id in RULES if requirements()[id].level != "robustness"]
    conclusions = conclusions_of(
        ids_of_rules_about_successes, lambda operation: answer(operation, b"<html>no</html>", status=status)
    )

    assert conclusions == {Conclusion.INCONCLUSIVE}


@pytest.mark.parametrize(
    ("key_sent", "key_in_answer", "conclusion"),
    [
        ("+5511955500777", "(11) 95550-0777", Conclusion.HOLDS),
        ("qa@bank.example", "QA@BANK.EXAMPLE", Conclusion.HOLDS),
        ("qa@bank.example", "q***@bank.example", Conclusion.HOLDS),
        ("13579246828", None, Conclusion.HOLDS),
        ("13579246828", "135.xxx.xxx-28", Conclusion.HOLDS),
        ("13579246828", "XXX.792.468-XX", Conclusion.INCONCLUSIVE),
        ("13579246828", "XXX.579.246-XX", Conclusion.INCONCLUSIVE),
        ("13579246828", "***********", Conclusion.INCONCLUSIVE),
        ("13579246828", 13579246828, Conclusion.INCONCLUSIVE),
        ("", "qa@bank.example", Conclusion.INCONCLUSIVE),
        ("13579246828", "", Conclusion.INCONCLUSIVE),
        ("13579246828", "qa@bank.example", Conclusion.DEVIATES),
    ],
    ids=[
        "a phone number in another form",
        "an e-mail address in capitals",
        "a part of the address is hidden",
        "null",
        "the middle of the number is hidden",
        "both ends of the number are hidden: six digits in a row may be of another number",
        "both ends are hidden, and the digits shown stand at other places of the number",
        "the whole number is hidden",
        "a JSON number: its type is judged by another requirement",
        "no key was sent",
        "an empty key",
        "another key",
    ],
)
def test_the_field_key_of_a_registration_is_the_key_that_was_sent(key_sent, key_in_answer, conclusion):
    """The answer may write the key in another form or hide a part of it. Another key deviates from the requirement.

    If too little of the key is shown, or it has another type, the judgement is inconclusive.
    """
    exchange = registration(
        {**REGISTRATION_RESULT, "Key": key_in_answer}, sent={"pixKeyType": "CPF", "pixKey": key_sent}
    )

    assert judge("registerPixKey.Key.matches", exchange).conclusion is conclusion


def exchange_that_deviates(rule, *, body=None, data=None, changes=None, **options):
    """The exchange of a case of rules.yaml. `rule` begins with its operation, such as "executePix.status".

    The case gives the body, or the member `data` of the body, or the changes to the documented example of `data`.
    """
    operation, _, _ = rule.partition(".")
    if body is not None:
        return answer(operation, body.encode(), **options)
    if operation == "executePix":
        example, exchange_with = EXECUTION_RESULT, execution
    else:
        example, exchange_with = REGISTRATION_RESULT, registration
    if data is None:
        data = {**example, **(changes or {})}
    return exchange_with(data, **options)


@pytest.mark.parametrize("case", CASES["deviations"], ids=lambda case: case["rule"])
def test_the_message_about_a_deviation_says_what_was_expected_and_what_came(case):
    """Each case of rules.yaml is an answer that deviates from a requirement, and the message that the judgement has.

    The message shows no value of the service, because it may be personal.
    """
    exchange = exchange_that_deviates(case["rule"], **case["answer"])

    judgement = judge(case["rule"], exchange)

    assert str(judgement.message) == case["message"]
    assert judgement.exchanges == (exchange,)
