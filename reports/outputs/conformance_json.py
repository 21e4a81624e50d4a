"""Builds the `RunDocument` (the data of all reports) from a `Run` (what happened), and writes it as JSON.

The classes of the document are in reports/result/document.py, and the verdict comes from reports/result/run_verdict.py.
This module only fills the members in. Whoever makes another output of a run starts from the document, not from the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

from environments.profiles.model import EMBEDDED
from reports.observed.behaviour import behaviour_in_words, data_of_behaviour
from reports.result.causes import findings_by_cause
from reports.result.document import (
    FORMAT,
    AcceptedRecord,
    Alert,
    CutShort,
    Environment,
    GeneratedTraffic,
    KeyNotCleanedUp,
    Latency,
    ListedExchange,
    ObservationInWords,
    Provenance,
    ReportedRequirement,
    RunDocument,
    SuiteVersion,
    Traffic,
    VersionHeader,
)
from reports.result.provenance import VERSION, profile_digest, service_version
from reports.result.run import LeftKey, Run
from reports.result.run_verdict import RunResult, result_of_run
from reports.result.verdicts import RequirementResult, RunVerdict, counts, coverage
from reports.sentences.headline import headline
from reports.sentences.wording import published_moment
from reports.showing.evidence import ShownExchange
from reports.showing.resending import (
    EXECUTES,
    MAY_EXECUTE,
    MAY_MOVE,
    NOT_SHOWN_ALONE,
    PERHAPS_SHOWN_AFTER_STEPS,
    SHOWN_AFTER_STEPS,
)
from spec.interface import READ_OPERATIONS, operations
from spec.message import Date, Text, say
from spec.requirements import Requirement

FILE = "conformance.json"
_MONEY_WARNINGS = (EXECUTES, MAY_EXECUTE, MAY_MOVE)
"""First lines of shell lines that may move money when they send a request again, the most certain case first."""


def as_json(document: RunDocument) -> str:
    """The text of conformance.json: the document of a run as JSON, with an indent of one blank."""
    return json.dumps(document.model_dump(mode="json", by_alias=True), indent=1) + "\n"


def document_of(run: Run) -> RunDocument:
    """All that is known about a run at its end, in the structure of conformance.json.

    Every other output is made from this document. The comparison with an earlier run is added to it later.
    """
    result = result_of_run(run)
    finished = run.finished or datetime.now(UTC)
    # Operations that were called with the valid token, and those of them that succeeded at least once.
    operations_called = run.answers_to_valid_token.operations_asked(result.operations)
    succeeded = run.answers_to_valid_token.succeeded

    def shell_lines_of_safest(numbers: Sequence[int]) -> str:
        """Shell lines that send a request of the run again: of these exchanges the one with the least risk."""
        return _shell_lines_of_safest(run.exchanges, numbers)

    requirements = [
        _reported_requirement(requirement, requirement_result, run)
        for requirement, requirement_result in result.results
    ]
    document = RunDocument(
        format=FORMAT,
        suite=SuiteVersion(version=VERSION, proof=_sentence_on_proof_of_suite()),
        provenance=_provenance(run, finished),
        environment=_environment(run),
        started=published_moment(run.started),
        duration_s=round((finished - run.started).total_seconds(), 2),
        verdict=result.verdict,
        why_incomplete=result.why,
        exit_status=result.verdict.exit_status,
        selection=run.selection,
        # How much recorded traffic was judged, and from when. Empty for a run that sent requests.
        recorded=run.recorded.in_words if run.recorded else "",
        alerts=tuple(Alert(kind=note.kind, text=note.text) for note in result.notes if note.is_alert),
        notes=tuple(note.text for note in result.notes),
        traffic=Traffic(requests=run.requests, executions=run.executions, unknown_outcomes=run.unknown_outcomes),
        generated=_generated_traffic(run),
        counts=counts(result.results),
        coverage=coverage(result.results),
        # Reasons why requests were not sent, such as a limit that was reached, with the operations.
        cut=tuple(CutShort(why=why, operations=tuple(names)) for why, names in run.unsent.items()),
        granted=tuple(sorted(succeeded)),
        granted_nothing=tuple(operation for operation in operations_called if operation not in succeeded),
        findings=tuple(findings_by_cause(requirements, shell_lines_of_safest)),
        requirements=tuple(requirements),
        # Behaviour that the interface document does not show: in words for people, and as data for later runs.
        observations=tuple(_observations(run, result)),
        observed=data_of_behaviour(result.behaviour),
        drift=tuple(run.drift),
        record=_accepted_record(run),  # of the behaviour with which this run is compared
        left_behind=tuple(run.not_cleaned_up_in_words),
        not_cleaned_up=tuple(_key_not_cleaned_up(key) for key in run.not_cleaned_up),
        comparison=None,  # added later
        latency=latency(run.exchanges.values()),
        exchanges=tuple(_listed_exchange(run.exchanges[number], run.started) for number in sorted(run.exchanges)),
        headline="",
    )
    # The headline is made from the document itself.
    return document.model_copy(update={"headline": str(headline(document))})


def document_with_failed_output(document: RunDocument) -> RunDocument:
    """The document of a run after a part of its report could not be written. Such a run must not be green.

    If the run would be green (exit status 0), its verdict becomes `internal-error`. Any other verdict is unchanged.
    """
    is_green = document.exit_status == 0
    if not is_green:
        return document
    verdict = RunVerdict.INTERNAL_ERROR
    why = say("a part of the report cannot be written")
    changes = {"verdict": verdict, "exit_status": verdict.exit_status, "why_incomplete": why}
    document = document.model_copy(update=changes)
    return document.model_copy(update={"headline": str(headline(document))})


def _provenance(run: Run, finished: datetime) -> Provenance:
    """What the run was made with, so that somebody can repeat it: versions, digests of files, seed, start and end.

    The digests are of the list of requirements (spec/requirements.yaml, its `ledger`), of the OpenAPI schema of the
    service (spec/openapi.yaml) and of the profile. `finished` is the moment when the run ended.
    """
    suite = run.suite
    return Provenance(
        suite_version=suite.version,
        suite_commit=suite.commit,
        ledger_sha256=suite.ledger_sha256,
        schema_sha256=suite.schema_sha256,
        profile_sha256=profile_digest(run.profile),
        seed=run.seed,
        started=published_moment(run.started),
        finished=published_moment(finished),
        service_version=tuple(
            VersionHeader(header=name, value=value) for name, value in service_version(run.exchanges.values())
        ),
        ci_job=run.ci_job,
    )


def _environment(run: Run) -> Environment:
    """The target of a run, and what the profile permits there."""
    profile = run.profile
    return Environment(
        name=profile.name,
        base_url=run.base_url,
        redirected=profile.redirection_note is not None,  # --base-url replaced the address of the profile
        embedded=profile.base_url == EMBEDDED,  # the target was the reference service that is part of the suite
        sandbox=profile.is_sandbox,
        allow=tuple(sorted(profile.allow)),
        fail_on=tuple(sorted(profile.fail_on)),
        drift=profile.drift,  # "warn" or "fail": what a change of accepted behaviour does to the verdict
    )


def _generated_traffic(run: Run) -> GeneratedTraffic:
    """A summary of the requests that the suite generated from a seed: how many answers of each kind they got."""
    generated = run.generated
    refused: dict[str, dict[str, int]] = {}
    for operation, numbers_by_answer in generated.refused.items():
        refused[operation] = {str(answer): number for answer, number in numbers_by_answer.items()}
    return GeneratedTraffic(
        seed=run.seed,
        examples=run.examples,
        accepted=dict(generated.accepted),
        refused=refused,
        # Operations that only read. `refused` has every operation for which requests were generated, even if none of
        # them was refused.
        harmless=tuple(sorted(generated.refused.keys() & READ_OPERATIONS)),
        cut=tuple(generated.cut),
        notes=tuple(generated.notes(run.answers_to_valid_token.succeeded)),
    )


def _reported_requirement(requirement: Requirement, result: RequirementResult, run: Run) -> ReportedRequirement:
    """The entry of one requirement in conformance.json: its statement, its verdict, and the findings with evidence."""
    return ReportedRequirement(
        id=requirement.id,
        section=requirement.section,
        level=requirement.level,
        operation=requirement.operation,
        text=requirement.text,
        verdict=result.verdict,
        message=result.message,
        found=result.findings,
        expected=result.expected if result.findings else None,
        got=result.got if result.findings else None,
        exchanges=result.exchanges,
        rests_on=result.number_of_supporting_exchanges,  # perhaps more than are named in `exchanges`
        elapsed_s=round(run.elapsed_s.get(requirement.id, 0.0), 3),
        known_failure=result.known_failure or None,
        known_until=result.known_until.isoformat() if result.known_until else None,
    )


def _observations(run: Run, result: RunResult) -> list[ObservationInWords]:
    """What the service did where the interface document leaves the behaviour open, in words, for each requirement.

    Observations about behaviour that may cost money are listed first, because a reader should see them.
    """
    exchanges = {requirement.id: requirement_result.exchanges for requirement, requirement_result in result.results}
    ids_that_may_cost_money = {observation.id for observation in run.observations if observation.may_cost_money}
    first = []
    others = []
    for requirement_id, situations in result.behaviour.items():
        observation_in_words = ObservationInWords(
            id=requirement_id,
            value=behaviour_in_words(situations),
            exchanges=exchanges.get(requirement_id, ()),
        )
        if requirement_id in ids_that_may_cost_money:
            first.append(observation_in_words)
        else:
            others.append(observation_in_words)
    return [*first, *others]


def _accepted_record(run: Run) -> AcceptedRecord | None:
    """When the user accepted the behaviour that this run is compared with, and with which version of the suite.

    None if the user accepted no earlier behaviour.
    """
    if run.record is None:
        return None
    return AcceptedRecord(accepted=run.record.accepted, suite_version=run.record.suite_version)


def _shell_lines_of_safest(exchanges: Mapping[int, ShownExchange], numbers: Sequence[int]) -> str:
    """Shell lines that send a request again: of these exchanges the one with the least risk; empty if none has lines.

    `numbers` are the numbers of the exchanges to choose from. Lines that show the finding by themselves are better than
    a request that does not. Then lines that move no money are better than lines that may move money.
    """
    lines_of_exchanges = [exchanges[number].lines_that_resend for number in numbers if number in exchanges]
    # An exchange of which only an outline is kept, without its body, has no lines: it cannot be sent again.
    lines_to_choose_from = [lines for lines in lines_of_exchanges if lines]
    return min(lines_to_choose_from, key=_order_of_shell_lines, default="")


def _order_of_shell_lines(lines: str) -> list[bool]:
    """Sort key of shell lines that send a request again: the best lines have the smallest key.

    The worst is a request of which it is known that it does not show the finding alone. Lines of steps may move money.
    They do so on a sandbox only, so they are better. If there is a choice, the lines that surely show it are the best.
    """
    is_sure = SHOWN_AFTER_STEPS in lines
    is_perhaps_shown = PERHAPS_SHOWN_AFTER_STEPS in lines
    return [NOT_SHOWN_ALONE in lines, *_risk_of_moving_money(lines), is_perhaps_shown, not is_sure]


def _risk_of_moving_money(lines: str) -> list[bool]:
    """Sort key of shell lines that send a request again: the more certainly they move money, the later they are sorted.

    Lines that may move money start with one of the three warnings in `_MONEY_WARNINGS`. Python compares lists item by
    item, and False is smaller than True, so the keys are sorted in this order:

    - `[False, False, False]`: no warning, so the lines move no money
    - `[False, False, True]`: the last warning, "this line may move money"
    - `[True, False, False]`: the first warning, "this line moves money"
    """
    return [lines.startswith(warning) for warning in _MONEY_WARNINGS]


def _key_not_cleaned_up(key: LeftKey) -> KeyNotCleanedUp:
    """The entry in conformance.json for a PIX key that the run registered and did not delete, with the reason."""
    return KeyNotCleanedUp(what=key.what, why=key.why, of_the_profile=key.of_the_profile, exchanges=key.exchanges)


def _listed_exchange(exchange: ShownExchange, start: datetime) -> ListedExchange:
    """The entry of a request and its answer in the list of conformance.json. `start` is the moment the run started.

    Its `result` is the HTTP status, or the kind of failure if there was no response.
    """
    result: int | str | None = exchange.failure_kind or None
    if exchange.response:
        result = exchange.response.status
    return ListedExchange(
        number=exchange.number,
        operation=exchange.operation,
        elapsed_ms=exchange.elapsed_ms,
        beside=exchange.beside,  # how many other requests were on the wire at the same time
        request=f"{exchange.request.method} {exchange.request.url}",
        result=result,
        at_ms=round((exchange.started - start.timestamp()) * 1000, 1),
        part=exchange.part or None,  # of the generated traffic; None for a request of a scenario
        purpose=exchange.purpose or None,  # why a scenario sent it; None for a generated request
    )


SUMMARY = Path(__file__).parents[1] / "proof" / "summary.json"
"""Result of the self-tests that try the suite on faulty and right services. `make proof` writes it."""


def _sentence_on_proof_of_suite() -> Text:
    """A sentence on how well this suite was proved: how many faulty services it catches, how many right ones it passes.

    Empty if the file with the results of `make proof` is missing or cannot be read.
    """
    try:
        proof = json.loads(SUMMARY.read_text("utf-8"))
        return say(
            "this suite catches {caught} of {faults} seeded faults and passes {passed} of {services} "
            "conforming services (as proved on {date})",
            caught=proof["mutants"]["right"],
            faults=proof["mutants"]["total"],
            passed=proof["variants"]["right"],
            services=proof["variants"]["total"],
            date=Date(proof["date"][:10]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def latency(exchanges: Iterable[ShownExchange]) -> dict[str, Latency]:
    """How long the answers of each operation took, in the order of the interface document.

    Refusals are answers, too. A request without an answer is not counted.
    """
    times_by_operation: dict[str, list[float]] = {operation: [] for operation in operations()}
    for exchange in exchanges:
        if exchange.response and exchange.operation in times_by_operation:  # not to an undocumented path
            times_by_operation[exchange.operation].append(exchange.elapsed_ms)
    return {operation: _latency_of(sorted(times)) for operation, times in times_by_operation.items() if times}


def _latency_of(times: Sequence[float]) -> Latency:
    """Number, shortest, longest and percentiles of sorted times, in milliseconds. There must be at least one time."""
    return Latency(
        count=len(times),
        min_ms=_nearest_rank(times, 0.0),
        p25_ms=_nearest_rank(times, 0.25),
        median_ms=_nearest_rank(times, 0.5),
        p75_ms=_nearest_rank(times, 0.75),
        p95_ms=_nearest_rank(times, 0.95),
        max_ms=_nearest_rank(times, 1.0),
    )


def _nearest_rank(times: Sequence[float], share: float) -> float:
    """A percentile (nearest-rank method): the time that this share of the answers did not exceed.

    `times` are sorted. For `[10, 20, 30, 40]` and the share 0.5 it is 20.
    """
    rank = max(ceil(share * len(times)), 1)  # counted from 1; for the share 0 it is the quickest answer
    return times[rank - 1]
