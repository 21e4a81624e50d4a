"""Each rule holds for a right exchange and deviates for one that is broken in just that statement."""

from __future__ import annotations

import pytest

from spec.answers import registered
from spec.exchange import FailureKind
from spec.requirements import ledger
from spec.rules import RULES, Outcome, judge
from spec.rules.tax_document import is_fully_masked, is_fully_visible
from tests.selftest.exchanges import EXECUTION, REGISTRATION, answer, execution, failed, registration


@pytest.mark.parametrize("row", [row for row in RULES if row.startswith("executePix.")])
def test_right_execution_holds(row):
    """The example of the document breaks no rule of the execution."""
    assert judge(row, execution()).holds


@pytest.mark.parametrize("row", [row for row in RULES if row.startswith("registerPixKey.")])
def test_right_registration_holds(row):
    """The example of the document breaks no rule of the registration."""
    assert judge(row, registration()).holds


@pytest.mark.parametrize("row", RULES)
def test_no_rule_fails_without_an_answer(row):
    """A time-out shows nothing of any row."""
    assert judge(row, failed(FailureKind.TIMEOUT, row.split(".")[0])).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("row", [row for row in RULES if ledger()[row].level != "robustness"])
@pytest.mark.parametrize("status", [300, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_a_refusal_breaks_no_rule(row, status):
    """Whatever a refusal looks like, no rule of success judges it."""
    refusal = answer(row.split(".")[0], b"<html>no</html>", status=status)

    assert judge(row, refusal).outcome is Outcome.INCONCLUSIVE


def deviating(exchange, prefix):
    """The rows that the exchange breaks."""
    return {row for row in RULES if row.startswith(prefix) and judge(row, exchange).deviates}


@pytest.mark.parametrize("field", EXECUTION)
def test_missing_field(field):
    """A field that is missing breaks its presence and nothing else."""
    data = {name: value for name, value in EXECUTION.items() if name != field}

    assert deviating(execution(data), "executePix.") == {f"executePix.{field}.present"}


@pytest.mark.parametrize("field", [name for name in EXECUTION if name != "error"])
def test_null_field(field):
    """Null is of no type but where the document says so."""
    assert deviating(execution({**EXECUTION, field: None}), "executePix.") == {f"executePix.{field}.type"}


@pytest.mark.parametrize("field", EXECUTION)
def test_misspelled_field(field):
    """A name in another letter case is a misspelling, not a missing field."""
    data = {(name.upper() if name == field else name): value for name, value in EXECUTION.items()}

    assert deviating(execution(data), "executePix.") == {f"executePix.{field}.spelling"}


@pytest.mark.parametrize(
    ("body", "rows"),
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
def test_broken_envelope(body, rows):
    """All that is wrong with an envelope is said, and nothing else."""
    broken = deviating(answer("deletePixKey", body, method="DELETE"), "deletePixKey.")

    assert broken == {f"deletePixKey.{row}" for row in rows}


@pytest.mark.parametrize("code", [b"0", b"1.0", b"-0", b"1e2", b"0" + b"0" * 0, b"9" * 5000])
def test_integers(code):
    """1.0, 1e2 and integers of any size are integers."""
    exchange = answer("deletePixKey", b'{"code": %s, "data": {"Success": "true"}}' % code)

    assert judge("deletePixKey.envelope.code.type", exchange).holds


@pytest.mark.parametrize("status", [201, 202, 204, 206, 299])
def test_success_has_status_200(status):
    """Any other status of success breaks the status row, and is judged as a success."""
    assert deviating(execution(status=status), "executePix.") == {"executePix.status"}


@pytest.mark.parametrize("text", ["True", "TRUE", "tRuE", "False", "FALSE"])
def test_success_in_another_letter_case(text):
    """It warns alone, and counts as what it says."""
    exchange = registration({**REGISTRATION, "Success": text})
    found = deviating(exchange, "registerPixKey.")

    assert found - {"registerPixKey.Success.example"} == {"registerPixKey.Success.letterCase"}
    assert ("registerPixKey.Success.example" in found) == (text.lower() == "false") != registered(exchange)


@pytest.mark.parametrize("text", ["yes", "1", "", " true", "ok"])
def test_success_is_the_text_true_or_false(text):
    """Any other text breaks the textual boolean."""
    found = deviating(registration({**REGISTRATION, "Success": text}), "registerPixKey.")

    assert found - {"registerPixKey.Success.example"} == {"registerPixKey.Success.text"}


def test_success_false_is_well_formed():
    """The text false is only unlike the example."""
    found = deviating(registration({**REGISTRATION, "Success": "false"}), "registerPixKey.")

    assert found == {"registerPixKey.Success.example"}


def test_boolean_success():
    """A boolean is no text."""
    found = deviating(registration({**REGISTRATION, "Success": True}), "registerPixKey.")

    assert found == {"registerPixKey.Success.type"}


@pytest.mark.parametrize(
    ("row", "exchange"),
    [
        ("executePix.json.mediaType", execution(headers=(("Content-Type", "text/plain"),))),
        ("executePix.json.unique", answer("executePix", b'{"code":0,"code":0,"data":{}}')),
        ("executePix.json.byteOrderMark", answer("executePix", b'\xef\xbb\xbf{"code":0,"data":{}}')),
        ("executePix.envelope.code.example", answer("executePix", {"code": 3, "data": EXECUTION})),
        ("executePix.fields.extra", execution({**EXECUTION, "extra": 1})),
        ("executePix.id.matches", execution({**EXECUTION, "id": "another"})),
        ("executePix.type.kind", execution({**EXECUTION, "type": "IBAN"})),
        ("executePix.type.example", execution({**EXECUTION, "type": "CPF"})),
        ("executePix.status.example", execution({**EXECUTION, "status": "SENT"})),
        ("executePix.error.example", execution({**EXECUTION, "error": "no"})),
        ("executePix.document.masked", execution({**EXECUTION, "document": "123.456.789-09"})),
        ("executePix.document.partly", execution({**EXECUTION, "document": "***********"})),
        ("executePix.envelope.result", execution({"other": 1})),
        ("registerPixKey.Key.example", registration({**REGISTRATION, "Key": "k"})),
        ("registerPixKey.fields.upperCase", registration({"success": "true"})),
        ("executePix.serverError", answer("executePix", {}, status=500)),
        ("executePix.stackTrace", answer("executePix", b"Traceback (most recent call last):", status=400)),
        ("executePix.connection", failed(FailureKind.DROPPED)),
        ("listAccounts.status", answer("listAccounts", {"code": 0, "data": {}}, status=201)),
        ("listAccounts.json", answer("listAccounts", b"no")),
        ("listAccounts.envelope.shape", answer("listAccounts", {"code": 0, "data": []})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_deviation(row, exchange):
    """The exchange breaks the row."""
    assert judge(row, exchange).deviates


@pytest.mark.parametrize(
    "body",
    [
        b"System.NullReferenceException: no object\r\n   at Bank.Keys.Post(Body body) in C:\\src\\Keys.cs:line 41\r\n",
        b"System.FormatException: no number\r\n   at System.Int32.Parse(String s)\r\n   at Bank.Keys.Post(Body body)\r\n",
        b'{"trace": "System.Exception: no\\r\\n   at Bank.Keys.<Post>d__3.MoveNext()\\r\\n   at Bank.Run()"}',
        b'{"trace": ["  File \\"/srv/app.py\\", line 7, in register", "KeyError"]}',
        b"<h2>Traceback <em>(most recent call last)</em></h2>",
        b"br.bank.E: no\n\tat java.base/br.bank.Keys.register(Keys.java:81)\n",
        b"br.bank.E: no\n\tat br.bank.Keys$1.call(Unknown Source)\n",
        b"<pre>br.bank.E: no\n\tbr.bank.Keys.register(Keys.kt:81)\n</pre>",
        b'{"stack": "br.bank.E\\u000a\\u0009at br.bank.Keys.register(Keys.scala:81)"}',
        b"<h1>An unhandled exception occurred while processing the request.</h1>",
        b"<H1>Server Error in '/' Application.<hr></H1>",
        b"<pre>SyntaxError: p<br> &nbsp; &nbsp;at JSON.parse (&lt;anonymous&gt;)<br> &nbsp; &nbsp;at go (/srv/a.js:1:2)</pre>",
        b"TypeError: p\n    at file:///srv/keys.mjs:3:5\n",
        b"<b>Warning</b>:  Undefined key in <b>/srv/keys.php</b> on line <b>7</b><br />",
        b'{"message": "no", "exception": "E", "file": "/srv/Keys.php", "line": 7, "trace": []}',
        b"<a>app/keys.rb:12:in &#39;create&#39;</a>",
        b"<title>Action Controller: Exception caught</title>",
        b"panic: runtime error: index out of range [3] with length 2",
        b"** (KeyError) no\n    (bank 0.1.0) lib/bank/keys.ex:12: Bank.Keys.create/2\n",
        "<p>You\u2019re seeing this error because you have <code>DEBUG = True</code></p>".encode(),
        b"NoMethodError (undefined method):\napp/controllers/keys_controller.rb:12:in `create'\n",
        b"java.io.IOException: no\n\tat br.bank.Keys.register(Keys.java:81)\n",
        b"TypeError: x is undefined\n    at handle (/srv/app/keys.js:12:7)\n",
    ],
)
def test_stack_traces(body):
    """A trace is known by its frames, whatever the line breaks."""
    assert judge("executePix.stackTrace", answer("executePix", body, status=400)).deviates


@pytest.mark.parametrize(
    "body",
    [
        b"Look at example.com (the manual).",
        b"valid:\n  at least one digit (0-9)\n",
        b"see keys.rb:12",
        b"at Bank.Keys.Post",
        b'{"message": "Unexpected token p in JSON at position 2", "exception": "ParseException"}',
        b'{"warning": "Warning: the key is in use", "file": "keys.json", "line": 7}',
        b"<p>Rejected<br>at 10:20:30 in S\xc3\xa3o Paulo (branch 12:34)</p>",
        b"at the bank (0001:12)\nat branch.office (open)",
        b"An unhandled exception occurred. Error: the key is unknown.",
    ],
)
def test_texts_that_are_no_stack_trace(body):
    """A text that says where to look is no trace."""
    assert judge("executePix.stackTrace", answer("executePix", body, status=400)).holds


@pytest.mark.parametrize("status", [502, 503, 504])
def test_gateways_are_no_server_error(status):
    """502, 503 and 504 do not count."""
    assert judge("executePix.serverError", answer("executePix", {}, status=status)).holds


@pytest.mark.parametrize(
    "document",
    [
        "12345678909", "123.456.789-09", "123 456 789 09", "111.111.111-11", "12.345.678/0001-95", "12345678000195",
        "12ABC34501DE35", "12.abc.345/01de-35", "１２３４５６７８９０９", "123-456-789–09", "123_456_789_09",
        "CPF 12345678909", "CNPJ: 12.345.678/0001-95", "123.456.789-09 (CPF)", "CPF4567890DE35",
    ],
)  # fmt: skip
def test_visible_documents(document):
    """11 or 14 characters with nothing hidden, in any punctuation, with a label or none, and with any check digits."""
    assert is_fully_visible(document)


@pytest.mark.parametrize(
    "document",
    [
        "***.456.789-**", "XXX.456.789-XX", "xxx45678909", "###45678909", "•••45678000191", "***45678000191",
        "___45678000191", "...45678000191", "456.789", "789-09", "12345678", "XX.XXX.XXX/0001-XX", "", "1234567890",
        "CPF: 45678909", "CNPJ 456780001", "CPF/CNPJ: ***6789***", "CNPJ",
    ],
)  # fmt: skip
def test_hidden_documents(document):
    """Any mask character, and truncation."""
    assert not is_fully_visible(document)


def test_fully_hidden():
    """A document of which nothing is left is told from one of which something is."""
    assert is_fully_masked("***.***.***-**")
    assert is_fully_masked("XXXXXXXXXXX")
    assert not is_fully_masked("***.***.***-09")
