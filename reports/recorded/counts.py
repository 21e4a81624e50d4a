"""Counts of recorded traffic: how many exchanges meet or break each requirement, and the first that show a deviation.

Entries of HAR files are counted by keys (no PIX keys). The first part of a key says what is counted: HELD, BROKEN,
DEVIATION, UNJUDGED or EXCHANGES. Its other parts say for what, such as a requirement. An example is an entry that a
person may look up, because it shows a deviation or was not judged as a whole.

Counts of parts of the traffic merge in any order. They do not grow with the traffic: there are numbers, and of each
key only the first few examples, without secret and personal values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from math import inf
from typing import NamedTuple

from environments.profiles.model import Profile
from environments.profiles.parts import SECRET_HEADER
from environments.secret_values import IDENTIFIER, Secrets, listed_secrets
from reports.recorded.entry import NO_BODY, NO_FAULT_OF_RECORDING, NO_TOKEN, UNKNOWN, RecordedExchange, headers_by_name
from reports.recorded.forms import Forms, grants_something, has_success_other_than_true
from reports.sentences.wording import grouped
from reports.showing.evidence import ShownExchange, ShownRequest, shown_finding, shown_in_outline, shown_response
from reports.showing.show import Display
from spec.exchange import Exchange, Response
from spec.findings import Finding
from spec.interface import operations
from spec.json_text import leaves_of, read_json
from spec.message import Message, Text
from spec.requirements import requirements

CountKey = tuple[str, ...]
"""What is counted (HELD, BROKEN, …), and for what, such as a requirement id."""
EXCHANGES = ("exchanges",)
"""Key of the number of exchanges that were judged."""
HELD = "held"
"""First part of keys for exchanges that meet a requirement. The second part is the requirement."""
BROKEN = "broken"
"""First part of keys for exchanges that deviate from a requirement. The second part is the requirement."""
DEVIATION = "deviation"
"""First part of keys for deviations. The other parts are requirement, code, parameters and pointers of the finding, so
that deviations with the same key differ only in where they are recorded."""
UNJUDGED = "unjudged"
"""First part of keys for entries that are not judged, or only in part. The other parts are the file and the reason."""
_MOST_EXAMPLES = 3
"""Most examples of a key that are kept: the HTML report links to three."""
_MOST_KEYS = 20
"""Most keys of one requirement, or of one file, that are kept, because a service may break a requirement in countless
ways. A choice."""
_ARRAY_INDEX = re.compile(r"/[0-9]+(?=/|$)")
"""An index of an array in a JSON pointer. It differs from answer to answer."""
_CREDENTIAL_PIECE = re.compile(r"[^\s;,=]{4,}")
"""A part of a secret header that may be a secret by itself, such as the value of a cookie."""


@dataclass(frozen=True)
class ShownDeviation:
    """A deviation, and the exchange that shows it, as they may be shown."""

    finding: Finding
    exchange: ShownExchange


class RecordedExample(NamedTuple):
    """An entry of a file that a person may look up, because it shows a deviation, or was not judged as a whole."""

    file: str
    entry: int  # its number in the file, from 1
    why_unjudged: Text = ""  # why the entry is not judged, or not as a whole; empty for a deviation
    deviation: ShownDeviation | None = None


@dataclass
class RecordedCounts:
    """Counts and first examples of a part of the traffic."""

    times: Counter[CountKey] = field(default_factory=Counter)
    examples: dict[CountKey, list[RecordedExample]] = field(default_factory=dict)
    since: float = inf  # first moment of the traffic, in seconds since 1970; infinite if no entry has a moment
    until: float = -inf  # last moment of the traffic

    def keys_with_examples(self, first_part: str) -> list[tuple[CountKey, list[RecordedExample]]]:
        """What was counted under keys with this first part, such as UNJUDGED: each key, with its first examples.

        A key says what is counted, such as ("unjudged", "traffic.har", "without a response"). An example is an entry
        that a person may look up. The most frequent key is first.
        """
        keys = [key for key in self.examples if key[0] == first_part]
        # Keys that are equally frequent are sorted by their texts, so that the order is always the same.
        most_frequent_first = sorted(keys, key=lambda key: (-self.times[key], key))
        return [(key, self.examples[key]) for key in most_frequent_first]


def merged_counts(part_a: RecordedCounts, part_b: RecordedCounts) -> RecordedCounts:
    """The counts of two parts of the traffic, such as of two files, merged into one object.

    There is a number for each key, such as ("deviation", "executePix.json", "json", …). If a requirement or a file has
    more than 20 keys, only the first 20 in the order of their texts are kept, so that the counts do not grow with the
    traffic. This order does not depend on the order in which parts are merged.
    """
    examples = {}
    for key in {*part_a.examples, *part_b.examples}:
        examples[key] = _first_examples(part_a.examples.get(key, []) + part_b.examples.get(key, []))
    times = part_a.times + part_b.times
    for key in examples.keys() - _kept_keys(examples):
        del times[key]
        del examples[key]
    return RecordedCounts(times, examples, min(part_a.since, part_b.since), max(part_a.until, part_b.until))


def _kept_keys(keys: Iterable[CountKey]) -> set[CountKey]:
    """The keys whose counts are kept: at most 20 for each requirement, and for each file with unjudged entries.

    Recorded requests are counted under keys: ("deviation", requirement id, …) or ("unjudged", file, reason). The
    first 20 in the order of their texts are kept, so that the choice does not depend on the order of the traffic.
    """
    kept_keys: set[CountKey] = set()
    groups = grouped(keys, lambda key: key[:2])  # what is counted, and the requirement or the file
    for group in groups.values():
        kept_keys.update(nsmallest(_MOST_KEYS, group))
    return kept_keys


def _first_examples(examples: list[RecordedExample]) -> list[RecordedExample]:
    """The first three examples, in the order of files and of the entries in them."""
    return nsmallest(_MOST_EXAMPLES, examples, key=lambda example: (example.file, example.entry))


class FileCounter:
    """Makes the counts of one file: it is given entry after entry, and judges each."""

    def __init__(self, file: str, profile: Profile) -> None:
        """Start without counts. `file` is the path, and `profile` has the settings of the service that was recorded."""
        self.counts = RecordedCounts()
        self._file = file
        self._profile = profile
        self._forms = Forms()
        self._granted_tokens = set[int]()  # hashes of tokens that were granted something so far

    def finished(self) -> RecordedCounts:
        """Complete the counts after the last entry of the file, and return them. It must be called only once.

        It adds how often each requirement was met. `Forms`, which judges the entries, has counted that: `held` has the
        number of entries that meet all requirements of a tuple of ids.
        """
        for ids, times in self._forms.held.items():
            for id in ids:
                self.counts.times[HELD, id] += times
        return self.counts

    def count_unjudged(self, why: Text, number: int) -> None:
        """Count an entry that is not judged, or only in part. `number` is its number in the file, `why` the reason.

        Some reasons are a fault of the recording, such as a file that was cut. Entries with such a reason are counted
        for each file, because a person must look at each file. Entries with another reason, such as another address,
        are counted for all files together.
        """
        file = "" if why in NO_FAULT_OF_RECORDING else self._file
        key = (UNJUDGED, file, str(why))
        self._count(key)
        if self._needs_example(key):
            self.counts.examples[key].append(RecordedExample(self._file, number, why_unjudged=why))

    def judge(self, exchange: RecordedExchange) -> None:
        """Judge a recorded request with its response, and count its deviations and the parts that are not recorded.

        Now and then keys beyond a limit are dropped from the counts, so that these do not grow with the traffic.
        """
        most_keys_of_all = _MOST_KEYS * len(requirements())
        if len(self.counts.examples) > most_keys_of_all:
            self.counts = merged_counts(self.counts, RecordedCounts())  # this drops the keys beyond the limit
        response = exchange.response
        assert response is not None
        exchange = self._unknown_unless_token_was_valid(exchange, response)
        self.counts.times[EXCHANGES] += 1
        if response.cut:
            self.count_unjudged(NO_BODY, exchange.number)
        for missing_part in exchange.missing_parts:
            self.count_unjudged(missing_part, exchange.number)
        if exchange.started:
            self.counts.since = min(self.counts.since, exchange.started)
            self.counts.until = max(self.counts.until, exchange.started)
        for id, findings in self._forms.deviations(exchange, response):
            self.counts.times[BROKEN, id] += 1
            for finding in findings:
                self._count_deviation(_key_of_deviation(id, finding), finding, exchange, response)

    def _count_deviation(self, key: CountKey, finding: Finding, exchange: Exchange, response: Response) -> None:
        """Count a deviation, and keep the request with its answer as an example if fewer than three are kept.

        Deviations are counted by `key`: those with the same key are shown as one in a report.
        """
        self._count(key)
        if self._needs_example(key):  # checked first, because redacting an exchange for a report takes time
            shown_deviation = self._shown_deviation(finding, exchange, response)
            self.counts.examples[key].append(RecordedExample(self._file, exchange.number, deviation=shown_deviation))

    def _unknown_unless_token_was_valid(self, exchange: RecordedExchange, response: Response) -> RecordedExchange:
        """The exchange itself if its token was valid; else a copy whose credential is "unknown".

        A recording does not say whether a token was valid. A token counts as valid from the first answer on that had
        data, such as an account. A 200 without data is not enough, because a service may answer a wrong token with a
        200, too. The file is read once, so requests before that answer stay "unknown".
        """
        # Only hashes of tokens are stored, so that no token stays in memory.
        token = hash(headers_by_name(exchange.request.headers).get("authorization"))
        is_declined = has_success_other_than_true(exchange, response)
        if not is_declined and grants_something(exchange, response):
            self._granted_tokens.add(token)
        if token not in self._granted_tokens:  # perhaps the token is wrong, so the answer cannot be judged as a whole
            return replace(exchange, credential=UNKNOWN, valid=False, missing_parts=(*exchange.missing_parts, NO_TOKEN))
        if is_declined:  # Success is not "true", so perhaps the token was not valid for this request
            return replace(exchange, credential=UNKNOWN, valid=False)
        return exchange

    def _count(self, key: CountKey) -> None:
        """Add 1 to the count of a key, such as ("unjudged", file, reason). A new key gets an empty list of examples.

        An example is an entry of the file that a person may look up.
        """
        self.counts.times[key] += 1
        self.counts.examples.setdefault(key, [])

    def _needs_example(self, key: CountKey) -> bool:
        """True if fewer than three examples of what a key counts are kept, because the HTML report links to three."""
        return len(self.counts.examples[key]) < _MOST_EXAMPLES

    def _shown_deviation(self, finding: Finding, exchange: Exchange, response: Response) -> ShownDeviation:
        """A deviation and its exchange, redacted so that a report may show them.

        Values that the request names, such as its key, are also redacted in the answer. In the request, the headers are
        replaced by the name of the file and the number of the entry, where a person can look them up.
        """
        display = Display(_secrets_of(exchange, self._profile))
        exchange_in_outline = shown_in_outline(exchange)  # without headers and bodies, which are added below
        request = ShownRequest(
            method=exchange_in_outline.request.method,
            url=exchange_in_outline.request.url,
            headers=(("(recorded)", f"entry {exchange.number:,} of {self._file}"),),
            body=display.shown_body(exchange.request.body),
        )
        shown_exchange = replace(exchange_in_outline, request=request, response=shown_response(response, display))
        # The key under which it is counted has the requirement. Without that, equal findings of two requirements are
        # equal.
        finding_without_requirement = replace(shown_finding(finding, display), requirement="")
        return ShownDeviation(finding_without_requirement, shown_exchange)


def _key_of_deviation(requirement_id: str, finding: Finding) -> CountKey:
    """The key under which a deviation is counted: DEVIATION, requirement, code of the finding, parameters, pointers.

    A report shows deviations with the same key as one. So what may differ in each answer is left out of the key: the
    index in a JSON pointer (`/data/7/name` becomes `/data/*/name`), and the values of a parameter that is a sentence
    ("{names} and {n} more"). A parameter that is a word or a number, such as a status, is a part of the key.
    """
    parameters = []
    for _, parameter in finding.parameters:
        parameters.append(parameter.template if isinstance(parameter, Message) else str(parameter))
    pointers = [_ARRAY_INDEX.sub("/*", pointer) for pointer in finding.pointers]
    return DEVIATION, requirement_id, finding.code, *parameters, *pointers


def _secrets_of(exchange: Exchange, profile: Profile) -> Secrets:
    """Values that no report may show of a recorded exchange: secrets of the profile, and values of the request.

    The latter are the parts of its credentials, the strings in its body, and the path parameter.
    """
    secrets = listed_secrets(profile)
    request = exchange.request
    for name, value in request.headers:
        if re.search(SECRET_HEADER, name):
            secrets.learn_secret("credential", *_CREDENTIAL_PIECE.findall(value))
    for path, value in leaves_of(read_json(request.body).value):  # each value that holds no other
        is_key_type = path == ("pixKeyType",)  # a documented word such as EMAIL, which is no secret
        if isinstance(value, str) and not is_key_type:
            secrets.learn(IDENTIFIER, value)
    if operations()[exchange.operation].path_parameter:
        secrets.learn(IDENTIFIER, request.last_segment)
    return secrets
