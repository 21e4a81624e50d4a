"""conformance.json: a run as plain data, which the terminal, junit.xml and report.html read, too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any

from environments.profiles.model import EMBEDDED
from reports.behaviour import data_of_behaviour, in_words
from reports.causes import findings
from reports.evidence import EXECUTES, MAY_MOVE, OFFERED, Evidence
from reports.headline import headline
from reports.provenance import VERSION, profile_digest, service_version
from reports.run import NoteKind, Run
from reports.verdicts import counts, coverage, entry_of
from reports.wording import grouped, written
from spec.findings import Finding
from spec.interface import operations
from spec.message import Text, say
from spec.requirements import interface_document

FILE = "conformance.json"
_MONEY = (EXECUTES, OFFERED, MAY_MOVE)
FORMAT = "1.6"
"""Of the schema: the first number grows where a reader has to change, the second where there are more members."""
RunDocument = dict[str, Any]


def document_of(run: Run) -> RunDocument:
    """The content of conformance.json."""
    document = {"format": FORMAT, **_set_up(run), **_figures(run), **_found(run), **_left(run)}
    return document | {"headline": str(headline(document))}


def as_json(document: RunDocument) -> str:
    """The text of conformance.json."""
    return json.dumps(document, indent=1, default=_plain) + "\n"


def _plain(value: object) -> object:
    """A finding or a message as JSON."""
    if not isinstance(value, Finding):
        return str(value)
    parameters = {name: part if isinstance(part, int) else str(part) for name, part in value.parameters}
    told = {"code": value.code, "parameters": parameters, "pointers": value.pointers, "alone": value.alone}
    shown_by = {"shown_by": str(value.shown_by), "times": value.times} if value.times else {}
    return {**told, "exchanges": value.exchanges, **shown_by}


def _set_up(run: Run) -> RunDocument:
    result, finished = run.result(), run.finished or datetime.now(UTC)
    return {
        "suite": {"version": VERSION, "proof": _proof_line()},
        "provenance": _provenance(run, finished),
        "environment": _environment(run),
        "started": written(run.started),
        "duration_s": round((finished - run.started).total_seconds(), 2),
        "verdict": result.verdict,
        "incomplete": result.why,
        "exit_status": result.verdict.exit_status,
        "selection": run.selection,
        "recorded": run.recorded,
        "alerts": [{"kind": _word(note.kind), "text": note.text} for note in run.notes() if note.is_alert],
        "notes": [note.text for note in run.notes()],
    }


def _word(kind: NoteKind) -> str:
    return kind.name.lower().replace("_", "-")


def _environment(run: Run) -> RunDocument:
    profile = run.profile
    return {
        "name": profile.name,
        "base_url": run.base_url,
        "redirected": profile.redirected is not None,
        "embedded": profile.base_url == EMBEDDED,
        "sandbox": profile.is_sandbox,
        "allow": sorted(profile.allow),
        "fail_on": sorted(profile.fail_on),
        "drift": profile.drift,
    }


def _provenance(run: Run, finished: datetime) -> RunDocument:
    return {
        **run.suite,
        "interface_document": interface_document(),
        "profile_sha256": profile_digest(run.profile),
        "seed": run.seed,
        "started": written(run.started),
        "finished": written(finished),
        "service_version": service_version(run.exchanges.values()),
        "ci_job": run.ci_job,
    }


def _figures(run: Run) -> RunDocument:
    generated, granted = run.generated, run.grants.granted
    return {
        "traffic": {name: getattr(run, name) for name in ("requests", "executions", "unknown_outcomes")},
        "generated": {
            "seed": run.seed,
            "examples": run.examples,
            **generated.data(),
            "notes": list(generated.notes(granted)),
        },
        "counts": counts(run.requirements()),
        "coverage": coverage(run.requirements()),
        "cut": [{"why": why, "operations": list(names)} for why, names in run.unsent.items()],
        "granted": sorted(granted),
        "granted_nothing": [name for name in run.grants.asked(run.operations) if name not in granted],
    }


def _found(run: Run) -> RunDocument:
    requirements = [entry_of(*each, run.elapsed_s[each[0].id]) for each in run.requirements()]
    return {
        "findings": [{**one, "reproduce": _line(one, run.exchanges)} for one in findings(requirements)],
        "requirements": requirements,
        "observations": _observations(run),
        "observed": data_of_behaviour(run.behaviour),
        "drift": run.drift,
        "record": {name: run.record[name] for name in ("accepted", "suite_version")} if run.record else None,
    }


def _observations(run: Run) -> list[RunDocument]:
    """The observations of each requirement in words; those that are said before all others stand first."""
    shown = {requirement.id: result.exchanges for requirement, result in run.requirements()}
    urgent = {seen.id for seen in run.observations if seen.first}
    return [
        {"id": found, "value": in_words(run.behaviour[found]), "exchanges": list(shown.get(found, ()))}
        for found in sorted(run.behaviour, key=lambda one: one not in urgent)
    ]


def _line(finding: Mapping[str, Any], exchanges: Mapping[int, Evidence]) -> str:
    """A line that sends again what shows the finding, one that moves no money where there is one; else empty."""
    lines = [exchanges[number]["curl"] for number in finding["exchanges"] if number in exchanges]
    return min(filter(None, lines), key=lambda line: [line.startswith(each) for each in _MONEY], default="")


def _left(run: Run) -> RunDocument:
    return {
        "left_behind": run.not_cleaned_up_in_words,
        "not_cleaned_up": [{**vars(key), "exchanges": list(key.exchanges)} for key in run.not_cleaned_up],
        "comparison": run.comparison,
        "latency": latency(run.exchanges.values()),
        "exchanges": [_outline(run.exchanges[number], run.started) for number in sorted(run.exchanges)],
    }


def _outline(exchange: Evidence, start: datetime) -> RunDocument:
    reasons = {name: exchange[name] for name in ("part", "purpose") if exchange[name]}
    return {
        **{name: exchange[name] for name in ("number", "operation", "elapsed_ms", "beside")},
        "request": f"{exchange['request']['method']} {exchange['request']['url']}",
        "result": exchange["response"]["status"] if "response" in exchange else exchange.get("kind"),
        "at_ms": round((exchange["started"] - start.timestamp()) * 1000, 1),
        **reasons,
    }


SUMMARY = Path(__file__).parents[1] / "proof" / "summary.json"
"""Written by `make proof`."""


def _proof_line() -> Text:
    """Numbers of seeded faults caught and of conforming services passed; empty where there is no summary."""
    try:
        proof = json.loads(SUMMARY.read_text("utf-8"))
        return say(
            "this suite catches {caught} of {faults} seeded faults and passes {passed} of {services} "
            "conforming services (as proved on {date})",
            caught=proof["mutants"]["right"],
            faults=proof["mutants"]["total"],
            passed=proof["variants"]["right"],
            services=proof["variants"]["total"],
            date=proof["date"][:10],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return ""


SHARES = {"min_ms": 0.0, "p25_ms": 0.25, "median_ms": 0.5, "p75_ms": 0.75, "p95_ms": 0.95, "max_ms": 1.0}
"""Shares of the answers, by the name of the time that each took at most."""


def latency(exchanges: Iterable[Evidence]) -> dict[str, dict[str, float]]:
    """Number of answers and times of each operation, in the order of the interface document. Refusals count, too."""
    answered = (seen for seen in exchanges if "response" in seen)
    by_operation = grouped(answered, lambda seen: seen["operation"])
    times = {name: sorted(one["elapsed_ms"] for one in group) for name, group in by_operation.items()}
    return {
        name: {"count": len(times[name]), **{each: _nearest_rank(times[name], share) for each, share in SHARES.items()}}
        for name in operations()
        if name in times
    }


def _nearest_rank(times: Sequence[float], share: float) -> float:
    """The time that this share of the times, the shortest first, took at most."""
    return times[max(ceil(share * len(times)), 1) - 1]
