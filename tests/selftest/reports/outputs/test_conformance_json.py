"""The published JSON Schemas: each is made from its model, refers only to itself, and fits the files that a run writes."""

import json
from dataclasses import replace

import jsonschema_rs
import pytest

from reports.observed.behaviour import Drift
from reports.observed.comparison import CHANGES
from reports.outputs.conformance_json import as_json, document_of
from reports.result.document import FORMAT, EarlierRun
from reports.result.json_schemas import FOLDER, MODELS, schema_text
from reports.result.run import ALERTS, LeftKey, Note, NoteKind, Observation, Recording
from reports.result.verdicts import RunVerdict, Verdict
from reports.sentences.headline import PERMISSIONS
from spec.facts import words_as_facts
from spec.findings import finding
from spec.requirements import LEVELS, requirements
from tests.selftest.hand_made import document_with, run_with_results
from tests.selftest.reports.observed.test_comparison import RUN
from tests.selftest.reports.observed.test_earlier_runs import RECORD
from tests.selftest.schemas import CONFORMANCE, schema_deviations

SCHEMA = json.loads(CONFORMANCE.read_text("utf-8"))
DEFINITIONS = SCHEMA["$defs"]


@pytest.mark.parametrize("name", MODELS)
def test_a_schema_is_made_from_its_model(name):
    """Each published JSON Schema is what its model in the code generates, so the two cannot differ.

    After a change: `python -m reports.result.json_schemas`.
    """
    published_schema = (FOLDER / name).read_text("utf-8")

    assert published_schema == schema_text(name)


def parts_of(value):
    """The values of a JSON object, or the items of an array. An empty list for any other JSON value."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    return []


def references(schema):
    """Every `$ref` of a schema and of the schemas in it, such as "#/$defs/Verdict"."""
    if isinstance(schema, dict) and "$ref" in schema:
        yield schema["$ref"]
    for part in parts_of(schema):
        yield from references(part)


@pytest.mark.parametrize("name", MODELS)
def test_each_schema_refers_only_to_itself(name):
    """Each published schema is valid JSON Schema 2020-12, and each `$ref` in it leads to a definition in the same file."""
    schema = json.loads((FOLDER / name).read_text("utf-8"))
    own_definitions = {f"#/$defs/{definition}" for definition in schema.get("$defs", {})}
    references_to_elsewhere = set(references(schema)) - own_definitions

    # Both raise an error if the schema is not valid.
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validator_for(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert references_to_elsewhere == set()


def test_the_schema_has_the_lists_of_each_kind_of_change():
    """The schema of a comparison has a member, such as `newly_failing`, for each kind of change between two runs.

    A comparison has other members, too, such as the run that it compares with.
    """
    members_of_a_comparison = DEFINITIONS["Comparison"]["properties"]
    kinds_without_a_member = set(CHANGES) - set(members_of_a_comparison)

    assert kinds_without_a_member == set()


def test_the_words_of_the_schema_are_those_of_the_suite():
    """The schema lists exactly the verdicts, levels and permissions that the code has, in the same order."""
    words_of_the_schema = {
        "verdicts of a run": DEFINITIONS["RunVerdict"]["enum"],
        "verdicts of a requirement": DEFINITIONS["Verdict"]["enum"],
        "levels": DEFINITIONS["ReportedRequirement"]["properties"]["level"]["enum"],
        "permissions": DEFINITIONS["Environment"]["properties"]["allow"]["items"]["enum"],
    }

    assert words_of_the_schema == {
        "verdicts of a run": [str(verdict) for verdict in RunVerdict],
        "verdicts of a requirement": [str(verdict) for verdict in Verdict],
        "levels": list(LEVELS),
        "permissions": list(PERMISSIONS),
    }


def test_the_id_of_every_requirement_is_valid_in_the_schema():
    """The pattern of the schema for the id of a requirement matches every id that the suite has."""
    pattern_of_ids = DEFINITIONS["ReportedRequirement"]["properties"]["id"]

    invalid_ids = [id for id in requirements() if not jsonschema_rs.is_valid(pattern_of_ids, id)]

    assert invalid_ids == []


@pytest.mark.parametrize(("format_of_file", "is_valid"), [(FORMAT, True), ("1.12", True), ("2.0", False)])
def test_the_schema_permits_later_minor_formats_only(format_of_file, is_valid):
    """A file of a later minor format, such as 1.12, is valid, and a file of the next major format, 2.0, is not."""
    assert jsonschema_rs.is_valid(SCHEMA["properties"]["format"], format_of_file) is is_valid


def test_the_schema_knows_every_kind_of_alert():
    """The schema lists exactly the kinds of notes that are alerts, in the order in which alerts are printed.

    An alert is a note of the run that a reader must see first, such as an unknown outcome of a transfer. ALERTS has the
    word of the schema for each such kind.
    """
    words_of_alerts = [ALERTS[kind] for kind in NoteKind if Note(kind, "").is_alert]

    assert DEFINITIONS["Alert"]["properties"]["kind"]["enum"] == words_of_alerts


def test_a_member_that_is_left_out_is_never_null():
    """A requirement without a known failure has no member `known_failure` at all, so the schema does not permit null
    for it.

    A known failure is a failure that the profile lists, so that it does not fail the run.
    """
    known_failure = DEFINITIONS["ReportedRequirement"]["properties"]["known_failure"]

    assert known_failure["type"] == "string"
    assert "known_failure" not in DEFINITIONS["ReportedRequirement"]["required"]


def test_files_of_earlier_formats_are_valid():
    """A conformance.json without the members that later formats added is valid against the schema."""
    document = json.loads(document_with().model_dump_json(by_alias=True))
    for added_member in ("redirected", "sandbox"):
        del document["environment"][added_member]
    del document["provenance"]["interface_document"]

    assert schema_deviations(document) == []


def test_unknown_names_and_members_are_not_valid():
    """A conformance.json is not valid against the schema if it has a member, an operation or a verdict that the suite
    never writes, or null in the place of a text.
    """
    document = json.loads(document_with().model_dump_json(by_alias=True))
    invalid_members = {
        "a name that is no operation": {"latency": {"no operation": {}}},
        "an unknown member": {"another": 1},
        "an unknown verdict": {"verdict": "good"},
        "null in the place of a text": {"headline": None},
    }

    # schema_deviations gives the places that are not valid, so an empty list says that the document is valid.
    faults_not_noticed = [
        fault for fault, member in invalid_members.items() if schema_deviations(document | member) == []
    ]

    assert schema_deviations(document) == []
    assert faults_not_noticed == []


def test_half_of_a_surrogate_pair_costs_no_report():
    """conformance.json is written even if texts in it have half of a surrogate pair, which UTF-8 cannot encode.

    A service may send such a text. It is escaped as `\\ud800`. Here it stands in more than twenty places.
    """
    half = "\ud800"
    finding_with_half = replace(finding("json", f"/data/{half}", error=half), shown_by=half, times=2, exchanges=(1,))
    run = run_with_results(
        ("executePix.json", "fail", finding_with_half),
        selection=half,
        recorded=Recording(half),
        drift=[Drift(id="executePix.repeated", situation=half, place=half, was=half, now=half)],
        record=RECORD,
        observations=[Observation("executePix.repeated", words_as_facts(half), half)],
        not_cleaned_up=[LeftKey(half, half, False, (1,))],
        unsent={half: ["executePix"]},
    )
    run.profile = replace(run.profile, name=half)

    text = as_json(document_of(run))

    assert text.count(r"\ud800") > 20


@pytest.mark.parametrize(
    ("name", "content"),
    [("comparable.schema.json", RUN), ("record.schema.json", RECORD.model_dump())],
)
def test_the_model_reads_exactly_the_files_that_are_valid(name, content):
    """A file that is valid against its schema can be read. If any one member is missing, the file is not valid.

    `model` is the class that reads such a file.
    """
    model, _ = MODELS[name]
    validator = jsonschema_rs.validator_for(json.loads(schema_text(name)))
    contents_without_one_member = [
        {key: value for key, value in content.items() if key != missing} for missing in content
    ]
    valid_without_a_member = [
        incomplete for incomplete in contents_without_one_member if validator.is_valid(incomplete)
    ]

    assert model.model_validate(content)
    assert validator.is_valid(content)
    assert valid_without_a_member == []


def test_a_later_minor_format_is_read():
    """A file of a later minor format is read, and members that this version does not know are ignored at each level."""
    suite_with_unknown_member = RUN["suite"] | {"later": 1}
    later_document = RUN | {"format": "1.99", "later": [], "suite": suite_with_unknown_member}

    run = EarlierRun.model_validate(later_document)

    assert run.format == "1.99"


def object_schemas(schema):
    """Every schema of a JSON object that lists the members of the object, as `properties`."""
    if isinstance(schema, dict) and schema.get("type") == "object" and "properties" in schema:
        yield schema
    for part in parts_of(schema):
        yield from object_schemas(part)


def test_no_object_has_members_that_are_not_described():
    """Every object in the schema of conformance.json forbids members that the schema does not describe.

    So a member that is added to the document is added to the schema, too.
    """
    objects = list(object_schemas(SCHEMA))
    open_objects = [schema["properties"] for schema in objects if schema.get("additionalProperties") is not False]

    assert open_objects == []
    assert len(objects) > 8
