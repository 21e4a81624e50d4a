"""What a benchmark makes of its measurements: medians, ratios, and the table that the README quotes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

HEADER = ("requests", "wall", "CPU", "memory", "/ st run", "/ st run -w 4", "exit")


@dataclass(frozen=True)
class Measured:
    """One run: seconds of wall time and of CPU time, peak memory in megabytes, the requests that were answered, and the
    exit status."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    status: int = 0


@dataclass
class Row:
    """The runs of one contestant, one of each round."""

    name: str
    runs: list[Measured] = field(default_factory=list)

    def middle(self, fact: str) -> float:
        """The median of one fact of the runs."""
        return median(getattr(run, fact) for run in self.runs)


def table(title: str, rows: Sequence[Row]) -> list[str]:
    """A Markdown table, one line for each row."""
    lines = [(title, *HEADER), ("---",) * (len(HEADER) + 1), *(_cells(row, rows) for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _cells(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    named = {each.name: each for each in rows}
    return (
        row.name,
        f"{row.middle('requests'):.0f}",
        f"{row.middle('seconds'):.1f} s",
        f"{row.middle('cpu'):.1f} s",
        f"{row.middle('megabytes'):.0f} MB",
        *(f"{_ratio(row, named[other]):.2f}" if other in named else "" for other in ("st run", "st run -w 4")),
        " ".join(map(str, sorted({run.status for run in row.runs}))),
    )


def _ratio(ours: Row, theirs: Row) -> float:
    """How long ours takes compared with theirs: the median of the rounds, as other work slows both of a round down."""
    pairs = zip(ours.runs, theirs.runs, strict=True)
    return median(one.seconds / other.seconds for one, other in pairs)
