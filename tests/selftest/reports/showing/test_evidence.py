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
    """The outline of an exchange has method, path template and status, and no header, body or curl command.

    A report shows only the outline of an exchange to which nothing else in the report refers.
    """
    shown = shown_in_outline(registration())

    assert shown.request == ShownRequest("POST", "/v1/pix/keys/{accountId}")
    assert shown.response == ShownResponse(200, cut="")
    assert (shown.failure, shown.failure_kind, shown.lines_that_resend) == ("", "", "")


def test_evidence_has_content_and_lines():
    """The evidence of an exchange is all that a report may show of it: also the body of the answer and a curl command.

    The curl command sends the request again. An outline is the exchange without its content; number and status are the
    same in both.
    """
    exchange = registration()

    shown = shown_in_full(exchange, RESENDING)
    last_line = shown.lines_that_resend.splitlines()[-1]

    assert '"Success"' in shown.response.body
    assert last_line.startswith("curl -sS -i -X POST ")
    assert shown.number == shown_in_outline(exchange).number
    assert shown.response.status == 200


def test_a_failure_stands_in_the_place_of_the_response():
    """If a request got no answer, a report shows the kind and the message of the failure in the place of a response.

    Here the request ran into a time-out. It belongs to no documented operation, and is shown as UNDOCUMENTED.
    """
    timed_out_exchange = replace(unanswered(FailureKind.TIMEOUT), operation="")

    shown = shown_in_full(timed_out_exchange, RESENDING)

    assert shown.response is None
    assert shown.failure.startswith(f"{shown.failure_kind}: ")
    assert shown.operation == UNDOCUMENTED
