"""Changes from one run to another. Pure: the conformance.json of two runs in, plain data out.

Nothing is judged anew: a requirement changed where the two runs gave it verdicts of different standing. One that only
one of them is about did not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from environments.profiles.model import EMBEDDED
from reports.formats.conformance_json import RunDocument
from reports.verdicts import ON_THE_SERVICE, TESTED, ReportEntry, RunVerdict, Verdict
from reports.wording import listed, moment_in_words, read_moment
from spec.message import Text, in_a_row, say

BASES = (*ON_THE_SERVICE, RunVerdict.INCOMPLETE)
"""Verdicts of runs that are compared unasked: the others came to no end, or met no service."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,4}")
"""What is repeated of another run: the name of a profile, and a version of the suite."""
FAILS, WARNS, HOLDS, UNTESTED = "fails", "warns", "holds", "untested"
CHANGES: Mapping[str, Text] = {
    "newly_failing": say("newly failing"),
    "fixed": say("fixed"),
    "newly_exercised": say("newly exercised"),
    "no_longer_exercised": say("no longer exercised"),
    "newly_warning": say("newly warning"),
    "no_longer_warning": say("no longer warning"),
}
"""Every list of requirements in a comparison, as people say it."""


def follows(was: RunDocument, now: RunDocument) -> bool:
    """True if the earlier run is one to compare with unasked: it met the service, in the same scope."""
    met = met_the_service(was) and met_the_service(now)
    return met and _scope(was) == _scope(now) and read_moment(was["started"]) <= read_moment(now["started"])


def met_the_service(run: RunDocument) -> bool:
    """True if the run came to its end and the service answered."""
    return run["verdict"] in BASES


def result_line(was: RunDocument, now: RunDocument, comparison: RunDocument) -> str:
    """What became worse, in one line of plain text: `nothing newly fails; drift differs in 2 places`."""
    failing, warning, untested = (len(comparison[name]) for name in _WORSE)
    parts = [f"{failing or 'nothing'} newly {'fail' if failing > 1 else 'fails'}"]
    if untested:
        parts.append(f"{untested} {'are' if untested > 1 else 'is'} no longer exercised")
    if warning:
        parts.append(f"{warning} newly {'warn' if warning > 1 else 'warns'}")
    if places := _places_of_drift(was) ^ _places_of_drift(now):
        count = len({place for place, _ in places})
        parts.append(f"drift differs in {count} {'places' if count > 1 else 'place'}")
    return "; ".join(parts)


_WORSE = ("newly_failing", "newly_warning", "no_longer_exercised")


def _places_of_drift(run: RunDocument) -> set[tuple[tuple[str, ...], str]]:
    """Each place where what was observed contradicts the record, with what is there."""
    return {((one["id"], one["situation"], one["place"]), one["is"]) for one in run.get("drift", ())}


def compared(was: RunDocument, now: RunDocument, clean: Callable[[str], str]) -> RunDocument:
    """The `comparison` of conformance.json. `clean` is applied to free texts of the two runs."""
    changes = _changes(was, now)
    lost = {entry["level"] for entry in now["requirements"] if entry["id"] in changes["no_longer_exercised"]}
    before, after = _scope(was), _scope(now)
    differs = [name for name in before if before[name] != after[name]]
    told = {CHANGES[name]: len(found) for name, found in changes.items() if found}
    said = [say("{number} {change}", number=number, change=change) for change, number in told.items()]
    parts: dict[str, Text] = {
        "environment": _if_of_the_form(_NAME, clean(was["environment"]["name"])),
        "when": moment_in_words(was["started"]),
        "differs": listed(list(map(say, differs))),
        "changes": in_a_row(said or [say("no change")], ", "),
    }
    return {
        "with": {
            "environment": parts["environment"],
            "started": was["started"],
            "suite_version": _if_of_the_form(_VERSION, clean(was["suite"]["version"])),
            "verdict": was["verdict"],
        },
        "comparable": not differs,
        "differs": differs,
        **changes,
        "worse": bool(changes["newly_failing"]) or not lost.isdisjoint(now["environment"]["fail_on"]),
        "line": say("compared with {environment}, {when} (other {differs}): {changes}", **parts)
        if differs
        else say("since {when}: {changes}", when=parts["when"], changes=parts["changes"]),
    }


def _if_of_the_form(form: re.Pattern[str], text: str) -> str:
    """The text of another run, which anybody may have written, if it has this form; else an ellipsis."""
    return text if form.fullmatch(text) else "…"


def _scope(run: RunDocument) -> dict[str, Any]:
    """Everything that must be the same for two runs to be comparable."""
    environment = run["environment"]
    return {
        "environment": environment["name"],
        "origin": EMBEDDED if environment["embedded"] else environment["base_url"],
        "selection": run["selection"],
        "permissions": sorted(environment["allow"]),
    }


def _changes(was: RunDocument, now: RunDocument) -> dict[str, list[str]]:
    """The requirements by what they are now, in the order of the later run."""
    before = {entry["id"]: _standing(entry) for entry in was["requirements"]}
    changes: dict[str, list[str]] = {name: [] for name in CHANGES}
    for entry in now["requirements"]:
        standing = _standing(entry)
        if change := _change(before.get(entry["id"], standing), standing):
            changes[change].append(entry["id"])
    return changes


def _standing(entry: ReportEntry) -> str:
    """Standing of a requirement after a run. A known failure stands with the warnings: it fails no run."""
    if entry["verdict"] in (Verdict.FAIL, Verdict.WARN):
        return FAILS if entry["verdict"] == Verdict.FAIL and "known_failure" not in entry else WARNS
    return HOLDS if entry["verdict"] in TESTED else UNTESTED


def _change(was: str, now: str) -> str:
    """The name of a change; empty where there is none."""
    if was == now:
        return ""
    if now in (UNTESTED, FAILS):
        return "no_longer_exercised" if now == UNTESTED else "newly_failing"
    if was == UNTESTED:
        return "newly_exercised"
    if now == WARNS:
        return "newly_warning"
    return "fixed" if was == FAILS else "no_longer_warning"
