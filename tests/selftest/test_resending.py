"""Lines that send a request again: known values become variables, and all else arrives as it was sent."""

import json
import os
import shutil
import subprocess
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from environments.secrets import Secrets
from reports.curl import Shell
from reports.resending import Resending, shown_body, shown_parts
from reports.show import Display
from spec.exchange import Request

TOKEN = "s3cr3t-T0ken/with+odd=Chars.9xQ"
ACCOUNT, OTHER_ACCOUNT, CODE, KEY = "ac-0001-77", "0042-9", "TX0001B", "qa@example.com"
SHELLS = [name for name in ("bash", "dash") if shutil.which(name)]
TYPED = (("Content-Type", "x"),)
CURL = 'curl() { printf "%s\\0" "$@"; case "$*" in *"--data-binary @-"*) cat; esac; }; '
"""In place of curl: its words, and after them the body that is piped to it."""


def resending(**changes):
    """What knows a token, a secret header, two accounts, a one-character account, a code and keys."""
    listed = {"account": [ACCOUNT, OTHER_ACCOUNT, "1"], "code": [CODE], "key": [KEY, "+5511987654321"]}
    secrets = Secrets(listed | changes)
    secrets.learn_token(TOKEN)
    secrets.learn_secret("header X-Tenant", "tenant-4711-abc")
    return Resending(Display(secrets), Shell())


def line_of(url, headers=(), body=b"", meaning="as it was sent", **known):
    """The line of a POST."""
    return resending(**known).curl(Request("POST", url, tuple(headers), body), meaning)


def sent(line, shell="bash", **variables):
    """The words that a shell gives to curl, without the first three, and the body."""
    environment = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run([shell, "-c", CURL + line], env=environment, capture_output=True, check=True)
    *words, piped = done.stdout.split(b"\0") if b"--data-binary" not in done.stdout else _piped(done.stdout)
    body = words[words.index(b"--data-raw") + 1] if b"--data-raw" in words else piped
    return words[2:], body


def _piped(output):
    """The words before the body, which may hold anything: the address is the last of them."""
    head, _, rest = output.partition(b"@-\0")
    options, _, address = rest.partition(b"https://")
    url, _, body = address.partition(b"\0")
    return [*head.split(b"\0")[:-1], b"@-", *options.split(b"\0")[:-1], b"https://" + url, body]


def test_known_values_become_variables():
    """The line runs once the variables are set, each of which says what it is; personal data is a variable too."""
    headers = (("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json"), ("User-Agent", "x"))
    body = json.dumps({"pixKey": KEY, "account": OTHER_ACCOUNT, "name": "Ana", "value": 12.5}).encode()

    assert line_of(f"https://host/v1/pix/keys/{ACCOUNT}", headers, body) == (
        """curl -sS -i -X POST -H 'Authorization: Bearer '"${PIX_TOKEN:?the access token}" """
        """-H 'Content-Type: application/json' --data-raw '{"pixKey": "'"${KEY:?the first of pix_keys}"'", """
        """"account": "'"${ACCOUNT_2:?the second of accounts}"'", "name": "'"${SENT_NAME:?name as it was sent}"'", """
        """"value": 12.5}' 'https://host/v1/pix/keys/'"${ACCOUNT:?the first of accounts}\""""
    )


def test_evidence_shows_placeholders_and_shapes():
    """Of the same request: what is known by its name, what names somebody by its shape, synthetic keys as they are."""
    body = json.dumps({"pixKey": KEY, "name": "Ana", "value": 12.5, "key": "pixconf-\0 ação"}).encode()
    line = resending().line(Request("POST", f"https://u:pw@host/{ACCOUNT}?code={CODE}", (), body))

    assert shown_parts(line.url) == "https://<credentials>@host/<account>?code=<code>"
    assert json.loads(shown_body(line)) == {"pixKey": "<key>", "name": "Aaa", "value": 12.5, "key": "pixconf-\0 ação"}


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", f"Bearer {TOKEN}", "Bearer <token>"),
        ("authorization", f"bearer {TOKEN}x", "bearer <another token>"),
        ("Authorization", "Bearer anything else", "Bearer <another token>"),
        ("Authorization", "Bearer", "Bearer"),
        ("Authorization", "Basic cGl4", "Basic <credentials>"),
        ("Authorization", TOKEN, "<token>"),
        ("Authorization", "who knows", "<credentials>"),
        ("X-Tenant", "tenant-4711-abc", "<header X-Tenant>"),
        ("X-Request-Id", "0123456789abcdef", "0123456789abcdef"),
    ],
)
def test_credentials_are_replaced_whole(name, value, shown):
    """The scheme stays, and whether it was the token."""
    line = resending().line(Request("GET", "https://host/", ((name, value),)))

    assert shown_parts(line.headers[0][1]) == shown


@pytest.mark.parametrize("written", [str.upper, lambda text: f"x{text}".upper(), lambda text: f"{text}\0"])
def test_a_known_value_that_is_written_otherwise_is_no_such_variable(written):
    """In another letter case it is another value, and a longer one is not the variable alone."""
    body = json.dumps({"other": written(ACCOUNT)}).encode()
    line = line_of(f"https://host/{quote(written(ACCOUNT))}", TYPED, body)

    assert ACCOUNT not in line.lower()
    assert "${SENT_OTHER:?other as it was sent}" in line


def test_names_that_a_service_gave_are_shown_where_they_are_no_data():
    """A refusal may name a person or an account, and the suite sends what it names."""
    url, headers = "https://host/?maria=pixconf&page=pixconf", (("Maria", "pixconf"), ("X-Channel", "pixconf"))

    assert line_of(url, headers) == (
        "# not the whole request, which has names that the service gave: curl -sS -i -X POST -H 'X-Channel: pixconf' "
        "'https://host/?*=pixconf&page=pixconf'"
    )
    assert "Maria" not in line_of("https://host/", TYPED, b'{"Maria": "pixconf"}')


def test_a_key_has_the_number_of_its_place():
    """An empty RANDOM key before it counts, so that profile and line agree."""
    line = line_of("https://host/", TYPED, b'{"pixKey": "12345678909"}', key=[KEY, "+5511987654321", "", "12345678909"])

    assert """'{"pixKey": "'"${KEY_4:?the fourth of pix_keys}"'"}'""" in line


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("body", [b'{"pixKey": "KEY"}', b'{"pixKey": "KEY"}\0'])
def test_a_variable_that_is_not_set_stops_the_line(shell, body):
    """Nothing is sent: not with an empty key, and not where the body is piped."""
    line = line_of("https://host/", TYPED, body.replace(b"KEY", KEY.encode()))

    done = subprocess.run([shell, "-c", f"curl() {{ echo SENT; }}; {line}"], capture_output=True, text=True)

    assert done.returncode
    assert "SENT" not in done.stdout
    assert "KEY: the first of pix_keys" in done.stderr


def test_a_wrong_credential_never_becomes_the_token():
    """A line with a wrong token does not send the right one, and says what was sent."""
    header = (("Authorization", f"Bearer {TOKEN.swapcase()}"),)
    line = line_of("https://host/", header, meaning="the token in another letter case")

    shown = "${WRONG_TOKEN:?the token in another letter case}"
    assert line == f"curl -sS -i -X POST -H 'Authorization: Bearer '\"{shown}\" 'https://host/'"


def test_a_value_with_reserved_characters():
    """Percent-encoded in the path, and escaped in JSON, it is a value of its own: as it was sent."""
    account = 'ac/1 "ã"'
    body = json.dumps({"account": account}, ensure_ascii=False).encode()
    line = line_of(f"https://host/{quote(account, safe='')}", TYPED, body, account=[account])

    written = {"SENT_PATH": quote(account, safe=""), "SENT_ACCOUNT": json.dumps(account, ensure_ascii=False)[1:-1]}
    words, said = sent(line, **written)
    assert words[-1].decode() == f"https://host/{quote(account, safe='')}"
    assert said == body


def test_a_large_body_is_named_only():
    """Over 2,000 characters the line is a comment: what it would send is not what was sent."""
    line = line_of("https://host/", (("Content-Type", "text/plain"),), b"xy" * 1001)

    assert line.startswith("# not the whole request, which has a body of 2002 bytes: curl")


def test_a_form_with_somebodys_value_is_named_only():
    """Its parts are not known apart."""
    assert line_of("https://host/", TYPED, b"value=1&name=Ana").startswith("# not the whole request")


@pytest.mark.parametrize("shell", SHELLS)
def test_long_runs_of_one_character_are_short(shell):
    """An over-long text is made by the shell."""
    body = b'{"message": "pixconf-' + b"x" * 70_000 + b'"}'
    line = line_of("https://host/" + "y" * 4_000, TYPED, body)

    assert len(line) < 400
    assert sent(line, shell) == ([*sent(line, shell)[0][:-1], b"https://host/" + b"y" * 4_000], body)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.text(max_size=40), st.binary(max_size=60))
@example("'; touch /tmp/x; '$(id)`id`\n\\", b"\xff'\\\x1b$HOME!")
def test_nothing_breaks_out_of_its_quotes(text, body):
    """A shell reads the words that were meant, in one line."""
    text = text.replace("\0", "")
    secrets = Secrets()
    secrets.learn_token(TOKEN)
    line = Resending(Display(secrets), Shell()).curl(Request("POST", "https://host/" + text, (("X-A", text),), body))

    assert "\n" not in line
    assert line.isprintable()
    words, _ = sent(line)
    assert words[:3] == [b"-X", b"POST", b"-H"]
    assert words[3].startswith(b"X-A")
    assert words[-1].startswith(b"https://host/")
    assert len(words) - len({b"--globoff", b"--path-as-is"} & set(words)) == (9 if body else 5)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "body",
    [
        b"it's \x1b \xff\xfe \\ $HOME `id` $(id) !x \n\t %s end",
        "é ‮ \U0001f600".encode(),
        b'{"a": "\xc3\xa9\\n\'"}',
        b"\x7f1",
        b"-n \0\n",
    ],
)
def test_a_shell_gets_the_very_bytes(shell, body):
    """What holds no known value arrives as it was sent, whatever bytes it has."""
    assert sent(line_of("https://host/", (("Content-Type", "text/plain"),), body), shell)[1] == body
