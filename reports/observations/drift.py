"""Where one behaviour contradicts another: the one rule for a record, and for two runs that are compared.

For a situation that both know, the facts of the two are compared. They drift at a place where they have nothing in
common: what varies in one of them is no drift where the other is within it, and what only one of them knows was not
exercised in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from reports.observations.behaviour import Behaviour
from reports.wording import shortened
from spec.facts import contradictions, in_words
from spec.requirements import ledger

_LONGEST = 300


@dataclass(frozen=True)
class Drift:
    """One place of an answer (`spec/facts.py`), empty for the answer as a whole, and what was and is there."""

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
        Drift(requirement_id, situation, place, *(shortened(in_words(side), _LONGEST) for side in (before, after)))
        for requirement_id in ledger()
        if requirement_id in was and requirement_id in now
        for situation, facts in was[requirement_id].items()
        if situation in now[requirement_id]
        for place, before, after in contradictions(facts, now[requirement_id][situation])
    ]
