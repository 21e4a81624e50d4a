"""The watchdog of the door: one thread calls what is due."""

import os
import threading

import pytest

from environments.door.watchdog import Watch, rest
from tests.selftest.services.waiting import comes

AN_HOUR = 3600.0


def test_what_is_due_is_called():
    """Also where the thread waits for something that is due an hour later."""
    late, due = Watch(AN_HOUR, pytest.fail), threading.Event()
    late.start()
    Watch(0.0, due.set).start()

    assert comes(due)
    late.cancel()


def test_calls_come_in_the_order_of_time():
    """Whatever the order in which they were started."""
    called, done = [], threading.Event()
    for seconds in (0.02, 0.0, 0.01):
        Watch(seconds, lambda seconds=seconds: called.append(seconds)).start()
    Watch(0.03, done.set).start()

    assert comes(done)
    assert called == [0.0, 0.01, 0.02]


def test_what_is_cancelled_is_not_called():
    """Before it is started, or after."""
    called, done = [], threading.Event()
    before, after = Watch(0.0, lambda: called.append("before")), Watch(0.01, lambda: called.append("after"))
    before.cancel()
    before.start()
    after.start()
    after.cancel()
    Watch(0.02, done.set).start()

    assert comes(done)
    assert called == []


def test_a_call_that_fails_does_not_end_the_watch(recwarn):
    """What is started later is called by another thread."""
    failed, done = threading.Event(), threading.Event()

    def fail():
        failed.set()
        raise SystemExit  # ends a thread without a message

    Watch(0.0, fail).start()
    assert comes(failed)
    while any(thread.name == "watchdog" for thread in threading.enumerate()):
        pass
    Watch(0.0, done.set).start()

    assert comes(done)


def test_one_thread_for_all():
    """A hundred requests at once need one."""
    watches = [Watch(AN_HOUR, pytest.fail) for _ in range(100)]
    for watch in watches:
        watch.start()

    assert len([thread for thread in threading.enumerate() if thread.name == "watchdog"]) == 1
    for watch in watches:
        watch.cancel()


def test_the_thread_ends_where_nothing_is_watched():
    """It comes back with the next request."""
    watched, done = Watch(AN_HOUR, pytest.fail), threading.Event()
    watched.start()
    rest()
    while_watched = names_of_threads()
    watched.cancel()
    rest()
    afterwards = names_of_threads()
    Watch(0.0, done.set).start()

    assert comes(done)
    assert ("watchdog" in while_watched, "watchdog" in afterwards) == (True, False)


def names_of_threads():
    return [thread.name for thread in threading.enumerate()]


def test_a_forked_process_has_a_watchdog_of_its_own():
    """Threads are not forked."""
    Watch(0.0, threading.Event().set).start()
    child = os.fork()
    if child == 0:
        done = threading.Event()
        Watch(0.0, done.set).start()
        os._exit(0 if comes(done) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
