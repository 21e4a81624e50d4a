"""The run that recorded traffic makes: its tally as results, with the exchanges that show each finding.

The way of an entry of a file:

1. `reading.py` finds the files, and has each judged, in any process.
2. `har.py` gives the entries, one at a time.
3. `entry.py` makes an exchange of each; `content.py` reads its bodies.
4. `forms.py` judges the exchange by the rules of `spec/rules/`; `tally.py` counts.
5. `take_tally` makes results, evidence and notes of the tally. From here on it is a run like any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from math import isfinite

from environments.profiles.model import EMBEDDED, Profile, ProfileError
from reports.recorded.entry import IN_PART, NOT_OURS
from reports.recorded.tally import ALIKE, BROKEN, EXCHANGES, GAP, HELD, ShownDeviation, Sighting, Tally, TallyKey
from reports.result.grants import Grants
from reports.result.run import Note, NoteKind, Recording, Run
from reports.result.verdicts import RequirementResult, Verdict, verdict_on_deviation
from reports.sentences.wording import published_moment
from spec.findings import Finding, templates
from spec.interface import operations
from spec.message import Date, Text, say, say_many
from spec.requirements import requirements

_ENDS_OF_MET_BY_ONE_ANSWER = (".exists", "Pix.type.example", ".Success.example", ".Key.example")
"""Ends of the ids of requirements that a single answer is enough to meet, even if others deviate. An endpoint that
answered once exists. Other answers to registrations may be about another key type, or about a key that was registered
before."""


def recorded_profile(profile: Profile) -> Profile:
    """The profile of a service whose traffic was recorded.

    It has a name of its own, so that its runs are compared with each other alone. Raises ProfileError for the embedded
    sandbox, which is nobody's traffic.
    """
    if profile.base_url == EMBEDDED:
        raise ProfileError("--recorded: whose traffic? name the service with --environment=NAME or --base-url=ADDRESS")
    return replace(profile, name=f"{profile.name}-recorded", redirected=None)


def take_tally(run: Run, tally: Tally) -> None:
    """Fill a run that sent nothing with the results, exchanges and notes of a tally, which has counts of all files."""
    run.grants = Grants(granted={name for name in operations() if tally.times[HELD, f"{name}.exists"]})
    run.notes += [_note(key, sightings[0], tally) for key, sightings in tally.of(GAP)]
    run.recorded = Recording(_in_words(tally), _unjudged(tally), _has_a_success(tally))
    findings = _findings_with_exchanges(run, tally)
    for id in requirements():
        if not _judged_answers(tally, id):
            continue
        was_met_once = tally.times[HELD, id] > 0
        one_is_enough = id.endswith(_ENDS_OF_MET_BY_ONE_ANSWER)
        findings_of_result = () if was_met_once and one_is_enough else tuple(findings[id])
        run.results.append(_result(id, findings_of_result, run.profile.fail_on))


def _findings_with_exchanges(run: Run, tally: Tally) -> defaultdict[str, list[Finding]]:
    """The findings of a tally by requirement. The exchanges that show them are added to the run."""
    findings: defaultdict[str, list[Finding]] = defaultdict(list)
    numbers = _Numbers()
    for key, sightings in tally.of(ALIKE):
        _, requirement_id, *_ = key
        cited_numbers = []
        for sighting in sightings:
            number = numbers.of(sighting)
            cited_numbers.append(number)
            run.exchanges[number] = replace(_deviation_of(sighting).exchange, number=number)
        finding = _finding(sightings[0], tally.times[key], _judged_answers(tally, requirement_id))
        findings[requirement_id].append(replace(finding, exchanges=tuple(cited_numbers)))
    return findings


class _Numbers:
    """Gives each entry of a file that a finding cites a number, as exchanges of a run have: 1, 2, 3, …"""

    def __init__(self) -> None:
        self._by_entry: dict[tuple[str, int], int] = {}  # by file, and number of the entry in it

    def of(self, sighting: Sighting) -> int:
        """The number of the entry of a sighting: the same each time, and the next free one at the first time."""
        return self._by_entry.setdefault((sighting.file, sighting.entry), len(self._by_entry) + 1)


def _has_a_success(tally: Tally) -> bool:
    """True if at least one answer was judged as a success.

    Of other answers only robustness requirements are judged, so a judgement on any other requirement shows a success.
    """
    return any(
        _judged_answers(tally, requirement.id)
        for requirement in requirements().values()
        if requirement.level != "robustness"
    )


def _result(id: str, findings: tuple[Finding, ...], fail_on: Collection[str]) -> RequirementResult:
    """The result of a requirement: a pass, or the most severe verdict of its findings."""
    if not findings:
        return RequirementResult(id, Verdict.PASS)
    level_of_requirement = requirements()[id].level
    levels = [templates()[finding.code].get("level", level_of_requirement) for finding in findings]
    verdicts = {verdict_on_deviation(level, fail_on) for level in levels}
    most_severe = min(verdicts, key=list(Verdict).index)  # the most severe verdict stands first
    cited = dict.fromkeys(chain(*(finding.exchanges for finding in findings)))
    return RequirementResult(id, most_severe, exchanges=tuple(cited), findings=findings)


def _finding(first: Sighting, times: int, answers: int) -> Finding:
    """The finding of the first sighting, with the number of answers that show it, and where it is first recorded."""
    counted = say(
        "{times} of {answers}, first at entry {number} of {file}",
        times=f"{times:,}",
        answers=f"{answers:,}",
        number=f"{first.entry:,}",
        file=first.file,
    )
    return replace(_deviation_of(first).finding, shown_by=counted)


def _deviation_of(sighting: Sighting) -> ShownDeviation:
    """The deviation that an entry shows. The entry must be the sighting of a deviation."""
    assert sighting.deviation is not None
    return sighting.deviation


def _note(key: TallyKey, first: Sighting, tally: Tally) -> Note:
    """A note on entries that were not judged, or only in part, for one reason: how many, and where the first is.

    If the recording itself is at fault, such as a file that was cut, a person has to look at it (SET_UP).
    """
    why = first.gap
    parameters = {"why": why, "times": f"{tally.times[key]:,}", "number": f"{first.entry:,}", "file": first.file}
    line = say("not judged, {why}: {times}, first at entry {number} of {file}", **parameters)
    if why in IN_PART:
        line = say("judged in part, {why}: {times}, first at entry {number} of {file}", **parameters)
    is_fault_of_recording = why not in NOT_OURS
    return Note(NoteKind.SET_UP if is_fault_of_recording else NoteKind.CUT, line)


def _unjudged(tally: Tally) -> Text:
    """Reason why a run that judges this recording is incomplete: a part of it is damaged. Empty if none is."""
    is_damaged = any(sightings[0].gap not in NOT_OURS for _, sightings in tally.of(GAP))
    return say("not all of the recording could be judged") if is_damaged else ""


def _judged_answers(tally: Tally, id: str) -> int:
    """Number of answers that a requirement could be judged by."""
    return tally.times[HELD, id] + tally.times[BROKEN, id]


def _moment_of(timestamp: float) -> Date | str:
    """The moment; a question mark if no entry of the recording has one."""
    return Date(published_moment(datetime.fromtimestamp(timestamp, UTC))) if isfinite(timestamp) else "?"


def _in_words(tally: Tally) -> Text:
    """The traffic that the verdict rests on: how many exchanges, and from when."""
    number = tally.times[EXCHANGES]
    return say_many(
        "judged from recorded traffic: {count} exchange, from {since} to {until}",
        "judged from recorded traffic: {count} exchanges, from {since} to {until}",
        n=number,
        count=f"{number:,}",
        since=_moment_of(tally.since),
        until=_moment_of(tally.until),
    )
