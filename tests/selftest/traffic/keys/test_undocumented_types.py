"""Key types that the interface document does not have, by rules."""

import pytest

from spec.interface import KEY_TYPES
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
