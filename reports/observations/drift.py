"""Where one behaviour contradicts another: the one rule for a record, and for two runs that are compared.

For a situation that both know, the facts of the two are compared. They drift at a place where they have nothing in
common: what varies in one of them is no drift where the other is within it, and what only one of them knows was not
exercised in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from environments.profiles.profile import FAIL
from reports.moments import day, read_moment
from reports.observations.behaviour import Behaviour
from reports.wording import shortened
from spec.facts import contradictions, in_words
from spec.message import Text, say, say_many
from spec.requirements import ledger

_LONGEST = 300
MOST_LINES = 10


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


# -- drift in words, from a conformance.json -----------------------------------------------------------------------


def _record(document: Mapping[str, Any]) -> Text:
    accepted = date.fromisoformat(document["record"]["accepted"])
    return say("the record of {day}", day=day(accepted, read_moment(document["started"]).date()))


def drift_in_words(document: Mapping[str, Any]) -> Text:
    """How much drifts, as a heading; empty where nothing does."""
    places = len(document["drift"])
    if not places:
        return ""
    parts = {"n": places, "record": _record(document)}
    return say_many("drift since {record}: {n} place", "drift since {record}: {n} places", **parts)


def drifting(document: Mapping[str, Any]) -> Text:
    """The same within a sentence."""
    places, record = len(document["drift"]), _record(document)
    return say_many("{n} place drifts from {record}", "{n} places drift from {record}", n=places, record=record)


def drift_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Each place, was and is, and how many more there are."""
    for one in document["drift"][:MOST_LINES]:
        yield f"{where(one)}: {one['was']} → {one['is']}"
    if len(document["drift"]) > MOST_LINES:
        yield f"and {len(document['drift']) - MOST_LINES} more"


def fails_by_drift(document: Mapping[str, Any]) -> bool:
    """Whether there is drift, and the profile has that fail."""
    return bool(document["drift"]) and document["environment"]["drift"] == FAIL
