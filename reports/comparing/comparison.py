"""What changed from one run to another. Pure: the two runs in, plain data out.

Nothing is judged anew: a requirement changed where the two runs gave it verdicts of different standing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any

from environments.profiles.profile import EMBEDDED
from reports.latency import nearest_rank
from reports.moments import day_or_time, read_moment, written
from reports.observations.behaviour import Behaviour, behaviour_of, redacted_behaviour
from reports.observations.drift import drifts
from reports.verdicts import ON_THE_SERVICE, TESTED, Entry, RunVerdict, Verdict
from reports.wording import listed, one_line
from spec.interface import operations
from spec.message import Text, in_a_row, say, say_many

FAIL_ON = ("documented", "robustness")
"""The levels that failed a run whose conformance.json, of an older version, does not name them."""
BASES = (*ON_THE_SERVICE, RunVerdict.INCOMPLETE)
"""Verdicts of runs that are compared unasked: the others came to no end, or met no service."""


class Standing(Enum):
    """Where a requirement stands after a run: a failure that the profile lists as known stands apart."""

    FAILS = auto()
    KNOWN = auto()
    WARNS = auto()
    HOLDS = auto()
    UNTESTED = auto()


FAILS, KNOWN, WARNS, HOLDS, UNTESTED = Standing
CHANGES: dict[tuple[Standing, Standing], str] = {
    (FAILS, KNOWN): "newly_known",
    (FAILS, WARNS): "newly_warning",
    (FAILS, HOLDS): "fixed",
    (FAILS, UNTESTED): "no_longer_exercised",
    (KNOWN, FAILS): "no_longer_known",
    (KNOWN, WARNS): "newly_warning",
    (KNOWN, HOLDS): "fixed",
    (KNOWN, UNTESTED): "no_longer_exercised",
    (WARNS, FAILS): "newly_failing",
    (WARNS, KNOWN): "newly_known",
    (WARNS, HOLDS): "no_longer_warning",
    (WARNS, UNTESTED): "no_longer_exercised",
    (HOLDS, FAILS): "newly_failing",
    (HOLDS, KNOWN): "newly_known",
    (HOLDS, WARNS): "newly_warning",
    (HOLDS, UNTESTED): "no_longer_exercised",
    (UNTESTED, FAILS): "newly_failing",
    (UNTESTED, KNOWN): "newly_known",
    (UNTESTED, WARNS): "newly_exercised",
    (UNTESTED, HOLDS): "newly_exercised",
}
"""What a requirement is, by where it stood and where it stands."""

WORDS = {
    "newly_failing": "newly failing",
    "fixed": "fixed",
    "newly_exercised": "newly exercised",
    "no_longer_exercised": "no longer exercised",
    "newly_warning": "newly warning",
    "no_longer_warning": "no longer warning",
    "newly_known": "newly known to fail",
    "no_longer_known": "no longer known to fail",
    "only_before": "only in the earlier run",
    "only_now": "only in the later run",
}
"""Every list of requirements in a comparison, as people say it."""


@dataclass(frozen=True)
class RunToCompare:
    """What one run is compared by. `scope` must be the same for two runs to be comparable; `latency` is in ms."""

    environment: str
    started: datetime
    suite_version: str
    verdict: str
    scope: Mapping[str, Any]
    fail_on: tuple[str, ...]
    standings: Mapping[str, Standing]
    levels: Mapping[str, str]
    behaviour: Behaviour
    latency: Mapping[str, float]


def run_to_compare(document: Mapping[str, Any], clean: Callable[[str], str] = str) -> RunToCompare:
    """The run that a conformance.json of any version tells of. `clean` is applied to its free texts."""
    environment, entries = document["environment"], document["requirements"]
    return RunToCompare(
        environment=clean(environment["name"]),
        started=read_moment(document["started"]),
        suite_version=clean(document["suite"]["version"]),
        verdict=document["verdict"],
        scope=_scope(document),
        fail_on=tuple(environment.get("fail_on", FAIL_ON)),
        standings={entry["id"]: standing(entry) for entry in entries},
        levels={entry["id"]: entry["level"] for entry in entries},
        behaviour=_behaviour(document.get("observed", {}), clean),
        latency=_latency(document),
    )


def standing(entry: Entry) -> Standing:
    """Where a requirement of conformance.json stands."""
    verdict = entry["verdict"]
    if verdict == Verdict.FAIL:
        return KNOWN if "known_failure" in entry else FAILS
    if verdict == Verdict.WARN:
        return WARNS
    return HOLDS if verdict in TESTED else UNTESTED


def follows(now: RunToCompare, was: RunToCompare) -> bool:
    """True if the earlier run is one to compare with unasked: it met the service, in the same scope."""
    return was.verdict in BASES and now.verdict in BASES and was.scope == now.scope and was.started <= now.started


def compared(was: RunToCompare, now: RunToCompare) -> dict[str, Any]:
    """The `comparison` of conformance.json: what changed from the one run to the other."""
    differs = [name for name in was.scope if was.scope[name] != now.scope[name]]
    changes = _changes(was, now)
    found = {
        "with": _identity(was),
        "of": _identity(now),
        "comparable": not differs,
        "differs": differs,
        **changes,
        "observations": [one.data() for one in drifts(was.behaviour, now.behaviour)],
        "latency": _side_by_side(was.latency, now.latency),
        "worse": _is_worse(changes, now),
    }
    return found | {"line": say("{since}: {changes}", since=_since(was, now, differs), changes=_said(found))}


def _identity(run: RunToCompare) -> dict[str, str]:
    return {
        "environment": run.environment,
        "started": written(run.started),
        "suite_version": run.suite_version,
        "verdict": run.verdict,
    }


def _scope(document: Mapping[str, Any]) -> dict[str, Any]:
    environment = document["environment"]
    return {
        "environment": environment["name"],
        "origin": EMBEDDED if environment.get("embedded") else environment["base_url"],
        "selection": document["selection"],
        "permissions": sorted(environment["allow"]),
        "ledger": document.get("provenance", {}).get("ledger_sha256"),
    }


def _changes(was: RunToCompare, now: RunToCompare) -> dict[str, list[str]]:
    """The requirements by what they are now, in the order of the later run."""
    found: dict[str, list[str]] = {name: [] for name in WORDS}
    for requirement_id, stands in now.standings.items():
        before = was.standings.get(requirement_id)
        name = CHANGES.get((before, stands)) if before else "only_now"
        if name:
            found[name].append(requirement_id)
    found["only_before"] = [requirement_id for requirement_id in was.standings if requirement_id not in now.standings]
    return found


def _is_worse(changes: Mapping[str, list[str]], now: RunToCompare) -> bool:
    """Newly failing, or no longer exercised at a level that fails a run."""
    lost = [now.levels[requirement_id] for requirement_id in changes["no_longer_exercised"]]
    return bool(changes["newly_failing"]) or not set(now.fail_on).isdisjoint(lost)


def _behaviour(observed: Mapping[str, Any], clean: Callable[[str], str]) -> Behaviour:
    """What the run observed. That of a file of another version is not compared."""
    return redacted_behaviour(behaviour_of(observed), lambda text: one_line(clean(text)))


def _latency(document: Mapping[str, Any]) -> dict[str, float]:
    """The median of each operation over its answers. A file of an older version has no `latency`."""
    times = defaultdict(list)
    for exchange in document["exchanges"]:
        if isinstance(exchange["result"], int) and exchange["operation"] in operations():
            times[exchange["operation"]].append(exchange["elapsed_ms"])
    return {operation: nearest_rank(sorted(found), 0.5) for operation, found in times.items()}


def _side_by_side(was: Mapping[str, float], now: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    return {name: {"was_ms": was.get(name), "is_ms": now.get(name)} for name in sorted({*was, *now})}


def _since(was: RunToCompare, now: RunToCompare, differs: list[str]) -> Text:
    """`since 20 Nov`, or which run it is that is compared with, and what makes the two no like for like."""
    when = day_or_time(was.started, now.started)
    if not differs:
        return say("since {when}", when=when)
    parts = {"environment": was.environment, "when": when, "differs": listed([say(name) for name in differs])}
    return say("compared with {environment}, {when} (other {differs})", **parts)


def changes_in_words(comparison: Mapping[str, Any]) -> list[Text]:
    """How many requirements changed, in each way in which some did: `1 newly failing`, `2 fixed`."""
    return [
        say("{number} {change}", number=len(comparison[name]), change=say(words))
        for name, words in WORDS.items()
        if comparison.get(name)
    ]


def _said(found: Mapping[str, Any]) -> Text:
    parts = changes_in_words(found)
    observed = len({seen["id"] for seen in found["observations"]})
    differ = [say_many("{n} observation differs", "{n} observations differ", n=observed)] if observed else []
    return in_a_row([*(parts or [say("no verdict changed") if differ else say("no change")]), *differ], ", ")
