"""Each rule holds for a conforming exchange, and deviates for one that breaks its requirement."""

import pytest

from spec.answers import registered
from spec.exchange import FailureKind
from spec.requirements import ledger
from spec.rules import RULES, Outcome, deviates, judge
from tests.selftest.exchanges import EXECUTION, REGISTRATION, answer, execution, failed, registration


@pytest.mark.parametrize(
    "requirement_id", [requirement_id for requirement_id in RULES if requirement_id.startswith("executePix.")]
)
def test_the_example_of_an_execution_holds(requirement_id):
    """The example of the document breaks no rule of the execution."""
    assert judge(requirement_id, execution()).holds


@pytest.mark.parametrize(
    "requirement_id", [requirement_id for requirement_id in RULES if requirement_id.startswith("registerPixKey.")]
)
def test_the_example_of_a_registration_holds(requirement_id):
    """The example of the document breaks no rule of the registration."""
    assert judge(requirement_id, registration()).holds


@pytest.mark.parametrize("requirement_id", RULES)
def test_no_rule_fails_without_an_answer(requirement_id):
    """A time-out shows nothing about any requirement."""
    assert (
        judge(requirement_id, failed(FailureKind.TIMEOUT, requirement_id.split(".")[0])).outcome is Outcome.INCONCLUSIVE
    )


@pytest.mark.parametrize(
    "requirement_id", [requirement_id for requirement_id in RULES if ledger()[requirement_id].level != "robustness"]
)
@pytest.mark.parametrize("status", [300, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_a_refusal_breaks_no_rule(requirement_id, status):
    """Whatever a refusal looks like, no rule of success judges it."""
    refusal = answer(requirement_id.split(".")[0], b"<html>no</html>", status=status)

    assert judge(requirement_id, refusal).outcome is Outcome.INCONCLUSIVE


def deviating(exchange, prefix):
    """The requirements that the exchange breaks."""
    return {
        requirement_id
        for requirement_id in RULES
        if requirement_id.startswith(prefix) and judge(requirement_id, exchange).deviates
    }


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


@pytest.mark.parametrize("status", [201, 202, 204, 206, 299])
def test_success_has_status_200(status):
    """Any other 2xx breaks the requirement on the status alone: it is judged as a success."""
    assert deviating(execution(status=status), "executePix.") == {"executePix.status"}


@pytest.mark.parametrize("text", ["True", "TRUE", "tRuE", "False", "FALSE"])
def test_success_in_another_letter_case(text):
    """Only the letter case deviates; the text counts as what it says."""
    exchange = registration({**REGISTRATION, "Success": text})
    found = deviating(exchange, "registerPixKey.")

    assert found - {"registerPixKey.Success.example"} == {"registerPixKey.Success.letterCase"}
    assert ("registerPixKey.Success.example" in found) == (text.lower() == "false") != registered(exchange)


@pytest.mark.parametrize(
    ("success", "broken"),
    [
        *((text, {"Success.text", "Success.example"}) for text in ("yes", "1", "", " true", "ok")),
        ("false", {"Success.example"}),
        (True, {"Success.type"}),
    ],
)
def test_success_is_the_text_true_or_false(success, broken):
    """Another text breaks the textual boolean, false is only unlike the example, and a boolean is no text."""
    found = deviating(registration({**REGISTRATION, "Success": success}), "registerPixKey.")

    assert found == {f"registerPixKey.{what}" for what in broken}


DEVIATIONS = {
    "executePix.status": (execution(status=201), "expected status 200, got 201"),
    "executePix.json": (answer("executePix", b""), "not JSON: the body is empty"),
    "executePix.json.mediaType": (
        execution(headers=(("Content-Type", "text/plain"),)),
        "expected a JSON media type, got text/plain",
    ),
    "registerPixKey.json.mediaType": (registration(headers=()), "expected a JSON media type, got none"),
    "executePix.json.unique": (
        answer("executePix", b'{"code":0,"code":0,"data":{}}'),
        "expected each name once in an object, got twice: code",
    ),
    "executePix.json.byteOrderMark": (
        answer("executePix", b'\xef\xbb\xbf{"code":0,"data":{}}'),
        "expected no byte order mark, got one",
    ),
    "executePix.envelope.object": (answer("executePix", []), "expected an object, got an array"),
    "executePix.envelope.code.type": (
        answer("executePix", {"code": "0", "data": {}}),
        "expected code of type integer, got a string",
    ),
    "executePix.envelope.code.example": (
        answer("executePix", {"code": 3, "data": EXECUTION}),
        "expected code 0, got another integer",
    ),
    "executePix.envelope.result": (
        execution({"other": 1}),
        "expected the documented fields in data, got none of them",
    ),
    "executePix.fields.extra": (execution({**EXECUTION, "surplus": 1}), "expected no other fields, got surplus"),
    "executePix.digit.present": (execution({}), "digit is missing"),
    "executePix.digit.type": (execution({**EXECUTION, "digit": 6}), "expected digit of type string, got an integer"),
    "executePix.digit.spelling": (execution({"Digit": "6"}), "expected the name digit, got Digit"),
    "executePix.id.matches": (
        execution({**EXECUTION, "id": "another"}),
        "expected id to be the code that was sent, got another one",
    ),
    "executePix.type.kind": (
        execution({**EXECUTION, "type": "IBAN"}),
        "expected type to be one of PHONE, EMAIL, RANDOM, CNPJ, CPF, got another text",
    ),
    "executePix.type.example": (execution({**EXECUTION, "type": "CPF"}), "expected type PHONE, got another text"),
    "executePix.status.example": (
        execution({**EXECUTION, "status": "SENT"}),
        "expected status DONE, got another text",
    ),
    "executePix.error.example": (execution({**EXECUTION, "error": "no"}), "expected error to be null, got a string"),
    "executePix.document.masked": (
        execution({**EXECUTION, "document": "123.456.789-09"}),
        "expected a masked tax document, got one with every character visible",
    ),
    "executePix.document.partly": (
        execution({**EXECUTION, "document": "***********"}),
        "expected a partly visible tax document, got one with every character masked",
    ),
    "registerPixKey.Success.text": (
        registration({**REGISTRATION, "Success": "yes"}),
        "expected Success to be the text true or false, got another text",
    ),
    "registerPixKey.Success.letterCase": (
        registration({**REGISTRATION, "Success": "True"}),
        "expected Success in lower-case letters, got capitals",
    ),
    "registerPixKey.Success.example": (
        registration({**REGISTRATION, "Success": "false"}),
        "expected Success true, got another text",
    ),
    "registerPixKey.Key.example": (
        registration({**REGISTRATION, "Key": "k"}),
        "expected Key to be null for a RANDOM key, got a string",
    ),
    "registerPixKey.fields.upperCase": (
        registration({"success": "true"}),
        "expected names that start with an upper-case letter, got success",
    ),
    "executePix.serverError": (
        answer("executePix", {}, status=500),
        "expected no server error for a valid request (GET), got status 500",
    ),
    "registerPixKey.serverError": (
        answer("registerPixKey", {}, status=501, method="POST", valid=False),
        "expected no server error for an invalid request (POST), got status 501",
    ),
    "executePix.stackTrace": (
        answer("executePix", b"Traceback (most recent call last):", status=400),
        "expected no stack trace or debug page for a valid request (GET), got one",
    ),
    "executePix.connection": (
        failed(FailureKind.DROPPED),
        "expected a response to a valid request (GET), got a dropped connection",
    ),
    "listAccounts.status": (answer("listAccounts", {}, status=201), "expected status 200, got 201"),
    "listAccounts.json": (answer("listAccounts", b"no"), "not JSON: Expecting value at character 0"),
    "listAccounts.envelope.shape": (
        answer("listAccounts", {"code": 0, "data": []}),
        "expected data of type object, got an array",
    ),
    "getBalance.envelope.shape": (
        answer("getBalance", {"Code": 0}),
        "expected the name code, got Code; data is missing",
    ),
}


@pytest.mark.parametrize(("requirement_id", "exchange", "message"), [(key, *case) for key, case in DEVIATIONS.items()])
def test_the_message_of_a_deviation(requirement_id, exchange, message):
    """What is expected, and what came back, without a value of the service."""
    assert judge(requirement_id, exchange) == deviates(message, exchange)


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
    """A stack trace is known by its frames, with any line breaks."""
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
    """502, 503 and 504 are no server errors."""
    assert judge("executePix.serverError", answer("executePix", {}, status=status)).holds
