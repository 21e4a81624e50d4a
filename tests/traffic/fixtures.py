"""The fixtures of the conformance tests, a plugin of the root conftest.py: the traffic of a run, by operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from environments.profiles.gaps import NO_DELETION
from environments.profiles.profile import Profile
from spec.answers import grants_protected_result
from spec.exchange import Exchange
from tests.harness.judging import NotExercised, OutOfScope
from tests.harness.session import Session
from tests.traffic.endpoints import Endpoints
from tests.traffic.executions import Executions
from tests.traffic.generation.phases import Generation
from tests.traffic.generation.settings import GenerationSettings, settings_of
from tests.traffic.generation.world import World
from tests.traffic.registered import Registrations
from tests.traffic.registrations import NOTHING_TO_DELETE
from tests.traffic.run_traffic import RunTraffic
from tests.traffic.targeted_traffic import TargetedTraffic


@pytest.fixture(scope="session")
def run_traffic(
    request: pytest.FixtureRequest, session: Session, generation_settings: GenerationSettings
) -> Iterator[RunTraffic]:
    """All that this run sends. Parts of it are begun now, before the tests ask for them."""
    found = RunTraffic(session, generation_settings, request.session.items)
    found.start()
    yield found
    found.close()


@pytest.fixture(scope="session")
def traffic(run_traffic: RunTraffic) -> TargetedTraffic:
    """What this run sends for the selected requirements, each part once."""
    return run_traffic.traffic


@pytest.fixture(scope="session")
def endpoints(run_traffic: RunTraffic, traffic: TargetedTraffic) -> Endpoints:
    """What shows whether an endpoint exists, and every exchange of the run. It asks for `traffic`, so that its tests count
    among those that `uses(item, "traffic")`."""
    return run_traffic.endpoints


@pytest.fixture(scope="session")
def executions(traffic: TargetedTraffic) -> Executions:
    """Refusals and executions of transaction codes."""
    return traffic.execute_once()


@pytest.fixture(scope="session")
def execution_answers(executions: Executions) -> list[Exchange]:
    """The answers to valid executions, and the results that were given without a valid token."""
    if executions.missing:
        raise NotExercised(executions.missing)
    granted = [refusal for refusal in executions.refusals if grants_protected_result(refusal)]
    return [*executions.answers, *executions.generous, *granted]


@pytest.fixture(scope="session")
def registrations(traffic: TargetedTraffic) -> Registrations:
    """Refusals, registrations and deletions of keys."""
    found = traffic.register_once()
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
def generation_settings(pytestconfig: pytest.Config, session: Session) -> GenerationSettings:
    """How much traffic is generated, from which seed, and where failing examples are kept."""
    return settings_of(pytestconfig, session.profile, seed=session.seed)


@pytest.fixture(scope="session")
def generation(run_traffic: RunTraffic) -> Generation:
    """Sends generated traffic."""
    return run_traffic.generation


@pytest.fixture(scope="session")
def world(run_traffic: RunTraffic) -> World:
    """What the state machine saw."""
    return run_traffic.follow_sequences()
