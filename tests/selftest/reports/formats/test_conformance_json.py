"""conformance.schema.json: every run of the self-tests is valid against it, and what is no document of a run is not."""

import json

import jsonschema_rs

from reports.comparison import CHANGES
from reports.formats.conformance_json import FORMAT
from reports.headline import PERMISSIONS
from reports.run import Note, NoteKind
from reports.verdicts import RunVerdict, Verdict
from spec.requirements import LEVELS, requirements
from tests.selftest.schemas import CONFORMANCE

SCHEMA = json.loads(CONFORMANCE.read_text("utf-8"))
DEFS = SCHEMA["$defs"]


def test_its_words_are_those_of_the_suite():
    """It is a schema of JSON Schema 2020-12. All words are in it, in their order, every id, and each list of a comparison.
    A reader of 1.0 reads 1.1, and refuses 2.0."""
    jsonschema_rs.meta.validate(SCHEMA)
    permissions = SCHEMA["properties"]["environment"]["properties"]["allow"]["items"]["enum"]

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["properties"]["verdict"]["enum"] == [str(word) for word in RunVerdict]
    assert DEFS["verdict"]["enum"] == [str(word) for word in Verdict]
    assert DEFS["level"]["enum"] == list(LEVELS)
    assert permissions == list(PERMISSIONS)
    assert [id for id in requirements() if not jsonschema_rs.is_valid(DEFS["id"], id)] == []
    assert [jsonschema_rs.is_valid(SCHEMA["properties"]["format"], name) for name in (FORMAT, "1.12", "2.0")] == [
        True,
        True,
        False,
    ]
    assert set(CHANGES) <= set(DEFS["comparison"]["properties"])


def test_it_knows_every_kind_of_alert():
    """An alert of each kind is valid, in the order in which alerts are said."""
    kinds = [kind.name.lower().replace("_", "-") for kind in NoteKind if Note(kind, "").is_alert]

    assert SCHEMA["properties"]["alerts"]["items"]["properties"]["kind"]["enum"] == kinds


def objects(schema):
    """Every schema of an object whose members the suite chooses."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and schema.get("type") == "object" and "properties" in schema:
        yield schema
    for part in parts:
        yield from objects(part)


def test_no_object_has_members_that_are_not_described():
    """Whatever is added to a document is added to the schema, too."""
    assert [each["properties"] for each in objects(SCHEMA) if each.get("additionalProperties") is not False] == []
    assert len(list(objects(SCHEMA))) > 8
