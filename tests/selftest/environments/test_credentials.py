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


def profile(auth=VARIABLE, **said):
    """A profile with this source of the token."""
    file = Path("environments/staging.yaml")
    return Profile(name="staging", path=file, base_url="https://bank.example", auth=auth, **said)


def shell(script):
    """A token command that runs this shell script."""
    return Auth(token_command=("sh", "-c", script))


def refusal(resolving, *given):
    """The message of the refusal. Its traceback is searched for the secret too."""
    with pytest.raises(ProfileError) as caught:
        resolving(*given)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    "auth", [VARIABLE, FILE, shell("cat ../token; echo note >&2")], ids=["variable", "file", "command"]
)
@pytest.mark.parametrize("token", [SECRET, "bearer123"])
def test_a_token_is_read_from_its_source(token, auth, monkeypatch):
    """Blanks around it and a byte order mark are left out. A token may begin with the letters of Bearer.

    A command runs in the folder of its profile.
    """
    monkeypatch.setenv("PIX_TOKEN", f" {token}\n")
    Path("token").write_text(f"{chr(0xFEFF) * (auth is FILE)}{token}\n", encoding="utf-8")

    assert token_of(profile(auth)) == token


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((value, NOT_SET) for value in (None, "", " \n")),
        *((f"{SECRET}{rest}", NO_TOKEN) for rest in (f"\n{SECRET}", " x", "\x1b[0m", "é", "…")),
        *((scheme, NO_TOKEN) for scheme in (f"Bearer {SECRET}", f"bearer\t{SECRET}", "Bearer")),
    ],
    ids=ascii,
)
def test_a_variable_without_a_token_is_refused(value, said, monkeypatch):
    """A text that cannot follow "Authorization: Bearer" is no token, and is not shown."""
    if value is not None:
        monkeypatch.setenv("PIX_TOKEN", value)

    assert refusal(open_target, profile()) == said


@pytest.mark.parametrize(
    ("content", "said"), [(b"", NO_TOKEN), (SECRET.encode() + b"\xff", NO_TOKEN), (None, UNREADABLE)]
)
def test_a_file_without_a_token_is_refused(content, said):
    """The message shows nothing of the file."""
    if content is not None:
        Path("token").write_bytes(content)

    assert refusal(token_of, profile(FILE)) == said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("cat",), NO_TOKEN),
        (("sh", "-c", f"echo {SECRET}; echo {SECRET} >&2; exit 3"), FAILED),
        (("no-such-program-here", SECRET), FAILED),
        ((f"a\0{SECRET}",), FAILED),
    ],
    ids=["asks", "fails aloud", "not there", "no name"],
)
def test_a_command_without_a_token_is_refused(command, said, capfd):
    """Neither the command, whose argument may be a secret, nor its output is shown anywhere."""
    assert refusal(token_of, profile(Auth(token_command=command))) == said
    assert capfd.readouterr() == ("", "")


def test_a_command_that_takes_too_long_is_ended(monkeypatch):
    """The suite does not wait for it longer than COMMAND_TIMEOUT."""
    monkeypatch.setattr(credentials, "COMMAND_TIMEOUT", 0.2)

    assert refusal(token_of, profile(Auth(token_command=("sleep", "60")))) == FAILED.replace("30", "0.2")


def test_a_command_is_run_twice_at_most():
    """A refresh runs it a second time, whether that fails or not. Nothing runs it a third time."""
    target = open_target(profile(shell("echo x >> runs; wc -l < runs")))
    failing = open_target(profile(shell("echo x >> others; test $(wc -l < others) != 2 && cat others")))

    assert (target.secrets.token(), target.refresh(), target.secrets.token()) == ("1", True, "2")
    assert refusal(failing.refresh).startswith(FAILED.partition(",")[0])
    assert [(each.refresh(), each.secrets.token()) for each in (target, failing)] == [(False, "2"), (False, "x")]


def test_fixed_headers_keep_their_order(monkeypatch):
    """A value is the text of the profile, or that of the variable which the profile names."""
    monkeypatch.setenv("PIX_TENANT", f"{SECRET}\n")
    headers = (Header("X-Region", text="sa east"), Header("X-Tenant", env="PIX_TENANT"))

    assert fixed_headers_of(profile(headers=headers)) == (("X-Region", "sa east"), ("X-Tenant", SECRET))


@pytest.mark.parametrize("value", [f"a\r\nX-Evil: {SECRET}", f"{SECRET}é", f"{SECRET}\x7f"])
def test_a_value_that_no_header_can_hold_is_refused(value, monkeypatch):
    """A value of a header is one line of ASCII."""
    monkeypatch.setenv("PIX_TENANT", value)

    assert refusal(fixed_headers_of, profile(headers=(Header("X-Tenant", env="PIX_TENANT"),))) == (
        f"{PROFILE}: headers.X-Tenant: PIX_TENANT cannot be sent in a header; expected one line of ASCII"
    )
