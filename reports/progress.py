"""What a run under way says of itself: numbers in, one line out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from reports.verdicts import Verdict
from spec.message import say_many

_WINDOW_S = 10.0
_LEAST_S = 1.0
_MOST_S = 24 * 3600
"""Where more time is left, the service hardly answers, and the number says nothing."""
_UNITS = ((3600, "h"), (60, "min"))


@dataclass(frozen=True)
class Progress:
    """`most` is how many requests the plan has at most, None where that is unknown; `rate` is requests a second,
    `requirement` the id of the one at hand. Numbers and words of the suite: all of it may be shown."""

    sent: int
    most: int | None = None
    rate: float | None = None
    verdicts: Mapping[Verdict, int] = field(default_factory=dict)
    requirement: str = ""

    def __str__(self) -> str:
        verdicts = [f"{self.verdicts[verdict]} {verdict}" for verdict in Verdict if self.verdicts.get(verdict)]
        return "; ".join(filter(None, (", ".join(self._traffic()), ", ".join(verdicts), self.requirement)))

    def _traffic(self) -> Iterator[str]:
        to_send = -1 if self.most is None else self.most - self.sent
        planned = to_send >= 0  # repetitions come on top of the plan
        requests = say_many("{n} request", "{n} requests", n=(self.most or 0) if planned else self.sent)
        yield f"{self.sent} of at most {requests}" if planned else str(requests)
        if self.rate is not None:
            yield f"{self.rate:.{self.rate < 10:d}f}/s"
            if left := _time_left(to_send, self.rate):
                yield f"at most {left} left"


class RecentRate:
    """How many requests a second were sent in the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, now_s: float, sent: int) -> float | None:
        """Requests a second, when `sent` have been sent by now. None at the beginning."""
        self._seen.append((now_s, sent))
        while len(self._seen) > 2 and self._seen[1][0] <= now_s - _WINDOW_S:
            self._seen.popleft()
        since_s, before = self._seen[0]
        return (sent - before) / (now_s - since_s) if now_s - since_s >= _LEAST_S else None


def _time_left(requests: int, rate: float) -> str:
    """How long so many requests take, rounded up; empty where the rate does not tell."""
    if not 0 < requests <= rate * _MOST_S:
        return ""
    seconds = ceil(requests / rate)
    return next((f"{ceil(seconds / unit)} {name}" for unit, name in _UNITS if seconds > 2 * unit), f"{seconds} s")
