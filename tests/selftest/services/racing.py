"""Two threads that meet in a critical section, without luck and without a clock.

The first stops in the middle of the section until the second has been through it, or waits for its lock. So a lock that
is there always makes the second wait, and one that is taken away always lets it in.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from filelock import Timeout

HANGS_S = 60
"""No test is decided by it: a test that would hang for ever fails."""

with_and_without_a_lock = pytest.mark.parametrize("locked", [True, False], ids=["with the lock", "without a lock"])


class Meeting:
    """`stops_after` and `stops_at` say where the first thread stops, `lock` makes a lock that tells who waits for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._first: threading.Thread | None = None
        self._is_inside, self._may_go_on = threading.Event(), threading.Event()

    def stop(self) -> None:
        """Stop the first thread, once. Other threads go on."""
        if threading.current_thread() is self._first and not self._is_inside.is_set():
            self._is_inside.set()
            assert self._may_go_on.wait(HANGS_S), "the second thread neither ended nor waited for the lock"

    def go_on(self) -> None:
        """The second thread has come as far as it can: the first goes on."""
        if threading.current_thread() is not self._first:
            self._may_go_on.set()

    def stops_after(self, owner: Any, name: str) -> None:
        """The first thread stops when a call of this function has returned to it."""
        call = getattr(owner, name)

        def stopping(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            self.stop()
            return result

        self._patch.setattr(owner, name, stopping)

    def stops_at(self, owner: type, attribute: str) -> None:
        """The first thread stops when it has read this attribute."""
        self._patch.setattr(owner, attribute, _StopsWhereRead(attribute, self), raising=False)

    def lock(self, holder: Any, name: str, *, locked: bool) -> None:
        """Have a lock tell who waits for it, or take it away."""
        self._patch.setattr(holder, name, self.around(getattr(holder, name), locked=locked))

    def condition(self, holder: Any, name: str) -> None:
        """Have a condition tell who waits for it."""
        waiting = threading.Condition()
        waits = waiting.wait

        def tell(timeout: float | None = None) -> bool:
            self.go_on()
            return waits(timeout)

        self._patch.setattr(waiting, "wait", tell)
        self._patch.setattr(holder, name, waiting)

    def around(self, lock: Any, *, locked: bool) -> Any:
        """A lock that tells who waits for it, or none."""
        return Tells(lock, self.go_on) if locked else NoLock()

    def of(self, first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
        """What the two threads give, or raise."""
        found: list[Any] = [None, None]
        threads = [
            threading.Thread(target=_keep, args=(found, at, act), daemon=True)
            for at, act in enumerate((first, lambda: self._as_second(second)))
        ]
        self._first = threads[0]
        threads[0].start()
        assert self._is_inside.wait(HANGS_S), f"the first thread never came to the place: {found[0]!r}"
        threads[1].start()
        for thread in threads:
            thread.join(HANGS_S)
            assert not thread.is_alive(), "the threads wait for each other"
        return found

    def _as_second(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        finally:
            self._may_go_on.set()


def _keep(found: list[Any], at: int, act: Callable[[], Any]) -> None:
    try:
        found[at] = act()
    except BaseException as error:  # what a thread raises is what the test looks at
        found[at] = error


class _StopsWhereRead:
    """An attribute whose reader stops when it has the value."""

    def __init__(self, name: str, meeting: Meeting) -> None:
        self._name, self._meeting = name, meeting

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = vars(instance)[self._name]
        self._meeting.stop()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value


class Tells:
    """A lock, of a thread or a file, that calls `waits` when a thread has to wait for it."""

    def __init__(self, lock: Any, waits: Callable[[], None]) -> None:
        self._lock, self._waits = lock, waits

    def acquire(self, blocking: bool = True, **_: Any) -> bool:
        if self._at_once():
            return True
        if blocking:
            self._waits()
            self._lock.acquire()
        return blocking

    def _at_once(self) -> bool:
        try:
            return bool(self._lock.acquire(blocking=False))
        except Timeout:
            return False

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class NoLock:
    """A lock that keeps nobody out."""

    def acquire(self, blocking: bool = True, **_: Any) -> bool:
        return True

    def release(self) -> None:
        return None

    def _is_owned(self) -> bool:
        return True

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
