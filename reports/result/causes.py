"""Findings of a report: the requirements that fail or warn, grouped by cause. Pure: plain data in, plain data out.

One fault of a service breaks many requirements. So that a reader sees one finding for it, they are grouped. Two
requirements have one cause in either of two cases:

- Their deviations have the same codes, parameters and pointers.
- The same answers of one operation deviate at the same pointers.

| word | meaning in this module |
|---|---|
| finding (`ReportedFinding`) | what the report shows for a group of requirements with one cause |
| deviation (`Finding`) | one deviation from a requirement: a code such as `missing`, parameters, and JSON pointers |

The most severe requirement of a group leads: the finding has its level, verdict and statement.

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
from spec.findings import Finding, distinct_deviations
from spec.interface import MONEY_PERMISSIONS, operations
from spec.message import Text, joined, say
from spec.requirements import LEVELS

_MOST_DEVIATIONS_NAMED = 6
"""Most deviations that the message of one finding names, so that a reader of a CI log can take it in. A choice."""
_SHARED_LOCATIONS = {"spelling": "names", "lower-case-names": "names", "stack-trace": ()}
"""By the code of a deviation, what is used instead of its JSON pointers when requirements are grouped.

- All misspelled names in an answer have one location, because one piece of code writes them.
- `()` takes the pointers of a stack trace away. So a stack trace is in one group with a server error, which has no
  pointers either: one fault causes both."""
HARM: Mapping[str, tuple[str, ...]] = {
    "anybody may move money or register a key": ("*.token.required", "*.token.scheme", "general.otherTokens"),
    "the service acts on the money or the key of somebody else": (
        "*.id.matches",
        "*.value.matches",
        "*.Key.matches",
        "*.pixKeyType.undocumented",
        "of-another",  # the answer has a value of another request
        "token-mixed-up",  # the valid token is refused only while other requests are on the wire
        "besides",  # a deletion removed a key that it did not name
        "refusal-with-effect",  # a refused registration registered the key
    ),
    "personal data are shown": ("*.document.masked",),
    "an operation cannot be used": (
        *("*.exists", "*.status", "*.json", "*.envelope.*", "*.token.accepted", "*.request.sufficient"),
        *("*.body.*", "*.contentType.accepted", "*.pixKeyType.*", "general.versionPrefix"),
    ),
    "a member of an answer has another form": ("*",),
    "the service does not survive an invalid request": ("*.serverError", "*.connection", "*.stackTrace"),
}
"""Kinds of harm, the worst first, each with the deviations that do this harm. Every list of findings has this order.

A deviation is looked up by two words: the id of its requirement and its code (spec/findings.yaml).

- A pattern with a dot, such as `*.token.required`, is for ids of requirements.
- A word without a dot, such as `besides`, is the code of a deviation that is worse than its requirement.
- Robustness is last, because every report shows it apart from conformance."""
_LAST_HARM = len(HARM) - 1
"""Index of the least harm in HARM: that of the robustness requirements."""


def findings_by_cause(
    requirements: Iterable[ReportedRequirement], reproduce: Callable[[Sequence[int]], str]
) -> list[ReportedFinding]:
    """The findings of a run, one for each cause: new failures first, then known failures, then warnings.

    Known failures are those that the profile lists. Within each of these groups the most harmful finding is first, and
    of equal harm one about money. A known failure and a new failure are never in one finding. `reproduce` is called
    with numbers of exchanges, and returns the shell lines that send one of them again.
    """
    deviating = [requirement for requirement in requirements if requirement.deviates]
    groups = [sorted(group, key=_order_of_requirements) for group in _groups_with_one_cause(deviating)]
    return [_finding_of_group(group, reproduce) for group in sorted(groups, key=_order_of_findings)]


def _groups_with_one_cause(deviating: Iterable[ReportedRequirement]) -> list[list[ReportedRequirement]]:
    """The requirements in groups: the requirements of one group probably deviate for one cause.

    Two requirements are in one group if the same answers deviate at the same JSON pointers, or if they have the same
    deviations.
    """
    groups_at_one_location = grouped(deviating, _key_of_location).values()
    # Groups are joined if they have the same deviations. Only the first requirement of a group is compared, because
    # the requirements of one group share a cause already.
    groups_by_deviations = grouped(groups_at_one_location, lambda group: _key_of_deviations(group[0]))
    return [list(chain(*groups_of_one_cause)) for groups_of_one_cause in groups_by_deviations.values()]


def _order_of_findings(group: list[ReportedRequirement]) -> tuple[bool, bool, int, bool]:
    """Sort key of the finding that a group of requirements makes: what a reader must see first has the smallest key.

    False is sorted before True. So failures are before warnings, new before known failures, more harmful before less
    harmful findings, and findings about money before others. Findings with equal keys are in the order of the document.
    """
    leader = group[0]
    moves_money = any(_may_move_money(requirement.id) for requirement in group)
    only_warns = leader.verdict != Verdict.FAIL
    worst_harm = min(_rank_of_harm(requirement) for requirement in group)
    return only_warns, leader.is_known, worst_harm, not moves_money


def _rank_of_harm(requirement: ReportedRequirement) -> int:
    """How harmful the deviations of a requirement are: the index in HARM, so 0 is the worst harm.

    HARM has patterns of requirement ids and codes of deviations. A robustness requirement has the last rank, whatever
    its deviations are, because reports show robustness apart.
    """
    if requirement.level == "robustness":
        return _LAST_HARM
    id_and_codes = [requirement.id, *(deviation.code for deviation in requirement.found)]
    for rank, patterns in enumerate(HARM.values()):
        if any(_matches_any(word, patterns) for word in id_and_codes):
            return rank
    return _LAST_HARM


def _matches_any(word: str, patterns: Iterable[str]) -> bool:
    """True if a word, such as a requirement id, matches one of the patterns, in which `*` is any text."""
    return any(fnmatchcase(word, pattern) for pattern in patterns)


def _may_move_money(requirement_id: str) -> bool:
    """True if requests to the operation of the requirement may move money, so that its finding is shown earlier."""
    operation = operations().get(_operation_name(requirement_id))
    return operation is not None and operation.permission in MONEY_PERMISSIONS


def _operation_name(requirement_id: str) -> str:
    """The first part of a requirement id: an operationId such as `executePix`, or `general`."""
    return requirement_id.partition(".")[0]


def finding_by_requirement(findings: Iterable[ReportedFinding]) -> dict[str, ReportedFinding]:
    """By the id of each requirement that deviates, the finding that it belongs to, so that a report can link to it."""
    by_id: dict[str, ReportedFinding] = {}
    for finding in findings:
        for requirement_id in finding.requirements:
            by_id[requirement_id] = finding
    return by_id


def _key_of_location(requirement: ReportedRequirement) -> tuple[object, ...]:
    """Group key of a requirement: in which answers of its operation it deviates, and at which JSON pointers.

    Requirements with the same key are in one group, because one cause probably explains their deviations. A known
    failure (one that the profile lists) and a new failure have different keys, so that no group has both. If no
    deviation of a requirement has a location, its key is its own id.
    """
    # A deviation from a robustness requirement needs no pointer: its location is the answer as a whole.
    is_robustness = requirement.level == "robustness"
    deviations_with_location = [deviation for deviation in requirement.found if deviation.pointers or is_robustness]
    if not deviations_with_location:
        return requirement.is_known, requirement.id
    locations = set()
    for deviation in deviations_with_location:
        # Some deviations share a location although their pointers differ, such as a server error and its stack trace.
        pointers = _SHARED_LOCATIONS.get(deviation.code, deviation.pointers)
        locations.add((pointers, deviation.exchanges))
    return requirement.is_known, _operation_name(requirement.id), frozenset(locations)


def _key_of_deviations(requirement: ReportedRequirement) -> tuple[object, ...]:
    """Group key of a requirement: all its deviations. Requirements with the same key are in one group.

    If nothing tells how a requirement deviates, its key is its own id. A known failure (one that the profile lists) and
    a new failure have different keys, so that no group has both.
    """
    # `deviation` is equal for two findings that say the same, whichever requests show them.
    deviations = frozenset(finding.deviation for finding in requirement.found)
    return requirement.is_known, deviations or requirement.id


def _order_of_requirements(requirement: ReportedRequirement) -> tuple[bool, int]:
    """Sort key of the requirements in a finding: failures are first, then stronger levels.

    The first requirement leads: the finding has its level, verdict and statement.
    """
    return requirement.verdict != Verdict.FAIL, LEVELS.index(requirement.level)


def _finding_of_group(group: list[ReportedRequirement], reproduce: Callable[[Sequence[int]], str]) -> ReportedFinding:
    """The finding that a report shows for a group of requirements that deviate for one cause.

    The message names each deviation once. The exchanges that show these deviations are first, in the order of the
    message, because a reader looks at them first. `reproduce` is called with numbers of exchanges, and returns the
    shell lines that send one of them again.
    """
    leader = group[0]  # the most severe requirement
    names = dict.fromkeys(_operation_name(requirement.id) for requirement in group)  # distinct, in order
    deviations = distinct_deviations(chain(*(requirement.found for requirement in group)))
    cited_by_deviations = chain(*(deviation.exchanges for deviation in deviations))
    cited_by_requirements = chain(*(requirement.exchanges for requirement in group))
    exchanges = tuple(dict.fromkeys([*cited_by_deviations, *cited_by_requirements]))
    first_deviations = capped(list(map(_statement, deviations)), _MOST_DEVIATIONS_NAMED)  # and the number of the others
    message_of_deviations = joined(first_deviations)
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


def _statement(deviation: Finding) -> Text:
    """The sentence about a deviation, such as "expected status 200, got 204".

    If a generated request shows it, the text begins with what makes that request invalid: "pixKey, missing: expected
    status 200, got 204".
    """
    if not deviation.shown_by:
        return deviation.statement
    return say("{shown_by}: {finding}", shown_by=deviation.shown_by, finding=deviation.statement)
