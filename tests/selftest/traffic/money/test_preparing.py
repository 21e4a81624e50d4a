"""Bodies that prepare a transfer."""

from dataclasses import replace

from environments.profiles.loading import load
from environments.profiles.model import PixKey
from tests.traffic.money.preparing import filled_body

BODY_OF_PROFILE = {"from": "{account}", "to": "{key}", "kind": "{type}"}
"""A body with placeholders for the account and for the key of the payee."""


def profile_with_keys(*keys):
    """The profile of the sandbox with these keys."""
    return replace(load("sandbox"), pix_keys=keys)


def test_transfers_are_prepared_with_a_key_of_each_type_in_turn():
    """Transfers are prepared with the keys of the profile as their payees, in turn, and after the last with the first.

    A RANDOM entry is left out, because it names no key.
    """
    profile = profile_with_keys(PixKey("RANDOM", ""), PixKey("PHONE", "a"), PixKey("CNPJ", "b"), PixKey("CPF", "c"))
    bodies = [filled_body(BODY_OF_PROFILE, profile, number) for number in range(4)]

    assert [(body["to"], body["kind"]) for body in bodies] == [
        ("a", "PHONE"),
        ("b", "CNPJ"),
        ("c", "CPF"),
        ("a", "PHONE"),
    ]


def test_without_a_key_of_known_value_the_payee_is_empty():
    """If the profile has a RANDOM entry alone, which names no key, the key and its type in the body are empty."""
    profile = profile_with_keys(PixKey("RANDOM", ""))

    assert filled_body(BODY_OF_PROFILE, profile) == {"from": "ac-0001", "to": "", "kind": ""}
