"""Tally of recorded traffic: how many exchanges hold or break each requirement, and the first that show each finding.

A tally counts entries of HAR files by keys (no PIX keys). The first part of a key says what is counted: HELD, BROKEN,
ALIKE, GAP or EXCHANGES. Its other parts say for what, such as a requirement. A sighting is an entry that a person may
look up, because it shows a deviation or has a gap. A gap is a reason why an entry was not judged, or not as a whole.

Tallies of parts of the traffic merge in any order. A tally does not grow with the traffic: it has counts, and of each
key only the first few sightings, as they may be shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain
from math import inf
from typing import NamedTuple

from environments.profiles.model import Profile
from environments.profiles.parts import SECRET_HEADER
from environments.secret_values import IDENTIFIER, Secrets, listed_secrets
from reports.recorded.entry import NO_BODY, NO_TOKEN, NOT_OURS, UNKNOWN, RecordedExchange, headers_by_name
from reports.recorded.forms import Forms, grants_something, says_no
from reports.sentences.wording import grouped
from reports.showing.evidence import ShownExchange, ShownRequest, outline, shown_finding, shown_response
from reports.showing.show import Display
from spec.exchange import Exchange, Response
from spec.findings import Finding
from spec.interface import operations
from spec.json_text import leaves_of, read_json
from spec.message import Message, Text
from spec.requirements import requirements

TallyKey = tuple[str, ...]
"""What is counted (HELD, BROKEN, …), and for what, such as a requirement id."""
EXCHANGES = ("exchanges",)
"""Key of the number of exchanges that were judged."""
HELD = "held"
"""Sort of exchanges that hold a requirement."""
BROKEN = "broken"
"""Sort of exchanges that deviate from a requirement."""
ALIKE = "alike"
"""Sort of deviations that differ in nothing but where they are recorded, by requirement, code, parameters, places."""
GAP = "gap"
"""Sort of entries that are not judged, or not as a whole, by file and reason."""
_MOST_SIGHTINGS = 3
"""Sightings of a key that are kept: as many as the page links."""
_MOST_KEYS = 20
"""Keys of one requirement, or of one file, that are kept. A service may break a requirement in countless ways."""
_PLACE = re.compile(r"/[0-9]+(?=/|$)")
"""A place in a JSON pointer. It differs from answer to answer."""
_CREDENTIAL_PIECE = re.compile(r"[^\s;,=]{4,}")
"""A part of a secret header that may be a secret by itself, such as the value of a cookie."""


@dataclass(frozen=True)
class ShownDeviation:
    """A deviation, and the exchange that shows it, as they may be shown."""

    finding: Finding
    exchange: ShownExchange


class Sighting(NamedTuple):
    """An entry that shows a deviation, or has a gap."""

    file: str
    entry: int  # its number in the file, from 1
    gap: Text = ""  # why the entry is not judged, or not as a whole; empty for a deviation
    deviation: ShownDeviation | None = None


@dataclass
class Tally:
    """Counts and first sightings of a part of the traffic."""

    times: Counter[TallyKey] = field(default_factory=Counter)
    first: dict[TallyKey, list[Sighting]] = field(default_factory=dict)
    since: float = inf  # first and last moment of the traffic, in seconds of the epoch
    until: float = -inf

    def of(self, sort: str) -> list[tuple[TallyKey, list[Sighting]]]:
        """Each key that begins with `sort`, such as GAP, with its first sightings; the most frequent key first."""
        keys = [key for key in self.first if key[0] == sort]
        most_frequent_first = sorted(keys, key=lambda key: (-self.times[key], key))
        return [(key, self.first[key]) for key in most_frequent_first]


def merge(part_a: Tally, part_b: Tally) -> Tally:
    """The tally of both parts of the traffic together.

    If a requirement or a file has more than 20 keys, the first 20 in the order of their texts are kept. So the result
    does not depend on the order in which parts are merged.
    """
    first = {}
    for key in {*part_a.first, *part_b.first}:
        first[key] = _first_sightings(part_a.first.get(key, []) + part_b.first.get(key, []))
    times = part_a.times + part_b.times
    for key in first.keys() - _kept_keys(first):
        del times[key]
        del first[key]
    return Tally(times, first, min(part_a.since, part_b.since), max(part_a.until, part_b.until))


def _kept_keys(keys: Iterable[TallyKey]) -> set[TallyKey]:
    """The keys to keep: of each requirement, and of each file with gaps, the first 20 in the order of their texts."""
    groups = grouped(keys, lambda key: key[:2])  # what is counted, and the requirement or the file
    return set(chain(*(nsmallest(_MOST_KEYS, group) for group in groups.values())))


def _first_sightings(sightings: list[Sighting]) -> list[Sighting]:
    """The first few sightings, by file and entry."""
    return nsmallest(_MOST_SIGHTINGS, sightings, key=lambda sighting: (sighting.file, sighting.entry))


class TallyMaker:
    """Makes the tally of one file: it is given entry after entry, and judges each."""

    def __init__(self, file: str, profile: Profile) -> None:
        self.tally = Tally()
        self._file = file
        self._profile = profile
        self._forms = Forms()
        self._granted_tokens = set[int]()  # hashes of tokens that were granted something so far

    def finished(self) -> Tally:
        """The tally, after the last entry. It may be asked for only once, because it adds what `Forms` has counted."""
        for ids, times in self._forms.held.items():
            for id in ids:
                self.tally.times[HELD, id] += times
        return self.tally

    def count_gap(self, why: Text, number: int) -> None:
        """Count an entry that is not judged, or not as a whole. A fault of the recording is counted by its file."""
        file = "" if why in NOT_OURS else self._file
        key = (GAP, file, str(why))
        self._count(key)
        if self._has_room_for_sighting(key):
            self.tally.first[key].append(Sighting(self._file, number, gap=why))

    def judge(self, exchange: RecordedExchange) -> None:
        """Judge an exchange by all rules, and count its deviations and gaps. It must have a response."""
        most_keys_of_all = _MOST_KEYS * len(requirements())
        if len(self.tally.first) > most_keys_of_all:
            self.tally = merge(self.tally, Tally())  # drops the keys that are too many
        response = exchange.response
        assert response is not None
        exchange = self._with_credential_known(exchange, response)
        self.tally.times[EXCHANGES] += 1
        if response.cut:
            self.count_gap(NO_BODY, exchange.number)
        for gap in exchange.gaps:
            self.count_gap(gap, exchange.number)
        if exchange.started:
            self.tally.since = min(self.tally.since, exchange.started)
            self.tally.until = max(self.tally.until, exchange.started)
        for id, findings in self._forms.deviations(exchange, response):
            self.tally.times[BROKEN, id] += 1
            for finding in findings:
                self._count_deviation(_key_of(id, finding), finding, exchange, response)

    def _count_deviation(self, key: TallyKey, finding: Finding, exchange: Exchange, response: Response) -> None:
        """Count a deviation, and keep the exchange as an example if fewer than three are kept."""
        self._count(key)
        if self._has_room_for_sighting(key):  # asked first, because it is slow to make what may be shown
            shown_deviation = self._shown(finding, exchange, response)
            self.tally.first[key].append(Sighting(self._file, exchange.number, deviation=shown_deviation))

    def _with_credential_known(self, exchange: RecordedExchange, response: Response) -> RecordedExchange:
        """The exchange; with an unknown credential, if it is not known that its token was valid.

        A token counts as valid once an answer in this file granted it something, such as an account. A 200 alone is not
        enough, because a service may answer a wrong token with a 200, too.
        """
        token = hash(headers_by_name(exchange.request.headers).get("authorization"))
        is_declined = says_no(exchange, response)
        if not is_declined and grants_something(exchange, response):
            self._granted_tokens.add(token)
        if token not in self._granted_tokens:  # perhaps the token is wrong, so the answer cannot be judged as a whole
            return replace(exchange, credential=UNKNOWN, valid=False, gaps=(*exchange.gaps, NO_TOKEN))
        if is_declined:  # Success is not "true", so perhaps the token was not valid for this request
            return replace(exchange, credential=UNKNOWN, valid=False)
        return exchange

    def _count(self, key: TallyKey) -> None:
        """Count an entry under a key."""
        self.tally.times[key] += 1
        self.tally.first.setdefault(key, [])

    def _has_room_for_sighting(self, key: TallyKey) -> bool:
        """True if fewer sightings of a counted key are kept than the page links."""
        return len(self.tally.first[key]) < _MOST_SIGHTINGS

    def _shown(self, finding: Finding, exchange: Exchange, response: Response) -> ShownDeviation:
        """A deviation, and its exchange, as they may be shown. Values that the request names are hidden in the answer.

        The exchange has no line of curl, because the token is not known.
        """
        display = Display(_secrets_of(exchange, self._profile))
        exchange_in_outline = outline(exchange)
        request = ShownRequest(
            method=exchange_in_outline.request.method,
            url=exchange_in_outline.request.url,
            headers=(("(recorded)", f"entry {exchange.number:,} of {self._file}"),),
            body=display.body(exchange.request.body),
        )
        shown_exchange = replace(exchange_in_outline, request=request, response=shown_response(response, display))
        return ShownDeviation(replace(shown_finding(finding, display), requirement=""), shown_exchange)


def _key_of(id: str, finding: Finding) -> TallyKey:
    """The key under which a deviation is counted. Deviations with the same key are shown as one.

    It has the requirement, the code of the finding, its values and its JSON pointers. Numbers within a message, and
    positions in arrays, are left out, because they differ from answer to answer.
    """
    values = []
    for _, value in finding.parameters:
        values.append(value.template if isinstance(value, Message) else str(value))
    places = [_PLACE.sub("/*", pointer) for pointer in finding.pointers]
    return ALIKE, id, finding.code, *values, *places


def _secrets_of(exchange: Exchange, profile: Profile) -> Secrets:
    """Values that are never shown of an exchange: those that the profile lists, and those that the request has as a
    credential, in its body, or in its path."""
    secrets = listed_secrets(profile)
    request = exchange.request
    for name, value in request.headers:
        if re.search(SECRET_HEADER, name):
            secrets.learn_secret("credential", *_CREDENTIAL_PIECE.findall(value))
    for path, leaf in leaves_of(read_json(request.body).value):
        is_key_type = path == ("pixKeyType",)  # a documented word such as EMAIL
        if isinstance(leaf, str) and not is_key_type:
            secrets.learn(IDENTIFIER, leaf)
    if operations()[exchange.operation].path_parameter:
        secrets.learn(IDENTIFIER, request.last_segment)
    return secrets
