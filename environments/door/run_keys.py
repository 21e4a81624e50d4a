"""A key that a run registered, or may have: its state, and its name for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from environments.profiles.profile import PixKey
from environments.secrets import ordinal

_LONGEST_NAME = 80
"""Characters of a synthetic key that are shown."""


class KeyState(Enum):
    """What became of a key. The text says why one is not cleaned up."""

    GONE = "not registered"
    THERE_BEFORE = "there before the run"
    REGISTERED = "registered and not deleted"
    MAYBE = "perhaps registered: refused or not answered, and no list shows that it is not there"
    STILL_LISTED = "deleted, but still listed"


NOT_CLEANED_UP = (KeyState.REGISTERED, KeyState.MAYBE, KeyState.STILL_LISTED)


@dataclass
class RunKey:
    """One key: its name for people and the exchanges that show its state.

    `value` is None where no answer tells what the service made. `owned`: it is in the profile. `is_refused`: its last
    registration was. `written` is its last event in the key record."""

    name: str
    type: str
    value: str | None
    account: str
    owned: bool
    state: KeyState = KeyState.GONE
    exchanges: list[int] = field(default_factory=list)
    is_refused: bool = False
    is_deleted: bool = False
    written: str = ""


def name_of(keys: tuple[PixKey, ...], place: int) -> str:
    """A key of the profile for people, without its value: `EMAIL, the second of pix_keys`."""
    return f"{keys[place].type}, {ordinal(place + 1)} of pix_keys"


def name_by_value(value: str | None, key_type: str) -> str:
    """A key that is not in the profile, for people: a synthetic one by its value, one that the service made without."""
    if value is not None:
        return f"{key_type or 'a key'} {value if value and value.isprintable() else ascii(value)}"[:_LONGEST_NAME]
    return f"{key_type or 'a key'}, made by the service"
