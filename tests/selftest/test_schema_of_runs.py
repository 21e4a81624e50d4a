"""conformance.schema.json: every run of the self-tests is valid against it, and what is no document of a run is not."""

import copy
import json

import jsonschema_rs
import pytest

from environments.profiles.loading import load
from reports.comparing.comparison import WORDS
from reports.formats.conformance_json import FORMAT, document_of
from reports.headline import PERMISSIONS
from reports.run import Run
from reports.verdicts import RequirementResult, RunVerdict, Verdict
from spec.findings import finding
from spec.interface import operations
from spec.requirements import LEVELS, ledger
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
        (DEFS["operation"]["enum"], operations()),
    ],
    ids=["verdicts of runs", "permissions", "verdicts", "levels", "operations"],
)
def test_its_words_are_those_of_the_suite(listed, words):
    """All of them, in their order."""
    assert listed == [str(word) for word in words]


def test_it_knows_every_id():
    """And every list of a comparison."""
    invalid = [id for id in ledger() if not jsonschema_rs.is_valid(DEFS["id"], id)]

    assert invalid == []
    assert set(WORDS) <= set(DEFS["comparison"]["properties"])


def test_the_format_is_a_version_of_it():
    """A reader of 1.0 reads 1.1, and refuses 2.0."""
    valid = {name: jsonschema_rs.is_valid(SCHEMA["properties"]["format"], name) for name in (FORMAT, "1.12", "2.0", "")}

    assert list(valid.values()) == [True, True, False, False]


def objects_in(value, path=()):
    """The path of every object whose members the suite chooses."""
    if isinstance(value, dict):
        if "additionalProperties" in schema_at(path) and schema_at(path)["additionalProperties"] is False:
            yield path
        for name, item in value.items():
            yield from objects_in(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value[:1]):
            yield from objects_in(item, (*path, at))


def schema_at(path):
    """The part of the schema that describes a place in a document."""
    part = SCHEMA
    for step in path:
        part = (
            part["items"]
            if isinstance(step, int)
            else part.get("properties", {}).get(step) or part.get("additionalProperties", {})
        )
        part = DEFS[part["$ref"].rpartition("/")[2]] if isinstance(part, dict) and "$ref" in part else part
    return part if isinstance(part, dict) else {}


def at(document, path):
    for step in path:
        document = document[step]
    return document


def test_no_object_has_other_members_or_lacks_one(document):
    """Whatever is added to a document is added to the schema, too."""
    document["exchanges"] = [EXCHANGE]
    places = list(objects_in(document))
    for path in places:
        more = copy.deepcopy(document)
        at(more, path)["unknown"] = 1
        assert problems(more), path
        for name in schema_at(path)["required"]:
            less = copy.deepcopy(document)
            del at(less, path)[name]
            assert problems(less), (path, name)

    assert len(places) > 8


EXCHANGE = {
    "number": 1, "operation": "executePix", "request": "GET /", "result": 200, "at_ms": 1.5, "elapsed_ms": 2.5, "beside": 0,
}  # fmt: skip


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
