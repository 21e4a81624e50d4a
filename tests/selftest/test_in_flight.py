"""So many requests are on the wire at once and no more, some are alone there, and nobody waits for ever."""

import threading
from contextlib import contextmanager, suppress

import pytest

from environments.door.in_flight import InFlight
from tests.selftest.services.racing import HANGS_S, Meeting, with_and_without_a_lock


class Waiting(threading.Condition):
    """Counts who waits: the semaphore is free once for each, and the lock is held until it really waits."""

    def __init__(self):
        super().__init__()
        self.begun = threading.Semaphore(0)

    def wait(self, timeout=None):
        self.begun.release()
        return super().wait(timeout)

    def somebody(self):
        """Go on when one more thread waits."""
        assert self.begun.acquire(timeout=HANGS_S), "nobody waits"


class Thread(threading.Thread):
    """Runs at once, and keeps what was raised."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self._act, self.error = act, None
        self.start()

    def run(self):
        try:
            self._act()
        except BaseException as error:
            self.error = error

    def ended(self):
        self.join(HANGS_S)
        assert not self.is_alive(), "it waits for ever"
        return self


def in_flight_of(most):
    """With a condition that tells who waits."""
    in_flight = InFlight(most)
    in_flight._changed = Waiting()
    return in_flight


@contextmanager
def held(in_flight, times=1):
    """Requests on the wire, each of a thread of its own, until the end."""
    there, end = threading.Semaphore(0), threading.Event()

    def hold():
        with in_flight.on_the_wire():
            there.release()
            end.wait(HANGS_S)

    threads = [Thread(hold) for _ in range(times)]
    for _ in threads:
        assert there.acquire(timeout=HANGS_S)
    try:
        yield end
    finally:
        end.set()
        for thread in threads:
            thread.ended()


def entering(in_flight, name, entered, within=None):
    """A thread that wants to enter, and says that it did."""

    def enter():
        with (within or in_flight.on_the_wire)():
            entered.append(name)

    return Thread(enter)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_no_more_are_on_the_wire_than_there_is_room(window):
    """`most`, until the window is smaller."""
    entered = []
    in_flight = in_flight_of(5)
    in_flight.window = window
    with held(in_flight, window):
        late = entering(in_flight, "late", entered)
        in_flight._changed.somebody()
        before = list(entered)
    late.ended()

    assert (before, entered) == ([], ["late"])


def test_two_requests_that_meet_do_so_in_a_small_window():
    """Else a fault of parallel requests is not seen in a service that has limited the rate once."""
    in_flight = InFlight(2)
    in_flight.window = 1
    with held(in_flight), in_flight.on_the_wire(meets=True) as present:
        beside = present.beside

    assert beside == 1


@with_and_without_a_lock
def test_two_threads_do_not_take_the_same_room(locked, monkeypatch):
    """The first has found room and stops before it takes it."""
    meeting, first_is_in, most_at_once = Meeting(monkeypatch), threading.Event(), []
    in_flight = InFlight(1)
    meeting.stops_at(InFlight, "window")
    in_flight._changed = threading.Condition(meeting.around(threading.Lock(), locked=locked))

    def first():
        with in_flight.on_the_wire():
            most_at_once.append(len(in_flight._present))
            first_is_in.set()

    def second():
        with in_flight.on_the_wire():
            meeting.go_on()
            first_is_in.wait(HANGS_S)

    assert meeting.of(first, second) == [None, None]
    assert most_at_once == [1 if locked else 2]


def test_who_is_alone_waits_for_the_others_and_keeps_them_out():
    """The wire is clear first; nobody enters before, even if there is room, nor meanwhile."""
    entered, done = [], threading.Event()
    in_flight = in_flight_of(4)

    def alone():
        with in_flight.alone():
            entered.append("alone")
            in_flight._changed.somebody()
            done.wait(HANGS_S)
            entered.append("alone still")

    with held(in_flight, 2):
        first = Thread(alone)
        in_flight._changed.somebody()
        second = entering(in_flight, "beside", entered)
        in_flight._changed.somebody()
        before = list(entered)
    third = entering(in_flight, "later", entered)
    done.set()
    for thread in (first, second, third):
        thread.ended()

    assert before == []
    assert entered[:2] == ["alone", "alone still"]
    assert sorted(entered[2:]) == ["beside", "later"]


def test_who_is_alone_may_send_and_be_alone_once_more():
    """It does not wait for itself, and is alone until the outer end."""
    in_flight = InFlight(2)
    with in_flight.alone():
        with in_flight.alone(), in_flight.on_the_wire() as present:
            pass
        still = in_flight.is_alone

    assert (still, in_flight.is_alone, present.beside) == (True, False, 0)


def interrupted(in_flight, within, meanwhile=lambda: None):
    """Wait for the wire, and be stopped while waiting, as by a signal."""
    waits = in_flight._changed.wait

    def stopped(timeout=None):
        in_flight._changed.wait = waits
        meanwhile()
        raise KeyboardInterrupt

    in_flight._changed.wait = stopped
    with suppress(KeyboardInterrupt), within():
        raise AssertionError("it was not stopped")


@pytest.mark.parametrize("within", ["on_the_wire", "alone"])
def test_who_is_stopped_while_waiting_leaves_nothing_behind(within):
    """The others do not wait for the one that is gone."""
    entered = []
    in_flight = in_flight_of(1)
    with held(in_flight):
        interrupted(in_flight, getattr(in_flight, within))
    entering(in_flight, "another", entered).ended()
    entering(in_flight, "alone", entered, in_flight.alone).ended()

    assert entered == ["another", "alone"]


def test_who_is_stopped_does_not_end_what_another_is_alone_for():
    """That one goes on alone."""
    in_flight = in_flight_of(1)
    stopped = []
    with in_flight.alone():
        Thread(lambda: stopped.append(interrupted(in_flight, in_flight.alone))).ended()
        still = in_flight.is_alone

    assert (stopped, still) == ([None], True)


def test_what_fails_on_the_wire_frees_its_place():
    """Alone, too."""
    in_flight = InFlight(1)
    for within in (in_flight.on_the_wire, in_flight.alone):
        with suppress(ZeroDivisionError), within():
            raise ZeroDivisionError
    entered = []
    entering(in_flight, "other", entered).ended()

    assert entered == ["other"]


def test_every_request_knows_how_many_were_beside_it():
    """Those that were there at any time of it. Two that have the same count are two."""
    in_flight = InFlight(3)
    first, second, third = (in_flight.on_the_wire() for _ in range(3))
    one = first.__enter__()
    two = second.__enter__()
    second.__exit__(None, None, None)
    three = third.__enter__()
    first.__exit__(None, None, None)
    third.__exit__(None, None, None)

    assert (one.beside, two.beside, three.beside) == (2, 1, 1)
