"""The requirements, the schema and the tests hold together."""

import fnmatch
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from openapi_spec_validator import validate

from spec.interface import OPENAPI, operations
from spec.requirements import LEVELS, SOURCE, read_yaml, requirements
from spec.rules import RULES
from tests.selftest.proof.trial import ADDOPTS

ROOT = Path(__file__).parents[2]
RULE_FILES = sorted((ROOT / "spec" / "rules").glob("*.py"))
OF_EACH_FIELD = ("present", "type", "spelling")


@pytest.fixture(scope="module")
def tested():
    """The requirements that the conformance tests name, as pytest collects them."""
    collected: set[str] = set()

    class Collector:
        def pytest_collection_modifyitems(self, items):
            collected.update(mark.args[0] for item in items for mark in item.iter_markers("requirement"))

    options = ["-o", f"addopts={ADDOPTS}", "--collect-only", "--no-report", "-p", "no:terminal"]
    pytest.main([*options, "-p", "no:cacheprovider", str(ROOT / "tests" / "conformance")], plugins=[Collector()])
    return collected


def test_schema_is_valid_openapi():
    """The schema is valid OpenAPI 3.1."""
    schema = yaml.safe_load(OPENAPI.read_text("utf-8"))

    assert schema["openapi"].startswith("3.1")
    validate(schema)


def test_two_operations_require_the_bearer_token():
    """Only the two documented operations are marked as protected."""
    schema = yaml.safe_load(OPENAPI.read_text("utf-8"))
    items = [item for path in schema["paths"].values() for item in path.values() if isinstance(item, dict)]
    protected = {item["operationId"] for item in items if item.get("security") == [{"bearer": []}]}

    assert protected == {"executePix", "registerPixKey"}


def test_every_operation_leaves_other_statuses_open():
    """Each operation has a default response, as statuses other than 200 are not shown."""
    schema = yaml.safe_load(OPENAPI.read_text("utf-8"))
    items = [item for path in schema["paths"].values() for item in path.values() if "operationId" in item]

    assert all("default" in item["responses"] for item in items)


@pytest.mark.parametrize("operation", [op for op in operations().values() if op.result], ids=lambda op: op.id)
def test_fields_agree_with_the_schema(operation):
    """Each field of a result in the schema has three requirements, and there are no others."""
    in_schema = {f"{operation.id}.{field.name}.{what}" for field in operation.result for what in OF_EACH_FIELD}
    in_requirements = {
        requirement.id
        for requirement in requirements().values()
        if requirement.operation == operation.id
        and "Resources" in requirement.section
        and requirement.id.endswith(OF_EACH_FIELD)
    }

    assert not in_requirements - in_schema, (
        f"no such field in spec/openapi.yaml: {', '.join(sorted(in_requirements - in_schema))}"
    )
    assert not in_schema - in_requirements, f"no requirement: {', '.join(sorted(in_schema - in_requirements))}"


@pytest.mark.parametrize("operation", [op for op in operations().values() if op.result], ids=lambda op: op.id)
def test_types_in_the_requirements_are_those_of_the_schema(operation):
    """A requirement on a type names the types that the schema gives."""
    for field in operation.result:
        assert " or ".join(field.types) in requirements()[f"{operation.id}.{field.name}.type"].text


def test_every_requirement_has_a_test_or_a_reason(tested):
    """A requirement is tested, or says why no exchange can show it; never both, never neither."""
    untestable = {requirement.id for requirement in requirements().values() if requirement.untestable}
    without = set(requirements()) - untestable - tested
    twice = tested & untestable

    assert not without, f"neither a test nor a reason in untestable: {', '.join(sorted(without))}"
    assert not twice, f"tested, and called untestable: {', '.join(sorted(twice))}"
    assert tested <= set(requirements())


def test_each_requirement_has_one_rule_at_most():
    """The ids and patterns of the rules do not overlap, and each is the id of a requirement or matches some."""
    written = [
        pattern
        for file in RULE_FILES
        for pattern in re.findall(r'^@(?:field_)?rule\("(.+)"\)', file.read_text("utf-8"), re.MULTILINE)
    ]
    matched = {pattern: fnmatch.filter(requirements(), pattern) for pattern in written}

    assert all(matched.values()), matched
    assert Counter(id for ids in matched.values() for id in ids) == Counter(list(RULES))


@pytest.mark.parametrize("requirement_id", RULES)
def test_the_docstring_of_a_rule_is_its_requirement(requirement_id):
    """Word for word as in the requirement; a rule for several requirements has braces where their texts differ."""
    rule = RULES[requirement_id]
    docstring = getattr(rule, "func", rule).__doc__
    pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(docstring))

    assert re.fullmatch(pattern, requirements()[requirement_id].text), (docstring, requirements()[requirement_id].text)


def test_ids_start_with_an_operation_or_general():
    """The first part of an id is an operation, or general."""
    assert {requirement.id.split(".")[0] for requirement in requirements().values()} == {*operations(), "general"}


def test_no_id_is_repeated():
    """Each entry of the file is a requirement of its own."""
    assert len(read_yaml(SOURCE)) == len(requirements())


def test_levels_are_the_five():
    """Every level is used, and no other."""
    assert {requirement.level for requirement in requirements().values()} == set(LEVELS)


def test_statements_are_sentences():
    """The text of a requirement is one sentence that ends with a full stop."""
    assert [
        requirement.id
        for requirement in requirements().values()
        if not re.fullmatch(r"[A-Z].*[^.]\.", requirement.text)
    ] == []


def test_every_pinned_package_that_the_project_needs():
    """constraints.txt pins every direct dependency."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=~!\[]", name)[0].lower().replace("_", "-") for name in wanted}
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}

    assert names <= pinned


def test_version_is_the_same_everywhere():
    """pyproject.toml, the reports and the changelog name one version."""
    import tomllib

    from reports.provenance import VERSION

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["version"] == VERSION
    assert f"## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
