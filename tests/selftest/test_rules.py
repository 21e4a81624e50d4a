"""Each rule holds for a conforming exchange, and deviates for one that breaks its requirement."""

from pathlib import Path

import pytest
import yaml

from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.requirements import requirements
from spec.rules import RULES, judge
from spec.rules.table import first_names
from tests.selftest.exchanges import EXECUTION, REGISTRATION, answer, execution, failed, registration

CASES = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text("utf-8"))


EXAMPLES = {"executePix": execution(), "registerPixKey": registration()}


def test_the_examples_hold():
    """The example of the document breaks no rule of its operation."""
    judged = {id: judge(id, EXAMPLES[id.partition(".")[0]]) for id in RULES if id.partition(".")[0] in EXAMPLES}

    assert [id for id, judgement in judged.items() if not judgement.holds] == []


def test_no_rule_fails_without_an_answer():
    """A time-out shows nothing about any requirement."""
    judged = {id: judge(id, failed(FailureKind.TIMEOUT, id.partition(".")[0])) for id in RULES}

    assert [id for id, judgement in judged.items() if judgement.conclusion is not Conclusion.INCONCLUSIVE] == []


def test_a_refusal_breaks_no_rule():
    """Whatever a refusal looks like, no rule of success judges it."""
    refusals = [
        (id, status, answer(id.partition(".")[0], b"<html>no</html>", status=status))
        for id in RULES
        if requirements()[id].level != "robustness"
        for status in (300, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503)
    ]
    judged = [
        (id, status) for id, status, refusal in refusals if judge(id, refusal).conclusion is not Conclusion.INCONCLUSIVE
    ]

    assert judged == []


def deviating(exchange, prefix):
    """The requirements that the exchange breaks."""
    return {
        requirement_id
        for requirement_id in RULES
        if requirement_id.startswith(prefix) and judge(requirement_id, exchange).deviates
    }


@pytest.mark.parametrize(
    ("body", "broken"),
    [
        (b"", {"json"}),
        (b"<html></html>", {"json"}),
        (b'{"code": 0, "data": {}} x', {"json"}),
        (b"{'code': 0}", {"json"}),
        (b'{"code": NaN, "data": {}}', {"json"}),
        (b'{"code": 0, "data": {"name": "\xe9"}}', {"json"}),
        (b"[]", {"envelope.object"}),
        (b'"text"', {"envelope.object"}),
        (b"{}", {"envelope.code.present", "envelope.data.present"}),
        (b'{"code": "0", "data": []}', {"envelope.code.type", "envelope.data.type"}),
        (b'{"code": true, "data": null}', {"envelope.code.type", "envelope.data.type"}),
        (b'{"code": 0.5, "data": "{}"}', {"envelope.code.type", "envelope.data.type"}),
        (b'{"Code": 0, "DATA": {}}', {"envelope.code.spelling", "envelope.data.spelling"}),
    ],
)
def test_broken_envelope(body, broken):
    """Everything that is wrong with an envelope is found, and nothing else."""
    found = deviating(answer("deletePixKey", body, method="DELETE"), "deletePixKey.")

    assert found == {f"deletePixKey.{what}" for what in broken}


@pytest.mark.parametrize("code", [b"0", b"1.0", b"-0", b"1e2", b"0" + b"0" * 0, b"9" * 5000])
def test_integers(code):
    """1.0, 1e2 and integers of any size are integers."""
    exchange = answer("deletePixKey", b'{"code": %s, "data": {"Success": "true"}}' % code)

    assert judge("deletePixKey.envelope.code.type", exchange).holds


@pytest.mark.parametrize(
    ("sent", "received", "outcome"),
    [
        ("+5511955500777", "(11) 95550-0777", Conclusion.HOLDS),
        ("11955500777", "+55 11 95550-0777", Conclusion.HOLDS),
        ("qa@bank.example", "QA@BANK.EXAMPLE", Conclusion.HOLDS),
        ("qa@bank.example", "q***@bank.example", Conclusion.HOLDS),
        ("qa@bank.example", "q...@bank.example", Conclusion.HOLDS),
        ("13579246828", None, Conclusion.HOLDS),
        ("13579246828", "135.xxx.xxx-28", Conclusion.HOLDS),
        ("13579246828", "XXX.579.246-XX", Conclusion.INCONCLUSIVE),
        ("13579246828", "***********", Conclusion.INCONCLUSIVE),
        ("13579246828", "", Conclusion.INCONCLUSIVE),
        ("13579246828", 13579246828, Conclusion.INCONCLUSIVE),
        ("", "qa@bank.example", Conclusion.INCONCLUSIVE),
        ("13579246828", "qa@bank.example", Conclusion.DEVIATES),
        ("13579246828", "ac-0001", Conclusion.DEVIATES),
        ("13579246828", "24681357928", Conclusion.DEVIATES),
    ],
)
def test_the_key_of_a_registration(sent, received, outcome):
    """It may be written otherwise, and be hidden in part; it is not another one."""
    exchange = registration({**REGISTRATION, "Key": received}, sent={"pixKeyType": "CPF", "pixKey": sent})

    assert judge("registerPixKey.Key.matches", exchange).conclusion is outcome


def broken(rule, *, body=None, data=None, changes=None, **options):
    """The exchange of a case of rules.yaml."""
    if body is not None:
        return answer(rule.split(".")[0], body.encode(), **options)
    example, build = (EXECUTION, execution) if rule.startswith("executePix") else (REGISTRATION, registration)
    return build({**example, **(changes or {})} if data is None else data, **options)


@pytest.mark.parametrize("case", CASES["deviations"], ids=lambda case: case["rule"])
def test_the_message_of_a_deviation(case):
    """What is expected, and what came back, without a value of the service."""
    exchange = broken(case["rule"], **case["answer"])

    judgement = judge(case["rule"], exchange)

    assert (str(judgement.message), judgement.exchanges) == (case["message"], (exchange,))


def test_the_message_of_a_dropped_connection():
    """It names what got no response."""
    exchange = failed(FailureKind.DROPPED)
    said = "expected a response to a valid request (GET), got a dropped connection"

    assert str(judge("executePix.connection", exchange).message) == said


@pytest.mark.parametrize("text", CASES["stack traces"])
def test_stack_traces(text):
    """A stack trace is known by its frames, with any line breaks."""
    assert judge("executePix.stackTrace", answer("executePix", text.encode(), status=400)).deviates


@pytest.mark.parametrize("text", CASES["no stack traces"])
def test_texts_that_are_no_stack_trace(text):
    """A text that says where to look is no trace."""
    assert judge("executePix.stackTrace", answer("executePix", text.encode(), status=400)).holds


@pytest.mark.parametrize("status", [502, 503, 504])
def test_gateways_are_no_server_error(status):
    """502, 503 and 504 are no server errors."""
    assert judge("executePix.serverError", answer("executePix", {}, status=status)).holds


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["traceId", "ZULEICA", "conta-da-zuleica"], "traceId and 2 more"),
        (["Zuleica Teodolinda", "52998224725"], "2 whose names may be data"),
        (["traceId"], "traceId"),
    ],
)
def test_a_message_names_no_member_that_data_may_name(names, shown):
    """They are counted."""
    assert str(first_names(names)) == shown
