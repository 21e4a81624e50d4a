"""Searches the cases of one item with Hypothesis: what failed before first, then new ones, then smaller ones.

Every case is sent once, whatever it shows; only then a second pass lets Hypothesis shrink what was found, within a
bound. It is answered from memory where it asks for a request that was sent already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from reports.writing import make_writable
from tests.traffic.case import Case, Form
from tests.traffic.generation.settings import GenerationSettings

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from tests.traffic.generation.collecting import Sign

FUZZING = "fuzzing"
SHRINKING_SENDS = 40
"""Requests that one item spends on making its findings smaller."""
MOST_SHRUNK = 8


class Shows(Exception):  # noqa: N818 - how a case says to Hypothesis that it is interesting
    """The case shows a finding. Hypothesis tells one from another by the class: there is one for each finding."""


@dataclass
class Search:
    """Draws the cases of an operation, and makes smaller what they show. The same seed draws the same cases, whatever the
    answers are. Hypothesis is imported where something is drawn."""

    operation: str
    places: Sequence[str]
    form: Form | None
    settings: GenerationSettings
    _send: Callable[[Case], set[Sign]] = field(init=False)
    _known: dict[Case, set[Sign]] = field(default_factory=dict)
    _room: int = 0
    _classes: dict[Sign, type[Shows]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the item."""
        return f"{self.operation}.{FUZZING}"

    def draw(self) -> list[Case]:
        """The cases; nothing is sent."""
        drawn: dict[Case, None] = {}
        self._pass(lambda case: drawn.update({case: None}), "generate")
        return list(drawn)

    def judge(self, drawn: Iterable[Case], send: Callable[[Case], set[Sign]]) -> set[Sign]:
        """Send what failed in earlier runs, then what was drawn, and then smaller cases of what these show. `send` sends
        a case and gives what it shows. What only the kept examples of earlier runs showed: the seed does not lead to it.
        """
        self._send = send
        folder = make_writable(self.settings.database) if self.settings.database else None
        if folder is not None and self.settings.replay and any(folder.iterdir()):
            self._pass(self._sent_and_shown, "reuse", kept=folder)
        new = {sign for case in drawn for sign in self._sent(case)}
        found = {sign for signs in self._known.values() for sign in signs}
        self._room = SHRINKING_SENDS
        for sign in sorted(found, key=repr)[:MOST_SHRUNK]:
            self._shrink(sign, folder)
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

    def _shrink(self, sign: Sign, kept: Path | None) -> None:
        def shows(case: Case) -> None:
            if case not in self._known and self._room:
                self._room -= 1
                self._sent(case)
            if sign in self._known.get(case, ()):
                raise self._shows(sign)

        self._pass(shows, "generate", "shrink", kept=kept)

    @cached_property
    def _strategy(self) -> SearchStrategy[Case]:
        from tests.traffic.generation.strategies import strategy_of

        return strategy_of(self.operation, self.places, self.form)

    def _pass(self, body: Callable[[Case], None], *phases: str, kept: Path | None = None) -> None:
        from hypothesis import Phase

        from tests.traffic.generation.strategies import try_each

        seed, most = derived(self.settings.seed, self.name), self.settings.drawn
        with suppress(Shows):
            chosen = (Phase[phase] for phase in phases)
            try_each(self._strategy, body, *chosen, name=self.name, seed=seed, most=most, kept=kept)


def derived(seed: int, name: str) -> int:
    """The seed of one item, from that of the run."""
    return int.from_bytes(sha256(f"{seed} {name}".encode()).digest()[:8])
