"""The document of a run. Each output is made from it: conformance.json, junit.xml, page, terminal, summary of a job.

It is built once, in `reports/outputs/conformance_json.py`. conformance.json is its dump, and conformance.schema.json
comes from it. A text is a message until one of the outputs renders it, and a deviation is a `Finding`.
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
from reports.result.run import NoteKind
from reports.result.verdicts import ON_THE_SERVICE, Coverage, RunVerdict, Verdict
from spec.findings import Finding
from spec.message import Text
from spec.requirements import interface_document

FORMAT = "1.6"
"""Of the schema: the first number grows where a reader has to change, the second where there are more members."""
_UNIQUE: JsonDict = {"uniqueItems": True}
_POSITIVE = Annotated[int, Field(ge=1)]

# -- where the run came from --------------------------------------------------------------------------------------


class SuiteVersion(Published):
    """The suite that ran."""

    version: str
    proof: ShownText
    """How many seeded faults the suite catches."""


class InterfaceDocument(Published):
    """What the requirements are taken from."""

    title: str
    sha256: Sha256
    """Of its bytes."""
    taken: Day


def _interface_document() -> InterfaceDocument:
    return InterfaceDocument(**interface_document())


class VersionHeader(Published):
    """A header that tells a version of the service."""

    header: str
    value: Annotated[str, Field(max_length=100)]


class Provenance(Published):
    """Where the run came from."""

    suite_version: str
    suite_commit: SkipValidation[Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})(\+dirty)?$")] | None]
    """null where the suite is no git work tree. +dirty: tracked files were changed."""
    ledger_sha256: Sha256
    """Of spec/requirements.yaml."""
    schema_sha256: Sha256
    """Of spec/openapi.yaml."""
    interface_document: InterfaceDocument = Field(default_factory=_interface_document)
    profile_sha256: Sha256
    """Of the profile as it applied, without accounts, keys, codes, bodies and header values."""
    seed: Count
    started: Moment
    finished: Moment
    service_version: tuple[VersionHeader, ...]
    """Headers that tell a version, where all answers agree on them."""
    ci_job: SkipValidation[Annotated[str, Field(pattern="^https?://", max_length=500)] | None]


class Environment(Published):
    """Whom the run asked, and what it was permitted to do there."""

    name: str
    base_url: str
    redirected: bool = False
    """base_url is that of --base-url, and not that of the profile."""
    embedded: bool
    """The target was the sandbox of the suite."""
    sandbox: bool = False
    """Nothing at the target is worth anything, as the profile says."""
    allow: tuple[Permission, ...] = Field(json_schema_extra=_UNIQUE)
    fail_on: tuple[LevelName, ...] = Field(json_schema_extra=_UNIQUE)
    drift: Annotated[str, one_of("warn", "fail")]
    """What drift is in this run."""


# -- what was sent --------------------------------------------------------------------------------------------------

AlertName = Annotated[str, one_of(*(kind.published_name for kind in NoteKind if kind.is_alert))]


def _published_name(kind: NoteKind) -> str:
    return kind.published_name


class Alert(Published):
    """A note that every summary says first."""

    kind: Annotated[NoteKind, PlainSerializer(_published_name, return_type=AlertName)]
    text: ShownText


class Traffic(Published):
    """How many requests were sent."""

    requests: Count
    executions: Count
    """Transfers executed, those with an unknown outcome included."""
    unknown_outcomes: Count


class GeneratedTraffic(Published):
    """Generated traffic: its seed, and by operation how it was answered."""

    seed: Count
    examples: Count
    accepted: dict[OperationId, Count]
    refused: dict[OperationId, dict[str, Count]]
    harmless: tuple[OperationId, ...]
    cut: tuple[ShownText, ...]
    notes: tuple[ShownText, ...]


class CutShort(Published):
    """Requests that a limit left out."""

    why: ShownText
    operations: tuple[OperationId, ...]


class Latency(Published):
    """The time that a share of the answers of an operation took at most, in milliseconds."""

    count: _POSITIVE
    min_ms: float
    p25_ms: float
    median_ms: float
    p75_ms: float
    p95_ms: float
    max_ms: float


class ListedExchange(Published):
    """A request, and what became of it."""

    number: _POSITIVE
    operation: str
    """An operationId, or another text for an undocumented path."""
    elapsed_ms: float
    beside: Count
    """Other requests on the wire meanwhile."""
    request: str
    """Method and address."""
    result: int | str | None
    """The status, or why there is none."""
    at_ms: float
    """When it was sent, from the start of the run on."""
    part: str | None = left_out_without_a_value()
    """The part of the generated traffic that it belongs to."""
    purpose: str | None = left_out_without_a_value()
    """Why it was sent."""


# -- what was found -------------------------------------------------------------------------------------------------


class Deviation(Published):
    """A finding as data."""

    code: str
    """Names the templates in spec/findings.yaml."""
    parameters: dict[str, str | int]
    pointers: tuple[str, ...]
    """JSON pointers to what deviates in the body of the response, or is missing there."""
    alone: bool
    """False where it shows only with other requests in flight."""
    exchanges: ExchangeNumbers
    shown_by: ShownText | None = left_out_without_a_value()
    """The class of a generated request."""
    times: int | None = left_out_without_a_value()
    """How many generated requests show it."""


def _deviation(finding: Finding) -> Deviation:
    return Deviation(
        code=finding.code,
        parameters={name: value if isinstance(value, int) else str(value) for name, value in finding.parameters},
        pointers=finding.pointers,
        alone=finding.alone,
        exchanges=finding.exchanges,
        shown_by=finding.shown_by if finding.times else None,
        times=finding.times or None,
    )


class ReportedRequirement(Published):
    """A requirement, and what the run says of it."""

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
    """What was found, or what was missing."""
    found: tuple[Annotated[Finding, written_as(Any), PlainSerializer(_deviation, return_type=Deviation)], ...]
    """The findings, as data."""
    expected: ShownText | None = left_out_without_a_value()
    """Of a failure or a warning."""
    got: ShownText | None = left_out_without_a_value()
    exchanges: ExchangeNumbers
    elapsed_s: Annotated[float, Field(ge=0)]
    """The time of its tests."""
    known_failure: str | None = left_out_without_a_value()
    """The reason of the profile."""
    known_until: str | None = left_out_without_a_value()
    """The last day of that entry of the profile."""

    @property
    def is_known(self) -> bool:
        """True for a failure that the profile lists."""
        return self.known_failure is not None

    @property
    def fails(self) -> bool:
        """True if it fails the run: a known failure does not."""
        return self.verdict is Verdict.FAIL and not self.is_known

    @property
    def deviates(self) -> bool:
        """True for a failure, known or not, and for a warning."""
        return self.verdict in (Verdict.FAIL, Verdict.WARN)


class ReportedFinding(Published):
    """Requirements that deviate for one cause. The first of them leads."""

    cause: RequirementId
    """The requirement that leads."""
    requirements: tuple[RequirementId, ...]
    """All that have this cause."""
    operations: tuple[OperationId, ...]
    message: ShownText
    exchanges: ExchangeNumbers
    level: LevelName
    verdict: Annotated[Verdict, WithJsonSchema({"type": "string", "enum": ["fail", "warn"]})]
    text: str
    section: str
    got: ShownText | None = left_out_without_a_value()
    """What the requirement that leads got."""
    known_failure: str | None = left_out_without_a_value()
    known_until: str | None = left_out_without_a_value()
    reproduce: str
    """Lines for a shell; empty where there are none."""

    @property
    def is_known(self) -> bool:
        """True for a failure that the profile lists."""
        return self.known_failure is not None

    @property
    def fails(self) -> bool:
        """True if it fails the run: a known failure does not."""
        return self.verdict is Verdict.FAIL and not self.is_known


class ObservationInWords(Published):
    """How the service does something that the interface document does not show."""

    id: RequirementId
    value: str
    exchanges: ExchangeNumbers


class AcceptedRecord(Published):
    """What drift is seen from, or what this run wrote with --accept."""

    accepted: Day
    suite_version: str


class KeyNotCleanedUp(Published):
    """A key that the run registered and did not clean up."""

    what: ShownText
    why: ShownText
    of_the_profile: bool
    exchanges: ExchangeNumbers


# -- what changed ---------------------------------------------------------------------------------------------------


class ComparedRun(Published):
    """What identifies the other run of a comparison."""

    environment: str
    started: Moment
    suite_version: str
    verdict: RunVerdict


class Comparison(Published):
    """What changed since another run."""

    other: ComparedRun = Field(serialization_alias="with")
    comparable: bool
    differs: tuple[str, ...] = ()
    newly_failing: tuple[RequirementId, ...]
    fixed: tuple[RequirementId, ...]
    newly_exercised: tuple[RequirementId, ...]
    no_longer_exercised: tuple[RequirementId, ...]
    newly_warning: tuple[RequirementId, ...]
    no_longer_warning: tuple[RequirementId, ...]
    worse: bool
    line: ShownText
    """The change in one line."""


# -- the whole ------------------------------------------------------------------------------------------------------


class RunDocument(Published):
    """What one run found. A reader of 1.0 reads every 1.x: later ones have further members. Texts are redacted."""

    format: Annotated[str, Field(pattern=r"^1\.[0-9]+$")]
    """Version of this schema."""
    suite: SuiteVersion
    provenance: Provenance
    environment: Environment
    started: Moment
    duration_s: float
    verdict: RunVerdict
    """Of the run."""
    incomplete: ShownText
    """Why the run is incomplete, or that its report could not be written; else empty."""
    exit_status: Annotated[int, Field(ge=0, le=7)]
    selection: str | None
    """What -k, -m or paths selected; null for everything."""
    recorded: ShownText
    """The recorded traffic that was judged; empty for a run that sent requests."""
    alerts: tuple[Alert, ...]
    """The notes that every summary says first."""
    notes: tuple[ShownText, ...]
    """The alerts and all others."""
    traffic: Traffic
    generated: GeneratedTraffic
    counts: dict[LevelName, dict[Verdict, _POSITIVE]]
    """By level, how many requirements have each verdict."""
    coverage: dict[LevelName, Coverage]
    """By level, how many requirements an exchange can show, and how many were tested."""
    cut: tuple[CutShort, ...]
    """What a limit left out, and in which operations."""
    granted: tuple[OperationId, ...]
    granted_nothing: tuple[OperationId, ...]
    findings: tuple[ReportedFinding, ...]
    """The requirements that fail or warn, one entry for each cause, failures first."""
    requirements: tuple[ReportedRequirement, ...]
    """In the order of the interface document."""
    observations: tuple[ObservationInWords, ...]
    """How the service does what the interface document does not show, in words."""
    observed: SkipValidation[BehaviourData]
    """The same by requirement and situation, in the order of the interface document."""
    drift: tuple[Drift, ...]
    """Where what was observed contradicts the record."""
    record: AcceptedRecord | None
    """What drift is seen from, or what this run wrote with --accept; null where there is no record."""
    left_behind: tuple[ShownText, ...]
    """not_cleaned_up and prepared transfers, in words."""
    not_cleaned_up: tuple[KeyNotCleanedUp, ...]
    """Keys that the run registered and did not clean up."""
    comparison: Comparison | None
    """What changed since another run; null where there was none to compare with."""
    latency: dict[OperationId, Latency]
    """By operation, the time that a share of its answers took at most, in milliseconds."""
    exchanges: tuple[ListedExchange, ...]
    """Every request, in the order of its number."""
    headline: str
    """The verdict in one line."""

    @property
    def other_notes(self) -> tuple[Text, ...]:
        """The notes that are no alerts."""
        return self.notes[len(self.alerts) :]

    @property
    def not_executed(self) -> tuple[Text, ...]:
        """The prepared transfers that were not executed, in words."""
        return self.left_behind[len(self.not_cleaned_up) :]

    @property
    def is_red_without_a_failure(self) -> bool:
        """True if no requirement says why the run is not green: it gives no verdict on the service, it drifts, or an
        entry of known_failures no longer holds."""
        if self.verdict not in ON_THE_SERVICE:
            return True
        return bool(self.exit_status) and not any(requirement.fails for requirement in self.requirements)


# -- what is read of the document of another run ----------------------------------------------------------------------

_Read = Field(strict=False)
"""A word of an enumeration, where all else has the type that JSON gives it."""


class EarlierSuite(Untrusted):
    """The suite of another run."""

    version: Annotated[str, Field(max_length=200)]


class EarlierEnvironment(Untrusted):
    """Whom another run asked."""

    name: Annotated[str, Field(max_length=200)]
    base_url: Annotated[str, Field(max_length=2000)]
    embedded: bool
    allow: Annotated[list[Annotated[str, Field(max_length=50)]], Field(max_length=50)]
    fail_on: Annotated[list[LevelName], Field(max_length=10)]


class EarlierDrift(Untrusted):
    """A place that drifted in another run."""

    id: RequirementId
    situation: str
    place: str
    now: str = Field(validation_alias="is")


class EarlierRequirement(Untrusted):
    """A requirement, and what another run said of it."""

    id: RequirementId
    level: LevelName
    verdict: Annotated[Verdict, _Read]
    known_failure: str | None = left_out_without_a_value()

    @property
    def fails(self) -> bool:
        """True if it failed that run: a known failure did not."""
        return self.verdict is Verdict.FAIL and self.known_failure is None


class EarlierRun(Untrusted):
    """What is read of the conformance.json of another run."""

    format: Annotated[str, Field(pattern=r"^1\.[0-9]{1,3}$")]
    suite: EarlierSuite
    environment: EarlierEnvironment
    started: Moment
    verdict: Annotated[RunVerdict, _Read]
    selection: Annotated[str, Field(max_length=10_000)] | None
    drift: Annotated[list[EarlierDrift], Field(max_length=10_000, default_factory=list)]
    requirements: Annotated[list[EarlierRequirement], Field(max_length=5000)]


ComparableRun = EarlierRun | RunDocument
"""A run that another one is compared with."""
