"""Around each conformance test: from what its assertions found to its results, and from these to what pytest says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from environments.profiles.model import Profile, today
from reports.result.verdicts import RequirementResult, Verdict, deviation
from reports.sentences.wording import grouped
from reports.showing.show import Display
from spec.facts import redacted_facts
from spec.findings import templates
from spec.message import Text, changed, joined, say
from spec.requirements import requirements
from tests.harness.judging import ASSERTIONS, DeviationError, JudgedTest, OutOfScope, Untested
from tests.harness.selection import permission_missing_for, requirement_of, wanted_ids
from tests.harness.session import Session

JUDGED = pytest.StashKey[JudgedTest]()


def begin_test(item: pytest.Item, profile: Profile) -> None:
    """Begin a test, whose requirement has no verdict yet. Raises OutOfScope if the profile does not permit what it
    needs."""
    ASSERTIONS.clear()
    requirement = requirement_of(item)
    if requirement is None:
        return
    item.stash[JUDGED] = JudgedTest(item.nodeid, RequirementResult(requirement.id, Verdict.NOT_EXERCISED))
    missing = permission_missing_for(item, requirement, profile)
    if missing:
        raise OutOfScope(missing)


def judge_test(item: pytest.Item, session: Session, ended: DeviationError | Untested | None) -> None:
    """Judge a test that was called; `ended` is the assertion that ended it. A warning or an observation passes; of a
    failure that the profile lists, pytest says that it was expected."""
    test = take_assertions(item, session, ended)
    if test.failing:
        _fail(test, session.profile)
    if isinstance(ended, Untested):
        raise ended


def take_assertions(item: pytest.Item, session: Session, ended: DeviationError | Untested | None = None) -> JudgedTest:
    """Give the test that just ran its results: those that its assertions found, and the one that ended it.

    A test that judged nothing of its own requirement is wrong itself: LookupError.
    """
    test = item.stash[JUDGED]
    results = list(ASSERTIONS.results)
    if isinstance(ended, DeviationError):
        results.append(_result_of(ended, session))
    wanted = wanted_ids(item.config)
    by_id = grouped(results, lambda result: result.id)
    for requirement_id, results_of_one in by_id.items():
        result = _combined(results_of_one, ASSERTIONS.remarks.get(requirement_id, ""))
        result = replace(result, judged=ASSERTIONS.judged[requirement_id])
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


def take_phase(item: pytest.Item, call: pytest.CallInfo[None], report: Any, session: Session) -> None:
    """Take over how the set-up, the call or the teardown of a test ended, and say so in its report. After the teardown
    the record gets what the test found."""
    test = item.stash.get(JUDGED, None)
    if test is None:
        return
    test.elapsed_s += call.duration
    if call.excinfo is not None:
        _take_end(test, call.when, call.excinfo.value, session.display)
    _explain(report, test, session.display)
    if report.when == "teardown":
        report.conformance = test.own
        record_test(test, session)


def record_test(test: JudgedTest, session: Session) -> None:
    """Add what a test found to the record of the run."""
    run, display = session.run, session.display
    run.results += (_shown(result, display) for result in test.results)
    run.selected.update(result.id for result in test.results)
    run.elapsed_s[test.own.id] += test.elapsed_s
    for observation in test.observations:
        run.observations.append(replace(observation, facts=redacted_facts(observation.facts, display.line)))
    if test.error:
        run.errors.append(say("the suite failed at {test}: {error}", test=test.node_id, error=test.error))


def _shown(result: RequirementResult, display: Display) -> RequirementResult:
    """The result without known values in what its messages are filled with, and without names that are data."""
    findings = (
        replace(finding.map(display.foreign), pointers=tuple(map(display.pointer, finding.pointers)))
        for finding in result.findings
    )
    return replace(result, why=changed(result.why, display.foreign), findings=tuple(findings))


def _result_of(error: DeviationError, session: Session) -> RequirementResult:
    """The result of a requirement that is not met. Its level, or that of a finding's code, decides the verdict."""
    judgements = [
        session.reproduction.marked_if_only_beside_others(error.requirement_id, judgement)
        for judgement in error.judgements
    ]
    findings = [finding for judgement in judgements for finding in judgement.findings]
    level = requirements()[error.requirement_id].level
    levels = [templates()[finding.code].get("level", level) for finding in findings]
    verdict = _most_severe(deviation(level, session.profile.fail_on) for level in levels)
    exchanges = [exchange for judgement in judgements for exchange in judgement.exchanges]
    numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
    return RequirementResult(error.requirement_id, verdict, exchanges=numbers, findings=tuple(findings))


def _fail(test: JudgedTest, profile: Profile) -> None:
    """End a test that fails, as expected if the profile lists every failure."""
    known = {entry.id: entry.reason for entry in profile.known_failures if not entry.is_past(today())}
    if all(result.id in known for result in test.failing):
        reasons = dict.fromkeys(known[result.id] for result in test.failing)
        pytest.xfail(f"known failure: {'; '.join(reasons)}")
    pytest.fail(str(joined(result.message for result in test.failing)), pytrace=False)


def _take_end(test: JudgedTest, phase: str, error: BaseException, display: Display) -> None:
    """Note how a phase of a test ended that did not come to its end."""
    if isinstance(error, Untested):
        test.leave_untested(error)
    elif isinstance(error, pytest.skip.Exception):
        test.own = replace(test.own, verdict=Verdict.NOT_EXERCISED, why=str(error))
    elif not test.failing:
        test.error = display.foreign(f"{phase}: {type(error).__name__}: {error}")
        test.own = replace(test.own, verdict=Verdict.NOT_EXERCISED, why=test.error)


def _explain(report: Any, test: JudgedTest, display: Display) -> None:
    """Say why a test failed or was skipped, without known values in what pytest says of it."""
    clean = display.foreign
    if report.failed and report.when == "call" and test.failing:
        results = [_shown(result, display) for result in test.failing]
        report.longrepr = "\n".join(f"{result.id}: {result.message}" for result in results)
    elif report.failed:
        report.longrepr = clean(str(report.longrepr))
    elif report.skipped and isinstance(report.longrepr, tuple):
        report.why = changed(test.own.why, clean)
        report.longrepr = (*report.longrepr[:2], clean(report.longrepr[2]))
    report.sections = [(name, clean(text)) for name, text in report.sections]


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
