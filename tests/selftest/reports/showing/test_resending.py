"""Lines that send a request again: known values become variables, and all else arrives as it was sent."""

import json
import os
import shutil
import subprocess
from urllib.parse import quote

import pytest

from environments.secret_values import Secrets
from reports.showing.resending import Resending
from reports.showing.show import Display
from spec.exchange import Request
from tests.selftest.hand_made import SANDBOX_PROFILE

TOKEN = "s3cr3t-T0ken/with+odd=Chars.9xQ"
ACCOUNT, OTHER_ACCOUNT, CODE, KEY = "ac-0001-77", "0042-9", "TX0001B", "qa@example.com"
SHELLS = [name for name in ("bash", "dash") if shutil.which(name)]
WITH_A_CONTENT_TYPE = (("Content-Type", "x"),)
SHELL_FUNCTION_CURL = 'curl() { printf "%s\\0" "$@"; }; '
"""A function of the shell in the place of curl. It prints its arguments, each with a zero byte after it."""


def known_values(**changes):
    """The values that the suite knows and must not show: a token, a secret header, accounts, a code and keys.

    `changes` replace the accounts, codes or keys: `known_values(account=[])` are values without any account.
    """
    listed = {"account": [ACCOUNT, OTHER_ACCOUNT, "1"], "code": [CODE], "key": [KEY, "+5511987654321"]}
    secrets = Secrets(listed | changes)
    secrets.learn_token(TOKEN)
    secrets.learn_secret("header X-Tenant", "tenant-4711-abc")
    return secrets


def curl_line_of_post(url, headers=(), body=b""):
    """The line for a shell that sends a POST request again with curl."""
    return curl_line_of(Request("POST", url, tuple(headers), body))


def curl_line_of(request, **known):
    """The line for a shell that sends this request again with curl.

    `known` replace the known values, such as the accounts of the profile, which become variables: `${ACCOUNT:?}`.
    """
    resending = Resending(Display(known_values(**known)), SANDBOX_PROFILE)
    parts = resending.splitter.parts_of(request)
    return resending.curl(parts)


def arguments_of_curl(line, shell):
    """The arguments that a shell gives to curl if it runs this line. A function that prints them replaces curl."""
    environment = {"PATH": os.environ["PATH"]}
    script = SHELL_FUNCTION_CURL + line
    process = subprocess.run([shell, "-c", script], env=environment, capture_output=True, check=True)
    return process.stdout.removesuffix(b"\0").split(b"\0")


def test_known_values_become_variables():
    """In the curl line that sends a request again, variables replace the token, accounts, keys and personal data.

    So a report can show the line, and whoever has set the variables of the shell can run it.
    """
    headers = (("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json"), ("User-Agent", "x"))
    body = json.dumps({"pixKey": KEY, "account": OTHER_ACCOUNT, "name": "Ana", "value": 12.5}).encode()

    line = curl_line_of_post(f"https://host/v1/pix/keys/{ACCOUNT}", headers, body)

    assert line == (
        """curl -sS -i -X POST -H 'Authorization: Bearer '"${PIX_SANDBOX_TOKEN:?}" """
        """-H 'Content-Type: application/json' --data-raw '{"pixKey": "'"${KEY:?}"'", """
        """"account": "'"${ACCOUNT_2:?}"'", "name": "'"${SENT_NAME:?}"'", """
        """"value": 12.5}' 'https://host/v1/pix/keys/'"${ACCOUNT:?}\""""
    )


@pytest.mark.parametrize(
    ("accept", "option"),
    [("*/*", ""), ("text/html;q=0.1", "-H 'Accept: text/html;q=0.1' ")],
    ids=["as curl sends it", "another value"],
)
def test_a_line_has_the_header_accept_unless_curl_sends_the_same(accept, option):
    """The line has the header Accept only if its value is not `*/*`, because curl sends `Accept: */*` by itself."""
    line = curl_line_of_post("https://host/v1/accounts", [("Accept", accept)])

    assert line == f"curl -sS -i -X POST {option}'https://host/v1/accounts'"


@pytest.mark.parametrize(
    "similar_account",
    [ACCOUNT.upper(), f"x{ACCOUNT}".upper(), f"{ACCOUNT}\0"],
    ids=["in capitals", "with a letter before it", "with a zero byte after it"],
)
def test_a_value_that_is_like_a_known_one_has_another_variable(similar_account):
    """A report has a line that sends a request again with curl. In it an account of the profile is ${ACCOUNT:?}.

    A text that is only similar to that account gets another variable, ${SENT_OTHER:?}. If it got the same one, the line
    would send the account of the profile in its place. The line shows neither the account nor the text.
    """
    body = json.dumps({"other": similar_account}).encode()

    line = curl_line_of_post(f"https://host/{quote(similar_account)}", WITH_A_CONTENT_TYPE, body)

    assert ACCOUNT not in line.lower()
    assert "${ACCOUNT:?}" not in line
    assert "${SENT_OTHER:?}" in line


PRINT_BODY = 'curl() { case $* in *--data-binary*) cat ;; *) printf %s "$8" ;; esac; }; '
"""A function of the shell in place of curl. It prints the body: what comes through the pipe, or the eighth word."""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"xy" * 2001, id="4,002 bytes"),
        pytest.param(b'{"a": "\0"}', id="a zero byte"),
        pytest.param(b"a line\n", id="a line end"),
        pytest.param(b'{"value": NaN, "pixKey": NaN, "key": -1e400}', id="numbers that JSON does not have"),
        pytest.param(b"\xff\0\xfe", id="no UTF-8"),
        pytest.param(b"[" * 20_000 + b"]" * 20_000, id="a deep array"),
        pytest.param(b'{"a":' * 20_000 + b"2" + b"}" * 20_000, id="a deep object"),
        pytest.param(b'{"key": "pixconf-' + b"x" * 110_000 + b'"}', id="a long text"),
    ],
)
def test_an_odd_body_is_literal(body, shell):
    """The curl line sends an unusual body byte for byte, even if it is long, and the line itself stays shorter than
    1,000 characters.

    Such a body has no variable. The shell runs the line with a function in the place of curl, which prints the body.
    """
    line = curl_line_of_post("https://host/", WITH_A_CONTENT_TYPE, body)
    process = subprocess.run([shell, "-c", f"{PRINT_BODY}{line}"], capture_output=True, check=True)

    assert process.stdout == body
    assert "${" not in line
    assert len(line) < 1_000


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("end_of_body", ["", "\\u0000\n"], ids=["argument", "pipe"])
def test_a_variable_that_is_not_set_stops_the_line(end_of_body, shell):
    """If a variable of the curl line is not set, the shell ends with an error that names it, and sends nothing.

    Otherwise the line would send an empty key. The line gives the body to curl as an argument, or through a pipe if the
    body ends with a line end.
    """
    body = f'{{"pixKey": "{KEY}"}}{end_of_body}'.encode()
    line = curl_line_of_post("https://host/", WITH_A_CONTENT_TYPE, body)
    script = f"curl() {{ echo SENT; }}; {line}"

    process = subprocess.run([shell, "-c", script], capture_output=True, text=True)

    assert process.returncode != 0
    assert "SENT" not in process.stdout
    assert "KEY: " in process.stderr


MANY_WORDS = " ".join(map(str, range(2000))).encode()


@pytest.mark.parametrize("body", [MANY_WORDS, b"value=1&name=Ana"], ids=["large", "form"])
def test_a_line_is_a_comment_if_it_cannot_have_the_body(body):
    """If the body is too large for a line, or is a form with a personal value, the line is a comment that says so.

    The comment has the number of bytes of the body, and the rest of the curl command.
    """
    line = curl_line_of_post("https://host/", WITH_A_CONTENT_TYPE, body)

    assert line.startswith(f"# not the whole request, which has a body of {len(body)} bytes: curl")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "text",
    ["it's \x1b \\ $HOME `id` $(id) !x \n\t %s end", "é ‮ \U0001f600", "-n \n\n'", "'; touch /tmp/x; '$(id)`id`\n\\."],
)
def test_nothing_breaks_out_of_its_quotes(text, shell):
    """Quotes, commands and line ends in a request stay inside the quotes of the curl line: curl gets exactly the
    request.

    The line is printable ASCII. It gives curl exactly the arguments of the list below, so no part of a text became an
    argument or a command of its own.
    """
    body = text.encode() + bytes(range(1, 256)) + b"."
    request = Request("POST", "https://host/" + text, (("X-A", text),), body)
    line = curl_line_of(request, account=[], key=[])
    # These two are added if the address has signs such as [ or /../ in it.
    optional_arguments = (b"--globoff", b"--path-as-is")
    arguments = [argument for argument in arguments_of_curl(line, shell) if argument not in optional_arguments]

    assert line.isprintable()
    assert line.isascii()
    assert arguments == [
        b"-sS",
        b"-i",
        b"-X",
        b"POST",
        b"-H",
        f"X-A: {text}".encode(),
        b"-H",
        b"Content-Type:",
        b"--data-raw",
        body,
        request.url.encode(),
    ]
