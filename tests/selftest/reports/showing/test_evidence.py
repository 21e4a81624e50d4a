"""Lines that send a request again: known values become variables, and all else arrives as it was sent."""

import json
import os
import shutil
import subprocess
from urllib.parse import quote

import pytest

from environments.secret_values import Secrets
from reports.showing.evidence import Resending, shown_parts
from reports.showing.show import Display
from spec.exchange import Request
from tests.selftest.hand_made import SANDBOX_PROFILE

TOKEN = "s3cr3t-T0ken/with+odd=Chars.9xQ"
ACCOUNT, OTHER_ACCOUNT, CODE, KEY = "ac-0001-77", "0042-9", "TX0001B", "qa@example.com"
SHELLS = [name for name in ("bash", "dash") if shutil.which(name)]
TYPED = (("Content-Type", "x"),)
CURL = 'curl() { printf "%s\\0" "$@"; }; '
"""In place of curl: its words."""


def resending_with_known_values(**changes):
    """A Resending that knows a token, a secret header, two accounts, an account of one character, a code and keys."""
    listed = {"account": [ACCOUNT, OTHER_ACCOUNT, "1"], "code": [CODE], "key": [KEY, "+5511987654321"]}
    secrets = Secrets(listed | changes)
    secrets.learn_token(TOKEN)
    secrets.learn_secret("header X-Tenant", "tenant-4711-abc")
    return Resending(Display(secrets), SANDBOX_PROFILE)


def curl_line_of_post(url, headers=(), body=b"", **values):
    """The curl line of a POST."""
    return curl_line_of(Request("POST", url, tuple(headers), body), **values)


def curl_line_of(request, **values):
    """The curl line of a request."""
    resending = resending_with_known_values(**values)
    return resending.curl(resending.parts_of(request))


def words_and_body_given_to_curl(line, shell="bash", **variables):
    """The words that a shell gives to curl, and the body among them."""
    environment = {"PATH": os.environ["PATH"], **variables}
    process = subprocess.run([shell, "-c", CURL + line], env=environment, capture_output=True, check=True)
    words = process.stdout.split(b"\0")[:-1]
    return words, words[words.index(b"--data-raw") + 1]


def test_known_values_become_variables():
    """The line runs after the variables are set. Personal data is a variable, too."""
    headers = (("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json"), ("User-Agent", "x"))
    body = json.dumps({"pixKey": KEY, "account": OTHER_ACCOUNT, "name": "Ana", "value": 12.5}).encode()

    assert curl_line_of_post(f"https://host/v1/pix/keys/{ACCOUNT}", headers, body) == (
        """curl -sS -i -X POST -H 'Authorization: Bearer '"${PIX_SANDBOX_TOKEN:?}" """
        """-H 'Content-Type: application/json' --data-raw '{"pixKey": "'"${KEY:?}"'", """
        """"account": "'"${ACCOUNT_2:?}"'", "name": "'"${SENT_NAME:?}"'", """
        """"value": 12.5}' 'https://host/v1/pix/keys/'"${ACCOUNT:?}\""""
    )


def test_evidence_shows_placeholders_and_shapes():
    """A known value is shown by its name, a personal value by its shape, and a synthetic key as it is."""
    body = json.dumps({"pixKey": KEY, "name": "Ana", "value": 12.5, "key": "pixconf-\0 ação"}).encode()
    parts = resending_with_known_values().parts_of(Request("POST", f"https://host/{ACCOUNT}?code={CODE}", (), body))

    assert shown_parts(parts.url) == "https://host/<account>?code=<code>"
    assert json.loads(shown_parts(parts.body)) == {
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
    """The placeholder keeps the scheme, and says if it was the token or another one."""
    header = resending_with_known_values().parts_of(Request("GET", "https://host/", ((name, value),))).headers[0]

    assert shown_parts(header[1]) == shown


@pytest.mark.parametrize("spelling", [str.upper, lambda text: f"x{text}".upper(), lambda text: f"{text}\0"])
def test_a_value_that_is_like_a_known_one_has_another_variable(spelling):
    """A value in another letter case, or with more characters, gets a variable of its own."""
    body = json.dumps({"other": spelling(ACCOUNT)}).encode()
    line = curl_line_of_post(f"https://host/{quote(spelling(ACCOUNT))}", TYPED, body)

    assert ACCOUNT not in line.lower()
    assert "${SENT_OTHER:?}" in line


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "body",
    [
        *(b"xy" * 2001, b'{"a": "\0"}', b"a line\n", b'{"value": NaN, "pixKey": NaN, "key": -1e400}', b"\xff\0\xfe"),
        *(
            b"[" * 20_000 + b"]" * 20_000,
            b'{"a":' * 20_000 + b"2" + b"}" * 20_000,
            b'{"key": "pixconf-' + b"x" * 110_000 + b'"}',
        ),
    ],
    ids=["pairs", "zero", "line end", "NaN", "bytes", "deep array", "deep object", "long"],
)
def test_an_odd_body_is_literal(body, shell):
    """The line sends every byte of NaN, bytes of zero, deeply nested bodies and long ones. It has no variable."""
    line = curl_line_of_post("https://host/", TYPED, body)
    fake_curl = 'curl() { for given; do :; done; case $* in *--data-binary*) cat ;; *) printf %s "$8" ;; esac; }; '
    process = subprocess.run([shell, "-c", f"{fake_curl}{line}"], capture_output=True, check=True)

    assert process.stdout == body
    assert "${" not in line
    assert len(line) < 1_000


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("more", ["", "\\u0000\n"], ids=["argument", "pipe"])
def test_a_variable_that_is_not_set_stops_the_line(more, shell):
    """The shell ends with an error that names the variable, and sends nothing, not even an empty key."""
    line = curl_line_of_post("https://host/", TYPED, f'{{"pixKey": "{KEY}"}}{more}'.encode())

    process = subprocess.run([shell, "-c", f"curl() {{ echo SENT; }}; {line}"], capture_output=True, text=True)

    assert process.returncode != 0
    assert "SENT" not in process.stdout
    assert "KEY: " in process.stderr


MANY_WORDS = " ".join(map(str, range(2000))).encode()


@pytest.mark.parametrize("body", [MANY_WORDS, b"value=1&name=Ana"], ids=["large", "form"])
def test_a_body_that_no_line_can_hold_is_named_only(body):
    """The line is a comment if the body is large without repetition, or a form with a personal value."""
    line = curl_line_of_post("https://host/", TYPED, body)

    assert line.startswith(f"# not the whole request, which has a body of {len(body)} bytes: curl")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "text",
    ["it's \x1b \\ $HOME `id` $(id) !x \n\t %s end", "é ‮ \U0001f600", "-n \n\n'", "'; touch /tmp/x; '$(id)`id`\n\\."],
)
def test_nothing_breaks_out_of_its_quotes(text, shell):
    """A shell reads exactly the words and the bytes of the request. The line is printable ASCII."""
    body = text.encode() + bytes(range(1, 256)) + b"."
    request = Request("POST", "https://host/" + text, (("X-A", text),), body)
    line = curl_line_of(request, account=[], key=[])
    words, body_read = words_and_body_given_to_curl(line, shell)

    assert line.isprintable()
    assert line.isascii()
    assert body_read == body
    assert len(words) - len({b"--globoff", b"--path-as-is"} & set(words)) == 11
    assert words[-1].decode() == request.url
    assert f"X-A: {text}".encode() in words
