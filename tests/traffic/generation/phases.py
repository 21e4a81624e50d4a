"""Which cases an operation gets in each phase, and what is sent of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from environments.door.client import Client
from environments.door.liveness import GONE, UnreachableError
from environments.profiles.profile import Profile
from spec.interface import READS, operations
from tests.harness.reproduction import Robustness
from tests.traffic.case import HARMLESS, Case, as_bytes, form_of, places_of
from tests.traffic.generation.collecting import Findings
from tests.traffic.generation.coverage import coverage
from tests.traffic.generation.positive import valid_reads, valid_registrations
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.reach import PREREQUISITES, permits
from tests.traffic.registrar import Registrar

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
    robustness: Robustness = field(default_factory=Robustness)

    def run(self, operation: str, phase: str) -> Findings:
        """Send one phase of one operation, until a budget of the profile is spent."""
        findings = Findings(self.client.door, self.robustness)
        try:
            self._run(operation, phase, findings)
        except UnreachableError as error:  # what was learned until then is judged
            findings.cut = GONE.format(error)
        return findings

    def _run(self, operation: str, phase: str, findings: Findings) -> None:
        if phase == EXAMPLES:
            self._send_valid(operation, findings)
        elif phase == COVERAGE:
            for case in coverage(operation, self.profile):
                if findings.cut:
                    break
                self._send(case, findings)
        else:
            self._search(operation, findings)

    def _send(self, case: Case, findings: Findings) -> set[Any]:
        if findings.cut:
            return set()
        exchange = case.send(self.client)
        if self.registrar is not None:
            self.registrar.undo_invalid(exchange)
        return findings.take(case, exchange)

    def _send_valid(self, operation: str, findings: Findings) -> None:
        if operation in READS:
            for case in valid_reads(operation, self.profile, self.settings.examples):
                self._send(case, findings)
        elif self.registrar is not None:
            for case, exchange in valid_registrations(self.registrar, self.profile, self.settings.examples):
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
            strategies.append(drawn.arguments(operation, as_bytes(form) if form else None))
        if form:
            strategies += [drawn.bodies(operation, places, form)] * 2
        else:
            strategies.append(drawn.queries(operation, places))
        name = f"{operation}.{FUZZING}"
        send = lambda case: self._send(case, findings)  # noqa: E731 - a method cannot be given the findings
        search = Search(name, st.one_of(strategies), send, self.settings)
        search.run()
        findings.kept = search.kept


def most_generated(profile: Profile, settings: GenerationSettings, phases: Collection[tuple[str, str]]) -> Counter[str]:
    """The requests that `Generation` sends at most in these phases: its cases, and what is drawn, kept and shrunk. Each
    registration may need a look at the list and a deletion."""
    counts: Counter[str] = Counter()
    for operation, phase in phases:
        if "fuzz" in profile.allow and permits(profile, operation):
            counts[operation] += _most(operation, phase, profile, settings)
    for cleaning in PREREQUISITES["registerPixKey"]:
        counts[cleaning] += counts["registerPixKey"] * permits(profile, cleaning)
    return +counts


def _most(operation: str, phase: str, profile: Profile, settings: GenerationSettings) -> int:
    if phase == EXAMPLES:
        return settings.examples
    if phase == COVERAGE:
        return sum(1 for _ in coverage(operation, profile))
    from tests.traffic.generation.search import SHRINKING_SENDS

    return 2 * settings.drawn + SHRINKING_SENDS
