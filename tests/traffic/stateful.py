"""The sequences of a run: which of them are followed, and what they show. To follow a sequence is to send its requests.

Some faults show only after certain other requests. So steps in a drawn order register, delete and list a key and read
the balance, and every answer is judged by the rules of its operation. On a sandbox, other sequences also prepare and
execute transfers. If an answer deviates, parts of the sequence are followed, to find the shortest one that still shows
the deviation. No part of a sequence with an execution is, because it would execute another transfer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from environments.door.client import Client
from environments.profiles.model import PixKey, Profile
from spec.exchange import Exchange, Purpose
from spec.findings import Finding
from spec.rules import Reproduction, judge
from tests.harness.selection import Selection
from tests.traffic.case import SMALLER, WITH_EXECUTION, Case
from tests.traffic.collecting import Findings, requirements_of
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.twice import ExecutedTwice, Repetition, execute_twice
from tests.traffic.sequences import (
    STEPS_OF_KEYS,
    STEPS_OF_TRANSFERS,
    USUAL_SEQUENCE_OF_A_TRANSFER,
    Followed,
    Following,
    Step,
    executes,
    executions_that_lose_a_key,
    possible_steps,
    situations_of_keys,
    situations_of_transfers,
)

SEQUENCES = "sequences"
_SEQUENCES_PER_EXAMPLE = 0.4
"""With the default of 18 examples there are seven sequences, each of five to eight steps: about 55 requests."""
_TRANSFERS_PER_EXAMPLE = 0.33
"""Sequences with transfers. With the default of 18 examples there are six: about 50 requests, of which 15 execute."""
_MOST_AGAIN = 3
"""Sequences with a deviation that are followed once more, alone. A few show whether the service was only busy."""
_MOST_SHORTER = 40
"""Most requests of one search for a shorter sequence that shows a finding: about eight parts of a sequence."""
_MOST_SHORTER_IN_ALL = 80
"""Most requests of all such searches, so that a service with many faults is not asked without end."""
_MOST_BALANCES = 3
"""Accounts whose balances are read. A transfer moves money between two accounts, and each account that is read takes
three requests."""


class InSequence(Purpose):
    """Why a request of a sequence is sent, unless the registrar says why it deletes a key."""

    STEP = "a step of a drawn sequence"
    SHORTER = "a step of a part of a drawn sequence, to see if that shows the same finding"


class DrawnSequences:
    """The sequences of one run, which register and delete keys and move money.

    Draws them, sends their requests, and hands the answers in to `Findings`, which judges them. It also executes one
    transfer twice.
    """

    def __init__(self, client: Client, profile: Profile, selection: Selection, reproduction: Reproduction) -> None:
        self.client = client.of_part(SEQUENCES)
        self.profile = profile
        self.selection = selection
        self.registrar = Registrar(self.client, profile)
        self.findings_without_transfers = Findings(reproduction)
        """The answers to sequences without transfers."""
        self.findings_with_transfers = Findings(reproduction)
        """The answers to executions, and to sequences with transfers."""
        self.executed_twice: ExecutedTwice | None = None  # None if no transfer was executed twice
        self.executions_losing_a_key: list[Exchange] = []
        """Executions after which the lists lack a key that they showed before."""
        self._with_keys: list[tuple[Step, ...]] = []
        self._with_transfers: list[tuple[Step, ...]] = []

    def draw(self, seed: int, examples: int) -> None:
        """Draw the sequences, so that `follow` can send them. The more `examples`, the more sequences."""
        from tests.traffic.drawing import draw_sequences  # here, because importing Schemathesis takes most of a second

        count = max(1, round(_SEQUENCES_PER_EXAMPLE * examples))
        self._with_keys = draw_sequences(f"{seed} sequences", count, STEPS_OF_KEYS, situations_of_keys)
        if self._may_execute():
            count = max(1, round(_TRANSFERS_PER_EXAMPLE * examples))
            self._with_transfers = draw_sequences(
                f"{seed} sequences with transfers",
                count,
                STEPS_OF_TRANSFERS,
                situations_of_transfers,
                possible=possible_steps,
                example=USUAL_SEQUENCE_OF_A_TRANSFER,
            )

    def _may_execute(self) -> bool:
        """True if sequences may execute transfers: on a sandbox, transfers that the run prepares, if a selected
        requirement needs an execution."""
        return (
            self.profile.is_sandbox
            and self.profile.transactions.prepare is not None
            and self.selection.needs_real_codes
        )

    def follow(self) -> None:
        """Send everything that was drawn, and execute one transfer twice.

        The first sequence takes a key of the profile, if the run may delete one. The other sequences take synthetic
        keys, so that they may be sent together. Those with transfers go alone.
        """
        first, *others = self._with_keys
        own_key = self.registrar.reusable_key()
        followed_first = self._follow_sequence(first, own_key)
        self._hand_in(followed_first, self.findings_without_transfers)
        self._execute_twice()
        self._follow_with_transfers()
        followed_together = self._follow_together(others)
        self._follow_deviating_again([followed_first, *followed_together], self._with_keys)

    def _follow_together(self, sequences: Sequence[Sequence[Step]]) -> list[Followed]:
        """Follow sequences of keys at the same time."""
        sends = [partial(self._follow_sequence, sequence, self._synthetic_key()) for sequence in sequences]
        all_followed = self.registrar.together.send_all(sends)
        for followed in all_followed:
            self._hand_in(followed, self.findings_without_transfers)
        return all_followed

    def _follow_deviating_again(self, all_followed: Iterable[Followed], sequences: Iterable[Sequence[Step]]) -> None:
        """Follow the first few sequences of keys with a deviation once more, alone.

        The service may only have been busy with other requests. And a robustness requirement is broken only by a
        deviation that shows twice. `all_followed` has what was sent of each sequence, in the order of `sequences`.
        """
        deviating = [
            sequence for sequence, followed in zip(sequences, all_followed, strict=True) if _deviates(followed)
        ]
        for sequence in deviating[:_MOST_AGAIN]:
            self._hand_in(self._follow_sequence(sequence, self._synthetic_key()), self.findings_without_transfers)

    def _follow_with_transfers(self) -> None:
        """Follow the sequences with transfers, one after the other.

        The first one with a deviation is followed once more, with another transfer, because a robustness requirement is
        broken only by a deviation that shows twice.
        """
        may_follow_again = True
        for sequence in self._with_transfers:
            if (
                not self.client.door.guard.count_possible_executions()
            ):  # without an execution, the transfers would stay prepared
                return
            followed = self._follow_with_transfer(sequence)
            if may_follow_again and _deviates(followed):
                may_follow_again = False
                self._follow_with_transfer(sequence)

    def _follow_with_transfer(self, sequence: Sequence[Step]) -> Followed:
        """Follow a sequence with transfers, and have its answers judged."""
        key = self._synthetic_key()
        followed = self._follow_sequence(sequence, key)
        self._hand_in(followed, self.findings_with_transfers)
        if key is not None:
            self.executions_losing_a_key += executions_that_lose_a_key(followed, key, self.profile.key_at)
        return followed

    def send_shorter_sequences(self) -> None:
        """For each finding, search for the shortest part of its sequence that still shows it, with other keys.

        Sequences with an execution are left out, because their parts would execute further transfers.
        """
        from tests.traffic.drawing import search_for_shorter_sequence

        requests_left = _MOST_SHORTER_IN_ALL
        for findings in (self.findings_without_transfers, self.findings_with_transfers):
            for requirement_id, finding, case in findings.found_by_drawn_requests_alone():
                steps = [Step(step) for step in case.steps]
                if executes(steps):
                    continue
                search = _Search(self, findings, requirement_id, finding, min(requests_left, _MOST_SHORTER))
                search_for_shorter_sequence(steps, search.shows)
                requests_left -= search.times_sent

    def follow_shorter(self, sequence: Sequence[Step], findings: Findings) -> Followed:
        """Send a part of a drawn sequence, and hand in its answers. Returns the steps that were taken, with answers."""
        followed = self._follow_sequence(sequence, self._synthetic_key(), InSequence.SHORTER)
        self._hand_in(followed, findings, what=SMALLER)
        return followed

    def _synthetic_key(self) -> PixKey | None:
        """A new key for a sequence; None if the run may not register and delete synthetic keys."""
        return self.registrar.synthetic_key() if self.registrar.key_for_deletions() else None

    def _follow_sequence(
        self, sequence: Sequence[Step], key: PixKey | None, purpose: Purpose = InSequence.STEP
    ) -> Followed:
        """Send the request of each step that the profile and the selection permit, and return the steps with answers.

        The key is deleted at the end if it is still registered. Nothing is sent once a limit of the profile is reached.
        """
        following = Following(self.registrar, self.profile, self.selection, purpose, key)
        if not self.findings_without_transfers.why_incomplete and not self.findings_with_transfers.why_incomplete:
            for step in sequence:
                following.take(step)
        following.end()
        return following.followed

    def _hand_in(self, followed: Followed, findings: Findings, what: str = "") -> None:
        """Hand in the answers of a sequence for judging, each with the steps that led to it.

        `what` is SMALLER if the sequence is a part of another one, because such a part is not counted in a finding.
        """
        steps = tuple(step for step, _ in followed)
        for count, (_, exchange) in enumerate(followed, 1):
            self._hand_in_answer(exchange, steps[:count], findings, what)

    def _hand_in_answer(self, exchange: Exchange, steps: Sequence[Step], findings: Findings, what: str = "") -> None:
        """Hand in one answer for judging. `steps` are those that led to it, its own step included."""
        if executes(steps):
            what = WITH_EXECUTION
        names = tuple(step.value for step in steps)
        findings.add(Case(exchange.operation, how_unusual=what, valid=True, steps=names), exchange)

    # -- a transfer that is executed twice --------------------------------------------------------------------------

    def _execute_twice(self) -> None:
        """Execute one transfer twice, on a sandbox, if the requirement about that is selected."""
        is_wanted = self._may_execute() and self.selection.includes_any("executePix.repeated")
        if is_wanted and not self.findings_without_transfers.why_incomplete:
            self.executed_twice = execute_twice(self.client, self.profile, self._read_balances, self._hand_in_execution)

    def _hand_in_execution(self, exchange: Exchange) -> None:
        """Hand in the answer to an execution for judging. The second execution of a code is no valid request."""
        steps = (Step.EXECUTE,) if exchange.valid else (Step.EXECUTE, Step.EXECUTE_AGAIN)
        self._hand_in_answer(exchange, steps, self.findings_with_transfers)

    def _read_balances(self) -> Mapping[str, Exchange]:
        """Read the balances of the first accounts of the profile. Returns the answers by account.

        They are handed in for judging. Empty if the selection does not reach the operation. No balance is read once a
        limit of the profile is reached.
        """
        answers: dict[str, Exchange] = {}
        if "getBalance" not in self.selection.operations:
            return answers
        for account in self.profile.accounts[:_MOST_BALANCES]:
            if self.findings_with_transfers.why_incomplete:
                break
            answer = self.client.send("getBalance", account, valid=True, purpose=Repetition.BALANCE)
            self._hand_in_answer(answer, (Step.BALANCE,), self.findings_with_transfers)
            answers[account] = answer
        return answers


@dataclass
class _Search:
    """A search for the shortest sequence that shows a finding."""

    sequences: DrawnSequences
    findings: Findings
    """All findings of sequences of this sort, to which the new answers are handed in."""
    requirement_id: str
    finding: Finding
    most: int
    """Requests that may be sent for this search."""
    times_sent: int = 0
    """Requests that were sent for it."""
    shown_by: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """By steps, whether they show the finding. Sequences that were followed before are in it, too."""

    def __post_init__(self) -> None:
        """Note which of the sequences that were followed already show the finding."""
        for case, exchange in self.findings.cases_with_answers:
            is_shown_before = self.shown_by.get(case.steps[:-1], False)
            self.shown_by[case.steps] = is_shown_before or self._is_shown(exchange)

    def shows(self, sequence: Sequence[Step]) -> bool:
        """Send the sequence, and return True if an answer shows the finding. Hypothesis calls this function.

        A sequence that was sent before is not sent again: what it showed then counts. If it would take more requests
        than may be sent, it counts as one that does not show the finding.
        """
        steps = tuple(step.value for step in sequence)
        if steps not in self.shown_by:
            may_be_followed = self.times_sent + len(steps) < self.most  # one less: it may delete its key at the end
            followed = self.sequences.follow_shorter(sequence, self.findings) if may_be_followed else []
            self.times_sent += len(followed)
            self.shown_by[steps] = any(self._is_shown(exchange) for _, exchange in followed)
        return self.shown_by[steps]

    def _is_shown(self, exchange: Exchange) -> bool:
        """True if one exchange shows the finding."""
        if not _answers_for(self.requirement_id, exchange):
            return False
        findings = judge(self.requirement_id, exchange).findings
        return self.finding in [replace(finding, exchanges=()) for finding in findings]


def _answers_for(requirement_id: str, exchange: Exchange) -> bool:
    """True if the requirement is about the operation of the exchange."""
    return requirement_id.startswith(f"{exchange.operation}.")


def _deviates(followed: Followed) -> bool:
    """True if an answer deviates from a requirement of its operation."""
    for _, exchange in followed:
        for requirement_id in requirements_of(exchange.operation, valid=True):
            if judge(requirement_id, exchange).deviates:
                return True
    return False
