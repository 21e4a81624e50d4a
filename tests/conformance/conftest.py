"""The fixtures of the conformance tests: the traffic of a run, by operation."""

from __future__ import annotations

import pytest

from environments.profiles.loading import NO_ACCOUNT, NO_DELETION
from environments.profiles.model import Profile
from spec.answers import grants_protected_result
from spec.exchange import Exchange
from tests.harness.judging import require_permission, supplied
from tests.harness.session import SENT
from tests.traffic.execution import Executions, execute
from tests.traffic.phases import RunTraffic
from tests.traffic.property import Generation
from tests.traffic.registrar import Registrations
from tests.traffic.registration import NOTHING_TO_DELETE, register
from tests.traffic.scenario import Traffic
from tests.traffic.stateful import World


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
def executions(traffic: Traffic) -> Executions:
    """Refusals and executions of transaction codes."""
    return traffic.sent(execute)


@pytest.fixture(scope="session")
def execution_answers(executions: Executions) -> list[Exchange]:
    """The answers to valid executions, and the results that were given without a valid token."""
    supplied(not executions.missing, executions.missing)
    granted = [refusal for refusal in executions.refusals if grants_protected_result(refusal)]
    return [*executions.answers, *executions.generous, *granted]


@pytest.fixture(scope="session")
def registrations(traffic: Traffic) -> Registrations:
    """Refusals, registrations and deletions of keys."""
    found = traffic.sent(register)
    supplied(not found.missing, found.missing)
    require_permission(found.answers or not found.left_out, "; ".join(dict.fromkeys(found.left_out.values())))
    return found


@pytest.fixture(scope="session")
def deletions(registrations: Registrations, profile: Profile) -> list[Exchange]:
    """The answers to deletions of keys that were registered just before."""
    supplied("deletePixKey" in profile.requests, NO_DELETION)
    supplied(registrations.deletions, NOTHING_TO_DELETE)
    return registrations.deletions


@pytest.fixture(scope="session")
def generation(sent: RunTraffic) -> Generation:
    """The generated traffic."""
    return sent.generation


@pytest.fixture(scope="session")
def world(sent: RunTraffic) -> World | None:
    """Answers and findings of the sequences of operations."""
    supplied(sent.world, NO_ACCOUNT)
    return sent.world
