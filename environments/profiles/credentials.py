"""Secrets that a profile names, fetched from where they are kept.

They are never shown: no message repeats a secret, nor what a command printed. Whatever hinders is a
``CredentialError`` of one line.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from environments.profiles.profile import Header, Profile, ProfileError, shown

COMMAND_TIMEOUT = 30.0
"""Seconds that a token command may take."""

_TOKEN = re.compile(r"[!-~]+")
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class CredentialError(ProfileError):
    """A secret that the profile names cannot be had, or cannot be sent."""


class TokenSource:
    """The access token of a run, fetched when this is made or given by who fetched it, and once again on request."""

    def __init__(self, profile: Profile, fetched: str | None = None) -> None:
        self._profile = profile
        self._may_refresh = bool(profile.auth.token_command)
        self._current = resolve(profile) if fetched is None else fetched

    @property
    def current(self) -> str:
        """The token without its scheme."""
        return self._current

    def fetch(self) -> str:
        """Run the token command again, at most once. Gives the token that is current then."""
        if self._may_refresh:
            self._may_refresh = False
            self._current = resolve(self._profile)
        return self._current


def resolve(profile: Profile) -> str:
    """The access token of a profile, without its scheme. Raises ``CredentialError``."""
    auth, name = profile.auth, shown(profile.path)
    if auth.token_env:
        return _token(_variable(auth.token_env, f"{name}: auth.token_env"), f"{name}: auth.token_env")
    if auth.token_file:
        return _token(_content(auth.token_file, f"{name}: auth.token_file"), f"{name}: auth.token_file")
    if auth.token_command:
        where = f"{name}: auth.token_command"
        return _token(_output(auth.token_command, profile.path.absolute().parent, where), where)
    wanted = "expected one of token_env, token_command and token_file"
    raise CredentialError(f"{name}: auth: missing, and only an embedded sandbox needs none; {wanted}")


def resolve_headers(profile: Profile) -> tuple[tuple[str, str], ...]:
    """The fixed headers of a profile as (name, value). Raises ``CredentialError``."""
    return tuple((header.name, _header_value(header, profile)) for header in profile.headers)


def resolve_passphrase(profile: Profile) -> str | None:
    """The passphrase of the client key, where the profile names one. Raises ``CredentialError``."""
    variable = profile.tls.client_key_passphrase_env
    where = f"{shown(profile.path)}: tls.client_key_passphrase_env"
    return _variable(variable, where) if variable else None


def _header_value(header: Header, profile: Profile) -> str:
    if header.env is None:
        return header.text or ""
    where = f"{shown(profile.path)}: headers.{header.name}.env"
    value = _variable(header.env, where).strip()
    if not _HEADER_VALUE.fullmatch(value):
        raise CredentialError(f"{where}: {header.env} holds what no header can; expected one line of ASCII")
    return value


def _variable(variable: str, where: str) -> str:
    value = os.environ.get(variable)
    if not (value or "").strip():
        state = "not set" if value is None else "empty"
        raise CredentialError(f"{where}: {variable} is {state} in the environment; export {variable}=…")
    return value or ""


def _content(file: Path, where: str) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CredentialError(f"{where}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise CredentialError(f"{where}: not text; expected a file with the token alone") from None


def _token(text: str, where: str) -> str:
    token = text.strip()
    for broken, problem in _TOKEN_PROBLEMS:
        if broken(token):
            raise CredentialError(f"{where}: {problem}")
    return token


_TOKEN_PROBLEMS: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda token: not token, "no token in it; expected the token alone"),
    (re.compile(r"bearer(\s|$)", re.IGNORECASE).match, 'starts with "Bearer"; give the token alone'),
    (lambda token: len(token.splitlines()) > 1, "more than one line; give the token alone"),
    (
        lambda token: not _TOKEN.fullmatch(token),
        "a space or a character that no token has; give the token alone",
    ),
)


def _output(command: tuple[str, ...], folder: Path, where: str) -> str:
    """What ``command`` prints, run in ``folder``. On a timeout what it started is ended with it."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a command"
        raise CredentialError(f"{where}: cannot be started ({reason}); expected a program and its arguments") from None
    with process:
        printed = _waited_for(process, where)
    if process.returncode:
        hint = "run it by hand to see why; its output is never shown here"
        raise CredentialError(f"{where}: ended with exit status {process.returncode}; {hint}")
    try:
        return printed.decode()
    except UnicodeDecodeError:
        raise CredentialError(f"{where}: printed no text; expected the token alone") from None


def _waited_for(process: subprocess.Popen[bytes], where: str) -> bytes:
    try:
        return process.communicate(timeout=COMMAND_TIMEOUT)[0]
    except subprocess.TimeoutExpired:
        _end(process)
        reason = f"not done after {COMMAND_TIMEOUT:g} seconds"
        raise CredentialError(f"{where}: {reason}; run it by hand to see why") from None
    except BaseException:
        _end(process)
        raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and its children, which would keep its output open."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
