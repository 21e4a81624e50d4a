"""An exchange: one request and the response to it, or the failure to get one. Raw, in memory only."""

from __future__ import annotations

import zlib
from collections.abc import Container
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from spec.json_text import JsonText, read_json

Headers = tuple[tuple[str, str], ...]
LARGE = 65_536
"""Bytes from which a body is kept compressed."""
_READ_AT_ONCE = 8
"""Large bodies whose JSON is held at a time: as many as the responses that one requirement is judged by."""
_COMMON_TYPES = frozenset(
    (
        *(
            f"application/{kind}"
            for kind in ("json", "xml", "pdf", "javascript", "octet-stream", "x-www-form-urlencoded")
        ),
        *(f"application/{kind}+json" for kind in ("problem", "hal", "ld", "vnd.api")),
        *(f"application/{kind}+xml" for kind in ("problem", "soap", "xhtml")),
        *(f"text/{kind}" for kind in ("plain", "html", "xml", "json", "csv", "css", "javascript")),
    )
)


class FailureKind(Enum):
    """Why there is no response. `LIMIT` is a limit of the suite; it is no fault of the service."""

    NO_CONNECTION = "no connection"
    TLS = "TLS refused"
    TIMEOUT = "no answer in time"
    DROPPED = "connection dropped"
    NOT_HTTP = "not HTTP"
    LIMIT = "over a limit of the suite"


@dataclass(frozen=True)
class Failure:
    """A request without a usable response: its kind, and one line for people without service data. `kept`: on a
    connection that was kept from an answer before, which a service may close at any time (RFC 9112 section 9.5)."""

    kind: FailureKind
    message: str
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
        """The last path segment, percent-decoded: the path argument of the documented operations."""
        return unquote(urlsplit(self.url).path.rsplit("/", 1)[-1])


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
        vars(instance)[self._name] = (zlib.compress(value, 1) if large else value, large)


@lru_cache(maxsize=_READ_AT_ONCE)
def _read_large(kept: bytes, cut: str) -> JsonText:
    return read_json(zlib.decompress(kept), cut=cut)


@dataclass(frozen=True, repr=False)
class Response:
    """A response, its body decoded from the content coding. `cut` is the limit that cut the body short."""

    status: int
    headers: Headers
    body: Packed = Packed()
    cut: str = ""

    def __repr__(self) -> str:
        return f"Response(status={self.status!r}, cut={self.cut!r})"

    @property
    def kept(self) -> tuple[bytes, bool]:
        """The body as it is kept, and whether that is compressed."""
        kept: tuple[bytes, bool] = vars(self)["body"]
        return kept

    def header(self, name: str) -> str:
        """The first header of that name, or the empty string."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    @property
    def media_type(self) -> str:
        """The media type in lower case, without parameters; empty where none is named."""
        return self.header("Content-Type").split(";")[0].strip().lower()

    @property
    def json(self) -> JsonText:
        """The body read as strict JSON, once; that of large bodies is not held for long."""
        kept, large = self.kept
        if large:
            return _read_large(kept, self.cut)
        if "_json" not in vars(self):
            vars(self)["_json"] = read_json(kept, cut=self.cut)
        text: JsonText = vars(self)["_json"]
        return text


@dataclass(frozen=True)
class Exchange:
    """One request to an operation and what came of it. It does not change once it is recorded.

    `credential` names what was sent as credential ("valid", or the name of a bad one).
    `valid` is fixed when the request is sent: a valid token and a documented request, so the interface document
    promises a success. What a run concludes later is kept beside its exchanges: `excused` has the numbers of those that
    were refused because the token had expired.
    """

    number: int
    operation: str
    request: Request
    response: Response | None = None
    failure: Failure | None = None
    credential: str = "valid"
    valid: bool = False
    started: float = 0.0
    elapsed_s: float = 0.0
    excused: Container[int] = field(default=frozenset(), repr=False, compare=False)

    @property
    def expects_success(self) -> bool:
        """Whether the interface document promises a success, by all that the run knows of the token."""
        return self.valid and self.number not in self.excused

    @property
    def summary(self) -> str:
        """What came back in a few words, without service data: `404 application/json`."""
        if self.response is None:
            return self._failed
        return f"{self.response.status} {named_media_type(self.response.media_type)}"

    @property
    def _failed(self) -> str:
        if self.failure is None:
            return "not sent"
        return self.failure.message if self.failure.kind is FailureKind.LIMIT else self.failure.kind.value


def named_media_type(media_type: str) -> str:
    """A media type by its name where it is a common one: a service may write anything there, a token too."""
    if media_type in _COMMON_TYPES:
        return media_type
    return "another media type" if media_type else "without a media type"
