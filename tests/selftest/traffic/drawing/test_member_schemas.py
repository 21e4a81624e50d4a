"""The values that a member of a body may have: one table for the coverage phase and for drawing."""

from dataclasses import replace

import pytest

from environments.profiles.parts import RequestBody
from spec.interface import PREPARING_OPERATIONS
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.case import members_with_account_of_profile, usual_body
from tests.traffic.drawing.member_schemas import (
    MEMBERS_NOT_TRIED_ALONE,
    schemas_of_covered_member,
    schemas_of_member,
)


def listed_values(schemas):
    """The values that these JSON schemas list one by one (`enum`)."""
    values = []
    for schema in schemas:
        values += schema.get("enum", [])
    return values


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey", *PREPARING_OPERATIONS])
def test_the_usual_value_is_the_first_one(operation):
    """The first value in the schemas of a member is its usual value.

    It is used while another member has an unusual value.
    """
    for name, usual_value in usual_body(operation, SANDBOX).items():
        values = listed_values(schemas_of_member(operation, name, usual_value, SANDBOX))

        assert values[0] == usual_value


@pytest.mark.parametrize(
    "length",
    [
        pytest.param(129, id="129, one more than a column of 128 characters takes"),
        pytest.param(255, id="255, as many as a column of 255 characters takes"),
        pytest.param(256, id="256, one more than a column of 255 characters takes"),
        pytest.param(5_000, id="5,000, more than a buffer of 4 KiB takes"),
    ],
)
def test_a_text_has_lengths_around_usual_limits(length):
    """The member `message` gets a text with exactly so many characters. The prefix `pixconf-` counts, too."""
    values = listed_values(schemas_of_member("createPix", "message", "text", SANDBOX))
    lengths_of_texts = [len(value) for value in values if isinstance(value, str)]

    assert length in lengths_of_texts


def test_off_a_sandbox_an_amount_is_at_most_that_of_the_profile():
    """The greatest amount in the profile (the settings of the run) is 3. Off a sandbox (a test system) a number that is
    an amount is above 0 and at most 3.

    Other values of the amount are the usual one (3), null, texts, an array and an object. No value is true or false,
    because a service may read true as the amount 1.
    """
    schemas = schemas_of_member("transferInternal", "value", 3, BANK)
    schemas_of_numbers = [schema for schema in schemas if schema.get("type") == "number"]
    types_of_listed_values = {type(value) for value in listed_values(schemas)}

    assert schemas_of_numbers == [{"type": "number", "exclusiveMinimum": 0, "maximum": 3}]
    assert types_of_listed_values <= {int, type(None), str, list, dict}


def test_members_that_are_not_tried_alone_stay_usual():
    """The coverage phase of Schemathesis makes bodies with one unusual member each. Some members have only their usual
    value there, because bodies with several unusual members have their unusual values.
    """
    for operation, names in MEMBERS_NOT_TRIED_ALONE.items():
        for name in names:
            schemas = schemas_of_covered_member(operation, name, "usual", SANDBOX)

            assert listed_values(schemas) == ["usual"]


def test_a_text_that_names_nobody_is_no_account_of_the_profile():
    """A body of the profile (the settings of the run) has an empty text and a key type. Only its text with the account
    counts as the account.
    """
    body = RequestBody({"payer": "from {account}", "pixKeyType": "EMAIL", "message": ""})
    profile = replace(SANDBOX, requests={"createPix": body})

    assert members_with_account_of_profile("createPix", profile) == ["payer"]
