"""What the interface document does not show, as the traffic of the run shows it anyway."""

from __future__ import annotations

import pytest

from spec.interface import PREPARING, READS, operations
from tests.harness.judging import each, observe, requirement, supplied
from tests.harness.selection import selection
from tests.traffic.observations import (
    codes_of,
    formats_of_identifiers,
    rate_limits_of,
    sizes_of,
    version_headers_of,
)
from tests.traffic.situations import refusals_of, refused_values, send_large, tokens_of, unknown_code, wants_the_token
from tests.traffic.undescribed import no_answer, values_of, visit_to_the_end

NOTHING_REFUSED = "nothing was refused: add fuzz to allow"


@pytest.mark.parametrize("operation", each(READS + PREPARING, "shape"))
def test_shape_of_an_answer(operation, traffic):
    """An operation whose answer is not documented answers with this status, media type and shape."""
    answers = visit_to_the_end(operation, traffic)
    supplied(answers, no_answer(operation, traffic))

    observe(values_of(answers), *answers[:3])


@pytest.mark.parametrize("operation", each(READS, "token"))
def test_token_of_a_read(operation, traffic):
    """A read wants the token, or does not."""
    granted, without = traffic.visit(operation)
    wanted = wants_the_token(without, granted)
    supplied(wanted, "no answer that could show it")

    observe(wanted, granted, without)


@requirement("general.otherTokens")
@pytest.mark.needs("delete-keys", "create-pix", "transfer")
@pytest.mark.needs("fuzz")
def test_token_of_what_writes(traffic):
    """An operation that writes refuses a request without the token before it reads the body, or does not."""
    sent = traffic.send_unauthorized()
    tokens = tokens_of(sent, traffic)
    supplied(tokens, "no answer that could show it")

    observe(tokens, *sent.values())


@pytest.mark.parametrize("operation", each(operations(), "refusal"))
def test_refusals(operation, endpoints):
    """Requests are refused in these ways."""
    sent = refusals_of(operation, endpoints)
    supplied(sent, NOTHING_REFUSED)
    values = refused_values(sent, unknown_code(endpoints) if operation == "executePix" else None)

    observe(values, *(one.exchange for one in sent[:5]))


@requirement("general.codeValues")
def test_codes(endpoints):
    """These values of code are seen beside 0."""
    sent = [one for name in sorted(endpoints.traffic.reach.subjects) for one in refusals_of(name, endpoints)]
    supplied(sent, NOTHING_REFUSED)

    observe(codes_of(sent), *(one.exchange for one in sent[:5]))


@requirement("general.rateLimit")
def test_rate_limits(endpoints, profile, pytestconfig):
    """The service limits the rate of requests in this way, or does not limit it."""
    endpoints.send_everything()
    whole = selection(pytestconfig).text is None

    observe(rate_limits_of(endpoints.traffic.client.door.exchanges, profile, whole=whole))


@requirement("general.sizeLimit")
@pytest.mark.needs("fuzz")
def test_size_limits(endpoints):
    """Large requests are refused for their size in this way, or are not."""
    sent = send_large(endpoints)
    supplied(sent, "no large request was sent: add read or register-keys to allow")

    observe(sizes_of(sent), *sent.values())


@requirement("general.identifierFormat")
def test_formats_of_identifiers(endpoints):
    """The identifiers of granted requests are of these characters."""
    exchanges = endpoints.send_everything()
    executed = endpoints.traffic.execute_once().prepared if endpoints.traffic.permitted("executePix") else ()
    formats = formats_of_identifiers(exchanges, executed)
    supplied(formats, "no request that names an account or a code was granted")

    observe(formats)


@requirement("general.deprecation")
def test_headers_about_versions(endpoints):
    """Answers have these headers about versions and deprecation."""
    headers = version_headers_of(endpoints.send_everything())
    supplied(headers, "nothing was granted")

    observe(headers)
