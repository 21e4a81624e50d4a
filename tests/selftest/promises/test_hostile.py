"""A service that is out to hurt gets a verdict in few requests and little memory, and a report that is plain text."""

import pytest
from junitparser import JUnitXml

from environments.sandbox import Response, Service
from reports.outputs.writing import OUTPUTS, PAGE, SUMS
from spec.exchange import FailureKind
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services import hostile
from tests.selftest.services.hostile import HEAD, GivesOneAnswerToEverything
from tests.selftest.services.one_run import ManualRun
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, reset_connection, response_bytes

PEAK_MB = 300
LATE = "no complete answer within limits.timeout (0.5 s)"
BROKEN_OFF = "the answer broke off before its end"
NO_LENGTH = "the content length is not one number"
LONG_HEAD = "headers longer than the suite reads (65536 bytes together)"
LONG = "longer than limits.response_bytes (100000 bytes)"


def close_connection(connection):
    """Close the connection."""
    connection.shutdown(2)


HARMFUL_ANSWERS = (
    "headers without an end", "a body without an end", "a body that breaks off", "a chunk that breaks off",
    "a length that is no number", "two lengths", "a length with a blank", "a reset in the body", "no HTTP",
    "countless headers", "long headers", "countless interim answers", "interim answers and a long header",
    "many headers", "a body beyond the limit", "a gzip bomb", "one byte beyond the limit", "as long as the limit",
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer_bytes", "act_after_answer", "kind_of_failure", "message"),
    [
        (HEAD, hostile.drip_bytes, FailureKind.TIMEOUT, LATE),
        (HEAD + b"Content-Length: 1000\r\n\r\n", hostile.drip_bytes, FailureKind.TIMEOUT, LATE),
        (HEAD + b"Content-Length: 1000\r\n\r\n{}", close_connection, None, BROKEN_OFF),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{", close_connection, None, BROKEN_OFF),
        (HEAD + b"Content-Length: two\r\n\r\n{}", hostile.drip_bytes, None, NO_LENGTH),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", hostile.drip_bytes, None, NO_LENGTH),
        (HEAD + b"Content-Length: 2 \r\n\r\n{}", close_connection, None, ""),
        (HEAD + b"Content-Length: 9\r\n\r\n{", reset_connection, FailureKind.DROPPED, "the connection was dropped without an answer"),
        (b"\x00\xff\x1b[31m noise\r\n\r\n" * 100, close_connection, FailureKind.NOT_HTTP, "the answer is not HTTP"),
        (*hostile.NEVER_ENDS_ITS_HEADERS, FailureKind.LIMIT, LONG_HEAD),
        (hostile.LONG_HEADERS, close_connection, FailureKind.LIMIT, LONG_HEAD),
        (hostile.INTERIM * 1_500 + hostile.json_answer_bytes(b"{}"), close_connection, FailureKind.LIMIT, LONG_HEAD),
        (hostile.INTERIM * 100 + hostile.json_answer_bytes(b"{}", ("X-Long", "y" * 50_000)), close_connection, None, ""),
        (hostile.MANY_HEADERS, close_connection, FailureKind.LIMIT, "more headers than the suite reads (100)"),
        (*hostile.NEVER_ENDS, None, LONG),
        (hostile.GZIP_BOMB, close_connection, None, LONG),
        (hostile.json_answer_bytes(b" " * 100_001), close_connection, None, LONG),
        (hostile.json_answer_bytes(b" " * 100_000), close_connection, None, ""),
    ],
    ids=HARMFUL_ANSWERS,
)  # fmt: skip
def test_an_answer_that_harms_is_a_failure_with_a_name(
    answer_bytes, act_after_answer, kind_of_failure, message, tmp_path
):
    """If an answer never ends, is too long or is malformed, the suite does not read on, and a message names the reason.

    Either there is no answer for the tests (a failure), or an answer of which a part is missing. With answers that are
    longer than the suite reads, the target still counts as reachable after seven of them.
    """
    with GivesOneAnswerToEverything(answer_bytes, act_after_answer) as service:
        limits = {"timeout": 0.5} if kind_of_failure is FailureKind.TIMEOUT else {}
        manual_run = ManualRun(service, tmp_path, **limits)
        exchange = manual_run.client.send("executePix", "pixconf-1")
        number_of_later_requests = 6 if kind_of_failure is FailureKind.LIMIT else 0
        later_exchanges = [manual_run.client.send("listAccounts") for _ in range(number_of_later_requests)]

    if kind_of_failure:
        assert (exchange.failure.kind, exchange.failure.message) == (kind_of_failure, message)
    else:
        assert (str(exchange.response.broken) or exchange.response.cut) == message
    assert {exchange.failure.kind for exchange in later_exchanges} <= {kind_of_failure}
    assert manual_run.door.liveness.why_unreachable == ""


@pytest.fixture(scope="module")
def hostile_result(tmp_path_factory):
    """The result of a run against a service that gives every hostile answer in turn."""
    with hostile.AnswersInHostileWays() as service:
        profile = write_profile(
            tmp_path_factory.mktemp("hostile"), service.base_url, limits={"response_bytes": 1_000_000}
        )
        return run_suite(profile, "--parallel=1", "-k", "executePix.document or executePix.type or listAccounts")


def test_a_run_against_a_hostile_service_is_bounded_and_has_a_verdict(hostile_result):
    """A run against a service that gives every harmful answer in turn has a verdict: "partial", without a failure.

    It sends fewer than 50 requests and needs less than 300 MB.
    """
    assert hostile_result.document["verdict"] == "partial", hostile_result.output[-2000:]
    assert hostile_result.document["traffic"]["requests"] < 50
    assert hostile_result.peak_mb < PEAK_MB


def test_reports_are_whole_and_plain(hostile_result):
    """After harmful answers no file of the report is missing, and junit.xml can be parsed.

    No file and no output has one of the control characters of the answers, which could change a terminal.
    """
    files = {path.name: path.read_text("utf-8") for path in hostile_result.folder.iterdir()}
    JUnitXml.fromstring(files["junit.xml"])
    characters_shown = set("".join([*files.values(), hostile_result.output]))
    control_characters = {"\x00", "\x07", "\x1b", "\x9b", "\u202e"}

    assert set(files) == {*OUTPUTS, PAGE, SUMS}
    assert characters_shown & control_characters == set()


class HangsUpAfter20Answers(Service):
    """Hangs up at its 21st request and at all later ones."""

    answered = 0

    def serve(self, request, connection):
        self.answered += 1
        return self.respond(request) if self.answered <= 20 else None


def test_answers_before_the_end_of_the_service_are_judged():
    """If a service ends after twenty answers, requirements that these answers show still pass, and none fails.

    The run is unreachable (exit status 7), and its first note says so.
    """
    trial = try_in_memory(HangsUpAfter20Answers())
    first_note = trial.notes[0]

    assert trial.exit_status == 7
    assert "cannot be reached: the connection was dropped without an answer" in first_note
    assert trial.with_verdict("pass") != set()
    assert trial.failing == set()


def test_a_redirect_takes_no_token_to_another_port(tmp_path):
    """The suite follows no redirect to another port, because whoever listens there would get the token."""
    with SocketService() as service_at_other_port:
        redirect = Response(307, b"", (("Location", service_at_other_port.base_url),))
        with GivesOneAnswerToEverything(response_bytes(redirect)) as service:
            exchange = ManualRun(service, tmp_path).client.send("listAccounts", valid=True)

    assert exchange.response.status == 307
    assert len(service.received) == 1
    assert service_at_other_port.received == []
