"""A transaction code that goes over a kept connection is sent once, whenever the service closes that."""

import socket
import threading
from collections import defaultdict
from functools import partial

import pytest

from spec.findings import Conclusion
from spec.rules import judge
from tests.selftest.services.closing import ClosesConnections, ClosesTheFirst, at_once, by_a_reset, when_a_code_arrives
from tests.selftest.services.one_run import CODE, OTHER_CODE, ManualRun, sandbox_profile
from tests.selftest.services.secured import Certificates, Secured
from tests.selftest.services.serving import SocketService, real_codes_received, served_by
from tests.selftest.services.waiting import HANG_LIMIT_S
from tests.traffic.together import Together

CODES = (CODE, OTHER_CODE, "SBX-CPF-1")


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch):
    """A connection is kept for longer than a busy machine takes."""
    monkeypatch.setattr("environments.door.sockets.KEPT_S", HANG_LIMIT_S)


class SecuredCloses(Secured, ClosesConnections):
    """Closes without a word over TLS, too."""


def service_and_run(made, folder, moments):
    """The service, over TLS or without, and a run against it that knows all codes.

    `moments` says when the service closes a connection.
    """
    certificates = Certificates(folder) if made is SecuredCloses else None
    service = made(certificates, mutual=False) if certificates else made()
    vars(service).update(moments)
    return service.__enter__(), run_that_knows_all_codes(
        service, folder, ca_bundle=certificates and str(certificates.ca_bundle)
    )


def run_that_knows_all_codes(service, folder, **options):
    """A run whose secrets have the three codes."""
    manual_run = ManualRun(service, folder, **options)
    manual_run.secrets.learn("code", *CODES)
    return manual_run


def execute_codes_after_a_read(manual_run, codes=CODES):
    """Execute each code with the valid token, right after a read was answered.

    Returns the exchanges of the executions.
    """
    executions = []
    for code in codes:
        manual_run.client.send("listAccounts")
        executions.append(manual_run.execute(code))
    return executions


@served_by(ClosesConnections)
@pytest.mark.parametrize(("codes", "codes_on_kept_connections"), [(CODES, {OTHER_CODE, CODES[2]}), (CODES[:1], set())])
def test_codes_after_the_first_are_sent_over_a_kept_connection(codes, codes_on_kept_connections, service, tmp_path):
    """The first code has a fresh connection, also with another credential, and so has a single code."""
    ManualRun(service, tmp_path, requests=400).execute_all(sandbox_profile(tmp_path, codes))

    assert set(service.carried) == codes_on_kept_connections
    assert service.executions == list(codes)


@served_by(ClosesConnections)
@pytest.mark.parametrize(("kept_s", "proxied"), [(0.0, False), (HANG_LIMIT_S, True)])
def test_a_connection_is_kept_only_directly_after_an_answer(kept_s, proxied, service, tmp_path, monkeypatch):
    """A service may close a connection that was idle for a while, and a proxy may send a lost request again.

    In both cases a code has a fresh connection.
    """
    monkeypatch.setattr("environments.door.sockets.KEPT_S", kept_s)
    execute_codes_after_a_read(run_that_knows_all_codes(service, tmp_path, proxied=proxied))

    assert service.executions == list(CODES)
    assert service.carried == []


@pytest.mark.parametrize(
    ("made", "moments"),
    [
        (ClosesConnections, {"before": at_once}),
        (ClosesTheFirst, {}),
        (SecuredCloses, {"before": at_once}),
    ],
)
def test_a_connection_that_was_closed_before_the_request_costs_nothing(made, moments, tmp_path):
    """The suite notices the closed connection before it sends. Every code is executed once, over a fresh connection."""
    service, manual_run = service_and_run(made, tmp_path, moments)
    with service:
        manual_run.client.send("listAccounts")
        assert service.ended.acquire(timeout=HANG_LIMIT_S)
        exchanges = [manual_run.execute(CODE), *execute_codes_after_a_read(manual_run, CODES[1:])]

    assert [exchange.response.status for exchange in exchanges] == [200, 200, 200]
    assert [code for code, _ in real_codes_received(service)] == list(CODES)
    assert service.carried == []
    assert manual_run.door.guard.unknown == []


@pytest.mark.parametrize(
    ("made", "moments"),
    [
        (ClosesConnections, {"before": when_a_code_arrives}),
        (ClosesConnections, {"instead": by_a_reset}),
        (SecuredCloses, {"instead": at_once}),
    ],
)
def test_a_code_on_a_connection_that_closes_is_sent_once(made, moments, tmp_path):
    """The outcome of the code is unknown.

    The closed connection is no finding, and later codes have fresh connections.
    """
    service, manual_run = service_and_run(made, tmp_path, moments)
    with service:
        before, lost, after = execute_codes_after_a_read(manual_run)
        repeated = manual_run.execute(OTHER_CODE)

    assert service.carried == [OTHER_CODE] * ("instead" in moments)
    assert service.executions == [CODE, *service.carried, CODES[2]]
    assert [before.response.status, after.response.status] == [200, 200]
    assert lost.response is None
    assert manual_run.door.guard.unknown == [lost.number]
    assert manual_run.door.liveness.unreachable == ""
    assert judge("executePix.connection", lost).conclusion is Conclusion.INCONCLUSIVE
    assert "is not sent again" in repeated.failure.message
    assert manual_run.outcomes_in_journal[2:4] == ["sent", "unknown"]


@served_by(ClosesConnections)
def test_a_drop_of_a_kept_connection_is_no_finding(service, manual_run):
    """The read is sent again, over a fresh connection."""
    service.before = lambda connection: connection.recv(1, socket.MSG_PEEK)
    answers = [manual_run.client.send("listAccounts") for _ in range(2)]
    lost = manual_run.door.exchanges[1]

    assert [exchange.response.status for exchange in answers] == [200, 200]
    assert lost.response is None
    assert judge("listAccounts.connection", lost).conclusion is Conclusion.INCONCLUSIVE


@served_by(ClosesConnections)
def test_requests_that_may_move_money_have_a_fresh_connection(service, manual_run):
    """A request that may move money is not sent again, so it must not be lost on a connection that the service
    closes.
    """
    for operation, valid in (
        ("listAccounts", False),
        ("createPix", True),
        ("listAccounts", False),
        ("createPix", False),
    ):
        manual_run.client.send(operation, json={}, valid=valid)

    assert [request.path for request in service.received[2:]] == service.reused


class NotesConnections(SocketService):
    """Notes over which connections the requests for each path come."""

    def __init__(self):
        super().__init__()
        self.connections_by_path = defaultdict(set)

    def answer(self, connection, request):
        self.connections_by_path[request.path].add(connection.getpeername())
        super().answer(connection, request)


@served_by(NotesConnections)
def test_the_requests_of_a_thread_go_over_one_connection(service, tmp_path):
    """Two threads send ten requests each. Both connections are free before either thread sends its next request."""
    client = ManualRun(service, tmp_path, parallel=2).client
    both_are_answered = threading.Barrier(2)

    def send_in_order(account):
        for _ in range(10):
            client.send("getBalance", account)
            both_are_answered.wait(HANG_LIMIT_S)

    Together(client).send_all([partial(send_in_order, "ac-0001"), partial(send_in_order, "ac-0002")])

    assert sorted(map(len, service.connections_by_path.values())) == [1, 1]
    assert not set.intersection(*service.connections_by_path.values())
