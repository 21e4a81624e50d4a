"""Findings of a report: the requirements that fail or warn, grouped by cause. Pure: plain data in, plain data out.

Requirements have one cause where their findings have the same codes, parameters and pointers, or where the same
answers of one operation deviate at the same place. Two fields that are wrong are two causes: nothing shows that one
of them explains the other. Names that are misspelled in the same answers are one: what writes them is at fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from reports.verdicts import ReportEntry, Verdict
from reports.wording import capped, grouped
from spec.findings import Finding
from spec.interface import MONEY, operations
from spec.message import Message, Value, joined, say
from spec.requirements import LEVELS

MOST_SAID = 6
_ONE_PLACE = {"spelling": "names", "lower-case-names": "names", "stack-trace": ()}
"""Places of findings whose own pointers do not tell faults apart, by their code; a server error has no pointer."""
HARM: Mapping[str, tuple[str, ...]] = {
    "anybody may move money or register a key": ("*.token.required", "*.token.scheme", "general.otherTokens"),
    "money or a key of somebody else is taken for another": (
        *("*.id.matches", "*.value.matches", "*.Key.matches", "*.pixKeyType.undocumented"),
        *("of-another", "token-mixed-up", "besides", "refusal-with-effect"),
    ),
    "personal data are shown": ("*.document.masked",),
    "an operation cannot be used": (
        *("*.exists", "*.status", "*.json", "*.envelope.*", "*.token.accepted", "*.request.sufficient"),
        *("*.body.*", "*.contentType.accepted", "*.pixKeyType.*", "general.versionPrefix"),
    ),
    "a member of an answer has another form": ("*",),
    "the service does not survive an invalid request": ("*.serverError", "*.connection", "*.stackTrace"),
}
"""What a deviation does, the worst first: every list of findings has this order. The patterns are those of ids of
requirements, and codes of findings that are worse than their requirement. Robustness is last, because it is apart from
conformance in every report."""
_LAST_HARM = len(HARM) - 1
_OF_THE_LEADER = ("level", "verdict", "text", "section", "got", "known_failure", "known_until")


def findings(requirements: Iterable[ReportEntry]) -> list[dict[str, Any]]:
    """The findings of a run: failures first, then those that are known, then warnings; the most harmful first, and of
    equal harm what moves money. A known failure and a new one have no finding together."""
    deviating = [one for one in requirements if one["verdict"] in (Verdict.FAIL, Verdict.WARN)]
    groups = [
        sorted(chain(*groups), key=_weight)
        for groups in grouped(grouped(deviating, _place).values(), lambda group: _cause(group[0])).values()
    ]
    return [_finding(group) for group in sorted(groups, key=_urgency)]


def _urgency(group: list[ReportEntry]) -> tuple[bool, bool, int, bool]:
    """Order of findings. Findings that are equal in it stay in the order of the interface document."""
    leader = group[0]
    moves_money = any(_moves_money(one["id"]) for one in group)
    return leader["verdict"] != Verdict.FAIL, "known_failure" in leader, min(map(_harm, group)), not moves_money


def _harm(requirement: ReportEntry) -> int:
    """The place in HARM of what a requirement deviates in."""
    if requirement["level"] == "robustness":
        return _LAST_HARM
    words = [requirement["id"], *(found.code for found in requirement["found"])]
    for place, patterns in enumerate(HARM.values()):
        if any(fnmatchcase(word, pattern) for word in words for pattern in patterns):
            return place
    return _LAST_HARM


def _moves_money(requirement_id: str) -> bool:
    operation = operations().get(requirement_id.partition(".")[0])
    return operation is not None and operation.permission in MONEY


def by_requirement(found: Iterable[Mapping[str, Any]], member: str) -> dict[str, str]:
    """A member of the finding that each requirement belongs to."""
    return {id: one[member] for one in found for id in one["requirements"]}


def _place(requirement: ReportEntry) -> tuple[object, ...]:
    """The operation, and which of its answers deviate where; the requirement, where no place shows it. A server error
    and its stack trace are at one place, and so are all names that are misspelled."""
    found = [each for each in requirement["found"] if each.pointers or requirement["level"] == "robustness"]
    places = frozenset((_ONE_PLACE.get(each.code, each.pointers), each.exchanges) for each in found)
    what = (requirement["id"].partition(".")[0], places) if places else requirement["id"]
    return "known_failure" in requirement, what


def _cause(requirement: ReportEntry) -> tuple[object, ...]:
    ways = frozenset(map(_way, requirement["found"]))
    return "known_failure" in requirement, ways or requirement["id"]


def _way(found: Finding) -> tuple[object, ...]:
    """Its code, parameters and pointers; of a sentence of a parser all but the place in the text."""
    return found.code, *(_words(value) for _, value in found.parameters), found.pointers


def _words(value: Value) -> object:
    if not isinstance(value, Message):
        return value
    return value.template, *(_words(part) for _, part in value.values if not isinstance(part, int))


def _weight(requirement: ReportEntry) -> tuple[bool, int]:
    """Order of requirements with one cause: failures first, then the level. The first one leads."""
    return requirement["verdict"] != Verdict.FAIL, LEVELS.index(requirement["level"])


def _finding(group: list[ReportEntry]) -> dict[str, Any]:
    """Each way to deviate is said once, by a targeted request where one shows it; what is said first is shown first."""
    leader, named = group[0], dict.fromkeys(one["id"].partition(".")[0] for one in group)
    found = sorted((each for one in group for each in one["found"]), key=lambda each: bool(each.shown_by))
    ways = [each[0] for each in grouped(found, _way).values()]
    texts = [
        say("{shown_by}: {finding}", shown_by=way.shown_by, finding=way.statement) if way.shown_by else way.statement
        for way in ways
    ]
    numbers = chain(*(way.exchanges for way in ways), *(one["exchanges"] for one in group))
    return {
        "cause": leader["id"],
        "requirements": [one["id"] for one in group],
        "operations": [name for name in named if name in operations()],
        "message": joined(capped(texts, MOST_SAID)) or joined(one["message"] for one in group),
        "exchanges": list(dict.fromkeys(numbers)),
        **{name: leader[name] for name in _OF_THE_LEADER if name in leader},
    }
