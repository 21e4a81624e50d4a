"""The fixtures of several files of conformance tests: what a run has sent."""

from __future__ import annotations

import pytest

from spec.log import Log
from spec.message import joined
from tests.harness.judging import require_permission, require_supplied
from tests.harness.session import SENT
from tests.traffic.phases import RunTraffic
from tests.traffic.registrar import Registrations
from tests.traffic.registration import register
from tests.traffic.scenario import Traffic


@pytest.fixture(scope="session")
def sent(pytestconfig: pytest.Config) -> RunTraffic:
    """All that this run has sent."""
    found: RunTraffic = pytestconfig.stash[SENT]
    return found


@pytest.fixture(scope="session")
def traffic(sent: RunTraffic) -> Traffic:
    """Requests of this run for the selected requirements, without generated traffic."""
    return sent.traffic


@pytest.fixture(scope="session")
def log(traffic: Traffic) -> Log:
    """Everything that this run has sent, by the purpose of each request."""
    return traffic.log


@pytest.fixture(scope="session")
def registrations(traffic: Traffic) -> Registrations:
    """Refusals, registrations and deletions of keys."""
    found = traffic.result_of(register)
    require_supplied(not found.missing, found.missing)
    require_permission(found.answers or not found.left_out, joined(found.left_out.values()))
    return found
