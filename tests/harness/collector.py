"""Gives the run what its tests found and what was sent, as it may be shown."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import chain

from environments.door.door import Door
from environments.door.prepared import PERHAPS_PREPARED
from environments.profiles.loading import named
from environments.profiles.model import EMBEDDED
from environments.secret_values import Secrets
from reports.result.grants import Grants
from reports.result.run import LeftKey, Run
from reports.result.verdicts import RequirementResult, Verdict
from reports.sentences.wording import first_few, grouped, listed
from reports.showing.evidence import Evidence, Resending, evidence, outline
from reports.showing.show import Display
from spec.answers import declines, is_granted
from spec.exchange import Exchange
from spec.facts import renamed
from spec.interface import operations
from spec.message import Message, Text, changed, message_of, say, say_many
from spec.rules import Reproduction
from tests.harness.door_notes import notes_of
from tests.harness.judging import JudgedTest

_OF_NOBODY = say("its account is synthetic")
_DECLINED = say('the answer has code 0, and says Success: "false": it was perhaps prepared')
_COUNTED = (_OF_NOBODY, _DECLINED)
"""Reasons for which nobody looks transfers up one by one."""


class Collector:
    """`shows`: the evidence goes into files; without them an outline is enough, but for what fails."""

    def __init__(self, run: Run, secrets: Secrets, door: Door, *, shows: bool) -> None:
        self.run, self.door, self.display, self._shows = run, door, Display(secrets), shows
        self.resending = Resending(self.display, run.profile)
        self.reproduction = Reproduction(door.exchanges, door.sent_again)

    def take(self, test: JudgedTest) -> None:
        """Take over what a test found."""
        run = self.run
        run.results += map(self.shown, test.results)
        run.selected.update(result.id for result in test.results)
        run.elapsed_s[test.own.id] += test.elapsed_s
        for observation in test.observations:
            run.observations.append(replace(observation, facts=renamed(observation.facts, self.display.line)))
        if test.error:
            run.errors.append(say("the suite failed at {test}: {error}", test=test.node_id, error=test.error))

    def close(self) -> None:
        """Take over what was sent, when the tests are over. Exchanges have their content where they are cited, or tell
        of a key that is left."""
        run, door, foreign = self.run, self.door, self.display.foreign
        run.requests, run.executions = len(door.exchanges), door.guard.sent
        run.unknown_outcomes = len(door.guard.unknown)
        run.ended_by = run.ended_by or door.token_monitor.expired
        run.unreachable = run.unreachable or foreign(door.liveness.unreachable)
        run.journal_trouble = bool(door.guard.journal_trouble or door.guard.supplied_trouble)
        run.notes += notes_of(door, self.reproduction, named(run.profile))
        if run.profile.base_url != EMBEDDED:  # it ends with the run
            run.not_cleaned_up += (
                LeftKey(changed(key.name, foreign), key.state.value, key.owned, tuple(key.exchanges))
                for key in door.keys.not_cleaned_up()
            )
            run.not_executed += _not_executed(door)
        codes = door.guard.prepared.codes
        self.resending.preparations = {
            codes[one.number]: one.request for one in door.exchanges if codes.get(one.number)
        }
        run.grants = Grants.of_exchanges(door.exchanges)
        run.outages = {why: _in_order(names) for why, names in door.backoff.outages.items()}
        unsent = {why: _in_order(names) for why, names in door.unsent.items()} | run.outages
        run.unsent = {why: names for why, names in unsent.items() if names}  # none: only to undocumented paths
        whole = set(
            chain(
                *(one.exchanges for one in run.results if self._shows or one.verdict == Verdict.FAIL),
                *(key.exchanges for key in run.not_cleaned_up),
            )
        )
        run.exchanges |= {
            one.number: self.evidence(one) if one.number in whole else outline(one) for one in door.exchanges
        }

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


def _in_order(names: Container[str]) -> list[str]:
    """The operations in the order of the interface document."""
    return [name for name in operations() if name in names]


def _reason(of: tuple[Exchange, str]) -> Text:
    exchange, why = of
    if why and exchange.response and is_granted(exchange) and declines(exchange.response):
        return _DECLINED
    return why if exchange.valid or why == PERHAPS_PREPARED else _OF_NOBODY


def _not_executed(door: Door) -> Iterator[Message]:
    """One line for the transfers that were prepared and not executed for the same reason."""
    prepared = door.guard.prepared.not_executed(door.exchanges, door.budget.prepares[1])
    for why, left in grouped(prepared, _reason).items():
        numbers = [str(exchange.number) for exchange, _ in left]
        if why:
            yield say_many(
                "{n} transfer (exchange {numbers}), not executed: {why}",
                "{n} transfers (exchanges {numbers}), each not executed: {why}",
                n=len(left),
                numbers=first_few(numbers) if why in _COUNTED else listed(numbers),
                why=message_of(why),
            )
