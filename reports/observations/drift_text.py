"""Drift in words, from a conformance.json: the terminal, the headline and the formats of test results say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from environments.profiles.profile import FAIL
from reports.moments import day, read_moment
from reports.observations.drift import where
from reports.observations.record import Record
from reports.wording import counted

MOST_LINES = 10


def _record(document: Mapping[str, Any]) -> str:
    accepted = date.fromisoformat(document["record"]["accepted"])
    return f"the record of {day(accepted, read_moment(document['started']).date())}"


def drift_in_words(document: Mapping[str, Any]) -> str:
    """How much drifts, as a heading; empty where nothing does."""
    places = len(document["drift"])
    return f"drift since {_record(document)}: {counted(places, 'place')}" if places else ""


def drifting(document: Mapping[str, Any]) -> str:
    """The same within a sentence."""
    places, record = len(document["drift"]), _record(document)
    return f"1 place drifts from {record}" if places == 1 else f"{places} places drift from {record}"


def drift_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Each place, was and is, and how many more there are."""
    for one in document["drift"][:MOST_LINES]:
        yield f"{where(one)}: {one['was']} → {one['is']}"
    if len(document["drift"]) > MOST_LINES:
        yield f"and {len(document['drift']) - MOST_LINES} more"


def fails_by_drift(document: Mapping[str, Any]) -> bool:
    """Whether there is drift, and the profile has that fail."""
    return bool(document["drift"]) and document["environment"]["drift"] == FAIL


def unknown_in_words(count: int) -> str:
    """What is said of entries of a record that are of no requirement."""
    gone = f"the record has {counted(count, 'requirement')} that this version of the suite does not have"
    return f"{gone}: the next pytest --accept drops {'it' if count == 1 else 'them'}"


def odd_in_words(record: Record, environment: str, today: date) -> Iterator[str]:
    """What is said of a record that may not be the right one for a run of the environment."""
    if record.environment != environment:
        yield "the record is that of another environment: check that it is meant for this one"
    if record.accepted > today:
        yield "the record was accepted in the future: check the clock of the machine that wrote it"
    if record.unknown:
        yield unknown_in_words(record.unknown)
