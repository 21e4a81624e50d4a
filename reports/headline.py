"""Sentences that the terminal and the page share: the verdict, what it rests on, and what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.cuts import operations_of
from reports.observations.drift_text import drifting
from reports.verdicts import RunVerdict, Verdict, fails, tested_of
from reports.wording import by_level, counted, listed

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
    scope = [permitted(document["environment"]["allow"])]
    scope += [f"only {document['selection']}"] if document["selection"] else []
    return Headline(word, ", ".join(scope), "; ".join(_sentence(document)))


def run_line(document: Mapping[str, Any]) -> str:
    """Where the run went, and how much it sent."""
    environment = document["environment"]
    seed = f"; generated with --seed={document['generated']['seed']}" if document["generated"]["refused"] else ""
    return f"{environment['name']} at {environment['base_url']}, {sent(document)}{seed}"


def sent(document: Mapping[str, Any]) -> str:
    """Whether the target is a sandbox, the transfers executed there, and the requests."""
    where, traffic = "a sandbox" if document["environment"]["sandbox"] else "no sandbox", document["traffic"]
    unknown = traffic["unknown_outcomes"]
    executed = f"{counted(traffic['executions'] - unknown, 'transfer')} executed"
    may_have_been = f", {counted(unknown, 'execution')} with an unknown outcome" if unknown else ""
    return f"{where}: {executed}{may_have_been}, {counted(traffic['requests'], 'request')}"


def permitted(allow: Collection[str]) -> str:
    """What the profile permits, in words for people: `read only`, `read and register keys`."""
    missing = [words for name, words in PERMISSIONS.items() if name not in allow]
    given = [words for name, words in PERMISSIONS.items() if name in allow]
    if not missing:
        return "everything permitted"
    if len(missing) <= _MOST_EXCEPTED:
        return f"everything permitted except to {listed(missing)}"
    return f"{given[0]} only" if len(given) == 1 else str(listed(given)) or "nothing permitted"


def result_line(document: Mapping[str, Any]) -> str:
    """What failed, and how many of the selected testable requirements at failing levels were tested."""
    tested, testable = tested_of(document["coverage"], document["environment"]["fail_on"])
    known, failing = known_failures(document), [one["level"] for one in document["requirements"] if fails(one)]
    failed = f"{by_level(failing)} {'fails' if len(failing) == 1 else 'fail'}" if failing else "no failure"
    apart = f" {'besides' if failing else 'except'} {counted(known, 'known failure')}" if known else ""
    return f"{failed}{apart}, {tested} of {testable} tested"


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


def _sentence(document: Mapping[str, Any]) -> Iterator[str]:
    if document["verdict"] == RunVerdict.INTERRUPTED:
        yield "the run was stopped"
    if document["incomplete"]:
        yield document["incomplete"]
    yield result_line(document)
    if document["drift"]:
        yield drifting(document)
    if document["granted_nothing"] and document["granted"]:
        yield f"nothing was granted by {listed(document['granted_nothing'])}"
    if document["cut"]:
        cuts = [f"{cut['why']} ({operations_of(cut)})" for cut in document["cut"]]
        yield f"cut short, as {listed(cuts)}"


def known_failures(document: Mapping[str, Any], level: str = "") -> int:
    """How many failures are listed as known, of one level or of all."""
    return sum("known_failure" in one and level in ("", one["level"]) for one in document["requirements"])
