"""A transaction code is sent once, even if it goes over a kept connection that the service closes.

A kept connection has carried an earlier request. A fresh one is opened for the request.
"""

import socket
import threading
from collections import defaultdict
from functools import partial

import pytest

from spec.findings import Conclusion
from spec.rules import judge
from tests.selftest.services.closing import (
    ClosesConnections,
    ClosesTheFirst,
    close_connection,
    close_if_a_real_code_arrives,
    reset_and_close,
)
from tests.selftest.services.one_run import CODE, OTHER_CODE, ManualRun, profile_with_codes
from tests.selftest.services.secured import Certificates, SpeaksTls
from tests.selftest.services.serving import SocketService, real_codes_received, served_by
from tests.selftest.services.waiting import HANG_LIMIT_S
from tests.traffic.together import Together

FIRST_CODE, SECOND_CODE, THIRD_CODE = CODE, OTHER_CODE, "SBX-CPF-1"
ALL_CODES = (FIRST_CODE, SECOND_CODE, THIRD_CODE)
"""Transaction codes that the service executes."""


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch):
    """A connection is kept for longer than a busy machine takes."""
    monkeypatch.setattr("environments.door.sockets.LONGEST_IDLE_S", HANG_LIMIT_S)


class SpeaksTlsAndCloses(SpeaksTls, ClosesConnections):
    """Speaks TLS, and closes connections without the message of TLS that announces the end."""


def started_service_and_run(service_class, folder, when_it_closes):
    """A service that was started, over TLS or without, and a run against it that knows all codes.

    `when_it_closes` has attributes of the service, functions that say when it closes a connection, such as
    `{"ends_before_request": close_connection}`.
    """
    ca_bundle = None
    if service_class is SpeaksTlsAndCloses:
        certificates = Certificates(folder)
        ca_bundle = str(certificates.ca_bundle)
        service = service_class(certificates, needs_client_certificate=False)
    else:
        service = service_class()
    for name, function in when_it_closes.items():
        setattr(service, name, function)
    service.__enter__()
    return service, run_that_knows_all_codes(service, folder, ca_bundle=ca_bundle)


def run_that_knows_all_codes(service, folder, **options):
    """A run that knows the three transaction codes (ALL_CODES), so that it may execute them. `options` are those of
    ManualRun.
    """
    manual_run = ManualRun(service, folder, **options)
    manual_run.secrets.learn("code", *ALL_CODES)
    return manual_run


def execute_each_after_a_read(manual_run, codes=ALL_CODES):
    """Execute each code with the valid token, right after a read was answered.

    Returns the exchanges of the executions.
    """
    executions = []
    for code in codes:
        manual_run.client.send("listAccounts")
        executions.append(manual_run.execute(code))
    return executions


@served_by(ClosesConnections)
@pytest.mark.parametrize(
    ("codes", "codes_on_kept_connections"),
    [(ALL_CODES, {SECOND_CODE, THIRD_CODE}), ((FIRST_CODE,), set())],
    ids=["three codes", "a single code"],
)
def test_codes_after_the_first_are_sent_over_a_kept_connection(codes, codes_on_kept_connections, service, tmp_path):
    """The run sends everything that it has for executions. The first code always goes over a new connection.

    The later codes go over a connection that has carried an earlier request, to save time. Each code is executed once.
    """
    ManualRun(service, tmp_path, requests=400).execute_all(profile_with_codes(tmp_path, codes))

    assert set(service.codes_on_kept_connections) == codes_on_kept_connections
    assert service.executions_with_valid_token == list(codes)


@served_by(ClosesConnections)
@pytest.mark.parametrize(
    ("seconds_kept", "proxied"),
    [(0.0, False), (HANG_LIMIT_S, True)],
    ids=["the connection was idle for too long", "the run has a proxy"],
)
def test_a_code_has_a_fresh_connection_if_a_kept_one_is_not_safe(seconds_kept, proxied, service, tmp_path, monkeypatch):
    """A service may close a connection that was idle for a while, and a proxy may send a lost request again.

    So no code goes over a kept connection. Each code is executed once.
    """
    monkeypatch.setattr("environments.door.sockets.LONGEST_IDLE_S", seconds_kept)
    execute_each_after_a_read(run_that_knows_all_codes(service, tmp_path, proxied=proxied))

    assert service.executions_with_valid_token == list(ALL_CODES)
    assert service.codes_on_kept_connections == []


@pytest.mark.parametrize(
    ("service_class", "when_it_closes"),
    [
        (ClosesConnections, {"ends_before_request": close_connection}),
        (ClosesTheFirst, {}),
        (SpeaksTlsAndCloses, {"ends_before_request": close_connection}),
    ],
    ids=["every connection", "only the first connection", "every connection, over TLS"],
)
def test_a_connection_that_was_closed_before_the_request_costs_nothing(service_class, when_it_closes, tmp_path):
    """The service closes a kept connection after its first answer. The suite notices that before it sends a code.

    So every code is sent once, over a new connection, and succeeds.
    """
    service, manual_run = started_service_and_run(service_class, tmp_path, when_it_closes)
    with service:
        manual_run.client.send("listAccounts")
        assert service.connection_ended.acquire(timeout=HANG_LIMIT_S)  # the service has closed the connection
        first_execution = manual_run.execute(FIRST_CODE)
        later_executions = execute_each_after_a_read(manual_run, [SECOND_CODE, THIRD_CODE])
    statuses = [exchange.response.status for exchange in (first_execution, *later_executions)]
    codes_received = [code for code, _ in real_codes_received(service)]

    assert statuses == [200, 200, 200]
    assert codes_received == list(ALL_CODES)
    assert service.codes_on_kept_connections == []
    assert manual_run.executions_of_unknown_outcome == []


CLOSING_AT_THE_SECOND_CODE = {
    "before the code is read": (ClosesConnections, {"ends_before_request": close_if_a_real_code_arrives}, False),
    "by a reset, in the place of an answer": (ClosesConnections, {"ends_instead_of_answer": reset_and_close}, True),
    "in the place of an answer, over TLS": (SpeaksTlsAndCloses, {"ends_instead_of_answer": close_connection}, True),
}
"""By how the service closes the kept connection of the second code: the class of the service, the function that says when
it closes, and True if the service got the code."""


@pytest.mark.parametrize(
    ("service_class", "when_it_closes", "service_got_the_code"),
    CLOSING_AT_THE_SECOND_CODE.values(),
    ids=CLOSING_AT_THE_SECOND_CODE,
)
class TestConnectionThatClosesUnderACode:
    """Three codes are executed, and the service closes the kept connection of the second one."""

    def test_the_code_is_sent_once(self, service_class, when_it_closes, service_got_the_code, tmp_path):
        """Three codes are executed, and the service closes the connection of the second one without an answer.

        The second code is not sent again, neither by itself nor if the run wants to execute it once more.
        """
        service, manual_run = started_service_and_run(service_class, tmp_path, when_it_closes)
        with service:
            execute_each_after_a_read(manual_run)
            second_try = manual_run.execute(SECOND_CODE)
        received_on_closed_connection = [SECOND_CODE] if service_got_the_code else []

        assert service.codes_on_kept_connections == received_on_closed_connection
        assert service.executions_with_valid_token == [FIRST_CODE, *received_on_closed_connection, THIRD_CODE]
        assert "is not sent again" in second_try.failure.message

    def test_the_outcome_of_the_code_is_unknown(self, service_class, when_it_closes, service_got_the_code, tmp_path):
        """Three codes are executed, and the service closes the connection of the second one without an answer.

        Money may have moved, so the journal (the file of what was sent) and the report say that its outcome is unknown.
        """
        service, manual_run = started_service_and_run(service_class, tmp_path, when_it_closes)
        with service:
            _, lost_execution, _ = execute_each_after_a_read(manual_run)
        outcomes_of_second_code = manual_run.outcomes_in_journal[2:4]  # after "sent" and "success" of the first code

        assert lost_execution.response is None
        assert manual_run.executions_of_unknown_outcome == [lost_execution.number]
        assert outcomes_of_second_code == ["sent", "unknown"]

    def test_the_closed_connection_is_no_failure_of_the_service(
        self, service_class, when_it_closes, service_got_the_code, tmp_path
    ):
        """Three codes are executed, and the service closes the connection of the second one without an answer.

        A service may close a connection that it kept. So its requirement is inconclusive, the service counts as
        reachable, and the other codes succeed.
        """
        service, manual_run = started_service_and_run(service_class, tmp_path, when_it_closes)
        with service:
            first_execution, lost_execution, third_execution = execute_each_after_a_read(manual_run)
        conclusion = judge("executePix.connection", lost_execution).conclusion

        assert conclusion is Conclusion.INCONCLUSIVE
        assert manual_run.why_unreachable == ""
        assert [first_execution.response.status, third_execution.response.status] == [200, 200]


@served_by(ClosesConnections)
def test_a_read_that_is_lost_on_a_kept_connection_is_sent_again(service, manual_run):
    """The service closes the kept connection as soon as the second read arrives. That read is sent again, and succeeds.

    A service may close a connection that it kept, so the requirement about connections is inconclusive.
    """
    service.ends_before_request = lambda connection: connection.recv(1, socket.MSG_PEEK)
    reads = [manual_run.client.send("listAccounts") for _ in range(2)]
    _, lost_read, _ = manual_run.exchanges
    conclusion = judge("listAccounts.connection", lost_read).conclusion

    assert [exchange.response.status for exchange in reads] == [200, 200]
    assert lost_read.response is None
    assert conclusion is Conclusion.INCONCLUSIVE


@served_by(ClosesConnections)
def test_preparations_of_transfers_have_a_fresh_connection(service, manual_run):
    """A valid preparation of a transfer (POST /v1/pix) is sent over a new connection, although a kept one is open.

    A service may close a kept connection just as a request arrives. A request that is lost in this way is sent again,
    but not one that may move money. This service keeps each connection, so that every request could go over one.

    | request | connection |
    |---|---|
    | a read | the first one |
    | a valid preparation | a new one |
    | all later ones: a read, and an invalid preparation, which can move no money | a kept one |
    """
    manual_run.client.send("listAccounts", valid=True)
    manual_run.client.send("createPix", json={}, valid=True)
    manual_run.client.send("listAccounts", valid=True)
    manual_run.client.send("createPix", json={}, valid=False)
    first_path, second_path, *later_paths = [request.path for request in service.received]

    assert first_path == "/v1/accounts"
    assert second_path == "/v1/pix"
    assert "/v1/pix" in later_paths  # the invalid preparation
    assert service.paths_on_kept_connections == later_paths  # so the first two requests had a new connection each


class NotesConnections(SocketService):
    """Notes over which connections the requests for each path come. The test sends requests for two paths."""

    def __init__(self):
        """A service that has noted no connection."""
        super().__init__()
        self.connections_by_path = defaultdict(set)
        self._both_paths_were_requested = threading.Barrier(2)

    def answer(self, connection, request):
        """Note the connection, and answer. The first request for each path waits for that of the other path."""
        is_first_for_path = request.path not in self.connections_by_path
        self.connections_by_path[request.path].add(connection.getpeername())
        if is_first_for_path:
            # Otherwise the second thread might begin with the connection of the first one, which is free again.
            self._both_paths_were_requested.wait(HANG_LIMIT_S)
        super().answer(connection, request)


@served_by(NotesConnections)
def test_the_requests_of_a_thread_go_over_one_connection(service, tmp_path):
    """Two threads ask ten times for the balance of an account, each for another account. A thread keeps its connection.

    Before a thread sends its next request, both threads have their answers. So both connections are free, and each
    thread could take the connection of the other one.
    """
    client = ManualRun(service, tmp_path, parallel=2).client
    both_are_answered = threading.Barrier(2)

    def send_in_order(account):
        """Ask for the balance of the account ten times. After each answer wait for that of the other thread."""
        for _ in range(10):
            client.send("getBalance", account)
            both_are_answered.wait(HANG_LIMIT_S)

    Together(client).send_all([partial(send_in_order, "ac-0001"), partial(send_in_order, "ac-0002")])

    connections_of_first_account, connections_of_second_account = service.connections_by_path.values()

    assert len(connections_of_first_account) == 1
    assert len(connections_of_second_account) == 1
    assert connections_of_first_account != connections_of_second_account
