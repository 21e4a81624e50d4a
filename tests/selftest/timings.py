"""What a benchmark makes of its measurements: medians, ratios, and the table that the README quotes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

HEADER = ("", "requests", "refused", "wall", "CPU", "memory", "/ st run", "/ st run -w 4", "/ least", "exit")


@dataclass(frozen=True)
class Measured:
    """One run: seconds of wall time and of CPU time, peak memory in megabytes (0: not measured), the requests that were
    answered and those that were refused because they came too fast, and the exit status."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    refused: int = 0
    status: int = 0


@dataclass
class Row:
    """The runs of one contestant, one of each round; `at_once` is how many requests it has on the wire."""

    name: str
    at_once: int = 1
    runs: list[Measured] = field(default_factory=list)

    def middle(self, fact: str) -> float:
        """The median of one fact of the runs."""
        return median(getattr(run, fact) for run in self.runs)


def least(requests: float, at_once: int, *, delay: float, rate: int) -> float:
    """Seconds that these requests take at least: requests x delay / at_once, or requests / rate."""
    return max(requests * delay / at_once, requests / rate if rate else 0.0)


def ratio(ours: Row, theirs: Row) -> float:
    """How long ours takes compared with theirs: the median of the rounds, as other work slows both of a round down."""
    pairs = zip(ours.runs, theirs.runs, strict=True)
    return median(one.seconds / other.seconds for one, other in pairs)


def table(title: str, rows: Sequence[Row], *, delay: float = 0.0, rate: int = 0) -> list[str]:
    """A Markdown table, one line for each row. "least" is what the delay and the limit alone take."""
    lines = [(title, *HEADER[1:]), tuple("---" for _ in HEADER)]
    lines += [_cells(row, rows, least(row.middle("requests"), row.at_once, delay=delay, rate=rate)) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]


def _cells(row: Row, rows: Sequence[Row], at_least: float) -> tuple[str, ...]:
    named = {each.name: each for each in rows}
    compared = [f"{ratio(row, named[name[2:]]):.2f}" if name[2:] in named else "" for name in HEADER[6:8]]
    memory, wall = row.middle("megabytes"), row.middle("seconds")
    statuses = sorted({run.status for run in row.runs})
    return (
        row.name,
        f"{row.middle('requests'):.0f}",
        f"{row.middle('refused'):.0f}",
        f"{wall:.1f} s",
        f"{row.middle('cpu'):.1f} s",
        f"{memory:.0f} MB" if memory else "",
        *compared,
        f"{wall / at_least:.2f}" if at_least else "",
        " ".join(map(str, statuses)),
    )
