"""How fast all threads of a process send together: what one of them is told slows all of them down.

A service that says "later" gets nothing from any thread until then (the pause). One that answers 429 or 503, or 423
beside other requests, gets fewer requests at once (the window). One that limits the rate gets them at even distances
(`pace.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from environments.door.outgoing import Policy, Sending
from environments.door.pace import Pace
from spec.answers import LATER, RefusalKind, refusal_kind

_UNAVAILABLE = 503


class Congestion:
    """One pause, one window and one pace for all threads. `window` is how many requests may be on the wire at once,
    from 1 to `most`; `paused_s` is how long the process paused in all, and `let_in` counts the answers that did not say
    "later". `turn` waits for limits.rate. Nothing is locked while it does, nor while this waits.
    """

    def __init__(
        self,
        most: int = 1,
        turn: Policy = lambda sending: None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = lambda seconds: time.sleep(seconds),
    ) -> None:
        self.window, self.paused_s, self.let_in = most, 0.0, 0
        self._most, self._turn, self._clock, self._sleep = most, turn, clock, sleep
        self._guard = threading.Lock()
        self._pace = Pace()
        self._paused_until = self._slept_until = 0.0
        self._pauses = 0
        self._departed = self._departed_when_halved = 0
        self._fine = 0
        self._too_many, self._steps_needed = 0, 1

    # -- before a request leaves ------------------------------------------------------------------------------

    def wait_for_turn(self, sending: Sending) -> None:
        """Wait until no pause is on, and both the learned rate and limits.rate permit the next request."""
        while True:
            self.wait_out_pause()
            pauses, turn = self._take_turn()
            self._sleep_until(turn)
            self._turn(sending)
            with self._guard:
                if self._pauses == pauses:
                    self._departed += 1
                    sending.departure = self._departed
                    return

    def wait_out_pause(self) -> None:
        """Wait until no pause is on."""
        while self._sleep_until(self._paused_until):
            pass

    @property
    def departed(self) -> int:
        """How many requests left so far. The number of each is its departure."""
        return self._departed

    def _take_turn(self) -> tuple[int, float]:
        """How many pauses there were, and the next turn, which the next pause makes void."""
        with self._guard:
            return self._pauses, self._pace.turn(self._now())

    def _sleep_until(self, end: float) -> bool:
        """Whether that took time."""
        rest = end - self._now()
        if rest <= 0:
            return False
        self._sleep(rest)
        with self._guard:
            self._slept_until = max(self._slept_until, end)
        return True

    def _now(self) -> float:
        """A sleep lasts as long as it was asked to, whatever the clock says."""
        return max(self._clock(), self._slept_until)

    # -- after it was answered --------------------------------------------------------------------------------

    def pause(self, seconds: float, most_s: float) -> bool:
        """Keep all threads from sending for so long. False where the pauses would take more than `most_s` in all: what
        several threads wait for at the same time counts once."""
        with self._guard:
            now = self._now()
            added = max(0.0, now + seconds - max(now, self._paused_until))
            if self.paused_s + added > most_s:
                return False
            self.paused_s += added
            self._pauses += added > 0
            self._paused_until = max(self._paused_until, now + seconds)
            self._pace.stand_still(added, self._paused_until)
            return True

    def make_room(self, seconds: float, most_s: float) -> None:
        """Keep all threads from sending for `seconds`, or for less where the next request finds room sooner."""
        with self._guard:
            enough = self._pace.room(seconds, self._now())
        self.pause(enough, most_s)
        self.wait_out_pause()

    def notice(self, sending: Sending) -> None:
        """See how a request was answered."""
        response = sending.exchange.response
        if response is None:
            return
        refusal = refusal_kind(response)
        locked_beside = refusal is RefusalKind.LOCK and sending.exchange.beside
        if refusal is RefusalKind.RATE_LIMIT or response.status == _UNAVAILABLE or locked_beside:
            self.slow_down(sending, by_rate=refusal is RefusalKind.RATE_LIMIT)
        elif refusal not in LATER:
            self._grow()

    def slow_down(self, sending: Sending, *, by_rate: bool = False) -> None:
        """Half as many requests at once: the service did not keep up with what it had been sent. What left before the
        window was halved says nothing new."""
        with self._guard:
            if sending.departure <= self._departed_when_halved:
                return
            self._departed_when_halved = self._departed
            self._halve()
            if by_rate:
                self._pace.slow_down(self._now())

    def _halve(self) -> None:
        """A window that was too large twice is tried more and more seldom."""
        again = 0 < self._too_many <= self.window
        self._steps_needed = 2 * self._steps_needed if again else 1
        self._too_many = self._too_many if again else self.window
        self.window, self._fine = max(1, self.window // 2), 0

    def _grow(self) -> None:
        """One more request at once after a window's worth of answers, and after more of them where that was too many
        before."""
        with self._guard:
            self.let_in += 1
            self._pace.let_in(self._now())
            self._fine += 1
            steps = self._steps_needed if self.window + 1 >= self._too_many else 1
            if self._fine >= self.window * steps and self.window < self._most:
                self.window, self._fine = self.window + 1, 0
            if self.window >= 2 * self._too_many:
                self._too_many, self._steps_needed = 0, 1
