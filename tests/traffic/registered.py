"""What was sent to the key registration and the deletion, and how it was answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from spec.answers import (
    ABOUT_THE_REQUEST,
    RefusalKind,
    data_of,
    find,
    is_judged_as_success,
    refusal_kind,
    registered,
    succeeded,
)
from spec.exchange import Exchange
from spec.findings import Judgement
from tests.traffic.unusual_registrations import OTHER_TYPES, Attempted

_WHOLE = re.compile(r"[\w-]{1,200}")
"""A key that the service made. A masked one has other signs."""


@dataclass
class Registrations:
    """What was sent to POST and DELETE /v1/pix/keys/{accountId}, and how it was answered."""

    account: str
    answers: list[Exchange] = field(default_factory=list)
    repeated: list[Exchange] = field(default_factory=list)
    fresh: list[Exchange] = field(default_factory=list)
    deletions: list[Exchange] = field(default_factory=list)
    tried: dict[Attempted, list[Exchange]] = field(default_factory=lambda: {what: [] for what in Attempted})
    key_types: dict[str, Judgement] = field(default_factory=dict)
    broken: dict[str, Judgement] = field(default_factory=dict)
    effects: list[Exchange] = field(default_factory=list)
    suspected: list[Exchange] = field(default_factory=list)
    lost: list[Exchange] = field(default_factory=list)
    kept: list[Exchange] = field(default_factory=list)
    read_beside: list[Exchange] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    random: Exchange | None = None
    of_another_account: Exchange | None = None
    missing: str = ""

    @property
    def understood(self) -> list[Exchange]:
        """The valid registrations whose key type was understood."""
        return [answer for answer in self.answers if is_understood(answer)]

    @property
    def declined(self) -> list[Exchange]:
        """Registration results for an undocumented key type: a 200 with code 0 and Success."""
        return [seen for what in OTHER_TYPES for seen in self.tried[what] if is_judged_as_success(seen)]

    @property
    def accepted(self) -> list[Exchange]:
        """The valid registrations that were granted."""
        return [answer for answer in self.answers if registered(answer)]


def told_by(exchange: Exchange) -> str | None:
    """The key that an answer names, whole."""
    member = find(data_of(exchange.response) or {}, "Key") if exchange.response else None
    told = member[1] if member else None
    return told if isinstance(told, str) and _WHOLE.fullmatch(told) else None


def is_understood(exchange: Exchange) -> bool:
    """Whether the key type is understood: a 409, or a well-formed answer with any Success."""
    if exchange.response is None:
        return False
    return refusal_kind(exchange.response) is RefusalKind.CONFLICT or succeeded(exchange)


_OUTRIGHT = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT}


def is_refused_outright(exchange: Exchange) -> bool:
    """Whether it is refused for what was sent: not for the token, the rate, the load or a key that is there already."""
    return exchange.response is not None and refusal_kind(exchange.response) in _OUTRIGHT
