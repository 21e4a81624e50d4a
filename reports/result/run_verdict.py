"""The verdict of a run, the result of each requirement, and the notes, decided from the data of the run (`Run`) alone.

docs/verdicts.md says which verdict comes when.

Self-tests: reports/result/test_verdicts.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from environments.profiles.loading import name_for_commands
from environments.profiles.model import FAIL, Profile, today
from reports.observed.behaviour import Behaviour, behaviour, behaviour_in_words, facts_in_words
from reports.result.grants import NOTHING_GRANTED
from reports.result.run import Note, NoteKind, Recording, Run
from reports.result.verdicts import (
    TESTED,
    RequirementResult,
    Results,
    RunVerdict,
    Verdict,
    coverage,
    merged_results,
    tested_of,
    with_known_failures,
)
from reports.sentences.wording import level_by_level, missing_permission, operations_in_words
from spec.interface import operations
from spec.message import Text, joined, joined_reasons, message_of, say, say_many
from spec.requirements import Requirement, requirements
from spec.rules import RULES

_LOOK_AT_THE_ADDRESS = say("look at address, network and certificates")
NOTHING_TESTED = say("nothing was tested")


@dataclass(frozen=True)
class RunResult:
    """The verdict of a run, and the results and notes that follow from its data."""

    verdict: RunVerdict
    why: Text  # what is missing, if the verdict is incomplete or drifted; else empty
    results: Results  # of every requirement that the run is about
    operations: Collection[str]  # that the run is about
    behaviour: Behaviour
    notes: tuple[Note, ...]  # each once, in the order of their kinds


def result_of_run(run: Run) -> RunResult:
    """The result of a run. The run may still go on; then a later call gives another result."""
    observed = behaviour(
        (observation.id, str(observation.situation), observation.facts) for observation in run.observations
    )
    results_of_tests = _results_by_id(run, observed)
    by_id, outdated = with_known_failures(results_of_tests, run.profile.known_failures, today())
    results = [(requirement, by_id[id]) for id, requirement in requirements().items() if id in by_id]
    verdict, why = verdict_of(run, results)
    notes = _notes(run, outdated, nothing_was_tested=why == NOTHING_TESTED)
    return RunResult(verdict, why, results, _operations_of(results), observed, notes)


def _operations_of(results: Results) -> Collection[str]:
    """The operations that the results are about. A requirement of no operation is about all of them."""
    names = {requirement.operation for requirement, _ in results}
    if None in names:
        return set(operations())
    return {name for name in names if name}


# -- the verdict ------------------------------------------------------------------------------------------------------


def verdict_of(run: Run, results: Results) -> tuple[RunVerdict, Text]:
    """The verdict on these results, and what is missing. The latter is empty unless the verdict is incomplete or
    drifted.

    `applies` has the condition of each verdict. The first verdict whose condition holds counts.
    """
    failing_levels = {requirement.level for requirement, result in results if result.fails}
    tested, testable = tested_of(coverage(results), run.profile.fail_on)
    share = tested / testable if testable else 1
    reasons = [reason for reason in _reasons_against_verdict(run, results, share) if reason]
    missing = reasons[0] if reasons else ""
    applies = {
        RunVerdict.INTERNAL_ERROR: run.errors,
        RunVerdict.INTERRUPTED: run.interrupted,
        RunVerdict.NON_CONFORMANT: failing_levels - {"robustness"},
        RunVerdict.NOT_ROBUST: failing_levels,
        RunVerdict.DRIFTED: run.drift and run.profile.drift == FAIL,
        RunVerdict.UNREACHABLE: run.unreachable,
        RunVerdict.NOTHING_SELECTED: not results,
        RunVerdict.INCOMPLETE: missing,
        RunVerdict.PARTIAL: run.narrowed or tested < testable,
        RunVerdict.CONFORMANT: True,
    }
    verdict = next(verdict for verdict in RunVerdict if applies[verdict])
    has_reason = verdict in (RunVerdict.DRIFTED, RunVerdict.INCOMPLETE)
    return verdict, missing if has_reason else ""


def _reasons_against_verdict(run: Run, results: Results, share: float) -> Iterator[Text]:
    """Reasons why a run without a failure is incomplete. The first one that is not empty counts.

    `share` is the share of testable requirements that were tested.
    """
    if run.recorded is not None:
        yield from _reasons_against_recording(run.recorded, results)
        return
    if run.grants.refused_all:
        yield NOTHING_GRANTED
    if run.journal_trouble:
        yield say("the journal could not be used, which stopped executions")
    if not _is_tested(results):
        yield NOTHING_TESTED
    yield run.grants.missing_basis(_operations_of(results))
    yield from (note.text for note in run.notes if note.kind in (NoteKind.KEY_GONE, NoteKind.ACCOUNT))
    yield _not_exercised(run.profile, results)
    yield run.ended_by
    required_share = run.profile.min_coverage or 0
    if share < required_share:
        yield say("min_coverage ({share}) is not reached", share=f"{required_share:g}")


def _reasons_against_recording(recording: Recording, results: Results) -> Iterator[Text]:
    """Reasons why recorded traffic is no verdict on the service. The first one that is not empty counts.

    A requirement that no exchange shows is no reason, because recorded traffic may never show it. An entry that could
    not be judged is one.
    """
    if not _is_tested(results):
        yield say("no recorded exchange shows anything: check base_url, and where the traffic was recorded")
    yield recording.unjudged
    if not recording.has_a_success:
        yield say("no recorded answer could be judged as a success: record the bodies of the answers, and the token")


def _is_tested(results: Results) -> bool:
    """True if at least one requirement was tested."""
    return any(result.verdict in TESTED for _, result in results)


def _not_exercised(profile: Profile, results: Results) -> Text:
    """Number of requirements in scope at failing levels that were not exercised; empty if there is none.

    A requirement that `known_failures` lists does not count, because its failure would not fail the run either.
    """
    known_failures = {entry.id for entry in profile.known_failures if not entry.is_past(today())}
    not_exercised = [requirement for requirement, result in results if result.verdict == Verdict.NOT_EXERCISED]
    at_failing_levels = [requirement for requirement in not_exercised if requirement.level in profile.fail_on]
    levels = [requirement.level for requirement in at_failing_levels if requirement.id not in known_failures]
    if not levels:
        return ""
    return say_many(
        "{levels} requirement in scope was not exercised",
        "{levels} requirements in scope were not exercised",
        n=len(levels),
        levels=level_by_level(levels),
    )


# -- the result of each requirement -----------------------------------------------------------------------------------


def _results_by_id(run: Run, observed: Behaviour) -> dict[str, RequirementResult]:
    """The result of each requirement that the run is about, by its id."""
    counting = [result for result in run.results if _is_about(run, result.id) and not _shows_only_the_end(run, result)]
    tested = merged_results(counting)
    results = {}
    for requirement in requirements().values():
        if not _is_about(run, requirement.id):
            continue
        result = tested.get(requirement.id) or _untested(run, requirement)
        if result.verdict == Verdict.OBSERVED and requirement.id in observed:
            result = replace(result, why=behaviour_in_words(observed[requirement.id]))
        if result.verdict == Verdict.NOT_EXERCISED:
            result = replace(result, why=_why_not_exercised(run, requirement, result.why))
        results[requirement.id] = result
    return results


def _is_about(run: Run, requirement_id: str) -> bool:
    """True if the user did not select other requirements."""
    return not run.narrowed or requirement_id in run.selected


def _shows_only_the_end(run: Run, result: RequirementResult) -> bool:
    """True for a failure that only dropped connections show, if the target went away during the run.

    The connections were dropped because the target was stopped, which is no fault of the service.
    """
    if not run.unreachable or result.verdict != Verdict.FAIL:
        return False
    return {finding.code for finding in result.findings} == {"dropped"}


def _why_not_exercised(run: Run, requirement: Requirement, own_reason: Text) -> Text:
    """Reason why a requirement was not exercised.

    If the target is gone, nothing was granted, or only a gateway answered, that is the whole reason, because all else
    follows from it. Else it is the reason that the tests give, and the limits that cut requests to the operation short.
    """
    if run.unreachable:
        return say("the target cannot be reached: {why}", why=message_of(run.unreachable))
    if run.grants.refused_all:
        return NOTHING_GRANTED
    if run.ended_by:
        return run.ended_by
    outages = [reason for reason, names in run.outages.items() if requirement.operation in names]
    if outages:
        return joined(outages)
    # A requirement of no operation, such as a general rule, is about requests to all operations.
    limits = [reason for reason, names in run.unsent.items() if requirement.operation in {*names, None}]
    return joined_reasons([own_reason, *limits])


def _untested(run: Run, requirement: Requirement) -> RequirementResult:
    """The result of a requirement that no test judged, and why.

    The first that applies of: untestable, not exercised by recorded traffic, out of scope without a permission, not
    exercised because no test reached it.
    """
    if requirement.untestable:
        return RequirementResult(requirement.id, Verdict.UNTESTABLE, requirement.untestable)
    if run.recorded is not None:
        return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, _not_in_recording(requirement))
    missing = missing_permission(requirement, run.profile.allow)
    if missing:
        return RequirementResult(requirement.id, Verdict.OUT_OF_SCOPE, missing)
    return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, run.stopped or say("no test reached it"))


def _not_in_recording(requirement: Requirement) -> Text:
    """Reason why recorded traffic did not exercise a requirement."""
    can_be_shown = requirement.id in RULES or requirement.id.endswith(".exists")
    if can_be_shown:
        return say("no recorded answer shows it")
    return say("needs a question asked of the service; recorded traffic asks none")


# -- the notes --------------------------------------------------------------------------------------------------------


def _notes(run: Run, outdated: list[Text], *, nothing_was_tested: bool) -> tuple[Note, ...]:
    """The notes on the run as a whole, each once, in the order of their kinds.

    `outdated` has lines about entries of known_failures that no longer hold.
    """
    of_record = _notes_of_record(run, outdated, nothing_was_tested=nothing_was_tested)
    notes = dict.fromkeys([*run.notes, *of_record])
    order_of_kinds = list(NoteKind)
    return tuple(sorted(notes, key=lambda note: order_of_kinds.index(note.kind)))


def _notes_of_record(run: Run, outdated: list[Text], *, nothing_was_tested: bool) -> Iterator[Note]:
    """Notes that follow from the data of the whole run, such as a target that is gone."""
    for observation in run.observations:
        if observation.first:
            facts = message_of(facts_in_words(observation.facts))
            yield Note(NoteKind.OBSERVED_FIRST, say("{id}: {facts}", id=observation.id, facts=facts))
    if run.unreachable:
        why = message_of(run.unreachable)
        gone = say("{base_url} cannot be reached: {why}", base_url=run.base_url, why=why)
        yield Note(NoteKind.UNREACHABLE, joined([gone, run.last_seen or _LOOK_AT_THE_ADDRESS]))
    yield from (Note(NoteKind.SUITE_FAILED, error) for error in run.errors)
    if not run.unreachable:
        yield from (Note(NoteKind.NOTHING_GRANTED, text) for text in run.grants.notes(run.profile.auth))
    if run.not_cleaned_up:
        yield Note(NoteKind.LEFT, _keys_left(run))
    if run.profile.redirected:
        yield Note(NoteKind.REDIRECTED, run.profile.redirected)
    yield from (Note(NoteKind.KNOWN_FAILURE, text) for text in outdated)
    if nothing_was_tested:
        text = say("nothing was tested: see what is not exercised or out of scope, and why")
        yield Note(NoteKind.NOTHING_TESTED, text)
    if not run.unreachable:
        yield from (Note(NoteKind.CUT, text) for text in _unsent(run))
    yield from (Note(NoteKind.GENERATED_TRAFFIC, text) for text in run.generated.notes(run.grants.granted))


def _keys_left(run: Run) -> Text:
    """Number of keys not cleaned up, and the command that deletes them."""
    return say(
        "{keys}: python -m environments cleanup {name} names them; with delete-keys, --yes deletes them",
        keys=say_many("{n} key not cleaned up", "{n} keys not cleaned up", n=len(run.not_cleaned_up)),
        name=name_for_commands(run.profile),
    )


def _unsent(run: Run) -> Iterator[Text]:
    """A line for each limit that cut requests short, with the operations."""
    for why, names in run.unsent.items():
        yield say("{why}: not all requests to {operations} were sent", why=why, operations=operations_in_words(names))
