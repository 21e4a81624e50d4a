"""The requirements, the schema and the tests hold together."""

import fnmatch
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from openapi_spec_validator import validate

from reports.result.provenance import VERSION
from spec.interface import OPENAPI, operations
from spec.requirements import LEVELS, SOURCE, read_yaml, requirements
from spec.rules import RULES
from tests.selftest.proof.directly import conformance_tests

ROOT = Path(__file__).parents[3]
RULE_FILES = sorted((ROOT / "spec" / "rules").glob("*.py"))
OF_EACH_FIELD = ("present", "type", "spelling")


def test_schema_is_valid_openapi():
    """The schema is valid OpenAPI 3.1. The two documented operations require the token; the others
    may, and tools that know one alternative alone take the first. Each operation leaves statuses other than 200 open, as
    they are not shown."""
    schema = read_yaml(OPENAPI)
    items = [item for path in schema["paths"].values() for item in path.values() if "operationId" in item]
    protected = {item["operationId"] for item in items if item["security"] == [{"bearer": []}]}

    assert schema["openapi"].startswith("3.1")
    validate(schema)
    assert protected == {"executePix", "registerPixKey"}
    assert all(item["security"][0] == {"bearer": []} for item in items)
    assert all("default" in item["responses"] for item in items)


@pytest.mark.parametrize("operation", [op for op in operations().values() if op.result], ids=lambda op: op.id)
def test_fields_agree_with_the_schema(operation):
    """Each field of a result in the schema has three requirements, and no other field has one.

    The requirement about its type names the types of the schema.
    """
    in_schema = {f"{operation.id}.{field.name}.{what}" for field in operation.result for what in OF_EACH_FIELD}
    in_requirements = {
        id
        for id, requirement in requirements().items()
        if requirement.operation == operation.id and "Resources" in requirement.section and id.endswith(OF_EACH_FIELD)
    }
    types = {field.name: " or ".join(field.types) for field in operation.result}
    wrong_types = [
        name for name, text in types.items() if text not in requirements()[f"{operation.id}.{name}.type"].text
    ]

    assert in_requirements - in_schema == set(), "no such field in spec/openapi.yaml"
    assert in_schema - in_requirements == set(), "no requirement"
    assert wrong_types == []


def test_every_requirement_has_a_test_or_a_reason():
    """A requirement is tested, or says why no exchange can show it; never both, never neither."""
    tested = {item.get_closest_marker("requirement").args[0] for item in conformance_tests(generated=True)}
    untestable = {requirement.id for requirement in requirements().values() if requirement.untestable}

    assert set(requirements()) - untestable - tested == set(), "neither a test nor a reason in untestable"
    assert tested & untestable == set(), "tested, and called untestable"
    assert tested <= set(requirements())


def test_each_requirement_has_one_rule_at_most():
    """The ids and patterns of two rules never match the same requirement, and each matches at least one."""
    patterns = [
        pattern
        for file in RULE_FILES
        for pattern in re.findall(r'^@(?:field_)?rule\("(.+)"\)', file.read_text("utf-8"), re.MULTILINE)
    ]
    matched = {pattern: fnmatch.filter(requirements(), pattern) for pattern in patterns}

    assert all(matched.values()), matched
    assert Counter(id for ids in matched.values() for id in ids) == Counter(list(RULES))


def test_the_docstring_of_a_rule_is_its_requirement():
    """The texts agree word for word. A rule for several requirements has braces where their texts differ."""
    docstrings = {id: getattr(rule, "func", rule).__doc__ for id, rule in RULES.items()}
    patterns = {id: re.sub(r"\\{\w+\\}", ".+", re.escape(docstring)) for id, docstring in docstrings.items()}

    assert {
        requirements()[id].text: docstrings[id]
        for id, pattern in patterns.items()
        if not re.fullmatch(pattern, requirements()[id].text)
    } == {}


def test_the_form_of_the_requirements():
    """Each requirement has an id of its own, which begins with an operation or `general`.

    Its text is one sentence. Every level is used.
    """
    rows = requirements().values()

    assert len(read_yaml(SOURCE)["requirements"]) == len(rows)
    assert {row.id.split(".")[0] for row in rows} == {*operations(), "general"}
    assert {row.level for row in rows} == set(LEVELS)
    assert [row.id for row in rows if not re.fullmatch(r"[A-Z].*[^.]\.", row.text)] == []


def test_version_is_the_same_everywhere():
    """pyproject.toml, the reports and the changelog name one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["version"] == VERSION
    assert f"## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
