"""What is observed tells services apart that differ in one thing, and is the same for one service in every run."""

import json
import os
from functools import cache

import pytest

from environments.sandbox import Server, Service
from reports.observations.behaviour import data_of_behaviour
from tests.selftest.proof.trial import run_of
from tests.selftest.services.unshown import SEEN_OTHERWISE, LimitsTheRate, Stumbles

EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
OTHERWISE = [
    pytest.param(requirement, service, id=service.__name__)
    for requirement, services in SEEN_OTHERWISE.items()
    for service in (services if EXHAUSTIVE else services[:1])
]
TARGETED = ("-m", "not property")
BY_SEQUENCES = {"executePix.repeated"}
"""What the state machine alone observes: other runs leave it out."""


def observed(service, *options, environment="sandbox"):
    """What a run observes of a service, by requirement and situation."""
    with Server(service) as server:
        os.environ |= {"PIX_SANDBOX_TOKEN": service.token, "PIX_TOKEN": service.token}
        target = (f"--base-url={server.base_url}", f"--environment={environment}")
        status, run = run_of("--no-report", *target, *options)
    assert (status, run.errors) == (0, [])
    return data_of_behaviour(run.behaviour)


@cache
def sandbox(*options):
    """What is observed of the sandbox."""
    return observed(Service(), *options)


def differing(one, other):
    """The requirements of which two runs observed different things in the same situation."""
    return {
        requirement
        for requirement in one.keys() & other.keys()
        for situation in one[requirement].keys() & other[requirement].keys()
        if one[requirement][situation] != other[requirement][situation]
    }


@pytest.mark.parametrize(("requirement", "service"), OTHERWISE)
def test_a_service_that_differs_in_one_thing_is_seen_to_differ_in_that_alone(requirement, service):
    """A lawful service does one thing otherwise that is not shown: that requirement is observed otherwise, and no other."""
    assert differing(sandbox(*TARGETED), observed(service(), *TARGETED)) == {requirement}


@pytest.mark.parametrize(
    "options",
    [
        ("--parallel=1",),
        pytest.param(("--parallel=16",), marks=pytest.mark.skipif(not EXHAUSTIVE, reason="PIX_PROOF=exhaustive")),
    ],
    ids=" ".join,
)
def test_the_same_service_is_observed_alike(options):
    """However many requests are on the wire."""
    assert same_but_for_the_rate(observed(Service(), *TARGETED, *options)) == same_but_for_the_rate(sandbox(*TARGETED))


def same_but_for_the_rate(seen):
    """As text; how many requests may be on the wire is a situation of the rate limit."""
    return json.dumps({name: situations for name, situations in seen.items() if name != "general.rateLimit"}, indent=1)
