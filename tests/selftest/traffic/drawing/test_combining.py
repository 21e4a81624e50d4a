"""Bodies with several unusual members: a few of them have each value in each member.

A round is a number of requests in which each member of the body goes through a list of values, in an order of its own
that Hypothesis draws.
"""

import json
from collections import Counter, defaultdict

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings

from spec.interface import PREPARING_OPERATIONS
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.case import harmless_cases, usual_body
from tests.traffic.drawing.combining import (
    VALUES,
    VALUES_OF_FURTHER_ROUNDS,
    fixed_transfers,
    has_several_members,
    registrations_of_another_type,
    rounds,
)

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


def not_drawn(operation, profile):
    """The requests with several unusual members that are the same for each seed, because nothing in them is drawn."""
    if operation == "registerPixKey":
        return registrations_of_another_type(profile)
    return fixed_transfers(operation, profile)


def bodies_of(cases):
    """The bodies of these requests, as objects."""
    return [json.loads(case.body) for case in cases]


@pytest.mark.parametrize("value", [None, ""], ids=["null", "an empty text"])
@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_all_members_of_some_bodies_are_alike(operation, value):
    """Each operation that prepares transfers gets a body whose members are all null, and one whose members are all empty.

    A service may compare two members.
    """
    bodies = bodies_of(fixed_transfers(operation, SANDBOX))

    assert dict.fromkeys(usual_body(operation, SANDBOX), value) in bodies


@pytest.mark.parametrize("value", [None, "missing"], ids=["null", "missing"])
@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_two_members_alone_are_null_or_missing(operation, value):
    """Each operation that prepares transfers gets a body in which two members are null, and one in which two are missing.

    The other members are usual, so that a service gets as far as these two.
    """
    usual = usual_body(operation, SANDBOX)
    bodies = bodies_of(fixed_transfers(operation, SANDBOX))
    bodies_with_two = []
    for body in bodies:
        changed = [name for name in usual if body.get(name, "missing") == value]
        unchanged = [name for name in usual if body.get(name) == usual[name]]
        if len(changed) == 2 and len(unchanged) == len(usual) - 2:
            bodies_with_two.append(body)

    assert bodies_with_two


@pytest.mark.parametrize("operation", ["createPix", "transferExternal"])
def test_the_payer_is_also_the_payee(operation):
    """On a sandbox a transfer is prepared from an account to itself, because a service may lock the account twice.

    Services treat all transfers alike, so the two other operations do not get such a request.
    """
    account = SANDBOX.accounts[0]
    values = [list(body.values()) for body in bodies_of(fixed_transfers(operation, SANDBOX))]
    times_in_each_body = [values_of_body.count(account) for values_of_body in values]

    assert 2 in times_in_each_body


def test_each_type_of_key_has_keys_that_do_not_fit():
    """Each key type but EMAIL and RANDOM gets three registrations or more with a key that does not fit it.

    The usual type (EMAIL) is left out, because it has such keys in the coverage phase of Schemathesis. RANDOM is left
    out, because the service makes the keys of this type, so no key fits it.
    """
    bodies = bodies_of(registrations_of_another_type(SANDBOX))
    registrations_by_type = Counter(body["pixKeyType"] for body in bodies)

    assert registrations_by_type == {"PHONE": 4, "CNPJ": 3, "CPF": 4}


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_a_round_has_each_value_in_each_member(operation):
    """In one round of requests each member is at least once a text, at least once a number, and at least once null or
    missing.

    In some bodies the member with the payer has its usual value instead.
    """
    types_by_member = defaultdict(set)
    for body in bodies_of(drawn_round(operation, VALUES_OF_FURTHER_ROUNDS)):
        for name in usual_body(operation, SANDBOX):
            types_by_member[name].add(type(body[name]) if name in body else "missing")

    for types in types_by_member.values():
        assert {str, int} <= types
        assert {type(None), "missing"} & types != set()


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_no_two_members_have_the_same_order(operation):
    """In less than half of the bodies of a round all members have the same value, because each member goes through the
    values in its own order.
    """
    bodies = bodies_of(drawn_round(operation, VALUES))
    bodies_with_several_members = [body for body in bodies if len(body) > 1]
    alike = [body for body in bodies_with_several_members if len(set(map(json.dumps, body.values()))) == 1]

    assert len(bodies) == len(VALUES)
    assert len(alike) < len(bodies) / 2


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_a_seed_repeats_the_round(operation):
    """The same seed draws the same round of requests, and another seed draws another one."""
    with_seed_1 = drawn_round(operation, VALUES, seed=1)
    with_seed_1_again = drawn_round(operation, VALUES, seed=1)
    with_seed_2 = drawn_round(operation, VALUES, seed=2)

    assert with_seed_1_again == with_seed_1
    assert with_seed_2 != with_seed_1


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_off_a_sandbox_the_last_check_leaves_out_no_request(operation):
    """Off a sandbox all requests with several unusual members may be sent: the last check of them leaves none out.

    The last check is `harmless_cases`. It leaves none out because a round, a list of requests in which each member has each
    value once, lacks the others from the beginning, such as those whose amount the profile does not permit. On a sandbox a
    round has one request for each value. More than a third of them remain.
    """
    cases_of_round = drawn_round(operation, VALUES, BANK)
    cases = [*not_drawn(operation, BANK), *cases_of_round]
    cases_that_may_be_sent = list(harmless_cases(cases, BANK))

    assert len(cases_that_may_be_sent) == len(cases)
    assert len(cases_of_round) > len(VALUES) / 3


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_off_a_sandbox_no_unusual_transfer_names_the_account_of_the_profile(operation):
    """Off a sandbox no transfer with several unusual members names the account of the profile (ac-0001).

    A service might execute the transfer, and then it would move real money of this account.
    """
    cases = [*not_drawn(operation, BANK), *drawn_round(operation, VALUES, BANK)]
    bodies_with_account = [case.body for case in cases if b"ac-0001" in case.body]

    assert bodies_with_account == []


@pytest.mark.parametrize("operation", ["getBalance", "deletePixKey"])
def test_one_member_has_no_combinations(operation):
    """An operation whose body has one member, or that has no body, gets no body with several unusual members."""
    assert not has_several_members(operation, SANDBOX)
