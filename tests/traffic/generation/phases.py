"""Which cases an operation gets in each phase, and what is sent of them.

Valid requests are sent where a success is harmless: reads of the profile's accounts, registrations of its keys.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any

from environments.door.client import NOTHING, Client
from environments.door.liveness import GONE, UnreachableError
from environments.profiles.profile import Profile
from spec.exchange import Exchange
from spec.interface import READS, operations
from tests.harness.reproduction import Robustness
from tests.traffic.case import HARMLESS, Case, as_bytes, form_of, places_of
from tests.traffic.classes import coverage
from tests.traffic.extras import registration
from tests.traffic.generation.collecting import Findings
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.reach import PREREQUISITES, permits
from tests.traffic.registrar import Registrar
from tests.traffic.registrations import ROUNDS, given

EXAMPLES, COVERAGE, FUZZING = "examples", "coverage", "fuzzing"


def items() -> Iterator[tuple[str, str]]:
    """Every operation with each phase that it has. The list of accounts takes no input but a query."""
    for operation in operations():
        for phase in (EXAMPLES, COVERAGE, FUZZING):
            if phase != EXAMPLES or operation in HARMLESS:
                yield operation, phase


@dataclass
class Generation:
    """Sends the generated traffic of a run."""

    client: Client
    profile: Profile
    registrar: Registrar | None
    settings: GenerationSettings
    robustness: Robustness
    surveyed: Collection[str] = ()
    """The operations that the targeted tests send malformed requests to."""

    def run(self, operation: str, phase: str) -> Findings:
        """Send one phase of one operation, until a budget of the profile is spent."""
        findings = Findings(self.client.door, self.robustness)
        try:
            if phase == EXAMPLES:
                self._send_valid(operation, findings)
            elif phase == COVERAGE:
                for case in coverage(operation, self.profile, surveyed=operation in self.surveyed):
                    self._send(case, findings)
            else:
                self._search(operation, findings)
        except UnreachableError as error:  # what was learned until then is judged
            findings.cut = GONE.format(error)
        return findings

    def _send(self, case: Case, findings: Findings) -> set[Any]:
        if findings.cut:
            return set()
        exchange = case.send(self.client)
        if self.registrar is not None:
            self.registrar.undo_invalid(exchange)
        return findings.take(case, exchange)

    def _send_valid(self, operation: str, findings: Findings) -> None:
        most = _most_valid(operation, self.profile, self.settings, surveyed=operation in self.surveyed)
        if operation in READS:
            for case in _valid_reads(operation, self.profile, most):
                self._send(case, findings)
        elif self.registrar is not None:
            for case, exchange in _valid_registrations(self.registrar, self.profile, most):
                findings.take(case, exchange)
                if findings.cut:
                    return

    def _search(self, operation: str, findings: Findings) -> None:
        from hypothesis import strategies as st

        from tests.traffic.generation import drawn, schema
        from tests.traffic.generation.search import Search

        places = places_of(operation, self.profile)
        form = form_of(operation, self.profile)
        strategies = [schema.fuzzing_cases(operation, places if form else (), form)]
        if operations()[operation].path_parameter:
            strategies.append(drawn.path_parameters(operation, as_bytes(form) if form else None))
        if form:
            strategies += [drawn.bodies(operation, places, form)] * 2
        else:
            strategies.append(drawn.queries(operation, places))
        send = partial(self._send, findings=findings)
        search = Search(f"{operation}.{FUZZING}", st.one_of(strategies), send, self.settings)
        search.run()
        findings.kept = search.kept


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
    keys = given(profile.pix_keys)
    for index, key in enumerate(islice(cycle(keys), most)):
        spelled = SPELLINGS[(index // len(keys)) % len(SPELLINGS)]
        body = spelled(registration(key, registrar.account))
        case = Case("registerPixKey", "", "valid", registrar.account, body, valid=True)
        before = len(registrar.found.deletions)
        exchange = registrar.register(key, json=NOTHING, body=body)
        registrar.undo(exchange, key)
        yield case, exchange
        for deletion in registrar.found.deletions[before:]:
            yield Case("deletePixKey", "", "valid", registrar.account, deletion.request.body, valid=True), deletion


def most_generated(
    profile: Profile, settings: GenerationSettings, phases: Collection[tuple[str, str]], surveyed: Collection[str]
) -> Counter[str]:
    """The requests that `Generation` sends at most in these phases: its cases, and what is drawn, kept and shrunk. Each
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
    from tests.traffic.generation.search import SHRINKING_SENDS

    return 2 * settings.drawn + SHRINKING_SENDS


def _most_valid(operation: str, profile: Profile, settings: GenerationSettings, *, surveyed: bool) -> int:
    """How many valid requests are sent. The targeted tests register the keys of the profile, too."""
    if operation in READS:
        return settings.reads
    targeted = ROUNDS * len(given(profile.pix_keys)) if surveyed else 0
    return max(settings.drawn, settings.registrations - targeted)
