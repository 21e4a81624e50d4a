"""The door: its policies have an order, its exchanges do not change, and it sends a request again only when asked."""

import pytest

from environments.door.token_monitor import EXPIRED
from tests.selftest.services.issuing import ExpiresTheToken
from tests.selftest.services.one_run import CODE, Run

ORDER = (
    "check", "refuse", "refuse_the_dead", "take_turn", "spare_codes",
    "refuse", "refuse_transfer", "take_wrong_token", "take_request", "_attempt",
    "refuse", "decide", "watch", "notice",
)  # fmt: skip


def test_the_policies_have_an_order(service, tmp_path):
    """Permission, liveness, the journal of other runs, codes that are kept back, budget, the attempt; then backoff, token
    monitor, liveness."""
    policies = Run(service, tmp_path).door._policies()

    assert tuple(policy.__name__ for group in policies for policy in group) == ORDER


def test_an_exchange_does_not_change_when_the_token_expires(tmp_path):
    """It is as it was sent; that it was refused for the token is kept beside it."""
    with ExpiresTheToken(1) as service:
        a_run = Run(service, tmp_path)
        granted = a_run.client.send("listAccounts", valid=True)
        before = list(a_run.door.exchanges)
        refused = a_run.client.send("listAccounts", valid=True)

    assert a_run.door.exchanges[: len(before)] == before
    assert (granted.expects_success, refused.valid, refused.expects_success) == (True, True, False)
    assert a_run.door.token_monitor.notes == [EXPIRED.of(number=refused.number)]


def test_a_request_that_moves_no_money_is_sent_again(service, tmp_path):
    """A code never is, nor a valid request that may move money."""
    a_run = Run(service, tmp_path)
    sent = [
        a_run.client.send("listAccounts", valid=True),
        a_run.execute(CODE),
        a_run.execute("SBX-EMAIL-1", credential="a wrong token"),
        a_run.client.send("createPix", json={}, valid=True),
        a_run.client.send("registerPixKey", "pixconf-1", body=b"{ \xe9", headers=[("X-Pixconf", "\xe9")]),
    ]
    again = [a_run.door.send_again(exchange) for exchange in sent]

    assert [exchange and exchange.operation for exchange in again] == [
        "listAccounts",
        None,
        None,
        None,
        "registerPixKey",
    ]
    assert [again[place].request for place in (0, 4)] == [sent[place].request for place in (0, 4)]
    assert service.seen[-1] == service.seen[-3]


def test_a_run_that_is_stopped_while_it_waits_for_its_turn_keeps_the_code(service, tmp_path, monkeypatch):
    """Nothing of it is in the journal, nor counted: a later run may send the code."""
    a_run = Run(service, tmp_path, rate=0.01)
    a_run.client.send("listAccounts")
    monkeypatch.setattr(a_run.door.ending, "sleep", _stop)
    with pytest.raises(KeyboardInterrupt):
        a_run.execute(CODE)
    later = Run(service, tmp_path, name="two")

    assert a_run.events == []
    assert (a_run.door.budget.executions_left, a_run.door.guard.unknown) == (5, [])
    assert later.door.guard.open([CODE]) == [CODE]


def _stop(seconds):
    if seconds > 0:
        raise KeyboardInterrupt
