"""The document of a run. Each output is made from it: conformance.json, junit.xml, page, terminal, summary of a job.

`document_of` in `reports/outputs/conformance_json.py` builds it once. conformance.json is the document as JSON, and
conformance.schema.json is its schema.

- A text of the suite is a message (`spec/message.py`) until an output puts it into its language.
- A requirement has its findings as `Finding`, from which each output makes a sentence in its language. Only
  conformance.json has them as `Deviation`, which is plain data.
- A text from the command line, the file system or a service is not checked against a pattern (a regular expression).
  A pattern could refuse a text, and then the run would have no report.

At the end is `EarlierRun`: the few members that the suite reads from the conformance.json of another run.

Self-tests: reports/outputs/test_conformance_json.py.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, PlainSerializer, SkipValidation, WithJsonSchema
from pydantic.config import JsonDict

from environments.profiles.parts import Permission, one_of, written_as
from reports.observed.behaviour import Drift
from reports.result.published import (
    BehaviourData,
    Count,
    Day,
    ExchangeNumbers,
    LevelName,
    Moment,
    OperationId,
    Published,
    RequirementId,
    Sha256,
    ShownText,
    Untrusted,
    left_out_without_a_value,
)
from reports.result.run import ALERTS, NoteKind
from reports.result.verdicts import VERDICTS_ON_THE_SERVICE, Coverage, RunVerdict, Verdict
from spec.findings import Finding
from spec.message import Text, Value
from spec.requirements import interface_document

FORMAT = "1.7"
"""Version of the schema. The first number grows if a reader has to change, the second if there are more members."""
_UNIQUE: JsonDict = {"uniqueItems": True}
"""Added to the schema of a member: no item of the array is repeated."""
_POSITIVE = Annotated[int, Field(ge=1)]
"""An integer from 1 on."""

# -- provenance ---------------------------------------------------------------------------------------------------


class SuiteVersion(Published):
    """The suite that ran."""

    version: str
    proof: ShownText
    """How many seeded faults the suite catches, in words."""


class InterfaceDocument(Published):
    """The document that the requirements are taken from."""

    title: str
    sha256: Sha256
    """Digest of its bytes."""
    taken: Day
    """Day of the copy that the requirements are taken from."""


def _interface_document() -> InterfaceDocument:
    """Title, digest and date of the interface document from which the requirements of this suite are taken."""
    return InterfaceDocument(**interface_document())


class VersionHeader(Published):
    """A header of the service that tells a version."""

    header: str
    value: Annotated[str, Field(max_length=100)]


class Provenance(Published):
    """The suite, the documents that it judged by, the profile and the service."""

    suite_version: str
    suite_commit: SkipValidation[Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})(\+dirty)?$")] | None]
    """null if the suite is no git work tree. +dirty: tracked files were changed."""
    ledger_sha256: Sha256
    """Digest of spec/requirements.yaml."""
    schema_sha256: Sha256
    """Digest of spec/openapi.yaml."""
    interface_document: InterfaceDocument = Field(default_factory=_interface_document)
    profile_sha256: Sha256
    """Digest of the profile as it applied, without accounts, keys, codes, bodies and header values."""
    seed: Count
    """Seed of the generated requests."""
    started: Moment
    finished: Moment
    service_version: tuple[VersionHeader, ...]
    """Headers that tell a version. A header with different values in two answers is left out."""
    ci_job: SkipValidation[Annotated[str, Field(pattern="^https?://", max_length=500)] | None]
    """Address of the CI job; null outside of one."""


class Environment(Published):
    """The target, and what the run was permitted to do there."""

    name: str
    base_url: str
    redirected: bool = False
    """base_url is that of --base-url, and not that of the profile."""
    embedded: bool
    """The target was the sandbox of the suite."""
    sandbox: bool = False
    """The profile says that nothing at the target has a value."""
    allow: tuple[Permission, ...] = Field(json_schema_extra=_UNIQUE)
    """The permissions of the profile."""
    fail_on: tuple[LevelName, ...] = Field(json_schema_extra=_UNIQUE)
    """The levels at which a deviation is a failure."""
    drift: Annotated[str, one_of("warn", "fail")]
    """Whether drift only warns or fails this run."""


# -- traffic ------------------------------------------------------------------------------------------------------

AlertName = Annotated[str, one_of(*ALERTS.values())]
"""The names that conformance.json has for the kinds of alerts, such as `outcome-unknown`."""


class Alert(Published):
    """A note that every summary says first."""

    kind: Annotated[NoteKind, PlainSerializer(ALERTS.__getitem__, return_type=AlertName)]
    text: ShownText


class Traffic(Published):
    """How many requests were sent."""

    requests: Count
    executions: Count
    """Transfers executed, with those whose outcome is unknown."""
    unknown_outcomes: Count


class GeneratedTraffic(Published):
    """Generated requests, and how each operation answered them."""

    seed: Count
    examples: Count
    """Requests for each operation."""
    accepted: dict[OperationId, Count]
    """Number of accepted requests by operation."""
    refused: dict[OperationId, dict[str, Count]]
    """By operation, how often each refusal came."""
    harmless: tuple[OperationId, ...]
    """Operations of these that only read."""
    cut: tuple[ShownText, ...]
    """Requests that were left out."""
    notes: tuple[ShownText, ...]


class CutShort(Published):
    """A limit that cut requests short, and the operations."""

    why: ShownText
    operations: tuple[OperationId, ...]


class Latency(Published):
    """Times of the answers of an operation, in milliseconds: a share of the answers took at most so long."""

    count: _POSITIVE
    min_ms: float
    p25_ms: float
    median_ms: float
    p75_ms: float
    p95_ms: float
    max_ms: float


class ListedExchange(Published):
    """A request, and its result."""

    number: _POSITIVE
    operation: str
    """An operationId, or another text for an undocumented path."""
    elapsed_ms: float
    """Milliseconds until the whole answer was there."""
    beside: Count
    """Number of other requests on the wire meanwhile."""
    request: str
    """Method and address."""
    result: int | str | None
    """The status, or why there is none."""
    at_ms: float
    """Milliseconds from the start of the run until it was sent."""
    part: str | None = left_out_without_a_value()
    """The part of the generated traffic that it belongs to."""
    purpose: str | None = left_out_without_a_value()
    """Why it was sent."""


# -- findings -----------------------------------------------------------------------------------------------------


class Deviation(Published):
    """A finding as data."""

    code: str
    """Code of the templates in spec/findings.yaml."""
    parameters: dict[str, str | int]
    """Values of the placeholders in these templates."""
    pointers: tuple[str, ...]
    """JSON pointers to members of the response that deviate or are missing."""
    alone: bool
    """False if it shows only with other requests in flight."""
    exchanges: ExchangeNumbers
    shown_by: ShownText | None = left_out_without_a_value()
    """The kind of the generated request that shows it."""
    times: int | None = left_out_without_a_value()
    """How many generated requests show it."""


def _deviation(finding: Finding) -> Deviation:
    """A finding, which is one deviation of the service from a requirement, as conformance.json has it.

    `shown_by` and `times` are about generated requests. They are None, and so not in the file, if no generated request
    shows the deviation. `alone` is False if the deviation shows only while other requests are under way.
    """
    is_shown_by_generated_requests = finding.times > 0  # the number of these requests
    return Deviation(
        code=finding.code,  # names the kind of the deviation, such as "missing"
        parameters={name: _number_or_text(value) for name, value in finding.parameters},
        pointers=finding.pointers,  # JSON pointers to the members of the response that deviate
        alone=finding.alone,
        exchanges=finding.exchanges,  # numbers of the requests whose answers show the deviation
        shown_by=finding.shown_by if is_shown_by_generated_requests else None,
        times=finding.times if is_shown_by_generated_requests else None,
    )


def _number_or_text(value: Value) -> int | str:
    """A value in the sentence of a finding as JSON can have it: a number unchanged, anything else as English text."""
    return value if isinstance(value, int) else str(value)


class ReportedRequirement(Published):
    """A requirement, and its result in this run."""

    model_config = ConfigDict(json_schema_extra={"dependentRequired": {"expected": ["got"], "got": ["expected"]}})

    id: RequirementId
    section: str
    """Where the interface document states it."""
    level: LevelName
    operation: OperationId | None
    text: str
    """The statement."""
    verdict: Verdict
    message: ShownText
    """The findings in words, or the reason why there are none."""
    found: tuple[Annotated[Finding, written_as(Any), PlainSerializer(_deviation, return_type=Deviation)], ...]
    """The findings, as data."""
    expected: ShownText | None = left_out_without_a_value()
    """What the findings expected. Only a requirement with a finding has it."""
    got: ShownText | None = left_out_without_a_value()
    """What the findings got. Only a requirement with a finding has it."""
    exchanges: ExchangeNumbers
    rests_on: Count = 0
    """Exchanges that the verdict rests on: all that show whether the requirement is met, also those that are not named
    in `exchanges`."""
    elapsed_s: Annotated[float, Field(ge=0)]
    """Seconds that its tests took."""
    known_failure: str | None = left_out_without_a_value()
    """The reason that the profile gives, if it lists this failure in known_failures."""
    known_until: str | None = left_out_without_a_value()
    """The last day of that entry of the profile."""

    @property
    def is_known(self) -> bool:
        """True for a known failure: the profile lists the requirement in `known_failures`, with a reason."""
        return self.known_failure is not None

    @property
    def fails(self) -> bool:
        """True if the requirement makes the run fail. A known failure (one that the profile lists) does not."""
        return self.verdict is Verdict.FAIL and not self.is_known

    @property
    def deviates(self) -> bool:
        """True if the service deviates from the requirement: for a failure, known or not, and for a warning."""
        return self.verdict in (Verdict.FAIL, Verdict.WARN)


class ReportedFinding(Published):
    """Requirements that deviate for one cause. The first of them leads, and the finding has its level and verdict."""

    cause: RequirementId
    """The requirement that leads."""
    requirements: tuple[RequirementId, ...]
    """All requirements that deviate for this cause."""
    operations: tuple[OperationId, ...]
    """The operations of these requirements."""
    message: ShownText
    exchanges: ExchangeNumbers
    level: LevelName
    verdict: Annotated[Verdict, WithJsonSchema({"type": "string", "enum": ["fail", "warn"]})]
    text: str
    """The statement of the requirement that leads."""
    section: str
    """Where the interface document states it."""
    got: ShownText | None = left_out_without_a_value()
    """What the findings of the requirement that leads got."""
    known_failure: str | None = left_out_without_a_value()
    """The reason that the profile gives, if it lists this failure in known_failures."""
    known_until: str | None = left_out_without_a_value()
    """The last day of that entry of the profile."""
    reproduce: str
    """Lines of a shell that send an exchange of the finding again; empty if there are none."""

    @property
    def is_known(self) -> bool:
        """True for a known failure: the profile lists its requirements in `known_failures`, with a reason."""
        return self.known_failure is not None

    @property
    def fails(self) -> bool:
        """True if the finding makes the run fail. A known failure (one that the profile lists) does not."""
        return self.verdict is Verdict.FAIL and not self.is_known


class ObservationInWords(Published):
    """Behaviour of the service that the interface document does not show."""

    id: RequirementId
    value: str
    """The behaviour in words."""
    exchanges: ExchangeNumbers


class AcceptedRecord(Published):
    """The record that behaviour is compared with, or that this run wrote with --accept."""

    accepted: Day
    """Day on which somebody accepted it."""
    suite_version: str
    """Version of the suite that wrote it."""


class KeyNotCleanedUp(Published):
    """A key that the run registered and did not clean up."""

    what: ShownText
    """The key, as it may be shown."""
    why: ShownText
    """Reason why it is left."""
    of_the_profile: bool
    """The profile names the key."""
    exchanges: ExchangeNumbers


# -- changes since another run ------------------------------------------------------------------------------------


class ComparedRun(Published):
    """The other run of a comparison."""

    environment: str
    started: Moment
    suite_version: str
    verdict: RunVerdict


class Comparison(Published):
    """Changes since another run."""

    compared_with: ComparedRun = Field(serialization_alias="with")
    """The other run."""
    comparable: bool
    """The two runs are of the same scope."""
    differs: tuple[str, ...] = ()
    """Parts of the scope that differ, such as the selection."""
    newly_failing: tuple[RequirementId, ...]
    fixed: tuple[RequirementId, ...]
    newly_exercised: tuple[RequirementId, ...]
    no_longer_exercised: tuple[RequirementId, ...]
    newly_warning: tuple[RequirementId, ...]
    no_longer_warning: tuple[RequirementId, ...]
    worse: bool
    """A requirement newly fails, or one at a failing level is no longer exercised."""
    line: ShownText
    """The change in one line."""


# -- the document -------------------------------------------------------------------------------------------------


class RunDocument(Published):
    """Result of one run. A reader of format 1.0 reads every 1.x, which only adds members. Texts are redacted."""

    format: Annotated[str, Field(pattern=r"^1\.[0-9]+$")]
    """Version of this schema."""
    suite: SuiteVersion
    provenance: Provenance
    environment: Environment
    started: Moment
    duration_s: float
    verdict: RunVerdict
    """Verdict of the run."""
    why_incomplete: ShownText = Field(serialization_alias="incomplete")
    """Why the run is incomplete, or that its report could not be written; else empty."""
    exit_status: Annotated[int, Field(ge=0, le=7)]
    selection: str | None
    """What -k, -m or paths selected; null for everything."""
    recorded: ShownText
    """The recorded traffic that was judged; empty for a run that sent requests."""
    alerts: tuple[Alert, ...]
    """The notes that every summary says first."""
    notes: tuple[ShownText, ...]
    """All notes, the alerts first."""
    traffic: Traffic
    generated: GeneratedTraffic
    counts: dict[LevelName, dict[Verdict, _POSITIVE]]
    """By level, how many requirements have each verdict."""
    coverage: dict[LevelName, Coverage]
    """By level, how many requirements an exchange can show, and how many were tested."""
    cut: tuple[CutShort, ...]
    """Limits that cut requests short, and the operations."""
    granted: tuple[OperationId, ...]
    """Operations that succeeded."""
    granted_nothing: tuple[OperationId, ...]
    """Operations that were asked with the valid token and never succeeded."""
    findings: tuple[ReportedFinding, ...]
    """The requirements that fail or warn, one entry for each cause, failures first."""
    requirements: tuple[ReportedRequirement, ...]
    """Requirements in the order of the interface document."""
    observations: tuple[ObservationInWords, ...]
    """Behaviour that the interface document does not show, in words."""
    observed: SkipValidation[BehaviourData]
    """The same behaviour by requirement and situation, in the order of the interface document."""
    drift: tuple[Drift, ...]
    """Places at which the behaviour contradicts the record."""
    record: AcceptedRecord | None
    """The record that behaviour is compared with, or that this run wrote with --accept; null if there is no record."""
    left_behind: tuple[ShownText, ...]
    """The keys of not_cleaned_up, then prepared transfers that were not executed, in words."""
    not_cleaned_up: tuple[KeyNotCleanedUp, ...]
    """Keys that the run registered and did not clean up."""
    comparison: Comparison | None
    """Changes since another run; null if there was none to compare with."""
    latency: dict[OperationId, Latency]
    """By operation, the times of its answers."""
    exchanges: tuple[ListedExchange, ...]
    """Every request, by number."""
    headline: str
    """The verdict in one line."""

    @property
    def other_notes(self) -> tuple[Text, ...]:
        """The notes that are no alerts: outputs show them after the findings, and alerts before."""
        return self.notes[len(self.alerts) :]  # `notes` has all notes, the alerts first

    @property
    def transfers_not_executed(self) -> tuple[Text, ...]:
        """The transfers that the run prepared and did not execute, in words."""
        return self.left_behind[len(self.not_cleaned_up) :]  # `left_behind` has the keys first, then the transfers

    @property
    def is_red_without_a_failure(self) -> bool:
        """True if the run is not green although no requirement fails, so that a report must give another reason.

        Either its verdict says nothing about the service, such as "incomplete". Or its exit status is not 0 for another
        reason, such as "drifted": the behaviour has changed since an earlier run.
        """
        if self.verdict not in VERDICTS_ON_THE_SERVICE:
            return True
        a_requirement_fails = any(requirement.fails for requirement in self.requirements)
        return self.exit_status != 0 and not a_requirement_fails


# -- the document of another run ----------------------------------------------------------------------------------

_WordOfEnum = Field(strict=False)
"""For a member whose type is an enum. A strict model accepts only the enum itself, but a JSON file has its text."""


class EarlierSuite(Untrusted):
    """The suite of another run."""

    version: Annotated[str, Field(max_length=200)]


class EarlierEnvironment(Untrusted):
    """The target of another run, and its permissions."""

    name: Annotated[str, Field(max_length=200)]
    base_url: Annotated[str, Field(max_length=2000)]
    embedded: bool
    allow: Annotated[list[Annotated[str, Field(max_length=50)]], Field(max_length=50)]
    fail_on: Annotated[list[LevelName], Field(max_length=10)]


class EarlierDrift(Untrusted):
    """A place in an answer at which another run contradicted the record of accepted behaviour."""

    id: RequirementId
    situation: str
    place: str
    now: str = Field(validation_alias="is")


class EarlierRequirement(Untrusted):
    """A requirement, and its result in another run."""

    id: RequirementId
    level: LevelName
    verdict: Annotated[Verdict, _WordOfEnum]
    known_failure: str | None = left_out_without_a_value()

    @property
    def fails(self) -> bool:
        """True if the requirement made that run fail. A known failure (one that its profile lists) did not."""
        return self.verdict is Verdict.FAIL and self.known_failure is None


class EarlierRun(Untrusted):
    """The members that are read of the conformance.json of another run. The limits keep a hostile file small."""

    format: Annotated[str, Field(pattern=r"^1\.[0-9]{1,3}$")]
    suite: EarlierSuite
    environment: EarlierEnvironment
    started: Moment
    verdict: Annotated[RunVerdict, _WordOfEnum]
    selection: Annotated[str, Field(max_length=10_000)] | None
    drift: Annotated[list[EarlierDrift], Field(max_length=10_000, default_factory=list)]
    requirements: Annotated[list[EarlierRequirement], Field(max_length=5000)]


ComparableRun = EarlierRun | RunDocument
"""Either of the two runs of a comparison: an earlier run as its file has it, or the run of this document."""
