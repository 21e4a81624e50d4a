"""Generated traffic: many requests to each operation, whose answers are judged by the rules.

`phases.py` has it drawn while the targeted requests are sent, and tests/conformance/test_property.py asks for the
findings. There are three sorts of requests:

- Valid reads, because they change nothing.
- The invalid requests of `invalid.py`.
- Requests that Schemathesis draws from the OpenAPI schema (`drawing.py`). If one shows a deviation, parts of it are
  sent, to find the smallest request that still shows it.
"""

from __future__ import annotations

from collections import Counter
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
from spec.interface import MONEY_PERMISSIONS, READ_OPERATIONS, operations
from spec.rules import Reproduction, judge
from tests.harness.options import DEFAULT_EXAMPLES
from tests.traffic.case import SMALLER, Case, safe_cases
from tests.traffic.collecting import Findings
from tests.traffic.invalid import invalid_requests, with_transfers_last
from tests.traffic.together import Together

if TYPE_CHECKING:
    from tests.traffic.drawing import Drawing

_DEFAULT_READS = 12
"""Valid requests for each read, with those of scenarios and sequences. A fault in one answer of four is then missed
once in 30 runs (0.75 to the power of 12). That is enough, because such a fault is a warning at most."""
_FEWEST_READS = 4
"""Valid requests for each read that are sent in any case: two for each of two accounts."""
MOST_SMALLER = 40
"""Requests that look for a smaller case of one finding. They are enough for each fault of the self-test
promises/test_drawn_faults.py."""
_MOST_SMALLER_IN_ALL = 120
"""Requests that look for smaller cases of all findings, so that a service with many faults is not asked without end."""


class Generated(Purpose):
    """Why a generated request is sent."""

    READ = "a valid read, because one answer of several may deviate"
    INVALID = "an invalid request that is not drawn"
    DRAWN = "a request that is drawn from the schema"
    SMALLER = "a part of a drawn request, to see if it shows the same finding"


def _purpose_of(case: Case) -> Generated:
    """Why a case is sent: a valid read, an invalid request of `invalid.py`, or a drawn request.

    Only the invalid requests of `invalid.py` say which part of the request is invalid (`case.unusual_part`).
    """
    if case.valid:
        return Generated.READ
    return Generated.INVALID if case.unusual_part else Generated.DRAWN


class Generation:
    """The generated traffic of a run: draws the requests, sends them, and judges the answers.

    `observed` are the operations whose invalid requests a scenario sends already, so that they are not sent twice.
    """

    def __init__(
        self, client: Client, profile: Profile, reproduction: Reproduction, observed: Collection[str] = ()
    ) -> None:
        self._client = client
        self._profile = profile
        self._reproduction = reproduction
        self._observed = observed
        self._examples: dict[str, int] = {}  # by operation; 0 stands for the default number
        self._seed = 0
        self._drawing: Drawing | None = None
        self._drawn: Future[list[Case]] | None = None
        self._sent: list[tuple[Case, Exchange]] = []
        self._findings: dict[str, Findings] = {}  # by operation

    def draw(self, operation: str, seed: int, examples: int) -> None:
        """Note that requests to an operation are wanted. `begin` draws them later, in a thread of its own.

        `examples` is the number of drawn requests, and of valid reads; 0 stands for the default numbers.
        """
        self._examples[operation] = examples
        self._seed = seed

    def begin(self) -> None:
        """Start to draw, in a thread, so that other requests can be sent meanwhile.

        Schemathesis is imported before the thread starts, because CPython 3.11 fails if two threads parse Python at
        once (SystemError: AST constructor recursion depth mismatch).
        """
        if self._examples:
            from tests.traffic.drawing import Drawing

            self._drawing = Drawing(self._profile)
            thread = ThreadPoolExecutor(1, "pix-drawing")
            self._drawn = thread.submit(self._draw_all, self._drawing)
            thread.shutdown(wait=False)  # the thread ends by itself when everything is drawn

    def _draw_all(self, drawing: Drawing) -> list[Case]:
        """The cases of all operations."""
        cases: list[Case] = []
        for operation in self._examples:
            cases += self._cases_of(operation, drawing)
        return cases

    def _cases_of(self, operation: str, drawing: Drawing) -> Iterator[Case]:
        """The cases of one operation, of all sorts."""
        examples, profile = self._examples[operation], self._profile
        if operation in READ_OPERATIONS:
            yield from _valid_reads(operation, profile, examples or _DEFAULT_READS)
        observed = False if operation in self._observed else None  # False: without those that scenarios send
        yield from invalid_requests(operation, profile, observed=observed)
        yield from safe_cases(drawing.cases(operation, self._seed, examples or DEFAULT_EXAMPLES), profile)

    def send(self, together: Together) -> None:
        """Send everything that was drawn, at the same time."""
        if self._drawn is None:
            self.begin()
        drawn = self._drawn.result() if self._drawn else []
        cases = with_transfers_last(list(self._without_reads_that_are_enough(drawn)))
        sends = [partial(self._send, case, _purpose_of(case)) for case in cases]
        answers = together.send_all(sends)
        self._sent = list(zip(cases, answers, strict=True))

    def _without_reads_that_are_enough(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases without the valid reads of an operation that was read often enough by scenarios and sequences."""
        times_sent = Counter[str]()
        for case in cases:
            if not case.valid or self._examples[case.operation]:
                yield case
                continue
            times_sent[case.operation] += 1
            read_before = len(self._client.door.log.valid(case.operation))
            if times_sent[case.operation] <= max(_FEWEST_READS, _DEFAULT_READS - read_before):
                yield case

    def _send(self, case: Case, purpose: Generated) -> Exchange:
        """Send a case as a part of the generated traffic of its operation."""
        return case.send(self._client.of_part(case.operation).with_purpose(purpose))

    # -- smaller cases ----------------------------------------------------------------------------------------------

    def send_smaller_cases(self) -> None:
        """For each deviation that only drawn requests show, search for the smallest request that shows it.

        Parts of the drawn request are sent, until no smaller one shows the deviation, or as many as permitted were
        sent. Operations that may move money are left out.
        """
        requests_left = _MOST_SMALLER_IN_ALL
        for operation in self._examples:
            if self._drawing is None or not _may_send_smaller(operation, self._profile):
                continue
            for requirement_id, finding, case in self.judge(operation).found_by_drawn_requests_alone():
                search = _Search(self, operation, requirement_id, finding, min(requests_left, MOST_SMALLER))
                self._drawing.search_for_smaller_case(case, search.shows)
                requests_left -= search.times_sent

    def send_smaller(self, case: Case) -> Exchange | None:
        """Send a part of a drawn request, and return its exchange; None if the profile does not permit to send it."""
        permitted = next(safe_cases([case], self._profile), None)
        if permitted is None:
            return None
        exchange = self._send(permitted, Generated.SMALLER)
        self._sent.append((replace(permitted, how_unusual=SMALLER), exchange))
        self._findings.pop(case.operation, None)  # to be computed again, because they lack this answer
        return exchange

    # -- judging ----------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> list[tuple[Case, Exchange]]:
        """The cases that were sent, with their answers."""
        return self._sent

    def judge(self, operation: str) -> Findings:
        """The `Findings` that judge the answers to the generated requests of one operation.

        They are stored, because tests and the search for smaller cases ask for them several times.
        """
        if operation not in self._findings:
            findings = Findings(self._reproduction)
            for case, exchange in self._sent:
                if case.operation == operation:
                    findings.add(case, exchange)
            self._findings[operation] = findings
        return self._findings[operation]


def _valid_reads(operation: str, profile: Profile, count: int) -> Iterator[Case]:
    """Valid reads, as many as `count`, of the accounts of the profile in turn."""
    accounts = profile.accounts if operations()[operation].path_parameter else (None,)
    for account in islice(cycle(accounts), count):
        yield Case(operation, "", "valid", account, valid=True)


def _may_send_smaller(operation: str, profile: Profile) -> bool:
    """True if parts of a drawn request move no money. On a sandbox a prepared transfer is worth nothing."""
    moves_money = operations()[operation].permission in MONEY_PERMISSIONS
    return operation != "executePix" and (profile.is_sandbox or not moves_money)


@dataclass
class _Search:
    """A search for the smallest request that shows a finding."""

    generation: Generation
    operation: str
    requirement_id: str
    finding: Finding
    most: int
    """Requests that may be sent for this search."""
    times_sent: int = 0
    """Requests that were sent for it."""
    answers: dict[Case, list[Exchange]] = field(default_factory=dict)
    """Answers by case, of all that was sent to the operation before, too."""

    def __post_init__(self) -> None:
        """Take the answers that the run has already."""
        for case, exchange in self.generation.sent:
            if case.operation == self.operation:
                case_without_words = replace(case, unusual_part="", how_unusual="")  # equal cases = equal requests
                self.answers.setdefault(case_without_words, []).append(exchange)

    def shows(self, case: Case) -> bool:
        """Send the case, and return True if its answer shows the finding. Hypothesis calls this function.

        A case that was sent before is not sent again: the earlier answer counts. If no more requests may be sent, a new
        case counts as one that does not show the finding.
        """
        if case not in self.answers:
            may_be_sent = self.times_sent < self.most
            answer = self.generation.send_smaller(case) if may_be_sent else None
            self.answers[case] = [answer] if answer else []
            self.times_sent += len(self.answers[case])
        return any(self._is_shown(answer) for answer in self.answers[case])

    def _is_shown(self, answer: Exchange) -> bool:
        """True if one answer shows the finding."""
        findings = judge(self.requirement_id, answer).findings
        return self.finding in [replace(finding, exchanges=()) for finding in findings]
