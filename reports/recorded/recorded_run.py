"""The run that recorded traffic makes: its tally as results, with the exchanges that show its findings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import isfinite

from environments.profiles.model import EMBEDDED, Profile, ProfileError
from reports.recorded.entry import IN_PART, NOT_OURS
from reports.recorded.tally import ALIKE, BROKEN, EXCHANGES, GAP, HELD, Seen, Tally
from reports.result.grants import Grants
from reports.result.run import Note, NoteKind, Recording, Run
from reports.result.verdicts import RequirementResult, Verdict, deviation
from reports.sentences.wording import moment_in_words, written
from spec.findings import Finding, templates
from spec.interface import operations
from spec.message import Text, say, say_many
from spec.requirements import requirements

_ONE_IS_ENOUGH = (".exists", "Pix.type.example", ".Success.example", ".Key.example")
"""Ends of the requirements that hold where one answer shows it. Others may be about a key that was registered before,
or of another type; an endpoint that answered is there."""


def recorded_profile(profile: Profile) -> Profile:
    """The profile of a service whose traffic was recorded. Its runs are compared with each other alone. Raises
    ProfileError for the embedded sandbox."""
    if profile.base_url == EMBEDDED:
        raise ProfileError("--recorded: whose traffic? name the service with --environment=NAME or --base-url=ADDRESS")
    return replace(profile, name=f"{profile.name}-recorded", redirected=None)


def take_tally(run: Run, tally: Tally) -> None:
    """Fill the record of a run that sent nothing with what the traffic shows."""
    run.grants = Grants(granted={name for name in operations() if tally.times[HELD, f"{name}.exists"]})
    has_a_success = any(
        _answers(tally, requirement.id) for requirement in requirements().values() if requirement.level != "robustness"
    )
    run.recorded = Recording(_in_words(tally), _take_gaps(run, tally), has_a_success)
    findings: dict[str, list[Finding]] = {}
    numbers: dict[object, int] = {}
    for key, first in tally.of(ALIKE):
        counted = _finding(run, first, tally.times[key], _answers(tally, key[1]), numbers)
        findings.setdefault(key[1], []).append(counted)
    for id in filter(partial(_answers, tally), requirements()):
        is_held = bool(tally.times[HELD, id]) and id.endswith(_ONE_IS_ENOUGH)
        run.results.append(_result(id, () if is_held else tuple(findings.get(id, ())), run.profile.fail_on))


def _result(id: str, findings: tuple[Finding, ...], fail_on: Collection[str]) -> RequirementResult:
    verdict = Verdict.PASS
    if findings:
        levels = (templates()[finding.code].get("level", requirements()[id].level) for finding in findings)
        verdict = min((deviation(level, fail_on) for level in levels), key=[*Verdict].index)
    cited = dict.fromkeys(number for finding in findings for number in finding.exchanges)
    return RequirementResult(id, verdict, exchanges=tuple(cited), findings=findings)


def _finding(run: Run, first: list[Seen], times: int, answers: int, numbers: dict[object, int]) -> Finding:
    """A finding that says how often it was seen, and where first. Its exchanges are added to the run."""
    finding: Finding = first[0].what[0]
    cited = [numbers.setdefault(seen[:2], len(numbers) + 1) for seen in first]
    run.exchanges |= {number: seen.what[1] | {"number": number} for number, seen in zip(cited, first, strict=True)}
    counted = say(
        "{times} of {answers}, first at entry {number} of {file}",
        times=f"{times:,}",
        answers=f"{answers:,}",
        number=f"{first[0].entry:,}",
        file=first[0].file,
    )
    return replace(finding, exchanges=tuple(cited), shown_by=counted)


def _take_gaps(run: Run, tally: Tally) -> Text:
    """Add a line for each reason and file. Gives why not all of the recording could be judged; empty if it could."""
    unjudged: Text = ""
    for key, ((file, number, why), *_) in tally.of(GAP):
        counted = {"why": why, "times": f"{tally.times[key]:,}", "number": f"{number:,}", "file": file}
        line = say("not judged, {why}: {times}, first at entry {number} of {file}", **counted)
        if why in IN_PART:
            line = say("judged in part, {why}: {times}, first at entry {number} of {file}", **counted)
        run.notes.append(Note(NoteKind.CUT if why in NOT_OURS else NoteKind.SET_UP, line))
        if why not in NOT_OURS:
            unjudged = say("not all of the recording could be judged")
    return unjudged


def _answers(tally: Tally, id: str) -> int:
    return tally.times[HELD, id] + tally.times[BROKEN, id]


def _in_words(tally: Tally) -> Text:
    """The traffic that the verdict rests on."""
    moments = [datetime.fromtimestamp(at, UTC) for at in (tally.since, tally.until) if isfinite(at)]
    since, until = map(moment_in_words, map(written, moments)) if moments else ("?", "?")
    return say_many(
        "judged from recorded traffic: {count} exchange, from {since} to {until}",
        "judged from recorded traffic: {count} exchanges, from {since} to {until}",
        n=(number := tally.times[EXCHANGES]),
        count=f"{number:,}",
        since=since,
        until=until,
    )
