"""The sequences of a run: which of them are sent, and what they show.

Some faults show only after certain other requests. So steps in a drawn order register, delete and list a key and read
the balance, and every answer is judged by the rules of its operation. On a sandbox, other sequences also prepare and
execute transfers. If an answer deviates, parts of the sequence are sent, to find the shortest part that still shows
the deviation. Parts of a sequence with an execution are not sent, because they would execute further transfers.

`sequences.py` has the steps and sends one sequence. `drawing/step_sequences.py` draws them.
tests/conformance/test_stateful.py asks for the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial

from environments.door.client import Client
from environments.profiles.model import PixKey, Profile
from spec.exchange import Exchange, Purpose
from spec.findings import Finding
from spec.log import SEQUENCES
from spec.rules import judge
from spec.rules.reproduction import Reproduction
from tests.harness.selection import Selection
from tests.traffic.case import SMALLER, WITH_EXECUTION, Case
from tests.traffic.collecting import JudgedAnswers, requirements_of
from tests.traffic.earlier_steps import search_for_earlier_steps
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.twice import ExecutedTwice, Repetition, execute_twice
from tests.traffic.sequences import (
    SEQUENCE_OF_ANOTHER_ACCOUNT,
    SEQUENCE_OF_SEVERAL_TRANSFERS,
    STEPS_WITH_TRANSFERS,
    STEPS_WITHOUT_TRANSFERS,
    USUAL_SEQUENCE_OF_A_TRANSFER,
    SequenceSender,
    Step,
    StepsWithAnswers,
    executes,
    executions_after_which_a_key_is_missing,
    patterns_with_transfers,
    patterns_without_transfers,
    possible_steps,
)

_SEQUENCES_PER_EXAMPLE = 0.4
"""With the default number of examples (15) there are six sequences, each of five to eight steps: about 40 requests."""
_TRANSFERS_PER_EXAMPLE = 0.33
"""Sequences with transfers. With the default number of examples (15) there are five. Two of them are the same in every
run, and have 23 steps together."""
_MOST_AGAIN = 3
"""Sequences with a deviation that are sent once more, alone. A few show whether the service was only busy."""
_MOST_SHORTER = 40
"""Most requests of one search for a shorter sequence that shows a finding: about eight parts of a sequence."""
_MOST_SHORTER_IN_ALL = 80
"""Most requests of all such searches, so that a service with many faults does not get endless requests."""
_MOST_BALANCES = 3
"""Accounts whose balances are read. A transfer moves money between two accounts, and each account that is read takes
three requests."""


_SequenceWithKey = tuple[Sequence[Step], PixKey | None]
"""A drawn sequence, and the key that it registers and deletes; None if the run may not register and delete keys."""
_SentSequence = tuple[Sequence[Step], StepsWithAnswers]
"""A drawn sequence, and those of its steps that were sent, with their answers."""


class InSequence(Purpose):
    """Why a request of a sequence is sent, unless the registrar says why it deletes a key."""

    STEP = "a step of a drawn sequence"
    SHORTER = "a step of a part of a drawn sequence, to see if that shows the same finding"


class DrawnSequences:
    """The sequences of one run, which register and delete keys and move money.

    Draws them, sends their requests, and keeps the answers as `JudgedAnswers`, which find the deviations. It also
    executes one transfer twice.
    """

    def __init__(self, client: Client, profile: Profile, selection: Selection, reproduction: Reproduction) -> None:
        """`reproduction` judges the answers; it knows which deviations were seen a second time."""
        self.client = client.of_generator(SEQUENCES)  # its requests are marked as those of sequences
        self.profile = profile
        self.selection = selection  # the requirements that the command line selects, and their operations
        self.reproduction = reproduction
        self.registrar = Registrar(self.client, profile)  # registers and deletes keys
        self.answers_without_transfers = JudgedAnswers(reproduction)
        """The answers to sequences without transfers."""
        self.answers_with_transfers = JudgedAnswers(reproduction)
        """The answers to sequences with transfers, and to the transfer that is executed twice."""
        self.executed_twice: ExecutedTwice | None = None  # None if no transfer was executed twice
        self.executions_after_which_a_key_is_missing: list[Exchange] = []
        """Executions after which the lists lack a key that they showed before."""
        # The drawn sequences. A sequence without transfers only registers and deletes a key, and reads.
        self._without_transfers: list[tuple[Step, ...]] = []
        self._with_transfers: list[tuple[Step, ...]] = []
        self._unsent_without_transfers: list[_SequenceWithKey] = []
        self._sent_without_transfers: list[_SentSequence] = []
        self._sent_with_transfers: list[_SentSequence] = []
        self._executions_of_one_transfer: StepsWithAnswers = []  # of the transfer that is executed twice
        self._drawn: Future[None] | None = None
        """Done when the sequences are drawn; None until `begin` is called."""

    def begin(self, executor: Executor, seed: int, examples: int) -> None:
        """Have the thread of this executor draw sequences of operations, so that requests can be sent meanwhile.

        `examples` is the number of the option --examples: the greater it is, the more sequences are drawn. With the
        same `seed` the same sequences are drawn. `send_alone` waits until they are drawn.

        Schemathesis is imported here, before the other thread starts, because CPython 3.11 fails if two threads parse
        Python at once. It is not imported at the top of the module, because the import takes most of a second.
        """
        import tests.traffic.drawing.cases  # noqa: F401 - imports Schemathesis

        self._drawn = executor.submit(self._draw, seed, examples)

    def _draw(self, seed: int, examples: int) -> None:
        """Draw sequences of operations. Sequences with transfers are drawn only if transfers may be executed.

        `examples` is the number of the option --examples, on which the number of sequences depends.
        """
        from tests.traffic.drawing.step_sequences import draw_sequences  # not at the top: imports Hypothesis

        count = max(1, round(_SEQUENCES_PER_EXAMPLE * examples))
        self._without_transfers = draw_sequences(
            f"{seed} sequences", count, STEPS_WITHOUT_TRANSFERS, patterns_without_transfers
        )
        if self.profile.is_sandbox:
            self._without_transfers.append(SEQUENCE_OF_ANOTHER_ACCOUNT)
        if self._may_execute():
            count = max(1, round(_TRANSFERS_PER_EXAMPLE * examples))
            self._with_transfers = draw_sequences(
                f"{seed} sequences with transfers",
                count,
                STEPS_WITH_TRANSFERS,
                patterns_with_transfers,
                without_impossible_steps=possible_steps,
                examples=(USUAL_SEQUENCE_OF_A_TRANSFER, SEQUENCE_OF_SEVERAL_TRANSFERS),  # part of every run
            )

    def _may_execute(self) -> bool:
        """True if sequences may execute transfers.

        They may do so only on a sandbox (a service without real money), if the profile says how to prepare transfers,
        and if a requirement that the command line selects needs an execution.
        """
        return (
            self.profile.is_sandbox
            and self.profile.transactions.prepare is not None
            and self.selection.needs_real_codes
        )

    def send_alone(self) -> None:
        """Send what must not be sent beside other requests. Answers are kept. Waits until the sequences are drawn.

        - Outside a sandbox: the first sequence without transfers. If the run may delete a key of the profile, this
          sequence registers and deletes that key, which belongs to somebody.
        - On a sandbox: one transfer, which is executed twice.
        """
        if self._drawn is not None:
            self._drawn.result()
        # The first sequence has a key of the profile, if the run may delete one. Any other sequence has a made-up key.
        keys = [self.registrar.reusable_key()]
        keys += [self._synthetic_key() for _ in self._without_transfers[1:]]
        self._unsent_without_transfers = list(zip(self._without_transfers, keys, strict=True))
        if not self.profile.is_sandbox:
            self._send_without_transfers(self._unsent_without_transfers[:1])
            self._unsent_without_transfers = self._unsent_without_transfers[1:]
        self._execute_twice()  # does nothing outside a sandbox

    def senders(self) -> list[Callable[[], None]]:
        """Two functions that send the sequences which `send_alone` has not sent: without transfers, and with transfers.

        They may be called at the same time as other functions that send. Their requests go before others that wait for
        their turn, because in a sequence each request waits for the answer to the one before.
        """
        return [partial(self._send_without_transfers, self._unsent_without_transfers), self._send_with_transfers]

    def _send_without_transfers(self, sequences_with_keys: Sequence[_SequenceWithKey]) -> None:
        """Send these sequences, which have no transfers, at the same time, and keep their answers for judging.

        Each sequence has a key of its own. It is None if the run may not register and delete keys: then the sequence
        only reads.
        """
        sends = [partial(self._send_sequence, sequence, key) for sequence, key in sequences_with_keys]
        steps_of_sequences = self.registrar.together.send_all(sends, go_first=True)
        for (sequence, _), steps_sent in zip(sequences_with_keys, steps_of_sequences, strict=True):
            self._sent_without_transfers.append((sequence, steps_sent))
            self._add_answers(steps_sent, self.answers_without_transfers)

    def _send_with_transfers(self) -> None:
        """Send the sequences with transfers, one after the other, and keep their answers for judging."""
        # `send_all` is for several functions. It gets a single one here, because it also sends requests again whose
        # answers may be caused by requests of other threads.
        self.registrar.together.send_all([self._send_one_after_the_other], go_first=True)

    def _send_one_after_the_other(self) -> None:
        """Send the sequences with transfers, as long as transfers may be executed.

        If a limit permits no further execution, a sequence would only prepare transfers, and never execute them.
        """
        for sequence in self._with_transfers:
            if self.client.door.guard.count_possible_executions() == 0:
                return
            self._sent_with_transfers.append((sequence, self._send_sequence_with_transfers(sequence)))

    def send_deviating_again(self) -> None:
        """Send the first few sequences with a deviation once more, alone, and keep their answers for judging.

        The service may have been busy with other requests the first time. And a robustness requirement, such as "no
        server error", is broken only by a deviation that shows twice. Of the sequences with transfers only one is sent
        again, with new transfers, because each further one would execute transfers.
        """
        for sequence in _deviating(self._sent_with_transfers)[:1]:
            self._send_sequence_with_transfers(sequence)  # it also keeps the answers
        for sequence in _deviating(self._sent_without_transfers)[:_MOST_AGAIN]:
            steps_sent = self._send_sequence(sequence, self._synthetic_key())
            self._add_answers(steps_sent, self.answers_without_transfers)

    def _send_sequence_with_transfers(self, sequence: Sequence[Step]) -> StepsWithAnswers:
        """Send a sequence with transfers, and keep its answers for judging. Returns the steps sent, with their answers.

        It also notes executions after which the lists of keys lack the key of the sequence, for a warning.
        """
        key = self._synthetic_key()
        steps_sent = self._send_sequence(sequence, key)
        self._add_answers(steps_sent, self.answers_with_transfers)
        if key is not None:
            self.executions_after_which_a_key_is_missing += executions_after_which_a_key_is_missing(
                steps_sent, key, self.profile.key_at
            )
        return steps_sent

    def send_shorter_sequences(self) -> None:
        """For each finding (a deviation), search for the shortest part of its sequence that still shows it.

        A short sequence explains a deviation better. Its parts are sent, each with a new key. Sequences with an
        execution are left out, because their parts would execute further transfers.
        """
        # Not imported at the top, because this imports Hypothesis.
        from tests.traffic.drawing.step_sequences import search_for_shorter_sequence

        requests_left = _MOST_SHORTER_IN_ALL
        for judged_answers in (self.answers_without_transfers, self.answers_with_transfers):
            for requirement_id, finding, case in judged_answers.found_by_drawn_requests_alone():
                steps = [Step(step) for step in case.steps]
                if executes(steps):
                    continue
                most = min(requests_left, _MOST_SHORTER)
                search = _ShortestSequenceSearch(self, judged_answers, requirement_id, finding, most)
                search_for_shorter_sequence(steps, search.shows)
                requests_left -= search.times_sent

    def send_shorter_sequence(self, sequence: Sequence[Step], judged_answers: JudgedAnswers) -> StepsWithAnswers:
        """Send a part of a drawn sequence, and add its answers to `judged_answers`, which finds the deviations in them.

        Returns the steps that were sent, with their answers. The search for a shorter sequence calls this method.
        """
        steps_sent = self._send_sequence(sequence, self._synthetic_key(), InSequence.SHORTER)
        self._add_answers(steps_sent, judged_answers, how_unusual=SMALLER)
        return steps_sent

    def send_earlier_steps(self) -> None:
        """Search the earlier steps that a deviation needs, if a valid request shows it at some times only."""
        cases_with_answers = self.answers_without_transfers.cases_with_answers
        sequences = [(tuple(map(Step, case.steps)), exchange) for case, exchange in cases_with_answers]
        search_for_earlier_steps(self, self.client.door.exchanges, sequences)

    def send_alone_with_new_key(self, steps: Sequence[Step]) -> StepsWithAnswers:
        """Send these steps with a new key. Returns those that were sent, with their answers, which are not kept."""
        return self._send_sequence(steps, self._synthetic_key(), InSequence.SHORTER)

    def add_steps_that_show_a_finding(self, steps_sent: StepsWithAnswers) -> None:
        """Keep the answers of these steps, of which the last one surely shows a finding because of the others."""
        self._add_answers(steps_sent, self.answers_without_transfers, how_unusual=SMALLER)
        _, last = steps_sent[-1]
        self.reproduction.note_shown_after_steps(last)

    def _synthetic_key(self) -> PixKey | None:
        """A new made-up key for a sequence; None if the run may not register and delete made-up keys."""
        return self.registrar.synthetic_key() if self.registrar.may_delete_synthetic_keys else None

    def _send_sequence(
        self, sequence: Sequence[Step], key: PixKey | None, purpose: Purpose = InSequence.STEP
    ) -> StepsWithAnswers:
        """Send the request of each step of a sequence, and return the steps that were sent, with their answers.

        A step is left out if the profile does not permit it, or if no selected requirement needs its operation. `key`
        is the key that the sequence registers and deletes; it is deleted at the end if it is still registered. Nothing
        is sent once a limit of the profile has kept a request back (`why_incomplete`).
        """
        sender = SequenceSender(self.registrar, self.profile, self.selection, purpose, key)
        of_both_sorts = (self.answers_without_transfers, self.answers_with_transfers)
        is_limit_reached = any(judged_answers.why_incomplete for judged_answers in of_both_sorts)
        if not is_limit_reached:
            for step in sequence:
                sender.send_step(step)
        sender.end()
        return sender.steps_sent

    def _add_answers(self, steps_sent: StepsWithAnswers, judged_answers: JudgedAnswers, how_unusual: str = "") -> None:
        """Add the answers of a sequence to `judged_answers`, each with the steps that led to it.

        `how_unusual` is SMALLER if the sequence is a part of another one. The report does not count such a sequence,
        because the number of parts depends on the search.
        """
        steps = tuple(step for step, _ in steps_sent)
        exchanges = [exchange for _, exchange in steps_sent]
        for count, exchange in enumerate(exchanges, 1):
            self._add_answer(exchange, steps[:count], judged_answers, how_unusual)
            self._note_steps_before(exchange, exchanges[: count - 1])

    def _note_steps_before(self, exchange: Exchange, steps_before: Sequence[Exchange]) -> None:
        """Note the steps before a step of a sequence, so that the report can list them."""
        if steps_before:
            self.reproduction.steps_before[exchange.number] = tuple(steps_before)

    def _add_answer(
        self, exchange: Exchange, steps: Sequence[Step], judged_answers: JudgedAnswers, how_unusual: str = ""
    ) -> None:
        """Add one answer to `judged_answers`. `steps` are the steps that led to it, its own step included.

        If a step executes a transfer, the answer gets the mark WITH_EXECUTION, so that no shorter sequence is searched.
        """
        if executes(steps):
            how_unusual = WITH_EXECUTION
        names = tuple(step.value for step in steps)
        judged_answers.add(Case(exchange.operation, how_unusual=how_unusual, valid=True, steps=names), exchange)

    # -- a transfer that is executed twice --------------------------------------------------------------------------

    def _execute_twice(self) -> None:
        """Execute one transfer twice, if executions are permitted and the requirement about that is selected.

        The answers and the balances are kept for the test of that requirement.
        """
        is_wanted = self._may_execute() and self.selection.includes_any("executePix.repeated")
        if is_wanted and not self.answers_without_transfers.why_incomplete:
            self.executed_twice = execute_twice(
                self.client, self.profile, self._read_balances, self._add_answer_to_execution
            )

    def _add_answer_to_execution(self, exchange: Exchange) -> None:
        """Keep the answer to one of the two executions of a transfer, so that it is judged by the rules of executions.

        The first execution of a code is a valid request. The second one is not, because nothing promises its success.
        """
        is_first_execution = exchange.valid
        step = Step.EXECUTE if is_first_execution else Step.EXECUTE_AGAIN
        self._add_answer_after_executions(step, exchange)
        self._executions_of_one_transfer.append((step, exchange))

    def _add_answer_after_executions(self, step: Step, exchange: Exchange) -> None:
        """Keep an answer to a request before, between or after both executions of a transfer, with those before it."""
        steps_sent = [*self._executions_of_one_transfer, (step, exchange)]
        self._add_answer(exchange, [step for step, _ in steps_sent], self.answers_with_transfers)
        self._note_steps_before(exchange, [execution for _, execution in self._executions_of_one_transfer])

    def _read_balances(self) -> Mapping[str, Exchange]:
        """Read the balances of the first few accounts of the profile, to see whether a transfer moved money.

        Returns the answers by account, and keeps them to be judged. The result is empty if the selected requirements
        and the profile do not permit to read balances. No balance is read once a limit of the profile has kept a
        request back (`why_incomplete`).
        """
        if "getBalance" not in self.selection.operations or self.answers_with_transfers.why_incomplete:
            return {}
        accounts = self.profile.accounts[:_MOST_BALANCES]
        read = partial(self.client.send, "getBalance", valid=True, purpose=Repetition.BALANCE)
        answers = self.registrar.together.send_all([partial(read, account) for account in accounts])
        for answer in answers:
            self._add_answer_after_executions(Step.BALANCE, answer)
        return dict(zip(accounts, answers, strict=True))


@dataclass
class _ShortestSequenceSearch:
    """A search for the shortest sequence that shows a finding (a deviation from a requirement)."""

    sequences: DrawnSequences
    judged_answers: JudgedAnswers
    """All answers to sequences of this sort. The answers to shorter sequences are added to them."""
    requirement_id: str
    finding: Finding
    most: int
    """Requests that may be sent for this search."""
    times_sent: int = 0
    """Requests that were sent for it."""
    shown_by: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """By steps, whether they show the finding: also the steps of all sequences that were sent before this search."""

    def __post_init__(self) -> None:
        """Note which sequences of the run, and which beginnings of them, show the finding, so that none is sent again.

        `case.steps` are the steps up to an answer. They show the finding if this answer shows it, or if the same steps
        without the last one show it already.
        """
        for case, exchange in self.judged_answers.cases_with_answers:
            without_last_step = case.steps[:-1]
            is_shown_before = self.shown_by.get(without_last_step, False)
            self.shown_by[case.steps] = is_shown_before or self._is_shown(exchange)

    def shows(self, sequence: Sequence[Step]) -> bool:
        """Send the sequence, and return True if one of its answers shows the finding (a deviation).

        Hypothesis calls this function with shorter and shorter sequences. A sequence that was sent before is not sent
        again: what it showed then counts. If it needs more requests than may be sent, it counts as one that does not
        show the finding, so that the search ends.
        """
        steps = tuple(step.value for step in sequence)
        if steps not in self.shown_by:
            # One request less than `most`, because the sequence may end with a deletion of its key.
            may_be_sent = self.times_sent + len(steps) < self.most
            steps_sent = self.sequences.send_shorter_sequence(sequence, self.judged_answers) if may_be_sent else []
            self.times_sent += len(steps_sent)
            self.shown_by[steps] = any(self._is_shown(exchange) for _, exchange in steps_sent)
        return self.shown_by[steps]

    def _is_shown(self, exchange: Exchange) -> bool:
        """True if this exchange shows the finding, which is the deviation that the search is about."""
        if not _is_about_operation_of(self.requirement_id, exchange):  # a step of another operation
            return False
        findings = judge(self.requirement_id, exchange).findings
        # Without the numbers of exchanges, two findings are equal if they describe the same deviation.
        return self.finding in [replace(finding, exchanges=()) for finding in findings]


def _is_about_operation_of(requirement_id: str, exchange: Exchange) -> bool:
    """True if the requirement is about the operation of the exchange: "executePix.status" about an execution."""
    return requirement_id.startswith(f"{exchange.operation}.")


def _deviating(sent: Iterable[_SentSequence]) -> list[Sequence[Step]]:
    """Those of these sequences that have an answer which deviates from a requirement."""
    return [sequence for sequence, steps_sent in sent if _has_deviating_answer(steps_sent)]


def _has_deviating_answer(steps_sent: StepsWithAnswers) -> bool:
    """True if an answer in a sequence of requests deviates from a requirement of its operation.

    `steps_sent` has the steps of the sequence that were sent, with their answers.
    """
    for _, exchange in steps_sent:
        for requirement_id in requirements_of(exchange.operation, valid=True):
            if judge(requirement_id, exchange).deviates:
                return True
    return False
