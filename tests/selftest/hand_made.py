"""Runs that a test makes by hand, without sending anything, and the documents (conformance.json) of such runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from environments.profiles.loading import load
from reports.outputs.conformance_json import document_of
from reports.result.answer_counts import AnswersToValidToken
from reports.result.document import ReportedRequirement, RunDocument
from reports.result.run import Run
from reports.result.verdicts import RequirementResult, Verdict
from spec.findings import Finding
from spec.requirements import requirements

SANDBOX_PROFILE = load("sandbox", folder=Path(__file__).parents[2] / "environments")


def run_with_results(*results: tuple[Any, ...], profile: Any = SANDBOX_PROFILE, **state: Any) -> Run:
    """A run with these results. Each is a tuple:

    - with findings: `("executePix.json", "fail", finding("json"))`
    - with a reason: `("executePix.json", "not-exercised", "no code was supplied")`

    The exchange that shows a result has the number of its place: 1 for the first result. `state` are attributes of the
    run, such as `interrupted`.
    """
    state = {"narrowed": True, "answers_to_valid_token": AnswersToValidToken(succeeded={"executePix"}), **state}
    run = Run(replace(profile, name="staging"), "http://127.0.0.1:1", **state)
    for number, (requirement_id, verdict, *details) in enumerate(results, 1):
        findings = tuple(detail for detail in details if isinstance(detail, Finding))
        has_reason = bool(details) and not findings
        reason = details[0] if has_reason else ""
        run.selected.add(requirement_id)
        run.results.append(RequirementResult(requirement_id, Verdict(verdict), reason, (number,), findings=findings))
    return run


def document_with(**changes: Any) -> RunDocument:
    """The document (the content of conformance.json) of a run without results, in which these members are replaced."""
    return document_of(run_with_results()).model_copy(update=changes)


def reported_requirement(requirement_id: str, verdict: str = "fail", **changes: Any) -> ReportedRequirement:
    """A requirement as conformance.json has it, with this verdict. `changes` are other members of its entry.

    If `changes` does not say otherwise, exchange 1 shows the verdict.
    """
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
