"""Limits of the rate, as services and gateways keep them. Each says whether a request is let in, and when to come again."""

from collections import deque


class FixedWindow:
    """So many requests in each second of the service's clock."""

    def __init__(self, rate, *, counts_refused=False, begins=0.0):
        self.rate, self.counts_refused, self.begins = rate, counts_refused, begins
        self._window, self._seen = None, 0

    def lets_in(self, now):
        window = int(now - self.begins)
        if window != self._window:
            self._window, self._seen = window, 0
        granted = self._seen < self.rate
        self._seen += granted or self.counts_refused
        return granted


class SlidingWindow:
    """So many requests in any second."""

    def __init__(self, rate, *, counts_refused=False):
        self.rate, self.counts_refused = rate, counts_refused
        self._seen = deque()

    def lets_in(self, now):
        while self._seen and self._seen[0] <= now - 1:
            self._seen.popleft()
        granted = len(self._seen) < self.rate
        if granted or self.counts_refused:
            self._seen.append(now)
        return granted


class TokenBucket:
    """A small allowance that fills up evenly. A refused request that counts leaves it in debt."""

    def __init__(self, rate, *, counts_refused=False, burst=5):
        self.rate, self.counts_refused, self.burst = rate, counts_refused, burst
        self._left, self._at = float(burst), 0.0

    def lets_in(self, now):
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        granted = self._left >= 1
        if granted:
            self._left -= 1
        elif self.counts_refused:
            self._left = max(-self.burst, self._left - 1)
        return granted
