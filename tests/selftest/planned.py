"""The plan of a run, made in this process."""

from collections.abc import Container

from environments.profiles.model import Profile
from reports.sentences.plan import Plan
from tests.selftest.proof.directly import collected_tests, conformance_tests
from tests.traffic.planning import planned

BEYOND_THE_PLAN = 20
"""Requests to an operation that a run may send beyond its plan: the plan knows no RANDOM key, which a service makes, so it
has no deletion of one, and no further registration. Four of these ask for RANDOM with a key, with null, without a key and
with nothing but the type."""


def plan_of(profile: Profile, ids: Container[str] | None = None, *, generated: bool = False) -> Plan:
    """What a run with this profile would send, as an object. `pytest --plan` prints the same as text.

    The run is about the requirements with these ids, or about all of them if `ids` is None. With `generated`, it also
    has generated requests.
    """
    return planned(collected_tests().config, profile, (), conformance_tests(ids, generated=generated))
