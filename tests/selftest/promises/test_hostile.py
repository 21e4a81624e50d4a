"""A service that is out to hurt gets a verdict in few requests and little memory, and a report that is plain text."""

import pytest
from junitparser import JUnitXml

from environments.sandbox import Response, Service
from reports.outputs.writing import OUTPUTS, PAGE, SUMS
from spec.exchange import FailureKind
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services import hostile
from tests.selftest.services.hostile import HEAD, SaysOneAnswer
from tests.selftest.services.one_run import ManualRun
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, reset_connection, response_bytes

PEAK_MB = 300
LATE = "no complete answer within limits.timeout (0.5 s)"
BROKEN_OFF = "the answer broke off before its end"
NO_LENGTH = "the content length is not one number"
LONG_HEAD = "headers longer than the suite reads (65536 bytes together)"
LONG = "longer than limits.response_bytes (100000 bytes)"


def ends(connection):
    """Closes the connection."""
    connection.shutdown(2)


@pytest.mark.parametrize(
    ("said", "then", "kind", "why"),
    [
        (HEAD, hostile.drip_bytes, FailureKind.TIMEOUT, LATE),
        (HEAD + b"Content-Length: 1000\r\n\r\n", hostile.drip_bytes, FailureKind.TIMEOUT, LATE),
        (HEAD + b"Content-Length: 1000\r\n\r\n{}", ends, None, BROKEN_OFF),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{", ends, None, BROKEN_OFF),
        (HEAD + b"Content-Length: two\r\n\r\n{}", hostile.drip_bytes, None, NO_LENGTH),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", hostile.drip_bytes, None, NO_LENGTH),
        (HEAD + b"Content-Length: 2 \r\n\r\n{}", ends, None, ""),
        (HEAD + b"Content-Length: 9\r\n\r\n{", reset_connection, FailureKind.DROPPED, "the connection was dropped without an answer"),
        (b"\x00\xff\x1b[31m noise\r\n\r\n" * 100, ends, FailureKind.NOT_HTTP, "the answer is not HTTP"),
        (*hostile.NEVER_ENDS_ITS_HEADERS, FailureKind.LIMIT, LONG_HEAD),
        (hostile.LONG_HEADERS, ends, FailureKind.LIMIT, LONG_HEAD),
        (hostile.INTERIM * 1_500 + hostile.json_answer_bytes(b"{}"), ends, FailureKind.LIMIT, LONG_HEAD),
        (hostile.INTERIM * 100 + hostile.json_answer_bytes(b"{}", ("X-Long", "y" * 50_000)), ends, None, ""),
        (hostile.MANY_HEADERS, ends, FailureKind.LIMIT, "more headers than the suite reads (100)"),
        (*hostile.NEVER_ENDS, None, LONG),
        (hostile.GZIP_BOMB, ends, None, LONG),
        (hostile.json_answer_bytes(b" " * 100_001), ends, None, LONG),
        (hostile.json_answer_bytes(b" " * 100_000), ends, None, ""),
    ],
    ids=range(18),
)  # fmt: skip
def test_an_answer_that_harms_is_a_failure_with_a_name(said, then, kind, why, tmp_path):
    """It is not waited for, nor read to an end that does not come. A limit of the suite is an answer: a target that gives
    one is there, however often it does."""
    with SaysOneAnswer(said, then) as service:
        limits = {"timeout": 0.5} if kind is FailureKind.TIMEOUT else {}
        manual_run = ManualRun(service, tmp_path, **limits)
        found = manual_run.client.send("executePix", "pixconf-1")
        again = [manual_run.client.send("listAccounts") for _ in range(6) if kind is FailureKind.LIMIT]

    how = (
        (found.failure.kind, found.failure.message)
        if kind
        else (None, str(found.response.broken) or found.response.cut)
    )
    assert how == (kind, why)
    assert {seen.failure.kind for seen in again} <= {kind}
    assert manual_run.door.liveness.unreachable == ""


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A run against a service that says all of it."""
    with hostile.SaysEverything() as service:
        profile = write_profile(
            tmp_path_factory.mktemp("hostile"), service.base_url, limits={"response_bytes": 1_000_000}
        )
        return run_suite(profile, "--parallel=1", "-k", "executePix.document or executePix.type or listAccounts")


def test_the_end_is_bounded_and_truthful(ended):
    """Requests and memory are bounded, and there is a verdict: nothing failed."""
    assert ended.document["verdict"] == "partial", ended.output[-2000:]
    assert ended.document["traffic"]["requests"] < 50
    assert ended.peak_mb < PEAK_MB


def test_reports_are_whole_and_plain(ended):
    """JSON and XML can be read; nothing that leaves the run holds a control character or half a letter."""
    files = {path.name: path.read_text("utf-8") for path in ended.folder.iterdir()}
    JUnitXml.fromstring(files["junit.xml"])

    assert set(files) == {*OUTPUTS, PAGE, SUMS}
    assert not [mark for mark in "\x00\x07\x1b\x9b\u202e" for text in (*files.values(), ended.output) if mark in text]


class Dies(Service):
    """Hangs up, from its twentieth request on."""

    answered = 0

    def serve(self, request, connection):
        self.answered += 1
        return self.respond(request) if self.answered <= 20 else None


def test_a_service_that_dies_leaves_what_was_learned():
    """Twenty answers were judged before it was gone: exit status 7."""
    trial = try_in_memory(Dies())

    assert trial.exit_status == 7
    assert "cannot be reached: the connection was dropped without an answer" in trial.notes[0]
    assert trial.with_verdict("pass")
    assert not trial.failing


def test_a_redirect_takes_no_token_to_another_port(tmp_path):
    """Nothing at all is sent to where a redirect leads."""
    with (
        SocketService() as elsewhere,
        SaysOneAnswer(response_bytes(Response(307, b"", (("Location", elsewhere.base_url),)))) as service,
    ):
        found = ManualRun(service, tmp_path).client.send("listAccounts", valid=True)

    assert (found.response.status, len(service.received), elsewhere.received) == (307, 1, [])
