"""What a run did not clean up, in words: a sentence for each thing, one line for the terminal, and what removes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from environments.profiles.profile import is_loopback

_MOST_NAMED = 3


def sentence(entry: Mapping[str, Any]) -> str:
    """One key that was not cleaned up, as conformance.json lists it under left_behind."""
    numbers = ", ".join(str(number) for number in entry["exchanges"])
    return f"{entry['what']}: {entry['why']} ({'exchange' if len(entry['exchanges']) == 1 else 'exchanges'} {numbers})"


def line(document: Mapping[str, Any]) -> Iterator[str]:
    """The one line of the terminal; none where everything is cleaned up."""
    left = document["left_behind"]
    if left:
        named = "; ".join(item.split(":")[0] for item in left[:_MOST_NAMED])
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        yield "".join((f"not cleaned up: {named}{more}", *(f"; {line}" for line in remedy(document))))


def remedy(document: Mapping[str, Any]) -> Iterator[str]:
    """The command that deletes keys of the profile later; none where nothing is written down for it."""
    environment = document["environment"]
    if any(key["of_the_profile"] for key in document["not_cleaned_up"]) and not is_loopback(environment["base_url"]):
        yield f"python -m environments cleanup {environment['name']} removes the keys of the profile"


def besides_keys(document: Mapping[str, Any]) -> list[str]:
    """What was not cleaned up and is no key."""
    keys = {sentence(entry) for entry in document["not_cleaned_up"]}
    return [item for item in document["left_behind"] if item not in keys]
