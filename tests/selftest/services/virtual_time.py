"""Threads in virtual time: one of them runs at a time, always in the same order, and a sleep takes none."""

import heapq
import threading
from itertools import count


class VirtualTime:
    """`now` is where the earliest sleep ends. It changes only when all threads sleep."""

    def __init__(self):
        self.now = 0.0
        self._sleepers, self._order = [], count()
        self._errors = []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        """Let the others run until the time has come."""
        woken = self._line_up(seconds)
        self._wake_first()
        woken.wait()

    def run(self, *acts):
        """Run each act in a thread of its own, until all have ended. Raises what one of them raises."""
        threads = [threading.Thread(target=self._perform, args=(act, self._line_up(0.0))) for act in acts]
        for thread in threads:
            thread.start()
        self._wake_first()
        for thread in threads:
            thread.join()
        for error in self._errors:
            raise error

    def _line_up(self, seconds):
        woken = threading.Event()
        heapq.heappush(self._sleepers, (self.now + max(0.0, seconds), next(self._order), woken))
        return woken

    def _wake_first(self):
        if self._sleepers:
            self.now, _, woken = heapq.heappop(self._sleepers)
            woken.set()

    def _perform(self, act, woken):
        woken.wait()
        try:
            act()
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._wake_first()
