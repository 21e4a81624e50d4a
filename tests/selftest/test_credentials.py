"""Secrets that a profile names: where they come from, and that they are never shown."""

import os
import subprocess
import traceback
from pathlib import Path

import pytest

from environments.profiles import credentials
from environments.profiles.credentials import CredentialError, resolve, resolve_headers, resolve_passphrase
from environments.profiles.profile import Auth, Header, Profile, ProfileError, Tls
from environments.profiles.target import open_target

SECRET = "s3cr3t-t0ken"
ENV = "environments/staging.yaml: auth.token_env"
FILE = "environments/staging.yaml: auth.token_file"
COMMAND = "environments/staging.yaml: auth.token_command"
NO_TOKEN = 'no token; expected the token alone, without spaces and without "Bearer"'
BY_HAND = "run it by hand to see why; its output is never shown here"
NOT_STARTED = "expected a program and its arguments"
NOT_A_TOKEN = f"not a {NO_TOKEN.removeprefix('no ')}"


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
    with pytest.raises(CredentialError) as caught:
        resolving(*given)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


VARIABLE = Auth(token_env="PIX_TOKEN")


class TestVariable:
    @pytest.mark.parametrize("token", [SECRET, "bearer123"])
    def test_value(self, token, monkeypatch):
        """The token is the value of the variable without the space around it; it may begin with the letters of Bearer."""
        monkeypatch.setenv("PIX_TOKEN", f" {token}\n")

        assert resolve(profile(VARIABLE)) == token

    @pytest.mark.parametrize("resolving", [resolve, open_target])
    def test_not_set(self, resolving):
        """A variable that is not set is named, with what to do, before any request."""
        assert refusal(resolving, profile(VARIABLE)) == (
            f"{ENV}: PIX_TOKEN is not set in the environment; export PIX_TOKEN=…"
        )

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            *((value, "PIX_TOKEN is empty in the environment; export PIX_TOKEN=…") for value in ("", " \n")),
            *((f"{SECRET}{rest}", NOT_A_TOKEN) for rest in (f"\n{SECRET}", " x", "\x1b[0m", "é", "…")),
            *((scheme, NOT_A_TOKEN) for scheme in (f"Bearer {SECRET}", f"bearer\t{SECRET}", "Bearer")),
        ],
        ids=ascii,
    )
    def test_what_is_no_token(self, value, said, monkeypatch):
        """An empty variable is told from one that is not set; what cannot follow "Authorization: Bearer" is not shown."""
        monkeypatch.setenv("PIX_TOKEN", value)

        assert refusal(resolve, profile(VARIABLE)) == f"{ENV}: {said}"


class TestFile:
    def test_content(self, here):
        """The token is what the file holds, without the line break at its end or a byte order mark."""
        (here / "token").write_text(f"\ufeff{SECRET}\n", encoding="utf-8")

        assert resolve(profile(Auth(token_file=here / "token"))) == SECRET

    @pytest.mark.parametrize(("content", "said"), [(b"", NO_TOKEN), (SECRET.encode() + b"\xff", NOT_A_TOKEN)])
    def test_what_is_no_token(self, content, said, here):
        """An empty file holds no token, and a file that is no text is not shown."""
        (here / "token").write_bytes(content)

        assert refusal(resolve, profile(Auth(token_file=here / "token"))) == f"{FILE}: {said}"

    def test_gone(self, here):
        """A file that is gone since the profile was read is said with the system's reason."""
        said = refusal(resolve, profile(Auth(token_file=here / "token")))

        assert said == f"{FILE}: cannot be read (No such file or directory)"


class TestCommand:
    def test_output(self):
        """The token is what the command prints; what it says on stderr is not."""
        assert resolve(profile(shell(f"echo {SECRET}; echo note >&2"))) == SECRET

    def test_folder(self, here):
        """The command runs in the folder of its profile."""
        (here / "environments/token.txt").write_text(SECRET)

        assert resolve(profile(Auth(token_command=("cat", "token.txt")))) == SECRET

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            (("cat",), NO_TOKEN),
            (("sh", "-c", "exit 3"), f"ended with exit status 3; {BY_HAND}"),
            (("sh", "-c", f"echo {SECRET}; echo {SECRET} >&2; exit 3"), f"ended with exit status 3; {BY_HAND}"),
            (("sh", "-c", "kill -9 $$"), f"ended with exit status -9; {BY_HAND}"),
            (("no-such-program-here", SECRET), f"cannot be started (No such file or directory); {NOT_STARTED}"),
            (("/", SECRET), f"cannot be started (Permission denied); {NOT_STARTED}"),
            ((f"a\0{SECRET}",), f"cannot be started (not a command); {NOT_STARTED}"),
            (("sh", "-c", f"echo token:; echo {SECRET}"), NOT_A_TOKEN),
            (("sh", "-c", rf"printf '{SECRET}\377'"), NOT_A_TOKEN),
        ],
        ids=["asks", "fails", "fails aloud", "killed", "not there", "a folder", "no name", "says more", "not text"],
    )
    def test_what_gives_no_token(self, command, said, capfd):
        """What asks for input, fails, cannot be started or prints anything else is refused: neither the command, whose
        argument may be a secret, nor its output is shown anywhere."""
        assert refusal(resolve, profile(Auth(token_command=command))) == f"{COMMAND}: {said}"
        assert capfd.readouterr() == ("", "")

    def test_timeout(self, waiting):
        """A command that takes too long is ended, and the processes that it started with it."""
        command, waited = waiting(lambda process, seconds: subprocess.TimeoutExpired(process.args, seconds))

        assert refusal(resolve, profile(command)) == (
            f"{COMMAND}: not done after 30 seconds; run it by hand to see why"
        )
        assert waited() == [30]

    def test_interrupted(self, waiting):
        """A run that is interrupted while it waits leaves no command behind."""
        command, waited = waiting(lambda process, seconds: KeyboardInterrupt())

        with pytest.raises(KeyboardInterrupt):
            resolve(profile(command))

        assert waited() == [30]


@pytest.fixture
def waiting(here, monkeypatch):
    """A command that never ends, and what it is to meet once it waits. The second is asked for the seconds that it was
    given, when no process of the command is left: each holds the pipe open."""
    pipe, seconds = here / "alive", []
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def waited():
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""
        os.close(reader)
        return seconds

    def meeting(error):
        def communicate(process, timeout):
            process.stdout.readline()
            seconds.append(timeout)
            raise error(process, timeout)

        monkeypatch.setattr(credentials.subprocess.Popen, "communicate", communicate)
        return shell(f"exec 9> {pipe}; sleep infinity & echo {SECRET}; wait"), waited

    return meeting


class TestRefresh:
    def test_kept(self, monkeypatch):
        """A token from the environment is fetched once and kept."""
        monkeypatch.setenv("PIX_TOKEN", SECRET)
        target = open_target(profile(Auth(token_env="PIX_TOKEN")))
        monkeypatch.setenv("PIX_TOKEN", "another")

        assert (target.refresh(), target.secrets.token()) == (False, SECRET)

    def test_command(self):
        """A command is run a second time on request, and never a third."""
        target = open_target(profile(shell("echo x >> runs; wc -l < runs")))

        assert (target.secrets.token(), target.refresh(), target.secrets.token()) == ("1", True, "2")
        assert (target.refresh(), target.secrets.token()) == (False, "2")

    def test_a_command_that_fails(self):
        """A command that fails on the second run is not run a third time."""
        target = open_target(profile(shell("echo x >> runs; test $(wc -l < runs) != 2 && cat runs")))

        assert refusal(target.refresh).startswith(f"{COMMAND}: ended with exit status 1")
        assert (target.refresh(), target.secrets.token()) == (False, "x")

    def test_the_same_token_again(self):
        """A command that prints the same token has refreshed nothing; no repr shows it."""
        target = open_target(profile(shell(f"echo {SECRET}")))

        assert not target.refresh()
        assert SECRET not in repr(target)


def test_no_source():
    """A profile of the embedded sandbox has no token to fetch."""
    assert refusal(resolve, profile()) == (
        "environments/staging.yaml: auth: missing, and only an embedded sandbox needs none; "
        "expected one of token_env, token_command and token_file"
    )


def test_a_credential_error_is_a_profile_error():
    """Code that catches ProfileError catches a missing secret too."""
    assert issubclass(CredentialError, ProfileError)


class TestHeaders:
    def test_values(self, monkeypatch):
        """Headers keep their order; each value is its text, or stands in its variable."""
        monkeypatch.setenv("PIX_TENANT", f"{SECRET}\n")
        headers = (Header("X-Region", text="sa east"), Header("X-Tenant", env="PIX_TENANT"))

        resolved = resolve_headers(profile(headers=headers))

        assert resolved == (("X-Region", "sa east"), ("X-Tenant", SECRET))

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (None, "is not set in the environment; export PIX_TENANT=…"),
            (f"a\r\nX-Evil: {SECRET}", "cannot be sent in a header; expected one line of ASCII"),
            (f"{SECRET}é", "cannot be sent in a header; expected one line of ASCII"),
            (f"{SECRET}\x7f", "cannot be sent in a header; expected one line of ASCII"),
        ],
        ids=["not set", "a second header", "not ASCII", "a control character"],
    )
    def test_what_no_header_can_hold(self, value, said, monkeypatch):
        """The variable is named with its header: one that is not set, and a value that is not one line of ASCII."""
        monkeypatch.delenv("PIX_TENANT", raising=False)
        if value:
            monkeypatch.setenv("PIX_TENANT", value)

        assert refusal(resolve_headers, profile(headers=(Header("X-Tenant", env="PIX_TENANT"),))) == (
            f"environments/staging.yaml: headers.X-Tenant.env: PIX_TENANT {said}"
        )


class TestPassphrase:
    def test_none(self):
        """A key without a passphrase needs none."""
        assert resolve_passphrase(profile()) is None

    def test_value(self, monkeypatch):
        """A passphrase is taken as it stands, its spaces included."""
        monkeypatch.setenv("PIX_PASS", f" {SECRET} ")

        assert resolve_passphrase(profile(tls=Tls(client_key_passphrase_env="PIX_PASS"))) == f" {SECRET} "

    def test_not_set(self, monkeypatch):
        """The variable of a passphrase is named with its key."""
        monkeypatch.delenv("PIX_PASS", raising=False)

        assert refusal(resolve_passphrase, profile(tls=Tls(client_key_passphrase_env="PIX_PASS"))) == (
            "environments/staging.yaml: tls.client_key_passphrase_env: "
            "PIX_PASS is not set in the environment; export PIX_PASS=…"
        )
