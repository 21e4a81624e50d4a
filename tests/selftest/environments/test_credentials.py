"""Secrets that a profile names: where they come from, and that they are never shown."""

import traceback
from pathlib import Path

import pytest

from environments import credentials
from environments.credentials import fixed_headers_of, open_target, token_of
from environments.profiles.model import Auth, Header, Profile, ProfileError

SECRET = "s3cr3t-t0ken"
PROFILE = "environments/staging.yaml"
THIS_IS_NO_TOKEN = f'{PROFILE}: auth: no token; expected the token alone, without spaces and without "Bearer"'
COMMAND_FAILED = f"{PROFILE}: auth.token_command: failed, or took more than 30 seconds; run it by hand: its output is never shown here"
FILE_IS_UNREADABLE = f"{PROFILE}: auth.token_file: cannot be read (No such file or directory)"
FROM_VARIABLE, FROM_FILE = Auth(token_env="PIX_TOKEN"), Auth(token_file=Path("token"))


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    """The working directory of each test. It has an empty folder `environments`; no token is in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIX_TOKEN", raising=False)
    (tmp_path / "environments").mkdir()


def profile_with_auth(auth=FROM_VARIABLE, **changes):
    """A profile (the settings of a run) that takes its access token from this source."""
    file = Path("environments/staging.yaml")
    return Profile(name="staging", path=file, base_url="https://bank.example", auth=auth, **changes)


def shell_command(script):
    """A token command that runs this shell script."""
    return Auth(token_command=("sh", "-c", script))


def refusal_message(function, *arguments):
    """The message of the ProfileError that the function raises with these arguments.

    AssertionError if the message or its traceback shows SECRET.
    """
    with pytest.raises(ProfileError) as caught:
        function(*arguments)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    "auth",
    [FROM_VARIABLE, FROM_FILE, shell_command("cat ../token; echo note >&2")],
    ids=["variable", "file", "command, which also prints a note as an error"],
)
@pytest.mark.parametrize(
    "token", [SECRET, "bearer123"], ids=["a usual token", "a token that begins like the scheme Bearer"]
)
def test_a_token_is_read_from_its_source(token, auth, monkeypatch):
    """A profile (the settings of a run) names a variable, a file or a command that has the access token.

    Blanks around the token are left out, and so is a byte order mark at the beginning of a file. A command runs in the
    folder of its profile (environments), so `../token` is a file beside that folder.
    """
    monkeypatch.setenv("PIX_TOKEN", f" {token}\n")
    byte_order_mark = "\ufeff" if auth is FROM_FILE else ""
    Path("token").write_text(f"{byte_order_mark}{token}\n", encoding="utf-8")

    assert token_of(profile_with_auth(auth)) == token


@pytest.mark.parametrize("value", [None, "", " \n"], ids=["not set", "empty", "blank"])
def test_a_variable_that_is_not_set_or_blank_is_refused(value, monkeypatch):
    """The profile (the settings of a run) names the variable PIX_TOKEN. The message says how to set it."""
    if value is not None:
        monkeypatch.setenv("PIX_TOKEN", value)
    message = refusal_message(open_target, profile_with_auth())

    assert message == "environments/staging.yaml: PIX_TOKEN is not set in the environment; export PIX_TOKEN=…"


@pytest.mark.parametrize(
    "value",
    [
        f"{SECRET}\n{SECRET}",
        f"{SECRET} x",
        f"{SECRET}\x1b[0m",
        f"{SECRET}é",
        f"{SECRET}…",
        f"Bearer {SECRET}",
        f"bearer\t{SECRET}",
        "Bearer",
    ],
    ids=[
        "two lines",
        "two words",
        "a control character",
        "a letter outside ASCII",
        "a sign outside ASCII",
        "with its scheme",
        "with its scheme in small letters and a tab",
        "the scheme without a token",
    ],
)
def test_a_variable_without_a_token_is_refused(value, monkeypatch):
    """The variable PIX_TOKEN has a text that cannot follow "Authorization: Bearer" in a header.

    The message does not show the text, because it may be the token with a mistake in it.
    """
    monkeypatch.setenv("PIX_TOKEN", value)
    message = refusal_message(open_target, profile_with_auth())

    assert message == (
        'environments/staging.yaml: auth: no token; expected the token alone, without spaces and without "Bearer"'
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", THIS_IS_NO_TOKEN), (SECRET.encode() + b"\xff", THIS_IS_NO_TOKEN), (None, FILE_IS_UNREADABLE)],
    ids=["empty", "not UTF-8", "there is no file"],
)
def test_a_file_without_a_token_is_refused(content, message):
    """The profile (the settings of the run) names a file with the access token. The message shows nothing of the file."""
    if content is not None:
        Path("token").write_bytes(content)

    assert refusal_message(token_of, profile_with_auth(FROM_FILE)) == message


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("cat",), THIS_IS_NO_TOKEN),
        (("sh", "-c", f"echo {SECRET}; echo {SECRET} >&2; exit 3"), COMMAND_FAILED),
        (("no-such-program-here", SECRET), COMMAND_FAILED),
        ((f"a\0{SECRET}",), COMMAND_FAILED),
    ],
    ids=["it waits for input", "it fails and prints the token", "there is no such program", "no name of a program"],
)
def test_a_command_without_a_token_is_refused(command, message, capfd):
    """The profile (the settings of the run) names a command that prints the access token.

    Neither the command, which may hold a secret, nor its output is shown.
    """
    message_of_refusal = refusal_message(token_of, profile_with_auth(Auth(token_command=command)))
    output = capfd.readouterr()

    assert message_of_refusal == message
    assert output == ("", "")


def test_a_command_that_takes_too_long_is_ended(monkeypatch):
    """The suite stops a command for the access token after COMMAND_TIMEOUT seconds (30, and 0.2 in this test)."""
    monkeypatch.setattr(credentials, "COMMAND_TIMEOUT", 0.2)
    profile = profile_with_auth(Auth(token_command=("sleep", "60")))

    assert refusal_message(token_of, profile) == COMMAND_FAILED.replace("30", "0.2")


def test_a_refresh_runs_the_command_a_second_time_and_no_later_one_does():
    """`refresh` runs the command for the access token once more, and never a third time.

    The command here counts how often it ran, and prints that number as the token.
    `refresh` returns true if it got another token.
    """
    target = open_target(profile_with_auth(shell_command("echo x >> runs; wc -l < runs")))
    first_token = target.secrets.token()
    results_of_refresh = [target.refresh(), target.refresh()]

    assert first_token == "1"
    assert results_of_refresh == [True, False]
    assert target.secrets.token() == "2"


def test_a_command_that_fails_in_a_refresh_is_not_run_again():
    """If the command for the access token fails in a refresh, the first token stays. A later refresh does not run the
    command.

    The command here adds a line with x to the file `runs`, and prints the file as the token. When it runs for the
    second time, the file has two lines, and the command fails.
    """
    script = "echo x >> runs; test $(wc -l < runs) != 2 && cat runs"
    target = open_target(profile_with_auth(shell_command(script)))
    message_of_first_refresh = refusal_message(target.refresh)
    is_new_after_second_refresh = target.refresh()

    assert message_of_first_refresh.startswith(COMMAND_FAILED.partition(",")[0])
    assert not is_new_after_second_refresh
    assert target.secrets.token() == "x"


def test_fixed_headers_keep_their_order(monkeypatch):
    """A profile (the settings of a run) may have headers for every request, here X-Region and X-Tenant.

    The profile has the value of a header, or names a variable that has the value.
    """
    monkeypatch.setenv("PIX_TENANT", f"{SECRET}\n")
    headers = (Header("X-Region", text="sa east"), Header("X-Tenant", env="PIX_TENANT"))

    assert fixed_headers_of(profile_with_auth(headers=headers)) == (("X-Region", "sa east"), ("X-Tenant", SECRET))


@pytest.mark.parametrize(
    "value",
    [f"a\r\nX-Evil: {SECRET}", f"{SECRET}é", f"{SECRET}\x7f"],
    ids=["two lines", "a letter outside ASCII", "a control character"],
)
def test_a_value_that_no_header_can_hold_is_refused(value, monkeypatch):
    """A variable has the value of a header. It must be one line of ASCII. The message names the variable, not its
    value.
    """
    monkeypatch.setenv("PIX_TENANT", value)
    profile = profile_with_auth(headers=(Header("X-Tenant", env="PIX_TENANT"),))

    assert refusal_message(fixed_headers_of, profile) == (
        f"{PROFILE}: headers.X-Tenant: PIX_TENANT cannot be sent in a header; expected one line of ASCII"
    )
