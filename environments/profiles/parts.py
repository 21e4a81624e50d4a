"""The parts of a profile's file, and the types of the values in them.

They are frozen dataclasses, which pydantic makes and checks for the model in ``model.py``. The docstring below a field
is its description in the commented example and the schema for editors. Secret and personal values stay out of every
``repr``.

Self-tests: environments/profiles/test_loading.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    GetPydanticSchema,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from spec.interface import KEY_TYPES, PREPARING_OPERATIONS
from spec.requirements import requirements

PERMISSIONS = ("read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz")
"""What `allow` of a profile may permit, in the order in which a user usually adds it, beginning with `read`."""
_OWN_HEADERS = "authorization|proxy-authorization|host|content-.*|transfer-encoding|connection|te|upgrade|expect"
"""Names of the headers that the suite and its HTTP library set."""


def expected(words: str) -> WrapValidator:
    """A validator for pydantic that replaces every error message by `expected` and these words.

    The messages of pydantic may repeat the value, which may be a secret, and are hard to understand.
    """

    def checked(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        """The value after all other checks of its type (`handler`). Raises ValueError with the words if one fails."""
        try:
            return handler(value)
        except (ValidationError, ValueError):
            raise ValueError(f"expected {words}") from None

    return WrapValidator(checked)


def written_as(form: Any) -> GetPydanticSchema:
    """An annotation for pydantic: the type by which a value in the file is checked, if the attribute has another type.

    For example `headers` is a mapping in the file, and a tuple of `Header` in the profile.
    """

    def schema_of_form(_: Any, schema_of: Callable[[Any], Any]) -> Any:
        """The rules by which pydantic checks the value. pydantic passes the attribute's own type, which is ignored."""
        return schema_of(form)

    return GetPydanticSchema(schema_of_form)


def one_of(*names: str) -> GetPydanticSchema:
    """An annotation for pydantic: the value in the file must be one of these texts, such as "warn" or "fail"."""
    return written_as(Literal.__getitem__(names))  # such as Literal["warn", "fail"]


def _path_from_profile(path: Path, info: ValidationInfo) -> Path:
    """The absolute path for a path in a profile. A relative path starts at the folder of the profile.

    pydantic passes that folder in `info.context`. `~` is the home folder of the user. Parts such as ".." are resolved;
    symbolic links are not.
    """
    folder: Path = info.context["folder"]  # type: ignore[index]
    path_in_folder = folder / os.path.expanduser(path)  # an absolute path stays as it is
    return Path(os.path.abspath(path_in_folder))


def _require_file(path: Path) -> Path:
    """A check for pydantic: the file exists. Returns the path unchanged, or raises ValueError."""
    if not os.path.isfile(path):  # Path.is_file raises if a pasted token is too long for the name of a file
        raise ValueError("no such file; in a profile, a path is relative to its folder")
    return path


def _require_known_requirement(name: str) -> str:
    """A check for pydantic: there is a requirement with this id. Returns the id unchanged, or raises ValueError.

    The error suggests a similar id, but does not repeat the wrong one.
    """
    if name in requirements():
        return name
    question = ""
    for similar_id in get_close_matches(name, requirements(), 1):  # at most one
        question = f"; did you mean {similar_id}?"
    raise ValueError(f"no such requirement{question}")


def _without_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    """The values in their order without repeated ones: an account or a code that is listed twice is used once."""
    return tuple(dict.fromkeys(values))


# Types of the values in a profile.

Level = Annotated[str, one_of("documented", "implied", "example", "robustness")]
Permission = Annotated[str, one_of(*PERMISSIONS)]
KeyType = Annotated[str, one_of(*KEY_TYPES)]
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]  # at most a day
Word = Annotated[str, Field(min_length=1)]
Identifier = Annotated[  # one segment of a path, without control characters and without blanks at its ends
    str,
    Field(pattern=r"^(?!\s|\.\.?$)[^\x00-\x1f\x7f-\x9f]+(?<!\s)$"),
    expected("text, in quotes if it is made of digits"),
]
Identifiers = Annotated[tuple[Identifier, ...], AfterValidator(_without_repeats)]
Body = Annotated[dict[str, Any] | list[Any], expected("a body written as YAML (a mapping or a list)")]
File = Annotated[Path, AfterValidator(_path_from_profile)]
ExistingFile = Annotated[File, AfterValidator(_require_file)]
Variable = Annotated[  # upper case only: a pasted token is then nearly always refused, and never shown as a "name"
    str,
    Field(pattern=r"^[A-Z_][A-Z0-9_]{0,63}$"),
    expected("the name (never the value) of an environment variable in upper case, such as PIX_TOKEN"),
]
Pointer = Annotated[  # RFC 6901 section 3
    str, Field(pattern=r"^(/([^~/]|~[01])*)+$"), expected("a JSON pointer, such as /data/transactionId")
]
HeaderName = Annotated[  # RFC 9110 section 5.1
    str,
    Field(pattern=rf"^(?!(?i:{_OWN_HEADERS})$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$"),
    expected("the name of a header that the suite does not set itself (Authorization comes from auth)"),
]


@dataclass(frozen=True)
class Auth:
    """One of the three; none of them for the embedded sandbox."""

    token_env: Variable | None = None
    """The name of an environment variable, in upper case."""
    token_command: tuple[Word, ...] = field(default=(), repr=False)
    """A program and its arguments, which prints the token within 30 seconds. It runs in the folder of this file, and
    what it prints is never shown."""
    token_file: ExistingFile | None = None
    """A file that holds the token and nothing else, such as secrets/token."""


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


SECRET_HEADER = "(?i)auth|cookie|key|pass|secret|sign|token"
"""A pattern of the names of headers that prove who asks."""


def headers_of(values: Mapping[str, str | FromVariable]) -> tuple[Header, ...]:
    """The headers of a profile, made from what its file has: `{"X-Channel": "test", "X-Api-Key": {"env": "NAME"}}`.

    A header whose name sounds like a secret, such as X-Api-Key, must come from an environment variable. Raises
    ValueError if its value is written in the file.
    """
    headers = []
    names_with_written_secret = []
    for name, value in values.items():
        if not isinstance(value, str):
            headers.append(Header(name, env=value.env))
            continue
        headers.append(Header(name, value))
        if re.search(SECRET_HEADER, name):
            names_with_written_secret.append(name)
    if names_with_written_secret:
        names = ", ".join(names_with_written_secret)
        raise ValueError(f"{names}: expected {{env: NAME}} (secrets are named, never written), not text")
    return tuple(headers)


HeaderValue = Annotated[
    Annotated[str, Field(pattern="^[!-~]([ -~]*[!-~])?$")] | FromVariable,
    expected("a value as text in quotes, or {env: NAME} for the name of an environment variable in upper case"),
]


@dataclass(frozen=True)
class Tls:
    """Absolute paths of PEM files."""

    ca_bundle: ExistingFile | None = None
    """Whom to trust, beside the authorities of the system, such as certs/ca.pem. Certificates are always checked."""
    client_cert: ExistingFile | None = None
    """The certificate of the suite, for a gateway that asks for one. If it holds its key, it needs no client_key."""
    client_key: ExistingFile | None = None
    """The key of client_cert."""
    client_key_passphrase_env: Variable | None = None
    """The environment variable with the passphrase of the key."""


def _require_key_unless_random(key: str, info: ValidationInfo) -> str:
    """A check for pydantic: only a RANDOM key may be empty, because the service makes its value.

    Returns the key unchanged, or raises ValueError. `info.data` has the type, which is checked before; it is missing if
    the type itself is wrong, and then this check accepts every key.
    """
    key_type = info.data.get("type", "RANDOM")
    if not key and key_type != "RANDOM":
        raise ValueError("expected the key itself; only a RANDOM key may be empty")
    return key


@dataclass(frozen=True)
class PixKey:
    """A key that may be registered. A RANDOM one may be empty; a ``disposable`` one may be deleted by the run."""

    type: KeyType
    key: Annotated[
        str, expected("text, in quotes if it is made of digits"), AfterValidator(_require_key_unless_random)
    ] = field(repr=False)
    disposable: bool = False


@dataclass(frozen=True)
class Prepare:
    """Request that prepares a transfer, sent ``count`` times."""

    operation: Annotated[str, one_of(*PREPARING_OPERATIONS)]
    """The operation that prepares. It needs transfer (createPix: create-pix) in allow."""
    json: Body = field(repr=False)
    """The body. {account}, {key} and {type} are filled in, as below; {key} with a key of each type in turn. A
    fault of transfers without a description shows off a sandbox only if this body has none."""
    code_at: Pointer
    """Place of the code in the answer, as a JSON pointer."""
    count: Count = 1
    """Number of transfers to prepare, 1 by default. Three show whether an execution needs more than is documented, and
    with {key} in the body one for each type of key shows a mask that is missing for companies."""


@dataclass(frozen=True)
class Transactions:
    """Codes to execute, and how to prepare more."""

    codes: Identifiers = field(default=(), repr=False)
    """Codes that somebody prepared, best of a transfer to a key of each type: a mask that is missing for companies
    shows only with a CNPJ."""
    prepare: Prepare | None = None
    """Request with which the suite prepares codes."""


@dataclass(frozen=True)
class RequestBody:
    """A body, in whose strings the suite replaces ``{account}``, ``{key}`` and ``{type}``."""

    json: Body = field(repr=False)


@dataclass(frozen=True)
class Limits:
    """The most that a whole run may do."""

    executions: Count = 5
    """Transfers executed."""
    transfers: Whole = 20
    """Transfers prepared, and PIX transactions created; on a sandbox by default as many as requests. Each operation
    gets an equal share."""
    wrong_tokens: Whole = 20
    """Requests without the valid token to each of the two documented operations, with a real code or for an account of
    the profile; twice as many may name nobody. 0: no wrong token to any operation."""
    requests: Count = 2000
    """Requests of all kinds."""
    duration: Seconds = 900
    """Seconds for the whole run."""
    rate: Annotated[float | None, Field(ge=0.01)] = None
    """Requests a second; null: as fast as the service answers."""
    parallel: Annotated[int, Field(ge=1, le=64)] = 8
    """Requests on the wire at once; 1: one after the other."""
    timeout: Seconds = 30
    """Seconds for one answer."""
    response_bytes: Count = 5_000_000
    """Bytes of an answer that are read."""
    examples: Count | None = None
    """Generated requests for each operation; null: the suite's own number."""


@dataclass(frozen=True)
class KnownFailure:
    """A requirement that is known to fail, up to and including the day ``until``."""

    id: Annotated[str, AfterValidator(_require_known_requirement)]
    reason: Word
    until: date | None = None
    strict: bool = False

    def is_past(self, day: date) -> bool:
        """True if on this day the failure is no longer accepted, because its last day (`until`) is over."""
        return self.until is not None and day > self.until
