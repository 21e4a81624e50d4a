"""Key types that the interface document does not have, by rules."""

import json

import pytest

from spec.interface import KEY_TYPES
from tests.selftest.services.one_run import UNUSED_ADDRESS, FakeBank, profile_off_sandbox, run_suite_in_memory
from tests.traffic.keys.undocumented_types import undocumented_types

ALL = list(undocumented_types(with_empty_keys=True))
NAMES = [key_type.name for key_type in ALL]


def test_none_is_left_open_by_the_interface_document():
    """No name is a documented type, one in lower case, digits, or EVP, the name of the Central Bank for RANDOM."""
    open_ones = {*KEY_TYPES, *map(str.lower, KEY_TYPES), "EVP"}

    assert not open_ones & set(NAMES)
    assert not [name for name in NAMES if name and name.isdecimal()]


@pytest.mark.parametrize(
    "name",
    ["CELULAR", "ALEATORIA", "TELEFONE", "E-MAIL", "CORREO", "EMAILS", "CNPJ2", "CPF_CNPJ", "E MAIL", "UM", "", None],
)
def test_each_rule_has_a_type(name):
    """The types have Portuguese and Spanish names, a plural, a number at the end, two names in one, a blank inside, a
    number in words, the empty text and null."""
    assert name in NAMES


@pytest.mark.parametrize("documented", KEY_TYPES)
def test_each_documented_type_has_one_that_begins_like_it(documented):
    """A service may compare only the beginning of a type."""
    fitting = [key_type.name for key_type in ALL if key_type.fits == documented and not key_type.with_an_empty_key]

    assert [name for name in fitting if name and name.startswith(documented)]


def test_what_may_make_a_key_is_marked():
    """A service may make a key for types that mean RANDOM or nothing, and for every type with an empty key. Outside a
    sandbox nobody could name such a key."""
    marked = {key_type.name for key_type in ALL if key_type.may_make_a_key and not key_type.with_an_empty_key}
    with_an_empty_key = [key_type for key_type in ALL if key_type.with_an_empty_key]

    assert marked == {"ALEATORIA", "CHAVE_ALEATORIA", "RANDOM_KEY", "RANDOM2", "UM", "", None}
    assert with_an_empty_key
    assert all(key_type.may_make_a_key for key_type in with_an_empty_key)
    assert len(list(undocumented_types(with_empty_keys=False))) == len(ALL) - len(with_an_empty_key)


@pytest.mark.parametrize(
    ("sandbox", "is_disposable", "are_sent"), [(UNUSED_ADDRESS, False, True), (None, True, True), (None, False, False)]
)
def test_no_type_is_sent_elsewhere_that_a_key_may_be_made_for(sandbox, is_disposable, are_sent, tmp_path):
    """They are sent if the profile says that nobody else registers keys there, because a list tells then which key was
    made. Empty keys are sent on a sandbox only."""
    bank = FakeBank()
    keys = [{"type": "RANDOM", "key": "", "disposable": is_disposable}]
    profile = profile_off_sandbox(tmp_path, sandbox=sandbox, pix_keys=keys)
    run_suite_in_memory(bank, profile, "registerPixKey.pixKeyType.undocumented")
    bodies = [
        json.loads(request.body)
        for request in bank.received
        if request.method == "POST" and request.body.startswith(b'{"account"')
    ]
    types = {body["pixKeyType"] for body in bodies}

    assert {key_type.name for key_type in ALL if not key_type.may_make_a_key} <= types
    assert ({key_type.name for key_type in ALL if key_type.may_make_a_key} <= types) is are_sent
    assert any(not body["pixKey"] for body in bodies if body["pixKeyType"] not in ("RANDOM", "EVP")) is bool(sandbox)
