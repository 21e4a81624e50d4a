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


def table(title: str, rows: Sequence[Row], *, delay: float = 0.0, rate: int = 0) -> list[str]:
    """A Markdown table, one line for each row. "least" is what the delay and the limit alone take."""
    lines = [(title, *HEADER[1:]), tuple("---" for _ in HEADER), *(_cells(row, rows, delay, rate) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]


def _cells(row: Row, rows: Sequence[Row], delay: float, rate: int) -> tuple[str, ...]:
    named, asked = {each.name: each for each in rows}, row.middle("requests")
    memory, wall = row.middle("megabytes"), row.middle("seconds")
    least = max(asked * delay / row.at_once, asked / rate if rate else 0.0)
    return (
        row.name,
        f"{asked:.0f}",
        f"{row.middle('refused'):.0f}",
        f"{wall:.1f} s",
        f"{row.middle('cpu'):.1f} s",
        f"{memory:.0f} MB" if memory else "",
        *(f"{_ratio(row, named[name[2:]]):.2f}" if name[2:] in named else "" for name in HEADER[6:8]),
        f"{wall / least:.2f}" if least else "",
        " ".join(map(str, sorted({run.status for run in row.runs}))),
    )


def _ratio(ours: Row, theirs: Row) -> float:
    """How long ours takes compared with theirs: the median of the rounds, as other work slows both of a round down."""
    pairs = zip(ours.runs, theirs.runs, strict=True)
    return median(one.seconds / other.seconds for one, other in pairs)
