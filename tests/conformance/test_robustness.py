"""The policy of the suite: a client's mistake ends in no server error, no stack trace and no dropped connection."""

from __future__ import annotations

import pytest

from spec.exchange import Exchange
from spec.interface import operations
from tests.harness.judging import NotExercised, cite, each


@pytest.mark.parametrize("operation", each(operations(), "serverError"))
def test_no_server_error(operation, endpoints, robustness):
    """No request ends in a server error, good ones and malformed ones."""
    _assert_never(f"{operation}.serverError", operation, endpoints.whole, robustness)


@pytest.mark.parametrize("operation", each(operations(), "stackTrace"))
def test_no_stack_trace(operation, endpoints, robustness):
    """No answer shows a stack trace or a debug page."""
    _assert_never(f"{operation}.stackTrace", operation, endpoints.whole, robustness)


@pytest.mark.parametrize("operation", each(operations(), "connection"))
def test_no_dropped_connection(operation, endpoints, robustness):
    """No connection is dropped without an answer."""
    _assert_never(f"{operation}.connection", operation, endpoints.whole, robustness)


def _assert_never(row, operation, exchanges: list[Exchange], robustness):
    """No exchange of the operation breaks the requirement twice: what was seen once may have been the network."""
    seen = [exchange for exchange in exchanges if exchange.operation == operation]
    judged = [(exchange, robustness.judge(row, exchange)) for exchange in seen]
    broken = [(exchange, judgement) for exchange, judgement in judged if judgement.deviates]
    cite(*(exchange for exchange, _ in broken))
    if not any(exchange.response for exchange in seen):
        raise NotExercised("no answer to judge")

    assert not broken, "; ".join(dict.fromkeys(judgement.message for _, judgement in broken))
