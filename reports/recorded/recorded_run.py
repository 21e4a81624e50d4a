"""The run that recorded traffic makes: its tally as results, with the exchanges that show its findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import isfinite

from environments.profiles.model import EMBEDDED, Profile, ProfileError
from reports.grants import Grants
from reports.recorded.entry import IN_PART, NOT_OURS
from reports.recorded.tally import ALIKE, BROKEN, EXCHANGES, GAP, HELD, Seen, Tally
from reports.run import Note, NoteKind, Run
from reports.verdicts import TESTED, RequirementResult, Results, Verdict, deviation
from reports.wording import moment_in_words, written
from spec.findings import Finding, templates
from spec.interface import operations
from spec.message import Text, say, say_many
from spec.requirements import Requirement, requirements
from spec.rules import RULES

_ONE_IS_ENOUGH = (".exists", "Pix.type.example", ".Success.example", ".Key.example")
"""Ends of the requirements that hold where one answer shows it. Others may be about a key that was registered before,
or of another type; an endpoint that answered is there."""
_ASKS = say("needs a question asked of the service; recorded traffic asks none")
_NOT_SHOWN = say("no recorded answer shows it")
_NO_SUCCESS = say("no recorded answer could be judged as a success: record the bodies of the answers, and the token")
_NOTHING = say("no recorded exchange shows anything: check base_url, and where the traffic was recorded")


def recorded_profile(profile: Profile) -> Profile:
    """The profile of a service whose traffic was recorded. Its runs are compared with each other alone. Raises
    ProfileError for the embedded sandbox."""
    if profile.base_url == EMBEDDED:
        raise ProfileError("--recorded: whose traffic? name the service with --environment=NAME or --base-url=ADDRESS")
    return replace(profile, name=f"{profile.name}-recorded", redirected=None)


class RecordedRun(Run):
    """A run that sent nothing. A requirement that no exchange shows does not make it incomplete: recorded traffic may
    never show it. What could not be judged of the recording does."""

    _unjudged: Text = ""
    _has_judged_a_success: bool = False

    def take(self, tally: Tally) -> None:
        """Take over what the traffic shows."""
        self.recorded = _in_words(tally)
        self.grants = Grants(granted={name for name in operations() if tally.times[HELD, f"{name}.exists"]})
        self._take_gaps(tally)
        self._has_judged_a_success = any(
            _answers(tally, requirement.id)
            for requirement in requirements().values()
            if requirement.level != "robustness"
        )
        found: dict[str, list[Finding]] = {}
        numbers: dict[object, int] = {}
        for key, first in tally.of(ALIKE):
            counted = self._finding(first, tally.times[key], _answers(tally, key[1]), numbers)
            found.setdefault(key[1], []).append(counted)
        for id in filter(partial(_answers, tally), requirements()):
            findings, verdict = tuple(found.get(id, ())), Verdict.PASS
            if tally.times[HELD, id] and id.endswith(_ONE_IS_ENOUGH):
                findings = ()
            elif findings:
                levels = (templates()[each.code].get("level", requirements()[id].level) for each in findings)
                verdict = min((deviation(level, self.profile.fail_on) for level in levels), key=[*Verdict].index)
            cited = tuple(dict.fromkeys(number for each in findings for number in each.exchanges))
            self.results.append(RequirementResult(id, verdict, exchanges=cited, findings=findings))

    def _finding(self, first: list[Seen], times: int, answers: int, numbers: dict[object, int]) -> Finding:
        """A finding that says how often it was seen, and where first."""
        found: Finding = first[0].what[0]
        cited = [numbers.setdefault(seen[:2], len(numbers) + 1) for seen in first]
        self.exchanges |= {number: seen.what[1] | {"number": number} for number, seen in zip(cited, first, strict=True)}
        counted = say(
            "{times} of {answers}, first at entry {number} of {file}",
            times=f"{times:,}",
            answers=f"{answers:,}",
            number=f"{first[0].entry:,}",
            file=first[0].file,
        )
        return replace(found, exchanges=tuple(cited), shown_by=counted)

    def _take_gaps(self, tally: Tally) -> None:
        """A line for each reason and file."""
        for key, ((file, number, why), *_) in tally.of(GAP):
            counted = {"why": why, "times": f"{tally.times[key]:,}", "number": f"{number:,}", "file": file}
            line = say("not judged, {why}: {times}, first at entry {number} of {file}", **counted)
            if why in IN_PART:
                line = say("judged in part, {why}: {times}, first at entry {number} of {file}", **counted)
            self.said.append(Note(NoteKind.CUT if why in NOT_OURS else NoteKind.SET_UP, line))
            if why not in NOT_OURS:
                self._unjudged = say("not all of the recording could be judged")

    def _missing(self, results: Results, share: float) -> Iterator[Text]:
        yield "" if any(result.verdict in TESTED for _, result in results) else _NOTHING
        yield self._unjudged
        yield "" if self._has_judged_a_success else _NO_SUCCESS

    def _untested(self, requirement: Requirement) -> RequirementResult:
        if requirement.untestable:
            return super()._untested(requirement)
        can_show = requirement.id in RULES or requirement.id.endswith(".exists")
        return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, _NOT_SHOWN if can_show else _ASKS)


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
