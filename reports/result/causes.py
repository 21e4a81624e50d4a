"""Findings of a report: the requirements that fail or warn, grouped by cause. Pure: plain data in, plain data out.

Requirements have one cause where their findings have the same codes, parameters and pointers, or where the same
answers of one operation deviate at the same place. Two fields that are wrong are two causes: nothing shows that one
of them explains the other. Names that are misspelled in the same answers are one: what writes them is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain

from reports.result.document import ReportedFinding, ReportedRequirement
from reports.result.verdicts import Verdict
from reports.sentences.wording import capped, grouped
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


def findings(
    requirements: Iterable[ReportedRequirement], reproduce: Callable[[Sequence[int]], str]
) -> list[ReportedFinding]:
    """The findings of a run: failures first, then those that are known, then warnings; the most harmful first, and of
    equal harm what moves money. A known failure and a new one have no finding together. `reproduce` gives the lines
    that send again what the exchanges of these numbers show."""
    deviating = [requirement for requirement in requirements if requirement.deviates]
    groups = [
        sorted(chain(*groups), key=_weight)
        for groups in grouped(grouped(deviating, _place).values(), lambda group: _cause(group[0])).values()
    ]
    return [_finding(group, reproduce) for group in sorted(groups, key=_urgency)]


def _urgency(group: list[ReportedRequirement]) -> tuple[bool, bool, int, bool]:
    """Order of findings. Findings that are equal in it stay in the order of the interface document."""
    leader = group[0]
    moves_money = any(_moves_money(one.id) for one in group)
    return leader.verdict != Verdict.FAIL, leader.is_known, min(map(_harm, group)), not moves_money


def _harm(requirement: ReportedRequirement) -> int:
    """The place in HARM of what a requirement deviates in."""
    if requirement.level == "robustness":
        return _LAST_HARM
    words = [requirement.id, *(found.code for found in requirement.found)]
    for place, patterns in enumerate(HARM.values()):
        if any(fnmatchcase(word, pattern) for word in words for pattern in patterns):
            return place
    return _LAST_HARM


def _moves_money(requirement_id: str) -> bool:
    operation = operations().get(requirement_id.partition(".")[0])
    return operation is not None and operation.permission in MONEY


def finding_of_each(findings: Iterable[ReportedFinding]) -> dict[str, ReportedFinding]:
    """The finding that each requirement belongs to, by the id of the requirement."""
    return {requirement_id: finding for finding in findings for requirement_id in finding.requirements}


def _place(requirement: ReportedRequirement) -> tuple[object, ...]:
    """The operation, and which of its answers deviate where; the requirement, where no place shows it. A server error
    and its stack trace are at one place, and so are all names that are misspelled."""
    found = [each for each in requirement.found if each.pointers or requirement.level == "robustness"]
    places = frozenset((_ONE_PLACE.get(each.code, each.pointers), each.exchanges) for each in found)
    what = (requirement.id.partition(".")[0], places) if places else requirement.id
    return requirement.is_known, what


def _cause(requirement: ReportedRequirement) -> tuple[object, ...]:
    ways = frozenset(map(_way, requirement.found))
    return requirement.is_known, ways or requirement.id


def _way(found: Finding) -> tuple[object, ...]:
    """Its code, parameters and pointers; of a sentence of a parser all but the place in the text."""
    return found.code, *(_words(value) for _, value in found.parameters), found.pointers


def _words(value: Value) -> object:
    if not isinstance(value, Message):
        return value
    return value.template, *(_words(part) for _, part in value.values if not isinstance(part, int))


def _weight(requirement: ReportedRequirement) -> tuple[bool, int]:
    """Order of requirements with one cause: failures first, then the level. The first one leads."""
    return requirement.verdict != Verdict.FAIL, LEVELS.index(requirement.level)


def _finding(group: list[ReportedRequirement], reproduce: Callable[[Sequence[int]], str]) -> ReportedFinding:
    """Each way to deviate is said once, by a targeted request where one shows it; what is said first is shown first."""
    leader = group[0]
    names = dict.fromkeys(requirement.id.partition(".")[0] for requirement in group)
    deviations = [finding for requirement in group for finding in requirement.found]
    targeted_first = sorted(deviations, key=lambda finding: bool(finding.shown_by))
    ways = [alike[0] for alike in grouped(targeted_first, _way).values()]
    texts = [
        say("{shown_by}: {finding}", shown_by=way.shown_by, finding=way.statement) if way.shown_by else way.statement
        for way in ways
    ]
    cited_by_ways = chain(*(way.exchanges for way in ways))
    cited_by_requirements = chain(*(requirement.exchanges for requirement in group))
    exchanges = tuple(dict.fromkeys([*cited_by_ways, *cited_by_requirements]))
    return ReportedFinding(
        cause=leader.id,
        requirements=tuple(requirement.id for requirement in group),
        operations=tuple(name for name in names if name in operations()),
        message=joined(capped(texts, MOST_SAID)) or joined(requirement.message for requirement in group),
        exchanges=exchanges,
        level=leader.level,
        verdict=leader.verdict,
        text=leader.text,
        section=leader.section,
        got=leader.got,
        known_failure=leader.known_failure,
        known_until=leader.known_until,
        reproduce=reproduce(exchanges),
    )
