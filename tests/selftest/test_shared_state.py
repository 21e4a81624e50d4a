"""What several threads share in a process holds: each lock is there, and taken away it is missed.

Two threads meet in the middle of what the lock guards (`services/racing.py`): no clock and no luck decides.
"""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace

import pytest
import requests

from environments.door import connections
from environments.door.budget import Budget
from environments.door.connections import Memory
from environments.door.execution_guard import ExecutionGuard
from environments.door.journal import Outcome, canonical
from environments.door.key_states import Keys
from environments.door.liveness import Liveness
from environments.door.outgoing import Intent, LimitError, Sending
from environments.door.run_keys import KeyState
from environments.door.token_monitor import TokenMonitor
from environments.profiles.profile import PixKey
from environments.secrets import Secrets
from reports.known import KnownValues
from reports.show import Display
from spec.exchange import LARGE, Exchange, Failure, FailureKind, Response
from tests.selftest.services.one_run import CODE, OTHER, Run
from tests.selftest.services.racing import Meeting, with_and_without_a_lock
from tests.selftest.services.serving import Raw

TOKEN, LATER = "Tok-3n.Of-The_Service", "Lat3r.Tok-en_of-the-service"
DROPPED = Failure(FailureKind.DROPPED, "the connection was dropped without an answer")
LATE = Failure(FailureKind.TIMEOUT, "no complete answer")


@pytest.fixture
def meeting(monkeypatch):
    return Meeting(monkeypatch)


def kinds(found):
    """What two threads gave: a value, or the kind of what they raised."""
    return [type(one) if isinstance(one, BaseException) else one for one in found]


# -- budget -----------------------------------------------------------------------------------------------------


class Counts(dict):
    """A thread that has read a count stops."""

    def __init__(self, meeting):
        super().__init__()
        self._meeting = meeting

    def get(self, *args):
        value = super().get(*args)
        self._meeting.stop()
        return value


READ = SimpleNamespace(cleans_up=False)


@pytest.mark.parametrize("limit", ["requests", "executions"])
@with_and_without_a_lock
def test_two_threads_do_not_take_the_last_room(locked, limit, meeting):
    """Neither limits.requests nor limits.executions is exceeded."""
    budget = Budget(requests=1, executions=1, rate=None)
    budget._counts = Counts(meeting)
    meeting.lock(budget, "_guard", locked=locked)
    take = budget.reserve_execution if limit == "executions" else lambda: budget.take_request(READ)

    assert kinds(meeting.of(take, take)) == [None, LimitError if locked else None]


@with_and_without_a_lock
def test_no_room_is_lost_that_two_threads_give_back(locked, meeting):
    """Each gives back one."""
    budget = Budget(requests=1, executions=2, rate=None)
    budget.reserve_execution()
    budget.reserve_execution()
    budget._counts = Releasing(meeting, budget._counts)
    meeting.lock(budget, "_guard", locked=locked)
    meeting.of(budget.release_execution, budget.release_execution)

    assert budget.executions_left == (2 if locked else 1)


class Releasing(dict):
    """A thread that has read a count stops."""

    def __init__(self, meeting, counts):
        super().__init__(counts)
        self._meeting = meeting

    def __getitem__(self, name):
        value = super().__getitem__(name)
        self._meeting.stop()
        return value


# -- connections ------------------------------------------------------------------------------------------------


@with_and_without_a_lock
def test_two_large_answers_do_not_share_the_last_memory(locked, meeting, monkeypatch):
    """What an answer takes is counted once for each."""
    answers = [Response(200, (), os.urandom(LARGE + 1)) for _ in range(2)]
    monkeypatch.setattr(connections, "MOST_KEPT", len(answers[0].kept[0]) + 1000)
    memory = Memory()
    meeting.stops_at(Memory, "_size")
    meeting.lock(memory, "_guard", locked=locked)
    found = meeting.of(*(lambda answer=answer: memory.keep(answer) for answer in answers))

    assert [isinstance(one, Failure) for one in found] == [False, locked]


# -- liveness ---------------------------------------------------------------------------------------------------


def prepared():
    """A request with the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return requests.Request("GET", "http://127.0.0.1/v1/accounts", headers=headers).prepare()


def ended(result, operation="listAccounts", resend=None, number=1):
    """A sending whose answer stands; `resend` is called where another request is sent beside it."""
    sending = Sending(prepared(), Intent(operation), resend or (lambda other: None), with_token=True)
    answer = {"response": result} if isinstance(result, Response) else {"failure": result}
    sending.exchange = Exchange(number, operation, sending.sent, **answer)
    return sending


@with_and_without_a_lock
def test_two_operations_that_time_out_are_both_counted(locked, meeting):
    """A failure that is lost would let a target that is gone go on for longer."""
    liveness = Liveness()
    meeting.stops_at(Liveness, "_failed_in_a_row")
    meeting.lock(liveness, "_guard", locked=locked)
    meeting.of(lambda: liveness.notice(ended(LATE)), lambda: liveness.notice(ended(LATE, "getBalance")))

    assert liveness._failed_in_a_row == (2 if locked else 1)


@with_and_without_a_lock
def test_a_silent_target_is_asked_once(locked, meeting):
    """Two threads see the same row of failures: one of them asks, alone; the other one knows the answer then."""
    liveness, asked = Liveness(), []

    def answered(other):
        asked.append(other)
        meeting.stop()
        other.exchange = ended(Response(200, (), b"{}")).exchange

    liveness._answered = None, Intent("listAccounts")
    liveness._failed_in_a_row = 4
    alone = meeting.around(threading.Lock(), locked=locked)
    liveness._alone = lambda: alone
    found = meeting.of(*(lambda: liveness.notice(ended(DROPPED, resend=answered)) for _ in range(2)))

    assert (found, liveness.unreachable) == ([None, None], "")
    assert len(asked) == (1 if locked else 2)


# -- journal and codes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [(CODE, CODE), (CODE, OTHER)], ids=["the same code", "two codes"])
@pytest.mark.parametrize("doors", [1, 2], ids=["two threads", "two runs"])
@with_and_without_a_lock
def test_a_code_has_its_turn_to_itself(locked, doors, codes, meeting, service, tmp_path, monkeypatch):
    """From the question whether it may be sent until its answer is written down: no code is sent twice, and executions
    do not overlap. Without the turn another code is sent in the middle of it."""
    runs = [Run(service, tmp_path, name=name) for name in ("one", "two")[:doors]]
    first, second = runs[0], runs[-1]
    meeting.stops_after(first.door.guard, "refuse")
    for run in runs:
        if locked:
            meeting.lock(run.door.guard._journal, "lock", locked=True)
        else:
            monkeypatch.setattr(run.door.guard._journal, "turn", nullcontext)
    found = meeting.of(lambda: first.execute(codes[0]), lambda: second.execute(codes[1]))

    if locked:
        assert service.executions == list(dict.fromkeys(codes))
        assert [one.number > 0 for one in found] == [True, codes[0] != codes[1]]
    else:
        assert service.executions == list(reversed(codes))


@with_and_without_a_lock
def test_two_threads_do_not_both_send_a_code_once_more(locked, meeting, tmp_path):
    """It is permitted once."""
    guard = ExecutionGuard(Budget(requests=9, executions=9, rate=None), None, str)
    guard._outcomes[canonical(CODE)] = Outcome.SUCCESS
    meeting.stops_at(ExecutionGuard, "unknown")
    meeting.lock(guard, "_guard", locked=locked)
    found = meeting.of(*(lambda: guard.permit_once_more(CODE) for _ in range(2)))

    assert found == [True, not locked]


# -- secrets ----------------------------------------------------------------------------------------------------


def test_what_becomes_known_while_two_threads_read_is_hidden(meeting):
    """Both take over what is new, and what is learned after it is not passed over."""
    known = Secrets()
    display = Display(known)
    known.learn("account", "ac-0001-77", "ac-0002-88")
    meeting.stops_at(KnownValues, "_read")
    meeting.lock(display.known, "_reading", locked=True)
    meeting.of(lambda: display.foreign("thing"), lambda: display.foreign("other"))
    known.learn("key", "qa@example.com", "other@example.com")

    shown = [display.foreign(value) for value in ("ac-0001-77", "qa@example.com", "other@example.com")]
    assert shown == ["<account>", "<key>", "<key 2>"]


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
    """One of them is sent again, alone, asks, and fetches. All of them are sent again, with the new one, and no refusal is
    held against the service."""
    with ExpiresUnderWay(8) as service:
        fetched = []
        a_run = Run(service, tmp_path, parallel=8, refresh=lambda: fetch(a_run, fetched))
        first = a_run.client.send("listAccounts", valid=True)
        answers = read_together(a_run, 8)
        refused = [seen for seen in a_run.door.exchanges if seen.response.status == 401]
        asked = [seen for seen in refused if not seen.valid]

    assert (len(fetched), len(asked), len(service.seen)) == (1, 1, 1 + 8 + 1 + 1 + 8)
    assert (first.response.status, statuses(answers)) == (200, [200] * 8)
    assert [seen.number for seen in refused if seen.expects_success] == []
    assert a_run.door.token_monitor.excused == {seen.number for seen in refused if seen.valid}


def fetch(a_run, fetched):
    fetched.append(LATER)
    a_run.secrets.learn_token(LATER)
    return True


def test_a_token_that_expires_under_many_requests_is_asked_about_once(tmp_path):
    """Where no other one can be fetched: all are refused alone, too, and excused, and it is said once."""
    with ExpiresUnderWay(8) as service:
        a_run = Run(service, tmp_path, parallel=8)
        a_run.client.send("listAccounts", valid=True)
        answers = read_together(a_run, 8)

    assert len(service.seen) == 1 + 8 + 8 + 1
    assert [seen.number for seen in a_run.door.exchanges if seen.expects_success] == [1]
    assert [one.expects_success for one in answers] == [False] * 8
    assert len(a_run.door.token_monitor.notes) == 1


@with_and_without_a_lock
def test_two_threads_do_not_both_fetch_a_token(locked, meeting, service, tmp_path, monkeypatch):
    """Who fetches one is alone: the other request waits, and goes with the new token. Else it is fetched twice."""
    fetched = []

    def refresh():
        fetched.append(LATER)
        meeting.stop()
        a_run.secrets.learn_token(LATER)
        return True

    a_run = Run(service, tmp_path, parallel=2, refresh=refresh)
    meeting.condition(a_run.door.in_flight, "_changed")
    if not locked:
        monkeypatch.setattr(a_run.door.token_monitor, "_alone", nullcontext)
    a_run.client.send("listAccounts", valid=True)
    service.service.token = LATER
    answers = meeting.of(*(lambda: a_run.client.send("listAccounts", valid=True) for _ in range(2)))

    assert len(fetched) == (1 if locked else 2)
    assert statuses(answers) == [200, 200]


@pytest.mark.parametrize("renewed", [True, False], ids=["renewed", "as it was made"])
def test_a_request_that_was_made_before_carries_the_token_of_now(renewed, service, tmp_path, monkeypatch):
    """A code that waited while another token was fetched is executed with that one; else it would be lost."""
    a_run = Run(service, tmp_path, refresh=lambda: fetch(a_run, []))
    if not renewed:
        monkeypatch.setattr(a_run.door.token_monitor, "renew", lambda sending: None)
    a_run.client.send("listAccounts", valid=True)
    waiting = a_run.client._request("GET", f"/v1/execute/pix/{CODE}")
    service.service.token = LATER
    a_run.client.send("listAccounts", valid=True)
    executed = a_run.door.exchange(waiting, Intent("executePix", valid=True))

    assert executed.response.status == (200 if renewed else 401)
    assert service.executions == ([CODE] if renewed else [])
    assert a_run.events[0] == "sent"


@pytest.mark.parametrize(("number", "is_expired"), [(4, True), (6, False)])
def test_what_left_before_the_token_was_lost_does_not_find_it_again(number, is_expired):
    """Its answer may be looked at later than that of the witness. What is granted after it shows that it had not expired."""
    monitor = TokenMonitor(lambda: TOKEN, lambda: False)
    monitor.watch(ended(Response(200, (), b"{}")))
    monitor.watch(ended(Response(401, (), b"{}"), resend=is_refused))
    monitor.watch(ended(Response(200, (), b"{}"), number=number))

    assert bool(monitor.notes) is is_expired


def is_refused(sending):
    """The witness is refused."""
    sending.exchange = Exchange(5, "listAccounts", sending.sent, Response(401, (), b"{}"))


# -- keys -------------------------------------------------------------------------------------------------------

KEY, ACCOUNT = "qa@example.com", "ac-0001"
OWNED = (PixKey("EMAIL", KEY),)


def watched(keys, operation, *shown, key=KEY, account=ACCOUNT):
    """A request on keys that is on the wire: enter it, and leave it when it is answered. A list shows some keys."""
    body = b"" if operation == "listPixKeys" else json.dumps({"pixKey": key, "pixKeyType": "EMAIL"}).encode()
    request = requests.Request("POST", f"http://127.0.0.1/v1/pix/keys/{account}", data=body).prepare()
    sending = Sending(request, Intent(operation, valid=True), lambda other: None, with_token=True)
    listed = {"code": 0, "data": [{"pixKey": one, "pixKeyType": "EMAIL"} for one in shown]}
    done = {"code": 0, "data": {"Success": "true"}}
    answer = Response(200, (), json.dumps(listed if operation == "listPixKeys" else done).encode())
    sending.exchange = Exchange(1, operation, sending.sent, answer, valid=True)
    return keys.watching(sending, 1)


def pass_by(keys, *request, **options):
    """A request that is answered."""
    with watched(keys, *request, **options):
        pass


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_list_that_was_read_while_a_key_was_registered_says_nothing_of_it(overlaps):
    """It may show the key or not: a deleted key is not listed again."""
    keys = Keys(OWNED, is_sandbox=True)
    pass_by(keys, "listPixKeys")
    pass_by(keys, "registerPixKey")
    pass_by(keys, "deletePixKey")
    reading = watched(keys, "listPixKeys", KEY)
    reading.__enter__() if overlaps else None
    pass_by(keys, "registerPixKey", key="pixconf-other")
    pass_by(keys, "deletePixKey")
    reading.__exit__(None, None, None) if overlaps else pass_by(keys, "listPixKeys", KEY)

    assert keys.is_still_listed(KEY) is not overlaps


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_list_that_was_read_while_a_key_was_deleted_says_nothing_of_it(overlaps):
    """It may still show the key, which is deleted all the same."""
    keys = Keys(OWNED)
    pass_by(keys, "listPixKeys")
    pass_by(keys, "registerPixKey")
    pass_by(keys, "listPixKeys", KEY)
    deleting = watched(keys, "deletePixKey")
    deleting.__enter__()
    reading = watched(keys, "listPixKeys", KEY)
    if overlaps:
        reading.__enter__()
    deleting.__exit__(None, None, None)
    if not overlaps:
        reading.__enter__()
    reading.__exit__(None, None, None)

    assert keys.is_still_listed(KEY) is not overlaps


@pytest.mark.parametrize("overlaps", [True, False])
def test_the_list_before_the_run_is_not_one_that_overlapped_a_registration(overlaps):
    """A key that the run registered would count as one that was there, and stay."""
    keys = Keys(OWNED)
    reading = watched(keys, "listPixKeys", KEY)
    reading.__enter__()
    if overlaps:
        pass_by(keys, "registerPixKey")
        keys.started = False
    reading.__exit__(None, None, None)

    assert keys.was_there_before(KEY) is not overlaps


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


@with_and_without_a_lock
def test_a_list_is_looked_at_while_another_thread_registers(locked, meeting):
    """Without the lock there is one more key in the middle of looking at each."""
    keys = Keys(OWNED)
    pass_by(keys, "registerPixKey", key="pixconf-one")
    meeting.stops_after(keys, "_see")
    meeting.lock(keys, "_guard", locked=locked)
    found = meeting.of(lambda: pass_by(keys, "listPixKeys"), lambda: pass_by(keys, "registerPixKey", key="pixconf-two"))

    assert kinds(found) == [None if locked else RuntimeError, None]
    assert keys.state("pixconf-two") is KeyState.REGISTERED


@pytest.mark.parametrize("others", [0, 1])
def test_a_change_disturbs_until_it_is_answered(others):
    """Also where another one was answered meanwhile."""
    keys = Keys(OWNED)
    with watched(keys, "registerPixKey", key="pixconf-one"):
        for _ in range(others):
            pass_by(keys, "registerPixKey", key="pixconf-two")
        keys.started = False
        pass_by(keys, "listPixKeys", KEY)
        in_the_middle = keys.was_there_before(KEY)
    pass_by(keys, "listPixKeys", KEY)

    assert (in_the_middle, keys.was_there_before(KEY)) == (False, True)


# -- prepared transfers -----------------------------------------------------------------------------------------


def stopping_before(call, meeting):
    def stopping(*args):
        meeting.stop()
        return call(*args)

    return stopping


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
