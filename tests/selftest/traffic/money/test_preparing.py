"""Bodies that prepare a transfer."""

from dataclasses import replace

from environments.profiles.loading import load
from environments.profiles.model import PixKey
from tests.traffic.money.preparing import filled_body


def test_transfers_are_prepared_with_a_key_of_each_type_in_turn():
    """Keys are taken in the order of the profile. A RANDOM entry is left out, because it names no key."""
    keys = [PixKey("RANDOM", ""), PixKey("PHONE", "a"), PixKey("CNPJ", "b"), PixKey("CPF", "c")]
    profile = replace(load("sandbox"), pix_keys=tuple(keys))
    body = {"from": "{account}", "to": "{key}", "kind": "{type}"}
    prepared = [filled_body(body, profile, number) for number in range(4)]

    assert [(body_sent["to"], body_sent["kind"]) for body_sent in prepared] == [
        ("a", "PHONE"),
        ("b", "CNPJ"),
        ("c", "CPF"),
        ("a", "PHONE"),
    ]
    assert filled_body(body, replace(profile, pix_keys=tuple(keys[:1]))) == {"from": "ac-0001", "to": "", "kind": ""}
