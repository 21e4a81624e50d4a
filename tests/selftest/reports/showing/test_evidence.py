"""What may be shown of an exchange: an outline without its content, or the whole."""

from dataclasses import replace

from environments.secret_values import listed_secrets
from reports.showing.evidence import UNDOCUMENTED, ShownRequest, ShownResponse, shown_in_full, shown_in_outline
from reports.showing.resending import Resending
from reports.showing.show import Display
from spec.exchange import FailureKind
from tests.selftest.exchanges import registration, unanswered
from tests.selftest.hand_made import SANDBOX_PROFILE

RESENDING = Resending(Display(listed_secrets(SANDBOX_PROFILE)), SANDBOX_PROFILE)


def test_an_outline_has_no_content():
    """The outline of an exchange has method, path template and status, and no header, body or line of a shell.

    A report shows it if the content of an exchange need not be shown.
    """
    shown = shown_in_outline(registration())

    assert shown.request == ShownRequest("POST", "/v1/pix/keys/{accountId}")
    assert shown.response == ShownResponse(200, cut="")
    assert (shown.failure, shown.failure_kind, shown.lines_that_resend) == ("", "", "")


def test_evidence_has_content_and_lines():
    """The evidence of an exchange has the body of the answer and a curl command that sends the request again.

    It also has what the outline has, which is the exchange without its content.
    """
    exchange = registration()

    shown = shown_in_full(exchange, RESENDING)
    *_, last_line = shown.lines_that_resend.splitlines()

    assert '"Success"' in shown.response.body
    assert last_line.startswith("curl -sS -i -X POST ")
    assert (shown.number, shown.response.status) == (shown_in_outline(exchange).number, 200)


def test_a_failure_stands_in_the_place_of_the_response():
    """If a request got no answer, its evidence has no response, and the kind and the message of the failure instead.

    Here the request ran into a time-out. It is to no documented operation.
    """
    timed_out_exchange = replace(unanswered(FailureKind.TIMEOUT), operation="")

    shown = shown_in_full(timed_out_exchange, RESENDING)

    assert shown.response is None
    assert shown.failure.startswith(f"{shown.failure_kind}: ")
    assert shown.operation == UNDOCUMENTED
