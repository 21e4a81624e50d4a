"""Moments in reports: always UTC, written alike everywhere."""

from __future__ import annotations

from datetime import UTC, datetime


def written(moment: datetime) -> str:
    """As conformance.json has it: `2026-11-20T09:30:00Z`."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_moment(text: str) -> datetime:
    """A moment of conformance.json. ValueError for any other text."""
    return datetime.fromisoformat(text).astimezone(UTC)


def moment_in_words(text: str) -> str:
    """A moment of conformance.json for people, in English: `2026-11-20 09:30:00 UTC`."""
    return text.replace("T", " ").replace("Z", " UTC")
