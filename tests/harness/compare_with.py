"""Compares a run with the one that --compare-with names, or else with the environment's last comparable one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reports.comparing.comparison import compared, run_to_compare
from reports.comparing.earlier_runs import BASES, last_comparable, runs_beside
from reports.comparing.reading import UnreadableError, read
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


def comparison_of(
    document: Document, *, named: Document | None, earlier: Sequence[Path], clean: Callable[[str], str]
) -> Document | None:
    """The comparison of the run that has this conformance.json with the one that the user names, or else with the first
    comparable run of `earlier`; None where there is none. `clean` is applied to what is shown of the other run."""
    now = run_to_compare(document)
    if named is not None:
        return compared(run_to_compare(named, clean), now)
    was = last_comparable(earlier, now, clean) if now.verdict in BASES else None
    return compared(was, now) if was else None
