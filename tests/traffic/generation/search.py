"""Runs Hypothesis over the cases of one item: what failed before first, then new ones, then smaller ones.

Every case is sent once, whatever it shows; only then a second pass lets Hypothesis shrink what was found, within a
bound. It is answered from memory where it asks for a request that was sent already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from unittest import SkipTest

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies import SearchStrategy

from reports.writing import make_writable
from tests.traffic.case import Case
from tests.traffic.generation.collecting import Sign
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.generation.tuning import tune

PROFILE = "conformance"
SHRINKING_SENDS = 40
"""Requests that one item spends on making its findings smaller."""
MOST_SHRUNK = 8


class Shows(Exception):  # noqa: N818 - how a case says to Hypothesis that it is interesting
    """The case shows a finding. Hypothesis tells one from another by the class: there is one for each finding."""


@dataclass
class Search:
    """Draws the cases of one item, and makes smaller what they show. The same seed draws the same cases, whatever the
    answers are."""

    name: str
    strategy: SearchStrategy[Case]
    settings: GenerationSettings
    _send: Callable[[Case], set[Sign]] = field(init=False)
    _known: dict[Case, set[Sign]] = field(default_factory=dict)
    _room: int = 0
    _classes: dict[Sign, type[Shows]] = field(default_factory=dict)

    def draw(self) -> list[Case]:
        """The cases; nothing is sent."""
        register_profile()
        drawn: dict[Case, None] = {}
        self._pass(lambda case: drawn.update({case: None}), (Phase.generate,), None)
        return list(drawn)

    def judge(self, drawn: Iterable[Case], send: Callable[[Case], set[Sign]]) -> set[Sign]:
        """Send what failed in earlier runs, then what was drawn, and then smaller cases of what these show. `send` sends
        a case and gives what it shows. What only the kept examples of earlier runs showed: the seed does not lead to it.
        """
        register_profile()
        self._send = send
        folder = make_writable(self.settings.database) if self.settings.database else None
        store = DirectoryBasedExampleDatabase(folder) if folder else None
        if folder is not None and self.settings.replay:
            self._pass(self._sent_and_shown, (Phase.reuse,), store)
        new = {sign for case in drawn for sign in self._sent(case)}
        found = {sign for signs in self._known.values() for sign in signs}
        self._room = SHRINKING_SENDS
        for sign in sorted(found, key=repr)[:MOST_SHRUNK]:
            self._shrink(sign, store)
        return {sign for signs in self._known.values() for sign in signs} - new

    def _sent(self, case: Case) -> set[Sign]:
        if case not in self._known:
            self._known[case] = self._send(case)
        return self._known[case]

    def _sent_and_shown(self, case: Case) -> None:
        """A case that still fails stays in the database."""
        for sign in sorted(self._sent(case), key=repr):
            raise self._shows(sign)

    def _shows(self, sign: Sign) -> Shows:
        return self._classes.setdefault(sign, type("Shows", (Shows,), {}))()

    def _shrink(self, sign: Sign, store: ExampleDatabase | None) -> None:
        def shows(case: Case) -> None:
            if case not in self._known and self._room:
                self._room -= 1
                self._sent(case)
            if sign in self._known.get(case, ()):
                raise self._shows(sign)

        self._pass(shows, (Phase.generate, Phase.shrink), store)

    def _pass(self, body: Callable[[Case], None], phases: tuple[Phase, ...], store: ExampleDatabase | None) -> None:
        most = self.settings.drawn

        @settings(settings.get_profile(PROFILE), phases=phases, database=store, max_examples=most)
        @hypothesis.seed(derived(self.settings.seed, self.name))
        @given(self.strategy)
        def drawn(case: Case) -> None:
            body(case)

        drawn._hypothesis_internal_database_key = self.name.encode()  # type: ignore[attr-defined]
        with suppress(
            Shows, BaseExceptionGroup, Flaky, SkipTest
        ):  # what was found is known; nothing kept, nothing to try
            drawn()


def derived(seed: int, name: str) -> int:
    """The seed of one item, from that of the run."""
    return int.from_bytes(sha256(f"{seed} {name}".encode()).digest()[:8])


def register_profile() -> None:
    """A profile of our own, in place of the `ci` profile, which always tries the same."""
    tune()
    if hasattr(providers, "_get_local_constants"):  # else which modules are loaded would decide what a seed gives
        providers._get_local_constants = Constants
    settings.register_profile(
        PROFILE,
        settings.get_profile("default"),
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=True,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
