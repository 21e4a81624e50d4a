"""The ledger, the schema and the tests hold together."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from openapi_spec_validator import validate

from spec.interface import OPENAPI, operations
from spec.requirements import LEVELS, ledger
from spec.rules import RULES
from tests.selftest.proof.trial import ADDOPTS

ROOT = Path(__file__).parents[2]
RULE_FILES = sorted((ROOT / "spec" / "rules").glob("*.py"))
OF_EACH_FIELD = ("present", "type", "spelling")
OPERATION_IDS = {
    "executePix", "registerPixKey", "deletePixKey", "listPixKeys", "listAccounts", "getBalance", "listEntries",
    "createPix", "transferExternal", "transferInternal", "transferP2p",
}  # fmt: skip


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


def test_schema_has_the_eleven_operations():
    """The schema has the operations of the interface document, and no others."""
    assert set(operations()) == OPERATION_IDS


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
    """Each field of a result in the schema has three requirements in the ledger, and there are no others."""
    in_schema = {f"{operation.id}.{field.name}.{what}" for field in operation.result for what in OF_EACH_FIELD}
    in_ledger = {
        requirement.id
        for requirement in ledger().values()
        if requirement.operation == operation.id
        and "Resources" in requirement.section
        and requirement.id.endswith(OF_EACH_FIELD)
    }

    assert not in_ledger - in_schema, f"no such field in spec/openapi.yaml: {', '.join(sorted(in_ledger - in_schema))}"
    assert not in_schema - in_ledger, f"no requirement in the ledger: {', '.join(sorted(in_schema - in_ledger))}"


@pytest.mark.parametrize("operation", [op for op in operations().values() if op.result], ids=lambda op: op.id)
def test_types_in_the_ledger_are_those_of_the_schema(operation):
    """A requirement on a type names the types that the schema gives."""
    for field in operation.result:
        assert " or ".join(field.types) in ledger()[f"{operation.id}.{field.name}.type"].text


def test_every_requirement_has_a_test_or_a_reason(tested):
    """A requirement is tested, or says why no exchange can show it; never both, never neither."""
    untestable = {requirement.id for requirement in ledger().values() if requirement.untestable}
    without = set(ledger()) - untestable - tested
    twice = tested & untestable

    assert not without, f"neither a test nor a reason in untestable: {', '.join(sorted(without))}"
    assert not twice, f"tested, and called untestable: {', '.join(sorted(twice))}"
    assert tested <= set(ledger())


def test_each_rule_is_found_by_its_id():
    """Every rule answers for a requirement of the ledger, whose full id stands once in spec/rules."""
    written = [word for file in RULE_FILES for word in re.findall(r"[\w.]+", file.read_text("utf-8")) if word in RULES]

    assert set(RULES) <= set(ledger())
    assert Counter(written) == Counter(list(RULES))


@pytest.mark.parametrize("requirement_id", RULES)
def test_the_docstring_of_a_rule_is_its_requirement(requirement_id):
    """Word for word as in the ledger; a rule for several requirements has braces where their texts differ."""
    rule = RULES[requirement_id]
    docstring = getattr(rule, "func", rule).__doc__
    pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(docstring))

    assert re.fullmatch(pattern, ledger()[requirement_id].text), (docstring, ledger()[requirement_id].text)


def test_ids_start_with_an_operation_or_general():
    """The first part of an id is an operation, or general."""
    assert {requirement.id.split(".")[0] for requirement in ledger().values()} == OPERATION_IDS | {"general"}


def test_levels_are_the_five():
    """Every level is used, and no other."""
    assert {requirement.level for requirement in ledger().values()} == set(LEVELS)


def test_statements_are_sentences():
    """The text of a requirement is one sentence that ends with a full stop."""
    assert [
        requirement.id for requirement in ledger().values() if not re.fullmatch(r"[A-Z].*[^.]\.", requirement.text)
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
