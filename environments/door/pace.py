"""How many requests a second a service lets in that limits the rate: nobody tells, so it is learned from its refusals.

After a refusal, requests leave at even distances, a little slower than the service let them in before. The pace then
comes back to that rate, stays near it for a while, and goes beyond it: a cubic curve, as TCP CUBIC has it (RFC 9438).
The curve takes twice as long after each refusal: a limit that was found again is tried less and less often.
"""

from __future__ import annotations

from collections import deque
from math import ceil, inf

_LOOK_BACK_S = 1.0
"""The stretch of time whose answers show what the service lets in."""
_FIRST_GUESS = 16.0
"""Requests a second that are let in, where less was seen: a service with a small allowance shows little at first."""
_ROOM = 4
"""Requests that a request needs room for which is sent once, whatever is answered: other clocks tick otherwise."""
_SLOWEST = 4.0
"""Below this many requests a second, only the pauses slow a run down."""
_MOST_DROP, _LEAST_DROP = 0.8, 0.97
_MARGIN = 0.05
_FIRST_STRETCH_S, _LONGEST_STRETCH_S = 2.0, 10.0


class Pace:
    """The distance between requests. Not safe for threads by itself; times are seconds of one clock."""

    def __init__(self) -> None:
        self._let_in: deque[float] = deque()
        self._limit: float | None = None
        self._stretch_s = _FIRST_STRETCH_S
        self._slowed_at = self._next = 0.0
        self._refused_at = -inf

    def let_in(self, now: float) -> None:
        """A request was let in."""
        self._let_in.append(now)
        self._forget(now)

    def slow_down(self, now: float) -> None:
        """A request was refused for the rate."""
        self._forget(now)
        seen, rate = float(len(self._let_in)), self.rate(now)
        if rate is None:
            self._limit = max(seen * _LEAST_DROP, _FIRST_GUESS)
            self._stretch_s = _FIRST_STRETCH_S * (2 if seen >= _FIRST_GUESS else 1)
        else:
            self._limit = max(_SLOWEST, min(max(seen + 1, rate * _MOST_DROP), rate * _LEAST_DROP))
            self._stretch_s = min(2 * self._stretch_s, _LONGEST_STRETCH_S)
        self._slowed_at = self._refused_at = now

    def stand_still(self, seconds: float, until: float) -> None:
        """Nothing leaves for so many seconds more: the curve waits, too, and the next turn comes after that."""
        self._slowed_at += seconds
        self._next = max(self._next, until)

    def turn(self, now: float) -> float:
        """Take the next turn: when it comes."""
        turn = max(now, self._next)
        rate = self.rate(turn)
        self._next = turn + (1 / rate if rate else 0.0)
        return turn

    def room(self, seconds: float, now: float) -> float:
        """How long nothing may leave, so that the next request finds room: `seconds`, as the service asked for, or
        until a second has passed since a refusal, and the last second has a few requests fewer than the service has
        just let in, and than the limit that was learned."""
        self._forget(now)
        if seconds > _LOOK_BACK_S:
            return seconds
        if now - self._refused_at < _LOOK_BACK_S:
            return min(seconds, self._refused_at + _LOOK_BACK_S - now)
        seen = len(self._let_in)
        if self._limit is None or not seen:
            return 0.0
        last = self._let_in[min(seen, max(_ROOM, ceil(seen + _ROOM - self._limit))) - 1]
        return min(seconds, last + _LOOK_BACK_S - now)

    def rate(self, now: float) -> float | None:
        """Requests a second; None where no limit was seen."""
        if self._limit is None:
            return None
        beyond = max(0.0, now - self._slowed_at) / self._stretch_s - 1
        return self._limit * (1 + _MARGIN * beyond**3)

    def _forget(self, now: float) -> None:
        while self._let_in and self._let_in[0] <= now - _LOOK_BACK_S:
            self._let_in.popleft()
