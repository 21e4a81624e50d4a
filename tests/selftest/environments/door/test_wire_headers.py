"""Lines of headers that the HTTP library does not read."""

import pytest

from environments.door.preflight import preflight
from spec.exchange import FailureKind
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, response_bytes, served_by


class BlankBeforeColon(SocketService):
    """A blank stands before the colon of its first header, which curl and browsers accept."""

    LINE = b"X-FRAME-OPTIONS : SAMEORIGIN"

    def answer(self, connection, request):
        """Send the answer of the sandbox with LINE before its first header."""
        status_line, _, headers_and_body = response_bytes(self.sandbox.respond(request)).partition(b"\r\n")
        connection.sendall(status_line + b"\r\n" + self.LINE + b"\r\n" + headers_and_body)


class TabBeforeColon(BlankBeforeColon):
    """A tab and a blank stand before the colon of its first header."""

    LINE = b"X-FRAME-OPTIONS\t : SAMEORIGIN"


class NoHeader(BlankBeforeColon):
    """A line of its headers is a sentence."""

    LINE = b"this line has no colon"


class NoName(BlankBeforeColon):
    """The text before the colon has blanks."""

    LINE = b"a name of words: 1"


@served_by(BlankBeforeColon, TabBeforeColon)
def test_a_blank_before_the_colon_of_a_header_does_not_belong_to_its_name(service, manual_run):
    """The service writes `X-FRAME-OPTIONS : SAMEORIGIN` as its first header, which the HTTP library alone would not
    read.

    The suite reads this header and the headers after it.
    """
    response = manual_run.client.send("listAccounts", valid=True).response

    assert response.status == 200
    assert response.header("X-Frame-Options") == "SAMEORIGIN"
    assert response.header("Content-Type") == "application/json"


@served_by(NoHeader, NoName)
def test_a_header_line_without_a_name_and_a_colon_is_a_limit_of_the_suite(service, manual_run):
    """Among the headers of each answer is a line that is no header. The HTTP library cannot read the lines after it.

    So the message names a limit of the suite and no fault of the service. The first check of a run (`preflight`) finds
    no trouble: the target can be reached.
    """
    exchange = manual_run.client.send("listAccounts", valid=True)
    trouble_before_the_run = preflight(manual_run.client)

    assert exchange.failure.kind is FailureKind.LIMIT
    assert exchange.failure.message == "a line of the headers is no header: the suite cannot read the lines after it"
    assert trouble_before_the_run == ""


@pytest.mark.parametrize(
    ("service", "exit_status"),
    [(BlankBeforeColon, 0), (NoHeader, 6)],
    indirect=["service"],
    ids=["a blank before a colon: the run passes", "a line that is no header: the run is incomplete"],
)
def test_an_unusual_header_line_is_no_failure_and_no_warning(service, exit_status, tmp_path):
    """A service may write a blank before the colon of a header. The suite can read such an answer, so the run passes
    (0).

    It cannot read an answer with a line that is no header. So its requirements are left undecided, and the run is
    incomplete (exit status 6).
    """
    result = run_suite(write_profile(tmp_path, service.base_url), "-k", "listAccounts")

    assert result.status == exit_status, result.output
    assert result.messages_with_verdict("fail") == {}
    assert result.messages_with_verdict("warn") == {}
