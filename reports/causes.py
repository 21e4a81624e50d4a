"""Findings of a report: the requirements that fail or warn, grouped by cause. Pure: plain data in, plain data out.

Requirements have one cause where their findings have the same codes, parameters and pointers. Two fields that are wrong
are two causes: nothing shows that one of them explains the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reports.verdicts import ReportEntry, Verdict
from reports.wording import capped, grouped
from spec.findings import Finding
from spec.interface import operations
from spec.message import Message, Text, joined, say
from spec.requirements import LEVELS

MOST_SAID = 6
_OF_THE_LEADER = ("level", "verdict", "text", "section", "known_failure")


def findings(requirements: Iterable[ReportEntry]) -> list[dict[str, Any]]:
    """The findings of a run, failures first. A known failure and a new one have no finding together."""
    groups = grouped((one for one in requirements if one["verdict"] in (Verdict.FAIL, Verdict.WARN)), _cause)
    found = [_finding(sorted(group, key=_weight)) for group in groups.values()]
    return sorted(found, key=lambda finding: (finding["verdict"] != Verdict.FAIL, "known_failure" in finding))


def by_requirement(found: Iterable[Mapping[str, Any]], member: str) -> dict[str, str]:
    """A member of the finding that each requirement belongs to."""
    return {id: one[member] for one in found for id in one["requirements"]}


def _cause(requirement: ReportEntry) -> tuple[object, ...]:
    ways = frozenset(map(_way, requirement["found"]))
    return "known_failure" in requirement, ways or requirement["id"]


def _way(found: Finding) -> tuple[object, ...]:
    """Its code, parameters and pointers; of a sentence of a parser the template, without the place in the text."""
    values = (value.template if isinstance(value, Message) else value for _, value in found.parameters)
    return found.code, *values, found.pointers


def _weight(requirement: ReportEntry) -> tuple[bool, int]:
    """Order of requirements with one cause: failures first, then the level. The first one leads."""
    return requirement["verdict"] != Verdict.FAIL, LEVELS.index(requirement["level"])


def _finding(group: list[ReportEntry]) -> dict[str, Any]:
    leader, named = group[0], dict.fromkeys(one["id"].partition(".")[0] for one in group)
    return {
        "cause": leader["id"],
        "requirements": [one["id"] for one in group],
        "operations": [name for name in named if name in operations()],
        "message": _said(group),
        "exchanges": list(dict.fromkeys(number for one in group for number in one["exchanges"])),
        **{name: leader[name] for name in _OF_THE_LEADER if name in leader},
    }


def _said(group: list[ReportEntry]) -> Text:
    """The first few statements, each once, with a generated request that shows it where no other one does."""
    found = sorted((each for one in group for each in one["found"]), key=lambda each: not each.shown_by)
    statements = {each.statement: each.shown_by for each in found}
    texts = [
        say("{shown_by}: {finding}", shown_by=shown_by, finding=statement) if shown_by else statement
        for statement, shown_by in statements.items()
    ]
    return joined(capped(texts, MOST_SAID)) or joined(one["message"] for one in group)
