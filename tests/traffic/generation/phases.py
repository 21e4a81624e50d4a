"""Which cases an operation gets in each phase, and what is sent of them.

Valid requests are sent where a success is harmless: reads of the profile's accounts, registrations of its keys.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle, islice
from threading import RLock
from typing import Any

from environments.door.client import NOTHING, Client
from environments.door.liveness import GONE, UnreachableError
from environments.profiles.profile import Profile
from spec.exchange import Exchange
from spec.interface import PREPARING, READS, operations
from tests.harness.lanes import Lanes, Part
from tests.harness.reproduction import Reproduction
from tests.traffic.case import HARMLESS, Case, bounded, form_of, places_of
from tests.traffic.classes import coverage
from tests.traffic.extras import registration
from tests.traffic.generation.collecting import Findings
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.generation.world import Step, keys_to_come_and_go
from tests.traffic.reach import PREREQUISITES, permits
from tests.traffic.registrar import Registrar
from tests.traffic.registrations import ROUNDS
from tests.traffic.unusual_registrations import given

EXAMPLES, COVERAGE, FUZZING = "examples", "coverage", "fuzzing"
REGISTER = "registerPixKey"


def items() -> Iterator[tuple[str, str]]:
    """Every operation with each phase that it has. The list of accounts takes no input but a query."""
    for operation in operations():
        for phase in (EXAMPLES, COVERAGE, FUZZING):
            if phase != EXAMPLES or operation in HARMLESS:
                yield operation, phase


@dataclass
class Batch:
    """The cases of one phase of an operation, each with the part of the traffic that sends it."""

    sent: list[tuple[Case, Part[Exchange]]]
    is_started: bool = False

    @property
    def parts(self) -> list[Part[Exchange]]:
        """What sends the cases."""
        return [part for _, part in self.sent]


class Generation:
    """Sends the generated traffic of a run: cases are drawn first, sent beside each other, and judged in the order in
    which they were drawn. `surveyed` are the operations that the targeted tests send malformed requests to."""

    def __init__(
        self,
        client: Client,
        profile: Profile,
        settings: GenerationSettings,
        reproduction: Reproduction,
        lanes: Lanes,
        surveyed: Collection[str] = (),
    ) -> None:
        self._client, self._profile, self._settings, self._surveyed = client, profile, settings, surveyed
        self._reproduction, self._lanes = reproduction, lanes
        self._batches: dict[str, Batch] = {}
        self._steps: list[Step] | None = None
        self._guard = RLock()
        self.register, self.before_transfers = Part(self._register), Part(lambda: None)
        self._registrar = cache(lambda part: Registrar(client.of_part(part), profile))  # it waits a few times in all

    def start(self, operation: str, phase: str) -> Batch:
        """Draw the cases, and have them sent."""
        with self._guard:
            batch = self.draw(operation, phase)
            if not batch.is_started:
                batch.is_started = True
                self._lanes.start(batch.parts)
            return batch

    def draw(self, operation: str, phase: str) -> Batch:
        """The cases, which are not sent yet."""
        name = f"{operation}.{phase}"
        with self._guard:
            if name not in self._batches:
                client = self._client.of_part(name)
                cases = () if self._client.door.ending.limit else self._cases(operation, phase)
                self._batches[name] = Batch([(case, Part(partial(case.send, client))) for case in cases])
            return self._batches[name]

    def draw_steps(self) -> list[Step]:
        """The steps of the sequences; none where the run has ended."""
        if self._client.door.ending.limit:
            return []
        from tests.traffic.generation.strategies import draw_steps

        with self._guard:  # Hypothesis draws in one thread at a time
            if self._steps is None:
                self._steps = draw_steps(self._settings, len(keys_to_come_and_go(self._profile)))
            return self._steps

    def run(self, operation: str, phase: str) -> Findings:
        """Send one phase of one operation, until a budget of the profile is spent, and judge the answers."""
        if operation in PREPARING:
            self.before_transfers()
        batch = self.start(operation, phase)
        findings = Findings(self._client.door, self._reproduction, f"{operation}.{phase}")
        try:
            if operation == REGISTER and phase == EXAMPLES:
                for case, exchange in self.register():
                    findings.take(case, exchange)
            else:
                for case, part in batch.sent:
                    self._take(case, part, findings)
        except UnreachableError as error:  # what was learned until then is judged
            findings.cut = GONE.format(error)
        findings.cut = findings.cut or self._client.door.ending.limit
        return findings

    def _cases(self, operation: str, phase: str) -> Iterable[Case]:
        if phase == COVERAGE:
            return coverage(operation, self._profile, surveyed=operation in self._surveyed)
        if phase == FUZZING:
            from tests.traffic.generation.strategies import draw_cases

            places, form = places_of(operation, self._profile), form_of(operation, self._profile)
            return bounded(draw_cases(operation, places, form, self._settings), self._profile)
        return _valid_reads(operation, self._profile, self._most_valid(operation)) if operation in READS else ()

    def _most_valid(self, operation: str) -> int:
        return _most_valid(operation, self._profile, self._settings, surveyed=operation in self._surveyed)

    def _register(self) -> list[tuple[Case, Exchange]]:
        """Register the keys of the profile, with the first request that a budget does not permit as the last."""
        if not permits(self._profile, REGISTER) or not self._profile.accounts:
            return []
        registrar = Registrar(self._client.of_part(f"{REGISTER}.{EXAMPLES}"), self._profile)
        found = []
        for case, exchange in _valid_registrations(registrar, self._profile, self._most_valid(REGISTER)):
            found.append((case, exchange))
            if not exchange.number:
                break
        return found

    def _take(self, case: Case, part: Part[Exchange], findings: Findings) -> None:
        """Judge an answer, and delete a key that an invalid request registered after all."""
        exchange = part()
        if case.operation == REGISTER and self._profile.accounts:
            self._registrar(findings.part).undo_invalid(exchange)
        findings.take(case, exchange)


Spelling = Callable[[Any], bytes]
SPELLINGS: tuple[Spelling, ...] = (
    lambda body: json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(),
    lambda body: json.dumps(dict(reversed(body.items())), indent=2).encode(),
    lambda body: re.sub(r'"([A-Za-z])', lambda found: f'"\\u{ord(found[1]):04x}', json.dumps(body)).encode(),
    lambda body: json.dumps(body).encode(),
)
"""The same JSON value as four texts (RFC 8259: white space, order of members, escapes of first letters). The last is the
one that the targeted tests send."""


def _valid_reads(operation: str, profile: Profile, most: int) -> Iterator[Case]:
    """Reads of the profile's accounts in turn."""
    accounts = profile.accounts if operations()[operation].path_parameter else (None,)
    for account in islice(cycle(accounts), most):
        yield Case(operation, "", "valid", account, valid=True)


def _valid_registrations(registrar: Registrar, profile: Profile, most: int) -> Iterator[tuple[Case, Exchange]]:
    """Register the profile's keys in turn, in every spelling of JSON, and delete each at once where that is known."""
    registrar.look_before_all()
    keys = registrar.that_come_and_go()
    for index, key in enumerate(islice(cycle(keys), most)):
        spelled = SPELLINGS[(index // len(keys)) % len(SPELLINGS)]
        body = spelled(registration(key, registrar.account))
        case = Case("registerPixKey", "", "valid", registrar.account, body, valid=True)
        before = len(registrar.found.deletions)
        exchange = registrar.register(key, json=NOTHING, body=body)
        registrar.undo(exchange)
        yield case, exchange
        for deletion in registrar.found.deletions[before:]:
            yield Case("deletePixKey", "", "valid", registrar.account, deletion.request.body, valid=True), deletion


def most_generated(
    profile: Profile, settings: GenerationSettings, phases: Collection[tuple[str, str]], surveyed: Collection[str]
) -> Counter[str]:
    """The requests that `Generation` sends at most in these phases: its cases, and what is drawn. Each
    registration may need a look at the list and a deletion."""
    counts: Counter[str] = Counter()
    for operation, phase in phases:
        if "fuzz" in profile.allow and permits(profile, operation):
            counts[operation] += _most(operation, phase, profile, settings, surveyed=operation in surveyed)
    for cleaning in PREREQUISITES["registerPixKey"]:
        counts[cleaning] += counts["registerPixKey"] * permits(profile, cleaning)
    return +counts


def _most(operation: str, phase: str, profile: Profile, settings: GenerationSettings, *, surveyed: bool) -> int:
    if phase == EXAMPLES:
        return _most_valid(operation, profile, settings, surveyed=surveyed)
    if phase == COVERAGE:
        return sum(1 for _ in coverage(operation, profile, surveyed=surveyed))
    return settings.drawn


def _most_valid(operation: str, profile: Profile, settings: GenerationSettings, *, surveyed: bool) -> int:
    """How many valid requests are sent. The targeted tests register the keys of the profile, too."""
    if operation in READS:
        return settings.reads
    targeted = ROUNDS * len(given(profile.pix_keys)) if surveyed else 0
    return max(settings.drawn, settings.registrations - targeted)
