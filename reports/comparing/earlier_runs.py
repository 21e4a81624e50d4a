"""Finds the last run before another one that is comparable with it. Old runs are read, never deleted."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from reports.comparing.comparison import RunToCompare, run_to_compare
from reports.comparing.reading import UnreadableError, read
from reports.formats.conformance_json import FILE
from reports.verdicts import ON_THE_SERVICE, RunVerdict

MOST_RUNS = 50
MOST_BYTES = 50_000_000
"""How many runs are looked at, the newest first, and how much is read of them all together."""
BASES = (*ON_THE_SERVICE, RunVerdict.INCOMPLETE)
"""Verdicts of runs that others are compared with: the others came to no end, or met no service."""
_RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]+")


def runs_beside(folder: Path) -> list[Path]:
    """The folders of other runs beside the folder of a run, the newest first."""
    try:
        with os.scandir(folder.parent) as entries:
            others = [entry.name for entry in entries if _RUN.fullmatch(entry.name) and entry.name != folder.name]
    except OSError:
        return []
    newest = heapq.nlargest(MOST_RUNS, others)
    return sorted((folder.with_name(name) for name in newest), key=_age, reverse=True)


def last_comparable(folders: Iterable[Path], now: RunToCompare, clean: Callable[[str], str]) -> RunToCompare | None:
    """The first of these runs that is comparable with `now`, its texts cleaned; None where there is
    none."""
    left = MOST_BYTES
    for folder in folders:
        try:
            left -= (size := (folder / FILE).lstat().st_size)
            if left < 0:
                return None
            earlier = run_to_compare(read(folder, size), clean)
        except (OSError, UnreadableError):
            continue
        if earlier.verdict in BASES and earlier.scope == now.scope and earlier.started <= now.started:
            return earlier
    return None


def _age(folder: Path) -> tuple[str, int]:
    """When the run started, as the name says; runs of one second are told apart by when their folder was written to."""
    second = folder.name.partition("-")[0]
    try:
        return second, folder.lstat().st_mtime_ns
    except OSError:
        return second, 0
