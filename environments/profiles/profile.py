"""A profile: whom the suite asks, with what, and what it may do there.

These are the types and defaults; ``profile.yaml`` beside this module says what each key means and may hold, and
``loading`` makes the one from the other. What is secret or personal stays out of every ``repr``. The address of a
target is ``embedded``, or http(s)://host[:port][/prefix].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ENVIRONMENTS = Path(__file__).parents[1]
"""The folder of the profiles that are named without a path."""
EMBEDDED = "embedded"
FAIL = "fail"
"""What `drift` says where a run fails by it."""
RECORD = ".observed.yaml"
"""How the file of a record ends: what was observed of an environment and accepted. It is no profile."""
_SEGMENT = r"/(?!\.\.?(/|$))[A-Za-z0-9._~!$&'()*+,;=:-]+"
_ADDRESS = re.compile(rf"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?({_SEGMENT})*/?")


def is_loopback(base_url: str) -> bool:
    """Whether requests to the address stay on this machine: embedded, localhost, 127.0.0.0/8 or ::1."""
    host = host_of(base_url)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return base_url == EMBEDDED or host == "localhost"


def host_of(base_url: str) -> str:
    """The host of an address, in lower case; empty where it has none."""
    return urlsplit(base_url).hostname or ""


def in_one_form(text: str) -> str:
    """The address as requests are sent to it: scheme and host in lower case (RFC 3986 section 6.2.2.1), no slash at the
    end."""
    origin = re.match(r"[A-Za-z]+://[^/]*", text)
    return (text[: origin.end()].lower() + text[origin.end() :] if origin else text).removesuffix("/")


def address_problems(text: str, *, insecure: bool, exact: bool) -> Iterator[str]:
    """What is wrong with an address. ``insecure`` permits http:// to other machines, ``exact`` a path that ends in /v1.

    A message repeats an address only if it holds no more than host, port and path, as the reports show it.
    """
    if "@" in text:
        yield "an address with a user name or password; secrets are named, never written: leave them out"
    elif set(text) & set("?#"):
        yield "an address with a query or a fragment; leave out what follows ? or #"
    elif not exact and (shorter := _without_version(text)):
        remedy = f"write {shorter}, or set base_url_is_exact: true in the profile if the paths start with /v1/v1"
        yield f"ends in /v1, and every path of the interface starts with /v1 already: {remedy}"
    elif not _ADDRESS.fullmatch(text) or not _has_a_port_number(text):
        yield "not an address; expected http(s)://host[:port][/prefix]"
    elif text.startswith("http:") and not insecure and not is_loopback(text):
        yield "http:// sends the token in clear text; use https://, or set insecure: true in the profile"


def _without_version(text: str) -> str:
    """The address without the /v1 at its end, in any letter case; empty where there is none, or no address is left."""
    shorter = re.sub(r"(?i)(/+v1)+/*$", "", text)
    return in_one_form(shorter) if shorter != text and _ADDRESS.fullmatch(shorter) else ""


def _has_a_port_number(text: str) -> bool:
    """Whether the port is absent or from 1 to 65535, and an IPv6 address is valid."""
    try:
        return urlsplit(text).port != 0
    except ValueError:
        return False


class ProfileError(Exception):
    """What is wrong, where, what was expected and what to do: one line, whatever characters it was made of.

    `problems` has a line for each, where the message tells the first of several.
    """

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(_in_one_line(message))
        self.problems = tuple(map(_in_one_line, problems)) or (str(self),)


def _in_one_line(message: str) -> str:
    return "".join(c if c.isprintable() else " " for c in message)


@dataclass(frozen=True)
class Auth:
    """One of the three; none of them for the embedded sandbox."""

    token_env: str | None = None
    token_command: tuple[str, ...] = field(default=(), repr=False)
    token_file: Path | None = None


@dataclass(frozen=True)
class Header:
    """A fixed header. Its value is ``text``, or that of the environment variable ``env``."""

    name: str
    text: str | None = field(default=None, repr=False)
    env: str | None = None


@dataclass(frozen=True)
class Tls:
    """Absolute paths of PEM files."""

    ca_bundle: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None
    client_key_passphrase_env: str | None = None


@dataclass(frozen=True)
class PixKey:
    """A key that may be registered. A RANDOM one may be empty; a ``disposable`` one may be deleted by the run."""

    type: str
    key: str = field(repr=False)
    disposable: bool = False


@dataclass(frozen=True)
class Prepare:
    """How to prepare ``count`` transfers."""

    operation: str
    json: Any = field(repr=False)
    code_at: str
    count: int = 1


@dataclass(frozen=True)
class Transactions:
    """Codes to execute, and how to prepare more."""

    codes: tuple[str, ...] = field(default=(), repr=False)
    prepare: Prepare | None = None


@dataclass(frozen=True)
class RequestBody:
    """A body, in whose strings ``fill`` replaces ``{account}``, ``{key}`` and ``{type}``."""

    json: Any = field(repr=False)


@dataclass(frozen=True)
class Limits:
    """The most that a whole run may do: ``rate`` in requests a second, ``parallel`` in requests on the wire at once,
    ``duration`` and ``timeout`` in seconds, ``wrong_tokens`` for each of the two documented operations."""

    executions: int = 5
    transfers: int = 20
    wrong_tokens: int = 20
    requests: int = 2000
    duration: float = 900.0
    rate: float | None = None
    parallel: int = 8
    timeout: float = 30.0
    response_bytes: int = 5_000_000
    examples: int | None = None


@dataclass(frozen=True)
class KnownFailure:
    """A requirement that is known to fail, up to and including the day ``until``."""

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
    """One environment. Paths are absolute, except ``path``: the file as it was named. ``redirected`` says what
    ``--base-url`` left out of it; empty where that left it whole."""

    name: str
    path: Path
    base_url: str
    sandbox: str | None = None
    auth: Auth = field(default_factory=Auth)
    headers: tuple[Header, ...] = ()
    correlation_header: str | None = None
    tls: Tls = field(default_factory=Tls)
    proxy: str | None = None
    insecure: bool = False
    base_url_is_exact: bool = False
    journal: Path | None = None
    journal_key_env: str | None = None
    allow: frozenset[str] = frozenset({"read"})
    accounts: tuple[str, ...] = field(default=(), repr=False)
    pix_keys: tuple[PixKey, ...] = field(default=(), repr=False)
    key_at: str | None = None
    not_for_this_account: frozenset[str] = frozenset()
    transactions: Transactions = field(default_factory=Transactions)
    requests: Mapping[str, RequestBody] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    fail_on: frozenset[str] = frozenset({"documented", "robustness"})
    min_coverage: float | None = None
    drift: str = "warn"
    language: str = "en"
    known_failures: tuple[KnownFailure, ...] = ()
    redirected: str = ""

    @property
    def is_sandbox(self) -> bool:
        """True where nothing at the target is worth anything: embedded, or the profile repeats the host of base_url."""
        return self.base_url == EMBEDDED or (self.sandbox or "").lower() == host_of(self.base_url)

    @property
    def record(self) -> Path:
        """The record of what was observed, beside the profile."""
        return self.path.with_name(f"{self.path.stem}{RECORD}")

    @property
    def bodies(self) -> list[Any]:
        """The JSON values that it gives for bodies of requests."""
        prepare = self.transactions.prepare
        return [*(body.json for body in self.requests.values()), *([prepare.json] if prepare else [])]


def fill(template: Any, *, account: str, key: str, type: str) -> Any:
    """A copy of a JSON value with ``{account}``, ``{key}`` and ``{type}`` replaced in its strings, at any depth."""
    if isinstance(template, dict):
        return {name: fill(item, account=account, key=key, type=type) for name, item in template.items()}
    if isinstance(template, list):
        return [fill(item, account=account, key=key, type=type) for item in template]
    if isinstance(template, str):
        return template.replace("{account}", account).replace("{key}", key).replace("{type}", type)
    return template


def shown(path: Path) -> str:
    """``path`` as a person at this working directory would write it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def identifiers(bodies: Iterable[Any]) -> Iterator[str]:
    """What looks like an account, a key or a document in JSON values: texts with "@", or with at least five digits."""
    for body in bodies:
        if isinstance(body, dict):
            yield from identifiers(body.values())
        elif isinstance(body, list):
            yield from identifiers(body)
        elif isinstance(body, str) and ("@" in body or sum(map(str.isdigit, body)) >= 5):
            yield body
