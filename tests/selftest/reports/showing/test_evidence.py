"""What may be shown of an exchange: an outline without its content, or the whole."""

from dataclasses import replace

from environments.secret_values import listed_secrets
from reports.showing.evidence import UNDOCUMENTED, ShownRequest, ShownResponse, evidence, outline
from reports.showing.resending import Resending
from reports.showing.show import Display
from spec.exchange import FailureKind
from tests.selftest.exchanges import registration, unanswered
from tests.selftest.hand_made import SANDBOX_PROFILE

RESENDING = Resending(Display(listed_secrets(SANDBOX_PROFILE)), SANDBOX_PROFILE)


def test_an_outline_has_no_content():
    """The address is the path template, and headers, bodies and lines of a shell are empty."""
    shown = outline(registration())

    assert shown.request == ShownRequest("POST", "/v1/pix/keys/{accountId}")
    assert shown.response == ShownResponse(200, cut="")
    assert (shown.failure, shown.failure_kind, shown.lines_that_resend) == ("", "", "")


def test_evidence_has_content_and_lines():
    """Evidence has what an outline has, and the address, the body of the answer, and the lines that send the request
    again.
    """
    exchange = registration()
    shown = evidence(exchange, RESENDING)

    assert '"Success"' in shown.response.body
    assert shown.lines_that_resend.splitlines()[-1].startswith("curl -sS -i -X POST ")
    assert (shown.number, shown.response.status) == (outline(exchange).number, 200)


def test_a_failure_stands_in_the_place_of_the_response():
    """An outline has the kind of the failure, and evidence has its message."""
    shown = evidence(replace(unanswered(FailureKind.TIMEOUT), operation=""), RESENDING)

    assert shown.response is None
    assert shown.failure.startswith(f"{shown.failure_kind}: ")
    assert shown.operation == UNDOCUMENTED
