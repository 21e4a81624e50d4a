"""Gathers what tests found, with its evidence, and what was sent: of both what may be shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from environments.door.door import Door
from environments.profiles.profile import Profile
from environments.secrets import Secrets
from reports.evidence import Preparation, evidence, outline
from reports.grants import Generated, Grants
from reports.handover import Evidence, FoundByTest, Handover, LeftKey
from reports.resending import Resending, shell_of
from reports.show import Display
from reports.terminal import Explained, explained
from reports.verdicts import RequirementResult, Verdict, deviation
from spec.answers import is_refusal
from spec.exchange import Exchange
from spec.message import changed
from spec.requirements import ledger
from tests.harness.door_notes import notes_of
from tests.harness.judging import Recording
from tests.harness.reproduction import Reproduction, robustness_of

_MOST_TARGETED, _MOST_GENERATED = 3, 12
"""Exchanges that a failure shows: those of generated traffic are different findings."""


class Collector:
    """`shows`: the evidence goes into files; without them an outline is enough, but for what fails."""

    def __init__(self, profile: Profile, secrets: Secrets, door: Door, *, shows: bool) -> None:
        self.display = Display(secrets)
        self.resending = Resending(self.display, shell_of(profile))
        self.generated = Generated()
        self.door = door
        self._profile, self._shows = profile, shows
        self.reproduction = Reproduction(door.in_flight.alone)
        door.listeners.append(self.reproduction.listen)
        self._by_number: dict[int, Exchange] = {}
        self._collected = 0
        self._held: defaultdict[str, list[Exchange]] = defaultdict(list)
        self._shown: set[int] = set()

    def handover(self) -> Handover:
        """What the run sent, when its tests are over. What nothing cites is an outline, unless it tells of a key that is
        left, or was not expected."""
        door, foreign = self.door, self.display.foreign
        self._take_over()
        keys = door.keys.not_cleaned_up()
        unexpected = [exchange.number for exchange in door.exchanges if _is_unexpected(exchange)]
        whole = self._whole(chain(unexpected, *(key.exchanges for key in keys)) if self._shows else ())
        return Handover(
            requests=len(door.exchanges),
            executions=door.guard.sent,
            unknown_outcomes=len(door.guard.unknown),
            unreachable=foreign(door.liveness.unreachable),
            journal_trouble=bool(door.guard.journal_trouble or door.guard.supplied_trouble),
            notes=tuple(notes_of(door)),
            not_cleaned_up=tuple(
                LeftKey(foreign(key.name), key.why_left, key.owned, tuple(key.exchanges)) for key in keys
            ),
            not_executed=tuple(door.guard.prepared.not_executed(door.exchanges)),
            generated=self.generated,
            grants=Grants.of_exchanges(door.exchanges),
            unsent={why: sorted(names) for why, names in door.unsent.items()},
            exchanges=(*whole, *(outline(seen) for seen in door.exchanges if seen.number not in self._shown)),
        )

    def found(self, recording: Recording) -> FoundByTest:
        """What the test found, and what every exchange shows that was sent since the last test; the exchanges whole that
        this cites."""
        self._take_over()
        unjudged = [one for one in self._new(recording.cited | recording.judged) if one.number not in recording.judged]
        results = [*recording.results, *(result for exchange in unjudged for result in self._robust(exchange))]
        if self._shows:
            shown = [number for result in results for number in result.exchanges]
        else:  # on the terminal
            shown = [number for result in recording.failing for number in result.exchanges[:1]]
        return FoundByTest(
            results=tuple(map(self._shown_of, results)),
            answers_for=tuple(result.id for result in recording.results),
            observations=tuple(seen.redacted(self.display.foreign) for seen in recording.observations),
            exchanges=self._whole(shown),
            error=recording.error,
        )

    def _shown_of(self, result: RequirementResult) -> RequirementResult:
        """The result without known values in what its messages are filled with, and without names that are data."""
        display = self.display
        findings = (
            replace(each.map(display.foreign), pointers=tuple(map(display.pointer, each.pointers)))
            for each in result.findings
        )
        return replace(result, why=changed(result.why, display.foreign), findings=tuple(findings))

    def explained(self, recording: Recording) -> Explained:
        """Why a test failed, for people."""
        self._take_over()
        most = _MOST_GENERATED if recording.judged else _MOST_TARGETED
        return explained([*map(self._shown_of, recording.failing)], self._by_number, self.evidence, most)

    def evidence(self, exchange: Exchange) -> Evidence:
        """An exchange as it may be shown. Lines that execute a transfer say how one is prepared."""
        return evidence(exchange, self.resending, self.preparation if exchange.operation == "executePix" else None)

    @property
    def preparation(self) -> Preparation | None:
        """The first transfer that the run prepared."""
        plan = self._profile.transactions.prepare
        if plan is None:
            return None
        prepared = (one for one in self.door.exchanges if one.operation == plan.operation and one.expects_success)
        first = next(prepared, None)
        return Preparation(first, plan.code_at) if first else None

    def _new(self, judged: Iterable[int]) -> list[Exchange]:
        """The exchanges that were not collected yet. Those of generated traffic are held until their part is judged."""
        learned = len(self._by_number)
        for exchange in self.door.exchanges[self._collected : learned]:
            self._held[exchange.part].append(exchange)
        self._collected = learned
        parts = dict.fromkeys(["", *(self._by_number[number].part for number in judged if number in self._by_number)])
        return [exchange for part in parts for exchange in self._held.pop(part, ())]

    def _whole(self, numbers: Iterable[int]) -> tuple[Evidence, ...]:
        """The evidence of these exchanges, as far as it was not given before."""
        new = [number for number in dict.fromkeys(numbers) if number in self._by_number and number not in self._shown]
        self._shown.update(new)
        return tuple(self.evidence(self._by_number[number]) for number in new)

    def _take_over(self) -> None:
        """Note what was sent since the last time."""
        self._by_number |= {exchange.number: exchange for exchange in self.door.exchanges[len(self._by_number) :]}

    def _robust(self, exchange: Exchange) -> Iterator[RequirementResult]:
        """The robustness requirements, which every exchange of an operation answers for."""
        for requirement_id in robustness_of(exchange.operation):
            judgement = self.reproduction.judge(requirement_id, exchange)
            if judgement.holds:
                cited = (exchange.number,) if judgement.why else ()
                yield RequirementResult(requirement_id, Verdict.PASS, judgement.why, cited)
            elif judgement.deviates:
                verdict = deviation(ledger()[requirement_id].level, self._profile.fail_on)
                found = judgement.findings
                yield RequirementResult(requirement_id, verdict, exchanges=(exchange.number,), findings=found)


def _is_unexpected(exchange: Exchange) -> bool:
    """Whether a targeted request got no answer, or a refusal where a success was due."""
    refused = exchange.response is None or (exchange.expects_success and is_refusal(exchange.response))
    return refused and not exchange.part
