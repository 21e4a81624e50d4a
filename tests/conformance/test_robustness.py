"""The policy of the suite: a client's mistake ends in no server error, no stack trace and no dropped connection."""

from __future__ import annotations

import pytest

from spec.exchange import Exchange
from spec.interface import operations
from spec.rules import judge
from tests.harness.judging import NotExercised, cite, each


@pytest.mark.parametrize("operation", each(operations(), "serverError"))
def test_no_server_error(operation, endpoints, door):
    """No request ends in a server error, good ones and malformed ones."""
    _assert_never(f"{operation}.serverError", operation, endpoints.whole, door)


@pytest.mark.parametrize("operation", each(operations(), "stackTrace"))
def test_no_stack_trace(operation, endpoints, door):
    """No answer shows a stack trace or a debug page."""
    _assert_never(f"{operation}.stackTrace", operation, endpoints.whole, door)


@pytest.mark.parametrize("operation", each(operations(), "connection"))
def test_no_dropped_connection(operation, endpoints, door):
    """No connection is dropped without an answer."""
    _assert_never(f"{operation}.connection", operation, endpoints.whole, door)


def _assert_never(row, operation, exchanges: list[Exchange], door):
    """No exchange of the operation breaks the row twice: what was seen once only may have been the network."""
    seen = [exchange for exchange in exchanges if exchange.operation == operation]
    broken = [item for item in seen if item.number in door.reproduced and judge(row, item).deviates]
    cite(*broken)
    if not any(exchange.response for exchange in seen):
        raise NotExercised("no answer to judge")

    assert not broken, "; ".join(dict.fromkeys(judge(row, item).message for item in broken))
