"""The threads of a run: what fails in one of them is said, and none is waited for for ever."""

import threading

import pytest

from environments.door.in_flight import InFlight
from environments.door.liveness import UnreachableError
from environments.door.outgoing import NotSentError
from environments.door.permission import ForbiddenError
from environments.sandbox import Service
from tests.harness.judging import NotExercised
from tests.harness.lanes import Lanes, Part
from tests.selftest.proof.trial import try_service
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.waiting import comes
from tests.traffic.run_traffic import RunTraffic


def failing(error):
    """A part that raises."""

    def send():
        raise error

    return Part(send)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ForbiddenError("what"), 3, ("the suite failed in a thread: ForbiddenError: what",)),
        (ZeroDivisionError("division"), 3, ("the suite failed in a thread: ZeroDivisionError: division",)),
        (NotExercised("no account"), 0, ()),
        (UnreachableError("the connection is refused"), 0, ()),
        (NotSentError("the run was stopped"), 0, ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_fails_and_no_test_asks_for_is_an_error_of_the_suite(error, status, said, monkeypatch):
    """But for a target that is gone, a prerequisite that is missing and a run that is stopped: those are said elsewhere."""
    monkeypatch.setattr(RunTraffic, "_chain_of_money", lambda self, items: iter([failing(error)]))
    trial = try_service(Service(), "--parallel=4")

    assert (trial.exit_status, trial.errors) == (status, said)


def test_what_a_test_asks_for_is_raised_there():
    """And not said a second time."""
    lanes, asked = Lanes(InFlight(4)), failing(ZeroDivisionError())
    unasked = failing(ForbiddenError("what"))
    lanes.start_chain([asked, unasked])
    lanes.start([failing(IndexError())])
    for part in (unasked, asked):
        part.run()
    with pytest.raises(ZeroDivisionError):
        asked()
    lanes.close()

    assert {type(error) for error in lanes.unheard} <= {ForbiddenError, IndexError}
    assert ForbiddenError in {type(error) for error in lanes.unheard}


def test_what_was_not_begun_is_not_begun_at_the_end():
    """The rest of a chain, and what waits behind it; what was begun is waited for."""
    lanes, began, go_on, sent = Lanes(InFlight(2)), threading.Event(), threading.Event(), []

    def first():
        began.set()
        go_on.wait()
        sent.append("first")

    lanes.start_chain([Part(first), Part(lambda: sent.append("second"))])
    assert comes(began)
    closing = threading.Thread(target=lanes.close)
    closing.start()
    while not lanes._is_closed:
        pass
    go_on.set()
    closing.join()
    lanes.start([Part(lambda: sent.append("late"))])

    assert sent == ["first"]


def test_what_waits_for_a_thread_is_not_begun_at_the_end():
    """The thread is still there for what it has begun."""
    lanes, began, go_on, sent = Lanes(InFlight(2)), threading.Semaphore(0), threading.Event(), []
    lanes.start([Part(lambda: (began.release(), go_on.wait())) for _ in range(2)])
    lanes.start([Part(lambda: sent.append("late"))])
    for _ in range(2):
        assert began.acquire(timeout=HANGS_S)
    closing = threading.Thread(target=lanes.close)
    closing.start()
    while not lanes._pool._is_closed:
        pass
    go_on.set()
    closing.join()

    assert sent == []


def test_a_thread_that_never_ends_does_not_keep_a_stopped_run(monkeypatch):
    """It is a daemon, so the process can end, too."""
    monkeypatch.setattr("tests.harness.lanes._LONGEST_END_S", 0.0)
    monkeypatch.setattr("tests.harness.lanes._LOOK_S", 0.0)
    in_flight, go_on, began = InFlight(2), threading.Event(), threading.Event()
    lanes, others = Lanes(in_flight), threading.enumerate()
    lanes.start_chain([Part(lambda: (began.set(), go_on.wait()))])
    assert comes(began)
    in_flight.ending.stop()
    lanes.close()
    left = [thread for thread in threading.enumerate() if thread not in others]
    go_on.set()
    for thread in left:
        thread.join()

    assert [thread.daemon for thread in left] == [True]
