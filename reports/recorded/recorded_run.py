"""The run that recorded traffic makes: its counts as results, with the exchanges that show each finding.

The way of an entry of a file:

1. `reading.py` finds the files, and has each judged, in any process.
2. `har.py` gives the entries, one at a time.
3. `entry.py` makes an exchange of each; `content.py` reads its bodies.
4. `forms.py` judges the exchange by the rules of `spec/rules/`; `counts.py` counts.
5. `fill_run` makes results, evidence and notes of the counts. From here on it is a run like any other.

| word | meaning |
|---|---|
| counts | how many entries show what, and a few examples of each deviation |
| example | an entry that a person may look up, because it shows a deviation or was not judged |
| unjudged | not judged, or judged only in part, because something is not recorded |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from math import isfinite

from environments.profiles.model import EMBEDDED, Profile, ProfileError
from reports.recorded.counts import (
    BROKEN,
    DEVIATION,
    EXCHANGES,
    HELD,
    UNJUDGED,
    CountKey,
    RecordedCounts,
    RecordedExample,
    ShownDeviation,
)
from reports.recorded.entry import JUDGED_IN_PART, NO_FAULT_OF_RECORDING
from reports.result.answer_counts import AnswersToValidToken
from reports.result.run import Note, NoteKind, Recording, Run
from reports.result.verdicts import RequirementResult, Verdict, most_severe, verdict_on_deviation
from reports.sentences.wording import published_moment
from spec.findings import Finding, templates
from spec.interface import operations
from spec.message import Date, Text, say, say_many
from spec.requirements import requirements

_ENDINGS_OF_IDS_THAT_ONE_ANSWER_MEETS = (".exists", "Pix.type.example", ".Success.example", ".Key.example")
"""Endings of the ids of requirements that are met if a single answer meets them, even if other answers deviate.

For example `executePix.exists`: one success shows that the endpoint exists, even if other requests got a 404. Other
answers to registrations may be about another key type, or about a key that was registered before."""


def recorded_profile(profile: Profile) -> Profile:
    """The profile for a run that judges recorded traffic of the service of this profile.

    It has another name, `…-recorded`, so that its runs are compared only with each other. It has no note about
    --base-url, because the run sends nothing to that address. Raises ProfileError for the embedded sandbox: it is
    started for each run, so nobody can have recorded its traffic.
    """
    if profile.base_url == EMBEDDED:
        raise ProfileError("--recorded: whose traffic? name the service with --environment=NAME or --base-url=ADDRESS")
    return replace(profile, name=f"{profile.name}-recorded", redirection_note=None)


def fill_run(run: Run, counts: RecordedCounts) -> None:
    """Add the results, exchanges and notes that follow from recorded traffic to a run that sent no requests.

    `counts` says how many recorded entries show what. After this, the run is reported like any other.
    """
    # Each success, and nothing else, meets the requirement that its endpoint exists. So these operations succeeded.
    succeeded = {name for name in operations() if counts.times[HELD, f"{name}.exists"]}
    run.answers_to_valid_token = AnswersToValidToken(succeeded=succeeded)
    for key, examples in counts.keys_with_examples(UNJUDGED):
        run.notes.append(_note_on_unjudged_entries(key, examples[0], counts))
    run.recorded = Recording(
        _recording_in_words(counts), unjudged=_why_not_all_was_judged(counts), has_a_success=bool(succeeded)
    )
    findings = _findings_with_exchanges(run, counts)
    for id in requirements():
        if not _number_of_judged_answers(counts, id):
            continue
        was_met = counts.times[HELD, id] > 0
        one_answer_is_enough = id.endswith(_ENDINGS_OF_IDS_THAT_ONE_ANSWER_MEETS)
        findings_of_result = tuple(findings[id])
        if was_met and one_answer_is_enough:  # then answers that deviate are no fault
            findings_of_result = ()
        run.results.append(_result_of_requirement(id, findings_of_result, run.profile.fail_on))


def _findings_with_exchanges(run: Run, counts: RecordedCounts) -> defaultdict[str, list[Finding]]:
    """The deviations that recorded traffic shows, by requirement id. The requests that show them are added to the run.

    `counts` has the numbers of all recorded traffic, with up to three examples of each deviation.
    """
    findings: defaultdict[str, list[Finding]] = defaultdict(list)
    numbers = _ExchangeNumbers()
    for key, examples in counts.keys_with_examples(DEVIATION):
        requirement_id = key[1]  # a key is "deviation", the requirement id, and what kind of deviation
        cited_numbers = []  # of the exchanges that the report shows for this finding
        for example in examples:
            number = numbers.of(example)
            cited_numbers.append(number)
            run.exchanges[number] = replace(_deviation_of(example).exchange, number=number)
        number_of_judged = _number_of_judged_answers(counts, requirement_id)
        finding = _finding_in_recording(examples[0], counts.times[key], number_of_judged)
        findings[requirement_id].append(replace(finding, exchanges=tuple(cited_numbers)))
    return findings


class _ExchangeNumbers:
    """Numbers for the recorded entries that findings name, as the exchanges of a run have them: 1, 2, 3, …"""

    def __init__(self) -> None:
        """Start without any number."""
        self._by_entry: dict[tuple[str, int], int] = {}  # by file, and number of the entry in it

    def of(self, example: RecordedExample) -> int:
        """The number of the exchange that is made of an example, which is an entry of a file.

        A new entry gets the next number. An entry that has a number keeps it, because several findings may name it.
        """
        next_number = len(self._by_entry) + 1
        return self._by_entry.setdefault((example.file, example.entry), next_number)


def _result_of_requirement(id: str, findings: tuple[Finding, ...], fail_on: Collection[str]) -> RequirementResult:
    """The result of a requirement: a pass if it has no finding, else the most severe verdict on its findings.

    `fail_on` has the levels at which a deviation is a failure. At other levels it is a warning.
    """
    if not findings:
        return RequirementResult(id, Verdict.PASS)
    level_of_requirement = requirements()[id].level
    # findings.yaml gives some codes a level of their own, which replaces the level of the requirement.
    levels = [templates()[finding.code].get("level", level_of_requirement) for finding in findings]
    verdict = most_severe(verdict_on_deviation(level, fail_on) for level in levels)
    cited = dict.fromkeys(chain(*(finding.exchanges for finding in findings)))  # each number once
    return RequirementResult(id, verdict, exchanges=tuple(cited), findings=findings)


def _finding_in_recording(first: RecordedExample, times: int, answers: int) -> Finding:
    """The finding that a report shows for a recorded deviation, with words for how often it was recorded, and where.

    `times` answers show the deviation, of `answers` that were judged: "3 of 1,200, first at entry 17 of traffic.har".
    `first` is the first recorded example of it.
    """
    how_often_and_where = say(
        "{times} of {answers}, first at entry {number} of {file}",
        times=f"{times:,}",
        answers=f"{answers:,}",
        number=f"{first.entry:,}",
        file=first.file,
    )
    # A report writes `shown_by` before the sentence of a finding.
    return replace(_deviation_of(first).finding, shown_by=how_often_and_where)


def _deviation_of(example: RecordedExample) -> ShownDeviation:
    """The deviation that a recorded entry shows. AssertionError for an example of an entry that was not judged."""
    assert example.deviation is not None
    return example.deviation


def _note_on_unjudged_entries(key: CountKey, first: RecordedExample, counts: RecordedCounts) -> Note:
    """A note on the entries that were not judged, or only in part, for the same reason.

    It says how many they are, and where the first one is. `counts` has their number, under `key`. If the recording
    itself is at fault, such as a file without its end, the note is an alert (NoteKind.WRONG_SET_UP), because a person
    must repair that. Other reasons, such as a request to another address, are no fault.
    """
    why = first.why_unjudged
    parameters = {"why": why, "times": f"{counts.times[key]:,}", "number": f"{first.entry:,}", "file": first.file}
    line = say("not judged, {why}: {times}, first at entry {number} of {file}", **parameters)
    if why in JUDGED_IN_PART:
        line = say("judged in part, {why}: {times}, first at entry {number} of {file}", **parameters)
    is_fault_of_recording = why not in NO_FAULT_OF_RECORDING
    return Note(NoteKind.WRONG_SET_UP if is_fault_of_recording else NoteKind.REQUESTS_LEFT_OUT, line)


def _why_not_all_was_judged(counts: RecordedCounts) -> Text:
    """Why the run is incomplete: a part of the recording is damaged and could not be judged. Empty if no part is.

    Entries that were left out for other reasons, such as another address, are no fault of the recording. `counts` has
    examples of the entries that were not judged, by their reason.
    """
    # All examples of a key have the same reason, so the first one is enough.
    reasons = [examples[0].why_unjudged for _, examples in counts.keys_with_examples(UNJUDGED)]
    is_damaged = any(reason not in NO_FAULT_OF_RECORDING for reason in reasons)
    return say("not all of the recording could be judged") if is_damaged else ""


def _number_of_judged_answers(counts: RecordedCounts, id: str) -> int:
    """Number of recorded answers that show whether a requirement is met: those that meet it and those that do not.

    `counts` has both numbers.
    """
    return counts.times[HELD, id] + counts.times[BROKEN, id]


def _moment_of(timestamp: float) -> Date | str:
    """A moment in seconds since 1970 as a date for a report; a question mark if it is infinite.

    It is infinite if no entry of the recording has a moment.
    """
    return Date(published_moment(datetime.fromtimestamp(timestamp, UTC))) if isfinite(timestamp) else "?"


def _recording_in_words(counts: RecordedCounts) -> Text:
    """A line for the report that says what was judged: how many recorded requests with answers, and from when to when.

    `counts` has the numbers of all recorded traffic.
    """
    number = counts.times[EXCHANGES]
    return say_many(
        "judged from recorded traffic: {count} exchange, from {since} to {until}",
        "judged from recorded traffic: {count} exchanges, from {since} to {until}",
        n=number,
        count=f"{number:,}",
        since=_moment_of(counts.since),
        until=_moment_of(counts.until),
    )
