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
        status, _, rest = response_bytes(self.sandbox.respond(request)).partition(b"\r\n")
        connection.sendall(status + b"\r\n" + self.LINE + b"\r\n" + rest)


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
def test_a_blank_before_a_colon_is_no_part_of_the_name(service, manual_run):
    """The name is read without the blank, and the headers after it are read, too."""
    response = manual_run.client.send("listAccounts", valid=True).response

    assert (response.status, response.header("X-Frame-Options")) == (200, "SAMEORIGIN")
    assert response.header("Content-Type") == "application/json"


@served_by(NoHeader, NoName)
def test_a_line_that_is_no_header_is_a_limit_of_the_suite(service, manual_run):
    """The message says so, because the HTTP library cannot read the lines after it. The target counts as reachable."""
    exchange = manual_run.client.send("listAccounts", valid=True)

    assert exchange.failure.kind is FailureKind.LIMIT
    assert exchange.failure.message == "a line of the headers is no header: the suite cannot read the lines after it"
    assert preflight(manual_run.client) == ""


@pytest.mark.parametrize(("service", "status"), [(BlankBeforeColon, 0), (NoHeader, 6)], indirect=["service"])
def test_a_strange_header_line_fails_no_run(service, status, tmp_path):
    """Requirements of an answer that http.client reads pass. Those of one that it cannot read are not exercised."""
    result = run_suite(write_profile(tmp_path, service.base_url), "-k", "listAccounts")

    assert result.status == status, result.output
    assert result.messages_with_verdict("fail") == {}
    assert result.messages_with_verdict("warn") == {}
