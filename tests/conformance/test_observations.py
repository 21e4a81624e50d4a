"""Behaviour that the interface document does not show, as the answers to a run show it.

Self-tests: traffic/test_observations.py.
"""

from __future__ import annotations

import pytest

from spec.answers import answers_in_words
from spec.exchange import Exchange
from spec.interface import PREPARING, READS, operations
from spec.message import say
from tests.harness.judging import observe, operations_with, require_supplied, requirement
from tests.traffic.observations import observed
from tests.traffic.undescribed import reads_or_orders, why_no_shape

NOTHING_REFUSED = "nothing was refused: add fuzz to allow"


def why_nothing_was_refused(operation, log, profile):
    """Reason why no refusal of an operation was seen."""
    if "fuzz" not in profile.allow:
        return NOTHING_REFUSED
    return say("nothing was refused: {answers}", answers=answers_in_words(log.targeted(operation)))


@pytest.mark.parametrize("operation", operations_with("shape", READS + PREPARING))
def test_shape_of_an_answer(operation, log, profile):
    """An operation whose answer is not documented answers with this status, media type and shape."""
    shape = observed(f"{operation}.shape", log)
    require_supplied(shape.values, why_no_shape(log, profile, operation))

    observe(f"{operation}.shape", shape.values, shape.exchanges[:3])


@pytest.mark.parametrize("operation", operations_with("token", READS))
def test_token_of_a_read(operation, log):
    """A read wants the token, or does not."""
    reads = reads_or_orders(log, operation)
    token = observed(f"{operation}.token", log)
    require_supplied(token.values, say("with the token and without: {answers}", answers=answers_in_words(reads)))

    observe(f"{operation}.token", token.values, reads)


@requirement("general.otherTokens")
@pytest.mark.needs("delete-keys", "create-pix", "transfer")
@pytest.mark.needs("fuzz")
def test_token_of_what_writes(log):
    """An operation that writes refuses a request without the token before it reads the body, or does not."""
    tokens = observed("general.otherTokens", log)
    require_supplied(tokens.values, "no answer that could show it")

    observe("general.otherTokens", tokens.values, tokens.exchanges)


@pytest.mark.parametrize("operation", operations_with("refusal", operations()))
def test_refusals(operation, log, profile):
    """Requests are refused in these ways."""
    refusals = observed(f"{operation}.refusal", log)
    require_supplied(refusals.values, why_nothing_was_refused(operation, log, profile))

    observe(f"{operation}.refusal", refusals.values, refusals.exchanges[:5])


@requirement("general.codeValues")
def test_codes(log):
    """These values of code are seen beside 0."""
    refusals: list[Exchange] = []
    for operation in sorted(operations()):
        refusals += observed(f"{operation}.refusal", log).exchanges
    require_supplied(refusals, NOTHING_REFUSED)

    observe("general.codeValues", observed("general.codeValues", log).values, refusals[:5])


@requirement("general.rateLimit")
def test_rate_limits(log):
    """The service limits the rate of requests in this way, or does not limit it."""
    observe("general.rateLimit", observed("general.rateLimit", log).values)


@requirement("general.sizeLimit")
@pytest.mark.needs("fuzz")
def test_size_limits(log):
    """Large requests are refused for their size in this way, or are not."""
    sizes = observed("general.sizeLimit", log)
    require_supplied(sizes.values, "no large request was sent: add read or register-keys to allow")

    observe("general.sizeLimit", sizes.values, sizes.exchanges)


@requirement("general.identifierFormat")
def test_formats_of_identifiers(log):
    """The identifiers of granted requests are of these characters."""
    formats = observed("general.identifierFormat", log).values
    require_supplied(formats, "no request that names an account or a code was granted")

    observe("general.identifierFormat", formats)


@requirement("general.deprecation")
def test_headers_about_versions(log):
    """Answers have these headers about versions and deprecation."""
    headers = observed("general.deprecation", log).values
    require_supplied(headers, "no request succeeded")

    observe("general.deprecation", headers)
