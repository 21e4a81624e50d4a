"""Generated traffic: the requests of each operation, drawn before the first one is sent, and judged by the rules.

Three sorts: valid reads, as their success is harmless; each class of invalid requests; and what Schemathesis draws.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import cycle, islice

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.answers import answer_in_words
from spec.exchange import Exchange
from spec.interface import READS, operations
from spec.message import Text, joined, say
from spec.rules import Reproduction
from tests.traffic.case import Case, bounded
from tests.traffic.collecting import Findings
from tests.traffic.invalid import classes_in_words, in_turns, invalid_requests
from tests.traffic.together import Together

DEFAULT_READS = 12
"""Valid requests for each read. A fault in one answer of four is then missed once in 30 runs; it is a warning at
most."""
DEFAULT_DRAWN = 7
"""Requests that Hypothesis draws for each operation. They look for faults that no listed class covers."""


class Generation:
    """The generated traffic of a run. `observed` are the operations that the targeted tests send invalid requests
    to."""

    def __init__(
        self, client: Client, profile: Profile, reproduction: Reproduction, observed: Collection[str] = ()
    ) -> None:
        self._client, self._profile, self._reproduction, self._observed = client, profile, reproduction, observed
        self._cases: list[Case] = []
        self._sent: list[tuple[Case, Exchange]] = []

    def draw(self, operation: str, seed: int, examples: int) -> None:
        """Draw the requests to an operation; of each sort as many as there are `examples`, if any. CPython 3.11 fails
        where two threads parse Python at once (SystemError: AST constructor recursion depth mismatch), and Schemathesis
        does: so before anything is sent from several."""
        from tests.traffic.drawing import draw_cases

        observed, profile = False if operation in self._observed else None, self._profile
        drawn = draw_cases(operation, profile, f"{seed} {operation}", examples or DEFAULT_DRAWN)
        if operation in READS:
            self._cases += _valid_reads(operation, profile, examples or DEFAULT_READS)
        self._cases += [*invalid_requests(operation, profile, observed=observed), *bounded(drawn, profile)]

    def send(self, together: Together) -> None:
        """Send all that was drawn."""
        cases = in_turns(self._cases)
        sends = [partial(case.send, self._client.of_part(case.operation)) for case in cases]
        self._sent = list(zip(cases, together.send_all(sends), strict=True))

    def classes_not_sent(self, operation: str, targeted: Iterable[tuple[Case, Exchange]]) -> Text:
        """The classes of invalid requests to an operation, generated or targeted, of which a limit kept every request,
        and the limit; else empty."""
        sent, kept = set[tuple[str, str]](), dict[tuple[str, str], Text]()
        for case, exchange in (*targeted, *self._sent):
            name = case.where, case.what
            if case.operation != operation or case.valid:
                continue
            if exchange.number:
                sent.add(name)
            else:
                kept[name] = answer_in_words(exchange)
        missing = [name for name in kept if name not in sent]
        limits = joined(kept[name] for name in missing)
        return (
            say("not sent, as {limits}: {classes}", limits=limits, classes=classes_in_words(missing)) if missing else ""
        )

    @property
    def sent(self) -> list[tuple[Case, Exchange]]:
        """What was sent, with its answers."""
        return self._sent

    def judge(self, operation: str) -> Findings:
        """Judge the answers to one operation."""
        findings = Findings(self._reproduction)
        for case, exchange in self._sent:
            if case.operation == operation:
                findings.take(case, exchange)
        return findings


def _valid_reads(operation: str, profile: Profile, most: int) -> Iterator[Case]:
    """Reads of the profile's accounts in turn."""
    accounts = profile.accounts if operations()[operation].path_parameter else (None,)
    for account in islice(cycle(accounts), most):
        yield Case(operation, "", "valid", account, valid=True)
