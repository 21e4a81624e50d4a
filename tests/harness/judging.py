"""The life of a conformance test: the requirement that it names, what it asserts, and the verdict that it gets."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from _pytest.outcomes import Skipped

from environments.profiles.model import Profile, today
from reports.run import Observation
from reports.verdicts import RequirementResult, Verdict, deviation
from spec.exchange import Exchange
from spec.facts import Facts, said
from spec.findings import Conclusion, Finding, Judgement, templates
from spec.message import Text, changed, joined, say
from spec.requirements import requirements
from spec.rules import ROBUSTNESS, RULES, Reproduction
from tests.harness.selection import permission_missing_for, requirement_of, wanted_ids

if TYPE_CHECKING:  # the collector takes what stands here
    from tests.harness.collector import Collector


def requirement(requirement_id: str) -> pytest.MarkDecorator:
    """The requirement that a test answers for."""
    return pytest.mark.requirement(requirement_id)


def rules_of(*operations: str, but: Collection[str] = ()) -> list[object]:
    """The requirements of the operations that a rule answers for, as parameters; those of robustness are judged apart.
    `but` names others to leave out, without the operation."""
    left_out = {f"{operation}.{what}" for operation in operations for what in (*ROBUSTNESS, *but)}
    mine = [id for id in requirements() if id in RULES and id.partition(".")[0] in operations]
    return named(*(id for id in mine if id not in left_out))


def named(*requirement_ids: str) -> list[object]:
    """Requirements as parameters."""
    return [pytest.param(id, marks=requirement(id), id=id) for id in requirement_ids]


def each(operations: Iterable[str], what: str) -> list[object]:
    """The requirement `<operation>.<what>` of each operation, as parameters."""
    return [pytest.param(op, marks=requirement(f"{op}.{what}"), id=f"{op}.{what}") for op in operations]


class Untested(Skipped):
    """The running test cannot judge. `why` says what is missing."""

    verdict: ClassVar[Verdict]

    def __init__(self, why: Text) -> None:
        self.why = why or say("no answer that could show it")
        super().__init__(str(self.why))


class NotExercised(Untested):
    """The requirement is in scope, but something was missing. `why` says what to supply."""

    verdict = Verdict.NOT_EXERCISED


class OutOfScope(Untested):
    """The profile does not permit what the requirement needs. `why` says which permission would."""

    verdict = Verdict.OUT_OF_SCOPE


class DeviationError(AssertionError):
    """A requirement that the running test judges is not met. `Recording` holds the results."""


def require_supplied(what: object, missing: Text) -> None:
    """Raises NotExercised where there is nothing; `missing` says what to supply."""
    if not what:
        raise NotExercised(missing)


def require_permission(permitted: object, missing: Text) -> None:
    """Raises OutOfScope where the profile does not permit it; `missing` says which permission would."""
    if not permitted:
        raise OutOfScope(missing)


@dataclass
class Recording:
    """Results of one test, its own requirement's first. `error` says what failed in the suite. `reproduction` judges,
    as it knows what showed again. `wanted` are the requirements that the run is about."""

    own: RequirementResult
    reproduction: Reproduction
    fail_on: Collection[str]
    wanted: Collection[str]
    others: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    error: str = ""
    elapsed_s: float = 0.0

    def note(self, **changes: Any) -> None:
        """Change the result of the test's own requirement."""
        self.own = replace(self.own, **changes)

    @property
    def results(self) -> tuple[RequirementResult, ...]:
        """Every result, that of the test's own requirement first."""
        return self.own, *self.others

    @property
    def failing(self) -> list[RequirementResult]:
        """The results that fail."""
        return [result for result in self.results if result.verdict == Verdict.FAIL]


current: ContextVar[Recording] = ContextVar("recording")


def cite(*exchanges: Exchange) -> None:
    """Name the exchanges that the running test judges."""
    recording = current.get()
    numbers = (exchange.number for exchange in exchanges if exchange.number)
    recording.note(exchanges=(*recording.own.exchanges, *numbers))


def warn(found: Finding, *exchanges: Exchange) -> None:
    """Give the requirement of the running test a warning."""
    cite(*exchanges)
    current.get().note(verdict=Verdict.WARN, findings=(found,))


def remark(text: Text) -> None:
    """Say something about the requirement of the running test that leaves its verdict as it is."""
    current.get().note(why=text)


def _deviate(findings: Iterable[Finding]) -> None:
    """End the running test: its requirement is not met. Its level, or that of a code, makes it a failure, a warning or
    an observation, and `Watcher` lets the test pass but for a failure."""
    recording, found = current.get(), tuple(findings)
    levels = [templates()[each.code].get("level", requirements()[recording.own.id].level) for each in found]
    verdict = min((deviation(level, recording.fail_on) for level in levels), key=[*Verdict].index)
    recording.note(verdict=verdict, findings=found)
    raise DeviationError(str(recording.own.message))


Seen = Mapping[Text, Iterable[Facts | str]]
"""By situation, the facts of the answers that were seen in it; a text stands for what is said."""


def observe(seen: Seen | str, *exchanges: Exchange, first: bool = False) -> None:
    """Record how the service does what the interface document does not show: `{"without a token": [answer]}`, or a text
    where there is one situation. `exchanges` show it; `first` has it said before all others."""
    recording = current.get()
    recording.note(verdict=Verdict.OBSERVED)
    cite(*exchanges)
    for situation, values in ({"": [seen]} if isinstance(seen, str) else seen).items():
        for facts in (said(value) if isinstance(value, str) else value for value in values):
            recording.observations.append(Observation(recording.own.id, facts, situation, first))


def assert_holds(*exchanges: Exchange) -> None:
    """The rule of the running test's requirement holds in every exchange that can show it, and in at least one.

    Every deviation is a finding, not only the first.
    """
    recording = current.get()
    judged = [recording.reproduction.judge(recording.own.id, exchange) for exchange in exchanges]
    deviating = [one for one in judged if one.deviates]
    holding = [one for one in judged if one.holds]
    for judgement in deviating or holding[:3]:
        cite(*judgement.exchanges)
    if deviating:
        _deviate(each for judgement in deviating for each in judgement.findings)
    if not holding:
        raise NotExercised(joined(list(dict.fromkeys(judgement.why for judgement in judged))[:3]))


def assert_requirements(results: Iterable[RequirementResult]) -> None:
    """Record results for the requirement of the running test and for others that the run is about. The test fails where
    one of them fails. Raises OutOfScope if its own one is that."""
    recording = current.get()
    by_id = {result.id: result for result in results if result.id in recording.wanted}
    own = by_id.pop(recording.own.id, None)
    recording.others += by_id.values()
    recording.own = own or recording.own
    if recording.failing:
        raise DeviationError(str(joined(result.message for result in recording.failing)))
    if own is None:
        raise NotExercised(say("no answer to judge"))
    require_permission(own.verdict != Verdict.OUT_OF_SCOPE, own.why)


def assert_found(judgement: Judgement) -> None:
    """The judgement holds. An inconclusive one leaves the requirement of the running test unexercised."""
    cite(*judgement.exchanges)
    if judgement.conclusion is Conclusion.INCONCLUSIVE:
        raise NotExercised(judgement.why)
    if judgement.deviates:
        _deviate(current.get().reproduction.marked(judgement).findings)
    if judgement.why:
        remark(judgement.why)


# -- around each test -------------------------------------------------------------------------------------------------


RECORDING = pytest.StashKey[Recording]()


class Watcher:
    """Gives a test the verdict of its requirement, and the collector what it found."""

    def __init__(self, profile: Profile, collector: Collector) -> None:
        self._profile, self._collector = profile, collector
        self._clean = collector.display.foreign

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if requirement := requirement_of(item):
            recording = item.stash[RECORDING] = Recording(
                RequirementResult(requirement.id, Verdict.PASS),
                self._collector.reproduction,
                self._profile.fail_on,
                wanted_ids(item.config),
            )
            current.set(recording)
            if missing := permission_missing_for(item, requirement, self._profile):
                raise OutOfScope(missing)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Generator[None, object, object]:
        """A warning or an observation passes; of a failure that the profile lists, pytest says that it was expected."""
        try:
            return (yield)
        except DeviationError:
            known = {entry.id: entry.reason for entry in self._profile.known_failures if not entry.is_past(today())}
            failing = current.get().failing
            if not failing:
                return True
            if all(result.id in known for result in failing):
                reasons = dict.fromkeys(known[result.id] for result in failing)
                pytest.xfail(f"known failure: {'; '.join(reasons)}")
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        recording = item.stash.get(RECORDING, None)
        if recording is None:
            return report
        recording.elapsed_s += call.duration
        if call.excinfo is not None:
            error = call.excinfo.value
            if isinstance(error, pytest.skip.Exception):
                verdict = getattr(error, "verdict", Verdict.NOT_EXERCISED)
                recording.note(verdict=verdict, why=getattr(error, "why", str(error)))
            elif not recording.failing:
                recording.error = self._clean(f"{call.when}: {type(error).__name__}: {error}")
                recording.note(verdict=Verdict.NOT_EXERCISED, why=recording.error)
        self._explain(report, recording)
        if report.when == "teardown":
            report.conformance = recording.own
            self._collector.take(recording, item.nodeid)
        return report

    def _explain(self, report: Any, recording: Recording) -> None:
        """Say why a test failed or was skipped, without known values in what pytest says of it."""
        if report.failed and report.when == "call" and recording.failing:
            shown = map(self._collector.shown, recording.failing)
            report.longrepr = "\n".join(f"{result.id}: {result.message}" for result in shown)
        elif report.failed:
            report.longrepr = self._clean(str(report.longrepr))
        elif report.skipped and isinstance(report.longrepr, tuple):
            report.why = changed(recording.own.why, self._clean)
            report.longrepr = (*report.longrepr[:2], self._clean(report.longrepr[2]))
        report.sections = [(name, self._clean(text)) for name, text in report.sections]
