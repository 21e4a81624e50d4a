"""The target of a run (the service that is tested): its address, and the secrets for it, read from their sources.

If the profile asks for the embedded sandbox, it is started here. The module also protects the process, in two steps:

1. `protect_secrets` is called before any secret is read. It refuses settings that would write secrets to files.
2. `remove_secret_variables` is called after all secrets are read, so that no child process gets them.

secret_values.py only keeps the secrets that this module reads, so that no output shows them. No error message of this
module shows a secret, or what a command printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from environments.profiles.model import EMBEDDED, Header, Profile, ProfileError, path_in_messages
from environments.secret_values import Secrets, listed_secrets

VARIABLES_THAT_RECORD_SECRETS = (
    "SSLKEYLOGFILE",
    "PYTEST_DEBUG",
    "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY",
    "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY_NOCOVER",
)
"""Environment variables with which a library writes secrets to a file. OpenSSL writes the keys of TLS connections, with
which somebody can decrypt the traffic. pytest and Hypothesis write the values that tests use."""
MUST_NOT_NAME_THE_SERVICE = "names a service, which is taken from base_url of the profile or from --base-url=URL alone"
"""What an error says about a variable or setting with an address, behind its name."""
ADDRESS_VARIABLE_OF_PYTEST = "PYTEST_BASE_URL"
"""The variable from which pytest-base-url takes the address if the command line has none. Other test suites export it.
Then `environments check` would ask the service of the profile, but the run would send the token and the codes to the
service of the variable."""
_TOO_SMALL_FOR_A_CORE_DUMP = 1
"""Limit for the size of a core dump, in bytes: too small for a file. The limit is not 0 because of programs that take
core dumps, such as systemd-coredump. For them Linux reads 0 as "no limit", and 1 as "no dump" (core(5),
fs/coredump.c)."""
COMMAND_TIMEOUT = 30.0
"""Seconds that a token command may take."""
_TOKEN = re.compile(r"(?!bearer$)[!-~]+", re.IGNORECASE)
"""Printable ASCII without blanks, and not the scheme alone."""
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
"""Printable ASCII that begins and ends without a blank."""


def protect_secrets() -> None:
    """Prepare the process before it reads any secret: switch core dumps off, and refuse dangerous settings.

    A core dump is a file with the memory of a crashed process. Raises ProfileError in three cases:

    - Python ignores assertions, on which libraries rely.
    - An environment variable names another service than the profile.
    - An environment variable makes libraries write secrets to files.
    """
    if sys.flags.optimize:
        raise ProfileError("Python leaves assertions out; unset PYTHONOPTIMIZE, and call python without -O")
    if ADDRESS_VARIABLE_OF_PYTEST in os.environ:
        raise ProfileError(f"{ADDRESS_VARIABLE_OF_PYTEST} {MUST_NOT_NAME_THE_SERVICE}; unset it")
    for name in VARIABLES_THAT_RECORD_SECRETS:
        if os.environ.get(name):
            raise ProfileError(f"{name} makes libraries write tokens and codes down; unset it")
    if sys.platform != "win32":
        import resource  # does not exist on Windows

        _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
        # A process may lower its hard limit, but not raise it. So a hard limit of 0 has to stay 0.
        new_limit = 0 if hard_limit == 0 else _TOO_SMALL_FOR_A_CORE_DUMP
        resource.setrlimit(resource.RLIMIT_CORE, (new_limit, new_limit))


def remove_secret_variables(profile: Profile) -> None:
    """Remove the environment variables with secrets of the profile, so that no child process inherits them.

    The secrets must have been read before.
    """
    for name in _secret_variables_of(profile):
        os.environ.pop(name, None)


def _secret_variables_of(profile: Profile) -> set[str]:
    """Names of the environment variables that hold secrets of this profile: the token, passphrase, keys and headers."""
    names = {profile.auth.token_env, profile.tls.client_key_passphrase_env, profile.journal_key_env}
    names.update(header.env for header in profile.headers)
    return {name for name in names if name}


@dataclass(repr=False)
class Target:
    """A service, by its address and the secrets for it."""

    base_url: str
    secrets: Secrets
    """The registry of secrets, which holds the token."""
    stop: Callable[[], None] = lambda: None
    """Ends the embedded sandbox, if there is one."""
    fetch_token: Callable[[], str] | None = None
    """The token command, for the one time that it is run again; None after that, and if the profile has none."""

    def refresh(self) -> bool:
        """Run the token command again, because the token may have expired. Returns True if there is a new token.

        It is done at most once in a run, so that a service that refuses every token does not start it again and again.
        """
        old_token = self.secrets.token()
        fetch_token = self.fetch_token
        self.fetch_token = None  # no second time
        if fetch_token:
            self.secrets.learn_token(fetch_token())
        return self.secrets.token() != old_token


def open_target(profile: Profile) -> Target:
    """The service that the profile names, with the secrets for it. Raises ProfileError if a secret cannot be read.

    If the profile asks for the embedded sandbox, that is started in this process.
    """
    if profile.base_url == EMBEDDED:
        from environments.sandbox import Server, Service  # imported only if it is needed

        service = Service()
        secrets = _all_secrets(profile, service.token)
        server = Server(service)
        return Target(server.base_url, secrets, server.stop)

    def fetch_token() -> str:
        """Run the command of the profile that prints the token, once more."""
        return token_of(profile)

    target = Target(profile.base_url, _all_secrets(profile, token_of(profile)))
    if profile.auth.token_command:  # other sources of a token, such as a file, do not change during a run
        target.fetch_token = fetch_token
    return target


def _all_secrets(profile: Profile, token: str) -> Secrets:
    """The list of all secrets that are known before anything is sent. No output shows a value in this list."""
    secrets = listed_secrets(profile)
    secrets.learn_token(token)
    for header in profile.headers:
        if header.env:
            secrets.learn_secret(f"header {header.name}", _header_value(profile, header))
    passphrase = passphrase_of(profile)
    if passphrase:
        secrets.learn_secret("passphrase", passphrase)
    return secrets


def token_of(profile: Profile) -> str:
    """Read the access token from the source that the profile names: a variable, a file or a command.

    The token is returned without the word "Bearer". Raises ProfileError if there is none, or if it is not one word.
    """
    auth = profile.auth
    token = ""
    if auth.token_env:
        token = _value_of_variable(profile, auth.token_env).strip()
    elif auth.token_file:
        try:
            # "utf-8-sig" ignores a byte order mark. A byte that is not UTF-8 is replaced, and `_TOKEN` refuses the
            # result.
            token = auth.token_file.read_bytes().decode("utf-8-sig", "replace").strip()
        except OSError as error:
            raise _profile_error(profile, f"auth.token_file: cannot be read ({error.strerror})") from None
    elif auth.token_command:
        token = _output_of_token_command(profile, auth.token_command)
    if not _TOKEN.fullmatch(token):
        raise _profile_error(profile, 'auth: no token; expected the token alone, without spaces and without "Bearer"')
    return token


def fixed_headers_of(profile: Profile) -> tuple[tuple[str, str], ...]:
    """Names and values of the headers that the profile adds to every request. Raises ProfileError.

    A value that is secret is read from an environment variable.
    """
    return tuple((header.name, _header_value(profile, header)) for header in profile.headers)


def _header_value(profile: Profile, header: Header) -> str:
    """The value of a header that is added to every request: a text of the profile, or the value of a variable.

    Raises ProfileError if the variable is not set, or if its value cannot be sent in a header.
    """
    if header.env is None:
        return header.text or ""
    value = _value_of_variable(profile, header.env).strip()
    if not _HEADER_VALUE.fullmatch(value):
        raise _profile_error(
            profile, f"headers.{header.name}: {header.env} cannot be sent in a header; expected one line of ASCII"
        )
    return value


def passphrase_of(profile: Profile) -> str:
    """The passphrase of the client key; empty if the profile names none. Raises ProfileError."""
    return _value_of_variable(profile, profile.tls.client_key_passphrase_env)


def journal_key_of(profile: Profile) -> bytes:
    """The secret key of the journal, the file with the transaction codes that runs sent.

    The journal has a digest of each code, made with this key. Empty if the profile names no variable for the key; then
    the key is in a file. Raises ProfileError if the variable is not set.
    """
    return _value_of_variable(profile, profile.journal_key_env).strip().encode()


def require_variables(profile: Profile, *names: str) -> None:
    """Check that these environment variables are set; without names, all variables that the profile names.

    Raises ProfileError, with a line for each variable that is not set.
    """
    required = names or sorted(_secret_variables_of(profile))
    absent = [name for name in required if not os.environ.get(name, "").strip()]
    file = path_in_messages(profile.path)
    if absent:
        raise ProfileError(*(f"{file}: {name} is not set in the environment; export {name}=…" for name in absent))


def _value_of_variable(profile: Profile, name: str | None) -> str:
    """The value of an environment variable; empty if `name` is empty, because the profile names no variable.

    Raises ProfileError if the variable is not set.
    """
    if not name:
        return ""
    require_variables(profile, name)
    return os.environ[name]


def _output_of_token_command(profile: Profile, command: tuple[str, ...]) -> str:
    """Run a command of the profile, and return what it prints: the access token. Raises ProfileError.

    The command runs in the folder of the profile. It does not get the variables that hold secrets.
    """
    secret_names = _secret_variables_of(profile)
    try:
        process = subprocess.run(
            command, cwd=profile.path.absolute().parent,
            env={name: value for name, value in os.environ.items() if name not in secret_names},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT, check=True,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        why = f"failed, or took more than {COMMAND_TIMEOUT:g} seconds; run it by hand: its output is never shown here"
        raise _profile_error(profile, f"auth.token_command: {why}") from None
    return process.stdout.decode(errors="replace").strip()


def _profile_error(profile: Profile, why: str) -> ProfileError:
    """An error whose message begins with the path of the profile, so that the user knows which file to correct."""
    return ProfileError(f"{path_in_messages(profile.path)}: {why}")
