"""A run that is made by hand, without a target, and its document: what it found is given, and all else is as in a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from environments.profiles.loading import load
from reports.outputs.conformance_json import document_of
from reports.result.document import ReportedRequirement, RunDocument
from reports.result.grants import Grants
from reports.result.run import Run
from reports.result.verdicts import RequirementResult, Verdict
from spec.findings import Finding
from spec.requirements import requirements

SANDBOX_PROFILE = load("sandbox", folder=Path(__file__).parents[2] / "environments")


def run_with_results(*told: tuple[Any, ...], profile: Any = SANDBOX_PROFILE, **state: Any) -> Run:
    """A run whose requirements are told by their id, their verdict, and why, or findings, that one exchange shows."""
    state = {"narrowed": True, "grants": Grants(granted={"executePix"}), **state}
    run = Run(replace(profile, name="staging"), "http://127.0.0.1:1", **state)
    for number, (id, verdict, *said) in enumerate(told, 1):
        found = tuple(each for each in said if isinstance(each, Finding))
        why = said[0] if said and not found else ""
        run.selected.add(id)
        run.results.append(RequirementResult(id, Verdict(verdict), why, (number,), findings=found))
    return run


def document_with(**changes: Any) -> RunDocument:
    """The document of a run that found nothing, with these members in place of its own."""
    return document_of(run_with_results()).model_copy(update=changes)


def reported_requirement(requirement_id: str, verdict: str = "fail", **changes: Any) -> ReportedRequirement:
    """A requirement as a document has it. One exchange shows its verdict."""
    known = requirements()[requirement_id]
    members = {
        "id": known.id,
        "section": known.section,
        "level": known.level,
        "operation": known.operation,
        "text": known.text,
        "verdict": verdict,
        "message": "",
        "found": (),
        "exchanges": (1,),
        "elapsed_s": 0.0,
    }
    return ReportedRequirement(**members | changes)
