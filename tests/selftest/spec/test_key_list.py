"""What a list of keys shows, and what it cannot tell."""

import json

import pytest

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from spec.key_list import Listing
from tests.selftest.exchanges import answer
from tests.selftest.services.keys_of_others import ACCOUNT, EMAIL, PHONE, PHONE_FORMS

PLACE_OF_KEYS = "/data/keys/*/pixKey"
"""Where the lists of these tests have their keys: a JSON pointer with * for each item. A profile gives it as `key_at`."""
OTHER_PHONE = "+5511955500777"


def list_with_unknown_places(body: object) -> Listing:
    """A list of keys with this JSON body. It is not known where in the body its keys are."""
    return Listing(answer("listPixKeys", json.dumps(body).encode(), path="/v1/pix/keys/ac"))


def list_with_items(*items):
    """A list of keys with these items, such as {"pixKey": "a@b.example"}. The key of an item is its member `pixKey`."""
    return list_with_data({"keys": [*items]})


def list_with_data(data):
    """A list of keys whose JSON body has this member `data`, such as {"keys": [{"pixKey": "a@b.example"}]}.

    The suite looks for a key in the member `pixKey` of each item of `keys`.
    """
    body = json.dumps({"code": 0, "data": data}).encode()
    return Listing(answer("listPixKeys", body, path=f"/v1/pix/keys/{ACCOUNT}"), PLACE_OF_KEYS)


@pytest.mark.parametrize(
    ("key", "body"),
    [
        ("a@x.example", {"keys": [{"pixKey": "a@x.example"}]}),
        ("a@x.example", ["A@X.example"]),
        ("a@x.example", {"a@x.example": {"type": "EMAIL"}}),
        ("13579246828", {"keys": [{"cpf": "135.792.468-28"}]}),
        ("13579246828", {"keys": [{"cpf": 13579246828}]}),
    ],
    ids=["a member", "in capitals", "a name", "with punctuation", "a number"],
)
def test_a_list_shows_a_key_in_any_shape(key, body):
    """The document does not show how a list of keys looks. So a key may be a value or a name, in any case and
    punctuation."""
    assert list_with_unknown_places(body).shows(key)


@pytest.mark.parametrize(
    ("key", "body"),
    [
        ("b@x.example", {"keys": [{"pixKey": "a@x.example"}]}),
        ("a@x.example", {"uri": "mailto:a@x.example", "keys": []}),
        ("", {"keys": [{"pixKey": "a@x.example"}]}),
    ],
    ids=["another key", "the key is a part of a text", "an empty key"],
)
def test_a_list_does_not_show_a_key_that_is_no_whole_text_of_it(key, body):
    """The document does not show how a list of keys looks. A key that is only a part of a text may be another key."""
    assert not list_with_unknown_places(body).shows(key)


@pytest.mark.parametrize(
    "data",
    [
        {"keys": [], "pages": 2},
        {"keys": [], "hasMore": True},
        {"keys": [], "total": 7},
        {"keys": [], "_links": {"next": {"href": "/v1/pix/keys?page=2"}}},
        {"keys": [], "last": False},
        {"keys": [{"key": "a@b.example"}]},
        {},
    ],
    ids=[
        "two pages",
        "hasMore",
        "a total above the number of keys",
        "a link to the next page",
        "it is not the last page",
        "its keys are elsewhere",
        "no keys",
    ],
)
def test_a_list_with_more_pages_or_with_keys_elsewhere_is_incomplete(data):
    """A list of keys is incomplete if the account may have keys that it does not show. Then the suite deletes no key.

    The suite expects a key in the member `pixKey` of each item of `keys`.
    """
    assert list_with_data(data).incomplete


@pytest.mark.parametrize(
    "data",
    [
        {"keys": [], "page": 1, "pages": 1, "total": 0, "next": None, "last": True},
        {"keys": [{"pixKey": "a@b.example", "next": "x"}], "count": 1, "pageSize": 50},
    ],
    ids=["no key, on one page", "one key, fewer than a page"],
)
def test_a_list_that_says_that_it_has_one_page_is_complete(data):
    """Members beside the keys say how many pages there are, such as `pages` or `last`. Here they say that there is one.

    A member `next` inside of a key is about that key, and says nothing of pages.
    """
    assert not list_with_data(data).incomplete


@pytest.mark.parametrize(
    ("item", "shows_it_elsewhere"),
    [
        ({"pixKey": "PHONE", "value": PHONE}, True),
        ({"pixKey": "PHONE", "value": "(55) 11 98765-4321"}, True),
        ({"pixKey": "PHONE"}, False),
        ({"pixKey": "11987654321", "value": PHONE}, False),
        ({"pixKey": "+55119****4321", "value": PHONE}, False),
        ({"pixKey": OTHER_PHONE, "value": PHONE}, True),
    ],
    ids=[
        "pixKey has the type of the key",
        "pixKey has the type of the key, and the number is spelled otherwise",
        "the list does not show the number",
        "pixKey has the number without its country code",
        "pixKey has the number masked",
        "pixKey has another number",
    ],
)
def test_a_list_shows_a_number_in_another_member_if_pix_key_cannot_be_it(item, shows_it_elsewhere):
    """The profile (the settings of a run) says that the member `pixKey` of an item has the key. This may be wrong.

    It is wrong if another member of the item has the number +5511987654321, and the text in `pixKey` cannot be that
    number.
    """
    assert list_with_items(item).shows_outside_key_at(PHONE) is shows_it_elsewhere


def test_a_list_never_shows_an_empty_key_elsewhere():
    """Another member than `pixKey` has a phone number. Each text has the empty text in it, so an empty key is not
    looked for.
    """
    assert not list_with_items({"pixKey": "PHONE", "value": PHONE}).shows_outside_key_at("")


@pytest.mark.parametrize("written_number", PHONE_FORMS.values(), ids=PHONE_FORMS)
def test_a_list_may_show_a_number_in_any_form(written_number):
    """A phone number is found in a list in another form, such as with punctuation or in several members.

    If the list hides digits of the number, it is not found, and the list says that it hides keys (`hides_keys`).
    Another number is never taken for it.
    """
    key_list = list_with_items({"pixKey": written_number(PHONE), "since": 1767225600000})
    is_found, hides_keys = key_list.may_show(PHONE), key_list.hides_keys

    assert is_found is not hides_keys
    assert not key_list.may_show(OTHER_PHONE)


@pytest.mark.parametrize(
    ("text", "may_be_it"),
    [
        ("MAE@Cliente.Example", True),
        ("mailto:mae@cliente.example", True),
        ("mae%40cliente.example", True),
        ("pai@cliente.example", False),
    ],
    ids=["in capitals", "in a URI", "percent-encoded", "another address"],
)
def test_a_list_may_show_an_email_key_in_another_form(text, may_be_it):
    """The key is mae@cliente.example. A text of the list may be the key in any letter case, or have it as a part."""
    assert list_with_items({"pixKey": text}).may_show(EMAIL) is may_be_it


@pytest.mark.parametrize(
    ("masked_text", "key", "may_be_it"),
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
def test_a_masked_text_may_hide_a_key_with_the_same_visible_characters(masked_text, key, may_be_it):
    """A list shows a text with hidden characters (*). It may be a key that has the visible characters in the same
    order.

    For example "pix****.com" may be the key pixconf-0a1b@example.com.
    """
    assert list_with_items({"pixKey": masked_text}).may_show_masked(key) is may_be_it


def test_a_masked_text_that_an_earlier_list_has_too_hides_an_older_key():
    """A text with hidden characters (*) does not hide the key that is looked for, if an earlier list had the same text.

    Its visible characters fit, but it is a key that was there before.
    """
    key_list = list_with_items({"pixKey": "(11) 9****-4321"})

    assert not key_list.may_show_masked("+5511987654321", before=key_list)
