"""Where one behaviour contradicts another: the one rule for a record, and for two runs that are compared.

For a situation that both know, the values of the two are compared. They drift where they have nothing in common: what
varies in one of them is no drift where the other is within it, and what only one of them knows was not exercised in the
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from reports.observations.behaviour import Answer, Behaviour, Value, values_in_words
from reports.wording import shortened
from spec.requirements import ledger
from spec.shapes import differences

_LONGEST = 300


@dataclass(frozen=True)
class Drift:
    """One place. `place` is a JSON pointer into the shape of an answer, in which `*` is any item; empty for all of what
    was observed."""

    id: str
    situation: str
    place: str
    was: str
    now: str

    def data(self) -> dict[str, str]:
        """The drift as plain data."""
        data = asdict(self)
        return data | {"is": data.pop("now")}


def where(drift: Mapping[str, str]) -> str:
    """The requirement, the situation and the place of a drift of conformance.json."""
    return ", ".join(filter(None, (drift["id"], drift["situation"], drift["place"])))


def drifts(was: Behaviour, now: Behaviour) -> list[Drift]:
    """Every place that drifts, in the order of the ledger. Requirements that are not in it are passed over."""
    return [
        Drift(requirement_id, situation, place, shortened(before, _LONGEST), shortened(after, _LONGEST))
        for requirement_id in ledger()
        if requirement_id in was and requirement_id in now
        for situation, values in was[requirement_id].items()
        if situation in now[requirement_id]
        for place, before, after in _of_values(values, now[requirement_id][situation])
    ]


def _of_values(was: Iterable[Value], now: Iterable[Value]) -> Iterator[tuple[str, str, str]]:
    before, after = ({value.identity: value for value in values} for values in (was, now))
    if not before.keys() & after.keys():
        yield "", *_told_apart(before.values(), after.values())
    for identity in sorted(before.keys() & after.keys()):
        old, new = before[identity], after[identity]
        if isinstance(old, Answer) and isinstance(new, Answer) and old.shape is not None and new.shape is not None:
            yield from differences(old.shape, new.shape)


def _told_apart(was: Iterable[Value], now: Iterable[Value]) -> tuple[str, str]:
    """Both in words: without shapes, where that tells them apart."""
    before, after = (values_in_words(value.head for value in values) for values in (was, now))
    return (before, after) if before != after else (values_in_words(was), values_in_words(now))
