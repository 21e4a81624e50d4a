"""The fixtures that several files of conformance tests share: the parts of the run, and everything that it has sent.

Self-tests: harness/test_selection.py.
"""

from __future__ import annotations

import pytest

from environments.profiles.loading import NO_REGISTRATION
from environments.profiles.model import Profile
from spec.log import Log
from spec.message import Text, joined
from spec.rules import Reproduction
from tests.harness.judging import not_exercised_unless, out_of_scope_unless
from tests.harness.session import SESSION, Session
from tests.traffic.keys.listed import types_left_alone
from tests.traffic.keys.purposes import valid_registrations
from tests.traffic.keys.registration import register
from tests.traffic.phases import RUN_TRAFFIC, RunTraffic
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
    """The judge of exchanges, which knows which deviations showed again."""
    return session.reproduction


@pytest.fixture(scope="session")
def run_traffic(pytestconfig: pytest.Config) -> RunTraffic:
    """The traffic of the scenarios and the generated traffic. Everything was sent before the first test."""
    return pytestconfig.stash[RUN_TRAFFIC]


@pytest.fixture(scope="session")
def traffic(run_traffic: RunTraffic) -> Traffic:
    """The traffic of the scenarios, which serve the selected requirements; without generated traffic."""
    return run_traffic.traffic


@pytest.fixture(scope="session")
def log(traffic: Traffic) -> Log:
    """All exchanges of this run, which a test asks for by operation and purpose."""
    return traffic.log


@pytest.fixture(scope="session")
def left_alone_types(log: Log, profile: Profile) -> dict[str, Text]:
    """By key type, the reason why the run left the keys of the type alone."""
    return types_left_alone(log, profile)


@pytest.fixture(scope="session")
def registrations_log(log: Log, traffic: Traffic, left_alone_types: dict[str, Text]) -> Log:
    """The log of a run that had keys to register. In another run the test cannot judge, and is skipped."""
    not_exercised_unless(traffic.selects(register), NO_REGISTRATION)
    why_nothing_was_sent = traffic.why_not_sent.get("registerPixKey", "")
    not_exercised_unless(not why_nothing_was_sent, why_nothing_was_sent)
    has_keys_to_register = valid_registrations(log) or not left_alone_types
    out_of_scope_unless(has_keys_to_register, joined(left_alone_types.values()))
    return log
