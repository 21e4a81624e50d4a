"""Generated traffic: many requests to each operation, whose answers are judged by the rules.

`phases.py` starts a thread that draws it while the requests of scenarios are sent. tests/conformance/test_property.py
asks for the findings. There are three sorts of requests:

- Valid reads, because they change nothing.
- The invalid requests of `invalid.py`.
- Requests that Schemathesis draws from the OpenAPI schema (`drawing/cases.py`). If one shows a deviation, parts of it
  are sent, to find the smallest request that still shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING

from environments.door.bodies import body_with_another_key, key_and_type_in
from environments.door.client import Client
from environments.door.permission import synthetic
from environments.profiles.model import Profile
from spec.exchange import Exchange, Purpose
from spec.findings import Finding, Judgement
from spec.interface import MONEY_PERMISSIONS, PREPARING_OPERATIONS, READ_OPERATIONS, operations
from spec.json_text import as_bytes
from spec.rules import judge
from spec.rules.reproduction import Reproduction
from tests.harness.options import DEFAULT_EXAMPLES
from tests.traffic.accepted import REQUIREMENTS_OF_ACCEPTED, AcceptedRegistrations, is_unclear
from tests.traffic.case import DOCUMENTED_MEMBERS, SMALLER, Case, harmless_cases
from tests.traffic.collecting import JudgedAnswers
from tests.traffic.invalid import invalid_requests, other_invalid_requests, with_transfers_last
from tests.traffic.together import Together

if TYPE_CHECKING:
    from tests.traffic.drawing.cases import Drawing

_REGISTER = "registerPixKey"
_DEFAULT_READS = 12
"""Valid requests to each operation that only reads: those of scenarios, sequences and this module together. A fault in
one answer of four is then missed once in 30 runs (0.75 to the power of 12). That is enough, because such a fault is a
warning at most."""
_DEFAULT_EXAMPLES_OF_TRANSFERS = 2
"""Requests that are drawn for each operation that prepares transfers. Every run sends some sixty further requests to
each of them, which show more (`Drawing.cases_of_every_run`)."""
MOST_SMALLER_CASES = 40
"""Requests that search a smaller case of one finding. They are enough for each fault of the self-test
promises/test_drawn_faults.py."""
_MOST_SMALLER_IN_ALL = 120
"""Requests that search smaller cases of all findings: a limit for services with many faults."""


def default_examples(operation: str) -> int:
    """How many requests are drawn for an operation if nobody asks for a number: 15, or 2 if it prepares transfers."""
    return _DEFAULT_EXAMPLES_OF_TRANSFERS if operation in PREPARING_OPERATIONS else DEFAULT_EXAMPLES


class Generated(Purpose):
    """Why a generated request is sent."""

    READ = "a valid read, because one answer of several may deviate"
    INVALID = "an invalid request that is not drawn"
    DRAWN = "a request that is drawn from the schema"
    SMALLER = "a part of a drawn request, to see if it shows the same finding"


def _purpose_of(case: Case) -> Generated:
    """Why a generated request (a case) is sent: a valid read, an invalid request from a table, or a drawn request.

    Only an invalid request from the tables of `invalid.py` names its invalid part (`case.unusual_part`). A request that
    Schemathesis drew at random names none.
    """
    if case.valid:
        return Generated.READ
    return Generated.INVALID if case.unusual_part else Generated.DRAWN


class Generation:
    """The generated traffic of a run: draws the requests, sends them, and judges the answers.

    The scenario `send_invalid` sends some invalid requests to an operation: those whose answers the report observes.
    They are not sent again here.
    """

    def __init__(
        self,
        client: Client,
        profile: Profile,
        reproduction: Reproduction,
        operations_of_send_invalid: Collection[str] = (),
    ) -> None:
        """`operations_of_send_invalid` are the operations to which the scenario `send_invalid` sends invalid requests.

        The report lists the answers to these requests as observations. They are not sent a second time here.
        """
        self._client = client
        self._profile = profile
        self._reproduction = reproduction  # judges answers, and knows which deviations were seen twice
        self._operations_of_send_invalid = operations_of_send_invalid
        self.accepted = AcceptedRegistrations(client, profile)
        """Which drawn registrations the service accepted, so that their answers are judged like those of valid ones."""
        self._number_by_operation: dict[str, int] = {}  # how many requests are drawn; 0 means the default number
        self._seed = 0  # decides what is drawn
        self._drawing: Drawing | None = None  # draws with Schemathesis
        self._drawn: Future[list[Case]] | None = None  # the result of the thread that draws
        self._reads: list[Case] = []  # valid reads, of which `send_missing_reads` sends those that are missing
        self._sent: list[tuple[Case, Exchange]] = []
        self._judged_answers: dict[str, JudgedAnswers] = {}  # by operation

    def add_operation(self, operation: str, seed: int, examples: int) -> None:
        """Note that requests to an operation are to be drawn. `begin` draws them later, in a thread of its own.

        `examples` is the number of drawn requests, and of valid reads; 0 means the default numbers. With the same
        `seed`, the same requests are drawn.
        """
        self._number_by_operation[operation] = examples
        self._seed = seed

    def begin(self, executor: Executor) -> None:
        """Have the thread of this executor draw all requests, so that other requests can be sent meanwhile.

        Schemathesis is imported here, before the other thread starts, because CPython 3.11 fails if two threads parse
        Python at once (SystemError: AST constructor recursion depth mismatch).
        """
        is_anything_to_draw = bool(self._number_by_operation)
        if is_anything_to_draw:
            import tests.traffic.drawing.cases  # noqa: F401 - imports Schemathesis

            self._drawn = executor.submit(self._draw_all)

    def _draw_all(self) -> list[Case]:
        """The requests to all operations for which `add_operation` was called. They are not sent yet."""
        if not self._number_by_operation:
            return []
        from tests.traffic.drawing.cases import Drawing  # not at the top, because it takes most of a second

        drawing = Drawing(self._profile)
        self._drawing = drawing  # the search for smaller requests needs it again
        cases: list[Case] = []
        for operation in self._number_by_operation:
            cases += self._cases_of(operation, drawing)
        return cases

    def _cases_of(self, operation: str, drawing: Drawing) -> Iterator[Case]:
        """The requests to one operation: valid reads, invalid requests from tables, and requests drawn at random.

        They are not sent yet. Requests that the profile does not permit are left out (`harmless_cases`).
        """
        examples, profile = self._number_by_operation[operation], self._profile
        if operation in READ_OPERATIONS:
            yield from _valid_reads(operation, profile, examples or _DEFAULT_READS)
        if operation in self._operations_of_send_invalid:
            yield from other_invalid_requests(operation, profile)  # without those of the scenario `send_invalid`
        else:
            yield from invalid_requests(operation, profile)
        drawn: Iterable[Case] = drawing.cases(operation, self._seed, examples or default_examples(operation))
        if operation == _REGISTER and profile.may_delete_keys:
            drawn = map(_with_its_own_address, drawn)
        yield from harmless_cases(drawn, profile)

    def send(self, together: Together) -> None:
        """Wait for the thread that draws, send all that was drawn, many requests at once, and keep the answers.

        `together` sends many requests at once. If `begin` was not called, everything is drawn now. Valid reads are not
        sent here: scenarios also read, so `send_missing_reads` sends later only as many as are missing then. But if the
        user asks for a number of requests (--examples), all of them are sent here.
        """
        drawn = self._drawn.result() if self._drawn else self._draw_all()
        cases: list[Case] = []
        for case in drawn:
            is_read = case.valid  # of the generated requests, only reads are valid
            user_asks_for_a_number = bool(self._number_by_operation[case.operation])
            if is_read and not user_asks_for_a_number:
                self._reads.append(case)
            else:
                cases.append(case)
        # Transfers last, because a limit of the run may keep some of them back.
        self._send_all(with_transfers_last(cases), together)

    def send_missing_reads(self, together: Together) -> None:
        """Send as many valid reads to each operation as are missing to the number _DEFAULT_READS.

        Scenarios also send reads. It is called when they have sent all of theirs.
        """
        missing = Counter[str]()  # by operation
        for operation in {case.operation for case in self._reads}:
            missing[operation] = _DEFAULT_READS - len(self._client.door.log.valid(operation))
        cases: list[Case] = []
        for case in self._reads:
            if missing[case.operation] > 0:
                missing[case.operation] -= 1
                cases.append(case)
        self._send_all(cases, together)

    def _send_all(self, cases: Sequence[Case], together: Together) -> None:
        """Send these cases (requests) at the same time, and keep each with its exchange, which has the answer."""
        answers = together.send_all([partial(self._send, case, _purpose_of(case)) for case in cases])
        self._sent += zip(cases, answers, strict=True)

    def _send(self, case: Case, purpose: Generated) -> Exchange:
        """Send a case (a request), and return its exchange: the request with its answer.

        It is marked as generated traffic to its operation, so that other judgements leave it out.
        """
        return case.send(self._client.of_generator(case.operation).with_purpose(purpose))

    # -- smaller cases ----------------------------------------------------------------------------------------------

    def send_smaller_cases(self) -> None:
        """For each deviation that only randomly drawn requests show, search for the smallest request that shows it.

        A small request explains a deviation better. Parts of the drawn request are sent, until no smaller one shows the
        deviation, or until the limits of these searches are reached. Operations that may move money are left out.
        """
        requests_left = _MOST_SMALLER_IN_ALL
        if any(is_unclear(exchange) for _, exchange in self._sent):
            self.accepted.read_list()
        for operation in self._number_by_operation:
            if self._drawing is None or not _moves_no_money(operation, self._profile):
                continue
            for requirement_id, finding, case in self.judged_answers_to(operation).found_by_drawn_requests_alone():
                search = _SmallestCaseSearch(
                    self, operation, requirement_id, finding, min(requests_left, MOST_SMALLER_CASES)
                )
                self._drawing.search_for_smaller_case(case, search.shows)
                requests_left -= search.times_sent

    def send_smaller(self, case: Case) -> Exchange | None:
        """Send a part of a drawn request, keep its answer, and return its exchange (the request with its answer).

        None if the profile does not permit to send it. The search for the smallest request calls this method.
        """
        permitted = next(harmless_cases([case], self._profile), None)  # the case itself, perhaps for another account
        if permitted is None:
            return None
        exchange = self._send(self._with_a_key_not_sent_before(permitted), Generated.SMALLER)
        if is_unclear(exchange):
            self.accepted.read_list()
        self._sent.append((replace(permitted, how_unusual=SMALLER), exchange))
        self._judged_answers.pop(case.operation, None)  # `judged_answers_to` makes them again, with this answer
        return exchange

    def _with_a_key_not_sent_before(self, case: Case) -> Case:
        """The case with another key of the same form if it is a registration of a key that was sent before.

        The service may know that key, and may answer its registration otherwise for that reason alone. The case itself
        if the run may not delete the keys that it registers, so that it registers no more of them.
        """
        if case.operation != _REGISTER or case.body is None or not self._profile.may_delete_keys:
            return case
        sent_before = {
            key_and_type_in(exchange.request.body)[0] for _, exchange in self._sent if exchange.operation == _REGISTER
        }
        key, _ = key_and_type_in(case.body)
        another_body = body_with_another_key(case.body) if key in sent_before else None
        return replace(case, body=another_body) if another_body else case

    # -- judging ----------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> list[tuple[Case, Exchange]]:
        """The generated requests that were sent, each with its exchange (the request with its answer)."""
        return self._sent

    def judged_answers_to(self, operation: str) -> JudgedAnswers:
        """The answers to the generated requests of one operation, with the deviations in them.

        They are stored, because tests and the search for smaller requests ask for them several times.
        """
        if operation not in self._judged_answers:
            judged_answers = JudgedAnswers(self._reproduction, further_judgements=self._judgements_if_accepted)
            for case, exchange in self._sent:
                if case.operation == operation:
                    judged_answers.add(case, exchange)
            self._judged_answers[operation] = judged_answers
        return self._judged_answers[operation]

    def _judgements_if_accepted(self, exchange: Exchange) -> Iterator[tuple[str, Judgement]]:
        """The requirements on a successful registration, with their judgements. Empty if it was not accepted.

        Any other exchange has none, too: the interface document promises nothing about the answer to it.
        """
        if self.accepted.is_accepted(exchange):
            for requirement_id in REQUIREMENTS_OF_ACCEPTED:
                as_valid = self.accepted.as_valid(requirement_id, exchange)
                yield requirement_id, self._reproduction.judge(requirement_id, as_valid)


def _valid_reads(operation: str, profile: Profile, count: int) -> Iterator[Case]:
    """As many valid reads as `count`: requests that change nothing, such as GET /v1/accounts/balance/{accountId}.

    They name the accounts of the profile one after the other, again and again. None is sent if the path needs an
    account and the profile has none.
    """
    names_account = operations()[operation].path_parameter is not None
    accounts = profile.accounts if names_account else (None,)
    for account in islice(cycle(accounts), count):
        yield Case(operation, how_unusual="valid", path_parameter=account, valid=True)


def _with_its_own_address(registration: Case) -> Case:
    """The case (a drawn registration) with an e-mail address of its own in the place of the usual made-up key.

    A service reads the other members of a body if the key has the form of its type, which is EMAIL in most of them. And
    it may refuse a key because another registration has registered it already.
    """
    if registration.body is None:
        return registration
    usual_key = as_bytes(DOCUMENTED_MEMBERS[_REGISTER]["pixKey"])
    return replace(registration, body=registration.body.replace(usual_key, as_bytes(f"{synthetic()}@example.com")))


def _moves_no_money(operation: str, profile: Profile) -> bool:
    """True if parts of a request that was drawn at random may be sent, because they cannot move real money.

    On a sandbox, a service without real money, a prepared transfer is harmless. Parts of executions are never sent.
    """
    may_move_money = operations()[operation].permission in MONEY_PERMISSIONS
    return operation != "executePix" and (profile.is_sandbox or not may_move_money)


@dataclass
class _SmallestCaseSearch:
    """A search for the smallest request that shows a finding (a deviation from a requirement)."""

    generation: Generation
    operation: str
    requirement_id: str
    finding: Finding
    most: int
    """Requests that may be sent for this search."""
    times_sent: int = 0
    """Requests that were sent for it."""
    answers: dict[Case, list[Exchange]] = field(default_factory=dict)
    """By case, the answers of this search, and the answers to all generated requests to the operation before it."""

    def __post_init__(self) -> None:
        """Copy the answers that the run has already, so that no equal request is sent again."""
        for case, exchange in self.generation.sent:
            if case.operation == self.operation:
                # Without the words that describe them, two cases are equal if their requests are.
                case_without_words = replace(case, unusual_part="", how_unusual="")
                self.answers.setdefault(case_without_words, []).append(exchange)

    def shows(self, case: Case) -> bool:
        """Send the case (a request), and return True if its answer shows the finding, a deviation.

        Hypothesis calls this function with smaller and smaller requests. A case that was sent before is not sent again:
        the earlier answer counts. If no more requests may be sent, a new case counts as one that does not show the
        finding, so that the search ends.
        """
        if case not in self.answers:
            may_be_sent = self.times_sent < self.most
            answer = self.generation.send_smaller(case) if may_be_sent else None
            self.answers[case] = [answer] if answer else []
            self.times_sent += len(self.answers[case]) + sum(map(is_unclear, self.answers[case]))  # and lists of keys
        return any(self._is_shown(answer) for answer in self.answers[case])

    def _is_shown(self, answer: Exchange) -> bool:
        """True if this answer shows the finding, which is the deviation that the search is about."""
        answer_to_judge = self.generation.accepted.as_valid(self.requirement_id, answer)
        findings = judge(self.requirement_id, answer_to_judge).findings
        # Without the numbers of exchanges, two findings are equal if they describe the same deviation.
        return self.finding in [replace(finding, exchanges=()) for finding in findings]
