"""Compares a run with the one that --compare-with names, or else with the run before it. Old runs are never deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reports.comparing.comparison import compared, follows, run_to_compare
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


def run_before(config: pytest.Config, folder: Path | None) -> Path | None:
    """The run before that of `folder`: the latest of the environment, or what a folder of the user's choice held."""
    if folder is None:
        return None
    return folder if config.getoption("report_dir") else folder.with_name("latest")


def comparison_of(
    document: Document, *, named: Document | None, before: Path | None, clean: Callable[[str], str]
) -> Document | None:
    """The comparison of the run that has this conformance.json with the one that the user names, or else with the run
    before it; None where that is missing or not comparable. `clean` is applied to what is shown of the other run."""
    now = run_to_compare(document)
    if named is not None:
        return compared(run_to_compare(named, clean), now)
    try:
        was = run_to_compare(read(before), clean) if before else None
    except UnreadableError:
        return None
    return compared(was, now) if was and follows(now, was) else None
