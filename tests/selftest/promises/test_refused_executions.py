"""Refused executions: which answers may hide the result of an executed transfer, and which answers hide nothing."""

import gzip
import json

import pytest

from environments.sandbox import Response
from tests.selftest.exchanges import EXECUTION_RESULT
from tests.selftest.services.one_run import CODE, ManualRun
from tests.selftest.services.trouble_with_money import Trouble

REFUSAL = {"code": 409, "data": EXECUTION_RESULT}
WHOLE = json.dumps(REFUSAL).encode()
DEEP = WHOLE[:-1] + b', "trace": ' + b"[" * 150 + b"]" * 150 + b"}"
IN_A_STRING = json.dumps({"code": 409, "data": json.dumps(EXECUTION_RESULT)}).encode()
IN_XML = "".join(f"<{name}>{value}</{name}>" for name, value in EXECUTION_RESULT.items())
MAY_HIDE_A_RESULT = {
    "JSON that ends early": (WHOLE[:-2], "application/json"),
    "JSON that ends in the result": (b'{"code": 409, "meta": {"a": 1}, "data": {"id": "TX', "application/json"),
    "a list that ends early": (b"[" + WHOLE[:-2], "application/json"),
    "gzip that ends early": (gzip.compress(WHOLE)[:-12], "gzip"),
    "a coding that was not asked for": (b"\x8b\x02\x80" + WHOLE + b"\x03", "br"),
    "UTF-16": (WHOLE.decode().encode("utf-16"), "application/json"),
    "too deep": (DEEP, "application/json"),
    "too long": (WHOLE[:-1] + b', "trace": "' + b"x" * 200_000 + b'"}', "application/json"),
    "a string": (IN_A_STRING, "application/json"),
    "XML": (f"<r>{IN_XML}</r>".encode(), "application/xml"),
    "quoted as in Python": (str(REFUSAL).encode(), "text/plain"),
    "text that says DONE": (b"transfer 4711: DONE", "text/plain"),
}
"""Bodies of refusals that may have an execution result, each with its media type or content coding."""
HIDES_NOTHING = {
    "text": (b"transaction not found", "text/plain"),
    "text in brackets": (b"[E401] not found", "text/plain"),
    "text in braces": (b"{id} was not found, nothing was done", "text/plain"),
    "text as JSON": (b"Not Found", "application/json"),
    "text in Latin-1": ("transação não encontrada".encode("latin-1"), "text/plain"),
    "no body": (b"", "application/json"),
    "a page": (b'<html><script>var x = {"a": b};</script><title>409</title></html>', "text/html"),
    "XML": (b"<error><code>409</code><message>no</message><status>409</status><id>7</id></error>", "application/xml"),
    "JSON in Latin-1": ('{"message": "transação não encontrada"}'.encode("latin-1"), "application/json"),
    "JSON of two lines in a string": (b'{"message": "not\nfound"}', "application/json"),
    "a string": (b'"not found"', "application/json"),
    "quoted as in Python": (b"{'error': 'not found'}", "application/json"),
    "an error in a string": (b'{"message": "{\\"status\\": 409, \\"error\\": \\"no\\"}"}', "application/json"),
    "an error of a bank": (
        b'{"code": 409, "data": {"id": "7f", "date": 1767225600000, "type": "BUSINESS", "status": "REJECTED", '
        b'"error": "E409", "message": "no"}}',
        "application/json",
    ),
}


class RefusesExecutions(Trouble):
    """Answers the execution of a real code with 409 and this body."""

    def __init__(self, body, type_or_coding):
        """`type_or_coding` is a media type, such as text/plain, or a content coding, such as gzip."""
        super().__init__()
        name = "Content-Type" if "/" in type_or_coding else "Content-Encoding"
        self.answer_in_trouble = Response(409, body, ((name, type_or_coding),))


def execute_in_two_runs(service, folder):
    """Execute a code in a run, and again in a later one, which sends it only if it was refused clearly.

    Returns the first run, and its exchange with the service.
    """
    with service:
        first_run = ManualRun(service, folder, response_bytes=100_000)
        exchange = first_run.execute()
        ManualRun(service, folder, name="two", codes_to_resend={CODE}).execute()
    return first_run, exchange


@pytest.mark.parametrize("name", MAY_HIDE_A_RESULT)
def test_a_refusal_that_is_not_read_whole_has_an_unknown_outcome(name, tmp_path):
    """If an execution is refused (409) with a body that the suite cannot read whole, no later run sends the code.

    The part that is not read may be the result of an executed transfer, so the outcome of the execution is unknown.
    """
    service = RefusesExecutions(*MAY_HIDE_A_RESULT[name])
    first_run, exchange = execute_in_two_runs(service, tmp_path)

    assert exchange.response.status == 409
    assert first_run.executions_of_unknown_outcome == [exchange.number]
    assert first_run.outcomes_in_journal == ["sent", "unknown"]
    assert service.executions_with_valid_token == [CODE]


@pytest.mark.parametrize("name", HIDES_NOTHING)
def test_a_refusal_in_whatever_form_is_a_refusal(name, tmp_path):
    """A refusal (409) of an execution may be text, a page, XML or any JSON, because the document shows no form of it.

    The outcome is that the code was refused, and a later run may send it again (--resend-code).
    """
    service = RefusesExecutions(*HIDES_NOTHING[name])
    first_run, _ = execute_in_two_runs(service, tmp_path)
    outcomes_of_first_run = first_run.outcomes_in_journal[:2]

    assert first_run.executions_of_unknown_outcome == []
    assert outcomes_of_first_run == ["sent", "refused"]
    assert service.executions_with_valid_token == [CODE, CODE]
