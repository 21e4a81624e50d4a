"""Gathers what tests found, with redacted evidence, and what was sent."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from environments.door.door import Door
from environments.door.prepared_transfers import codes_told, may_have_prepared
from environments.door.told_accounts import MOST_TOLD, accounts_told, keys_told
from environments.profiles.profile import Profile
from environments.secrets import ACCOUNT, POSSIBLE_CODE, Secrets
from reports.evidence import Preparation, evidence, outline
from reports.grants import Generated, Grants
from reports.handover import Evidence, FoundByTest, Handover, LeftKey
from reports.redaction import redactor_of
from reports.terminal import Explained, explained
from reports.verdicts import RequirementResult, Verdict, deviation
from spec.answers import is_refusal
from spec.exchange import LARGE, Exchange
from spec.message import changed
from spec.requirements import ledger
from tests.harness.door_notes import notes_of
from tests.harness.judging import Recording
from tests.harness.reproduction import Reproduction, robustness_of

_MOST_CODES = 50
"""In one answer: each has to be sought in all that is written."""
_MOST_TARGETED, _MOST_GENERATED = 3, 12
"""Exchanges that a failure shows: those of generated traffic are different findings."""


class Collector:
    """`shows`: the evidence goes into files; without them an outline is enough, but for what fails."""

    def __init__(self, profile: Profile, secrets: Secrets, door: Door, *, shows: bool) -> None:
        self.redactor = redactor_of(profile, secrets)
        self.generated = Generated()
        self.door = door
        self._profile, self._secrets, self._shows = profile, secrets, shows
        self.reproduction = Reproduction(door.in_flight.alone)
        door.listeners += [lambda sending: self._learn(), self.reproduction.listen]
        self._by_number: dict[int, Exchange] = {}
        self._learning = threading.Lock()
        self._collected = 0
        self._held: defaultdict[str, list[Exchange]] = defaultdict(list)
        self._shown: set[int] = set()
        self._accounts: set[str] = set()

    def handover(self, errors: Iterable[str]) -> Handover:
        """What the run sent, when its tests are over. `errors` failed in the suite, and no test asked for them. What
        nothing cites is an outline, unless it tells of a key that is left, or was not expected."""
        door, redact = self.door, self.redactor.text
        self._learn()
        keys = door.keys.not_cleaned_up()
        unexpected = [exchange.number for exchange in door.exchanges if _is_unexpected(exchange)]
        whole = self._whole(chain(unexpected, *(key.exchanges for key in keys)) if self._shows else ())
        return Handover(
            requests=len(door.exchanges),
            executions=door.guard.sent,
            unknown_outcomes=len(door.guard.unknown),
            unreachable=redact(door.liveness.unreachable),
            journal_trouble=bool(door.guard.journal_trouble or door.guard.supplied_trouble),
            notes=tuple(replace(note, text=redact(note.text)) for note in notes_of(door)),
            not_cleaned_up=tuple(LeftKey(key.name, key.why_left, key.owned, tuple(key.exchanges)) for key in keys),
            not_executed=tuple(map(redact, door.guard.prepared.not_executed(door.exchanges))),
            generated=self.generated,
            grants=Grants.of_exchanges(door.exchanges),
            unsent={why: sorted(names) for why, names in door.unsent.items()},
            exchanges=(*whole, *(outline(seen) for seen in door.exchanges if seen.number not in self._shown)),
            errors=tuple(map(redact, errors)),
        )

    def found(self, recording: Recording) -> FoundByTest:
        """What the test found, and what every exchange shows that was sent since the last test; the exchanges whole that
        this cites."""
        redact = self.redactor.text
        self._learn()
        unjudged = [one for one in self._new(recording.cited | recording.judged) if one.number not in recording.judged]
        results = [*recording.results, *(result for exchange in unjudged for result in self._robust(exchange))]
        if self._shows:
            shown = [number for result in results for number in result.exchanges]
        else:  # on the terminal
            shown = [number for result in recording.failing for number in result.exchanges[:1]]
        return FoundByTest(
            results=tuple(map(self._redacted, results)),
            answers_for=tuple(result.id for result in recording.results),
            observations=tuple(seen.redacted(redact) for seen in recording.observations),
            exchanges=self._whole(shown),
            error=redact(recording.error),
        )

    def _redacted(self, result: RequirementResult) -> RequirementResult:
        redact = self.redactor.text
        return replace(
            result, why=changed(result.why, redact), findings=tuple(each.map(redact) for each in result.findings)
        )

    def explained(self, recording: Recording) -> Explained:
        """Why a test failed, for people."""
        self._learn()
        most = _MOST_GENERATED if recording.judged else _MOST_TARGETED
        return explained(recording.failing, self._by_number, self.redactor.text, self.evidence, most)

    def evidence(self, exchange: Exchange) -> Evidence:
        """An exchange, redacted. Lines that execute a transfer say how one is prepared."""
        return evidence(exchange, self.redactor, self.preparation if exchange.operation == "executePix" else None)

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

    def _learn(self) -> None:
        """Redact what the answers tell that were not looked at yet: before anything is said of them."""
        with self._learning:
            for exchange in self.door.exchanges[len(self._by_number) :]:
                self._learn_from(exchange)
                self._by_number[exchange.number] = exchange

    def _learn_from(self, exchange: Exchange) -> None:
        """Redact the personal values and the transaction codes of an answer wherever else they stand."""
        response, plan = exchange.response, self._profile.transactions.prepare
        if response is None:
            return
        if response.size <= LARGE or may_have_prepared(exchange):
            codes = codes_told(exchange, plan.code_at if plan else "")
            self._secrets.learn(POSSIBLE_CODE, *islice(codes, _MOST_CODES))
        self._secrets.learn(ACCOUNT, *self._accounts_of(exchange))
        self.redactor.learn_from(response.start, keys_told(exchange))

    def _accounts_of(self, exchange: Exchange) -> list[str]:
        """The accounts that an answer names and nobody knew before."""
        told = accounts_told(exchange, self._accounts | set(self._profile.accounts))
        told = told[: MOST_TOLD - len(self._accounts)]
        self._accounts.update(told)
        return told

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
