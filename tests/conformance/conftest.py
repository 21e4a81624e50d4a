"""The fixtures that several files of conformance tests share: the parts of the run, and everything that it has sent.

Self-tests: harness/test_selection.py.
"""

from __future__ import annotations

import pytest

from environments.profiles.loading import NO_REGISTRATION
from environments.profiles.model import Profile
from spec.log import Log
from spec.message import Text, joined
from spec.rules.reproduction import Reproduction
from tests.harness.judging import not_exercised_unless, out_of_scope_unless
from tests.harness.session import SESSION, Session
from tests.traffic.keys.listed import reasons_of_types_left_out
from tests.traffic.keys.purposes import valid_registrations
from tests.traffic.keys.registration import register
from tests.traffic.phases import RUN_TRAFFIC, RunTraffic
from tests.traffic.scenario import Traffic


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Session:
    """The objects that all tests of this run share: the profile, the HTTP client, the record of the results and more.

    The profile is the configuration of the user: which service to test, and what the run may send there.
    """
    return pytestconfig.stash[SESSION]


@pytest.fixture(scope="session")
def profile(session: Session) -> Profile:
    """The configuration of the user: address, accounts and keys of the tested service, and what the run may send."""
    return session.profile


@pytest.fixture(scope="session")
def reproduction(session: Session) -> Reproduction:
    """Judges a request and its answer by the rule of a requirement.

    It also knows whether a deviation was seen again when the same request was sent a second time, because a deviation
    that is seen once may be an accident.
    """
    return session.reproduction


@pytest.fixture(scope="session")
def run_traffic(pytestconfig: pytest.Config) -> RunTraffic:
    """Everything that the run has sent, with the answers. It was sent before the first test, so tests send nothing.

    It includes what scenarios sent (functions that send requests for chosen requirements) and generated requests.
    """
    return pytestconfig.stash[RUN_TRAFFIC]


@pytest.fixture(scope="session")
def traffic(run_traffic: RunTraffic) -> Traffic:
    """The requests of the scenarios, without generated requests.

    A scenario is a function that sends requests for certain requirements, for example all registrations.
    """
    return run_traffic.traffic


@pytest.fixture(scope="session")
def log(traffic: Traffic) -> Log:
    """All requests of this run with their answers, in order.

    A test asks for some of them by operation, such as "executePix", and by the purpose of the request.
    """
    return traffic.log


@pytest.fixture(scope="session")
def why_type_not_registered(log: Log, profile: Profile) -> dict[str, Text]:
    """By key type, such as "PHONE", the reason why the run registered and deleted no key of this type.

    For example, a list showed all keys of the type before the run, so they are in use. Types without such a reason are
    not in the dictionary.
    """
    return reasons_of_types_left_out(log, profile)


@pytest.fixture(scope="session")
def log_with_registrations(log: Log, traffic: Traffic, why_type_not_registered: dict[str, Text]) -> Log:
    """All requests of this run with their answers (`log`), for a test that judges registrations.

    The test is skipped with one of two verdicts:

    - not exercised: the user can supply what is missing, or no registration was selected
    - out of scope: the run registered no key of the profile. `why_type_not_registered` has key types whose keys were
      registered before the run and must not be deleted, each with the reason.
    """
    may_register = traffic.selects(register)  # `register` is the scenario that registers keys
    not_exercised_unless(may_register, NO_REGISTRATION)
    why_nothing_was_sent = traffic.why_not_sent.get("registerPixKey", "")  # for example: the profile has no account
    was_something_sent = not why_nothing_was_sent
    not_exercised_unless(was_something_sent, why_nothing_was_sent)
    were_all_keys_left_out = bool(why_type_not_registered) and not valid_registrations(log)
    out_of_scope_unless(not were_all_keys_left_out, joined(why_type_not_registered.values()))
    return log
