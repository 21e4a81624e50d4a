"""The fixtures of several files of conformance tests: what a run works with, and what it has sent."""

from __future__ import annotations

import pytest

from environments.profiles.loading import NO_REGISTRATION
from environments.profiles.model import Profile
from spec.log import Log
from spec.message import Text, joined
from spec.rules import Reproduction
from tests.harness.judging import require_permission, require_supplied
from tests.harness.session import SESSION, Session
from tests.traffic.keys.listed import types_left_alone
from tests.traffic.keys.purposes import valid_registrations
from tests.traffic.keys.registration import register
from tests.traffic.phases import SENT, RunTraffic
from tests.traffic.scenario import Traffic


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Session:
    """The parts that the run works with."""
    return pytestconfig.stash[SESSION]


@pytest.fixture(scope="session")
def profile(session: Session) -> Profile:
    """The profile of the run."""
    return session.profile


@pytest.fixture(scope="session")
def reproduction(session: Session) -> Reproduction:
    """The judge of exchanges, which knows what deviations showed again."""
    return session.reproduction


@pytest.fixture(scope="session")
def sent(pytestconfig: pytest.Config) -> RunTraffic:
    """All that this run has sent."""
    return pytestconfig.stash[SENT]


@pytest.fixture(scope="session")
def traffic(sent: RunTraffic) -> Traffic:
    """Requests of this run for the selected requirements, without generated traffic."""
    return sent.traffic


@pytest.fixture(scope="session")
def log(traffic: Traffic) -> Log:
    """Everything that this run has sent, by the purpose of each request."""
    return traffic.log


@pytest.fixture(scope="session")
def left_alone_types(log: Log, profile: Profile) -> dict[str, Text]:
    """Reasons why the run left the keys of a type alone, by the type."""
    return types_left_alone(log, profile)


@pytest.fixture(scope="session")
def registrations_log(log: Log, traffic: Traffic, left_alone_types: dict[str, Text]) -> Log:
    """The log of a run that had keys to register."""
    require_supplied(traffic.selects(register), NO_REGISTRATION)
    missing = traffic.missing.get("registerPixKey", "")
    require_supplied(not missing, missing)
    require_permission(valid_registrations(log) or not left_alone_types, joined(left_alone_types.values()))
    return log
