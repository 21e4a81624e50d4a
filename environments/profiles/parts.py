"""The parts of a profile's file: frozen dataclasses, which pydantic makes and checks for the model in ``profile``.

The docstring below a field is its description. What is secret or personal stays out of every ``repr``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from environments.profiles.kinds import (
    INTERNAL,
    Body,
    Count,
    FileThere,
    Identifiers,
    KeyType,
    Pointer,
    RequirementId,
    Seconds,
    Variable,
    Word,
    expected,
    one_of,
    printable,
    shown_as,
)
from spec.interface import PREPARING


@dataclass(frozen=True)
class Auth:
    """One of the three; none of them for the embedded sandbox."""

    token_env: Annotated[Variable | None, shown_as("PIX_TOKEN")] = None
    """The name of an environment variable, in upper case."""
    token_command: Annotated[tuple[Word, ...], shown_as(["vault", "read", "-field=token", "pix"])] = field(
        default=(), repr=False
    )
    """A program and its arguments, which prints the token within 30 seconds. It runs in the folder of this file, and
    what it prints is never shown."""
    token_file: Annotated[FileThere | None, shown_as("secrets/token")] = None
    """A file that holds the token and nothing else."""


@dataclass(frozen=True)
class Header:
    """A fixed header. Its value is ``text``, or that of the environment variable ``env``."""

    name: str
    text: str | None = field(default=None, repr=False)
    env: str | None = None


@dataclass(frozen=True)
class FromVariable:
    """The form of a header, in the file, whose value comes from an environment variable."""

    env: Variable


def headers_of(values: Mapping[str, str | FromVariable]) -> tuple[Header, ...]:
    """The headers by their names, which have no letter case (RFC 9110 section 5.1)."""
    if len(values) > len({name.lower() for name in values}):
        raise ValueError("one header is listed twice, in different letter case; remove one of the two")
    for name, value in values.items():
        if isinstance(value, str) and re.search("(?i)cookie|api-?key|token|secret|passw", name):
            raise ValueError(f"{printable(name)}: expected {{env: NAME}} (secrets are named, never written), not text")
    return tuple(
        Header(name, value) if isinstance(value, str) else Header(name, env=value.env) for name, value in values.items()
    )


HeaderValue = Annotated[
    Annotated[str, Field(pattern="^[!-~]([ -~]*[!-~])?$")] | FromVariable,
    expected("a value as text in quotes, or {env: NAME} for the name of an environment variable in upper case"),
]


def _beside_a_certificate(value: Any, info: ValidationInfo) -> Any:
    if value and not info.data.get("client_cert", True):
        raise ValueError("stands beside client_cert, which is missing")
    return value


_BESIDE_CERT = AfterValidator(_beside_a_certificate)


@dataclass(frozen=True)
class Tls:
    """Absolute paths of PEM files."""

    ca_bundle: Annotated[FileThere | None, shown_as("certs/ca.pem")] = None
    """Whom to trust, beside the authorities of the system. Certificates are always checked."""
    client_cert: Annotated[FileThere | None, shown_as("certs/client.pem")] = None
    """The certificate of the suite, for a gateway that asks for one. If it holds its key, it needs no client_key."""
    client_key: Annotated[FileThere | None, _BESIDE_CERT, shown_as("certs/client.key")] = None
    """The key of client_cert."""
    client_key_passphrase_env: Annotated[Variable | None, _BESIDE_CERT, shown_as("PIX_KEY_PASSPHRASE")] = None
    """The environment variable with the passphrase of the key."""


def _empty_if_random(key: str, info: ValidationInfo) -> str:
    if not key and info.data.get("type", "RANDOM") != "RANDOM":
        raise ValueError("expected the key itself; only a RANDOM key may be empty")
    return key


@dataclass(frozen=True)
class PixKey:
    """A key that may be registered. A RANDOM one may be empty; a ``disposable`` one may be deleted by the run."""

    type: KeyType
    key: Annotated[str, AfterValidator(_empty_if_random)] = field(repr=False)
    disposable: bool = False


@dataclass(frozen=True)
class Prepare:
    """How to prepare ``count`` transfers."""

    operation: Annotated[str, one_of(*PREPARING), shown_as("transferInternal")]
    """The operation that prepares. It needs transfer (createPix: create-pix) in allow."""
    json: Annotated[Body, shown_as(INTERNAL)] = field(repr=False)
    """The body. {account}, {key} and {type} are filled in, as below."""
    code_at: Annotated[Pointer, shown_as("/data/transactionId")]
    """Where the code stands in the answer, as a JSON pointer."""
    count: Annotated[Count, shown_as(3)] = 1
    """How many to prepare; one without this line. Three show whether an execution needs more than is documented."""


@dataclass(frozen=True)
class Transactions:
    """Codes to execute, and how to prepare more."""

    codes: Annotated[Identifiers, shown_as(["TX0001B"])] = field(default=(), repr=False)
    """Codes that somebody prepared."""
    prepare: Prepare | None = None
    """How the suite prepares codes."""


@dataclass(frozen=True)
class RequestBody:
    """A body, in whose strings ``fill`` replaces ``{account}``, ``{key}`` and ``{type}``."""

    json: Body = field(repr=False)


@dataclass(frozen=True)
class Limits:
    """The most that a whole run may do."""

    executions: Count = 5
    """Transfers executed."""
    transfers: Annotated[int, Field(ge=0)] = 20
    """Transfers prepared, and PIX transactions created."""
    wrong_tokens: Annotated[int, Field(ge=0)] = 20
    """Wrong tokens for each of the two documented operations; 0: none."""
    requests: Count = 2000
    """Requests of all kinds."""
    duration: Seconds = 900.0
    """Seconds for the whole run."""
    rate: Annotated[float | None, Field(ge=0.01)] = None
    """Requests a second; null: as fast as the service answers."""
    parallel: Annotated[int, Field(ge=1, le=64)] = 8
    """Requests on the wire at once; 1: one after the other."""
    timeout: Seconds = 30.0
    """Seconds for one answer."""
    response_bytes: Count = 5_000_000
    """Bytes of an answer that are read."""
    examples: Count | None = None
    """Generated requests for each operation; null: the suite's own number."""


@dataclass(frozen=True)
class KnownFailure:
    """A requirement that is known to fail, up to and including the day ``until``."""

    id: RequirementId
    reason: Word
    until: Annotated[date, expected("a date, such as 2027-01-31")] | None = None
    strict: bool = False

    def is_past(self, day: date) -> bool:
        """True if its last day is over on that day."""
        return self.until is not None and day > self.until
