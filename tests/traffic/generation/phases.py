"""Which cases an operation gets in each phase, and what is sent of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from environments.door.client import Client
from environments.door.door import GONE, UnreachableError
from environments.profiles.profile import Profile
from spec.interface import operations
from tests.traffic import invalid
from tests.traffic.case import Case, as_bytes, form_of, synthetic_text
from tests.traffic.generation.collecting import Findings
from tests.traffic.generation.positive import READ, REGISTERED, good_reads, good_registrations
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.registrar import Registrar

EXAMPLES, COVERAGE, FUZZING = "examples", "coverage", "fuzzing"
POSITIVE = (REGISTERED, *READ)
"""Operations whose success is harmless."""
_HARDEST = {
    "registerPixKey": "pixKey", "deletePixKey": "pixKey", "createPix": "message",
    "transferExternal": "to", "transferInternal": "description", "transferP2p": "description",
}  # fmt: skip
"""The member that gets the texts that are hard to hold."""

_OF_EVERY_CREDENTIAL = (REGISTERED, "listAccounts")
"""One that writes and one that reads: a service reads the header in one place, or in one for each."""


def items() -> Iterator[tuple[str, str]]:
    """Every operation with each phase that it has. The list of accounts takes no input but a query."""
    for operation in operations():
        for phase in (EXAMPLES, COVERAGE, FUZZING):
            if phase != EXAMPLES or operation in POSITIVE:
                yield operation, phase


@dataclass
class Generation:
    """Sends the generated traffic of a run."""

    client: Client
    profile: Profile
    registrar: Registrar | None
    settings: GenerationSettings

    def run(self, operation: str, phase: str) -> Findings:
        """Send one phase of one operation, until a budget of the profile is spent."""
        findings = Findings(self.client.door)
        try:
            self._run(operation, phase, findings)
        except UnreachableError as error:  # what was learned until then is judged
            findings.cut = GONE.format(error)
        return findings

    def _run(self, operation: str, phase: str, findings: Findings) -> None:
        if phase == EXAMPLES:
            self._good(operation, findings)
        elif phase == COVERAGE:
            for case in self.cases_of(operation):
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
            self.registrar.settle_mistake(exchange)
        return findings.take(case, exchange)

    def _good(self, operation: str, findings: Findings) -> None:
        if operation in READ:
            for case in good_reads(operation, self.profile, self.settings.examples):
                self._send(case, findings)
        elif self.registrar is not None:
            for case, exchange in good_registrations(self.registrar, self.profile, self.settings.examples):
                findings.take(case, exchange)
                if findings.cut:
                    return

    def cases_of(self, operation: str) -> Iterator[Case]:
        from tests.traffic.generation.schema import coverage_cases

        place = next(iter(self._places(operation)), None)
        form = form_of(operation, self.profile)
        body = as_bytes(form) if form else None
        yield from invalid.query_cases(operation, place, body)
        if operations()[operation].argument:
            names = invalid.ARGUMENTS if operation == "executePix" else invalid.EVERYWHERE
            yield from invalid.argument_cases(operation, body, names)
        credentials = invalid.CREDENTIALS if operation in _OF_EVERY_CREDENTIAL else invalid.COMMON_CREDENTIALS
        yield from invalid.credential_cases(operation, place, body, credentials)
        if form:
            yield from self._body_classes(operation, place, form)
        yield from coverage_cases(operation, place if form else None, form)

    def _body_classes(self, operation: str, place: str | None, form: Mapping[str, Any]) -> Iterator[Case]:
        registers, deletes = operation == REGISTERED, operation == "deletePixKey"
        yield from invalid.text_cases(operation, place, invalid.TEXTS if registers else invalid.ANYWHERE)
        yield from invalid.missing_cases(operation, place, form)
        yield from invalid.value_cases(operation, place, form)
        own = self.profile.accounts[0] if deletes and self.profile.accounts else place
        if own != place:
            yield from invalid.text_cases(operation, own, invalid.UNREADABLE)
        texts = invalid.STRINGS if registers or deletes else invalid.HARDEST
        yield from invalid.string_cases(operation, own, form, _HARDEST[operation], texts)
        for name in (name for name, good in form.items() if isinstance(good, str) and name != _HARDEST[operation]):
            yield from invalid.string_cases(operation, place, form, name, invalid.OVERFLOWING)
        yield from invalid.shape_cases(operation, own, form)
        if registers:
            yield from invalid.kind_cases(operation, place, form)
        types = tuple(invalid.CONTENT_TYPES) if registers else invalid.COMMON_TYPES
        yield from invalid.content_type_cases(operation, place, as_bytes(form), types)

    def _search(self, operation: str, findings: Findings) -> None:
        from hypothesis import strategies as st

        from tests.traffic.generation import drawn, schema
        from tests.traffic.generation.search import Search

        places = self._places(operation)
        form = form_of(operation, self.profile)
        strategies = [schema.fuzzing_cases(operation, places if form else (), form)]
        if operations()[operation].argument:
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

    def _places(self, operation: str) -> list[str]:
        """Path arguments that a mistaken request may go to: where it can harm nothing."""
        if operations()[operation].argument is None:
            return []
        own = list(self.profile.accounts[:1]) if operation in POSITIVE else []
        return [*own, synthetic_text("account")]
