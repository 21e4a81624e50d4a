"""The schema from which requests are drawn, and its hooks."""

import pytest

from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.drawing.schema import (
    ALL_MEMBERS,
    ANY_MEMBERS,
    ONE_UNUSUAL_MEMBER,
    example_of_path_parameter,
    schema_for_drawing,
)


def schema_of_body(operation, kind_of_body, profile=BANK):
    """The JSON schema of the body of an operation, from which bodies of this kind are drawn."""
    schema = schema_for_drawing(profile, kind_of_body).find_operation_by_id(operation)
    return schema.definition.raw["requestBody"]["content"]["application/json"]["schema"]


@pytest.mark.parametrize("kind_of_body", [ALL_MEMBERS, ANY_MEMBERS, ONE_UNUSUAL_MEMBER])
def test_a_drawn_body_has_documented_members_alone(kind_of_body):
    """Bodies of registrations are drawn from a JSON schema. It has the three documented members, and forbids all
    others.
    """
    schema = schema_of_body("registerPixKey", kind_of_body)

    assert set(schema["properties"]) == {"account", "pixKey", "pixKeyType"}
    assert schema["additionalProperties"] is False


def test_members_may_be_missing_in_bodies_of_one_kind_alone():
    """There are several kinds of drawn bodies. ALL_MEMBERS requires each documented member, and ANY_MEMBERS requires
    none.
    """
    required_in_all = schema_of_body("registerPixKey", ALL_MEMBERS)["required"]
    required_in_any = schema_of_body("registerPixKey", ANY_MEMBERS)["required"]

    assert set(required_in_all) == {"account", "pixKey", "pixKeyType"}
    assert required_in_any == []


def test_a_drawn_amount_is_at_most_that_of_the_profile():
    """Off a sandbox (a test system) a drawn amount is above 0 and at most the greatest amount of the profile (the
    settings of the run), which is 3 here.
    """
    amount = schema_of_body("transferInternal", ALL_MEMBERS)["properties"]["value"]
    numbers = [schema for schema in amount["anyOf"] if schema.get("type") == "number"]

    assert numbers == [{"type": "number", "exclusiveMinimum": 0, "maximum": 3}]


def test_a_deletion_names_the_account_of_the_profile_on_a_sandbox_alone():
    """A drawn deletion usually names an account that the suite made up. On a sandbox (a test system) it names the
    account of the profile (the settings of the run), because no key there is worth anything.
    """
    assert example_of_path_parameter("deletePixKey", SANDBOX) == SANDBOX.accounts[0]
    assert example_of_path_parameter("deletePixKey", BANK).startswith(SYNTHETIC_PREFIX)
