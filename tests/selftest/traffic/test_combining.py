"""Bodies with several unusual members: few of them have each value in each member."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import islice

import pytest

from environments.profiles.loading import load
from spec.interface import PREPARING_OPERATIONS
from tests.traffic.case import documented_members, safe_cases
from tests.traffic.combining import combined_cases

SANDBOX = load("sandbox")
BANK = replace(SANDBOX, base_url="https://bank.example", sandbox=None)
"""The same profile, for a service that is no sandbox."""
WITH_SEVERAL_MEMBERS = ["registerPixKey", *PREPARING_OPERATIONS]


def first_cases(operation, count, profile=SANDBOX, seed="1"):
    """The first cases with combined values."""
    return list(islice(combined_cases(operation, profile, seed), count))


def bodies(operation, count):
    """The bodies of these cases, as objects."""
    return [json.loads(case.body) for case in first_cases(operation, count)]


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_first_all_members_are_alike(operation):
    """They are null, empty or unusual together, because a service may compare two of them."""
    first_bodies = bodies(operation, 3)

    assert set(first_bodies[0]) == set(documented_members(operation, SANDBOX))
    assert set(first_bodies[0].values()) == {None}
    assert set(first_bodies[2].values()) == {""}


def test_each_type_of_key_has_keys_that_fit_none():
    """Without the usual type, which has them in the coverage phase."""
    pairs = {(body["pixKeyType"], len(body["pixKey"]) > 1) for body in bodies("registerPixKey", 9)}

    assert pairs == {(name, is_long) for name in ("PHONE", "CNPJ", "CPF") for is_long in (False, True)}


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_few_bodies_have_each_value_in_each_member(operation):
    """20 bodies: as many as a run with a few examples more than the default sends."""
    types = defaultdict(set)
    for body in bodies(operation, 20):
        for name in documented_members(operation, SANDBOX):
            types[name].add(type(body.get(name)) if name in body else "missing")

    assert all({str, int, type(None), "missing"} <= types_of_member for types_of_member in types.values())


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_a_seed_repeats_the_bodies(operation):
    """Another one has others."""
    assert first_cases(operation, 40) == first_cases(operation, 40)
    assert first_cases(operation, 40) != first_cases(operation, 40, seed="2")


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_off_a_sandbox_nothing_is_left_for_the_last_look(operation):
    """No case has an amount that the profile does not permit, or names an account that pays."""
    cases = first_cases(operation, 40, BANK)

    assert len(list(safe_cases(cases, BANK))) == len(cases) == 40
    assert operation == "registerPixKey" or not any(b"ac-0001" in case.body for case in cases)


@pytest.mark.parametrize("operation", ["getBalance", "deletePixKey"])
def test_one_member_has_no_combinations(operation):
    """Nor has none."""
    assert first_cases(operation, 1) == []
