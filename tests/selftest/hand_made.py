"""A run that is made by hand, without a target: what it found is given, and all else is as in a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from environments.profiles.loading import load
from reports.grants import Grants
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from spec.findings import Finding

SANDBOX = load("sandbox", folder=Path(__file__).parents[2] / "environments")


def hand_made(*told: tuple[Any, ...], profile: Any = SANDBOX, **state: Any) -> Run:
    """A run whose requirements are told by their id, their verdict, and why, or findings, that one exchange shows."""
    state = {"narrowed": True, "grants": Grants(granted={"executePix"}), **state}
    run = Run(replace(profile, name="staging"), "http://127.0.0.1:1", **state)
    for number, (id, verdict, *said) in enumerate(told, 1):
        found = tuple(each for each in said if isinstance(each, Finding))
        why = said[0] if said and not found else ""
        run.selected.add(id)
        run.results.append(RequirementResult(id, Verdict(verdict), why, (number,), findings=found))
    run.close()
    return run
