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
    """The operations of spec/openapi.yaml, such as `{"operationId": "executePix", "security": […], …}`."""
    operations_of_paths = []
    for path in read_yaml(OPENAPI)["paths"].values():
        operations_of_paths += [member for member in path.values() if "operationId" in member]
    return operations_of_paths


def test_the_schema_of_the_interface_is_valid_openapi():
    """The interface document is written down as OpenAPI 3.1 in spec/openapi.yaml."""
    schema = read_yaml(OPENAPI)

    assert schema["openapi"].startswith("3.1")
    validate(schema)  # raises an error


def test_only_the_two_documented_operations_require_the_token():
    """The document shows the token for executePix and registerPixKey. So in spec/openapi.yaml only these two require
    it.

    For any other operation the token is one of two alternatives. It is the first one, because some tools use only the
    first.
    """
    token = {"bearer": []}
    alternatives_by_operation = {
        operation["operationId"]: operation["security"] for operation in operations_of_schema()
    }
    operations_with_token_alone = {
        operation for operation, alternatives in alternatives_by_operation.items() if alternatives == [token]
    }
    operations_with_another_first = [
        operation for operation, alternatives in alternatives_by_operation.items() if alternatives[0] != token
    ]

    assert operations_with_token_alone == {"executePix", "registerPixKey"}
    assert operations_with_another_first == []


def test_the_schema_permits_any_other_status_than_200():
    """Each operation in spec/openapi.yaml has a `default` response, because the document does not show other statuses."""
    without_default = [
        operation["operationId"] for operation in operations_of_schema() if "default" not in operation["responses"]
    ]

    assert without_default == []


@pytest.mark.parametrize("operation", [op for op in operations().values() if op.result], ids=lambda op: op.id)
def test_each_field_of_a_result_has_three_requirements(operation):
    """Each field of a result in spec/openapi.yaml has three requirements: it is present, has its type, and is spelled
    so.

    Their ids are such as executePix.id.present. A field that the schema lacks has no requirement. The text of the
    requirement about the type names the types of the schema, such as "string or null".
    """
    expected_ids = set()
    fields_with_wrong_types = []
    for field in operation.result:
        expected_ids |= {f"{operation.id}.{field.name}.{word}" for word in REQUIREMENTS_OF_EACH_FIELD}
        types = " or ".join(field.types)
        if types not in requirements()[f"{operation.id}.{field.name}.type"].text:
            fields_with_wrong_types.append(field.name)
    ids = set()
    for id, requirement in requirements().items():
        is_about_a_result = requirement.operation == operation.id and "Resources" in requirement.section
        if is_about_a_result and id.endswith(REQUIREMENTS_OF_EACH_FIELD):
            ids.add(id)

    assert ids - expected_ids == set(), "no such field in spec/openapi.yaml"
    assert expected_ids - ids == set(), "no requirement"
    assert fields_with_wrong_types == []


def test_every_requirement_has_a_test_or_a_reason():
    """A requirement has a conformance test, or its entry `untestable` says why no request can show it.

    No requirement has both, and none has neither of them.
    """
    tested = {item.get_closest_marker("requirement").args[0] for item in conformance_tests(generated=True)}
    untestable = {requirement.id for requirement in requirements().values() if requirement.untestable}

    assert set(requirements()) - untestable - tested == set(), "neither a test nor a reason in untestable"
    assert tested & untestable == set(), "tested, and called untestable"
    assert tested <= set(requirements())


def test_each_requirement_has_one_rule_at_most():
    """A rule is a function that judges an answer. Its decorator names the requirement: `@rule("executePix.json")`.

    A pattern with * names several requirements. Two rules never name the same requirement, and each rule names at least
    one that exists.
    """
    patterns = []
    for file in RULE_FILES:
        patterns += re.findall(r'^@(?:field_)?rule\("(.+)"\)', file.read_text("utf-8"), re.MULTILINE)
    patterns_without_requirement = []
    times_matched = Counter()
    for pattern in patterns:
        ids = fnmatch.filter(requirements(), pattern)
        times_matched.update(ids)
        if not ids:
            patterns_without_requirement.append(pattern)

    assert patterns_without_requirement == []
    assert times_matched == Counter(list(RULES))  # each requirement with a rule is matched once


def test_the_docstring_of_a_rule_is_its_requirement():
    """A rule is a function that judges an answer. Its docstring is the text of its requirement, word for word.

    A rule for several requirements has a name in braces where their texts differ.
    """
    docstrings_that_differ = {}
    for id, rule in RULES.items():
        function = getattr(rule, "func", rule)  # a rule for several requirements is a partial function
        docstring = function.__doc__
        pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(docstring))
        if not re.fullmatch(pattern, requirements()[id].text):
            docstrings_that_differ[id] = docstring

    assert docstrings_that_differ == {}


def test_each_requirement_has_an_id_of_its_own():
    """`requirements()` has the entries of spec/requirements.yaml by their ids. Two entries with one id would be one
    there.

    An id begins with an operation, or with the word general.
    """
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
