"""A run that is made by hand, without a target, and its document. A test gives its results; all else is as in a real run."""

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


def run_with_results(*results: tuple[Any, ...], profile: Any = SANDBOX_PROFILE, **state: Any) -> Run:
    """A run with these results: `("executePix.json", "fail", finding("json"))` is the id, the verdict, and a finding.

    In the place of findings a result may have a reason. Exchange 1 shows the first result, exchange 2 the second one.
    `state` are attributes of the run, such as `interrupted`.
    """
    state = {"narrowed": True, "grants": Grants(granted={"executePix"}), **state}
    run = Run(replace(profile, name="staging"), "http://127.0.0.1:1", **state)
    for number, (id, verdict, *details) in enumerate(results, 1):
        findings = tuple(detail for detail in details if isinstance(detail, Finding))
        why = details[0] if details and not findings else ""
        run.selected.add(id)
        run.results.append(RequirementResult(id, Verdict(verdict), why, (number,), findings=findings))
    return run


def document_with(**changes: Any) -> RunDocument:
    """The document of a run without results, with these members."""
    return document_of(run_with_results()).model_copy(update=changes)


def reported_requirement(requirement_id: str, verdict: str = "fail", **changes: Any) -> ReportedRequirement:
    """A requirement as a document has it. One exchange shows its verdict."""
    requirement = requirements()[requirement_id]
    members = {
        "id": requirement.id,
        "section": requirement.section,
        "level": requirement.level,
        "operation": requirement.operation,
        "text": requirement.text,
        "verdict": verdict,
        "message": "",
        "found": (),
        "exchanges": (1,),
        "elapsed_s": 0.0,
    }
    return ReportedRequirement(**members | changes)
