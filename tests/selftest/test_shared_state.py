"""What several threads or runs share holds: each lock is there, and taken away it is missed.

Two threads meet in the middle of what the lock guards (`services/racing.py`): no clock and no luck decides.
"""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.run_keys import Keys
from environments.profiles.model import PixKey
from environments.secret_values import Secrets
from spec.exchange import Exchange, Failure, FailureKind, Response
from tests.selftest.services.one_run import CODE, OTHER, Run
from tests.selftest.services.racing import Meeting, with_and_without_a_lock
from tests.selftest.services.serving import Raw

TOKEN, LATER = "Tok-3n.Of-The_Service", "Lat3r.Tok-en_of-the-service"
DROPPED = Failure(FailureKind.DROPPED, "the connection was dropped without an answer")
LATE = Failure(FailureKind.TIMEOUT, "no complete answer")


@pytest.fixture
def meeting(monkeypatch):
    return Meeting(monkeypatch)


# -- journal and codes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [(CODE, CODE), (CODE, OTHER)], ids=["the same code", "two codes"])
@with_and_without_a_lock
def test_a_code_has_its_turn_to_itself(locked, codes, meeting, service, tmp_path, monkeypatch):
    """From the question whether it may be sent until its answer is written down: no code is sent twice, and executions
    do not overlap. Without the turn another code is sent in the middle of it."""
    runs = [Run(service, tmp_path, name=name) for name in ("one", "two")]
    first, second = runs
    meeting.stops_after(first.door.guard, "refuse")
    for run in runs:
        if locked:
            meeting.lock(run.door.guard.journal, "lock", locked=True)
        else:
            monkeypatch.setattr(run.door.guard.journal, "turn", nullcontext)
    found = meeting.of(lambda: first.execute(codes[0]), lambda: second.execute(codes[1]))

    if locked:
        assert service.executions == list(dict.fromkeys(codes))
        assert [one.number > 0 for one in found] == [True, codes[0] != codes[1]]
    else:
        assert service.executions == list(reversed(codes))


# -- secrets ----------------------------------------------------------------------------------------------------


def test_a_token_is_hidden_before_it_is_sent(monkeypatch):
    """Another thread sends it as soon as it is the token of the run."""
    known, then = Secrets(), []
    learn = known.learn_secret
    monkeypatch.setattr(known, "learn_secret", lambda *values: (then.append(known.token()), learn(*values)))
    known.learn_token(TOKEN)

    assert (then, known.token()) == (["", ""], TOKEN)


# -- token ------------------------------------------------------------------------------------------------------


class ExpiresUnderWay(Raw):
    """After the first request, the token expires while so many others are on the wire, which are refused."""

    def __init__(self, many):
        super().__init__()
        self._count, self._many = count(), many
        self._together = threading.Barrier(many, action=self.expire)

    def expire(self):
        self.service.token = LATER

    def answer(self, connection, request):
        if 0 < next(self._count) <= self._many:
            self._together.wait()
        super().answer(connection, request)


def read_together(a_run, many):
    """The answers to so many reads that are on the wire at the same time."""
    with ThreadPoolExecutor(many) as pool:
        sent = [pool.submit(a_run.client.send, "listAccounts", valid=True) for _ in range(many)]
        return [one.result() for one in sent]


def statuses(exchanges):
    return [exchange.response.status for exchange in exchanges]


def test_a_token_that_expires_under_many_requests_is_fetched_once(tmp_path):
    """One of them asks, alone, and fetches. All of them are sent again, with the new one, and no refusal is held against
    the service."""
    with ExpiresUnderWay(8) as service:
        fetched = []
        a_run = Run(service, tmp_path, parallel=8, refresh=lambda: fetch(a_run, fetched))
        first = a_run.client.send("listAccounts", valid=True)
        answers = read_together(a_run, 8)
        refused = [seen for seen in a_run.door.exchanges if seen.response.status == 401]
        asked = [seen for seen in refused if not seen.valid]

    assert (len(fetched), len(asked), len(service.seen)) == (1, 1, 1 + 8 + 1 + 8)
    assert (first.response.status, statuses(answers)) == (200, [200] * 8)
    assert [seen.number for seen in refused if seen.expects_success] == []
    assert a_run.door.token_monitor.excused == {seen.number for seen in refused if seen.valid}


def fetch(a_run, fetched):
    fetched.append(LATER)
    a_run.secrets.learn_token(LATER)
    return True


def test_a_token_that_expires_under_many_requests_is_asked_about_once(tmp_path):
    """Where no other one can be fetched: all are excused, and it is said once."""
    with ExpiresUnderWay(8) as service:
        a_run = Run(service, tmp_path, parallel=8)
        a_run.client.send("listAccounts", valid=True)
        answers = read_together(a_run, 8)

    assert len(service.seen) == 1 + 8 + 1
    assert [seen.number for seen in a_run.door.exchanges if seen.expects_success] == [1]
    assert [one.expects_success for one in answers] == [False] * 8
    assert len(a_run.door.token_monitor.notes) == 1


def test_a_request_that_was_made_before_carries_the_token_of_now(service, tmp_path):
    """A code that waited while another token was fetched is executed with that one; else it would be lost."""
    a_run = Run(service, tmp_path, refresh=lambda: fetch(a_run, []))
    a_run.client.send("listAccounts", valid=True)
    waiting = a_run.client._request("GET", f"/v1/execute/pix/{CODE}")
    service.service.token = LATER
    a_run.client.send("listAccounts", valid=True)
    executed = a_run.door.exchange(waiting, Intent("executePix", valid=True))

    assert (executed.response.status, service.executions, a_run.events[0]) == (200, [CODE], "sent")


# -- keys -------------------------------------------------------------------------------------------------------

KEY, ACCOUNT = "qa@example.com", "ac-0001"
OWNED = (PixKey("EMAIL", KEY),)


def watched(keys, operation, *shown, key=KEY, account=ACCOUNT, beside=0):
    """A request on keys that is on the wire, beside others: enter it, and leave it when it is answered. A list shows some
    keys."""
    body = b"" if operation == "listPixKeys" else json.dumps({"pixKey": key, "pixKeyType": "EMAIL"}).encode()
    request = requests.Request("POST", f"http://127.0.0.1/v1/pix/keys/{account}", data=body).prepare()
    sending = Sending(request, Intent(operation, valid=True), with_token=True)
    listed = {"code": 0, "data": [{"pixKey": one, "pixKeyType": "EMAIL"} for one in shown]}
    done = {"code": 0, "data": {"Success": "true"}}
    answer = Response(200, (), json.dumps(listed if operation == "listPixKeys" else done).encode())
    sending.exchange = Exchange(1, operation, sending.sent, answer, valid=True, beside=beside)
    return keys.watching(sending, 1)


def pass_by(keys, *request, **options):
    """A request that is answered."""
    with watched(keys, *request, **options):
        pass


@pytest.mark.parametrize("beside", [1, 0])
def test_a_list_that_was_read_beside_another_request_says_nothing_of_a_deleted_key(beside):
    """It may still show the key, which is deleted all the same."""
    keys = Keys(OWNED)
    pass_by(keys, "listPixKeys")
    pass_by(keys, "registerPixKey")
    pass_by(keys, "listPixKeys", KEY)
    pass_by(keys, "deletePixKey")
    pass_by(keys, "listPixKeys", KEY, beside=beside)

    assert keys.is_still_listed(KEY) is not bool(beside)


@pytest.mark.parametrize("beside", [1, 0])
def test_the_list_before_the_run_is_not_one_that_had_company(beside):
    """A key that the run registered would count as one that was there, and stay."""
    keys = Keys(OWNED)
    pass_by(keys, "listPixKeys", KEY, beside=beside)

    assert keys.was_there_before(KEY) is not bool(beside)


def test_the_list_before_the_run_is_that_of_the_account_of_the_run():
    """Another thread reads lists of accounts that nobody has: a key of the operator would count as one of the run."""
    keys = Keys(OWNED, account=ACCOUNT)
    pass_by(keys, "listPixKeys", KEY)
    pass_by(keys, "listPixKeys", account="pixconf-account")

    assert keys.was_there_before(KEY)


def test_a_deleted_synthetic_key_is_not_taken_for_one_that_is_listed():
    """Without punctuation, one is a part of another: that is not the same key."""
    keys = Keys(OWNED)
    pass_by(keys, "listPixKeys")
    pass_by(keys, "registerPixKey", key="pixconf- ")
    pass_by(keys, "listPixKeys", "pixconf- ")
    pass_by(keys, "deletePixKey", key="pixconf- ")
    pass_by(keys, "listPixKeys")
    pass_by(keys, "listPixKeys", "pixconf-other")

    assert keys.not_cleaned_up() == []


def test_what_is_left_has_the_order_of_the_profile():
    """Keys that are registered at the same time come in any order."""
    keys = Keys((PixKey("EMAIL", "first@x.example"), PixKey("EMAIL", "second@x.example")))
    for key in ("pixconf-1@x.example", "second@x.example", "first@x.example"):
        pass_by(keys, "registerPixKey", key=key)

    assert [key.value for key in keys.not_cleaned_up()] == [
        "first@x.example",
        "second@x.example",
        "pixconf-1@x.example",
    ]
