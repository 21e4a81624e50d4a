"""Bodies with several unusual members: a few of them have each value in each member.

A round is a list of requests in which each member of the body goes through its unusual values, in an order of its own
that Hypothesis draws.
"""

import json
import re
from collections import Counter
from itertools import combinations as each_choice

import pytest

from spec.interface import PREPARING_OPERATIONS
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.case import harmless_cases, members_with_account_of_profile, usual_body
from tests.traffic.drawing.combining import combinations, fixed_bodies, rounds, values_by_member
from tests.traffic.drawing.unusual_values import ODD_NAMES
from tests.traffic.drawing.with_hypothesis import distinct_values

WITH_SEVERAL_MEMBERS = ["registerPixKey", *PREPARING_OPERATIONS]
WITH_BODIES = [*WITH_SEVERAL_MEMBERS, "deletePixKey"]


def values_of_every_run(operation, profile):
    """By name of a member, the unusual values that each run sends."""
    return {name: values.in_every_run for name, values in values_by_member(operation, profile).items()}


def drawn_round(operation, profile=SANDBOX, seed="1"):
    """The requests of one round, in which each member of the body goes through its unusual values.

    It is the second round that Hypothesis draws with this seed, because the first one is the same for each seed.
    """
    values = values_of_every_run(operation, profile)
    strategy = rounds(operation, profile, values, values)
    _, second_round = distinct_values(strategy, seed, 2)
    return second_round


def bodies_of(cases):
    """The bodies of these requests, as objects."""
    return [json.loads(case.body) for case in cases]


@pytest.mark.parametrize("value", [None, ""], ids=["null", "an empty text"])
@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_all_members_of_some_bodies_are_alike(operation, value):
    """Each operation that prepares transfers gets a body whose members are all null, and one whose members are all
    empty.

    A service may compare two members.
    """
    bodies = bodies_of(fixed_bodies(operation, SANDBOX))

    assert dict.fromkeys(usual_body(operation, SANDBOX), value) in bodies


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_one_body_has_members_with_odd_names(operation):
    """Each operation with a body gets one that has its usual members, and beside them a member with each odd name.

    An odd name is empty, or means something to a program, such as `__proto__`.
    """
    usual = usual_body(operation, SANDBOX)
    bodies = bodies_of(fixed_bodies(operation, SANDBOX))
    names_of_bodies = [body.keys() for body in bodies]

    assert {*usual, *ODD_NAMES} in names_of_bodies


@pytest.mark.parametrize("operation", [*PREPARING_OPERATIONS, "deletePixKey"])
def test_one_body_has_halves_of_surrogate_pairs(operation):
    """One body has both halves of surrogate pairs in the wrong order, as escapes. All other members are usual.

    A service that reads such a text cannot encode it.
    """
    usual = usual_body(operation, SANDBOX)
    bodies_with_halves = [json.loads(case.body) for case in fixed_bodies(operation, SANDBOX) if b"\\ud" in case.body]
    [body] = bodies_with_halves
    [unusual_member] = [name for name in usual if body[name] != usual[name]]

    assert "\udc00\ud83d" in body[unusual_member]


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_the_payer_is_also_the_payee(operation):
    """On a sandbox (a test system) a transfer is prepared from an account to itself, because a service may lock the
    account twice.
    """
    account = SANDBOX.accounts[0]
    payee = "pixKey" if operation == "createPix" else "to"
    [payer] = members_with_account_of_profile(operation, SANDBOX)
    bodies = bodies_of(drawn_round(operation))
    bodies_to_itself = [body for body in bodies if body.get(payer) == body.get(payee) == account]

    assert bodies_to_itself != []


def test_each_type_of_key_has_unusual_keys():
    """Each key type but RANDOM gets registrations with unusual keys, such as an empty one or a number that is too
    short.

    For EMAIL these are also the keys that have the form of an e-mail address. RANDOM is left out, because the service makes
    the keys of this type.
    """
    bodies = bodies_of(fixed_bodies("registerPixKey", SANDBOX))
    unusual_keys = [body for body in bodies if body.get("pixKey") != "pixconf-key"]

    assert Counter(body["pixKeyType"] for body in unusual_keys) == {"EMAIL": 11, "PHONE": 5, "CNPJ": 3, "CPF": 6}


def test_unusual_e_mail_addresses_keep_their_form():
    """A service that checks the form of an e-mail address accepts the unusual ones, with capitals, quotes and accents.

    The prefix of made-up texts stands before each of them. They have at most 254 characters (RFC 5321), some of them more
    than 77. Other keys almost have this form.
    """
    bodies = bodies_of(fixed_bodies("registerPixKey", SANDBOX))
    keys = [body["pixKey"] for body in bodies if body["pixKeyType"] == "EMAIL" and "pixKey" in body]
    addresses = [key for key in keys if re.fullmatch(r"pixconf-[^@\s]+@[^@\s]+\.[a-z]+", key) and len(key) <= 254]

    assert len(addresses) == 6
    assert sum(len(key) > 77 for key in addresses) == 2
    assert sum(len(key) > 254 for key in keys) == 1


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_a_round_has_each_class_of_values_in_each_member(operation):
    """In one round of requests each member is at least once a text, true, an array, an object and null.

    A key type is left out, because the coverage phase tries the values of this member alone. An account of the profile
    (the settings of the run) is never null here.
    """
    account_members = members_with_account_of_profile(operation, SANDBOX)
    bodies = bodies_of(drawn_round(operation))
    for name in usual_body(operation, SANDBOX):
        if name == "pixKeyType":
            continue
        types = {type(body[name]) for body in bodies if name in body}
        expected_types = {str, bool, list, dict}
        if name not in account_members:
            expected_types.add(type(None))

        assert types >= expected_types


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_a_value_of_a_round_stands_beside_the_account_of_the_profile(operation):
    """In a round each amount goes into a body that names the account of the profile (the settings of the run) as the
    payer.

    A service may look the account up, and refuse the body, before it reads the amount.
    """
    [payer] = members_with_account_of_profile(operation, SANDBOX)
    bodies_with_account = [body for body in bodies_of(drawn_round(operation)) if body.get(payer) == "ac-0001"]
    amounts = {json.dumps(body.get("value")) for body in bodies_with_account}

    assert amounts >= {"null", "true", "0", "-0.0", "-0.5", "1e-07", "Infinity", '"7"', '"NaN"', '""'}


def test_a_number_beyond_a_double_is_written_as_json():
    """The infinite number of Python is sent as 1e400, because JSON has no infinity.

    A service that reads numbers as doubles makes infinity of it.
    """
    texts = b"".join(case.body for case in drawn_round("transferInternal"))

    assert b'"value": 1e400' in texts
    assert b": Infinity" not in texts


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_no_two_members_have_the_same_order(operation):
    """In a round each member of the body goes through its unusual values, in an order of its own.

    So the members of most bodies have different values. In less than half of the bodies all members are equal.
    """
    bodies = bodies_of(drawn_round(operation))
    number_with_equal_members = 0
    for body in bodies:
        different_values = {json.dumps(value) for value in body.values()}
        if len(body) > 1 and len(different_values) == 1:
            number_with_equal_members += 1

    assert number_with_equal_members < len(bodies) / 2


@pytest.mark.parametrize("operation", WITH_BODIES)
def test_a_seed_repeats_the_round(operation):
    """The same seed draws the same round of requests, and another seed draws another one."""
    with_seed_1 = drawn_round(operation, seed="1")
    with_seed_1_again = drawn_round(operation, seed="1")
    with_seed_2 = drawn_round(operation, seed="2")

    assert with_seed_1_again == with_seed_1
    assert with_seed_2 != with_seed_1


@pytest.mark.parametrize("operation", WITH_SEVERAL_MEMBERS)
def test_off_a_sandbox_the_last_check_leaves_out_no_request(operation):
    """Off a sandbox (a test system) all requests with several unusual members may be sent: the last check of them
    leaves none out.

    The last check is `harmless_cases`. It leaves none out because a round lacks the others from the beginning, such as
    those whose amount the profile does not permit. A sixth of the requests of a sandbox remain, or more.
    """
    cases_of_round = drawn_round(operation, BANK)
    cases_on_a_sandbox = drawn_round(operation)
    combined = combinations(operation, BANK, "1", 10)
    cases = [*fixed_bodies(operation, BANK), *combined, *cases_of_round]
    cases_that_may_be_sent = list(harmless_cases(cases, BANK))

    assert len(cases_that_may_be_sent) == len(cases)
    assert len(cases_of_round) > len(cases_on_a_sandbox) / 6


def all_bodies(operation, profile):
    """The bodies of all requests that this module makes: fixed ones, combinations, and those of a round."""
    combined = combinations(operation, profile, "1", 10)
    return [case.body for case in (*fixed_bodies(operation, profile), *combined, *drawn_round(operation, profile))]


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_off_a_sandbox_no_unusual_transfer_names_anybody_of_the_profile(operation):
    """Off a sandbox no transfer with several unusual members names the payer or the payee of the profile.

    A service might execute the transfer, and then it would move real money. Nor is the payer named in capital letters,
    because a service may not mind them.
    """
    payee = BANK.requests[operation].json["pixKey" if operation == "createPix" else "to"]
    bodies = all_bodies(operation, BANK)
    bodies_with_payer = [body for body in bodies if b'"ac-0001' in body.lower()]
    bodies_with_payee = [body for body in bodies if payee.encode() in body]

    assert bodies_with_payer == []
    assert bodies_with_payee == []


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_on_a_sandbox_most_unusual_transfers_are_to_the_payee_of_the_profile(operation):
    """On a sandbox more than half of the transfers with unusual members are to the payee of the profile.

    A service looks the payee up, and refuses the transfer if it does not exist. Then the other members show nothing.
    """
    payee = SANDBOX.requests[operation].json["pixKey" if operation == "createPix" else "to"]
    bodies = all_bodies(operation, SANDBOX)
    bodies_with_payee = [body for body in bodies if payee.encode() in body]

    assert len(bodies_with_payee) > len(bodies) / 2


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_some_transfers_have_one_unusual_member_that_many_services_accept(operation):
    """On a sandbox each operation gets a transfer that is usual but for one text or amount that many services accept.

    So a service stores the transfer, and what fails afterwards shows: a text of 150 letters that goes into a message,
    for example. transferInternal gets its texts in the coverage phase, and transferExternal has none.
    """
    usual = usual_body(operation, SANDBOX)
    unusual_members = []
    for body in bodies_of(fixed_bodies(operation, SANDBOX)):
        changed = [name for name in usual if name in body and body[name] != usual[name]]
        if body.keys() == usual.keys() and len(changed) == 1:
            unusual_members += [(changed[0], body[changed[0]])]
    texts = [value for name, value in unusual_members if name in ("description", "message")]
    amounts = [value for name, value in unusual_members if name == "value"]

    assert amounts == [30_000_000, 1e27]
    if operation in ("createPix", "transferP2p"):
        assert {len(text) for text in texts} >= {1, 150, 256}


# -- combinations ------------------------------------------------------------------------------------------------------


def pairs_of(body):
    """Each two members of a transfer with their values, such as `(("to", "null"), ("description", "missing"))`.

    A value is written as JSON. A member that is not in the body has the value "missing".
    """
    names_and_values = []
    for name in usual_body("transferInternal", SANDBOX):
        value = json.dumps(body[name]) if name in body else "missing"
        names_and_values.append((name, value))
    return set(each_choice(names_and_values, 2))


def test_combinations_have_most_pairs_of_simple_values():
    """Thirty requests that combine simple values have at least four of five pairs that a body can have.

    For example, in one of them `to` is null and `description` is missing. A body for `transferInternal` has five
    members: two values of the payer, three of the payee, five of the text, and six of each of two numbers.
    """
    payer, payee, text, number = 2, 3, 5, 6
    pairs_with_payer = payer * (payee + text + number + number)
    pairs_with_payee = payee * (text + number + number)
    possible_pairs = pairs_with_payer + pairs_with_payee + text * (number + number) + number * number
    pairs = set()
    for body in bodies_of(combinations("transferInternal", SANDBOX, "1", 30)):
        pairs |= pairs_of(body)

    assert len(pairs) >= 0.8 * possible_pairs


def test_one_member_has_no_combinations():
    """An operation whose body has one member, or that has no body, gets no combinations of simple values."""
    assert combinations("deletePixKey", SANDBOX, "1", 5) == []
    assert combinations("getBalance", SANDBOX, "1", 5) == []
