"""How generated traffic was answered, over all processes of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reports.wording import counted


@dataclass
class Generated:
    """For each operation how many generated requests were accepted, and how the others were refused.

    `harmless` are the operations for which valid requests were generated; `cut` says what was left out.
    """

    accepted: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    harmless: set[str] = field(default_factory=set)
    cut: list[str] = field(default_factory=list)

    def take(self, operation: str, accepted: int, refused: Mapping[str, int], *, harmless: bool) -> None:
        """Add the answers of one test."""
        self.accepted[operation] += accepted
        self.refused.setdefault(operation, Counter()).update(refused)
        if harmless:
            self.harmless.add(operation)

    def data(self) -> dict[str, Any]:
        """For conformance.json."""
        return {
            "accepted": dict(self.accepted),
            "refused": {operation: dict(tally) for operation, tally in self.refused.items()},
            "harmless": sorted(self.harmless),
            "cut": self.cut,
        }

    def add(self, other: Generated) -> None:
        """What another process sent."""
        for operation, refused in other.refused.items():
            self.take(operation, other.accepted[operation], refused, harmless=operation in other.harmless)
        self.cut += other.cut

    def notes(self, granted: Collection[str]) -> Iterator[str]:
        """The operations that refused every generated request, in one line; none where nothing was granted at all.

        Where no valid request can be generated, it is enough that another test sent one.
        """
        refusing = [
            operation
            for operation, tally in self.refused.items()
            if tally.total() and not self.accepted[operation]
            if operation in self.harmless or operation not in granted
        ]
        if refusing and granted:
            together = sum((self.refused[operation] for operation in refusing), Counter())
            shown = ", ".join(f"{summary} {counted(count, 'time')}" for summary, count in together.most_common(3))
            tested = "it" if len(refusing) == 1 else "them"
            yield (
                f"{', '.join(refusing)}: no generated request was ever accepted ({shown}): generated traffic did not "
                f"test {tested}"
            )
