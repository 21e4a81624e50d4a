"""Secrets that a profile names: where they come from, and that they are never shown."""

import traceback
from pathlib import Path

import pytest

from environments import credentials
from environments.credentials import fixed_headers_of, open_target, token_of
from environments.profiles.model import Auth, Header, Profile, ProfileError

SECRET = "s3cr3t-t0ken"
PROFILE = "environments/staging.yaml"
NO_TOKEN = f'{PROFILE}: auth: no token; expected the token alone, without spaces and without "Bearer"'
FAILED = f"{PROFILE}: auth.token_command: failed, or took more than 30 seconds; run it by hand: its output is never shown here"
NOT_SET = f"{PROFILE}: PIX_TOKEN is not set in the environment; export PIX_TOKEN=…"
UNREADABLE = f"{PROFILE}: auth.token_file: cannot be read (No such file or directory)"
VARIABLE, FILE = Auth(token_env="PIX_TOKEN"), Auth(token_file=Path("token"))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with an empty folder `environments`, and no token in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIX_TOKEN", raising=False)
    (tmp_path / "environments").mkdir()


def profile_with_auth(auth=VARIABLE, **changes):
    """A profile with this source of the token."""
    file = Path("environments/staging.yaml")
    return Profile(name="staging", path=file, base_url="https://bank.example", auth=auth, **changes)


def shell_command(script):
    """A token command that runs this shell script."""
    return Auth(token_command=("sh", "-c", script))


def refusal_message(resolve, *arguments):
    """The message of the ProfileError that `resolve` raises. Neither the message nor its traceback has the secret."""
    with pytest.raises(ProfileError) as caught:
        resolve(*arguments)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    "auth", [VARIABLE, FILE, shell_command("cat ../token; echo note >&2")], ids=["variable", "file", "command"]
)
@pytest.mark.parametrize("token", [SECRET, "bearer123"])
def test_a_token_is_read_from_its_source(token, auth, monkeypatch):
    """Blanks around the token and a byte order mark are left out. A command runs in the folder of its profile."""
    monkeypatch.setenv("PIX_TOKEN", f" {token}\n")
    byte_order_mark = "\ufeff" if auth is FILE else ""
    Path("token").write_text(f"{byte_order_mark}{token}\n", encoding="utf-8")

    assert token_of(profile_with_auth(auth)) == token


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, NOT_SET) for value in (None, "", " \n")),
        *((f"{SECRET}{rest}", NO_TOKEN) for rest in (f"\n{SECRET}", " x", "\x1b[0m", "é", "…")),
        *((scheme, NO_TOKEN) for scheme in (f"Bearer {SECRET}", f"bearer\t{SECRET}", "Bearer")),
    ],
    ids=ascii,
)
def test_a_variable_without_a_token_is_refused(value, message, monkeypatch):
    """A text that cannot follow "Authorization: Bearer" is no token, and the message does not show it."""
    if value is not None:
        monkeypatch.setenv("PIX_TOKEN", value)

    assert refusal_message(open_target, profile_with_auth()) == message


@pytest.mark.parametrize(
    ("content", "message"), [(b"", NO_TOKEN), (SECRET.encode() + b"\xff", NO_TOKEN), (None, UNREADABLE)]
)
def test_a_file_without_a_token_is_refused(content, message):
    """The message shows nothing of the file."""
    if content is not None:
        Path("token").write_bytes(content)

    assert refusal_message(token_of, profile_with_auth(FILE)) == message


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("cat",), NO_TOKEN),
        (("sh", "-c", f"echo {SECRET}; echo {SECRET} >&2; exit 3"), FAILED),
        (("no-such-program-here", SECRET), FAILED),
        ((f"a\0{SECRET}",), FAILED),
    ],
    ids=["asks", "fails aloud", "not there", "no name"],
)
def test_a_command_without_a_token_is_refused(command, message, capfd):
    """Neither the command, which may hold a secret, nor its output is shown."""
    assert refusal_message(token_of, profile_with_auth(Auth(token_command=command))) == message
    assert capfd.readouterr() == ("", "")


def test_a_command_that_takes_too_long_is_ended(monkeypatch):
    """The suite stops the command after COMMAND_TIMEOUT seconds."""
    monkeypatch.setattr(credentials, "COMMAND_TIMEOUT", 0.2)

    assert refusal_message(token_of, profile_with_auth(Auth(token_command=("sleep", "60")))) == FAILED.replace(
        "30", "0.2"
    )


def test_a_command_is_run_twice_at_most():
    """A refresh runs the command a second time, and no further refresh runs it again, even if the second one failed."""
    target = open_target(profile_with_auth(shell_command("echo x >> runs; wc -l < runs")))
    failing = open_target(
        profile_with_auth(shell_command("echo x >> others; test $(wc -l < others) != 2 && cat others"))
    )

    assert target.secrets.token() == "1"
    assert target.refresh()
    assert target.secrets.token() == "2"
    assert refusal_message(failing.refresh).startswith(FAILED.partition(",")[0])
    assert [(each_target.refresh(), each_target.secrets.token()) for each_target in (target, failing)] == [
        (False, "2"),
        (False, "x"),
    ]


def test_fixed_headers_keep_their_order(monkeypatch):
    """A value is the text of the profile, or that of a variable which the profile names."""
    monkeypatch.setenv("PIX_TENANT", f"{SECRET}\n")
    headers = (Header("X-Region", text="sa east"), Header("X-Tenant", env="PIX_TENANT"))

    assert fixed_headers_of(profile_with_auth(headers=headers)) == (("X-Region", "sa east"), ("X-Tenant", SECRET))


@pytest.mark.parametrize("value", [f"a\r\nX-Evil: {SECRET}", f"{SECRET}é", f"{SECRET}\x7f"])
def test_a_value_that_no_header_can_hold_is_refused(value, monkeypatch):
    """The value of a header is one line of ASCII."""
    monkeypatch.setenv("PIX_TENANT", value)

    assert refusal_message(fixed_headers_of, profile_with_auth(headers=(Header("X-Tenant", env="PIX_TENANT"),))) == (
        f"{PROFILE}: headers.X-Tenant: PIX_TENANT cannot be sent in a header; expected one line of ASCII"
    )
