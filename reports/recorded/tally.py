"""What recorded traffic shows, counted. Tallies of parts of the traffic merge in any order.

What is kept does not grow with the traffic: counts, and of each finding the first few exchanges, as they may be shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from math import inf
from typing import Any, NamedTuple

from environments.profiles.model import Profile
from environments.profiles.parts import SECRET_HEADER
from environments.secret_values import IDENTIFIER, Secrets, listed_secrets
from reports.recorded.entry import NO_BODY, NO_TOKEN, NOT_OURS, UNKNOWN, RecordedExchange, named
from reports.recorded.forms import Forms, declines, grants_something
from reports.sentences.wording import grouped
from reports.showing.evidence import Evidence, outline
from reports.showing.show import Display
from spec.exchange import Exchange, Response
from spec.findings import Finding
from spec.interface import operations
from spec.json_text import leaves_of, read_json
from spec.message import Message, Text
from spec.requirements import requirements

EXCHANGES = ("exchanges",)
HELD, BROKEN, ALIKE, GAP = "held", "broken", "alike", "gap"
"""Sorts of what is counted: exchanges that hold, or deviate, by requirement; deviations that differ in nothing but
where they are recorded; entries that are not judged, by file and reason."""
TallyKey = tuple[str, ...]
_MOST_FIRST, _MOST_KEYS = 3, 20
"""Of what is alike, those that are kept; different ones of a requirement or a file."""
_PLACE, _PIECE = re.compile(r"/[0-9]+(?=/|$)"), re.compile(r"[^\s;,=]{4,}")


class Seen(NamedTuple):
    """One of the first: where it is recorded, and what may be shown of it."""

    file: str
    entry: int
    what: Any


@dataclass
class Tally:
    """All that is known of a part of the traffic, which lies between two moments (seconds of the epoch)."""

    times: Counter[TallyKey] = field(default_factory=Counter)
    first: dict[TallyKey, list[Seen]] = field(default_factory=dict)
    since: float = inf
    until: float = -inf

    def of(self, sort: str) -> list[tuple[TallyKey, list[Seen]]]:
        """The first of each key of a sort, those that were seen most often before others."""
        found = [(key, first) for key, first in self.first.items() if key[0] == sort]
        return sorted(found, key=lambda each: (-self.times[each[0]], each[0]))


def merge(one: Tally, other: Tally) -> Tally:
    """The tally of both parts. Of too many keys the same are kept, whatever was merged before."""
    first = {
        key: nsmallest(_MOST_FIRST, one.first.get(key, []) + other.first.get(key, []), key=lambda seen: seen[:2])
        for key in {*one.first, *other.first}
    }
    groups = grouped(first, lambda key: key[:2])
    kept = {key for keys in groups.values() for key in nsmallest(_MOST_KEYS, keys)}
    times = one.times + other.times
    for key in first.keys() - kept:
        del times[key], first[key]
    return Tally(times, first, min(one.since, other.since), max(one.until, other.until))


class Counting:
    """Makes the tally of one file."""

    def __init__(self, file: str, profile: Profile) -> None:
        self.tally, self._file, self._profile, self._forms = Tally(), file, profile, Forms()
        self._tokens = set[int]()

    def finished(self) -> Tally:
        """The tally, once all is judged."""
        for ids, times in self._forms.held.items():
            self.tally.times.update({(HELD, id): times for id in ids})
        return self.tally

    def miss(self, why: Text, number: int) -> None:
        """Count an entry that is not judged, or what is wrong with the file."""
        self._count((GAP, "" if why in NOT_OURS else self._file, str(why)), number, lambda: why)

    def take(self, exchange: RecordedExchange) -> None:
        """Judge an exchange, which has a response."""
        if len(self.tally.first) > _MOST_KEYS * len(requirements()):
            self.tally = merge(self.tally, Tally())
        tally, response = self.tally, exchange.response
        assert response is not None
        exchange = self._with_its_token_known(exchange, response)
        tally.times[EXCHANGES] += 1
        if response.cut:
            self.miss(NO_BODY, exchange.number)
        for gap in exchange.gaps:
            self.miss(gap, exchange.number)
        if at := exchange.started:
            tally.since, tally.until = min(tally.since, at), max(tally.until, at)
        for id, findings in self._forms.broken(exchange, response):
            tally.times[BROKEN, id] += 1
            for found in findings:
                values = [part.template if isinstance(part, Message) else str(part) for _, part in found.parameters]
                places = [_PLACE.sub("/*", pointer) for pointer in found.pointers]
                show = partial(self._shown, found, exchange, response)
                self._count((ALIKE, id, found.code, *values, *places), exchange.number, show)

    def _with_its_token_known(self, exchange: RecordedExchange, response: Response) -> RecordedExchange:
        """The exchange; its credential is unknown until its token was granted something in this file. What a service
        answers to another token is not shown: it may be a 200, too."""
        token = hash(named(exchange.request.headers).get("authorization"))
        is_declined = declines(exchange, response)
        if not is_declined and grants_something(exchange, response):
            self._tokens.add(token)
        if token not in self._tokens:
            return replace(exchange, credential=UNKNOWN, valid=False, gaps=(*exchange.gaps, NO_TOKEN))
        if is_declined:
            return replace(exchange, credential=UNKNOWN, valid=False)
        return exchange

    def _count(self, key: TallyKey, number: int, show: Callable[[], object]) -> None:
        first = self.tally.first.setdefault(key, [])
        self.tally.times[key] += 1
        if len(first) < _MOST_FIRST:
            first.append(Seen(self._file, number, show()))

    def _shown(self, found: Finding, exchange: Exchange, response: Response) -> tuple[Finding, Evidence]:
        """What may be shown of a deviation. What the request names is hidden in the answer, too."""
        display = Display(_secrets_of(exchange, self._profile))
        body = display.body(response.start, response.header("Content-Type"), size=response.size)
        seen = outline(exchange)
        seen["request"] |= {
            "headers": [["(recorded)", f"entry {exchange.number:,} of {self._file}"]],
            "body": display.body(exchange.request.body),
        }
        seen["response"] |= {"headers": display.headers(response.headers[:50]), "body": body}
        pointers = tuple(map(display.pointer, found.pointers))
        return replace(found.map(display.foreign), pointers=pointers, requirement=""), seen


def _secrets_of(exchange: Exchange, profile: Profile) -> Secrets:
    """What the profile lists, and what the request names or proves itself with."""
    secrets, request = listed_secrets(profile), exchange.request
    for name, value in request.headers:
        if re.search(SECRET_HEADER, name):
            secrets.learn_secret("credential", *_PIECE.findall(value))
    sent = leaves_of(read_json(request.body).value)
    secrets.learn(IDENTIFIER, *(leaf for path, leaf in sent if isinstance(leaf, str) and path != ("pixKeyType",)))
    if operations()[exchange.operation].path_parameter:
        secrets.learn(IDENTIFIER, request.last_segment)
    return secrets
