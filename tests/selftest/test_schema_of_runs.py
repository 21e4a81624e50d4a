"""conformance.schema.json: every run of the self-tests is valid against it, and what is no document of a run is not."""

import json

import jsonschema_rs
import pytest

from environments.profiles.loading import load
from reports.comparison import CHANGES
from reports.formats.conformance_json import FORMAT, document_of
from reports.headline import PERMISSIONS
from reports.run import Run
from reports.verdicts import RequirementResult, RunVerdict, Verdict
from spec.findings import finding
from spec.requirements import LEVELS, requirements
from tests.selftest.schemas import CONFORMANCE, ROOT, problems

PROFILE = load("sandbox", folder=ROOT / "environments", base_url=None)
SCHEMA = json.loads(CONFORMANCE.read_text("utf-8"))
DEFS = SCHEMA["$defs"]
STATUS = "executePix.status"


@pytest.fixture
def document():
    """That of a run with one failure."""
    run = Run(PROFILE, "http://127.0.0.1:1", narrowed=True, selected={STATUS})
    run.results.append(
        RequirementResult(STATUS, Verdict.FAIL, exchanges=(1,), findings=(finding("status", status=201),))
    )
    run.close()
    return document_of(run)


def test_it_is_a_schema():
    """Of JSON Schema 2020-12; each reference leads somewhere."""
    jsonschema_rs.meta.validate(SCHEMA)

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert problems({}) != []


def test_a_document_is_valid(document):
    """Its failure tells expected from got."""
    assert problems(document) == []
    assert str(document["requirements"][0]["got"]) == "201"


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (SCHEMA["properties"]["verdict"]["enum"], RunVerdict),
        (SCHEMA["properties"]["environment"]["properties"]["allow"]["items"]["enum"], PERMISSIONS),
        (DEFS["verdict"]["enum"], Verdict),
        (DEFS["level"]["enum"], LEVELS),
    ],
    ids=["verdicts of runs", "permissions", "verdicts", "levels"],
)
def test_its_words_are_those_of_the_suite(listed, words):
    """All of them, in their order."""
    assert listed == [str(word) for word in words]


def test_it_knows_every_id():
    """And every list of a comparison."""
    invalid = [id for id in requirements() if not jsonschema_rs.is_valid(DEFS["id"], id)]

    assert invalid == []
    assert set(CHANGES) <= set(DEFS["comparison"]["properties"])


def test_the_format_is_a_version_of_it():
    """A reader of 1.0 reads 1.1, and refuses 2.0."""
    valid = {name: jsonschema_rs.is_valid(SCHEMA["properties"]["format"], name) for name in (FORMAT, "1.12", "2.0", "")}

    assert list(valid.values()) == [True, True, False, False]


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


def at(document, path):
    for step in path:
        document = document[step]
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "passed"),
        (("exit_status",), "0"),
        (("started",), "yesterday"),
        (("requirements", 0, "verdict"), "failed"),
        (("requirements", 0, "exchanges"), ["1"]),
        (("requirements", 0, "elapsed_s"), None),
        (("provenance", "ledger_sha256"), "abc"),
        (("provenance", "ci_job"), "javascript:alert(1)"),
        (("counts",), {"required": {"fail": 1}}),
        (("latency",), {"executePix": {"count": 1}}),
        (("latency",), {"another": {}}),
        (("comparison",), {}),
    ],
    ids=str,
)
def test_other_values_are_refused(path, value, document):
    """Words, numbers and shapes are checked."""
    at(document, path[:-1])[path[-1]] = value

    assert problems(document) != []
