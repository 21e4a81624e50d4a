"""Services with harmful answers: a run against them is neither long nor large, has a verdict, and writes plain text."""

import pytest
from junitparser import JUnitXml

from environments.sandbox import Response, Service
from reports.outputs.writing import OUTPUTS, PAGE, SUMS
from spec.exchange import FailureKind
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services import hostile
from tests.selftest.services.hostile import HEAD, GivesOneAnswerToEverything, drip_bytes, flood_bytes, json_answer_bytes
from tests.selftest.services.one_run import ManualRun
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, reset_connection, response_bytes

LATE = "no complete answer within limits.timeout (0.5 s)"
BROKEN_OFF = "the answer broke off before its end"
NO_LENGTH = "the content length is not one number"
LONG_HEADERS = "headers longer than the suite reads (65536 bytes together)"
LONG_BODY = "longer than limits.response_bytes (100000 bytes)"


def close_connection(connection):
    """Close the connection."""
    connection.shutdown(2)


@pytest.mark.parametrize(
    ("answer_bytes", "act_after_answer", "kind_of_failure", "message"),
    [
        pytest.param(HEAD, drip_bytes, FailureKind.TIMEOUT, LATE, id="headers without an end"),
        pytest.param(
            HEAD + b"Content-Length: 1000\r\n\r\n", drip_bytes, FailureKind.TIMEOUT, LATE, id="a body without an end"
        ),
        pytest.param(
            HEAD + b"Content-Length: 9\r\n\r\n{",
            reset_connection,
            FailureKind.DROPPED,
            "the connection was dropped without an answer",
            id="a reset in the body",
        ),
        pytest.param(
            b"\x00\xff\x1b[31m noise\r\n\r\n" * 100,
            close_connection,
            FailureKind.NOT_HTTP,
            "the answer is not HTTP",
            id="no HTTP",
        ),
    ],
)
def test_an_answer_that_harms_is_a_failure_with_a_name(
    answer_bytes, act_after_answer, kind_of_failure, message, tmp_path
):
    """If an answer never ends or is no HTTP, the suite reads no further, and the failure has a kind and a message.

    The tests get no answer then. One such answer does not make the target unreachable.
    """
    limits = {"timeout": 0.5} if kind_of_failure is FailureKind.TIMEOUT else {}
    with GivesOneAnswerToEverything(answer_bytes, act_after_answer) as service:
        manual_run = ManualRun(service, tmp_path, **limits)
        exchange = manual_run.client.send("executePix", "pixconf-1")

    assert (exchange.failure.kind, exchange.failure.message) == (kind_of_failure, message)
    assert manual_run.why_unreachable == ""


@pytest.mark.parametrize(
    ("answer_bytes", "act_after_answer", "message"),
    [
        pytest.param(HEAD + b"X-Endless: ", flood_bytes, LONG_HEADERS, id="countless headers"),
        pytest.param(hostile.LONG_HEADERS, close_connection, LONG_HEADERS, id="70 headers of 1,000 bytes"),
        pytest.param(
            hostile.INTERIM * 1_500 + json_answer_bytes(b"{}"),
            close_connection,
            LONG_HEADERS,
            id="1,500 interim answers (103 Early Hints)",
        ),
        pytest.param(
            hostile.MANY_HEADERS,
            close_connection,
            "more headers than the suite reads (100)",
            id="10,000 short headers",
        ),
    ],
)
def test_after_seven_answers_with_too_many_headers_the_target_still_counts_as_reachable(
    answer_bytes, act_after_answer, message, tmp_path
):
    """If the headers of an answer are longer than the suite reads, the tests get no answer, and a message says why.

    The target is reachable nevertheless, because it answers. Seven requests are sent here: after five requests in a row
    without an answer, the suite checks whether the target can still be reached.
    """
    with GivesOneAnswerToEverything(answer_bytes, act_after_answer) as service:
        manual_run = ManualRun(service, tmp_path)
        exchange = manual_run.client.send("executePix", "pixconf-1")
        later_exchanges = [manual_run.client.send("listAccounts") for _ in range(6)]

    assert exchange.failure.message == message
    assert {exchange.failure.kind for exchange in (exchange, *later_exchanges)} == {FailureKind.LIMIT}
    assert manual_run.why_unreachable == ""


@pytest.mark.parametrize(
    ("answer_bytes", "act_after_answer", "message"),
    [
        pytest.param(
            HEAD + b"Content-Length: 1000\r\n\r\n{}", close_connection, BROKEN_OFF, id="a body that breaks off"
        ),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{",
            close_connection,
            BROKEN_OFF,
            id="a chunk that breaks off",
        ),
        pytest.param(HEAD + b"Content-Length: two\r\n\r\n{}", drip_bytes, NO_LENGTH, id="a length that is no number"),
        pytest.param(
            HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", drip_bytes, NO_LENGTH, id="two lengths"
        ),
        pytest.param(HEAD + b"\r\n", flood_bytes, LONG_BODY, id="a body without a length that never ends"),
        pytest.param(hostile.GZIP_BOMB, close_connection, LONG_BODY, id="200 MB that gzip made small"),
        pytest.param(
            json_answer_bytes(b" " * 100_001), close_connection, LONG_BODY, id="one byte more than response_bytes"
        ),
    ],
)
def test_an_answer_that_is_not_read_to_its_end_says_why(answer_bytes, act_after_answer, message, tmp_path):
    """If the body of an answer breaks off, has no certain length or is too long, the tests get its beginning.

    A message beside it says why the rest is missing. The suite reads at most limits.response_bytes, 100,000 here.
    """
    with GivesOneAnswerToEverything(answer_bytes, act_after_answer) as service:
        manual_run = ManualRun(service, tmp_path, response_bytes=100_000)
        exchange = manual_run.client.send("executePix", "pixconf-1")

    assert (str(exchange.response.broken) or exchange.response.cut) == message
    assert manual_run.why_unreachable == ""


@pytest.mark.parametrize(
    "answer_bytes",
    [
        pytest.param(HEAD + b"Content-Length: 2 \r\n\r\n{}", id="a length with a blank behind it"),
        pytest.param(
            hostile.INTERIM * 100 + json_answer_bytes(b"{}", ("X-Long", "y" * 50_000)),
            id="100 interim answers and a header of 50,000 bytes",
        ),
        pytest.param(json_answer_bytes(b" " * 100_000), id="exactly response_bytes"),
    ],
)
def test_an_unusual_answer_within_the_limits_is_read_whole(answer_bytes, tmp_path):
    """An answer is read to its end if it is unusual, but within the limits: limits.response_bytes is 100,000 here."""
    with GivesOneAnswerToEverything(answer_bytes, close_connection) as service:
        manual_run = ManualRun(service, tmp_path, response_bytes=100_000)
        exchange = manual_run.client.send("executePix", "pixconf-1")

    assert str(exchange.response.broken) == ""
    assert exchange.response.cut == ""
    assert manual_run.why_unreachable == ""


@pytest.fixture(scope="module")
def hostile_result(tmp_path_factory):
    """The result of a run against a service that gives every hostile answer in turn."""
    with hostile.AnswersInHostileWays() as service:
        profile = write_profile(
            tmp_path_factory.mktemp("hostile"), service.base_url, limits={"response_bytes": 1_000_000}
        )
        return run_suite(profile, "--parallel=1", "-k", "executePix.document or executePix.type or listAccounts")


def test_a_run_against_a_hostile_service_is_bounded_and_has_a_verdict(hostile_result):
    """A run against a service that gives every harmful answer in turn ends with the verdict "partial".

    It is partial because -k selects a few requirements. None of them fails, because every second answer is lawful and the
    document forbids none of the others. Harmful answers, such as one of 200 MB that gzip made small, make the run neither
    long nor large: it sends fewer than 50 requests, and its process needs less than 300 MB.
    """
    assert hostile_result.document["verdict"] == "partial", hostile_result.output[-2000:]
    assert hostile_result.document["traffic"]["requests"] < 50
    assert hostile_result.peak_mb < 300


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
        """The answer of the sandbox; None, which drops the connection, after 20 answers."""
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
    """The suite follows no redirect to another port, because the program that listens there would get the token."""
    with SocketService() as service_at_other_port:
        redirect = Response(307, b"", (("Location", service_at_other_port.base_url),))
        with GivesOneAnswerToEverything(response_bytes(redirect)) as service:
            exchange = ManualRun(service, tmp_path).client.send("listAccounts", valid=True)

    assert exchange.response.status == 307
    assert len(service.received) == 1
    assert service_at_other_port.received == []
