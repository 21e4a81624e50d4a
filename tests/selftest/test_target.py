"""Secrets that a profile names: where they come from, and that they are never shown."""

import traceback
from pathlib import Path

import pytest

from environments import credentials as targets
from environments.credentials import open_target, resolve, resolve_headers, resolve_passphrase
from environments.profiles.model import Auth, Header, Profile, ProfileError, Tls

SECRET = "s3cr3t-t0ken"
PROFILE = "environments/staging.yaml"
NO_TOKEN = f'{PROFILE}: auth: no token; expected the token alone, without spaces and without "Bearer"'
FAILED = f"{PROFILE}: auth.token_command: failed, or took more than 0.2 seconds; run it by hand: its output is never shown here"
NOT_SET = f"{PROFILE}: PIX_TOKEN is not set in the environment; export PIX_TOKEN=…"
VARIABLE = Auth(token_env="PIX_TOKEN")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with an empty ``environments`` folder, and no token in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIX_TOKEN", raising=False)
    (tmp_path / "environments").mkdir()
    return tmp_path


def profile(auth=None, **said):
    """A profile with this source of the token."""
    file = Path("environments/staging.yaml")
    return Profile(name="staging", path=file, base_url="https://bank.example", auth=auth or Auth(), **said)


def shell(script):
    """A token command that runs this shell script."""
    return Auth(token_command=("sh", "-c", script))


def refusal(resolving, *given):
    """The message of the refusal. Its traceback is searched for the secret too."""
    with pytest.raises(ProfileError) as caught:
        resolving(*given)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("token", [SECRET, "bearer123"])
def test_a_token_in_a_variable(token, monkeypatch):
    """The token is the value without the space around it; it may begin with the letters of Bearer."""
    monkeypatch.setenv("PIX_TOKEN", f" {token}\n")

    assert resolve(profile(VARIABLE)) == token


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((value, NOT_SET) for value in (None, "", " \n")),
        *((f"{SECRET}{rest}", NO_TOKEN) for rest in (f"\n{SECRET}", " x", "\x1b[0m", "é", "…")),
        *((scheme, NO_TOKEN) for scheme in (f"Bearer {SECRET}", f"bearer\t{SECRET}", "Bearer")),
    ],
    ids=ascii,
)
def test_a_variable_without_a_token(value, said, monkeypatch):
    """What cannot follow "Authorization: Bearer" is not shown."""
    if value is not None:
        monkeypatch.setenv("PIX_TOKEN", value)

    assert refusal(open_target, profile(VARIABLE)) == said


def test_a_token_in_a_file(here):
    """The token is what the file holds, without the line break at its end or a byte order mark."""
    (here / "token").write_text(f"\ufeff{SECRET}\n", encoding="utf-8")

    assert resolve(profile(Auth(token_file=here / "token"))) == SECRET


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", NO_TOKEN),
        (SECRET.encode() + b"\xff", NO_TOKEN),
        (None, f"{PROFILE}: auth.token_file: cannot be read (No such file or directory)"),
    ],
)
def test_a_file_without_a_token(content, said, here):
    """A file that is no text is not shown."""
    if content is not None:
        (here / "token").write_bytes(content)

    assert refusal(resolve, profile(Auth(token_file=here / "token"))) == said


def test_a_token_that_a_command_prints(here):
    """The command runs in the folder of its profile; what it says on stderr is not shown."""
    (here / "environments/token.txt").write_text(SECRET)

    assert resolve(profile(shell("cat token.txt; echo note >&2"))) == SECRET


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("cat",), NO_TOKEN),
        (("sh", "-c", f"echo {SECRET}; echo {SECRET} >&2; exit 3"), FAILED),
        (("no-such-program-here", SECRET), FAILED),
        ((f"a\0{SECRET}",), FAILED),
        (("sh", "-c", f"echo token:; echo {SECRET}"), NO_TOKEN),
        (("sleep", "60"), FAILED),
    ],
    ids=["asks", "fails aloud", "not there", "no name", "says more", "takes too long"],
)
def test_a_command_without_a_token(command, said, monkeypatch, capfd):
    """Neither the command, whose argument may be a secret, nor its output is shown anywhere."""
    monkeypatch.setattr(targets, "COMMAND_TIMEOUT", 0.2)

    assert refusal(resolve, profile(Auth(token_command=command))) == said
    assert capfd.readouterr() == ("", "")


class TestRefresh:
    def test_kept(self, monkeypatch):
        """A token from the environment is fetched once and kept."""
        monkeypatch.setenv("PIX_TOKEN", SECRET)
        target = open_target(profile(VARIABLE))
        monkeypatch.setenv("PIX_TOKEN", "another")

        assert (target.refresh(), target.secrets.token()) == (False, SECRET)
        assert SECRET not in repr(target)

    def test_command(self):
        """A command is run a second time on request, and never a third."""
        target = open_target(profile(shell("echo x >> runs; wc -l < runs")))

        assert (target.secrets.token(), target.refresh(), target.secrets.token()) == ("1", True, "2")
        assert (target.refresh(), target.secrets.token()) == (False, "2")

    def test_a_command_that_fails(self):
        """A command that fails on the second run is not run a third time."""
        target = open_target(profile(shell("echo x >> runs; test $(wc -l < runs) != 2 && cat runs")))

        assert refusal(target.refresh).startswith(FAILED.partition(",")[0])
        assert (target.refresh(), target.secrets.token()) == (False, "x")


class TestHeaders:
    def test_values(self, monkeypatch):
        """Headers keep their order; each value is its text, or stands in its variable."""
        monkeypatch.setenv("PIX_TENANT", f"{SECRET}\n")
        headers = (Header("X-Region", text="sa east"), Header("X-Tenant", env="PIX_TENANT"))

        assert resolve_headers(profile(headers=headers)) == (("X-Region", "sa east"), ("X-Tenant", SECRET))

    @pytest.mark.parametrize("value", [f"a\r\nX-Evil: {SECRET}", f"{SECRET}é", f"{SECRET}\x7f"])
    def test_what_no_header_can_hold(self, value, monkeypatch):
        """A value that is not one line of ASCII."""
        monkeypatch.setenv("PIX_TENANT", value)

        assert refusal(resolve_headers, profile(headers=(Header("X-Tenant", env="PIX_TENANT"),))) == (
            f"{PROFILE}: headers.X-Tenant: PIX_TENANT cannot be sent in a header; expected one line of ASCII"
        )


def test_a_passphrase(monkeypatch):
    """It is taken as it stands, its spaces included; a key without one needs none."""
    monkeypatch.setenv("PIX_PASS", f" {SECRET} ")

    assert resolve_passphrase(profile(tls=Tls(client_key_passphrase_env="PIX_PASS"))) == f" {SECRET} "
    assert resolve_passphrase(profile()) is None
