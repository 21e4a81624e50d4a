"""Gives the run what its tests found and what was sent, as it may be shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from shlex import quote

from environments.door.door import Door
from environments.profiles.loading import named
from environments.secret_values import Secrets
from reports.evidence import Evidence, Resending, evidence, outline
from reports.grants import Grants
from reports.run import LeftKey, Run
from reports.show import Display
from reports.verdicts import RequirementResult, Verdict
from spec.exchange import Exchange
from spec.facts import renamed
from spec.interface import operations
from spec.message import Message, changed, say
from spec.rules import Reproduction
from tests.harness.door_notes import notes_of
from tests.harness.judging import Recording


class Collector:
    """`shows`: the evidence goes into files; without them an outline is enough, but for what fails."""

    def __init__(self, run: Run, secrets: Secrets, door: Door, *, shows: bool) -> None:
        self.run, self.door, self.display, self._shows = run, door, Display(secrets), shows
        self.resending = Resending(self.display, run.profile)
        self.reproduction = Reproduction(door.exchanges)

    def take(self, recording: Recording, test: str) -> None:
        """Take over what a test found."""
        run = self.run
        run.results += map(self.shown, recording.results)
        run.selected.update(result.id for result in recording.results)
        run.elapsed_s[recording.own.id] += recording.elapsed_s
        run.observations += (
            replace(seen, facts=renamed(seen.facts, self.display.line)) for seen in recording.observations
        )
        if recording.error:
            run.errors.append(say("the suite failed at {test}: {error}", test=test, error=recording.error))

    def close(self) -> None:
        """Take over what was sent, when the tests are over."""
        run, door, foreign = self.run, self.door, self.display.foreign
        run.requests, run.executions = len(door.exchanges), door.guard.sent
        run.unknown_outcomes = len(door.guard.unknown)
        run.ended_by = run.ended_by or door.token_monitor.expired
        run.unreachable = run.unreachable or foreign(door.liveness.unreachable)
        run.journal_trouble = bool(door.guard.journal_trouble or door.guard.supplied_trouble)
        run.said += notes_of(door, self.reproduction, quote(named(run.profile.path)))
        run.not_cleaned_up += (
            LeftKey(changed(key.name, foreign), key.state.value, key.owned, tuple(key.exchanges))
            for key in door.keys.not_cleaned_up()
        )
        run.not_executed += _not_executed(door)
        run.grants = Grants.of_exchanges(door.exchanges)
        run.unsent = {why: [name for name in operations() if name in names] for why, names in door.unsent.items()}
        whole = self._numbers_of_whole_ones()
        run.exchanges |= {
            one.number: self.evidence(one) if one.number in whole else outline(one) for one in door.exchanges
        }

    def _numbers_of_whole_ones(self) -> set[int]:
        """The exchanges that are shown with their content: what is cited, or tells of a key that is left."""
        cited = [one.exchanges for one in self.run.results if self._shows or one.verdict == Verdict.FAIL]
        cited += [key.exchanges for key in self.run.not_cleaned_up]
        return set(chain(*cited))

    def shown(self, result: RequirementResult) -> RequirementResult:
        """The result without known values in what its messages are filled with, and without names that are data."""
        display = self.display
        findings = (
            replace(each.map(display.foreign), pointers=tuple(map(display.pointer, each.pointers)))
            for each in result.findings
        )
        return replace(result, why=changed(result.why, display.foreign), findings=tuple(findings))

    def evidence(self, exchange: Exchange) -> Evidence:
        """An exchange as it may be shown."""
        return evidence(exchange, self.resending)


def _not_executed(door: Door) -> Iterator[Message]:
    """One line for each transfer with a body of the profile that was prepared and not executed, and one for all others,
    whose accounts are synthetic."""
    prepared = list(door.guard.prepared.not_executed(door.exchanges))
    for seen, why in prepared:
        if seen.valid and why:
            yield say(
                "a transfer of {operation} (exchange {number}: {answer}): not executed: {why}",
                operation=seen.operation,
                number=seen.number,
                answer=say(seen.summary),
                why=say(why),
            )
    if synthetic := [seen.number for seen, _ in prepared if not seen.valid]:
        yield say("{n} transfers of synthetic accounts, from exchange {first}", n=len(synthetic), first=synthetic[0])
