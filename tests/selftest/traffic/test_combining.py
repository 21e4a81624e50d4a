"""Bodies with several unusual members: a few of them have each value in each member."""

import json
from collections import defaultdict
from dataclasses import replace

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings

from environments.profiles.loading import load
from spec.interface import PREPARING_OPERATIONS
from tests.traffic.case import documented_members, safe_cases
from tests.traffic.combining import (
    VALUES,
    VALUES_OF_FURTHER_ROUNDS,
    cases_without_choice,
    has_several_members,
    rounds,
)

SANDBOX = load("sandbox")
BANK = replace(SANDBOX, base_url="https://bank.example", sandbox=None)
"""The same profile, for a service that is no sandbox."""
WITH_SEVERAL_MEMBERS = ["registerPixKey", *PREPARING_OPERATIONS]


def drawn_round(operation, values, profile=SANDBOX, seed=1):
    """The requests of the second round that Hypothesis draws with this seed. The first one is the same for each seed."""
    drawn = []

    @settings(max_examples=2, phases=(Phase.generate,), database=None, suppress_health_check=list(HealthCheck))
    @hypothesis.seed(seed)
    @hypothesis.given(rounds(operation, profile, values))
    def keep(cases):
        """Keep the requests of the round."""
        drawn.append(cases)

    keep()
    return drawn[1]


def bodies(cases):
    """The bodies of these requests, as objects."""
    return [json.loads(case.body) for case in cases]


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_all_members_of_some_bodies_are_alike(operation):
    """All members of a body are null, 0 or empty together, because a service may compare two of them."""
    first_bodies = bodies(cases_without_choice(operation, SANDBOX))[:3]
    names = documented_members(operation, SANDBOX)

    assert first_bodies[0] == dict.fromkeys(names, None)
    assert first_bodies[2] == dict.fromkeys(names, "")


def test_each_type_of_key_has_keys_that_fit_none():
    """A registration of each type has an empty key, a key of one digit and a long one.

    The usual type (EMAIL) is left out, because it has these keys in the coverage phase of Schemathesis.
    """
    registrations = bodies(cases_without_choice("registerPixKey", SANDBOX))
    keys_by_type = defaultdict(int)
    for body in registrations:
        keys_by_type[body["pixKeyType"]] += 1

    assert keys_by_type == {"PHONE": 3, "CNPJ": 3, "CPF": 3}


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_a_round_has_each_value_in_each_member(operation):
    """In one round each member is at least once a text, a number, null and missing.

    Off a sandbox, and for the account that pays, some bodies have the usual value instead.
    """
    types_by_member = defaultdict(set)
    for body in bodies(drawn_round(operation, VALUES_OF_FURTHER_ROUNDS)):
        for name in documented_members(operation, SANDBOX):
            types_by_member[name].add(type(body[name]) if name in body else "missing")

    assert all({str, int} <= types for types in types_by_member.values())
    assert [name for name, types in types_by_member.items() if not {type(None), "missing"} & types] == []


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_no_two_members_have_the_same_order(operation):
    """In a round two members seldom have the same value, because each goes through the values in its own order."""
    round_bodies = bodies(drawn_round(operation, VALUES))
    alike = [
        body for body in round_bodies if len(body) > 1 and len({json.dumps(value) for value in body.values()}) == 1
    ]

    assert len(round_bodies) == len(VALUES)
    assert len(alike) < len(VALUES) / 2


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_a_seed_repeats_the_round(operation):
    """The same seed draws the same round, and another seed draws another one."""
    first = drawn_round(operation, VALUES)

    assert drawn_round(operation, VALUES) == first
    assert drawn_round(operation, VALUES, seed=2) != first


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_off_a_sandbox_nothing_is_left_for_the_last_look(operation):
    """No request has an amount that the profile does not permit, or names an account that pays.

    `safe_cases` is the last look at drawn requests before they are sent.
    """
    cases = [*cases_without_choice(operation, BANK), *drawn_round(operation, VALUES, BANK)]

    assert len(list(safe_cases(cases, BANK))) == len(cases) > len(VALUES) / 3
    assert operation == "registerPixKey" or not any(b"ac-0001" in case.body for case in cases)


@pytest.mark.parametrize("operation", ["getBalance", "deletePixKey"])
def test_one_member_has_no_combinations(operation):
    """A body with one member, or no body, has no combinations."""
    assert not has_several_members(operation, SANDBOX)
