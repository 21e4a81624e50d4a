"""A request of the suite as a report shows it.

A known value, such as the token or an account of the profile, becomes a placeholder: `<account>`. A personal value
becomes its shape: `Ana` is shown as `Aaa`. Everything else is shown as it was sent.
"""

import json

import pytest

from reports.showing.request_parts import RequestSplitter, shown_parts
from reports.showing.show import Display
from spec.exchange import Request
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.reports.showing.test_resending import ACCOUNT, CODE, KEY, TOKEN, known_values


def splitter():
    """What takes requests apart. It knows a token, a secret header, two accounts, a one-character account, a code and
    keys."""
    return RequestSplitter(Display(known_values()), SANDBOX_PROFILE)


def test_known_values_become_placeholders_and_personal_values_shapes():
    """A known value is shown by its name, a personal value by its shape, and a key that the suite made up as it is.

    A key that begins with `pixconf-` was made up by the suite.
    """
    body = json.dumps({"pixKey": KEY, "name": "Ana", "value": 12.5, "key": "pixconf-\0 ação"}).encode()
    shown = splitter().parts_of(Request("POST", f"https://host/{ACCOUNT}?code={CODE}", (), body))

    assert shown_parts(shown.url) == "https://host/<account>?code=<code>"
    assert json.loads(shown_parts(shown.body)) == {
        "pixKey": "<key>", "name": "Aaa", "value": 12.5, "key": "pixconf-\0 ação",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        pytest.param("Authorization", f"Bearer {TOKEN}", "Bearer <token>", id="the valid token"),
        pytest.param("Authorization", TOKEN, "<token>", id="the valid token without a scheme"),
        pytest.param("authorization", f"bearer {TOKEN}x", "bearer <another token>", id="made from the valid token"),
        pytest.param("Authorization", "who knows", "<another token>", id="a text that the suite does not know"),
        pytest.param("Authorization", "BEARER  null", "BEARER  null", id="a public text of the suite"),
        pytest.param("X-Tenant", "tenant-4711-abc", "<header X-Tenant>", id="a secret header of the profile"),
        pytest.param("X-Request-Id", "0123456789abcdef", "0123456789abcdef", id="any other header"),
    ],
)
def test_a_credential_is_one_placeholder_unless_it_is_public(name, value, shown):
    """A credential is shown as one placeholder behind its scheme, so that no part of a token is shown.

    Only the public texts that the suite sends in the place of a token, such as `null`, are shown as they were sent.
    """
    header = splitter().parts_of(Request("GET", "https://host/", ((name, value),))).headers[0]

    assert shown_parts(header[1]) == shown


@pytest.mark.parametrize("body", [b"{" + b" " * 150_000 + b"}", f"key={KEY}".encode()], ids=["large", "form"])
def test_only_the_size_of_a_large_body_or_of_a_form_with_a_known_value_is_shown(body):
    """A large body would be slow to take apart. In a body that is no JSON, such as a form, values cannot be told apart."""
    parts = splitter().parts_of(Request("POST", "https://host/", (), body))

    assert parts.body_is_left_out
    assert shown_parts(parts.body) == f"… ({len(body)} bytes in all)"
