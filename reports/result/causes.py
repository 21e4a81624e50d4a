"""Findings of a report: the requirements that fail or warn, grouped by cause. Pure: plain data in, plain data out.

Two requirements have one cause in either of two cases:

- Their findings have the same codes, parameters and pointers.
- The same answers of one operation deviate at the same place.

Two wrong fields are two causes, because nothing shows that one of them explains the other. Misspelled names in the same
answers are one cause, because the code that writes names is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain

from reports.result.document import ReportedFinding, ReportedRequirement
from reports.result.verdicts import Verdict
from reports.sentences.wording import capped, grouped
from spec.findings import Finding
from spec.interface import MONEY_PERMISSIONS, operations
from spec.message import Message, Text, Value, joined, say
from spec.requirements import LEVELS

MOST_SAID = 6
"""Deviations that the message of one finding has."""
_ONE_PLACE = {"spelling": "names", "lower-case-names": "names", "stack-trace": ()}
"""Place of a finding by its code, in place of its pointers. All misspelled names are at one place, and a stack trace is
at the place of a server error, which has no pointer."""
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
"""Harm of a deviation, the worst first: every list of findings has this order. A pattern with a dot is of ids of
requirements. A word without one is the code of a finding that is worse than its requirement. Robustness is last,
because it is apart from conformance in every report."""
_LAST_HARM = len(HARM) - 1


def findings_by_cause(
    requirements: Iterable[ReportedRequirement], reproduce: Callable[[Sequence[int]], str]
) -> list[ReportedFinding]:
    """The findings of a run, one for each cause: new failures first, then known failures, then warnings.

    Within each of these the most harmful finding is first. Of equal harm, a finding about money is first. A known
    failure and a new failure never share a finding. `reproduce` takes numbers of exchanges, and gives the shell lines
    that send one of them again.
    """
    deviating = [requirement for requirement in requirements if requirement.deviates]
    groups = [sorted(group, key=_order_in_finding) for group in _groups_with_one_cause(deviating)]
    return [_finding(group, reproduce) for group in sorted(groups, key=_order_of_findings)]


def _groups_with_one_cause(deviating: Iterable[ReportedRequirement]) -> list[list[ReportedRequirement]]:
    """The requirements in groups. Those of one group deviate for one cause, as the module says."""
    groups_at_one_place = grouped(deviating, _key_of_place).values()
    # Groups are joined if they show the same deviations. The first requirement speaks for its group, because
    # requirements at one place share a cause already.
    joined_groups = grouped(groups_at_one_place, lambda group: _key_of_deviations(group[0])).values()
    return [list(chain(*groups)) for groups in joined_groups]


def _order_of_findings(group: list[ReportedRequirement]) -> tuple[bool, bool, int, bool]:
    """Sort key of findings. Findings with the same key stay in the order of the interface document."""
    leader = group[0]
    moves_money = any(_moves_money(requirement.id) for requirement in group)
    only_warns = leader.verdict != Verdict.FAIL
    worst_harm = min(_place_of_harm(requirement) for requirement in group)
    return only_warns, leader.is_known, worst_harm, not moves_money


def _place_of_harm(requirement: ReportedRequirement) -> int:
    """Place in HARM of the worst harm that the deviations of a requirement do."""
    if requirement.level == "robustness":
        return _LAST_HARM
    id_and_codes = [requirement.id, *(finding.code for finding in requirement.found)]
    for place, patterns in enumerate(HARM.values()):
        if any(_matches_any(word, patterns) for word in id_and_codes):
            return place
    return _LAST_HARM


def _matches_any(word: str, patterns: Iterable[str]) -> bool:
    """True if a word matches one of the patterns, in which `*` stands for any text."""
    return any(fnmatchcase(word, pattern) for pattern in patterns)


def _moves_money(requirement_id: str) -> bool:
    """True if requests to the operation of the requirement may move money."""
    operation = operations().get(_operation_name(requirement_id))
    return operation is not None and operation.permission in MONEY_PERMISSIONS


def _operation_name(requirement_id: str) -> str:
    """First part of an id: an operationId, or `general`."""
    return requirement_id.partition(".")[0]


def finding_by_requirement(findings: Iterable[ReportedFinding]) -> dict[str, ReportedFinding]:
    """The finding of each requirement that deviates, by the id of the requirement."""
    by_id: dict[str, ReportedFinding] = {}
    for finding in findings:
        by_id |= dict.fromkeys(finding.requirements, finding)
    return by_id


def _key_of_place(requirement: ReportedRequirement) -> tuple[object, ...]:
    """Group key: where in which answers of its operation a requirement deviates.

    The key has `is_known`, because a known failure and a new one never share a finding. A server error and its stack
    trace are at one place, and so are all misspelled names. A requirement whose findings have no place is alone.
    """
    findings_with_place = [
        finding for finding in requirement.found if finding.pointers or requirement.level == "robustness"
    ]
    if not findings_with_place:
        return requirement.is_known, requirement.id
    places = set()
    for finding in findings_with_place:
        place = _ONE_PLACE.get(finding.code, finding.pointers)
        places.add((place, finding.exchanges))
    return requirement.is_known, _operation_name(requirement.id), frozenset(places)


def _key_of_deviations(requirement: ReportedRequirement) -> tuple[object, ...]:
    """Group key: all deviations of a requirement. A requirement without a finding is alone."""
    deviations = frozenset(map(_key_of_deviation, requirement.found))
    return requirement.is_known, deviations or requirement.id


def _key_of_deviation(finding: Finding) -> tuple[object, ...]:
    """Group key of findings: code, parameters and pointers. Findings with the same key show the same deviation."""
    parameters = tuple(_without_numbers(value) for _, value in finding.parameters)
    return finding.code, parameters, finding.pointers


def _without_numbers(value: Value) -> object:
    """A parameter. A message in it is without its numbers, which are places in a text that a parser reports.

    The same fault is at another place in each text.
    """
    if not isinstance(value, Message):
        return value
    return value.template, *(_without_numbers(part) for _, part in value.values if not isinstance(part, int))


def _order_in_finding(requirement: ReportedRequirement) -> tuple[bool, int]:
    """Sort key of requirements with one cause: failures first, then by level. The first requirement leads."""
    return requirement.verdict != Verdict.FAIL, LEVELS.index(requirement.level)


def _finding(group: list[ReportedRequirement], reproduce: Callable[[Sequence[int]], str]) -> ReportedFinding:
    """The finding of requirements with one cause.

    Its message has each deviation once. The exchanges of these deviations stand before the other exchanges, in the
    order of the message.
    """
    leader = group[0]
    names = dict.fromkeys(_operation_name(requirement.id) for requirement in group)
    deviations = _distinct_deviations(group)
    cited_by_deviations = chain(*(finding.exchanges for finding in deviations))
    cited_by_requirements = chain(*(requirement.exchanges for requirement in group))
    exchanges = tuple(dict.fromkeys([*cited_by_deviations, *cited_by_requirements]))
    message_of_deviations = joined(capped(list(map(_statement, deviations)), MOST_SAID))
    return ReportedFinding(
        cause=leader.id,
        requirements=tuple(requirement.id for requirement in group),
        operations=tuple(name for name in names if name in operations()),
        message=message_of_deviations or joined(requirement.message for requirement in group),
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


def _distinct_deviations(group: list[ReportedRequirement]) -> list[Finding]:
    """One finding for each deviation of these requirements.

    It is that of a generated request only if no targeted request shows the same deviation.
    """
    all_findings = chain(*(requirement.found for requirement in group))
    # `shown_by` names the class of a generated request; a targeted request has none.
    targeted_first = sorted(all_findings, key=lambda finding: bool(finding.shown_by))
    return [same_deviation[0] for same_deviation in grouped(targeted_first, _key_of_deviation).values()]


def _statement(finding: Finding) -> Text:
    """The statement of a finding, with the class of the generated request that shows it, if one does."""
    if not finding.shown_by:
        return finding.statement
    return say("{shown_by}: {finding}", shown_by=finding.shown_by, finding=finding.statement)
