"""The verdict of each test, by the level of its requirement."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest

from environments.profiles.profile import Profile, today
from reports.run import missing_permission
from reports.terminal import whole
from reports.verdicts import Verdict, deviation
from reports.wording import listed
from spec.message import Text, changed, say
from spec.requirements import Requirement, ledger
from tests.harness.collector import Collector
from tests.harness.judging import OutOfScope, Recording, RequirementsFailError, current

RECORDING = pytest.StashKey[Recording]()


def requirement_of(item: pytest.Item) -> Requirement | None:
    """The requirement that a test answers for, None for other tests. Raises UsageError for an unknown id."""
    marker = item.get_closest_marker("requirement")
    if marker is None:
        return None
    requirement = ledger().get(marker.args[0])
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
    found = ((item, requirement_of(item)) for item in items)
    return [item for item, about in found if about and not permission_missing_for(item, about, profile)]


class Watcher:
    """Gives a test the verdict of its requirement, and sends what it found with the report of its teardown."""

    def __init__(self, profile: Profile, collector: Collector) -> None:
        self._profile, self._collector = profile, collector
        self._clean = collector.display.foreign

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        requirement = requirement_of(item)
        if requirement is None:
            return
        recording = item.stash[RECORDING] = Recording(requirement, self._collector.reproduction)
        current.set(recording)
        if missing := permission_missing_for(item, requirement, self._profile):
            raise OutOfScope(missing)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """A deviation is a failure, a warning or an observation, by the level of the requirement."""
        recording = pyfuncitem.stash.get(RECORDING, None)
        try:
            return (yield)
        except RequirementsFailError:
            self._xfail_if_known(current.get())
            raise
        except AssertionError as error:
            if recording is None:
                raise
            recording.findings, recording.why = getattr(error, "findings", ()), _text_of(error)
            recording.verdict = deviation(recording.requirement.level, self._profile.fail_on)
            if recording.verdict == Verdict.FAIL:
                self._xfail_if_known(recording)
                raise
            return True

    def _xfail_if_known(self, recording: Recording) -> None:
        known = {entry.id: entry.reason for entry in self._profile.known_failures if not entry.is_past(today())}
        if all(result.id in known for result in recording.failing):
            reasons = dict.fromkeys(known[result.id] for result in recording.failing)
            pytest.xfail(f"known failure: {'; '.join(reasons)}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        recording = item.stash.get(RECORDING, None)
        if recording is None:
            return report
        self._take_outcome(recording, call)
        self._explain(report, recording)
        if report.when == "teardown":
            report.conformance = self._collector.found(recording)
        return report

    def _explain(self, report: Any, recording: Recording) -> None:
        """Say why a test failed or was skipped, without known values in what pytest says of it."""
        if report.failed and report.when == "call" and recording.failing:
            report.explained = self._collector.explained(recording)
            report.longrepr = whole(report.explained)
        elif report.failed:
            report.longrepr = self._clean(str(report.longrepr))
        elif report.skipped and isinstance(report.longrepr, tuple):
            report.why = changed(recording.why, self._clean)
            report.longrepr = (*report.longrepr[:2], self._clean(report.longrepr[2]))
        report.sections = [(name, self._clean(text)) for name, text in report.sections]

    def _take_outcome(self, recording: Recording, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is None:
            return
        error = call.excinfo.value
        if isinstance(error, OutOfScope):
            recording.verdict, recording.why = Verdict.OUT_OF_SCOPE, error.why
        elif isinstance(error, pytest.skip.Exception):
            recording.verdict, recording.why = Verdict.NOT_EXERCISED, getattr(error, "why", str(error))
        elif not recording.failing:
            recording.error = self._clean(f"{call.when}: {type(error).__name__}: {error}")
            recording.verdict, recording.why = Verdict.NOT_EXERCISED, recording.error


def _text_of(error: AssertionError) -> str:
    """The text of an assertion without what pytest adds to it."""
    return str(error).split("\nassert ")[0].strip()
