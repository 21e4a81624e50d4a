"""A transaction code that goes over a kept connection is sent once, whenever the service closes that."""

import socket

import pytest

from spec.findings import Conclusion
from spec.rules import judge
from tests.selftest.services.closing import Closes, ClosesTheFirst, at_once, by_a_reset, when_a_code_arrives
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of
from tests.selftest.services.secured import Certificates, Secured
from tests.selftest.services.serving import real_codes, served_by
from tests.selftest.services.waiting import HANGS_S

CODES = (CODE, OTHER, "SBX-CPF-1")


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch):
    """A connection is kept for longer than a busy machine takes."""
    monkeypatch.setattr("environments.door.sockets.KEPT_S", HANGS_S)


class SecuredCloses(Secured, Closes):
    """Closes without a word over TLS, too."""


def opened(made, folder, moments):
    """The service over TLS or without, and the door of a run against it that knows all codes."""
    certificates = Certificates(folder) if made is SecuredCloses else None
    service = made(certificates, mutual=False) if certificates else made()
    vars(service).update(moments)
    return service.__enter__(), run_of(service, folder, ca_bundle=certificates and str(certificates.ca_bundle))


def run_of(service, folder, **options):
    a_run = Run(service, folder, **options)
    a_run.secrets.learn("code", *CODES)
    return a_run


def executed_after_an_answer(a_run, codes=CODES):
    """Each code executed with the valid token, right after a read was answered."""
    return [(a_run.client.send("listAccounts"), a_run.execute(code))[1] for code in codes]


@served_by(Closes)
@pytest.mark.parametrize(("codes", "carried"), [(CODES, {OTHER, CODES[2]}), (CODES[:1], set())])
def test_a_later_code_goes_over_a_kept_connection(codes, carried, service, tmp_path):
    """The first on a fresh one, also where it is sent again with another credential; a lone code never."""
    Run(service, tmp_path, requests=400).execute_all(profile_of(tmp_path, codes))

    assert set(service.carried) == carried
    assert service.executions == list(codes)


@served_by(Closes)
@pytest.mark.parametrize(("kept_s", "proxied"), [(0.0, False), (HANGS_S, True)])
def test_a_connection_is_kept_only_directly_after_an_answer(kept_s, proxied, service, tmp_path, monkeypatch):
    """What was answered a while ago may be closed, and a proxy may send again what it loses: then a code has a fresh
    connection."""
    monkeypatch.setattr("environments.door.sockets.KEPT_S", kept_s)
    executed_after_an_answer(run_of(service, tmp_path, proxied=proxied))

    assert (service.executions, service.carried) == (list(CODES), [])


@pytest.mark.parametrize(
    ("made", "moments"),
    [
        (Closes, {"before": at_once}),
        (ClosesTheFirst, {}),
        (SecuredCloses, {"before": at_once}),
    ],
)
def test_a_connection_that_was_closed_before_the_request_costs_nothing(made, moments, tmp_path):
    """It is seen right before sending: every code is executed, once, on a fresh connection, as the service may close the
    next one at the moment at which the code is sent."""
    service, a_run = opened(made, tmp_path, moments)
    with service:
        a_run.client.send("listAccounts")
        assert service.ended.acquire(timeout=HANGS_S)
        exchanges = [a_run.execute(CODE), *executed_after_an_answer(a_run, CODES[1:])]

    assert [exchange.response.status for exchange in exchanges] == [200, 200, 200]
    assert ([code for code, _ in real_codes(service)], service.carried) == (list(CODES), [])
    assert a_run.door.guard.unknown == []


@pytest.mark.parametrize(
    ("made", "moments"),
    [
        (Closes, {"before": when_a_code_arrives}),
        (Closes, {"instead": by_a_reset}),
        (SecuredCloses, {"instead": at_once}),
    ],
)
def test_a_connection_that_is_closed_under_a_code_sends_it_once(made, moments, tmp_path):
    """Its outcome is unknown; it is no finding and no fault of certificates; the codes after it have fresh
    connections."""
    service, a_run = opened(made, tmp_path, moments)
    with service:
        first, lost, last = executed_after_an_answer(a_run)
        again = a_run.execute(OTHER)

    assert service.carried == [OTHER] * ("instead" in moments)
    assert service.executions == [CODE, *service.carried, CODES[2]]
    assert (first.response.status, last.response.status, lost.response) == (200, 200, None)
    assert a_run.door.guard.unknown == [lost.number]
    assert a_run.door.liveness.unreachable == ""
    assert judge("executePix.connection", lost).conclusion is Conclusion.INCONCLUSIVE
    assert "is not sent again" in again.failure.message
    assert a_run.events[2:4] == ["sent", "unknown"]


@served_by(Closes)
def test_a_drop_of_a_kept_connection_is_no_finding(service, a_run):
    """The request goes again, over a fresh one."""
    service.before = lambda connection: connection.recv(1, socket.MSG_PEEK)
    answers = [a_run.client.send("listAccounts") for _ in range(2)]
    lost = a_run.door.exchanges[1]

    assert [seen.response.status for seen in answers] == [200, 200]
    assert (lost.response, judge("listAccounts.connection", lost).conclusion) == (None, Conclusion.INCONCLUSIVE)


@served_by(Closes)
def test_what_may_move_money_has_a_fresh_connection(service, a_run):
    """It is not sent again, so it is not lost on a connection that the service closes meanwhile."""
    for operation, valid in (
        ("listAccounts", False),
        ("createPix", True),
        ("listAccounts", False),
        ("createPix", False),
    ):
        a_run.client.send(operation, json={}, valid=valid)

    assert [seen.path for seen in service.seen[2:]] == service.reused
