"""The published schemas: each is made from its model and stands alone. Every run of the self-tests is valid against
conformance.schema.json, and what is no document of a run is not."""

import json
from dataclasses import replace

import jsonschema_rs
import pytest

from reports.observed.behaviour import Drift
from reports.observed.comparison import CHANGES
from reports.outputs.conformance_json import as_json, document_of
from reports.result.document import FORMAT, EarlierRun
from reports.result.json_schemas import FOLDER, MODELS, schema_text
from reports.result.run import LeftKey, Note, NoteKind, Observation, Recording
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
DEFS = SCHEMA["$defs"]


@pytest.mark.parametrize("name", MODELS)
def test_a_schema_is_made_from_its_model(name):
    """`python -m reports.result.json_schemas` makes the schemas."""
    assert (FOLDER / name).read_text("utf-8") == schema_text(name)


def references(schema):
    """Every `$ref` of a schema."""
    if isinstance(schema, dict) and "$ref" in schema:
        yield schema["$ref"]
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in parts:
        yield from references(part)


@pytest.mark.parametrize("name", MODELS)
def test_each_schema_refers_only_to_itself(name):
    """Each published schema is one of JSON Schema 2020-12."""
    schema = json.loads((FOLDER / name).read_text("utf-8"))
    own = {f"#/$defs/{definition}" for definition in schema.get("$defs", {})}

    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validator_for(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(references(schema)) - own == set()


def test_the_words_of_the_schema_are_those_of_the_suite():
    """The schema has all words in their order, every id, and each list of a comparison.

    A reader of format 1.0 reads 1.12 and refuses 2.0.
    """
    permissions = DEFS["Environment"]["properties"]["allow"]["items"]["enum"]
    requirement = DEFS["ReportedRequirement"]["properties"]
    format = SCHEMA["properties"]["format"]

    assert DEFS["RunVerdict"]["enum"] == [str(word) for word in RunVerdict]
    assert DEFS["Verdict"]["enum"] == [str(word) for word in Verdict]
    assert requirement["level"]["enum"] == list(LEVELS)
    assert permissions == list(PERMISSIONS)
    assert [id for id in requirements() if not jsonschema_rs.is_valid(requirement["id"], id)] == []
    assert [jsonschema_rs.is_valid(format, name) for name in (FORMAT, "1.12", "2.0")] == [True, True, False]
    assert set(CHANGES) <= set(DEFS["Comparison"]["properties"])


def test_the_schema_knows_every_kind_of_alert():
    """The kinds stand in the order in which alerts are printed."""
    kinds = [kind.name.lower().replace("_", "-") for kind in NoteKind if Note(kind, "").is_alert]

    assert DEFS["Alert"]["properties"]["kind"]["enum"] == kinds


def test_a_member_that_is_left_out_is_never_null():
    """A requirement has `known_failure` only if the profile lists its failure."""
    known_failure = DEFS["ReportedRequirement"]["properties"]["known_failure"]

    assert known_failure["type"] == "string"
    assert "known_failure" not in DEFS["ReportedRequirement"]["required"]


def test_files_of_earlier_formats_are_valid():
    """A file of an earlier format lacks the members that were added later."""
    document = json.loads(document_with().model_dump_json(by_alias=True))
    for added_member in ("redirected", "sandbox"):
        del document["environment"][added_member]
    del document["provenance"]["interface_document"]

    assert schema_deviations(document) == []


def test_unknown_names_and_members_are_not_valid():
    """A name or a member that the suite does not write is not valid."""
    document = json.loads(document_with().model_dump_json(by_alias=True))
    faults = {
        "a name that is no operation": {"latency": {"no operation": {}}},
        "another member": {"another": 1},
        "another verdict": {"verdict": "good"},
        "null in the place of a text": {"headline": None},
    }

    assert schema_deviations(document) == []
    assert [name for name, fault in faults.items() if not schema_deviations(document | fault)] == []


def test_half_of_a_surrogate_pair_costs_no_report():
    """A service may send half of a surrogate pair, which is no UTF-8. conformance.json has it escaped."""
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

    assert as_json(document_of(run)).count(r"\ud800") > 20


@pytest.mark.parametrize(
    ("name", "content"),
    [("comparable.schema.json", RUN), ("record.schema.json", RECORD.model_dump())],
)
def test_the_model_reads_exactly_the_files_that_are_valid(name, content):
    """The model reads what is valid against its schema. A content without one of its members is not valid."""
    model, _ = MODELS[name]
    validator = jsonschema_rs.validator_for(json.loads(schema_text(name)))
    incomplete = [{key: value for key, value in content.items() if key != missing} for missing in content]

    assert model.model_validate(content)
    assert validator.is_valid(content)
    assert [content for content in incomplete if validator.is_valid(content)] == []


def test_a_later_minor_format_is_read():
    """Unknown members are ignored at each level."""
    suite = RUN["suite"] | {"later": 1}

    assert EarlierRun.model_validate(RUN | {"format": "1.99", "later": [], "suite": suite}).format == "1.99"


def object_schemas(schema):
    """Every schema of an object whose members the suite chooses."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and schema.get("type") == "object" and "properties" in schema:
        yield schema
    for part in parts:
        yield from object_schemas(part)


def test_no_object_has_members_that_are_not_described():
    """A member that is added to a document is added to the schema, too."""
    assert [
        schema["properties"] for schema in object_schemas(SCHEMA) if schema.get("additionalProperties") is not False
    ] == []
    assert len(list(object_schemas(SCHEMA))) > 8
