"""Behaviour that the interface document does not show, and the traffic of the run does."""

from __future__ import annotations

import pytest

from spec.answers import answers_in_words
from spec.exchange import Exchange
from spec.interface import PREPARING, READS, operations
from spec.message import say
from tests.harness.judging import observe, operations_with, require_supplied, requirement
from tests.traffic.observations import (
    Situated,
    answers_to,
    codes_of,
    formats_of_identifiers,
    large_ones,
    no_answer,
    rate_limits_of,
    refusals_of,
    refused_values,
    sizes_of,
    tokens_of,
    unknown_code,
    values_of,
    version_headers_of,
    wants_the_token,
)
from tests.traffic.robustness import without_the_token
from tests.traffic.undescribed import visit

NOTHING_REFUSED = "nothing was refused: add fuzz to allow"


@pytest.mark.parametrize("operation", operations_with("shape", READS + PREPARING))
def test_shape_of_an_answer(operation, traffic):
    """An operation whose answer is not documented answers with this status, media type and shape."""
    answers = answers_to(operation, traffic)
    require_supplied(answers, no_answer(operation, traffic))

    observe(f"{operation}.shape", values_of(answers), answers[:3])


@pytest.mark.parametrize("operation", operations_with("token", READS))
def test_token_of_a_read(operation, traffic):
    """A read wants the token, or does not."""
    granted, without = visit(traffic, operation)
    wanted = wants_the_token(without, granted)
    answers = answers_in_words([granted, without])
    require_supplied(wanted, say("with the token and without: {answers}", answers=answers))

    observe(f"{operation}.token", wanted, [granted, without])


@requirement("general.otherTokens")
@pytest.mark.needs("delete-keys", "create-pix", "transfer")
@pytest.mark.needs("fuzz")
def test_token_of_what_writes(traffic):
    """An operation that writes refuses a request without the token before it reads the body, or does not."""
    answers: list[Exchange] = []
    for operation in operations():
        answers += without_the_token(traffic, operation, "no header")
    tokens = tokens_of(answers, traffic)
    require_supplied(tokens, "no answer that could show it")

    observe("general.otherTokens", tokens, answers)


@pytest.mark.parametrize("operation", operations_with("refusal", operations()))
def test_refusals(operation, traffic):
    """Requests are refused in these ways."""
    refusals = refusals_of(operation, traffic)
    if "fuzz" in traffic.profile.allow:
        answers = answers_in_words(traffic.targeted(operation))
        require_supplied(refusals, say("nothing was refused: {answers}", answers=answers))
    require_supplied(refusals, NOTHING_REFUSED)
    values = refused_values(refusals, unknown_code(traffic) if operation == "executePix" else None)

    observe(f"{operation}.refusal", values, [exchange for _, exchange in refusals[:5]])


@requirement("general.codeValues")
def test_codes(traffic):
    """These values of code are seen beside 0."""
    refusals: list[Situated] = []
    for operation in sorted(traffic.reach.subjects):
        refusals += refusals_of(operation, traffic)
    require_supplied(refusals, NOTHING_REFUSED)

    observe("general.codeValues", codes_of(refusals), [exchange for _, exchange in refusals[:5]])


@requirement("general.rateLimit")
def test_rate_limits(traffic):
    """The service limits the rate of requests in this way, or does not limit it."""
    observe("general.rateLimit", rate_limits_of(traffic.attempts))


@requirement("general.sizeLimit")
@pytest.mark.needs("fuzz")
def test_size_limits(traffic):
    """Large requests are refused for their size in this way, or are not."""
    large = large_ones(traffic)
    require_supplied(large, "no large request was sent: add read or register-keys to allow")

    observe("general.sizeLimit", sizes_of(large), [exchange for _, exchange in large])


@requirement("general.identifierFormat")
def test_formats_of_identifiers(traffic):
    """The identifiers of granted requests are of these characters."""
    formats = formats_of_identifiers(traffic.exchanges)
    require_supplied(formats, "no request that names an account or a code was granted")

    observe("general.identifierFormat", formats)


@requirement("general.deprecation")
def test_headers_about_versions(traffic):
    """Answers have these headers about versions and deprecation."""
    headers = version_headers_of(traffic.exchanges)
    require_supplied(headers, "no request succeeded")

    observe("general.deprecation", headers)
