"""What a test found, and what one process of a run sent: redacted, and sent as plain data from a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reports.generated import Generated
from reports.grants import Grants
from reports.notes import Note, NoteKind
from reports.verdicts import RequirementResult, Verdict

Evidence = dict[str, Any]
"""An exchange as reports/evidence.py gives it."""
Plain = dict[str, Any]
"""Nothing but what xdist can send: it refuses subclasses of `str`, and data classes."""


@dataclass(frozen=True)
class Observation:
    """Something that the interface document does not show, as the service does it. `first`: it is listed first."""

    id: str
    value: str
    exchanges: tuple[int, ...]
    first: bool = False


@dataclass(frozen=True)
class FoundByTest:
    """`results`: the first one is that of the test's own requirement. `answers_for` are the requirements that the test
    judged itself. `error` says what failed in the suite."""

    results: tuple[RequirementResult, ...]
    answers_for: tuple[str, ...]
    observations: tuple[Observation, ...] = ()
    exchanges: tuple[Evidence, ...] = ()
    error: str = ""

    def plain(self) -> Plain:
        """What `of` takes."""
        results = [{**vars(result), "verdict": result.verdict.value} for result in self.results]
        return {**vars(self), "results": results, "observations": [vars(seen) for seen in self.observations]}

    @classmethod
    def of(cls, plain: Plain) -> FoundByTest:
        """The findings from plain data."""
        results = [RequirementResult(**{**one, "verdict": Verdict(one["verdict"])}) for one in plain["results"]]
        observations = [Observation(**seen) for seen in plain["observations"]]
        return cls(**{**plain, "results": tuple(results), "observations": tuple(observations)})


@dataclass(frozen=True)
class LeftKey:
    """A key that the run registered and did not clean up. `of_the_profile`: the profile names it."""

    what: str
    why: str
    of_the_profile: bool
    exchanges: tuple[int, ...]

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.exchanges))
        return f"{self.what}: {self.why} (exchange{'s' * (len(self.exchanges) != 1)} {numbers})"


@dataclass(frozen=True)
class Handover:
    """`not_executed` are lines about prepared transfers, `unsent` the operations that were not sent every request, by
    the reason."""

    requests: int = 0
    executions: int = 0
    unreachable: str = ""
    notes: tuple[Note, ...] = ()
    not_cleaned_up: tuple[LeftKey, ...] = ()
    not_executed: tuple[str, ...] = ()
    generated: Generated = field(default_factory=Generated)
    grants: Grants = field(default_factory=Grants)
    unsent: Mapping[str, list[str]] = field(default_factory=dict)
    exchanges: tuple[Evidence, ...] = ()

    def plain(self) -> Plain:
        """What `of` takes."""
        return {
            **vars(self),
            "notes": [(note.kind.value, note.text) for note in self.notes],
            "not_cleaned_up": [vars(key) for key in self.not_cleaned_up],
            "generated": self.generated.data(),
            "grants": self.grants.data(),
        }

    @classmethod
    def of(cls, plain: Plain) -> Handover:
        """The hand-over from plain data."""
        typed = {
            "notes": tuple(Note(NoteKind(kind), text) for kind, text in plain["notes"]),
            "not_cleaned_up": tuple(LeftKey(**key) for key in plain["not_cleaned_up"]),
            "generated": Generated.of(plain["generated"]),
            "grants": Grants.of(plain["grants"]),
        }
        return cls(**{**plain, **typed})
