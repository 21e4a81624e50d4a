"""Sentences that the terminal and the page share: the verdict, what it rests on, and what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from environments.profiles.profile import is_loopback
from reports.cuts import operations_of
from reports.observations.drift_text import drifting
from reports.verdicts import RunVerdict, Verdict, fails
from reports.wording import by_level, counted, listed
from spec.requirements import ledger

PERMISSIONS = {
    "read": "read",
    "register-keys": "register keys",
    "delete-keys": "delete keys",
    "create-pix": "create PIX transactions",
    "transfer": "prepare transfers",
    "execute": "execute transfers",
    "fuzz": "send generated requests",
}
"""Every permission of a profile, as people say it."""
_MOST_EXCEPTED = 2
_NO_VERDICT_ON_IT = "; this is no verdict on the service"
_NO_VERDICT = {
    RunVerdict.UNREACHABLE: f"the target could not be reached{_NO_VERDICT_ON_IT}",
    RunVerdict.NOTHING_SELECTED: "no conformance test matches",
    RunVerdict.INTERNAL_ERROR: f"the suite failed{_NO_VERDICT_ON_IT}",
}


@dataclass(frozen=True)
class Headline:
    """`word` is the verdict, `scope` what was permitted and selected, `sentence` what the verdict rests on."""

    word: str
    scope: str
    sentence: str

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.word, self.scope)))}: {self.sentence}"


def headline(document: Mapping[str, Any]) -> Headline:
    """The headline of a conformance.json."""
    verdict = document["verdict"]
    word = verdict.replace("-", " ").upper() if verdict != RunVerdict.NON_CONFORMANT else "NON-CONFORMANT"
    if verdict in _NO_VERDICT:
        why = document["incomplete"] and document["incomplete"] + _NO_VERDICT_ON_IT
        return Headline(word, "", why or _NO_VERDICT[verdict])
    known = known_failures(document)
    if verdict == RunVerdict.CONFORMANT and known:
        word += f" except {counted(known, 'known failure')}"
    scope = [permitted(document["environment"]["allow"])]
    scope += [f"only {document['selection']}"] if document["selection"] else []
    return Headline(word, ", ".join(scope), "; ".join(_sentence(document, known)))


def run_line(document: Mapping[str, Any]) -> str:
    """Where the run went, and how much it sent."""
    environment, traffic = document["environment"], document["traffic"]
    seed = f"; generated with --seed={document['generated']['seed']}" if document["generated"]["refused"] else ""
    sent = f"{counted(traffic['requests'], 'request')}, {counted(traffic['executions'], 'execution')}"
    return f"{environment['name']} at {environment['base_url']}: {sent}{seed}"


def permitted(allow: Collection[str]) -> str:
    """What the profile permits, in words for people: `read only`, `read and register keys`."""
    missing = [words for name, words in PERMISSIONS.items() if name not in allow]
    given = [words for name, words in PERMISSIONS.items() if name in allow]
    if not missing:
        return "everything permitted"
    if len(missing) <= _MOST_EXCEPTED:
        return f"everything permitted except to {listed(missing)}"
    return f"{given[0]} only" if len(given) == 1 else listed(given) or "nothing permitted"


def coverage_text(document: Mapping[str, Any]) -> str:
    """How many of the requirements that the run is about were tested: the documented ones, or else the first level."""
    coverage = document["coverage"]
    level = next((level for level in coverage if coverage[level]["testable"]), "documented")
    tested, testable = coverage.get(level, {"tested": 0, "testable": 0}).values()
    if not testable:
        return "nothing that was selected can be tested"
    selected = "selected " if len(document["requirements"]) < len(ledger()) else ""
    if tested == testable == 1:
        return f"the 1 {selected}testable {level} requirement was tested"
    share = f"all {testable}" if tested == testable else f"{tested} of {testable}"
    return f"{share} {selected}testable {level} requirements tested"


def is_untested(document: Mapping[str, Any]) -> bool:
    """Whether the run was stopped so early that no requirement was tested."""
    tested = any(share["tested"] for share in document["coverage"].values())
    return document["verdict"] == RunVerdict.INTERRUPTED and not tested


def count_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Verdicts by level, a line for each level; known failures apart."""
    for level in document["counts"]:
        known = known_failures(document, level)
        parts = [counted(known, "known failure")] if known else []
        parts += [f"{count} {verdict}" for verdict, count in counts_of(document, level).items() if count]
        yield f"{level:<12} {', '.join(parts)}"


def counts_of(document: Mapping[str, Any], level: str) -> dict[str, int]:
    """Every verdict of a level with its count, failures without those that are known."""
    known = {Verdict.FAIL: known_failures(document, level)}
    return {verdict: document["counts"][level].get(verdict, 0) - known.get(verdict, 0) for verdict in Verdict}


def remedy(document: Mapping[str, Any]) -> Iterator[str]:
    """The command that deletes keys of the profile later; none where no record was kept for it."""
    environment = document["environment"]
    if any(key["of_the_profile"] for key in document["not_cleaned_up"]) and not is_loopback(environment["base_url"]):
        yield f"python -m environments cleanup {environment['name']} removes the keys of the profile"


def _sentence(document: Mapping[str, Any], known: int) -> Iterator[str]:
    if is_untested(document):
        yield "the run was stopped before anything was tested; this is no verdict on the service"
        return
    yield from _reason(document, known)
    yield coverage_text(document)
    if document["drift"] and document["verdict"] != RunVerdict.DRIFTED:
        yield drifting(document)
    if document["granted_nothing"] and document["granted"]:
        yield f"nothing was granted by {listed(document['granted_nothing'])}"
    if document["cut"]:
        cuts = [f"{cut['why']} ({operations_of(cut)})" for cut in document["cut"]]
        yield f"cut short, as {listed(cuts)}"


def _reason(document: Mapping[str, Any], known: int) -> Iterator[str]:
    verdict = document["verdict"]
    failing = [one["level"] for one in document["requirements"] if fails(one)]
    besides = f", besides {counted(known, 'known failure')}" if known else ""
    apart = f" except {counted(known, 'known failure')}" if known else ""
    said = f"{by_level(failing)} {'fails' if len(failing) == 1 else 'fail'}{besides}"
    if verdict == RunVerdict.INTERRUPTED:
        yield "the run was stopped; the report has what it found until then"
    elif verdict == RunVerdict.NOT_ROBUST:
        yield f"no documented requirement fails, but {said}"
    elif failing:
        yield said
    elif verdict == RunVerdict.DRIFTED:
        missing = [document["incomplete"]] if document["incomplete"] else []
        yield "; ".join((f"nothing failed{apart}, but {drifting(document)}", *missing))
    elif verdict == RunVerdict.INCOMPLETE:
        yield f"nothing failed{apart}, but {document['incomplete']}"


def known_failures(document: Mapping[str, Any], level: str = "") -> int:
    """How many failures are listed as known, of one level or of all."""
    return sum("known_failure" in one and level in ("", one["level"]) for one in document["requirements"])
