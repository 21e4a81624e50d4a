"""The target of a run: its address, the embedded sandbox where the profile asks for it, and its secrets, fetched from
where they are kept. And what a process that knows secrets does not leave behind: core dumps, logs of others, variables
for its children.

No message shows a secret, or what a command printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from environments.profiles.model import EMBEDDED, Header, Profile, ProfileError, shown
from environments.secret_values import Secrets, listed_secrets

TRACING = (
    "SSLKEYLOGFILE",
    "PYTEST_DEBUG",
    "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY",
    "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY_NOCOVER",
)
"""Variables with which OpenSSL, pytest and Hypothesis write down what passes through them or decrypts it."""
NOT_FROM_A_VARIABLE = "names a service, which is taken from base_url of the profile or from --base-url=URL alone"
ADDRESS_OF_OTHERS = "PYTEST_BASE_URL"
"""The variable from which pytest-base-url takes the address if the command line has none. Other test suites export it,
so a check would ask the service of the profile, and the run another one, with token and codes."""
_NO_CORE = 1
"""Bytes of a core dump: too few for a file. Linux takes 0 for no limit where a program such as systemd-coredump takes
the dump, and 1 for none (core(5), fs/coredump.c)."""
COMMAND_TIMEOUT = 30.0
"""Seconds that a token command may take."""
_TOKEN = re.compile(r"(?!bearer$)[!-~]+", re.IGNORECASE)
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


def protect() -> None:
    """Switch core dumps off. ProfileError, in one line, for a variable that names another service than the profile, or
    has secrets written down, and for an interpreter that leaves out assertions: libraries rely on theirs."""
    if sys.flags.optimize:
        raise ProfileError("Python leaves assertions out; unset PYTHONOPTIMIZE, and call python without -O")
    if ADDRESS_OF_OTHERS in os.environ:
        raise ProfileError(f"{ADDRESS_OF_OTHERS} {NOT_FROM_A_VARIABLE}; unset it")
    for name in filter(os.environ.get, TRACING):
        raise ProfileError(f"{name} has tokens and codes written down; unset it")
    if sys.platform != "win32":
        import resource

        most = _NO_CORE if resource.getrlimit(resource.RLIMIT_CORE)[1] else 0
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def forget_variables(profile: Profile) -> None:
    """Take the secrets that the profile names out of the environment. They have been read."""
    for name in _named(profile):
        os.environ.pop(name, None)


def _named(profile: Profile) -> set[str]:
    named = (profile.auth.token_env, profile.tls.client_key_passphrase_env, profile.journal_key_env)
    return {name for name in (*named, *(header.env for header in profile.headers)) if name}


@dataclass(repr=False)
class Target:
    """Address of the service, and the registry of secrets, which holds the token. `stop` ends what was started for the
    run; `fetch` is the token command, which is run once more."""

    base_url: str
    secrets: Secrets
    stop: Callable[[], None] = lambda: None
    fetch: Callable[[], str] | None = None

    def refresh(self) -> bool:
        """Fetch the token again where that is left to do. True where it is another one now."""
        before, fetch, self.fetch = self.secrets.token(), self.fetch, None
        if fetch:
            self.secrets.learn_token(fetch())
        return self.secrets.token() != before


def open_target(profile: Profile) -> Target:
    """The target that the profile names. Raises ProfileError where a secret cannot be fetched."""
    if profile.base_url == EMBEDDED:
        from environments.sandbox import Server, Service

        service = Service()
        secrets = _secrets(profile, service.token)
        server = Server(service)
        return Target(server.base_url, secrets, server.stop)
    fetch = partial(resolve, profile) if profile.auth.token_command else None
    return Target(profile.base_url, _secrets(profile, resolve(profile)), fetch=fetch)


def _secrets(profile: Profile, token: str) -> Secrets:
    """Secrets of a target that are known before anything is sent to it."""
    secrets = listed_secrets(profile)
    secrets.learn_token(token)
    for header in profile.headers:
        if header.env:
            secrets.learn_secret(f"header {header.name}", _header_value(profile, header))
    if passphrase := resolve_passphrase(profile):
        secrets.learn_secret("passphrase", passphrase)
    return secrets


def resolve(profile: Profile) -> str:
    """The access token of a profile, without its scheme. Raises ProfileError."""
    auth, token = profile.auth, ""
    if auth.token_env:
        token = _variable(profile, auth.token_env).strip()
    elif auth.token_file:
        try:
            token = auth.token_file.read_bytes().decode("utf-8-sig", "replace").strip()
        except OSError as error:
            raise _error(profile, f"auth.token_file: cannot be read ({error.strerror})") from None
    elif auth.token_command:
        token = _output(profile, auth.token_command)
    if not _TOKEN.fullmatch(token):
        raise _error(profile, 'auth: no token; expected the token alone, without spaces and without "Bearer"')
    return token


def resolve_headers(profile: Profile) -> tuple[tuple[str, str], ...]:
    """The fixed headers of a profile as (name, value). Raises ProfileError."""
    return tuple((header.name, _header_value(profile, header)) for header in profile.headers)


def _header_value(profile: Profile, header: Header) -> str:
    if header.env is None:
        return header.text or ""
    value = _variable(profile, header.env).strip()
    if not _HEADER_VALUE.fullmatch(value):
        raise _error(
            profile, f"headers.{header.name}: {header.env} cannot be sent in a header; expected one line of ASCII"
        )
    return value


def resolve_passphrase(profile: Profile) -> str:
    """The passphrase of the client key; empty where the profile names none. Raises ProfileError."""
    return _variable(profile, profile.tls.client_key_passphrase_env)


def resolve_journal_key(profile: Profile) -> bytes:
    """The key of the journal's digests; empty where the profile names no variable. Raises ProfileError."""
    return _variable(profile, profile.journal_key_env).strip().encode()


def require_variables(profile: Profile, *names: str) -> None:
    """Raises ProfileError with a line for each variable that is not set; of all that the profile names, if none is
    given."""
    absent = [name for name in names or sorted(_named(profile)) if not os.environ.get(name, "").strip()]
    if absent:
        raise ProfileError(
            *(f"{shown(profile.path)}: {name} is not set in the environment; export {name}=…" for name in absent)
        )


def _variable(profile: Profile, name: str | None) -> str:
    if not name:
        return ""
    require_variables(profile, name)
    return os.environ[name]


def _output(profile: Profile, command: tuple[str, ...]) -> str:
    """Output of the command, run in the folder of the profile."""
    try:
        ended = subprocess.run(
            command, cwd=profile.path.absolute().parent,
            env={name: value for name, value in os.environ.items() if name not in _named(profile)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT, check=True,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        why = f"failed, or took more than {COMMAND_TIMEOUT:g} seconds; run it by hand: its output is never shown here"
        raise _error(profile, f"auth.token_command: {why}") from None
    return ended.stdout.decode(errors="replace").strip()


def _error(profile: Profile, why: str) -> ProfileError:
    return ProfileError(f"{shown(profile.path)}: {why}")
