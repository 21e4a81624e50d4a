"""An exchange: one request and its response, or the failure to get one. It is raw, and stays in memory."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, wraps
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from spec.json_text import JsonText, read_json
from spec.message import Text

Headers = tuple[tuple[str, str], ...]
LARGE = 65_536
"""Bytes from which a body is kept compressed. What is only looked at, and not read as JSON, is no more of it."""
SMALL = 2_000
"""Bytes up to which the JSON of a body is kept beside it: it takes up to 30 times the memory of its text."""
COMMON_TYPES = """
    application/json application/xml application/pdf application/javascript application/octet-stream
    application/x-www-form-urlencoded application/problem+json application/hal+json application/ld+json
    application/vnd.api+json application/problem+xml application/soap+xml application/xhtml+xml
    text/plain text/html text/xml text/json text/csv text/css text/javascript
"""


MATRIX_PARAMETER = ";pixconf-=1"
"""A parameter that the suite adds to the last segment of a path (RFC 3986 section 3.3): it is no part of its value."""


class FailureKind(Enum):
    """Reason for a missing response. `LIMIT` is a limit of the suite, not a fault of the service."""

    NO_CONNECTION = "no connection"
    TLS = "TLS refused"
    TIMEOUT = "no answer in time"
    DROPPED = "connection dropped"
    NOT_HTTP = "not HTTP"
    LIMIT = "over a limit of the suite"


@dataclass(frozen=True)
class Failure:
    """Reason why a request has no usable response. `message` is one line for people, without data of the service.

    `kept`: the connection was kept open from an earlier response. A service may close such a connection at any time
    (RFC 9112 section 9.5).
    """

    kind: FailureKind
    message: Text
    kept: bool = False


@dataclass(frozen=True)
class Request:
    """A request as it went over the wire."""

    method: str
    url: str = field(repr=False)
    headers: Headers = field(repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def last_segment(self) -> str:
        """The last path segment, percent-decoded: the path parameter of the documented operations."""
        path = urlsplit(self.url).path.rstrip("/").removesuffix(MATRIX_PARAMETER)
        return unquote(path.rsplit("/", 1)[-1])


class Packed:
    """A field of a dataclass for bytes. A run keeps every response, so large bodies are kept compressed."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> bytes:
        if instance is None:
            raise AttributeError(f"{self._name} has no default")  # as dataclasses ask for
        kept, large = vars(instance)[self._name]
        return zlib.decompress(kept) if large else kept

    def __set__(self, instance: object, value: bytes) -> None:
        large = len(value) > LARGE
        vars(instance)[self._name] = (zlib.compress(value, 1), len(value)) if large else (value, 0)


Read = TypeVar("Read")


def kept_beside(read: Callable[[Response], Read]) -> Callable[[Response], Read]:
    """Keep what is read of a response beside it: it is asked for often, and a large body is slow to read again."""

    name = read.__name__

    @wraps(read)
    def kept(response: Response) -> Read:
        known = vars(response)
        if name not in known:
            known[name] = read(response)
        value: Read = known[name]
        return value

    return kept


@kept_beside
def _read_small(response: Response) -> JsonText:
    return read_json(response.kept[0])


@lru_cache(maxsize=16)  # an exchange is judged for all its requirements at once, so few are in use at a time
def _read_medium(kept: bytes) -> JsonText:
    return read_json(kept)


@lru_cache(maxsize=2)  # the JSON of a large body may take 50 MB
def _read_large(kept: bytes) -> JsonText:
    return read_json(zlib.decompress(kept))


@dataclass(frozen=True, repr=False)
class Response:
    """A response. Its content coding is undone. `cut` names the limit of the suite that cut the body short, if any;
    `broken` says what is wrong with the coding or the length of a body, which is empty here then."""

    status: int
    headers: Headers
    body: Packed = Packed()
    cut: str = ""
    broken: Text = ""

    def __repr__(self) -> str:
        return f"Response(status={self.status!r}, cut={self.cut!r})"

    @property
    def kept(self) -> tuple[bytes, int]:
        """The body as it is kept, and its size where it is compressed."""
        kept: tuple[bytes, int] = vars(self)["body"]
        return kept

    @property
    def size(self) -> int:
        """Bytes of the body."""
        kept, large = self.kept
        return large or len(kept)

    @property
    def start(self) -> bytes:
        """The first LARGE bytes of the body: of a large one, no more is unpacked."""
        kept, large = self.kept
        return zlib.decompressobj().decompress(kept, LARGE) if large else kept

    def header(self, name: str) -> str:
        """The first header of that name, or the empty string."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    @property
    def media_type(self) -> str:
        """The media type in lower case, without parameters; empty where there is none."""
        return self.header("Content-Type").split(";")[0].strip().lower()

    @property
    def json(self) -> JsonText:
        """The body read as strict JSON. Equal bodies are read once; the JSON of those that are not small is dropped
        again."""
        kept, large = self.kept
        if self.cut:
            return JsonText(limit=self.cut)
        if self.broken:
            return JsonText(error=self.broken)
        if large:
            text = _read_large(kept)
            vars(self)[json_error.__name__] = text.error  # of each answer somebody asks for it again in the end
            return text
        return _read_medium(kept) if len(kept) > SMALL else _read_small(self)


@kept_beside
def json_error(response: Response) -> Text:
    """Why the body is not JSON; empty if it is. A large body is not read again for it."""
    return response.json.error


HTTP_1_0 = "HTTP/1.0"
"""The name of a request of that version."""
VALID = "valid"
"""The name of the credential that has to be accepted."""


class Purpose(Enum):
    """Why a request is sent, in words for people. Each scenario has the enum of its own purposes."""


@dataclass(frozen=True)
class Exchange:
    """One request to an operation and its outcome. It does not change once it is recorded.

    `credential` names the credential that was sent: "valid", or the name of an invalid one.
    `valid` is fixed when the request is sent: it has a valid token and is documented, so the interface document
    promises a success. What a run concludes later is kept beside its exchanges: `excused` has the numbers of those that
    were refused because the token had expired. `beside`: how many other requests of the run were on the wire at some
    time of it. `part` names the part of the generated traffic that judges it, if any. `written` are the unusual ways in
    which the request was written. `supersedes` is the number of an earlier exchange with the same request, if the
    answer of this one counts in its place, else 0. `purpose` says why the request was sent, if a scenario sent it.
    """

    number: int
    operation: str
    request: Request
    response: Response | None = None
    failure: Failure | None = None
    credential: str = VALID
    valid: bool = False
    started: float = 0.0
    elapsed_s: float = 0.0
    beside: int = 0
    part: str = ""
    written: tuple[str, ...] = ()
    supersedes: int = 0
    purpose: Purpose | None = None
    excused: Container[int] = field(default=frozenset(), repr=False, compare=False)

    @property
    def expects_success(self) -> bool:
        """True if the interface document promises a success, by all that the run knows about the token."""
        return self.valid and self.number not in self.excused


def named_media_type(media_type: str) -> str:
    """The name of a common media type. Others are not shown: a service may write anything there, even a token."""
    if media_type in COMMON_TYPES.split():
        return media_type
    return "another media type" if media_type else "without a media type"
