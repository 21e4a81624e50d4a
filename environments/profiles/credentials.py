"""Fetches the secrets that a profile names from where they are kept.

No message shows a secret, or what a command printed. A problem is a ``CredentialError`` of one line.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from environments.process import environment_of_children
from environments.profiles.profile import EMBEDDED, Header, Profile, ProfileError, shown

COMMAND_TIMEOUT = 30.0
"""Seconds that a token command may take."""

_TOKEN = re.compile(r"(?!bearer$)[!-~]+", re.IGNORECASE)
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class CredentialError(ProfileError):
    """A secret that the profile names cannot be fetched, or cannot be sent."""


def resolve(profile: Profile) -> str:
    """The access token of a profile, without its scheme. Raises ``CredentialError``."""
    where = f"{shown(profile.path)}: auth"
    for key, fetch in _SOURCES.items():
        if source := getattr(profile.auth, key):
            return _token(fetch(source, f"{where}.{key}", profile), f"{where}.{key}")
    wanted = "expected one of token_env, token_command and token_file"
    raise CredentialError(f"{where}: missing, and only an embedded sandbox needs none; {wanted}")


def resolve_headers(profile: Profile) -> tuple[tuple[str, str], ...]:
    """The fixed headers of a profile as (name, value). Raises ``CredentialError``."""
    return tuple((header.name, _header_value(header, profile)) for header in profile.headers)


def resolve_passphrase(profile: Profile) -> str | None:
    """The passphrase of the client key, where the profile names one. Raises ``CredentialError``."""
    variable = profile.tls.client_key_passphrase_env
    where = f"{shown(profile.path)}: tls.client_key_passphrase_env"
    return _variable(variable, where) if variable else None


def resolve_journal_key(profile: Profile) -> bytes | None:
    """The key of the journal's digests, where the profile names its variable. Raises ``CredentialError``."""
    variable = profile.journal_key_env
    where = f"{shown(profile.path)}: journal_key_env"
    return _variable(variable, where).strip().encode() if variable else None


def refuse_missing_credentials(profile: Profile) -> None:
    """Raises ``CredentialError`` with every secret that the profile names and that is not there; no command is run."""
    problems = list(_missing_credentials(profile))
    if problems:
        raise CredentialError(problems[0], problems)


def _missing_credentials(profile: Profile) -> Iterator[str]:
    fetches: list[Callable[[], object]] = [partial(_header_value, header, profile) for header in profile.headers]
    fetches += [partial(resolve_passphrase, profile), partial(resolve_journal_key, profile)]
    if profile.base_url != EMBEDDED and not profile.auth.token_command:
        fetches.insert(0, partial(resolve, profile))
    for fetch in fetches:
        try:
            fetch()
        except CredentialError as error:
            yield str(error)


def _header_value(header: Header, profile: Profile) -> str:
    if header.env is None:
        return header.text or ""
    where = f"{shown(profile.path)}: headers.{header.name}.env"
    value = _variable(header.env, where).strip()
    if not _HEADER_VALUE.fullmatch(value):
        raise CredentialError(f"{where}: {header.env} cannot be sent in a header; expected one line of ASCII")
    return value


def _variable(variable: str, where: str, _: Profile | None = None) -> str:
    value = os.environ.get(variable)
    if not (value or "").strip():
        state = "not set" if value is None else "empty"
        raise CredentialError(f"{where}: {variable} is {state} in the environment; export {variable}=…")
    return value or ""


def _content(file: Path, where: str, _: Profile) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise CredentialError(f"{where}: cannot be read ({error.strerror})") from None


def _output(command: tuple[str, ...], where: str, profile: Profile) -> str:
    """What the command prints, run in the folder of the profile."""
    try:
        process = subprocess.Popen(
            command, cwd=profile.path.absolute().parent, env=environment_of_children(profile), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a command"
        raise CredentialError(f"{where}: cannot be started ({reason}); expected a program and its arguments") from None
    with process:
        printed = _waited_for(process, where)
    if process.returncode:
        hint = "run it by hand to see why; its output is never shown here"
        raise CredentialError(f"{where}: ended with exit status {process.returncode}; {hint}")
    return printed.decode(errors="replace")


_SOURCES: dict[str, Callable[[Any, str, Profile], str]] = {
    "token_env": _variable,
    "token_file": _content,
    "token_command": _output,
}
"""How a token is fetched, by the key of ``auth`` that is set."""


def _waited_for(process: subprocess.Popen[bytes], where: str) -> bytes:
    """What the process prints. It ends with the processes that it started, also on a timeout and an interruption."""
    try:
        return process.communicate(timeout=COMMAND_TIMEOUT)[0]
    except subprocess.TimeoutExpired:
        reason = f"not done after {COMMAND_TIMEOUT:g} seconds"
        raise CredentialError(f"{where}: {reason}; run it by hand to see why") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _token(text: str, where: str) -> str:
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        problem = "no token" if not token else "not a token"
        raise CredentialError(f'{where}: {problem}; expected the token alone, without spaces and without "Bearer"')
    return token
