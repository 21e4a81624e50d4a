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
    """The secret and personal values that the suite knows: a token, a secret header, accounts, a code and keys.

    `changes` are other lists of accounts, codes or keys.
    """
    listed = {"account": [ACCOUNT, OTHER_ACCOUNT, "1"], "code": [CODE], "key": [KEY, "+5511987654321"]}
    secrets = Secrets(listed | changes)
    secrets.learn_token(TOKEN)
    secrets.learn_secret("header X-Tenant", "tenant-4711-abc")
    return secrets


def line_of(url, headers=(), body=b"", **known):
    """The line that sends a POST request again with curl. `known` are lists of values that become variables."""
    return line_that_sends(Request("POST", url, tuple(headers), body), **known)


def line_that_sends(request, **known):
    """The line that sends this request again with curl. `known` are lists of values that become variables."""
    resending = Resending(Display(known_values(**known)), SANDBOX_PROFILE)
    return resending.curl(resending.splitter.parts_of(request))


def words_and_body_of_curl(line, shell="bash", **variables):
    """The arguments that a shell gives to curl if it runs this line, and the body among them."""
    environment = {"PATH": os.environ["PATH"], **variables}
    script = SHELL_FUNCTION_CURL + line
    process = subprocess.run([shell, "-c", script], env=environment, capture_output=True, check=True)
    words = process.stdout.split(b"\0")[:-1]
    place_of_body = words.index(b"--data-raw") + 1
    return words, words[place_of_body]


def test_known_values_become_variables():
    """The curl line that sends a request again has variables of the shell in the place of token, accounts, keys and
    personal data.

    So the line can be shown in a report, and runs after the variables are set.
    """
    headers = (("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json"), ("User-Agent", "x"))
    body = json.dumps({"pixKey": KEY, "account": OTHER_ACCOUNT, "name": "Ana", "value": 12.5}).encode()

    line = line_of(f"https://host/v1/pix/keys/{ACCOUNT}", headers, body)

    assert line == (
        """curl -sS -i -X POST -H 'Authorization: Bearer '"${PIX_SANDBOX_TOKEN:?}" """
        """-H 'Content-Type: application/json' --data-raw '{"pixKey": "'"${KEY:?}"'", """
        """"account": "'"${ACCOUNT_2:?}"'", "name": "'"${SENT_NAME:?}"'", """
        """"value": 12.5}' 'https://host/v1/pix/keys/'"${ACCOUNT:?}\""""
    )


@pytest.mark.parametrize(
    ("accept", "option"),
    [("*/*", ""), ("text/html;q=0.1", "-H 'Accept: text/html;q=0.1' ")],
    ids=["as curl sends it", "another one"],
)
def test_a_line_has_the_header_accept_unless_curl_sends_the_same(accept, option):
    """curl sends `Accept: */*` by itself, so the line has only another value of this header."""
    line = line_of("https://host/v1/accounts", [("Accept", accept)])

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

    line = line_of(f"https://host/{quote(similar_account)}", WITH_A_CONTENT_TYPE, body)

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
    line = line_of("https://host/", WITH_A_CONTENT_TYPE, body)
    done = subprocess.run([shell, "-c", f"{PRINT_BODY}{line}"], capture_output=True, check=True)

    assert done.stdout == body
    assert "${" not in line
    assert len(line) < 1_000


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("more", ["", "\\u0000\n"], ids=["argument", "pipe"])
def test_a_variable_that_is_not_set_stops_the_line(more, shell):
    """If a variable of the curl line is not set, the shell ends with an error that names it, and sends nothing.

    Otherwise the line would send an empty key. A body goes to curl as an argument or through a pipe.
    """
    line = line_of("https://host/", WITH_A_CONTENT_TYPE, f'{{"pixKey": "{KEY}"}}{more}'.encode())

    done = subprocess.run([shell, "-c", f"curl() {{ echo SENT; }}; {line}"], capture_output=True, text=True)

    assert done.returncode
    assert "SENT" not in done.stdout
    assert "KEY: " in done.stderr


MANY_WORDS = " ".join(map(str, range(2000))).encode()


@pytest.mark.parametrize("body", [MANY_WORDS, b"value=1&name=Ana"], ids=["large", "form"])
def test_a_body_that_no_line_can_hold_is_named_only(body):
    """If the body is too large for a line, or is a form with a personal value, the line is a comment that says so."""
    line = line_of("https://host/", WITH_A_CONTENT_TYPE, body)

    assert line.startswith(f"# not the whole request, which has a body of {len(body)} bytes: curl")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "text",
    ["it's \x1b \\ $HOME `id` $(id) !x \n\t %s end", "é ‮ \U0001f600", "-n \n\n'", "'; touch /tmp/x; '$(id)`id`\n\\."],
)
def test_nothing_breaks_out_of_its_quotes(text, shell):
    """Quotes, commands and line ends in a request stay inside the quotes of the curl line: curl gets exactly the
    request.

    The line is printable ASCII. It gives curl exactly the words of the list below, so no part of a text became a word
    or a command of its own.
    """
    body = text.encode() + bytes(range(1, 256)) + b"."
    request = Request("POST", "https://host/" + text, (("X-A", text),), body)
    line = line_that_sends(request, account=[], key=[])
    words, _ = words_and_body_of_curl(line, shell)
    # These two are added if the address has signs such as [ or /../ in it.
    words_without_optional = [word for word in words if word not in (b"--globoff", b"--path-as-is")]

    assert line.isprintable()
    assert line.isascii()
    assert words_without_optional == [
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
