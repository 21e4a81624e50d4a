"""Which cases an operation gets in each phase, and what is sent of them.

Valid requests are sent where a success is harmless: reads of the profile's accounts, registrations of its keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import cycle, islice
from typing import Any

from environments.door.client import NOTHING, Client
from environments.profiles.profile import Profile
from spec.exchange import Exchange
from spec.interface import READS, operations
from tests.harness.reproduction import Reproduction
from tests.traffic.case import HARMLESS, Case, bounded, form_of, places_of
from tests.traffic.classes import coverage, in_turns
from tests.traffic.collecting import Findings
from tests.traffic.extras import registration
from tests.traffic.reach import permits
from tests.traffic.registrar import Registrar
from tests.traffic.registration import ROUNDS
from tests.traffic.settings import GenerationSettings
from tests.traffic.stateful import Step, keys_to_come_and_go
from tests.traffic.together import Together
from tests.traffic.unusual_registrations import given

EXAMPLES, COVERAGE, FUZZING = "examples", "coverage", "fuzzing"
REGISTER = "registerPixKey"


def items() -> Iterator[tuple[str, str]]:
    """Every operation with each phase that it has. The list of accounts takes no input but a query."""
    for operation in operations():
        for phase in (EXAMPLES, COVERAGE, FUZZING):
            if phase != EXAMPLES or operation in HARMLESS:
                yield operation, phase


class Generation:
    """The generated traffic of a run: cases are drawn before the first request, sent together, and judged in the order in
    which they were drawn. `surveyed` are the operations that the targeted tests send malformed requests to.

    `sent` has the cases and their answers by operation and phase, `steps` those of the sequences.
    """

    def __init__(
        self,
        client: Client,
        profile: Profile,
        settings: GenerationSettings,
        reproduction: Reproduction,
        surveyed: Collection[str] = (),
    ) -> None:
        self._client, self._profile, self._settings, self._surveyed = client, profile, settings, surveyed
        self._reproduction = reproduction
        self._cases: dict[tuple[str, str], list[Case]] = {}
        self.sent: dict[tuple[str, str], list[tuple[Case, Exchange]]] = {}
        self.steps: list[Step] = []

    def draw(self, operation: str, phase: str) -> None:
        """Draw the cases of a phase."""
        self._cases[operation, phase] = list(self._drawn(operation, phase))

    def draw_steps(self) -> None:
        """Draw the steps of the sequences."""
        from tests.traffic.drawing import draw_steps

        self.steps = draw_steps(self._settings, len(keys_to_come_and_go(self._profile)))

    def register(self) -> None:
        """Register the keys of the profile again and again, one after the other, as far as a budget permits it."""
        if (
            (REGISTER, EXAMPLES) not in self._cases
            or not permits(self._profile, REGISTER)
            or not self._profile.accounts
        ):
            return
        registrar = Registrar(self._client.of_part(f"{REGISTER}.{EXAMPLES}"), self._profile)
        found = self.sent[REGISTER, EXAMPLES] = []
        for case, exchange in _valid_registrations(registrar, self._profile, self._most_valid(REGISTER)):
            found.append((case, exchange))
            if not exchange.number:
                break

    def send(self, together: Together) -> None:
        """Send all that was drawn, and delete the keys that invalid requests registered after all."""
        phases = {id(case): name for name, cases in self._cases.items() for case in cases}
        cases = in_turns(case for mine in self._cases.values() for case in mine)
        clients = {name: self._client.of_part(".".join(name)) for name in self._cases}
        sends = [partial(case.send, clients[phases[id(case)]]) for case in cases]
        answers = {id(case): seen for case, seen in zip(cases, together.send_all(sends), strict=True)}
        for name, mine in self._cases.items():
            self.sent.setdefault(name, [(case, answers[id(case)]) for case in mine])
        if self._profile.accounts:
            self._clean_up()

    def _clean_up(self) -> None:
        for (operation, phase), sent in self.sent.items():
            registrar = Registrar(self._client.of_part(f"{operation}.{phase}"), self._profile)
            for exchange in (seen for _, seen in sent if seen.operation == REGISTER and not seen.valid):
                registrar.undo_invalid(exchange)

    def judge(self, operation: str, phase: str) -> Findings:
        """Judge the answers to one phase of one operation."""
        findings = Findings(self._client.door, self._reproduction, f"{operation}.{phase}")
        for case, exchange in self.sent.get((operation, phase), ()):
            findings.take(case, exchange)
        return findings

    def _drawn(self, operation: str, phase: str) -> Iterable[Case]:
        if phase == COVERAGE:
            return coverage(operation, self._profile, surveyed=operation in self._surveyed)
        if phase == FUZZING:
            from tests.traffic.drawing import draw_cases

            places, form = places_of(operation, self._profile), form_of(operation, self._profile)
            return bounded(draw_cases(operation, places, form, self._settings), self._profile)
        return _valid_reads(operation, self._profile, self._most_valid(operation)) if operation in READS else ()

    def _most_valid(self, operation: str) -> int:
        """How many valid requests are sent. The targeted tests register the keys of the profile, too."""
        settings = self._settings
        if operation in READS:
            return settings.reads
        targeted = ROUNDS * len(given(self._profile.pix_keys)) if operation in self._surveyed else 0
        return max(settings.drawn, settings.registrations - targeted)


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
