"""Key types that the interface document does not have, by rules."""

import json

import pytest

from spec.interface import KEY_TYPES
from tests.selftest.services.one_run import ADDRESS, Bank, bank_profile, whole_run
from tests.traffic.keys.undocumented_types import undocumented_types

ALL = list(undocumented_types(with_empty_keys=True))
NAMES = [each.name for each in ALL]


def test_none_is_left_open_by_the_interface_document():
    """Neither a documented type, nor one in lower case, nor digits, nor the Central Bank's name for RANDOM."""
    open_ones = {*KEY_TYPES, *map(str.lower, KEY_TYPES), "EVP"}

    assert not open_ones & set(NAMES)
    assert not [name for name in NAMES if name and name.isdecimal()]


@pytest.mark.parametrize(
    "name",
    ["CELULAR", "ALEATORIA", "TELEFONE", "E-MAIL", "CORREO", "EMAILS", "CNPJ2", "CPF_CNPJ", "E MAIL", "UM", "", None],
)
def test_each_rule_has_a_type(name):
    """Names in Portuguese and Spanish, a plural, a number behind, two in one, a blank inside, a number in words, none."""
    assert name in NAMES


@pytest.mark.parametrize("documented", KEY_TYPES)
def test_each_documented_type_has_one_that_begins_like_it(documented):
    """A service may compare no more than the beginning."""
    fitting = [each.name for each in ALL if each.fits == documented and not each.with_an_empty_key]

    assert [name for name in fitting if name and name.startswith(documented)]


def test_what_may_make_a_key_is_marked():
    """Types that mean RANDOM or nothing, and each one with an empty key: elsewhere than on a sandbox nobody could name
    the key."""
    marked = {each.name for each in ALL if each.may_make_a_key and not each.with_an_empty_key}
    with_an_empty_key = [each for each in ALL if each.with_an_empty_key]

    assert marked == {"ALEATORIA", "CHAVE_ALEATORIA", "RANDOM_KEY", "RANDOM2", "UM", "", None}
    assert with_an_empty_key
    assert all(each.may_make_a_key for each in with_an_empty_key)
    assert len(list(undocumented_types(with_empty_keys=False))) == len(ALL) - len(with_an_empty_key)


@pytest.mark.parametrize(
    ("sandbox", "is_disposable", "are_sent"), [(ADDRESS, False, True), (None, True, True), (None, False, False)]
)
def test_no_type_is_sent_elsewhere_that_a_key_may_be_made_for(sandbox, is_disposable, are_sent, tmp_path):
    """Unless the profile says that nobody else registers keys there, so that a list tells which key was made. An empty
    key goes with one on a sandbox alone."""
    bank = Bank()
    keys = [{"type": "RANDOM", "key": "", "disposable": is_disposable}]
    profile = bank_profile(tmp_path, sandbox=sandbox, pix_keys=keys)
    whole_run(bank, profile, "registerPixKey.pixKeyType.undocumented")
    bodies = [
        json.loads(seen.body) for seen in bank.seen if seen.method == "POST" and seen.body.startswith(b'{"account"')
    ]
    types = {body["pixKeyType"] for body in bodies}

    assert {each.name for each in ALL if not each.may_make_a_key} <= types
    assert ({each.name for each in ALL if each.may_make_a_key} <= types) is are_sent
    assert any(not body["pixKey"] for body in bodies if body["pixKeyType"] not in ("RANDOM", "EVP")) is bool(sandbox)
