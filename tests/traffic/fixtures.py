"""The fixtures of the conformance tests, a plugin of the root conftest.py: the traffic of a run, by operation."""

from __future__ import annotations

import pytest

from environments.profiles.profile import Profile
from spec.answers import grants_protected_result
from spec.exchange import Exchange
from tests.harness.judging import NotExercised
from tests.harness.reproduction import Robustness
from tests.harness.selection import requirements
from tests.harness.session import Session
from tests.traffic.endpoints import Endpoints
from tests.traffic.executions import Executions
from tests.traffic.generation.collecting import Findings
from tests.traffic.generation.phases import Generation
from tests.traffic.generation.settings import GenerationSettings, settings_of
from tests.traffic.generation.world import World
from tests.traffic.operations import Traffic
from tests.traffic.reach import permits, reach_of
from tests.traffic.registrar import Registrar, Registrations
from tests.traffic.registrations import NOTHING_TO_DELETE


@pytest.fixture(scope="session")
def traffic(request: pytest.FixtureRequest, session: Session, token: str) -> Traffic:
    """What this run sends for the selected requirements, each part once."""
    reach = reach_of(requirements(request.session.items, "traffic"), session.profile)
    return Traffic(session.client, session.profile, token, reach)


@pytest.fixture(scope="session")
def endpoints(traffic: Traffic) -> Endpoints:
    """What shows whether an endpoint exists, and every exchange of the run."""
    return Endpoints(traffic)


@pytest.fixture(scope="session")
def executions(traffic: Traffic) -> Executions:
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
def registrations(traffic: Traffic) -> Registrations:
    """Refusals, registrations and deletions of keys."""
    found = traffic.register_once()
    if found.missing:
        raise NotExercised(found.missing)
    return found


@pytest.fixture(scope="session")
def deletions(registrations: Registrations, profile: Profile) -> list[Exchange]:
    """The answers to deletions of keys that were registered just before."""
    if "deletePixKey" not in profile.requests:
        raise NotExercised("no body for a deletion: supply requests.deletePixKey")
    if not registrations.deletions:
        raise NotExercised(NOTHING_TO_DELETE)
    return registrations.deletions


@pytest.fixture(scope="session")
def generation_settings(pytestconfig: pytest.Config, session: Session) -> GenerationSettings:
    """How much traffic is generated, from which seed, and where failing examples are kept."""
    return settings_of(pytestconfig, session.profile, seed=session.seed)


@pytest.fixture(scope="session")
def generation(
    request: pytest.FixtureRequest, session: Session, generation_settings: GenerationSettings, robustness: Robustness
) -> Generation:
    """Sends generated traffic."""
    client, profile = session.client, session.profile
    may_register = permits(profile, "registerPixKey") and profile.accounts
    registrar = Registrar(client, profile) if may_register else None
    targeted = reach_of(requirements(request.session.items, "traffic"), profile)
    return Generation(client, profile, registrar, generation_settings, robustness, targeted.surveyed)


@pytest.fixture(scope="session")
def world(
    request: pytest.FixtureRequest, session: Session, robustness: Robustness, generation_settings: GenerationSettings
) -> World:
    """What the state machine saw."""
    client, profile = session.client, session.profile
    if not profile.accounts:
        raise NotExercised("no account: supply accounts")
    from tests.traffic.generation.machine import run_sequences

    reach = reach_of(requirements(request.session.items, "traffic", "world"), profile)
    registrar = Registrar(client, profile) if "registerPixKey" in reach.operations else None
    seen = World(client, profile, registrar, Findings(client.door, robustness), reach)
    run_sequences(seen, generation_settings)
    return seen
