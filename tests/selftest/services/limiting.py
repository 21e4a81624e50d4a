"""Limits, as services and gateways keep them, and a run that meets one in virtual time."""

from collections import deque
from dataclasses import dataclass, field
from itertools import count, repeat

import requests

from environments.door.congestion import Congestion
from environments.door.outgoing import Intent, Sending
from environments.door.retry_policy import RetryPolicy
from spec.exchange import Exchange, Response
from tests.selftest.exchanges import answer
from tests.selftest.services.virtual_time import Places, VirtualTime


class FixedWindow:
    """So many requests in each second of the service's clock, which is ahead of the run's."""

    def __init__(self, rate, *, ahead=0.0, counts_refused=False):
        self.rate, self.ahead, self.counts_refused = rate, ahead, counts_refused
        self._second, self._seen = None, 0

    def lets_in(self, now):
        if (second := int(now + self.ahead)) != self._second:
            self._second, self._seen = second, 0
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
    """An allowance of a few requests, which fills up evenly. Refused requests that count leave it in debt."""

    def __init__(self, rate, *, burst, counts_refused=False):
        self.rate, self.burst, self.counts_refused = rate, burst, counts_refused
        self._left, self._at = float(burst), 0.0

    def lets_in(self, now):
        self._left, self._at = min(self.burst, self._left + (now - self._at) * self.rate), now
        granted = self._left >= 1
        if granted or self.counts_refused:
            self._left = max(-self.burst, self._left - 1)
        return granted


class AtOnce:
    """So many requests at once, however fast they come."""

    def __init__(self, most):
        self.most, self._there = most, 0

    def lets_in(self, now):
        granted = self._there < self.most
        self._there += granted
        return granted

    def leaves(self):
        self._there -= 1


TOO_MANY = Response(429, (), b"{}")


@dataclass
class Limited:
    """A run with so many threads against a service that takes `delay` seconds for an answer and has a limit.

    `seconds` is how long it took, `sent` the times at which requests left, and `answers` has the last answer to each.
    """

    limit: object
    parallel: int
    delay: float = 0.0
    refusal: Response = TOO_MANY
    valid: bool = True
    seconds: float = 0.0
    sent: list = field(default_factory=list)
    answers: list = field(default_factory=list)

    def __post_init__(self):
        self.time = VirtualTime()
        self.congestion = Congestion(self.parallel, clock=self.time.clock, sleep=self.time.sleep)
        self.retry_policy = RetryPolicy(self.congestion)
        self._wire = Places(self.time, lambda: self.congestion.window)
        self._numbers = count(1)

    def send(self, requests_in_all):
        """Send so many, each as often as the policy wants it."""
        left = repeat(None, requests_in_all)
        self.time.run(*[lambda: [self._send_one() for _ in left]] * self.parallel)
        self.seconds = self.time.now
        return self

    @property
    def given_up(self):
        """How many were not let in."""
        return sum(answer.status != 200 for answer in self.answers)

    def execute_among(self, requests_in_all, every):
        """Send one after the other; each so many is an execution, which is sent once. The statuses of these."""
        found = []

        def act():
            for number in range(requests_in_all):
                if number % every:
                    self._send_one()
                    continue
                url = "http://127.0.0.1:1/v1/execute/pix/TX-1"
                intent = Intent("executePix", valid=True)
                execution = Sending(requests.Request("GET", url).prepare(), intent, self._attempt, "TX-1", True)
                self.retry_policy.slow_executions(execution)
                self._attempt(execution)
                found.append(execution.exchange.response.status)

        self.time.run(act)
        return found

    def _send_one(self):
        request = requests.Request("GET", "http://127.0.0.1:1/v1/accounts").prepare()
        sending = Sending(request, Intent("listAccounts", valid=self.valid), self._attempt)
        self._attempt(sending)
        self.retry_policy.repeat(sending)
        self.answers.append(sending.exchange.response)

    def _attempt(self, sending):
        with self._wire:
            self.congestion.wait_for_turn(sending)
            self.sent.append(self.time.now)
            self.time.sleep(self.delay / 2)
            granted = self.limit.lets_in(self.time.now)
            self.time.sleep(self.delay / 2 + 0.0005)
            if granted and hasattr(self.limit, "leaves"):
                self.limit.leaves()
            sending.exchange = self._exchange(granted)
            self.congestion.notice(sending)

    def _exchange(self, granted) -> Exchange:
        refused = self.refusal
        status, headers = (200, ()) if granted else (refused.status, refused.headers)
        return answer("listAccounts", {"code": 0}, status=status, headers=headers, valid=self.valid)
