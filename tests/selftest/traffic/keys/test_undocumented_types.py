"""Key types that are not in the interface document: a registration with one of them must be refused."""

import json

import pytest

from spec.interface import KEY_TYPES
from tests.selftest.services.one_run import UNUSED_ADDRESS, FakeBank, profile_of_bank, run_suite_in_memory
from tests.traffic.keys.undocumented_types import undocumented_types

ALL_UNDOCUMENTED_TYPES = list(undocumented_types(with_empty_keys=True))
"""Every undocumented type that a run may send."""
NAMES = [key_type.name for key_type in ALL_UNDOCUMENTED_TYPES]


def test_types_that_a_conforming_service_may_accept_are_no_undocumented_types():
    """A run sends undocumented key types, which a service must refuse. Some types are not among them, because a service
    may accept them: a documented type in lower case, a number, and EVP, the name of the Central Bank for RANDOM.
    """
    types_that_may_be_accepted = {*KEY_TYPES, *map(str.lower, KEY_TYPES), "EVP"}
    numbers = [name for name in NAMES if name and name.isdecimal()]

    assert types_that_may_be_accepted & set(NAMES) == set()
    assert numbers == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("CELULAR", id="Portuguese for PHONE"),
        pytest.param("TELEFONE", id="another Portuguese word for PHONE"),
        pytest.param("ALEATORIA", id="Portuguese for RANDOM"),
        pytest.param("CORREO", id="Spanish for EMAIL"),
        pytest.param("E-MAIL", id="a hyphen inside"),
        pytest.param("E MAIL", id="a blank inside"),
        pytest.param("EMAILS", id="a plural"),
        pytest.param("CNPJ2", id="a number at the end"),
        pytest.param("CPF_CNPJ", id="two types in one"),
        pytest.param("UM", id="Portuguese for one"),
        pytest.param("", id="the empty text"),
        pytest.param(None, id="null"),
    ],
)
def test_undocumented_types_include_each_kind_of_variation(name):
    """A run sends one example of each way in which a wrong key type may differ from a documented one.

    The id of the test case names the way.
    """
    assert name in NAMES


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("documented", KEY_TYPES)
def test_each_documented_type_is_the_beginning_and_the_end_of_undocumented_ones(documented, seed):
    """For each documented type a run sends a longer type that begins with it, one that ends with it, and a fitting key.

    PHONE2 and MY_PHONE, for example, are sent with a telephone number. A service may compare only a part of the type.
    """
    names_sent_with_such_a_key = [
        key_type.name
        for key_type in undocumented_types(with_empty_keys=False, seed=seed)
        if key_type.type_of_its_key == documented and key_type.name
    ]

    assert any(name.startswith(documented) for name in names_sent_with_such_a_key)
    assert any(name.endswith(documented) for name in names_sent_with_such_a_key)
    assert documented not in names_sent_with_such_a_key


@pytest.mark.parametrize("seed", range(20))
def test_each_separator_is_before_and_behind_a_documented_type(seed):
    """Whatever the seed, a word stands before a documented type with _, - or . between them, and behind one with _ or -.

    A service may take the part before or behind such a separator for the type.
    """
    ends = set()
    beginnings = set()
    for key_type in undocumented_types(with_empty_keys=False, seed=seed):
        for documented in KEY_TYPES:
            name = key_type.name or ""
            if name.endswith(documented):
                ends.add(name.removesuffix(documented)[-1:])
            if name.startswith(documented):
                beginnings.add(name.removeprefix(documented)[:1])

    assert ends >= set("_-.")
    assert beginnings >= set("_-")


def test_other_seeds_send_other_words():
    """Runs with different seeds put different words before and behind a documented type."""
    names_by_seed = {
        frozenset(key_type.name for key_type in undocumented_types(with_empty_keys=False, seed=seed))
        for seed in range(5)
    }

    assert len(names_by_seed) == 5


def test_types_for_which_a_service_may_make_a_key_are_known():
    """A service may make a random key for a type that means RANDOM or nothing (`may_make_a_key`).

    The request does not name that key, so outside a sandbox (a test system) nobody could say which key to delete
    afterwards.
    """
    types_that_may_make_a_key = {
        key_type.name
        for key_type in ALL_UNDOCUMENTED_TYPES
        if key_type.may_make_a_key and not key_type.with_an_empty_key
    }

    with_random_in_it = {name for name in types_that_may_make_a_key if name and "RANDOM" in name}
    assert len(with_random_in_it) == 2
    assert types_that_may_make_a_key - with_random_in_it == {"UUID", "ALEATORIA", "CHAVE_ALEATORIA", "UM", "", None}


def test_for_each_type_with_an_empty_key_a_service_may_make_one():
    """A service may make a random key for each type that is sent with an empty key (`may_make_a_key`)."""
    with_an_empty_key = [key_type for key_type in ALL_UNDOCUMENTED_TYPES if key_type.with_an_empty_key]

    assert with_an_empty_key != []
    assert [key_type for key_type in with_an_empty_key if not key_type.may_make_a_key] == []


def test_types_with_an_empty_key_can_be_left_out():
    """With `with_empty_keys=False` the types that are sent with an empty key are left out, and all others stay."""
    without_empty_keys = list(undocumented_types(with_empty_keys=False))

    assert without_empty_keys == [key_type for key_type in ALL_UNDOCUMENTED_TYPES if not key_type.with_an_empty_key]


@pytest.mark.parametrize(
    ("sandbox", "is_disposable", "are_sent", "are_sent_with_an_empty_key"),
    [(UNUSED_ADDRESS, False, True, True), (None, True, True, False), (None, False, False, False)],
    ids=["a sandbox", "disposable keys", "neither"],
)
def test_types_that_may_make_a_key_are_sent_only_if_that_key_can_be_found(
    sandbox, is_disposable, are_sent, are_sent_with_an_empty_key, tmp_path
):
    """A service may make a key for some undocumented key types. They are sent only on a sandbox (a test system), or if
    the profile (the settings of the run) calls its RANDOM key disposable.

    Disposable says that nobody else registers keys at the account: then the list of keys shows which key was made.
    Types with an empty key are sent on a sandbox alone. All other undocumented types are always sent.
    """
    bank = FakeBank()
    keys = [{"type": "RANDOM", "key": "", "disposable": is_disposable}]
    profile = profile_of_bank(tmp_path, sandbox=sandbox, pix_keys=keys)
    run_suite_in_memory(bank, profile, selected="registerPixKey.pixKeyType.undocumented")
    types_sent, types_sent_with_an_empty_key = key_types_in_registrations(bank.received)
    harmless_types = {key_type.name for key_type in ALL_UNDOCUMENTED_TYPES if not key_type.may_make_a_key}
    types_that_may_make_a_key = {key_type.name for key_type in ALL_UNDOCUMENTED_TYPES if key_type.may_make_a_key}

    assert harmless_types <= types_sent
    assert (types_that_may_make_a_key <= types_sent) is are_sent
    assert (types_sent_with_an_empty_key != set()) is are_sent_with_an_empty_key


def key_types_in_registrations(requests):
    """The key types in all registrations among these requests, and those that are sent with an empty key.

    RANDOM and EVP, the name of the Central Bank for RANDOM, are left out of the second set, because an empty key is
    usual for them.
    """
    types, types_with_an_empty_key = set(), set()
    for request in requests:
        # every registration begins with its account; a body that begins otherwise is an invalid request
        is_registration = request.method == "POST" and request.body.startswith(b'{"account"')
        if not is_registration:
            continue
        body = json.loads(request.body)
        key_type = body["pixKeyType"]
        types.add(key_type)
        if not body.get("pixKey") and key_type not in ("RANDOM", "EVP"):
            types_with_an_empty_key.add(key_type)
    return types, types_with_an_empty_key
