"""What a run is compared with: the run that --compare-with names, or else the run before it, and the record beside the
profile, which --accept writes. Old runs are never deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from environments.profiles.model import shown
from reports.behaviour import Data, behaviour_of, drifts
from reports.comparison import compared, follows
from reports.earlier_runs import UnreadableError, accepting, read_run, record_of, write_record
from reports.formats.conformance_json import Document
from reports.run import Run
from spec.message import say_many

Clean = Callable[[str], str]
"""Applied to what is shown of another run, of a record, and of paths."""


def named_run(config: pytest.Config) -> Document | None:
    """The conformance.json that --compare-with names, as it is. Raises UnreadableError."""
    named = config.getoption("compare_with")
    return None if named is None else read_run(Path(named))


def run_before(config: pytest.Config, folder: Path | None) -> Path | None:
    """The run before that of `folder`: the latest of the environment, or what a folder of the user's choice held."""
    if folder is None:
        return None
    return folder if config.getoption("report_dir") else folder.with_name("latest")


def comparison_of(now: Document, *, named: Document | None, before: Path | None, clean: Clean) -> Document | None:
    """The comparison of a run with the one that the user names, or else with the run before it; None where that is
    missing or not comparable."""
    try:
        was = named or (read_run(before) if before else None)
    except UnreadableError:
        return None
    return compared(was, now, clean) if was and (named or follows(was, now)) else None


def consult_record(run: Run, record: Data | None, clean: Clean, *, accepts: bool) -> bool:
    """Compare the run with the record, or write what it observed: gives false where that could not be written. The
    results of the run stand."""
    was = behaviour_of(record["observations"], clean) if record else {}
    name, why = clean(shown(run.profile.record)), _why_not(run)
    if not accepts:
        run.record, run.drift = record, drifts(was, run.behaviour)
    elif why:
        run.accepted = f"not accepted: {why}; {name} is not written"
    else:
        accepted = record_of(run.profile.name, accepting(was, run.behaviour))
        try:
            write_record(run.profile.record, accepted)
        except OSError as error:
            run.accepted = f"not accepted: {name} cannot be written: {error.strerror}"
            return False
        requirements = say_many("{n} requirement", "{n} requirements", n=len(accepted["observations"]))
        run.record = accepted
        run.accepted = f"accepted: {name} ({requirements})"
    return True


def _why_not(run: Run) -> str:
    """Why nothing that the run observed is accepted; empty where it is. Without a valid token everything looks refused."""
    reasons = {
        "the suite failed": run.errors,
        "the run was interrupted": run.interrupted,
        "the target could not be reached": run.unreachable,
        (ungranted := run.grants.lacking(run.operations)): ungranted,
        "nothing was observed": not run.behaviour,
    }
    return next((str(why) for why, applies in reasons.items() if applies), "")
