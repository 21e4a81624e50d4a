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


def request_splitter():
    """An object that splits a request into parts: texts that may be shown, and values that become placeholders.

    It knows the values of `known_values()`: a token, a secret header, accounts, a code and keys.
    """
    return RequestSplitter(Display(known_values()), SANDBOX_PROFILE)


def test_known_values_become_placeholders_and_personal_values_shapes():
    """A report shows a known value as its name (`<account>`) and a personal value as its shape (`Aaa` for `Ana`).

    A key that begins with `pixconf-` was made up by the suite, so it is shown as it is.
    """
    body = json.dumps({"pixKey": KEY, "name": "Ana", "value": 12.5, "key": "pixconf-\0 ação"}).encode()
    shown = request_splitter().parts_of(Request("POST", f"https://host/{ACCOUNT}?code={CODE}", (), body))

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
    request = Request("GET", "https://host/", headers=((name, value),))

    [(_, parts_of_value)] = request_splitter().parts_of(request).headers

    assert shown_parts(parts_of_value) == shown


@pytest.mark.parametrize("body", [b"{" + b" " * 150_000 + b"}", f"key={KEY}".encode()], ids=["large", "form"])
def test_only_the_size_of_a_large_body_or_of_a_form_with_a_known_value_is_shown(body):
    """A report shows only the number of bytes of a large body, and of a form with a known value, here a key.

    A large body would be slow to split into parts. In a body that is no JSON, such as a form, values cannot be told
    apart.
    """
    request = Request("POST", "https://host/", (), body)

    parts = request_splitter().parts_of(request)

    assert parts.body_is_left_out
    assert shown_parts(parts.body) == f"… ({len(body)} bytes in all)"
