"""What was redacted is redacted once more when more is known: values that became known go, and nothing else changes."""

import json
import re
from types import SimpleNamespace

import pytest

from environments.profiles.loading import load
from environments.secrets import Secrets
from reports.evidence import evidence
from reports.handover import FoundByTest, Note, NoteKind, Observation
from reports.redaction import Redactor
from reports.redaction.second_pass import redact_again
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from spec.exchange import Exchange, Request, Response
from spec.facts import text_of
from spec.findings import finding
from spec.interface import personal_fields
from spec.requirements import ledger
from tests.harness.html_page import HtmlPage
from tests.harness.reporter import Reporter
from tests.selftest.exchanges import EXECUTION, REGISTRATION, answer
from tests.selftest.services.forking import ROOT

TOKEN, ACCOUNT, LATE = "Tok-3n.Of-The_Service", "50001", "SBX-LATE-4711"
ID = "executePix.digit.present"


@pytest.fixture
def secrets():
    """A registry with a token, an account and codes of a profile."""
    secrets = Secrets({"account": [ACCOUNT], "code": ["TX-1"], "key": ["qa@example.com"]})
    secrets.learn_token(TOKEN)
    return secrets


@pytest.fixture
def pen(secrets):
    """A redactor of that registry."""
    return Redactor(secrets, personal_fields())


def exchanges():
    """Exchanges with all that a redaction shows in its own way."""
    refusal = {"code": 400, "data": {"message": "CNPJ of Maria is not supported", "name": "invalid name"}}
    long = {"code": 0, "data": {**EXECUTION, "note": "x" * 50_001, "name": "Ana " * 40}}
    yield answer("executePix", {"code": 0, "data": EXECUTION})
    yield answer("registerPixKey", {"code": 0, "data": REGISTRATION}, sent={"pixKey": "qa@example.com"}, method="POST")
    yield answer("executePix", refusal, status=400, headers=(("Set-Cookie", "sid=77"), ("X-A", f"see {ACCOUNT}")))
    yield answer("executePix", long)
    yield answer("listAccounts", b"<name>Ana</name> +55 11 98765-0123 390.533.447-05 \x1b[0m {'name': 'Ana'")
    sent = Request("GET", f"http://127.0.0.1:1/v1/x/{TOKEN}?q=%41na", (("Authorization", f"Bearer {TOKEN}"),))
    yield Exchange(2, "", sent, response=Response(200, (), b"name=Ana&key=1"), credential="a wrong token")


@pytest.mark.parametrize("exchange", [*exchanges()])
def test_what_is_redacted_is_redacted_once(pen, exchange):
    """Bodies, headers, addresses and lines that reproduce stay what they are, with everything known that they hold."""
    shown = evidence(exchange, pen)
    pen.learn_from(exchange.response.start)
    first = evidence(exchange, pen)

    assert redact_again(first, pen.again) == first
    assert redact_again(redact_again(shown, pen.again), pen.again) == redact_again(shown, pen.again)


def test_texts_of_refusals_keep_their_words(pen):
    """What the first redaction shows of a personal member, the second one shows."""
    shown = pen.body(b'{"message": "CNPJ of Maria is not supported"}', refusal=True)

    assert pen.again(shown) == shown == '{"message": "CNPJ of Aaaaa is not supported"}'


@pytest.mark.parametrize("text", ["[…] and more… (50001 bytes in all)", '"aaaa…(50001 characters)"'])
def test_sizes_stay(pen, text):
    """An account may be a number that the suite says for another reason."""
    assert pen.again(text) == text
    assert pen.again(f"{text} {ACCOUNT}") == f"{text} <account>"


@pytest.mark.parametrize("row", ledger().values(), ids=lambda row: row.id)
def test_statements_stay(pen, row):
    """Whatever a service calls people."""
    for word in re.findall(r"[^\W\d_]{4,}", row.text):
        pen.learn_from(json.dumps({"name": word}).encode())

    assert pen.again(row.text) == row.text


def run_with(said):
    """A run in which every text of the service is this one."""
    run = Run(load("sandbox", folder=ROOT / "environments"), "http://127.0.0.1:1")
    found = finding("spelling", name="x", written=said)
    result = RequirementResult(ID, Verdict.FAIL, exchanges=(1,), findings=(found,))
    shown = {"number": 1, "operation": "executePix", "credential": said, "response": {"headers": [["X", said]]}}
    run.add_found(
        FoundByTest((result,), (ID,), (Observation(ID, frozenset({("", said)})),), (shown,), error=said), "test"
    )
    run.said = [Note(NoteKind.SET_UP, said)]
    run.not_executed, run.unreachable = [said], said
    return run


def test_a_run_is_redacted_by_all_that_is_known_at_its_end(pen, secrets):
    """In every text that a service may have a part in, and not in what belongs to the suite."""
    run = run_with(f"got {LATE}")
    before = run.requirements()
    secrets.learn("code", LATE)
    run.redact_again(pen.again)
    (result,), (seen,) = run.results, run.observations
    (note,) = run.said

    assert before
    assert str(result.message) == "expected the name x, got got <code 2>"
    assert result.id == ID
    assert text_of(seen.facts) == note.text == run.unreachable == "got <code 2>"
    assert run.not_executed == ["got <code 2>"]
    assert run.errors == ["the suite failed at test: got <code 2>"]
    assert run.exchanges[1]["response"] == {"headers": [["X", "got <code 2>"]]}
    assert run.exchanges[1]["credential"] == f"got {LATE}"


def test_a_name_that_a_service_chooses_changes_no_id(pen):
    """What refers to a requirement or an operation still does."""
    run = run_with("nothing")
    pen.learn_from(json.dumps({"name": ID, "message": "executePix"}).encode())
    run.redact_again(pen.again)

    assert [one.id for one in run.results] == [ID]
    assert run.exchanges[1]["operation"] == "executePix"
    assert run.requirements()


def test_reports_of_pytest_are_redacted_at_the_end(pen, secrets):
    """pytest keeps them for its summary, which it cuts to the width of the terminal."""
    failed = SimpleNamespace(
        nodeid="test", longrepr=LATE, sections=[("Captured log", LATE)], explained=[[ID, LATE, LATE]]
    )
    skipped = SimpleNamespace(nodeid="test", longrepr=("file.py", 7, LATE), sections=[])
    reporter = Reporter(run_with("nothing"), None)
    for report in (failed, skipped):
        reporter.pytest_runtest_logreport(report)
    secrets.learn("code", LATE)
    reporter.redact_again(SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: None)), pen.again)

    assert failed.longrepr == "<code 2>"
    assert failed.sections == [("Captured log", "<code 2>")]
    assert failed.explained == [[ID, "<code 2>", "<code 2>"]]
    assert skipped.longrepr == ("file.py", 7, "<code 2>")


def test_the_table_of_pytest_html_is_redacted_at_the_end(pen, secrets, tmp_path):
    """It has HTML already: a placeholder is escaped, and what holds no value stays as it is."""
    page, tests = HtmlPage(run_with("nothing"), tmp_path / "report.html"), [{"log": f"a &lt; {LATE}"}, {"log": "a > b"}]
    page.pytest_html_report_title(SimpleNamespace(data={"tests": {"test": tests}}, set_data=lambda *_: None))
    secrets.learn("code", LATE)
    page.redact_again(pen.again)

    assert [test["log"] for test in tests] == ["a &lt; &lt;code 2&gt;", "a > b"]
