"""Findings: the requirements that fail or warn, grouped by cause. Pure: requirements of conformance.json in, findings
out.

Two deviations have one cause where one makes the other happen (`FOLLOWS`), or where they are alike (`alike`).
Two fields of an answer that are wrong are two causes: nothing shows that one of them explains the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from reports.deviations import Deviation, groups_of, seen_together
from reports.verdicts import Entry, Verdict
from spec.interface import operations

MOST_SAID = 6
_SHOWN_BY_A_CLASS = re.compile(r"(?P<shown_by>(?!expected ).+?): (?P<sentence>expected .+)", re.DOTALL)
"""What generated traffic found with a class of requests: `pixKey, null: expected no server error, got status 500`."""


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


def _grouped(deviations: list[Deviation]) -> Iterator[tuple[list[Deviation], list[Deviation]]]:
    """The deviations of each cause, the leading one first, and those that follow from them."""
    parents = {child.id: parent for child in deviations if (parent := _parent(child, deviations))}
    roots = [deviation for deviation in deviations if deviation.id not in parents]
    for group in groups_of(roots):
        group.sort(key=lambda deviation: deviation.weight)
        ids = {deviation.id for deviation in group}
        yield group, [child for child in deviations if child.id in parents and _root(child, parents).id in ids]


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


def said(group: Iterable[Deviation]) -> str:
    """What was found, each sentence of it once, with the classes of requests that it was found with."""
    pieces = list(dict.fromkeys(piece for deviation in group for piece in deviation.pieces))
    pieces = [piece for piece in pieces if not any(other.endswith(f": {piece}") for other in pieces)]
    found: dict[str, list[str]] = {}
    for piece in pieces:
        told = _SHOWN_BY_A_CLASS.fullmatch(piece)
        found.setdefault(told["sentence"] if told else piece, []).extend([told["shown_by"]] if told else [])
    return _few([_with_its_classes(sentence, classes) for sentence, classes in found.items()])


def _with_its_classes(sentence: str, shown_by: list[str]) -> str:
    if len(shown_by) < 2:
        return "".join(f"{one}: " for one in shown_by) + sentence
    classes = _few(shown_by)
    return f"{sentence}, shown by: {classes}"


def _few(texts: list[str]) -> str:
    more = [f"and {len(texts) - MOST_SAID} more"] if len(texts) > MOST_SAID else []
    return "; ".join([*texts[:MOST_SAID], *more])


# -- what follows from what ---------------------------------------------------------------------------------------

Follows = Callable[[Deviation, Deviation], bool]
"""Whether the first follows from the second."""


def _no_body(child: Deviation, parent: Deviation) -> bool:
    """An answer with a status that has no body is not JSON."""
    bodiless = any(piece.endswith(("got 204", "got 205")) for piece in parent.pieces)
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
    wanted = parent.member == "pixKeyType" and any("lower-case" in piece for piece in parent.pieces)
    return child.what == "pixKeyType.letterCase" and wanted


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
    return any(rule(child, parent) and (seen_together(child, parent) or not same) for rule, same in FOLLOWS)
