"""The values that a member of a body may have: one table for the coverage phase and for drawing."""

import pytest

from spec.interface import PREPARING_OPERATIONS
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.case import usual_body
from tests.traffic.drawing.member_schemas import (
    MEMBERS_OF_ANOTHER_OPERATION,
    schemas_of_covered_member,
    schemas_of_member,
)


def listed_values(schemas):
    """The values that these schemas list."""
    return [value for schema in schemas for value in schema.get("enum", [])]


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey", *PREPARING_OPERATIONS])
def test_the_usual_value_is_the_first_one(operation):
    """The first value of each member is the usual one, so that other members keep it while one is unusual."""
    for name, usual_value in usual_body(operation, SANDBOX).items():
        assert listed_values(schemas_of_member(operation, name, usual_value, SANDBOX))[0] == usual_value


@pytest.mark.parametrize("length", [129, 255, 256, 5_000])
def test_a_text_has_lengths_around_usual_limits(length):
    """A text has exactly so many characters with its prefix: one more than a usual limit, or as many as it permits."""
    texts = [text for text in listed_values(schemas_of_member("createPix", "message", "text", SANDBOX)) if text]

    assert length in [len(text) for text in texts if isinstance(text, str)]


def test_off_a_sandbox_an_amount_is_at_most_that_of_the_profile():
    """Off a sandbox a number that is an amount is above 0 and at most the greatest amount of the profile, which is 3."""
    schemas = schemas_of_member("transferInternal", "value", 3, BANK)
    numbers = [schema for schema in schemas if schema.get("type") == "number"]

    assert numbers == [{"type": "number", "exclusiveMinimum": 0, "maximum": 3}]
    assert set(map(type, listed_values(schemas))) <= {int, type(None), str, list, dict}


def test_members_that_another_operation_tries_have_few_values():
    """A member whose values another operation tries has its usual value, null and one value of a wrong type."""
    for operation, members in MEMBERS_OF_ANOTHER_OPERATION.items():
        for name, wrong_value in members.items():
            schemas = schemas_of_covered_member(operation, name, "usual", SANDBOX)

            assert listed_values(schemas) == ["usual", None, wrong_value]
