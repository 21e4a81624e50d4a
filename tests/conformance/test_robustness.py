"""The policy of the suite: an invalid request ends in no server error, no stack trace and no dropped connection."""

from __future__ import annotations

import pytest

from spec.interface import operations
from tests.harness.judging import assert_found, each
from tests.traffic.findings import never_broken


@pytest.mark.parametrize("operation", each(operations(), "serverError"))
def test_no_server_error(operation, endpoints, robustness):
    """No request ends in a server error, valid or not."""
    assert_found(never_broken(f"{operation}.serverError", endpoints.send_everything(), robustness))


@pytest.mark.parametrize("operation", each(operations(), "stackTrace"))
def test_no_stack_trace(operation, endpoints, robustness):
    """No answer shows a stack trace or a debug page."""
    assert_found(never_broken(f"{operation}.stackTrace", endpoints.send_everything(), robustness))


@pytest.mark.parametrize("operation", each(operations(), "connection"))
def test_no_dropped_connection(operation, endpoints, robustness):
    """No connection is dropped without an answer."""
    assert_found(never_broken(f"{operation}.connection", endpoints.send_everything(), robustness))
