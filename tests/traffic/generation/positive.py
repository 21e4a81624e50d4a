"""Valid requests, where a success is harmless: reads of the profile's accounts, registrations of its keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

from environments.door.client import NOTHING
from environments.profiles.profile import Profile
from spec.exchange import Exchange
from spec.interface import operations
from tests.traffic.case import Case
from tests.traffic.extras import registration
from tests.traffic.registrar import Registrar


def _escaped(text: str) -> str:
    """The text with the first letter of each word in quotes as an escape."""
    return re.sub(r'"([A-Za-z])', lambda found: f'"\\u{ord(found[1]):04x}', text)


Spelling = Callable[[Any], bytes]
SPELLINGS: tuple[Spelling, ...] = (
    lambda body: json.dumps(body).encode(),
    lambda body: json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(),
    lambda body: json.dumps(dict(reversed(body.items())), indent=2).encode(),
    lambda body: _escaped(json.dumps(body)).encode(),
)
"""The same JSON value as four texts (RFC 8259: white space, order of members, escapes)."""


def valid_reads(operation: str, profile: Profile, most: int) -> Iterator[Case]:
    """Reads of the profile's accounts in turn."""
    if operations()[operation].path_parameter is None:
        yield from (Case(operation, "", "valid", valid=True) for _ in range(most))
        return
    for account in islice(cycle(profile.accounts), most if profile.accounts else 0):
        yield Case(operation, "", "valid", account, valid=True)


def valid_registrations(registrar: Registrar, profile: Profile, most: int) -> Iterator[tuple[Case, Exchange]]:
    """Register the profile's keys in turn, in every spelling of JSON, and delete each at once where that is known."""
    keys = [key for key in profile.pix_keys if key.type != "RANDOM"]
    for index, key in enumerate(islice(cycle(keys), most if keys else 0)):
        spelled = SPELLINGS[(index // len(keys)) % len(SPELLINGS)]
        body = spelled(registration(key, registrar.account))
        case = Case("registerPixKey", "", "valid", registrar.account, body, valid=True)
        before = len(registrar.found.deletions)
        exchange = registrar.register(key, json=NOTHING, body=body)
        registrar.undo(exchange, key)
        yield case, exchange
        for deletion in registrar.found.deletions[before:]:
            yield Case("deletePixKey", "", "valid", registrar.account, deletion.request.body, valid=True), deletion
