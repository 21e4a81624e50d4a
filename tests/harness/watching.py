"""Around each conformance test: its assertions become results, and the results decide what pytest says of the test.

A test has a requirement of its own, which its marker names. It may assert something of other requirements, too.
`ASSERTIONS` (judging.py) has the results of the assertions in the running test. An exchange is a request with its
answer. A test is untested if it could not judge its requirement, because something or a permission was missing.

The hooks of `ConformanceRun` in the conftest.py of the root call it: `begin_test`, then `judge_test`, and
`note_end_of_phase` after each phase of a test: its set-up, its call and its teardown.

Self-tests: harness/test_judging.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

import pytest

from environments.profiles.model import Profile, today
from reports.result.verdicts import RequirementResult, Verdict, most_severe, verdict_on_deviation
from reports.sentences.wording import grouped
from reports.showing.evidence import shown_finding
from reports.showing.show import Display
from spec.facts import redacted_facts
from spec.findings import templates
from spec.message import Text, joined, say, with_texts_changed
from spec.requirements import requirements
from tests.harness.judging import ASSERTIONS, DeviationError, JudgedTest, OutOfScope, Untested
from tests.harness.selection import permission_missing_for, requirement_of, wanted_ids
from tests.harness.session import Session

JUDGED = pytest.StashKey[JudgedTest]()
"""The key under which a test of pytest keeps its record."""


def begin_test(item: pytest.Item, profile: Profile) -> None:
    """Prepare the record of a test that is about to run. Raises OutOfScope if the profile lacks a permission for it.

    A test without a requirement is no conformance test, and gets no record. Until the test ends, its requirement counts
    as not exercised.
    """
    ASSERTIONS.clear()
    requirement = requirement_of(item)
    if requirement is None:
        return
    item.stash[JUDGED] = JudgedTest(item.nodeid, RequirementResult(requirement.id, Verdict.NOT_EXERCISED))
    missing_permissions = permission_missing_for(item, requirement, profile)
    if missing_permissions:
        raise OutOfScope(missing_permissions)


LastAssertion = DeviationError | Untested | None
"""The exception of the assertion that ended a test early; None if the test came to its end."""


def judge_test(item: pytest.Item, session: Session, last_assertion: LastAssertion) -> None:
    """Collect the results of a test that has run, and make it pass, fail or be skipped in pytest.

    A test with a warning passes. If the profile lists all failures of the test in known_failures, pytest counts it as
    expected to fail (xfail). `last_assertion` is the exception by which an assertion ended the test early.
    """
    test = collect_results(item, session, last_assertion)
    if test.failing:
        _end_as_failed(test, session.profile)
    if isinstance(last_assertion, Untested):
        raise last_assertion


def collect_results(item: pytest.Item, session: Session, last_assertion: LastAssertion = None) -> JudgedTest:
    """The record of the test that just ran, with the results of all its assertions.

    `last_assertion` is the exception by which an assertion ended the test early; this gives a result as well. Results
    about other requirements than the test's own are used only if the user selected these. Raises LookupError if the
    test asserted nothing about its own requirement, because then the test is wrong.
    """
    test = item.stash[JUDGED]
    result_by_id = _results_of_assertions(last_assertion, session)
    wanted = wanted_ids(item.config)
    for requirement_id, result in result_by_id.items():
        if requirement_id == test.own_result.id:
            test.own_result = result
        elif requirement_id in wanted:
            test.others.append(result)
    test.observations += ASSERTIONS.observations
    if isinstance(last_assertion, Untested):
        test.leave_untested(last_assertion)
    elif test.own_result.id not in result_by_id:
        raise LookupError(f"the test names {test.own_result.id}, and asserts nothing of it")
    return test


def _results_of_assertions(last_assertion: LastAssertion, session: Session) -> dict[str, RequirementResult]:
    """One result for each requirement about which the running test asserted something, by the id of the requirement.

    Several results of one requirement are combined to one. `ASSERTIONS` has the results of the assertions that
    returned, and how many exchanges were judged for each requirement. An assertion that found a deviation did not
    return: it raised a DeviationError, so its result is added here.
    """
    results = list(ASSERTIONS.results)
    if isinstance(last_assertion, DeviationError):
        results.append(_result_of_deviation(last_assertion, session))
    combined = {}
    for requirement_id, group in grouped(results, lambda result: result.id).items():
        result = _combined_result(group, ASSERTIONS.remarks.get(requirement_id, ""))
        combined[requirement_id] = replace(result, judged=ASSERTIONS.judged[requirement_id])
    return combined


def note_end_of_phase(item: pytest.Item, call: pytest.CallInfo[None], report: Any, session: Session) -> None:
    """Record how a phase of a test ended, and make the report of pytest say why the test failed or was skipped.

    The phases are set-up, call and teardown. After the teardown, which is the last one, the results of the test are
    added to the record of the run.
    """
    test = item.stash.get(JUDGED, None)
    if test is None:
        return
    test.elapsed_s += call.duration
    if call.excinfo is not None:
        _note_error(test, call.when, call.excinfo.value, session.display)
    _put_reason_into_report(report, test, session.display)
    if report.when == "teardown":
        record_test(test, session)


def record_test(test: JudgedTest, session: Session) -> None:
    """Add the results and observations of a test to the record of the run, without tokens, accounts, keys and codes."""
    run = session.run
    display = session.display
    run.results += (_shown_result(result, display) for result in test.results)
    run.selected.update(result.id for result in test.results)
    run.elapsed_s[test.own_result.id] += test.elapsed_s
    for observation in test.observations:
        run.observations.append(replace(observation, facts=redacted_facts(observation.facts, display.safe_line)))
    if test.error:
        run.errors.append(say("the suite failed at {test}: {error}", test=test.node_id, error=test.error))


def _shown_result(result: RequirementResult, display: Display) -> RequirementResult:
    """The result as it may be shown in a report: its texts have no token, account, key or code.

    A finding says where it is in an answer. A member name that interfaces do not commonly use becomes `*` there, such
    as `/data/*` for `/data/Ana`, because a service may use data as a name: `{"Ana": 12}`.
    """
    findings = tuple(shown_finding(finding, display) for finding in result.findings)
    return replace(result, why=with_texts_changed(result.why, display.without_known_values), findings=findings)


def _result_of_deviation(error: DeviationError, session: Session) -> RequirementResult:
    """The result of a requirement that is not met: a failure or a warning, with its findings.

    The level of the requirement, such as `documented`, decides whether it is a failure or a warning. But some kinds of
    findings have a level of their own in findings.yaml. A finding that showed only in parallel with other requests gets
    the remark "only with other requests in flight", because these may be the cause.
    """
    judgements = [
        session.reproduction.with_remark_if_only_in_parallel(error.requirement_id, judgement)
        for judgement in error.judgements
    ]
    findings = list(chain.from_iterable(judgement.findings for judgement in judgements))
    level_of_requirement = requirements()[error.requirement_id].level
    levels = [templates()[finding.code].get("level", level_of_requirement) for finding in findings]
    verdict = most_severe(verdict_on_deviation(level, session.profile.fail_on) for level in levels)
    exchanges = chain.from_iterable(judgement.exchanges for judgement in judgements)
    numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
    return RequirementResult(error.requirement_id, verdict, exchanges=numbers, findings=tuple(findings))


def _end_as_failed(test: JudgedTest, profile: Profile) -> NoReturn:
    """End a test whose results include a failure, so that pytest reports it as failed. Raises an exception of pytest.

    If the profile lists all these failures as known, and their last day is not over, pytest counts the test as expected
    to fail (xfail).
    """
    reason_by_id = {entry.id: entry.reason for entry in profile.known_failures if not entry.is_past(today())}
    if all(result.id in reason_by_id for result in test.failing):
        reasons = dict.fromkeys(reason_by_id[result.id] for result in test.failing)
        pytest.xfail(f"known failure: {'; '.join(reasons)}")
    pytest.fail(str(joined(result.message for result in test.failing)), pytrace=False)


def _note_error(test: JudgedTest, phase: str, error: BaseException, display: Display) -> None:
    """Record the exception that ended a phase of a test.

    - An assertion found that the requirement cannot be judged: the test is untested.
    - pytest skips the test: its requirement is not exercised.
    - The test has a failure: the exception only says so to pytest, and nothing more is recorded.
    - Any other exception: the suite itself has failed, which says nothing about the service.
    """
    if isinstance(error, Untested):
        test.leave_untested(error)
    elif isinstance(error, pytest.skip.Exception):
        test.own_result = replace(test.own_result, verdict=Verdict.NOT_EXERCISED, why=str(error))
    elif not test.failing:
        test.error = display.without_known_values(f"{phase}: {type(error).__name__}: {error}")
        test.own_result = replace(test.own_result, verdict=Verdict.NOT_EXERCISED, why=test.error)


def _put_reason_into_report(report: Any, test: JudgedTest, display: Display) -> None:
    """Make the report of pytest say why a test failed or was skipped. Tokens, codes and other secrets are hidden."""
    without_secrets = display.without_known_values
    failed_in_call = report.failed and report.when == "call"
    if failed_in_call and test.failing:  # the service deviates: the findings are the reason
        results = [_shown_result(result, display) for result in test.failing]
        report.longrepr = "\n".join(f"{result.id}: {result.message}" for result in results)
    elif report.failed:  # the suite itself failed: the traceback is the reason
        report.longrepr = without_secrets(str(report.longrepr))
    elif report.skipped and isinstance(report.longrepr, tuple):
        # The HTML report shows `why`, translated to its language (`HtmlPage.show_reason_of_skip`).
        report.why = with_texts_changed(test.own_result.why, without_secrets)
        path, line_number, reason = report.longrepr  # the form in which pytest reports a skip
        report.longrepr = (path, line_number, without_secrets(reason))
    # The sections are what the test printed and logged.
    report.sections = [(name, without_secrets(text)) for name, text in report.sections]


def _combined_result(results: Sequence[RequirementResult], remark: Text) -> RequirementResult:
    """Several results of one requirement combined to one: the most severe verdict, all exchanges, and all findings.

    Its reason is the last reason in the results. If no result has a reason, it is `remark`, a text that the test added.
    """
    texts = [result.why for result in results if result.why]
    return RequirementResult(
        results[0].id,
        most_severe(result.verdict for result in results),
        why=texts[-1] if texts else remark,
        exchanges=tuple(chain.from_iterable(result.exchanges for result in results)),
        findings=tuple(chain.from_iterable(result.findings for result in results)),
    )
