"""What the interface document does not show, as the traffic of the run shows it anyway."""

from __future__ import annotations

import pytest

from spec.answers import RefusalKind
from spec.interface import PREPARING, READS, operations
from tests.harness.judging import each, observe, requirement, supplied
from tests.traffic.observations import codes_of_envelopes, members_of, refused_with, tally_of


@pytest.mark.parametrize("operation", each(READS + PREPARING, "shape"))
def test_shape_of_an_answer(operation, traffic):
    """An operation whose answer is not documented answers with these members."""
    seen = traffic.visit(operation)[0]

    observe(f"{seen.summary}: {members_of(seen)}", seen)


@pytest.mark.parametrize("operation", each(READS, "token"))
def test_token_of_a_read(operation, traffic):
    """A read without a token is answered in this way."""
    seen = traffic.visit(operation)[1]

    observe(f"without a token: {seen.summary}", seen)


@pytest.mark.parametrize("operation", each(operations(), "refusal"))
def test_refusals(operation, endpoints):
    """Requests are refused in these ways."""
    refused = [seen for seen in refused_with(endpoints.send_everything()) if seen.operation == operation]
    supplied(refused, "nothing was refused")

    observe(tally_of(refused), *refused[:5])


@requirement("general.codeValues")
def test_codes(endpoints):
    """These values of code are seen."""
    codes = codes_of_envelopes(endpoints.send_everything())
    supplied(codes, "no envelope with a code was seen")

    observe(", ".join(map(str, codes[:20])))


@requirement("general.rateLimit")
def test_rate_limits(endpoints):
    """The service asks the suite to slow down this often."""
    exchanges = endpoints.send_everything()
    limited = refused_with(exchanges, RefusalKind.RATE_LIMIT)

    observe(f"429 for {len(limited)} of {len(exchanges)} requests", *limited[:3])


@requirement("general.sizeLimit")
def test_size_limits(endpoints):
    """This many requests are too large for the service."""
    large = refused_with(endpoints.send_everything(), RefusalKind.SIZE)

    observe(f"413, 414 or 431 for {len(large)} requests", *large[:3])
