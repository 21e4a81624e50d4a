"""The verdict of a run: a pure function of its record."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from environments.profiles.loading import name_for_commands
from environments.profiles.model import FAIL, Profile, today
from reports.observed.behaviour import Behaviour, behaviour, facts_in_words, in_words
from reports.result.grants import NOTHING_GRANTED
from reports.result.run import Note, NoteKind, Recording, Run
from reports.result.verdicts import (
    TESTED,
    RequirementResult,
    Results,
    RunVerdict,
    Verdict,
    coverage,
    merged,
    tested_of,
    with_known_failures,
)
from reports.sentences.wording import level_by_level, missing_permission, operations_in_words
from spec.interface import operations
from spec.message import Text, joined, message_of, said_once, say, say_many
from spec.requirements import Requirement, requirements
from spec.rules import RULES

NOTHING_TESTED = say("nothing was tested")


@dataclass(frozen=True)
class RunResult:
    """What the record of a run shows.

    `why` says what is missing, if something is and nothing failed. `results` has every requirement that the run is
    about, in the order of the interface document. `operations` are those that it is about.
    """

    verdict: RunVerdict
    why: Text
    results: Results
    operations: Collection[str]
    behaviour: Behaviour
    notes: tuple[Note, ...]


def result_of_run(run: Run) -> RunResult:
    """The result of a run. The notes have each line once, by kind."""
    observed = behaviour(
        (observation.id, str(observation.situation), observation.facts) for observation in run.observations
    )
    known_failures = run.profile.known_failures
    by_id, outdated = with_known_failures(_results_by_id(run, observed), known_failures, today())
    results = [(requirement, by_id[id]) for id, requirement in requirements().items() if id in by_id]
    verdict, why = verdict_of(run, results)
    notes = _notes(run, outdated, nothing_was_tested=why == NOTHING_TESTED)
    return RunResult(verdict, why, results, _operations_of(results), observed, notes)


def _operations_of(results: Results) -> Collection[str]:
    """The operations that the results are about: all of them if a requirement belongs to none."""
    names = {requirement.operation for requirement, _ in results}
    if None in names:
        return set(operations())
    return {name for name in names if name}


# -- the verdict ------------------------------------------------------------------------------------------------------


def verdict_of(run: Run, results: Results) -> tuple[RunVerdict, Text]:
    """The verdict on these results, and why it is incomplete: empty unless it is that, or drifted."""
    failing_levels = {requirement.level for requirement, result in results if result.fails}
    tested, testable = tested_of(coverage(results), run.profile.fail_on)
    share = tested / testable if testable else 1
    missing = next((reason for reason in _missing(run, results, share) if reason), "")
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
    return verdict, missing if verdict in (RunVerdict.DRIFTED, RunVerdict.INCOMPLETE) else ""


def _missing(run: Run, results: Results, share: float) -> Iterator[Text]:
    """Reasons why a run without a failure is no verdict on the service. The first that is not empty counts."""
    if run.recorded is not None:
        yield from _missing_in_recording(run.recorded, results)
        return
    yield NOTHING_GRANTED if run.grants.refused_all else ""
    yield say("the journal could not be used, which stopped executions") if run.journal_trouble else ""
    yield "" if _is_tested(results) else NOTHING_TESTED
    yield run.grants.lacking(_operations_of(results))
    yield from (note.text for note in run.said if note.kind in (NoteKind.KEY_GONE, NoteKind.ACCOUNT))
    yield _not_exercised(run.profile, results)
    yield run.ended_by
    least = run.profile.min_coverage or 0
    yield say("min_coverage ({share}) is not reached", share=f"{least:g}") if share < least else ""


def _missing_in_recording(recording: Recording, results: Results) -> Iterator[Text]:
    """The same for recorded traffic. A requirement that no exchange shows does not make the run incomplete, because
    recorded traffic may never show it. What could not be judged of the recording does."""
    if not _is_tested(results):
        yield say("no recorded exchange shows anything: check base_url, and where the traffic was recorded")
    yield recording.unjudged
    if not recording.has_a_success:
        yield say("no recorded answer could be judged as a success: record the bodies of the answers, and the token")


def _is_tested(results: Results) -> bool:
    return any(result.verdict in TESTED for _, result in results)


def _not_exercised(profile: Profile, results: Results) -> Text:
    """Number of requirements in scope at failing levels that were not exercised; empty if there is none."""
    known = {entry.id for entry in profile.known_failures if not entry.is_past(today())}
    levels = [
        requirement.level
        for requirement, result in results
        if result.verdict == Verdict.NOT_EXERCISED
        and requirement.level in profile.fail_on
        and requirement.id not in known
    ]
    if not levels:
        return ""
    return say_many(
        "{levels} requirement in scope was not exercised",
        "{levels} requirements in scope were not exercised",
        **{"n": len(levels), "levels": level_by_level(levels)},
    )


# -- the result of each requirement -----------------------------------------------------------------------------------


def _results_by_id(run: Run, observed: Behaviour) -> dict[str, RequirementResult]:
    """The result of each requirement that the run is about, as its tests found it, or why there is none."""
    selected = [requirement for requirement in requirements().values() if _is_about(run, requirement.id)]
    counting = [result for result in run.results if _is_about(run, result.id) and not _shows_the_end_alone(run, result)]
    by_id = merged(counting)
    results = {}
    for requirement in selected:
        result = by_id.get(requirement.id) or _untested(run, requirement)
        if result.verdict == Verdict.OBSERVED and requirement.id in observed:
            result = replace(result, why=in_words(observed[requirement.id]))
        results[requirement.id] = _with_reasons(run, requirement, result)
    return results


def _is_about(run: Run, requirement_id: str) -> bool:
    return not run.narrowed or requirement_id in run.selected


def _shows_the_end_alone(run: Run, result: RequirementResult) -> bool:
    """True for a failure that only dropped connections show, in a run whose target went away: no fault of it."""
    is_dropped = {finding.code for finding in result.findings} == {"dropped"}
    return run.unreachable != "" and is_dropped and result.verdict == Verdict.FAIL


def _with_reasons(run: Run, requirement: Requirement, result: RequirementResult) -> RequirementResult:
    """The result. If it was not exercised, with the reasons why not all requests were sent.

    If the target is gone, nothing was granted or a gateway answered alone, that stands alone, because all else follows
    from it.
    """
    if result.verdict != Verdict.NOT_EXERCISED:
        return result
    if run.unreachable:
        gone = say("the target cannot be reached: {why}", why=message_of(run.unreachable))
        return replace(result, why=gone)
    if run.grants.refused_all:
        return replace(result, why=NOTHING_GRANTED)
    outages = [reason for reason, names in run.outages.items() if requirement.operation in names]
    if outages and not run.ended_by:
        return replace(result, why=joined(outages))
    unsent = [reason for reason, names in run.unsent.items() if requirement.operation in {*names, None}]
    return replace(result, why=run.ended_by or said_once([result.why, *unsent]))


def _untested(run: Run, requirement: Requirement) -> RequirementResult:
    """The result of a requirement for which nothing was found: the weakest verdict that is true, and why."""
    if requirement.untestable:
        return RequirementResult(requirement.id, Verdict.UNTESTABLE, requirement.untestable)
    if run.recorded is not None:
        return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, _not_in_recording(requirement))
    if missing := missing_permission(requirement, run.profile.allow):
        return RequirementResult(requirement.id, Verdict.OUT_OF_SCOPE, missing)
    return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, run.stopped or say("no test reached it"))


def _not_in_recording(requirement: Requirement) -> Text:
    if requirement.id in RULES or requirement.id.endswith(".exists"):
        return say("no recorded answer shows it")
    return say("needs a question asked of the service; recorded traffic asks none")


# -- the notes --------------------------------------------------------------------------------------------------------


def _notes(run: Run, outdated: list[Text], *, nothing_was_tested: bool) -> tuple[Note, ...]:
    """The notes on the run as a whole, each once, in the order of their kinds. `outdated` are lines about entries of
    known_failures."""
    notes = dict.fromkeys(run.said)
    notes |= dict.fromkeys(_notes_of_record(run, outdated, nothing_was_tested=nothing_was_tested))
    return tuple(note for kind in NoteKind for note in notes if note.kind is kind)


def _notes_of_record(run: Run, outdated: list[Text], *, nothing_was_tested: bool) -> Iterator[Note]:
    for observation in run.observations:
        if observation.first:
            facts = message_of(facts_in_words(observation.facts))
            yield Note(NoteKind.OBSERVED_FIRST, say("{id}: {facts}", id=observation.id, facts=facts))
    if run.unreachable:
        why = message_of(run.unreachable)
        yield Note(NoteKind.UNREACHABLE, say("{base_url} cannot be reached: {why}", base_url=run.base_url, why=why))
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
    for why, names in run.unsent.items():
        yield say("{why}: not all requests to {operations} were sent", why=why, operations=operations_in_words(names))
