"""Several runs on one page: a row for each, as Markdown for the summary of a pipeline, or as a page with links.

Pure: what is shown of a run was read, redacted and brought into one line before. No verdict is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.comparing.comparison import changes_in_words
from reports.comparing.comparison_text import escaped
from reports.moments import read_moment
from reports.page.rendering import template
from reports.redaction.masks import printable
from reports.verdicts import ON_THE_SERVICE, TESTED, RunVerdict, Verdict, fails
from reports.wording import counted, listed

NO_REPORT = "no report"
_HEADINGS = ("environment", "verdict", "documented requirements tested", "fail", "warn", "changed", "started")
_GREEN, _RED, _GREY = "pass", "fail", "gone"


@dataclass(frozen=True)
class Row:
    """One run. `failing` are ids; `why` says why there is no report; `page` is where it is, seen from the overview."""

    environment: str
    verdict: str = NO_REPORT
    tested: str = ""
    failing: tuple[str, ...] = ()
    warns: int = 0
    changed: str = ""
    started: str = ""
    why: str = ""
    page: str = ""

    @property
    def colour(self) -> str:
        """The class of the verdict on the page."""
        if self.verdict == RunVerdict.CONFORMANT:
            return _GREEN
        return _RED if self.verdict in ON_THE_SERVICE else _GREY

    @property
    def failing_in_words(self) -> str:
        """How many requirements fail."""
        return f"{counted(len(self.failing), 'requirement')} {'fails' if len(self.failing) == 1 else 'fail'}"

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands below `_HEADINGS`."""
        counts = (str(len(self.failing)), str(self.warns)) if self.tested else ("", "")
        return (self.environment, self.verdict, self.tested, *counts, self.changed or self.why, self.started)


def row_of(document: Mapping[str, Any], clean: Callable[[str], str], page: str) -> Row:
    """The row of a run, by its conformance.json. `clean` is applied to its free texts."""
    entries = document["requirements"]
    documented = [one for one in entries if one["level"] == "documented" and one["verdict"] != Verdict.UNTESTABLE]
    tested = sum(one["verdict"] in TESTED for one in documented)
    return Row(
        environment=clean(document["environment"]["name"]),
        verdict=document["verdict"],
        tested=f"{tested} of {len(documented)}",
        failing=tuple(one["id"] for one in entries if fails(one)),
        warns=sum(one["verdict"] == Verdict.WARN for one in entries),
        changed=_changed(document.get("comparison")),
        started=f"{read_moment(document['started']):%Y-%m-%d %H:%M} UTC",
        page=page,
    )


def _changed(comparison: Mapping[str, Any] | None) -> str:
    """What changed since the run that it was compared with, in our words."""
    return "" if comparison is None else listed(changes_in_words(comparison)) or "nothing"


def markdown(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of Markdown: ids, counts and words of ours, and no text of a service, as summaries are often public."""
    yield f"| {' | '.join(_HEADINGS)} |"
    yield "|---|---|--:|--:|--:|---|---|"
    yield from (f"| {' | '.join(map(escaped, row.cells))} |" for row in rows)
    for row in rows:
        if row.failing:
            yield from ("", f"{row.failing_in_words} in {escaped(row.environment)}:", "")
            yield from (f"- `{name}`" for name in row.failing)


def html(rows: Sequence[Row]) -> Iterator[str]:
    """The page: it links to the report of each run, and fetches nothing."""
    yield printable(template("overview.html").render(headings=_HEADINGS, rows=rows))
