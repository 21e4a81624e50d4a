"""The verdict of a run, the result of each requirement, and the notes, decided from the data of the run (`Run`) alone.

`verdicts.py` has the verdicts themselves, and merges and counts results without knowing a `Run`. docs/verdicts.md says
which verdict comes when.

Self-tests: reports/result/test_verdicts.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from environments.profiles.loading import name_for_commands
from environments.profiles.model import FAIL, Profile, today
from reports.observed.behaviour import Behaviour, behaviour, behaviour_in_words, facts_in_words
from reports.result.answer_counts import NO_OPERATION_SUCCEEDED
from reports.result.run import Note, NoteKind, Recording, Run
from reports.result.verdicts import (
    TESTED,
    RequirementResult,
    Results,
    RunVerdict,
    Verdict,
    coverage,
    merged_results,
    tested_and_testable,
    with_known_failures,
)
from reports.sentences.wording import count_of_each_level, missing_permission, operations_in_words
from spec.interface import operations
from spec.message import Text, joined, joined_reasons, message_of, say, say_many
from spec.requirements import Requirement, requirements
from spec.rules import RULES

_LOOK_AT_THE_ADDRESS = say("look at address, network and certificates")
"""Advice if the target was never reached during the run."""
NOTHING_TESTED = say("nothing was tested")
"""Reason why a run is incomplete: no exchange tested a requirement."""


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
    """The verdict, results and notes of a run, decided from its data.

    It may be called while the run still goes on. Then a later call may return another result.
    """
    # What the service did where the interface document leaves it open: facts by requirement, and by what was sent.
    observed = behaviour(
        (observation.id, str(observation.situation), observation.facts) for observation in run.observations
    )
    results_of_tests = _results_by_id(run, observed)
    # The profile lists failures that are known. An entry is outdated if it has expired, or if its requirement passes.
    by_id, outdated_entries = with_known_failures(results_of_tests, run.profile.known_failures, today())
    results = [(requirement, by_id[id]) for id, requirement in requirements().items() if id in by_id]
    verdict, why = verdict_of(run, results)  # `why` says what is missing, such as "nothing was tested"
    notes = _sorted_notes(run, outdated_entries, nothing_was_tested=why == NOTHING_TESTED)
    return RunResult(verdict, why, results, _operations_of(results), observed, notes)


def _operations_of(results: Results) -> Collection[str]:
    """The operations that the results are about.

    A general requirement, such as `general.versionPrefix`, names no operation, because it is about all of them.
    """
    names = {requirement.operation for requirement, _ in results}
    if None in names:  # there is a general requirement
        return set(operations())
    return {name for name in names if name}


# -- the verdict ------------------------------------------------------------------------------------------------------


def verdict_of(run: Run, results: Results) -> tuple[RunVerdict, Text]:
    """The verdict of a run with these results, and a text that says what is missing, such as "nothing was tested".

    `applies` has the condition of each verdict. The verdict of the run is the first verdict of the enum whose condition
    is true. The text is empty for all verdicts except "incomplete" and "drifted". A drifted run may be incomplete, too,
    and its report must say so. A run has drifted if the service behaves otherwise than in a run that the user accepted.
    """
    failing_levels = {requirement.level for requirement, result in results if result.fails}
    tested, testable = tested_and_testable(coverage(results), run.profile.fail_on)  # numbers of requirements
    share = tested / testable if testable else 1
    reasons = [reason for reason in _reasons_why_incomplete(run, results, share) if reason]
    why_incomplete = reasons[0] if reasons else ""  # the first is the most important one
    applies = {
        RunVerdict.INTERNAL_ERROR: run.errors,
        RunVerdict.INTERRUPTED: run.interrupted,
        RunVerdict.NON_CONFORMANT: failing_levels - {"robustness"},
        RunVerdict.NOT_ROBUST: failing_levels,  # here only "robustness" can fail: the line above has the other levels
        RunVerdict.DRIFTED: run.drift and run.profile.drift == FAIL,
        RunVerdict.UNREACHABLE: run.unreachable,
        RunVerdict.NOTHING_SELECTED: not results,
        RunVerdict.INCOMPLETE: why_incomplete,
        RunVerdict.PARTIAL: run.narrowed or tested < testable,  # the user or the profile left requirements out
        RunVerdict.CONFORMANT: True,
    }
    possible_verdicts = [verdict for verdict in RunVerdict if applies[verdict]]
    verdict = possible_verdicts[0]
    if verdict in (RunVerdict.DRIFTED, RunVerdict.INCOMPLETE):
        return verdict, why_incomplete
    return verdict, ""


def _reasons_why_incomplete(run: Run, results: Results, share: float) -> Iterator[Text]:
    """Reasons why a run without a failure is incomplete, the most important first. Empty texts are no reasons.

    The first reason is shown to the user. `share` is the share of testable requirements that were tested, from 0 to 1.
    """
    if run.recorded is not None:
        yield from _reasons_why_recording_is_incomplete(run.recorded, results)
        return
    if run.answers_to_valid_token.refused_all:  # the service answered the valid token, but never with a success
        yield NO_OPERATION_SUCCEEDED
    # The journal is a file with the codes that were sent, so that no code is sent twice. Without it no code of the
    # profile is sent; and no code at all if it cannot be written.
    if run.journal_trouble:
        yield say("the journal could not be used, which stopped executions")
    if not _something_was_tested(results):
        yield NOTHING_TESTED
    yield run.answers_to_valid_token.why_no_basis_for_a_verdict(_operations_of(results))
    # A key that existed before the run is gone, or an account of the profile is refused.
    yield from (note.text for note in run.notes if note.kind in (NoteKind.KEY_GONE, NoteKind.ACCOUNT_REFUSED))
    yield _number_not_exercised_in_words(run.profile, results)
    yield run.ended_by  # the limit that ended the sending, or the token that expired; empty if nothing did
    required_share = run.profile.min_coverage or 0
    if share < required_share:
        yield say("min_coverage ({share}) is not reached", share=f"{required_share:g}")


def _reasons_why_recording_is_incomplete(recording: Recording, results: Results) -> Iterator[Text]:
    """Reasons why recorded traffic is not enough for a verdict, the most important first. Empty texts are no reasons.

    A requirement that was not exercised is no reason here, unlike in a run that sends requests, because recorded
    traffic has only what somebody recorded. A recorded entry that could not be judged is a reason.
    """
    if not _something_was_tested(results):
        yield say("no recorded exchange shows anything: check base_url, and where the traffic was recorded")
    yield recording.unjudged
    if not recording.has_a_success:
        yield say("no recorded answer could be judged as a success: record the bodies of the answers, and the token")


def _something_was_tested(results: Results) -> bool:
    """True if an exchange tested at least one of the requirements: it has a verdict such as pass or fail."""
    return any(result.verdict in TESTED for _, result in results)


def _number_not_exercised_in_words(profile: Profile, results: Results) -> Text:
    """How many requirements were not exercised although the profile permits their requests, in words; empty if none.

    For example "2 documented and 1 implied requirements in scope were not exercised". A requirement is counted only if
    its failure would make the run fail: its level is in `fail_on` of the profile, and no entry of `known_failures`
    accepts its failure. An entry accepts it up to its last day (`until`).
    """
    accepted_failures = {entry.id for entry in profile.known_failures if not entry.is_past(today())}
    levels = []
    for requirement, result in results:
        would_fail_the_run = requirement.level in profile.fail_on and requirement.id not in accepted_failures
        if result.verdict == Verdict.NOT_EXERCISED and would_fail_the_run:
            levels.append(requirement.level)
    if not levels:
        return ""
    return say_many(
        "{levels} requirement in scope was not exercised",
        "{levels} requirements in scope were not exercised",
        n=len(levels),
        levels=count_of_each_level(levels),
    )


# -- the result of each requirement -----------------------------------------------------------------------------------


def _results_by_id(run: Run, observed: Behaviour) -> dict[str, RequirementResult]:
    """The result of each requirement that the run is about, by its id.

    It comes from the tests of the requirement. If no test judged it, the result says why. `observed` is the behaviour
    that the interface document does not show.
    """
    results = [result for result in run.results if _is_about(run, result.id)]
    results_that_count = [result for result in results if not _shows_only_that_target_was_stopped(run, result)]
    tested = merged_results(results_that_count)
    result_by_id = {}
    for requirement in requirements().values():
        if not _is_about(run, requirement.id):
            continue
        result = tested.get(requirement.id) or _result_if_untested(run, requirement)
        if result.verdict == Verdict.OBSERVED and requirement.id in observed:
            result = replace(result, why=behaviour_in_words(observed[requirement.id]))
        if result.verdict == Verdict.NOT_EXERCISED:
            result = replace(result, why=_why_not_exercised(run, requirement, result.why))
        result_by_id[requirement.id] = result
    return result_by_id


def _is_about(run: Run, requirement_id: str) -> bool:
    """True if the run is about this requirement: the user selected it, or selected nothing, so that all are meant."""
    return not run.narrowed or requirement_id in run.selected


def _shows_only_that_target_was_stopped(run: Run, result: RequirementResult) -> bool:
    """True if a failure only shows that somebody stopped the target during the run, which is no fault of the service.

    All findings of such a failure are dropped connections, and the target cannot be reached any more.
    """
    if not run.unreachable or result.verdict != Verdict.FAIL:
        return False
    return {finding.code for finding in result.findings} == {"dropped"}


def _why_not_exercised(run: Run, requirement: Requirement, own_reason: Text) -> Text:
    """Why a requirement was not exercised, for a report.

    Some reasons explain everything else, so only the first of them is returned: the target cannot be reached, no
    operation succeeded, the sending ended early, or only a gateway answered. If none of them applies, the text has two
    parts: `own_reason`, which the tests of the requirement gave, and the limits that stopped requests to its operation.
    """
    if run.unreachable:
        return say("the target cannot be reached: {why}", why=message_of(run.unreachable))
    if run.answers_to_valid_token.refused_all:  # the service answered the valid token, but never with a success
        return NO_OPERATION_SUCCEEDED
    if run.ended_by:  # the limit that ended the sending, or the token that expired
        return run.ended_by
    # `outages` has the operations to which only a gateway answered for some time, by the reason in words.
    outages = [reason for reason, names in run.outages.items() if requirement.operation in names]
    if outages:
        return joined(outages)
    limits = []
    for reason, operations_of_unsent_requests in run.unsent.items():
        is_about_all_operations = requirement.operation is None  # such as a general rule
        if is_about_all_operations or requirement.operation in operations_of_unsent_requests:
            limits.append(reason)
    return joined_reasons([own_reason, *limits])


def _result_if_untested(run: Run, requirement: Requirement) -> RequirementResult:
    """The result of a requirement that no test judged, with the reason.

    The verdict is "untestable" if no exchange can show the requirement, "out-of-scope" if the profile does not permit
    the requests for it, and "not-exercised" for any other reason.
    """
    if requirement.untestable:
        return RequirementResult(requirement.id, Verdict.UNTESTABLE, requirement.untestable)
    if run.recorded is not None:
        return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, _why_not_in_recording(requirement))
    missing_permission_in_words = missing_permission(requirement, run.profile.allow)
    if missing_permission_in_words:
        return RequirementResult(requirement.id, Verdict.OUT_OF_SCOPE, missing_permission_in_words)
    return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, run.stopped or say("no test reached it"))


def _why_not_in_recording(requirement: Requirement) -> Text:
    """Why recorded traffic did not exercise a requirement.

    A recorded answer can show a requirement that has a rule on single exchanges. It can also show that an endpoint
    exists. All other requirements need special requests, which only a run sends.
    """
    can_be_shown = requirement.id in RULES or requirement.id.endswith(".exists")
    if can_be_shown:
        return say("no recorded answer shows it")
    return say("needs a question asked of the service; recorded traffic asks none")


# -- the notes --------------------------------------------------------------------------------------------------------


def _sorted_notes(run: Run, outdated_entries: list[Text], *, nothing_was_tested: bool) -> tuple[Note, ...]:
    """The notes on the run as a whole, without repeats, in the order of their kinds (alerts first).

    `outdated_entries` has a line for each entry of known_failures that has expired or whose requirement passes.
    """
    notes_at_the_end = _notes_at_the_end(run, outdated_entries, nothing_was_tested=nothing_was_tested)
    distinct_notes = dict.fromkeys([*run.notes, *notes_at_the_end])
    order_of_kinds = list(NoteKind)
    return tuple(sorted(distinct_notes, key=lambda note: order_of_kinds.index(note.kind)))


def _notes_at_the_end(run: Run, outdated_entries: list[Text], *, nothing_was_tested: bool) -> Iterator[Note]:
    """Notes that can be made only from the data of the whole run, such as that no operation succeeded.

    `outdated_entries` has a line for each entry of known_failures that has expired or whose requirement passes.
    """
    for observation in run.observations:
        if observation.may_cost_money:
            facts = message_of(facts_in_words(observation.facts))
            yield Note(NoteKind.COSTLY_BEHAVIOUR, say("{id}: {facts}", id=observation.id, facts=facts))
    if run.unreachable:
        why = message_of(run.unreachable)
        gone = say("{base_url} cannot be reached: {why}", base_url=run.base_url, why=why)
        # `end_of_target` is a sentence on the last request before the target could not be reached any more.
        yield Note(NoteKind.UNREACHABLE, joined([gone, run.end_of_target or _LOOK_AT_THE_ADDRESS]))
    yield from (Note(NoteKind.SUITE_FAILED, error) for error in run.errors)
    # If the target is unreachable, notes on operations without a success, and on limits, would only repeat that reason.
    answers = run.answers_to_valid_token
    if not run.unreachable:
        yield from (Note(NoteKind.NO_OPERATION_SUCCEEDED, text) for text in answers.notes(run.profile.auth))
    if run.not_cleaned_up:
        yield Note(NoteKind.NOT_CLEANED_UP, _keys_not_cleaned_up_in_words(run))
    if run.profile.redirection_note:  # a sentence on what --base-url changed, except for the address
        yield Note(NoteKind.REDIRECTED, run.profile.redirection_note)
    yield from (Note(NoteKind.KNOWN_FAILURE, text) for text in outdated_entries)
    if nothing_was_tested:
        text = say("nothing was tested: see what is not exercised or out of scope, and why")
        yield Note(NoteKind.NOTHING_TESTED, text)
    if not run.unreachable:
        yield from (Note(NoteKind.REQUESTS_LEFT_OUT, text) for text in _unsent_requests_in_words(run))
    yield from (Note(NoteKind.GENERATED_TRAFFIC, text) for text in run.generated.notes(answers.succeeded))


def _keys_not_cleaned_up_in_words(run: Run) -> Text:
    """The text of a note: how many keys the run registered and did not delete, and the command that deletes them.

    The permission `delete-keys` and the option `--yes` are needed for the deletion itself.
    """
    return say(
        "{keys}: python -m environments cleanup {name} names them; with delete-keys, --yes deletes them",
        keys=say_many("{n} key not cleaned up", "{n} keys not cleaned up", n=len(run.not_cleaned_up)),
        name=name_for_commands(run.profile),
    )


def _unsent_requests_in_words(run: Run) -> Iterator[Text]:
    """A line for each reason why requests were not sent, such as a limit, with the operations of these requests."""
    for why, names in run.unsent.items():
        yield say("{why}: not all requests to {operations} were sent", why=why, operations=operations_in_words(names))
