"""Generated traffic: the requests of each operation, drawn before the first one is sent, and judged by the rules.

Three sorts: valid reads, as their success is harmless; each class of invalid requests; and what Schemathesis draws.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import chain, cycle, islice

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.exchange import Exchange
from spec.interface import READS, operations
from spec.reproduction import Reproduction
from tests.traffic.case import Case, bounded
from tests.traffic.collecting import Findings
from tests.traffic.invalid import in_turns, invalid_requests
from tests.traffic.settings import GenerationSettings
from tests.traffic.together import Together


class Generation:
    """The generated traffic of a run. `observed` are the operations that the targeted tests send invalid requests to."""

    def __init__(
        self,
        client: Client,
        profile: Profile,
        settings: GenerationSettings,
        reproduction: Reproduction,
        observed: Collection[str] = (),
    ) -> None:
        self._client, self._profile, self._settings, self._observed = client, profile, settings, observed
        self._reproduction = reproduction
        self._cases: dict[str, list[Case]] = {}
        self._sent: list[tuple[Case, Exchange]] = []

    def draw(self, operation: str) -> None:
        """Draw the requests to an operation. CPython 3.11 fails where two threads parse Python at once (SystemError: AST
        constructor recursion depth mismatch), and Schemathesis does: so before anything is sent from several."""
        from tests.traffic.drawing import draw_cases

        observed = False if operation in self._observed else None
        self._cases[operation] = [
            *(_valid_reads(operation, self._profile, self._settings.reads) if operation in READS else ()),
            *invalid_requests(operation, self._profile, observed=observed),
            *bounded(draw_cases(operation, self._profile, self._settings), self._profile),
        ]

    def send(self, together: Together) -> None:
        """Send all that was drawn."""
        cases = in_turns(chain.from_iterable(self._cases.values()))
        sends = [partial(case.send, self._client.of_part(case.operation)) for case in cases]
        self._sent = list(zip(cases, together.send_all(sends), strict=True))

    def judge(self, operation: str) -> Findings:
        """Judge the answers to one operation."""
        findings = Findings(self._client.door, self._reproduction, operation)
        for case, exchange in self._sent:
            if case.operation == operation:
                findings.take(case, exchange)
        return findings


def _valid_reads(operation: str, profile: Profile, most: int) -> Iterator[Case]:
    """Reads of the profile's accounts in turn."""
    accounts = profile.accounts if operations()[operation].path_parameter else (None,)
    for account in islice(cycle(accounts), most):
        yield Case(operation, "", "valid", account, valid=True)
