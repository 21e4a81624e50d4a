"""Drift in words, from a conformance.json: the terminal, the headline and the formats of test results say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from environments.profiles.profile import FAIL
from reports.moments import day, read_moment
from reports.observations.drift import where
from reports.observations.record import Record
from spec.message import Text, say, say_many

MOST_LINES = 10


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


def unknown_in_words(count: int) -> Text:
    """What is said of entries of a record that are of no requirement."""
    return say_many(
        "the record has {n} requirement that this version of the suite does not have: "
        "the next pytest --accept drops it",
        "the record has {n} requirements that this version of the suite does not have: "
        "the next pytest --accept drops them",
        n=count,
    )


def odd_in_words(record: Record, environment: str, today: date) -> Iterator[Text]:
    """What is said of a record that may not be the right one for a run of the environment."""
    if record.environment != environment:
        yield say("the record is that of another environment: check that it is meant for this one")
    if record.accepted > today:
        yield say("the record was accepted in the future: check the clock of the machine that wrote it")
    if record.unknown:
        yield unknown_in_words(record.unknown)
