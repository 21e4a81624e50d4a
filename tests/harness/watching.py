"""Around each conformance test: from what its assertions found to its results, and from these to what pytest says."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from environments.profiles.model import Profile, today
from reports.result.verdicts import RequirementResult, Verdict, deviation
from reports.sentences.wording import grouped
from spec.findings import templates
from spec.message import Text, changed, joined
from spec.requirements import requirements
from tests.harness.collector import Collector
from tests.harness.judging import ASSERTIONS, DeviationError, JudgedTest, OutOfScope, Untested
from tests.harness.selection import permission_missing_for, requirement_of, wanted_ids

JUDGED = pytest.StashKey[JudgedTest]()


class Watcher:
    """Gives a test the verdict of its requirement, and the collector what it found."""

    def __init__(self, profile: Profile, collector: Collector) -> None:
        self._profile, self._collector = profile, collector
        self._clean = collector.display.foreign

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        ASSERTIONS.clear()
        requirement = requirement_of(item)
        if requirement is None:
            return
        item.stash[JUDGED] = JudgedTest(item.nodeid, RequirementResult(requirement.id, Verdict.NOT_EXERCISED))
        missing = permission_missing_for(item, requirement, self._profile)
        if missing:
            raise OutOfScope(missing)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """A warning or an observation passes; of a failure that the profile lists, pytest says that it was expected."""
        try:
            yield
        except (DeviationError, Untested) as ended:
            test = self.take_assertions(pyfuncitem, ended)
            if isinstance(ended, Untested) and not test.failing:
                raise
        else:
            test = self.take_assertions(pyfuncitem)
        if test.failing:
            self._fail(test)
        return True

    def take_assertions(self, item: pytest.Item, ended: DeviationError | Untested | None = None) -> JudgedTest:
        """Give the test that just ran its results: those that its assertions found, and the one that ended it.

        A test that judged nothing of its own requirement is wrong itself: LookupError.
        """
        test = item.stash[JUDGED]
        results = list(ASSERTIONS.results)
        if isinstance(ended, DeviationError):
            results.append(self._result_of(ended))
        wanted = wanted_ids(item.config)
        by_id = grouped(results, lambda result: result.id)
        for requirement_id, results_of_one in by_id.items():
            result = _combined(results_of_one, ASSERTIONS.remarks.get(requirement_id, ""))
            if requirement_id == test.own.id:
                test.own = result
            elif requirement_id in wanted:
                test.others.append(result)
        test.observations += ASSERTIONS.observations
        if isinstance(ended, Untested):
            test.leave_untested(ended)
        elif test.own.id not in by_id:
            raise LookupError(f"the test names {test.own.id}, and asserts nothing of it")
        return test

    def _result_of(self, error: DeviationError) -> RequirementResult:
        """The result of a requirement that is not met. Its level, or that of a finding's code, decides the verdict."""
        reproduction = self._collector.reproduction
        mark = reproduction.marked_if_only_beside_others
        judgements = [mark(error.requirement_id, judgement) for judgement in error.judgements]
        findings = [finding for judgement in judgements for finding in judgement.findings]
        level = requirements()[error.requirement_id].level
        levels = [templates()[finding.code].get("level", level) for finding in findings]
        verdict = _most_severe(deviation(level, self._profile.fail_on) for level in levels)
        exchanges = [exchange for judgement in judgements for exchange in judgement.exchanges]
        numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
        return RequirementResult(error.requirement_id, verdict, exchanges=numbers, findings=tuple(findings))

    def _fail(self, test: JudgedTest) -> None:
        """End a test that fails, as expected if the profile lists every failure."""
        known = {entry.id: entry.reason for entry in self._profile.known_failures if not entry.is_past(today())}
        if all(result.id in known for result in test.failing):
            reasons = dict.fromkeys(known[result.id] for result in test.failing)
            pytest.xfail(f"known failure: {'; '.join(reasons)}")
        pytest.fail(str(joined(result.message for result in test.failing)), pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        test = item.stash.get(JUDGED, None)
        if test is None:
            return report
        test.elapsed_s += call.duration
        if call.excinfo is not None:
            self._take_end(test, call.when, call.excinfo.value)
        self._explain(report, test)
        if report.when == "teardown":
            report.conformance = test.own
            self._collector.take(test)
        return report

    def _take_end(self, test: JudgedTest, phase: str, error: BaseException) -> None:
        """Note how a phase of a test ended that did not come to its end."""
        if isinstance(error, Untested):
            test.leave_untested(error)
        elif isinstance(error, pytest.skip.Exception):
            test.own = replace(test.own, verdict=Verdict.NOT_EXERCISED, why=str(error))
        elif not test.failing:
            test.error = self._clean(f"{phase}: {type(error).__name__}: {error}")
            test.own = replace(test.own, verdict=Verdict.NOT_EXERCISED, why=test.error)

    def _explain(self, report: Any, test: JudgedTest) -> None:
        """Say why a test failed or was skipped, without known values in what pytest says of it."""
        if report.failed and report.when == "call" and test.failing:
            shown = map(self._collector.shown, test.failing)
            report.longrepr = "\n".join(f"{result.id}: {result.message}" for result in shown)
        elif report.failed:
            report.longrepr = self._clean(str(report.longrepr))
        elif report.skipped and isinstance(report.longrepr, tuple):
            report.why = changed(test.own.why, self._clean)
            report.longrepr = (*report.longrepr[:2], self._clean(report.longrepr[2]))
        report.sections = [(name, self._clean(text)) for name, text in report.sections]


def _combined(results: Sequence[RequirementResult], remark: Text) -> RequirementResult:
    """One result of all that a test found of a requirement: the most severe verdict, and what they say together."""
    texts = [result.why for result in results if result.why]
    return RequirementResult(
        results[0].id,
        _most_severe(result.verdict for result in results),
        why=texts[-1] if texts else remark,
        exchanges=tuple(number for result in results for number in result.exchanges),
        findings=tuple(finding for result in results for finding in result.findings),
    )


def _most_severe(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=[*Verdict].index)
