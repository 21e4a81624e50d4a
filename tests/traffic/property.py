"""Generated traffic: the requests of each operation, drawn while others are on their way, and judged by the rules.

Valid reads, because their success is harmless; the invalid requests of `invalid.py`; and what Schemathesis draws
(`drawing.py`). For a finding of drawn requests the smallest one is looked for that still shows it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.exchange import Exchange, Purpose
from spec.findings import Finding
from spec.interface import MONEY, READS, operations
from spec.rules import Reproduction, judge
from tests.harness.options import DEFAULT_EXAMPLES
from tests.traffic.case import SMALLER, Case, bounded
from tests.traffic.collecting import Findings
from tests.traffic.invalid import in_turns, invalid_requests
from tests.traffic.together import Together

if TYPE_CHECKING:
    from tests.traffic.drawing import Drawing

DEFAULT_READS = 12
"""Valid requests for each read. A fault in one answer of four is then missed once in 30 runs; it is a warning at
most."""
MOST_SMALLER, MOST_SMALLER_IN_ALL = 40, 120
"""Requests that look for a smaller case of one finding, and of all. Sequences have as many for one, and 80 for all."""


class Generated(Purpose):
    """Why a generated request is sent."""

    READ = "a valid read, because one answer of several may deviate"
    INVALID = "an invalid request that is not drawn"
    DRAWN = "a request that is drawn from the schema"
    SMALLER = "a part of a drawn request, to see if it shows the same finding"


def _purpose_of(case: Case) -> Generated:
    if case.valid:
        return Generated.READ
    return Generated.INVALID if case.where else Generated.DRAWN


class Generation:
    """The generated traffic of a run. `observed` are the operations that the targeted tests send invalid requests
    to."""

    def __init__(
        self, client: Client, profile: Profile, reproduction: Reproduction, observed: Collection[str] = ()
    ) -> None:
        self._client, self._profile, self._reproduction, self._observed = client, profile, reproduction, observed
        self._examples: dict[str, int] = {}  # by operation
        self._seed = 0
        self._drawing: Drawing | None = None
        self._drawn: Future[list[Case]] | None = None
        self._sent: list[tuple[Case, Exchange]] = []
        self._findings: dict[str, Findings] = {}  # by operation

    def draw(self, operation: str, seed: int, examples: int) -> None:
        """Have requests to an operation drawn; as many of each sort as there are examples, if any."""
        self._examples[operation], self._seed = examples, seed

    def begin(self) -> None:
        """Draw in a thread of its own. Schemathesis is imported first: CPython 3.11 fails if two threads parse Python
        at once (SystemError: AST constructor recursion depth mismatch)."""
        if self._examples:
            from tests.traffic.drawing import Drawing

            self._drawing = Drawing(self._profile)
            thread = ThreadPoolExecutor(1, "pix-drawing")
            self._drawn = thread.submit(self._draw_all, self._drawing)
            thread.shutdown(wait=False)  # it ends when all is drawn

    def _draw_all(self, drawing: Drawing) -> list[Case]:
        return [case for operation in self._examples for case in self._cases(operation, drawing)]

    def _cases(self, operation: str, drawing: Drawing) -> Iterator[Case]:
        examples, profile = self._examples[operation], self._profile
        if operation in READS:
            yield from _valid_reads(operation, profile, examples or DEFAULT_READS)
        yield from invalid_requests(operation, profile, observed=False if operation in self._observed else None)
        yield from bounded(drawing.cases(operation, self._seed, examples or DEFAULT_EXAMPLES), profile)

    def send(self, together: Together) -> None:
        """Send all that was drawn."""
        if self._drawn is None:
            self.begin()
        cases = in_turns(self._drawn.result() if self._drawn else [])
        sends = [partial(self._send, case, _purpose_of(case)) for case in cases]
        self._sent = list(zip(cases, together.send_all(sends), strict=True))

    def _send(self, case: Case, purpose: Generated) -> Exchange:
        return case.send(self._client.of_part(case.operation).with_purpose(purpose))

    # -- smaller cases ----------------------------------------------------------------------------------------------

    def look_for_smaller_cases(self) -> None:
        """For each finding of drawn requests, send smaller ones, until none shows it or no more may be sent. Nothing
        that may move money is sent for that."""
        left = MOST_SMALLER_IN_ALL
        for operation in self._examples:
            if self._drawing is None or not _may_shrink(operation, self._profile):
                continue
            for requirement, finding, case in self.judge(operation).signs_of_drawn_requests():
                search = _Search(self, operation, requirement, finding, min(left, MOST_SMALLER))
                self._drawing.look_for_smaller(case, search.shows)
                left -= search.times_sent

    def send_smaller(self, case: Case) -> Exchange | None:
        """Send a request that is smaller than the drawn ones, if the profile lets it be sent."""
        permitted = next(bounded([case], self._profile), None)
        if permitted is None:
            return None
        exchange = self._send(permitted, Generated.SMALLER)
        self._sent.append((replace(permitted, what=SMALLER), exchange))
        self._findings.pop(case.operation, None)
        return exchange

    # -- judging ----------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> list[tuple[Case, Exchange]]:
        """What was sent, with its answers."""
        return self._sent

    def judge(self, operation: str) -> Findings:
        """Judge the answers to one operation."""
        if operation not in self._findings:
            findings = self._findings[operation] = Findings(self._reproduction)
            for case, exchange in self._sent:
                if case.operation == operation:
                    findings.take(case, exchange)
        return self._findings[operation]


def _valid_reads(operation: str, profile: Profile, most: int) -> Iterator[Case]:
    """Reads of the profile's accounts in turn."""
    accounts = profile.accounts if operations()[operation].path_parameter else (None,)
    for account in islice(cycle(accounts), most):
        yield Case(operation, "", "valid", account, valid=True)


def _may_shrink(operation: str, profile: Profile) -> bool:
    """True if a smaller request moves no money. On a sandbox a prepared transfer is worth nothing."""
    moves_money = operations()[operation].permission in MONEY
    return operation != "executePix" and (profile.is_sandbox or not moves_money)


@dataclass
class _Search:
    """A search for the smallest request that shows a finding. The log has the answers to requests that were sent."""

    generation: Generation
    operation: str
    requirement: str
    finding: Finding
    most: int
    times_sent: int = 0
    log: dict[Case, list[Exchange]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for case, exchange in self.generation.sent:
            if case.operation == self.operation:
                self.log.setdefault(replace(case, where="", what=""), []).append(exchange)

    def shows(self, case: Case) -> bool:
        """True if the case shows the finding. It is sent unless it was sent before, or no more may be sent."""
        if case not in self.log:
            may_be_sent = self.times_sent < self.most
            answer = self.generation.send_smaller(case) if may_be_sent else None
            self.log[case] = [answer] if answer else []
            self.times_sent += len(self.log[case])
        return self._is_shown(self.log[case])

    def _is_shown(self, answers: Iterable[Exchange]) -> bool:
        found = [finding for answer in answers for finding in judge(self.requirement, answer).findings]
        return self.finding in [replace(finding, exchanges=()) for finding in found]
