"""The verdict of each test, by the level of its requirement."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest

from environments.profiles.model import Profile, today
from reports.verdicts import RequirementResult, Verdict
from reports.wording import listed, missing_permission
from spec.message import Text, changed, say
from spec.requirements import Requirement, requirements
from tests.harness.collector import Collector
from tests.harness.judging import DeviationError, OutOfScope, Recording, current

RECORDING = pytest.StashKey[Recording]()


def requirement_of(item: pytest.Item) -> Requirement | None:
    """The requirement that a test answers for, None for other tests. Raises UsageError for an unknown id."""
    marker = item.get_closest_marker("requirement")
    if marker is None:
        return None
    requirement = requirements().get(marker.args[0])
    if requirement is None:
        raise pytest.UsageError(f"{item.nodeid}: {marker.args[0]}: no such requirement in spec/requirements.yaml")
    return requirement


def permission_missing_for(item: pytest.Item, requirement: Requirement, profile: Profile) -> Text:
    """All that a test needs in allow and is not there; empty where it may run."""
    marks = [marker.args for marker in item.iter_markers("needs")]
    missing = [names for names in marks if not profile.allow.intersection(names)]
    more = [say("one of {names}", names=listed(names)) if len(names) > 1 else names[0] for names in missing]
    return missing_permission(requirement, profile.allow, more)


def in_scope(items: Iterable[pytest.Item], profile: Profile) -> list[pytest.Item]:
    """The tests of requirements that the profile permits."""
    about = ((item, requirement_of(item)) for item in items)
    return [item for item, one in about if one and not permission_missing_for(item, one, profile)]


class Watcher:
    """Gives a test the verdict of its requirement, and the collector what it found."""

    def __init__(self, profile: Profile, collector: Collector) -> None:
        self._profile, self._collector = profile, collector
        self._clean = collector.display.foreign

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if requirement := requirement_of(item):
            result = RequirementResult(requirement.id, Verdict.PASS)
            recording = Recording(result, self._collector.reproduction, self._profile.fail_on)
            item.stash[RECORDING] = recording
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
            self._take_outcome(recording, call.when, call.excinfo.value)
        self._explain(report, recording)
        if report.when == "teardown":
            report.conformance = recording.own
            self._collector.take(recording, item.nodeid)
        return report

    def _take_outcome(self, recording: Recording, when: str, error: BaseException) -> None:
        if isinstance(error, pytest.skip.Exception):
            verdict = getattr(error, "verdict", Verdict.NOT_EXERCISED)
            recording.note(verdict=verdict, why=getattr(error, "why", str(error)))
        elif not recording.failing:
            recording.error = self._clean(f"{when}: {type(error).__name__}: {error}")
            recording.note(verdict=Verdict.NOT_EXERCISED, why=recording.error)

    def _explain(self, report: Any, recording: Recording) -> None:
        """Say why a test failed or was skipped, without known values in what pytest says of it."""
        if report.failed and report.when == "call" and recording.failing:
            report.longrepr, report.message = self._collector.explained(recording)
        elif report.failed:
            report.longrepr = self._clean(str(report.longrepr))
        elif report.skipped and isinstance(report.longrepr, tuple):
            report.why = changed(recording.own.why, self._clean)
            report.longrepr = (*report.longrepr[:2], self._clean(report.longrepr[2]))
        report.sections = [(name, self._clean(text)) for name, text in report.sections]
