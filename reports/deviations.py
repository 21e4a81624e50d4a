"""Requirements that fail or warn, taken apart, and which of them are alike: broken in the same way in several
operations, or in most members of one object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.verdicts import Entry, Verdict
from spec.interface import KEY_TYPES
from spec.requirements import LEVELS
from spec.rules import ROBUSTNESS

_COUNTED = re.compile(
    r" \(\d+ times?, smallest: exchange \d+\)"
    r"| \(reproduce with --seed=\d+\)"
)
_IN_SEQUENCE = re.compile(r"^in a sequence, (?:valid|again): ")


@dataclass(frozen=True)
class Deviation:
    """A requirement that fails or warns. `inputs` are the classes of the requests that show it."""

    requirement: Entry
    inputs: frozenset[str]

    @property
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

    @cached_property
    def exchanges(self) -> frozenset[int]:
        return frozenset(self.requirement["exchanges"])

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What was found, without how often generated traffic saw it."""
        parts = _COUNTED.sub("", self.requirement["message"] or "").split("; ")
        return tuple(dict.fromkeys(_IN_SEQUENCE.sub("", part) for part in parts if part))

    @property
    def weight(self) -> tuple[bool, int]:
        """What leads comes first: failures, then the level."""
        return self.requirement["verdict"] != Verdict.FAIL, LEVELS.index(self.requirement["level"])


def seen_together(one: Deviation, other: Deviation) -> bool:
    """Seen in the same answers, or in none that is known."""
    return bool(one.exchanges & other.exchanges) or not (one.exchanges or other.exchanges)


_MANY = 3
"""This many fields, key types or endpoints that are broken alike have one cause; fewer have one cause each."""

_EXPECTED = re.compile(r"^expected .*, got ")
_CREDENTIALS = re.compile(r"^(?:executed with|registered with|accepted:) ")

Group = list[Deviation]


def groups_of(roots: list[Deviation]) -> list[Group]:
    """The deviations in groups that have one cause each, in their order."""
    groups = _joined([[root] for root in roots], _of_one_object(roots))
    several = [[*one, *other] for at, one in enumerate(groups) for other in groups[at + 1 :] if _in_several(one, other)]
    return _joined(groups, several)


def _joined(groups: list[Group], likes: Iterable[Group]) -> list[Group]:
    for together in likes:
        joined = [group for group in groups if any(deviation in group for deviation in together)]
        if len(joined) > 1:
            merged = [deviation for group in joined for deviation in group]
            groups = [merged if group is joined[0] else group for group in groups if group not in joined[1:]]
    return groups


def _of_one_object(deviations: list[Deviation]) -> Iterator[Group]:
    """Several members of one object that are broken in one way: by a serializer, a naming style, a missing envelope."""
    by_way: dict[tuple[str, ...], Group] = {}
    for deviation in deviations:
        if way := _way(deviation):
            by_way.setdefault(way, []).append(deviation)
    for (_, place, *_), group in by_way.items():
        together = place not in ("envelope", "data") or all(_mostly(group[0], other) for other in group)
        if together and len(group) >= (2 if place == "envelope" else _MANY):
            yield group


def _way(deviation: Deviation) -> tuple[str, ...]:
    """Where and how a member, a key type or an endpoint is broken; empty for other requirements."""
    if deviation.what == "exists":
        return "", "exists", *deviation.pieces
    if deviation.member == "pixKeyType" and deviation.aspect in KEY_TYPES:
        return deviation.operation, "pixKeyType", *_without(deviation, deviation.aspect)
    if deviation.aspect not in ("present", "type", "spelling"):
        return ()
    place = "envelope" if deviation.member.startswith("envelope.") else "data"
    style = () if deviation.aspect == "spelling" else _without(deviation, deviation.member.rpartition(".")[2])
    return deviation.operation, place, deviation.aspect, *style


def _without(deviation: Deviation, name: str) -> list[str]:
    return sorted({_EXPECTED.sub("", piece.replace(name, "", 1)) for piece in deviation.pieces})


def _mostly(one: Deviation, other: Deviation) -> bool:
    return seen_together(one, other) and _share(one.exchanges, other.exchanges) >= 0.5


def _share(one: Set[Any], other: Set[Any]) -> float:
    """The share of two sets that is in both; 1 for empty ones."""
    return len(one & other) / len(one | other) if one | other else 1.0


def _in_several(one: Group, other: Group) -> bool:
    """Whether the same rule is broken alike in different operations."""
    first, second = one[0], other[0]
    family = _family(first)
    if not family or family != _family(second) or {d.operation for d in one} & {d.operation for d in other}:
        return False
    if family in ROBUSTNESS:
        return bool(first.inputs) and _share(first.inputs, second.inputs) >= 0.5
    ways = [{way for deviation in group for way in _ways(deviation)} for group in (one, other)]
    return _share(*ways) > 0.5 if family == "envelope" else bool(ways[0] & ways[1])


def _family(deviation: Deviation) -> str:
    """The part of an answer that every operation has and the requirement is about; empty for other requirements."""
    if deviation.what in ("status", "fields.extra", "token.required", "token.scheme", *ROBUSTNESS):
        return deviation.what
    if deviation.what.startswith("envelope."):
        return deviation.what if deviation.what in ("envelope.result", "envelope.code.example") else "envelope"
    return deviation.what if deviation.what.split(".")[0] == "json" else ""


def _ways(deviation: Deviation) -> set[str]:
    """How it is broken, in words that are the same for every operation."""
    if deviation.what == "json":
        return {re.sub(r"\d+", "#", piece) for piece in deviation.pieces}
    if deviation.what.startswith("token."):
        return {name for piece in deviation.pieces for name in _CREDENTIALS.sub("", piece).split(", ")}
    return set(deviation.pieces)
