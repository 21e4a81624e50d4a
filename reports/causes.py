"""Findings: the requirements that fail or warn, grouped by cause. Pure: requirements of conformance.json in, findings
out.

Two deviations have one cause where one makes the other happen (`FOLLOWS`), or where they have the same codes and
parameters in members of one object, or in several operations. Two fields that are wrong are two causes: nothing shows
that one of them explains the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.verdicts import Entry, Verdict
from reports.wording import grouped
from spec.findings import Finding
from spec.interface import operations
from spec.message import Message, Text, joined, say
from spec.requirements import LEVELS
from spec.rules import ROBUSTNESS

MOST_SAID = 6
_MANY = 3
"""This many fields, key types or endpoints that are broken alike have one cause; fewer have one cause each."""
_OF_ANY_OPERATION = ("status", "fields.extra", "json", "envelope")
"""What every operation has, by the id without its operation, or the first part of that."""


@dataclass(frozen=True)
class Deviation:
    """A requirement that fails or warns. `inputs` are the classes of the requests that show it."""

    requirement: Entry
    inputs: frozenset[str]

    @cached_property
    def id(self) -> str:
        return str(self.requirement["id"])

    @property
    def operation(self) -> str:
        return self.id.partition(".")[0]

    @property
    def what(self) -> str:
        """The id without its operation."""
        return self.id.partition(".")[2]

    @property
    def member(self) -> str:
        """What the requirement is about: `digit`, `envelope.code`, `pixKeyType`."""
        return self.what.rpartition(".")[0]

    @property
    def aspect(self) -> str:
        """What is said of it: `present`, `type`, `status`."""
        return self.what.rpartition(".")[2]

    @property
    def found(self) -> tuple[Finding, ...]:
        return tuple(self.requirement["found"])

    @cached_property
    def exchanges(self) -> frozenset[int]:
        return frozenset(self.requirement["exchanges"])

    @property
    def weight(self) -> tuple[bool, int]:
        """What leads comes first: failures, then the level."""
        return self.requirement["verdict"] != Verdict.FAIL, LEVELS.index(self.requirement["level"])

    @cached_property
    def way(self) -> tuple[object, ...]:
        """Where and how it is broken: the same for deviations that have one cause."""
        how = frozenset(_way(each) for each in self.found)
        if not how:
            return (self.id,)
        if self.what == "exists":
            return self.what, how
        family = next((one for one in _OF_ANY_OPERATION if one in (self.what, self.what.partition(".")[0])), "")
        if family:
            return self.what if family == "json" else family, how
        if self.aspect in ("present", "type", "spelling") or self.member == "pixKeyType":
            return self.operation, self.member == "pixKeyType", how
        return (self.id,)


def findings(requirements: Iterable[Entry], inputs: Mapping[int, str]) -> list[dict[str, Any]]:
    """The findings of a run, failures first. `inputs` says of an exchange which class of request it was, if any.

    Known failures have findings of their own, so that none of them stands for a failure that is new.
    """
    deviations = [_deviation(one, inputs) for one in requirements if one["verdict"] in (Verdict.FAIL, Verdict.WARN)]
    known = [deviation for deviation in deviations if "known_failure" in deviation.requirement]
    new = [deviation for deviation in deviations if "known_failure" not in deviation.requirement]
    found = [_finding(*group) for group in (*_grouped(new), *_grouped(known))]
    return sorted(found, key=lambda finding: (finding["verdict"] != Verdict.FAIL, "known_failure" in finding))


def by_requirement(found: Iterable[Mapping[str, Any]], member: str) -> dict[str, str]:
    """A member of the finding that each requirement belongs to."""
    return {id: one[member] for one in found for id in (*one["requirements"], *one["follows"])}


def _deviation(requirement: Entry, inputs: Mapping[int, str]) -> Deviation:
    labels = (inputs.get(number, "") for number in requirement["exchanges"])
    return Deviation(requirement, frozenset(filter(None, labels)))


def _way(found: Finding) -> tuple[object, ...]:
    """Its code and parameters, without the name of the member and the place in a text."""
    told = {name: value for name, value in found.parameters if name not in ("name", "types", "written")}
    return found.code, *(value.template if isinstance(value, Message) else value for value in told.values())


def _grouped(deviations: list[Deviation]) -> Iterator[tuple[list[Deviation], list[Deviation]]]:
    """The deviations of each cause, the leading one first, and those that follow from them."""
    parents = {child.id: parent for child in deviations if (parent := _parent(child, deviations))}
    roots = [deviation for deviation in deviations if deviation.id not in parents]
    for group in _alike(roots):
        group.sort(key=lambda deviation: deviation.weight)
        ids = {deviation.id for deviation in group}
        yield group, [child for child in deviations if child.id in parents and _root(child, parents).id in ids]


def _alike(roots: list[Deviation]) -> Iterator[list[Deviation]]:
    """The deviations that are broken in one way. A few fields, key types or endpoints are one cause each."""
    for way, group in grouped((one for one in roots if one.what not in ROBUSTNESS), lambda one: one.way).items():
        is_one = way[0] in _OF_ANY_OPERATION or len(group) >= _MANY
        yield from [group] if is_one else [[one] for one in group]
    crashes: list[list[Deviation]] = []
    for one in (one for one in roots if one.what in ROBUSTNESS):
        same = next((group for group in crashes if _on_the_same_requests(one, group[0])), None)
        crashes += [[one]] if same is None else []
        (same or []).append(one)
    yield from crashes


def _on_the_same_requests(one: Deviation, other: Deviation) -> bool:
    both = one.inputs | other.inputs
    return one.what == other.what and bool(both) and 2 * len(one.inputs & other.inputs) >= len(both)


def _root(child: Deviation, parents: Mapping[str, Deviation]) -> Deviation:
    while child.id in parents:
        child = parents[child.id]
    return child


def _finding(group: list[Deviation], follows: list[Deviation]) -> dict[str, Any]:
    leader = group[0]
    known = ("known_failure",) * ("known_failure" in leader.requirement)
    return {
        "cause": leader.id,
        "requirements": [deviation.id for deviation in group],
        "operations": list(dict.fromkeys(one.operation for one in group if one.operation in operations())),
        **{name: leader.requirement[name] for name in ("level", "verdict", "text", "section")},
        "message": said(group),
        "exchanges": list(dict.fromkeys(number for each in group for number in each.requirement["exchanges"])),
        "follows": [deviation.id for deviation in follows],
        **{name: leader.requirement[name] for name in known},
    }


def said(group: Iterable[Deviation]) -> Text:
    """What was found, each statement of it once, with the classes of requests that it was found with."""
    every = [each for deviation in group for each in deviation.found]
    if not every:
        return joined(deviation.requirement["message"] for deviation in group)
    classes = {each.statement: list[Text]() for each in every}
    for each in every:
        classes[each.statement] += [each.shown_by] if each.shown_by else []
    return _few([_with_its_classes(statement, shown_by) for statement, shown_by in classes.items()])


def _with_its_classes(statement: Text, shown_by: list[Text]) -> Text:
    if len(shown_by) > 1:
        return say("{finding}, shown by: {classes}", finding=statement, classes=_few(shown_by))
    return say("{shown_by}: {finding}", shown_by=shown_by[0], finding=statement) if shown_by else statement


def _few(texts: list[Text]) -> Text:
    more = [say("and {n} more", n=len(texts) - MOST_SAID)] if len(texts) > MOST_SAID else []
    return joined([*texts[:MOST_SAID], *more])


# -- what follows from what ---------------------------------------------------------------------------------------

Follows = Callable[[Deviation, Deviation], bool]
"""Whether the first follows from the second."""


def _no_body(child: Deviation, parent: Deviation) -> bool:
    """An answer with a status that has no body is not JSON."""
    bodiless = any(("status", status) in each.parameters for each in parent.found for status in (204, 205))
    return child.what == "json" and parent.what == "status" and bodiless


_NO_MEMBERS = ("", "json", "envelope", "fields", "token", "pixKeyType", "body")
"""Names in the place of a member that are no members: requirements that share one need not share a cause."""


def _of_the_same_member(child: Deviation, parent: Deviation) -> bool:
    """A missing field has no type; a field that breaks a documented requirement breaks weaker ones, too."""
    if child.member != parent.member or child.member in _NO_MEMBERS:
        return False
    return parent.aspect == "present" or parent.weight < child.weight


def _fields_elsewhere(child: Deviation, parent: Deviation) -> bool:
    """A missing field may be there under another name; where the result is wrapped, every field seems to be missing."""
    if child.what == "fields.extra":
        return parent.aspect == "present" or parent.what == "envelope.result"
    return child.aspect == "present" and parent.what == "envelope.result"


def _first_letter(child: Deviation, parent: Deviation) -> bool:
    return child.what == "fields.upperCase" and parent.aspect == "spelling"


def _same_crash(child: Deviation, parent: Deviation) -> bool:
    """One broken answer shows several: a missing endpoint answers 501, and a 500 shows its stack trace."""
    order = ("exists", "serverError", "stackTrace")
    return child.what in order and parent.what in order[: order.index(child.what)]


def _any_credential(child: Deviation, parent: Deviation) -> bool:
    """A service that needs no token accepts another scheme."""
    return child.what == "token.scheme" and parent.what == "token.required"


def _any_key_type(child: Deviation, parent: Deviation) -> bool:
    """A service that accepts any key type, or wants lower-case letters, accepts those and EVP."""
    if parent.what == "pixKeyType.undocumented":
        return child.what in ("pixKeyType.letterCase", "pixKeyType.EVP")
    needs_more = parent.member == "pixKeyType" and any(each.code == "key-needs-more" for each in parent.found)
    return child.what == "pixKeyType.letterCase" and needs_more


FOLLOWS: tuple[tuple[Follows, bool], ...] = (
    (_no_body, True),
    (_of_the_same_member, True),
    (_fields_elsewhere, True),
    (_first_letter, True),
    (_same_crash, True),
    (_any_credential, False),
    (_any_key_type, False),
)
"""What follows from what within an operation, and whether both must be seen in the same answers."""


def _parent(child: Deviation, deviations: list[Deviation]) -> Deviation | None:
    return next((parent for parent in deviations if parent is not child and _follows(child, parent)), None)


def _follows(child: Deviation, parent: Deviation) -> bool:
    if parent.weight > child.weight:
        return False
    if parent.id == "general.versionPrefix":
        return child.what == "exists"
    if child.operation != parent.operation:
        return False
    return any(rule(child, parent) and (_seen_together(child, parent) or not same) for rule, same in FOLLOWS)


def _seen_together(one: Deviation, other: Deviation) -> bool:
    """Seen in the same answers, or in none that is known."""
    return bool(one.exchanges & other.exchanges) or not (one.exchanges or other.exchanges)
