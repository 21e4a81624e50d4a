"""The fixtures of the conformance tests, a plugin of the root conftest.py: the traffic of a run, by operation."""

from __future__ import annotations

import pytest

from environments.profiles.gaps import NO_DELETION
from environments.profiles.profile import Profile
from spec.answers import grants_protected_result
from spec.exchange import Exchange
from tests.harness.judging import NotExercised, OutOfScope
from tests.harness.session import SENT
from tests.traffic.execution import Executions, execute
from tests.traffic.phases import RunTraffic, world_of
from tests.traffic.property import Generation
from tests.traffic.registered import Registrations
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
    """What this run has sent for the selected requirements, without generated traffic."""
    return sent.traffic


@pytest.fixture(scope="session")
def executions(traffic: Traffic) -> Executions:
    """Refusals and executions of transaction codes."""
    return traffic.sent(execute)


@pytest.fixture(scope="session")
def execution_answers(executions: Executions) -> list[Exchange]:
    """The answers to valid executions, and the results that were given without a valid token."""
    if executions.missing:
        raise NotExercised(executions.missing)
    granted = [refusal for refusal in executions.refusals if grants_protected_result(refusal)]
    return [*executions.answers, *executions.generous, *granted]


@pytest.fixture(scope="session")
def registrations(traffic: Traffic) -> Registrations:
    """Refusals, registrations and deletions of keys."""
    found = traffic.sent(register)
    if found.missing:
        raise NotExercised(found.missing)
    if found.left_out and not found.answers:
        raise OutOfScope("; ".join(dict.fromkeys(found.left_out.values())))
    return found


@pytest.fixture(scope="session")
def deletions(registrations: Registrations, profile: Profile) -> list[Exchange]:
    """The answers to deletions of keys that were registered just before."""
    if "deletePixKey" not in profile.requests:
        raise NotExercised(NO_DELETION)
    if not registrations.deletions:
        raise NotExercised(NOTHING_TO_DELETE)
    return registrations.deletions


@pytest.fixture(scope="session")
def generation(sent: RunTraffic) -> Generation:
    """The generated traffic."""
    return sent.generation


@pytest.fixture(scope="session")
def world(sent: RunTraffic) -> World:
    """What sequences of operations showed."""
    return world_of(sent)
