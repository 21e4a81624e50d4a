"""A transaction code that goes over a kept connection is sent once, whenever the service closes that."""

import math
import socket
import threading
import time
from contextlib import closing as closing_of
from functools import partial

import pytest

from environments.door.budget import Ending
from environments.door.sockets import Deadline, Watchdog, _hang_up, _WatchedPool
from spec.findings import Conclusion
from spec.rules import judge
from tests.selftest.services import closing
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.secured import Certificates, Secured
from tests.selftest.services.serving import Raw, real_codes, served_by
from tests.traffic.together import Together

CODES = (CODE, OTHER, "SBX-CPF-1")
BEFORE = (closing.ClosesAtOnce, closing.ClosesALittleLater, closing.ResetsAtOnce)
WITHOUT_READING = (closing.ClosesWithoutReading, closing.ClosesInTheMiddle)
AFTER_READING = (closing.ClosesWhenItHasRead, closing.ResetsWhenItHasRead)


def executed_after_an_answer(a_run, codes=CODES):
    """Each code executed with the valid token, right after a read was answered."""
    exchanges = []
    for code in codes:
        a_run.client.send("listAccounts")
        exchanges.append(a_run.execute(code))
    return exchanges


@served_by(closing.Closes)
def test_a_later_code_goes_over_a_kept_connection(service, tmp_path):
    """The first on a fresh one, also where it is sent again with another credential; a lone code never."""
    a_run = Run(service, tmp_path, requests=400)
    a_run.execute_all(profile_of(tmp_path, CODES))

    assert CODE not in service.carried
    assert {OTHER, CODES[2]} <= set(service.carried)
    assert service.executions == list(CODES)


@served_by(closing.Closes)
def test_a_connection_is_kept_only_directly_after_an_answer(service, tmp_path, monkeypatch):
    """What was answered a while ago may be closed: then a code has a fresh connection."""
    monkeypatch.setattr("environments.door.sockets.KEPT_S", 0.0)
    a_run = Run(service, tmp_path)
    a_run.secrets.learn("code", *CODES)
    executed_after_an_answer(a_run)

    assert (service.executions, service.carried) == (list(CODES), [])


@served_by(closing.Closes)
def test_through_a_proxy_every_code_has_a_fresh_connection(service, tmp_path):
    """A proxy may send again what it loses on a connection of its own."""
    a_run = Run(service, tmp_path, proxied=True)
    a_run.secrets.learn("code", *CODES)
    executed_after_an_answer(a_run)

    assert (service.executions, service.carried) == (list(CODES), [])


@served_by(*BEFORE)
def test_a_connection_that_was_closed_before_the_request_costs_nothing(service, a_run):
    """It is seen right before sending: every code is executed, once, on a fresh connection."""
    a_run.secrets.learn("code", *CODES)
    exchanges = executed_after_an_answer(a_run)

    assert [exchange.response.status for exchange in exchanges] == [200, 200, 200]
    assert [code for code, _ in real_codes(service)] == list(CODES)
    assert a_run.door.guard.unknown == []


@served_by(*WITHOUT_READING, *AFTER_READING)
def test_a_connection_that_is_closed_under_a_code_sends_it_once(service, a_run):
    """Its outcome is unknown, it is no finding, and the codes after it have fresh connections."""
    a_run.secrets.learn("code", *CODES)
    first, lost, last = executed_after_an_answer(a_run)
    again = a_run.execute(OTHER)

    assert service.torn + service.carried.count(OTHER) == 1
    assert service.executions.count(OTHER) == service.carried.count(OTHER)
    assert (first.response.status, last.response.status) == (200, 200)
    assert a_run.door.guard.unknown == [lost.number]
    assert judge("executePix.connection", lost).conclusion is Conclusion.INCONCLUSIVE
    assert "is not sent again" in again.failure.message
    assert a_run.events[2:4] == ["sent", "unknown"]


@served_by(*AFTER_READING)
def test_a_refusal_probe_that_is_lost_burns_its_code(service, a_run):
    """As on a fresh connection: it may have been executed without the token."""
    a_run.secrets.learn("code", *CODES)
    a_run.execute(CODE)
    a_run.client.send("listAccounts")
    probe = a_run.execute(OTHER, credential="no header")
    a_run.execute(OTHER)

    assert [code for code, _ in real_codes(service)] == [CODE, OTHER]
    assert a_run.door.guard.unknown == [probe.number]


@served_by(closing.Closes)
def test_a_lone_code_has_fresh_connections(service, a_run, tmp_path):
    """There is no second one that could show anything."""
    a_run.execute_all(profile_of(tmp_path, (CODE,)))

    assert service.executions == [CODE]
    assert service.carried == []


def secured(lie, folder):
    """The same service over TLS; it closes without a word there, too."""
    certificates = Certificates(folder)
    return type(f"Secured{lie.__name__}", (Secured, lie), {})(certificates, mutual=False), str(certificates.ca_bundle)


@pytest.mark.parametrize("lie", [closing.Closes, *BEFORE[:2]], ids=lambda lie: lie.__name__)
def test_a_connection_over_tls_that_was_closed_costs_nothing(lie, tmp_path):
    """Every code is executed, once."""
    service, authority = secured(lie, tmp_path)
    with service:
        a_run = Run(service, tmp_path, ca_bundle=authority)
        a_run.secrets.learn("code", *CODES)
        exchanges = executed_after_an_answer(a_run)

    assert [exchange.response.status for exchange in exchanges] == [200, 200, 200]
    assert [code for code, _ in real_codes(service)] == list(CODES)
    assert service.carried == (list(CODES[1:]) if lie is closing.Closes else [])


@pytest.mark.parametrize("lie", AFTER_READING, ids=lambda lie: lie.__name__)
def test_a_connection_over_tls_that_is_closed_under_a_code_sends_it_once(lie, tmp_path):
    """That is no fault of the certificates, and the run goes on."""
    service, authority = secured(lie, tmp_path)
    with service:
        a_run = Run(service, tmp_path, ca_bundle=authority)
        a_run.secrets.learn("code", *CODES)
        first, lost, last = executed_after_an_answer(a_run)

    assert [code for code, _ in real_codes(service)] == list(CODES)
    assert (first.response.status, lost.response, last.response.status) == (200, None, 200)
    assert a_run.door.guard.unknown == [lost.number]
    assert not a_run.door.liveness.unreachable


# -- what may move money -------------------------------------------------------------------------------------------


@served_by(closing.Closes)
@pytest.mark.parametrize("operation", ["createPix", "transferInternal"])
def test_what_may_move_money_has_a_fresh_connection(operation, service, a_run):
    """It is not sent again, so it is not lost on a connection that the service closes meanwhile."""
    a_run.client.send("listAccounts")
    a_run.client.send(operation, json={}, valid=True)
    a_run.client.send("listAccounts")
    a_run.client.send(operation, json={})

    assert [seen.path for seen in service.seen[2:]] == service.reused


class LosesWhatItKeeps(closing.Closes):
    """Closes each connection when its second request has arrived, without reading that. `together` answers lists."""

    together = threading.Barrier(1)

    def before_a_request(self, connection):
        return bool(connection.recv(1, socket.MSG_PEEK))

    def answer(self, connection, request):
        if request.path.endswith("/accounts"):
            self.together.wait(HANGS_S)
        super().answer(connection, request)


def keeps(service, folder, number):
    """A run that keeps so many connections."""
    a_run = Run(service, folder, parallel=number)
    service.together = threading.Barrier(number)
    Together(a_run.client).send_all([partial(a_run.client.send, "listAccounts")] * number)
    a_run.door.exchanges.clear()
    return a_run


@served_by(LosesWhatItKeeps)
@pytest.mark.parametrize("number", [1, 3])
def test_what_was_lost_is_sent_again_over_a_fresh_connection(number, service, tmp_path):
    """Also where others are kept: it is not lost in the same way again."""
    a_run = keeps(service, tmp_path, number)
    a_run.client.send("getBalance", "a")

    assert [seen.failure is None for seen in a_run.door.exchanges] == [False, True]


@served_by(closing.ClosesTheFirst)
def test_a_service_that_closes_kept_connections_gets_every_code_on_a_fresh_one(service, a_run):
    """It may close the next one at the moment at which the code is sent."""
    a_run.secrets.learn("code", *CODES)
    a_run.client.send("listAccounts")
    assert service.ended.wait(HANGS_S)
    executed_after_an_answer(a_run)

    assert (service.executions, service.carried) == (list(CODES), [])


# -- few connections


@pytest.fixture
def deadline():
    """The deadline of this thread's request."""
    with closing_of(Watchdog(60, Ending())) as watchdog, Deadline(watchdog) as deadline:
        yield deadline


@pytest.fixture
def kept(deadline):
    """A pool that gave two connections away and got one back, which is open."""
    ours, theirs = socket.socketpair()
    pool = _WatchedPool("bank.example", maxsize=4)
    connection, _ = pool._get_conn(), pool._get_conn()
    connection.sock, connection.answered_at, deadline.afresh = ours, math.inf, False
    pool._put_conn(connection)
    with ours, theirs:
        yield pool, connection


def test_after_a_lost_connection_a_request_goes_over_an_open_one(kept):
    """What a lost connection leaves in the pool is no reason to open one more."""
    pool, connection = kept
    pool._put_conn(None)

    assert pool._get_conn() is connection


class TakesOne(Raw):
    """Closes every connection that comes while another is open. It takes a moment to see that one was closed."""

    def __init__(self):
        super().__init__()
        self.open = 0

    def _serve(self, connection):
        with connection.dup():  # it ends with this one
            self.open += 1
            super()._serve(connection)
            time.sleep(0.05)
            self.open -= 1

    def greet(self, connection):
        return self.open == 1


@served_by(TakesOne)
def test_where_connections_are_few_a_code_has_the_only_one(service, a_run):
    """The kept connection is closed, and the service has seen that, before a fresh one is opened."""
    a_run.client.send("listAccounts")

    assert a_run.execute(CODE).response.status == 200


def test_a_service_that_keeps_its_end_open_is_not_waited_for(deadline, monkeypatch):
    """It may send on what nobody asked for, too."""
    monkeypatch.setattr("environments.door.sockets._HANGS_UP_S", 0.01)
    ours, theirs = socket.socketpair()
    connection = _WatchedPool("bank.example")._get_conn()
    connection.sock = ours
    with theirs:
        theirs.sendall(b"HTTP/1.1 408 Request Timeout")
        _hang_up(connection)

        assert (connection.sock, theirs.recv(1)) == (None, b"")
