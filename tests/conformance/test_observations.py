"""Observations: behaviour that the interface document does not show. The report says what the service does.

Such behaviour is neither right nor wrong. A test is skipped if the run has sent nothing that shows the behaviour.

Self-tests: traffic/test_observations.py.
"""

from __future__ import annotations

import pytest

from spec.answers import answers_in_words
from spec.exchange import Exchange
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from spec.message import say
from tests.harness.judging import not_exercised_unless, operations_with_requirement, report_observation, requirement
from tests.traffic.observations import observation_of
from tests.traffic.undescribed import requests_of_undescribed_operation, why_no_shape

NOTHING_REFUSED = "nothing was refused: add fuzz to allow"
"""Reason to skip a test on refusals if the profile permits no invalid requests."""


def why_nothing_was_refused(operation, log, profile):
    """Reason why no refusal of an operation was seen, for a test that is skipped because of that.

    Most refusals are answers to invalid requests, which the profile permits with "fuzz". If it does, all answers were
    successes or errors of the moment, and the reason names them.
    """
    if "fuzz" not in profile.allow:
        return NOTHING_REFUSED
    return say("nothing was refused: {answers}", answers=answers_in_words(log.sent_by_scenarios(operation)))


@pytest.mark.parametrize("operation", operations_with_requirement("shape", READ_OPERATIONS + PREPARING_OPERATIONS))
def test_shape_of_an_answer(operation, log, profile):
    """The report says which status, media type and JSON members the answers of an operation have.

    The interface document shows no answer of these operations, such as GET /v1/accounts.
    """
    observation = observation_of(f"{operation}.shape", log)
    not_exercised_unless(observation.values, why_no_shape(log, profile, operation))

    examples = observation.exchanges[:3]  # a few are enough
    report_observation(f"{operation}.shape", observation.values, examples)


@pytest.mark.parametrize("operation", operations_with_requirement("token", READ_OPERATIONS))
def test_token_of_a_read(operation, log):
    """The report says whether an operation that only reads needs the token.

    Each was asked with the token and without it. No value is observed if neither answer shows what the token changes.
    """
    reads = requests_of_undescribed_operation(log, operation)
    observation = observation_of(f"{operation}.token", log)
    not_exercised_unless(
        observation.values, say("with the token and without: {answers}", answers=answers_in_words(reads))
    )

    report_observation(f"{operation}.token", observation.values, reads)


@requirement("general.otherTokens")
@pytest.mark.needs("delete-keys", "create-pix", "transfer")
@pytest.mark.needs("fuzz")
def test_token_of_operations_that_write(log):
    """The report says whether an operation that writes refuses a request without the token before it reads the body.

    Only invalid requests show it. The profile must permit them (`fuzz`) and one of these operations.
    """
    observation = observation_of("general.otherTokens", log)
    not_exercised_unless(observation.values, "no answer that could show it")

    report_observation("general.otherTokens", observation.values, observation.exchanges)


@pytest.mark.parametrize("operation", operations_with_requirement("refusal", operations()))
def test_refusals(operation, log, profile):
    """The report says how the operation refuses requests: by status, media type and members of the JSON."""
    observation = observation_of(f"{operation}.refusal", log)
    not_exercised_unless(observation.values, why_nothing_was_refused(operation, log, profile))

    examples = observation.exchanges[:5]  # a few are enough
    report_observation(f"{operation}.refusal", observation.values, examples)


@requirement("general.codeValues")
def test_codes(log):
    """The report says which values the field `code` of the envelope has in refusals."""
    refusals: list[Exchange] = []
    for operation in sorted(operations()):
        refusals += observation_of(f"{operation}.refusal", log).exchanges
    not_exercised_unless(refusals, NOTHING_REFUSED)

    examples = refusals[:5]  # a few are enough
    report_observation("general.codeValues", observation_of("general.codeValues", log).values, examples)


@requirement("general.rateLimit")
def test_rate_limits(log):
    """The report says whether a request was answered with 429, and which headers about a rate limit answers have."""
    report_observation("general.rateLimit", observation_of("general.rateLimit", log).values)


@requirement("general.sizeLimit")
@pytest.mark.needs("fuzz")
def test_size_limits(log):
    """The report says whether large requests are refused because of their size, and how.

    A large request is a read with a long query, a registration with a very long key, or an execution of a very long
    made-up code. These are invalid requests, so the profile must permit `fuzz` and the operation.
    """
    observation = observation_of("general.sizeLimit", log)
    not_exercised_unless(observation.values, "no large request was sent: add read or register-keys to allow")

    report_observation("general.sizeLimit", observation.values, observation.exchanges)


@requirement("general.identifierFormat")
def test_formats_of_identifiers(log):
    """The report says of which characters accountId and transactionId are made, in requests that were successful."""
    formats = observation_of("general.identifierFormat", log).values
    not_exercised_unless(formats, "no request that names an account or a code was granted")

    report_observation("general.identifierFormat", formats)


@requirement("general.deprecation")
def test_headers_about_versions(log):
    """The report says which headers about versions and deprecation answers have."""
    headers = observation_of("general.deprecation", log).values
    not_exercised_unless(headers, "no request succeeded")

    report_observation("general.deprecation", headers)
