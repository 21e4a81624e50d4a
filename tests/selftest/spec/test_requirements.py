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
REQUIREMENTS_OF_EACH_FIELD = ("present", "type", "spelling")


def operations_of_schema():
    """The operations of spec/openapi.yaml, as OpenAPI has them."""
    paths = read_yaml(OPENAPI)["paths"].values()
    return [operation for path in paths for operation in path.values() if "operationId" in operation]


def test_the_schema_of_the_interface_is_valid_openapi():
    """The interface document is written down as OpenAPI 3.1 in spec/openapi.yaml."""
    schema = read_yaml(OPENAPI)

    assert schema["openapi"].startswith("3.1")
    validate(schema)  # raises an error


def test_only_the_two_documented_operations_require_the_token():
    """The document shows it for executePix and registerPixKey. Any other operation has the token as one alternative.

    It is the first one, because some tools know only the first.
    """
    security = {operation["operationId"]: operation["security"] for operation in operations_of_schema()}
    operations_with_token_alone = {id for id, alternatives in security.items() if alternatives == [{"bearer": []}]}
    first_alternatives = [alternatives[0] for alternatives in security.values()]

    assert operations_with_token_alone == {"executePix", "registerPixKey"}
    assert [alternative for alternative in first_alternatives if alternative != {"bearer": []}] == []


def test_the_schema_permits_any_other_status_than_200():
    """Each operation in spec/openapi.yaml has a `default` response, because the document does not show other statuses."""
    without_default = [
        operation["operationId"] for operation in operations_of_schema() if "default" not in operation["responses"]
    ]

    assert without_default == []


@pytest.mark.parametrize("operation", [op for op in operations().values() if op.result], ids=lambda op: op.id)
def test_each_field_of_a_result_has_three_requirements(operation):
    """Each field of a result in spec/openapi.yaml has three requirements: it is present, has its type, and is spelled so.

    No field that the schema lacks has one.

    The requirement about the type names the types of the schema.
    """
    in_schema = {
        f"{operation.id}.{field.name}.{what}" for field in operation.result for what in REQUIREMENTS_OF_EACH_FIELD
    }
    in_requirements = {
        id
        for id, requirement in requirements().items()
        if requirement.operation == operation.id
        and "Resources" in requirement.section
        and id.endswith(REQUIREMENTS_OF_EACH_FIELD)
    }
    types = {field.name: " or ".join(field.types) for field in operation.result}
    wrong_types = [
        name for name, text in types.items() if text not in requirements()[f"{operation.id}.{name}.type"].text
    ]

    assert in_requirements - in_schema == set(), "no such field in spec/openapi.yaml"
    assert in_schema - in_requirements == set(), "no requirement"
    assert wrong_types == []


def test_every_requirement_has_a_test_or_a_reason():
    """A requirement has a conformance test, or says in `untestable` why no request can show it; never both, never neither."""
    tested = {item.get_closest_marker("requirement").args[0] for item in conformance_tests(generated=True)}
    untestable = {requirement.id for requirement in requirements().values() if requirement.untestable}

    assert set(requirements()) - untestable - tested == set(), "neither a test nor a reason in untestable"
    assert tested & untestable == set(), "tested, and called untestable"
    assert tested <= set(requirements())


def test_each_requirement_has_one_rule_at_most():
    """A rule is a function that judges an answer. It names its requirement by the id, or several by a pattern with *.

    Two rules never match the same requirement, and each rule matches at least one.
    """
    patterns = [
        pattern
        for file in RULE_FILES
        for pattern in re.findall(r'^@(?:field_)?rule\("(.+)"\)', file.read_text("utf-8"), re.MULTILINE)
    ]
    matched = {pattern: fnmatch.filter(requirements(), pattern) for pattern in patterns}

    patterns_without_requirement = [pattern for pattern, ids in matched.items() if not ids]
    times_matched = Counter(id for ids in matched.values() for id in ids)

    assert patterns_without_requirement == []
    assert times_matched == Counter(list(RULES))  # each requirement with a rule is matched once


def test_the_docstring_of_a_rule_is_its_requirement():
    """A rule is a function that judges an answer. Its docstring is the text of its requirement, word for word.

    A rule for several requirements has a name in braces where their texts differ.
    """
    docstrings = {id: getattr(rule, "func", rule).__doc__ for id, rule in RULES.items()}
    patterns = {id: re.sub(r"\\{\w+\\}", ".+", re.escape(docstring)) for id, docstring in docstrings.items()}

    docstrings_that_differ = {
        requirements()[id].text: docstrings[id]
        for id, pattern in patterns.items()
        if not re.fullmatch(pattern, requirements()[id].text)
    }

    assert docstrings_that_differ == {}


def test_each_requirement_has_an_id_of_its_own():
    """The id begins with an operation or `general`. Two entries of spec/requirements.yaml with one id would be one here."""
    first_words = {id.split(".")[0] for id in requirements()}

    assert len(read_yaml(SOURCE)["requirements"]) == len(requirements())
    assert first_words == {*operations(), "general"}


def test_the_text_of_each_requirement_is_one_sentence():
    """The text of each requirement in spec/requirements.yaml begins with a capital letter and ends with a full stop.

    Each level, such as `documented`, is used.
    """
    no_sentences = [
        id for id, requirement in requirements().items() if not re.fullmatch(r"[A-Z].*[^.]\.", requirement.text)
    ]

    assert no_sentences == []
    assert {requirement.level for requirement in requirements().values()} == set(LEVELS)


def test_the_version_is_the_same_everywhere():
    """pyproject.toml, the reports and the changelog name the same version of the suite."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["version"] == VERSION
    assert f"## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
