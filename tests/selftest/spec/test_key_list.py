"""What a list of keys shows, and what it cannot tell."""

import json

import pytest

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from spec.key_list import Listing
from tests.selftest.exchanges import answer
from tests.selftest.services.keys_of_others import ACCOUNT, EMAIL, PHONE, PHONE_FORMS

KEY_AT = "/data/keys/*/pixKey"


def listing(value: object) -> Listing:
    """A list of keys, whose place in the body is not known."""
    return Listing(answer("listPixKeys", json.dumps(value).encode(), path="/v1/pix/keys/ac"))


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("a@x.example", {"keys": [{"pixKey": "a@x.example"}]}),
        ("a@x.example", ["A@X.example"]),
        ("a@x.example", {"a@x.example": {"type": "EMAIL"}}),
        ("13579246828", {"keys": [{"cpf": "135.792.468-28"}]}),
        ("13579246828", {"keys": [{"cpf": 13579246828}]}),
    ],
)
def test_a_key_is_seen_in_any_shape(key, shown):
    """A key is shown as a value or as a name, in any letter case and punctuation; a part of a text is no key."""
    assert listing(shown).shows(key)
    assert not listing(shown).shows("b@x.example")
    assert not listing({"uri": f"mailto:{key}", "keys": []}).shows(key)
    assert not listing(shown).shows("")


@pytest.mark.parametrize(
    ("data", "is_complete"),
    [
        ({"keys": [], "pages": 2}, False),
        ({"keys": [], "hasMore": True}, False),
        ({"keys": [], "total": 7}, False),
        ({"keys": [], "_links": {"next": {"href": "/v1/pix/keys?page=2"}}}, False),
        ({"keys": [], "last": False}, False),
        ({"keys": [{"key": "a@b.example"}]}, False),
        ({}, False),
        ({"keys": [], "page": 1, "pages": 1, "total": 0, "next": None, "last": True}, True),
        ({"keys": [{"pixKey": "a@b.example", "next": "x"}], "count": 1, "pageSize": 50}, True),
    ],
)
def test_a_list_says_whether_it_is_complete(data, is_complete):
    """Members beside the keys, such as `hasMore`, say that a list has more pages.

    A list without keys at KEY_AT is incomplete.
    """
    assert (not listing_with_key_at(data).incomplete) is is_complete


def listing_with_key_at(data):
    """A list of keys that stand at KEY_AT."""
    body = json.dumps({"code": 0, "data": data}).encode()
    return Listing(answer("listPixKeys", body, path=f"/v1/pix/keys/{ACCOUNT}"), KEY_AT)


@pytest.mark.parametrize(
    ("item", "is_elsewhere"),
    [
        ({"pixKey": "PHONE", "value": PHONE}, True),
        ({"pixKey": "PHONE", "value": "(55) 11 98765-4321"}, True),
        ({"pixKey": "PHONE"}, False),
        ({"pixKey": "11987654321", "value": PHONE}, False),
        ({"pixKey": "+55119****4321", "value": PHONE}, False),
        ({"pixKey": "+5511955500777", "value": PHONE}, True),
    ],
)
def test_a_list_shows_a_key_elsewhere_than_at_key_at(item, is_elsewhere):
    """It does not if a text at KEY_AT may be the key, such as a number without its country code, or a masked one."""
    assert listing_with_key_at({"keys": [item]}).shows_elsewhere(PHONE) is is_elsewhere
    assert not listing_with_key_at({"keys": [item]}).shows_elsewhere("")


@pytest.mark.parametrize("form", PHONE_FORMS.values(), ids=PHONE_FORMS)
def test_a_list_shows_a_number_in_any_form(form):
    """The list shows the number, or hides it behind a mask. Another number is not taken for it."""
    shown = listing_with_key_at({"keys": [{"pixKey": form(PHONE), "since": 1767225600000}]})

    assert shown.may_show(PHONE) is not shown.hides_keys
    assert not shown.may_show("+5511955500777")


def test_letters_are_compared_without_case():
    """The key may be part of a longer text, and percent-encoded."""
    for text in ("MAE@Cliente.Example", "mailto:mae@cliente.example", "mae%40cliente.example"):
        assert listing_with_key_at({"keys": [{"pixKey": text}]}).may_show(EMAIL)
    assert not listing_with_key_at({"keys": [{"pixKey": "pai@cliente.example"}]}).may_show(EMAIL)


@pytest.mark.parametrize(
    ("masked", "key", "expected"),
    [
        ("(11) 9****-4321", "+5511987654321", True),
        ("***.456.789-**", "12345678909", True),
        ("pix****.com", "pixconf-0a1b@example.com", True),
        ("5f0c****f1d6", "5f0c1e9a-7b3d-4c2e-8f6a-0b1d2e3ff1d6", True),
        ("(11) 9****-4322", "+5511987654321", False),
        ("mae****.com", "pixconf-0a1b@example.com", False),
        ("pix****.com", "pixconf-0a1b@example.com.br", False),
    ],
)
def test_a_masked_text_may_be_a_key_with_the_same_visible_characters(masked, key, expected):
    """The key has the visible characters in their order. A text that the earlier list had, too, is another key."""
    listing = listing_with_key_at({"keys": [{"pixKey": masked}]})

    assert listing.may_hide(key) is expected
    assert not listing.may_hide(key, before=listing)
