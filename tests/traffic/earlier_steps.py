"""Which earlier steps a deviation needs that a valid request shows at some times, and not at others.

A service may fail to list its keys after a key was deleted twice, for example. The request for the list alone does not
show that, and neither does a sequence that was sent beside others: perhaps their requests were the reason. So short
lists of steps are sent at the end of the run, alone, each with a new key, and each followed by the request. If the
request deviates after one of them, although it was answered as it should be right before, the steps are noted for the
report (`Reproduction.shown_after_steps`). To be sure, they are sent twice.

Executions are never among the steps, because each would move money.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spec.exchange import Exchange
from spec.findings import Finding
from spec.rules import judge
from tests.traffic.collecting import requirements_of
from tests.traffic.sequences import Step, StepsWithAnswers

if TYPE_CHECKING:
    from tests.traffic.stateful import DrawnSequences

_MOST_REQUESTS = 40
"""Most requests of one search. They are enough for all lists of steps below."""
_MOST_SEARCHES = 2
"""Most searches in a run: a limit for services with many faults."""
_STEP_BY_OPERATION: Mapping[str, Step] = {
    "listPixKeys": Step.LIST,
    "getBalance": Step.BALANCE,
    "registerPixKey": Step.REGISTER,
    "deletePixKey": Step.DELETE,
}
"""The operations whose deviations are searched, each with the step that sends a valid request."""
_LISTS_OF_STEPS: Sequence[tuple[Step, ...]] = (
    (),
    (Step.REGISTER,),
    (Step.REGISTER_WRONG_TYPE,),
    (Step.REGISTER, Step.REGISTER),
    (Step.REGISTER, Step.DELETE),
    (Step.REGISTER, Step.DELETE, Step.DELETE),
    (Step.BALANCE,),
    (Step.LIST,),
    (Step.REGISTER, Step.DELETE, Step.REGISTER),
)
"""Steps after which a service may answer otherwise, the most frequent reasons first. On a sandbox, the preparation of a
transfer is also tried."""
_TRIED_FIRST = 5
"""Lists of steps that are tried before the shortest sequence of the run that showed the deviation."""
_NEUTRAL_LISTS_OF_STEPS = ((), (Step.REGISTER,), (Step.REGISTER, Step.DELETE), (Step.REGISTER_WRONG_TYPE,))
"""Steps after one of which the service probably answers as it should again."""


def search_for_earlier_steps(
    sequences: DrawnSequences,
    exchanges: Sequence[Exchange],
    sequences_sent: Sequence[tuple[Sequence[Step], Exchange]] = (),
) -> None:
    """Search the steps before those valid requests that were answered rightly at some times, and not at others.

    `sequences` sends the steps, and `exchanges` are those of the run so far. `sequences_sent` has the steps up to each
    answer of a drawn sequence, with that answer. The shortest one that showed the deviation is tried, too.
    """
    for requirement_id, finding, step in list(_deviations_at_times(exchanges))[:_MOST_SEARCHES]:
        shortest = _shortest_steps_before_deviation(requirement_id, sequences_sent)
        lists_of_steps = [*_LISTS_OF_STEPS[:_TRIED_FIRST], shortest, *_LISTS_OF_STEPS[_TRIED_FIRST:]]
        if sequences.profile.is_sandbox:  # elsewhere, a transfer that is prepared may move real money
            lists_of_steps.append((Step.PREPARE,))
        _Search(sequences, requirement_id, finding, step).run(dict.fromkeys(lists_of_steps))


def _shortest_steps_before_deviation(
    requirement_id: str, sequences_sent: Sequence[tuple[Sequence[Step], Exchange]]
) -> tuple[Step, ...]:
    """The steps before the answer that deviated from the requirement after the fewest steps; empty if none deviated.

    `sequences_sent` has the steps up to each answer of a drawn sequence, with that answer.
    """
    operation = requirement_id.partition(".")[0]
    candidates: list[tuple[Step, ...]] = []
    for steps, exchange in sequences_sent:
        if exchange.operation == operation and judge(requirement_id, exchange).deviates:
            steps_before = steps[:-1]
            candidates.append(tuple(steps_before))
    return min(candidates, key=len, default=())


def _deviations_at_times(exchanges: Sequence[Exchange]) -> Iterator[tuple[str, Finding, Step]]:
    """The requirement, the finding (a deviation) and the step that shows it, if other valid requests do not show it.

    There is at most one for each operation. A deviation that was seen once counts, too, because the search shows if it
    was chance.
    """
    for operation, step in _STEP_BY_OPERATION.items():
        valid = [exchange for exchange in exchanges if exchange.operation == operation and exchange.expects_success]
        for requirement_id in requirements_of(operation, valid=True):
            deviating = [exchange for exchange in valid if judge(requirement_id, exchange).deviates]
            is_met_at_times = any(judge(requirement_id, exchange).holds for exchange in valid)
            if deviating and is_met_at_times:
                finding, *_ = judge(requirement_id, deviating[0]).findings
                yield requirement_id, replace(finding, exchanges=()), step
                break  # further requirements are probably broken by the same answers


@dataclass
class _Search:
    """A search for the steps after which a valid request shows a finding (a deviation from a requirement)."""

    sequences: DrawnSequences
    requirement_id: str
    finding: Finding
    step: Step
    """The request that shows the finding."""
    times_sent: int = 0
    """Requests that were sent for the search."""
    is_fine: bool = False
    """True if the request was answered as it should be the last time."""

    def run(self, lists_of_steps: Iterable[tuple[Step, ...]]) -> None:
        """Send one list of steps after the other, each followed by the request, until one of them shows the finding."""
        for steps in lists_of_steps:
            was_fine = self.is_fine
            steps_sent = self._send(steps)
            if not was_fine or self.is_fine or not steps_sent:
                continue
            # The steps changed the answer, or it was chance. So they are sent once more.
            self._send_until_fine()
            if self.is_fine:
                steps_sent = self._send(steps)
                if steps_sent and not self.is_fine:
                    self.sequences.add_steps_that_show_a_finding(steps_sent[: len(steps) + 1])
                    return

    def _send_until_fine(self) -> None:
        """Send neutral steps until the request is answered as it should be, or until all of them were tried."""
        for steps in _NEUTRAL_LISTS_OF_STEPS:
            self._send(steps)
            if self.is_fine:
                return

    def _send(self, steps: Sequence[Step]) -> StepsWithAnswers:
        """Send the steps and then the request, and note whether it is answered as it should be.

        Returns the steps that were sent, with their answers. Empty if not all of them could be sent, or if the search
        has no request left.
        """
        wanted = [*steps, self.step]
        if self.times_sent + len(wanted) > _MOST_REQUESTS:
            return []
        steps_sent = self.sequences.send_alone_with_new_key(wanted)
        self.times_sent += len(steps_sent)
        if [step for step, _ in steps_sent[: len(wanted)]] != wanted:
            return []
        _, answer = steps_sent[len(steps)]
        findings = judge(self.requirement_id, answer).findings
        self.is_fine = self.finding not in [replace(finding, exchanges=()) for finding in findings]
        return steps_sent
