"""Requests taken apart: known values become placeholders, personal values become shapes, and the rest stays."""

import json

import pytest

from reports.showing.request_parts import RequestSplitter, shown_parts
from reports.showing.show import Display
from spec.exchange import Request
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.reports.showing.test_resending import ACCOUNT, CODE, KEY, TOKEN, known_values


def splitter():
    """It knows a token, a secret header, two accounts, a one-character account, a code and keys."""
    return RequestSplitter(Display(known_values()), SANDBOX_PROFILE)


def test_known_values_become_placeholders_and_personal_values_shapes():
    """A known value is shown by its name, a personal value by its shape, and a synthetic key as it is."""
    body = json.dumps({"pixKey": KEY, "name": "Ana", "value": 12.5, "key": "pixconf-\0 ação"}).encode()
    shown = splitter().parts_of(Request("POST", f"https://host/{ACCOUNT}?code={CODE}", (), body))

    assert shown_parts(shown.url) == "https://host/<account>?code=<code>"
    assert json.loads(shown_parts(shown.body)) == {
        "pixKey": "<key>", "name": "Aaa", "value": 12.5, "key": "pixconf-\0 ação",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", f"Bearer {TOKEN}", "Bearer <token>"),
        ("authorization", f"bearer {TOKEN}x", "bearer <another token>"),
        ("Authorization", TOKEN, "<token>"),
        ("Authorization", "who knows", "<another token>"),
        ("Authorization", "BEARER  null", "BEARER  null"),
        ("X-Tenant", "tenant-4711-abc", "<header X-Tenant>"),
        ("X-Request-Id", "0123456789abcdef", "0123456789abcdef"),
    ],
)
def test_credentials_are_replaced_whole(name, value, shown):
    """The scheme stays, and so does a credential that is not made from the token.

    Any other credential is one placeholder.
    """
    header = splitter().parts_of(Request("GET", "https://host/", ((name, value),))).headers[0]

    assert shown_parts(header[1]) == shown


@pytest.mark.parametrize("body", [b"{" + b" " * 150_000 + b"}", f"key={KEY}".encode()], ids=["large", "form"])
def test_a_body_that_may_not_be_shown_is_its_size(body):
    """The size stands in the place of a large body, and of a body with a known value that is no JSON."""
    parts = splitter().parts_of(Request("POST", "https://host/", (), body))

    assert parts.body_is_left_out
    assert shown_parts(parts.body) == f"… ({len(body)} bytes in all)"
