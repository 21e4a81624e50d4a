"""Profiles: whom the suite asks, with what, and what it may do there (design, Profiles).

``load`` sends nothing. Whatever a person did wrong is a ``ProfileError`` of one line. What is secret or
personal stays out of every message and every ``repr``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from environments.profiles.address import EMBEDDED, address_problems, in_one_form, is_loopback
from environments.profiles.loading import ProfileError, find, read, shown
from environments.profiles.placeholders import fill, placeholder_problems
from spec.interface import operations

__all__ = ["EMBEDDED", "Profile", "ProfileError", "fill", "is_loopback", "load"]


@dataclass(frozen=True)
class Auth:
    """Where the access token comes from: one of the three, or none of them for the embedded sandbox."""

    token_env: str | None = None
    token_command: tuple[str, ...] = field(default=(), repr=False)
    token_file: Path | None = None


@dataclass(frozen=True)
class Header:
    """A fixed header. Its value is ``text``, or stands in the environment variable ``env``."""

    name: str
    text: str | None = field(default=None, repr=False)
    env: str | None = None


@dataclass(frozen=True)
class Tls:
    """Certificates, as files. A ``client_cert`` without a ``client_key`` holds both."""

    ca_bundle: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None
    client_key_passphrase_env: str | None = None


@dataclass(frozen=True)
class PixKey:
    """A key that the operator owns. A RANDOM one may be empty."""

    type: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Prepare:
    """How to prepare ``count`` transfers; ``code_at`` is the JSON pointer to the code in each answer."""

    operation: str
    json: Any = field(repr=False)
    code_at: str
    count: int = 1


@dataclass(frozen=True)
class Transactions:
    """Codes that were prepared beforehand, and how to prepare more."""

    codes: tuple[str, ...] = field(default=(), repr=False)
    prepare: Prepare | None = None


@dataclass(frozen=True)
class RequestBody:
    """A body, in whose strings ``fill`` replaces ``{account}``, ``{key}`` and ``{type}``."""

    json: Any = field(repr=False)


@dataclass(frozen=True)
class Limits:
    """Budgets of a whole run: ``rate`` in requests a second, ``timeout`` in seconds."""

    executions: int = 5
    requests: int = 2000
    rate: float | None = None
    timeout: float = 30.0
    response_bytes: int = 5_000_000
    examples: int | None = None


@dataclass(frozen=True)
class KnownFailure:
    """A requirement that is known to fail, up to and including the day ``until``.

    ``strict``: that it holds again fails the run, where it is a warning otherwise.
    """

    id: str
    reason: str
    until: date | None = None
    strict: bool = False

    def is_past(self, day: date) -> bool:
        """Whether its last day is over on that day."""
        return self.until is not None and day > self.until


def today() -> date:
    """The day of the run, in UTC."""
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class Profile:
    """One environment. Paths are absolute, but for ``path``, which is the file as it was named."""

    name: str
    path: Path
    base_url: str
    auth: Auth = field(default_factory=Auth)
    headers: tuple[Header, ...] = ()
    correlation_header: str | None = None
    tls: Tls = field(default_factory=Tls)
    proxy: str | None = None
    insecure: bool = False
    base_url_is_exact: bool = False
    journal: Path | None = None
    allow: frozenset[str] = frozenset({"read"})
    accounts: tuple[str, ...] = field(default=(), repr=False)
    pix_keys: tuple[PixKey, ...] = field(default=(), repr=False)
    transactions: Transactions = field(default_factory=Transactions)
    requests: Mapping[str, RequestBody] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    fail_on: frozenset[str] = frozenset({"documented", "robustness"})
    min_coverage: float | None = None
    known_failures: tuple[KnownFailure, ...] = ()


def load(environment: str, *, folder: Path, base_url: str | None = None) -> Profile:
    """The profile named ``environment`` in ``folder``, or at that path; ``base_url`` replaces its address.

    Raises ``ProfileError``.
    """
    path = find(environment, folder)
    profile = _built(path, read(path, folder))
    for problem in _problems(profile):
        raise ProfileError(f"{shown(path)}: {problem}")
    return profile if base_url is None else _redirected(profile, base_url)


def _redirected(profile: Profile, base_url: str) -> Profile:
    """The profile with the address of ``--base-url``. What is allowed on the sandbox stays local."""
    address = in_one_form(base_url)
    if problem := next(_address_problems(profile, address), None):
        raise ProfileError(f"--base-url: {problem}")
    if profile.base_url == EMBEDDED and not is_loopback(address):
        reason = f"{shown(profile.path)} is for the embedded sandbox, and its permissions and data stay there"
        raise ProfileError(f"--base-url: {reason}; name the profile of this target with --environment")
    return replace(profile, base_url=address)


def _built(path: Path, data: dict[str, Any]) -> Profile:
    """The profile of checked data. The table says what each key becomes, at any depth but in bodies."""

    def file(text: str) -> Path:
        return path.absolute().parent / os.path.expanduser(text)

    def made(section: dict[str, Any]) -> dict[str, Any]:
        said = {key: value for key, value in section.items() if value is not None}
        return {key: becomes[key](value) if key in becomes else value for key, value in said.items()}

    becomes: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(("token_file", "ca_bundle", "client_cert", "client_key", "journal"), file),
        **dict.fromkeys(("token_command", "accounts", "codes"), tuple),
        **dict.fromkeys(("allow", "fail_on"), frozenset),
        "base_url": in_one_form,
        "auth": lambda section: Auth(**made(section)),
        "headers": lambda section: tuple(Header(name, **_value(value)) for name, value in section.items()),
        "tls": lambda section: Tls(**made(section)),
        "pix_keys": lambda items: tuple(PixKey(**item) for item in items),
        "transactions": lambda section: Transactions(**made(section)),
        "prepare": lambda section: Prepare(**made(section)),
        "count": int,
        "requests": lambda section: {operation: RequestBody(**body) for operation, body in section.items()},
        "limits": lambda section: Limits(**{key: _whole(value) for key, value in section.items()}),
        "known_failures": lambda items: tuple(KnownFailure(**made(item)) for item in items),
        "until": date.fromisoformat,
    }
    return Profile(name=path.stem, path=path, **made(data))


def _value(said: str | dict[str, str]) -> dict[str, str]:
    return {"text": said} if isinstance(said, str) else said


def _whole(number: Any) -> Any:
    """5.0 is the whole number 5 to JSON Schema; Python asks for an ``int`` where it counts."""
    return int(number) if number is not None and number % 1 == 0 else number


def _problems(profile: Profile) -> Iterator[str]:
    """What no single key shows, and what the disk shows."""
    if profile.base_url != EMBEDDED:
        yield from (f"base_url: {p}" for p in _address_problems(profile, profile.base_url))
        if profile.auth == Auth():
            yield "auth: missing; expected one of token_env, token_command and token_file"
    if profile.proxy:
        yield from (f"proxy: {p}" for p in address_problems(profile.proxy, insecure=True, exact=True))
    yield from _missing_files(profile)
    yield from _header_problems(profile)
    for entry, times in Counter(entry.id for entry in profile.known_failures).items():
        if times > 1:
            yield f"known_failures: {entry}: stands {times} times; keep one"
    yield from _body_problems(profile)


def _address_problems(profile: Profile, base_url: str) -> Iterator[str]:
    return address_problems(base_url, insecure=profile.insecure, exact=profile.base_url_is_exact)


def _missing_files(profile: Profile) -> Iterator[str]:
    tls = profile.tls
    files = {
        "auth.token_file": profile.auth.token_file,
        "tls.ca_bundle": tls.ca_bundle,
        "tls.client_cert": tls.client_cert,
        "tls.client_key": tls.client_key,
    }
    for where, file in files.items():
        if file and not os.path.isfile(file):  # Path.is_file raises where a pasted token is too long a name
            yield f"{where}: no such file; a path is relative to {shown(profile.path.absolute().parent)}"


def _header_problems(profile: Profile) -> Iterator[str]:
    """The same header twice: names of headers have no letter case (RFC 9110 section 5.1)."""
    names = [header.name.lower() for header in profile.headers]
    if len(names) != len(set(names)):
        yield "headers: one header stands twice, in other letters; remove one of the two"
    if (profile.correlation_header or "").lower() in names:
        yield "correlation_header: stands among headers too; remove it there"


def _body_problems(profile: Profile) -> Iterator[str]:
    bodies = {f"requests.{operation}.json": body.json for operation, body in profile.requests.items()}
    if prepare := profile.transactions.prepare:
        bodies["transactions.prepare.json"] = prepare.json
        permission = operations()[prepare.operation].permission
        if permission not in profile.allow:
            remedy = f"add {permission} to allow, or remove prepare"
            yield f"transactions.prepare: {prepare.operation} is not permitted; {remedy}"
    for where, body in bodies.items():
        yield from (f"{where}: {p}" for p in placeholder_problems(body))
