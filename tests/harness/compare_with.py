"""Compares a run with the one that --compare-with names, or else with the environment's last comparable one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reports.comparing.comparison import compared, outcome_of
from reports.comparing.earlier_runs import BASES, last_comparable, runs_beside
from reports.comparing.reading import UnreadableError, outcome_read, read
from reports.formats.conformance_json import Document
from reports.wording import one_line


def named_run(config: pytest.Config) -> Document | None:
    """The conformance.json that --compare-with names, as it is. UsageError, in one line, where it cannot be used."""
    named = config.getoption("compare_with")
    if named is None:
        return None
    try:
        return read(Path(named))
    except UnreadableError as error:
        raise pytest.UsageError(f"--compare-with: {one_line(named)}: {error}") from None


def earlier_runs(config: pytest.Config, folder: Path | None) -> list[Path]:
    """The folders of earlier runs, the newest first. A folder of the user's choice has only what it held before."""
    if folder is None:
        return []
    return [folder] if config.getoption("report_dir") else runs_beside(folder)


class Comparing:
    """`named` is the run that the user compares with; without one, the first comparable run of `earlier` is taken.
    `redact` knows what must not be shown of it."""

    def __init__(self, named: Document | None, earlier: Sequence[Path], redact: Callable[[str], str]) -> None:
        self._named, self._earlier, self._redact = named, earlier, redact

    def __call__(self, document: Document) -> Document | None:
        """The comparison of the run that has this conformance.json; None where there is nothing to compare it with."""
        now = outcome_of(document)
        if self._named is not None:
            return compared(outcome_read(self._named, self._redact), now)
        if now.verdict not in BASES:
            return None
        earlier = last_comparable(self._earlier, now, self._redact)
        return compared(earlier, now) if earlier else None
