"""An exchange: one request and its response, or the failure to get one.

It holds secrets as they went over the wire, and stays in memory: `reports/showing/` decides what is shown of it.
"""

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
"""Names and values, in the order of the message."""
LARGE = 65_536
"""Most bytes of a body that is stored as it is. A larger body is stored compressed, and only its first LARGE bytes are
searched for texts. Ordinary answers have up to 1,000 bytes. The number is a choice."""
SMALL = 2_000
"""Most bytes of a body whose parsed JSON is stored with the response for the whole run. The parsed JSON takes up to 30
times the memory of its text. The number is a choice."""
SHOWN_MEDIA_TYPES = """
    application/json application/xml application/pdf application/javascript application/octet-stream
    application/x-www-form-urlencoded application/problem+json application/hal+json application/ld+json
    application/vnd.api+json application/problem+xml application/soap+xml application/xhtml+xml
    text/plain text/html text/xml text/json text/csv text/css text/javascript
"""
"""Media types that a report shows by their names, as one text with blanks between them."""


MATRIX_PARAMETER = ";pixconf-=1"
"""A parameter that the suite adds to the last segment of a path (RFC 3986 section 3.3): it is no part of its value."""
FILE_EXTENSION = ".json"
"""What the suite adds to some paths, because some services take it for the media type of the answer, and no part of the
last segment."""


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
    """Reason why a request has no usable response. `message` is one line for people, without data of the service."""

    kind: FailureKind
    message: Text
    on_reused_connection: bool = False
    """True if the request went over a connection that was kept open after an earlier response. A service may close such
    a connection at any time (RFC 9112 section 9.5), so a drop there says less about the request."""


@dataclass(frozen=True)
class Request:
    """A request as it went over the wire."""

    method: str
    url: str = field(repr=False)
    headers: Headers = field(repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def last_segment(self) -> str:
        """The last path segment, percent-decoded. For a documented operation with a path parameter, this is its value.

        For /v1/pix/keys/ac-0001%2D77 it is `ac-0001-77`. A slash at the end, the parameter `;pixconf-=1` and `.json`,
        which the run adds to some paths, are no part of the value.
        """
        path = urlsplit(self.url).path.rstrip("/").removesuffix(MATRIX_PARAMETER).removesuffix(FILE_EXTENSION)
        return unquote(path.rsplit("/", 1)[-1])


class Packed:
    """Descriptor for a field of bytes in a dataclass: large bytes are stored compressed, and read as they were.

    A run keeps every response in memory, so large bodies would fill it. The attributes of the object have a pair under
    the name of the field: the stored bytes, and their size before they were compressed; 0 if they are not compressed.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the field. Python calls this method when the class that has the field is made."""
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> bytes:
        """The bytes as they were assigned to the field, decompressed if they are stored compressed."""
        # The decorator `dataclass` reads the field on the class, to find out whether it has a default value.
        if instance is None:
            raise AttributeError(f"{self._name} has no default")
        stored_bytes, size_if_packed = vars(instance)[self._name]
        if size_if_packed:
            return zlib.decompress(stored_bytes)
        return bytes(stored_bytes)

    def __set__(self, instance: object, value: bytes) -> None:
        """Store the bytes. More than LARGE bytes are compressed, because a run keeps every response in memory."""
        if len(value) > LARGE:
            vars(instance)[self._name] = (zlib.compress(value, 1), len(value))  # level 1: the quickest
        else:
            vars(instance)[self._name] = (value, 0)


Result = TypeVar("Result")


def cached_on_response(compute: Callable[[Response], Result]) -> Callable[[Response], Result]:
    """Decorator of a function whose only argument is a response: the function runs only once for each response.

    `compute` is the function. Its result is stored in the attributes of the response, because it is needed often, and a
    large body is slow to read again.
    """

    name = compute.__name__  # the attribute with the result has the name of the function

    @wraps(compute)
    def compute_once(response: Response) -> Result:
        """The stored result for this response. The first call computes and stores it."""
        attributes = vars(response)  # written directly, because a frozen dataclass forbids assignments
        if name not in attributes:
            attributes[name] = compute(response)
        result: Result = attributes[name]
        return result

    return compute_once


CachedFunction = TypeVar("CachedFunction", bound=Callable[["Response"], object])
_COMPUTED_BEFORE_LARGE_JSON_IS_DROPPED: list[Callable[[Response], object]] = []
"""The functions with the decorator below. Each stores its result with the response, so that it is computed once."""


def computed_before_large_json_is_dropped(function: CachedFunction) -> CachedFunction:
    """Decorator, on top of `cached_on_response`: the function is called for a response as soon as its body is parsed.

    Only bodies of more than LARGE bytes (65,536) are concerned. Their parsed JSON is soon removed from memory, because
    it is large; the body itself is kept. Without this decorator the body would be parsed once more for each such
    function that is called later. The result of the function is the same with the decorator and without it.
    """
    _COMPUTED_BEFORE_LARGE_JSON_IS_DROPPED.append(function)
    return function


@cached_on_response
def _read_small(response: Response) -> JsonText:
    """The parsed JSON of a body of at most SMALL bytes. It is stored with its response: it takes little memory."""
    body, _ = response.stored_body_and_size  # as it came, because only larger bodies are compressed
    return read_json(body)


@lru_cache(maxsize=16)  # an exchange is judged for all its requirements at once, so few bodies are in use at a time
def _read_medium(body: bytes) -> JsonText:
    """The parsed JSON of a body of more than SMALL and at most LARGE bytes.

    Only the JSON of the last few bodies is cached, because it takes up to 30 times the memory of the body.
    """
    return read_json(body)


@lru_cache(maxsize=2)  # the JSON of a large body may take 50 MB
def _read_large(packed_body: bytes) -> JsonText:
    """The parsed JSON of a body of more than LARGE bytes. `packed_body` is the compressed body, as it is stored."""
    return read_json(zlib.decompress(packed_body))


@dataclass(frozen=True, repr=False)
class Response:
    """A response. Its content coding, such as gzip, is undone."""

    status: int
    headers: Headers
    body: Packed = Packed()
    cut: str = ""
    """The limit of the suite that cut the body short; empty if none did."""
    broken: Text = ""
    """Why the body could not be read, such as a wrong Content-Encoding or length: then `body` is empty. Empty if it
    could."""
    other_success_codes: frozenset[int] = frozenset()
    """Values of `code` in the envelope, beside 0, with which the service says that a request succeeded. The profile
    names them, because the interface document does not say what other values than 0 mean."""

    def __repr__(self) -> str:
        """The response as text, for pytest. Headers and body are not in it, because they may hold secrets."""
        return f"Response(status={self.status!r}, cut={self.cut!r})"

    @property
    def stored_body_and_size(self) -> tuple[bytes, int]:
        """The body as it is stored, and a size: 0 if it is stored as it came, its real size if it is compressed.

        The suite itself compresses bodies of more than LARGE bytes (`Packed`), to save memory.
        """
        body_and_size: tuple[bytes, int] = vars(self)["body"]  # where the descriptor `Packed` stores the two
        return body_and_size

    @property
    def size(self) -> int:
        """Number of bytes of the body, before compression."""
        stored_body, size_if_packed = self.stored_body_and_size
        return size_if_packed or len(stored_body)

    @property
    def start(self) -> bytes:
        """The first LARGE bytes of the body, or the whole body if it is shorter. Texts are searched only in them.

        Only a longer body is stored compressed (`Packed`). No more than its first LARGE bytes are decompressed.
        """
        stored_body, size_if_packed = self.stored_body_and_size
        is_compressed = size_if_packed > 0
        if not is_compressed:
            return stored_body
        return zlib.decompressobj().decompress(stored_body, LARGE)

    def header(self, name: str) -> str:
        """The value of the first header of that name, in any letter case; the empty string if there is none."""
        wanted_name = name.lower()
        for header_name, value in self.headers:
            if header_name.lower() == wanted_name:
                return value
        return ""

    @property
    def media_type(self) -> str:
        """The media type in lower case, without its parameters: `text/html` for `Text/HTML; charset=utf-8`.

        Empty if the response has none.
        """
        return self.header("Content-Type").split(";")[0].strip().lower()

    @property
    def json(self) -> JsonText:
        """The body read as strict JSON (RFC 8259): its value, or the reason why it has no value.

        The JSON of a small body is stored for the whole run. The JSON of a larger body is dropped soon, and the body is
        parsed again if its JSON is needed again.
        """
        stored_body, size_if_packed = self.stored_body_and_size
        if self.cut:
            return JsonText(why_not_read=self.cut)
        if self.broken:
            return JsonText(error=self.broken)
        is_large = size_if_packed > 0  # only a large body is compressed
        if is_large:
            text = _read_large(stored_body)
            self._compute_before_large_json_is_dropped()
            return text
        if len(stored_body) > SMALL:
            return _read_medium(stored_body)
        return _read_small(self)

    def _compute_before_large_json_is_dropped(self) -> None:
        """Call each function with the decorator `computed_before_large_json_is_dropped` once, as the body was parsed.

        Only their side effect matters: each stores its result in the attributes of the response. So later callers get
        the stored result, and the body is not parsed again for them.
        """
        attributes = vars(self)  # written directly, because a frozen dataclass forbids assignments
        if "was_parsed" in attributes:
            return
        attributes["was_parsed"] = True  # set before the loop, because each function asks for the JSON again
        for compute_and_cache in _COMPUTED_BEFORE_LARGE_JSON_IS_DROPPED:
            compute_and_cache(self)


@computed_before_large_json_is_dropped
@cached_on_response
def json_error(response: Response) -> Text:
    """Why the body is not JSON, such as "the body is empty"; empty if it is JSON."""
    return response.json.error


@computed_before_large_json_is_dropped
@cached_on_response
def is_readable(response: Response) -> bool:
    """True if the body is JSON, and exceeds no limit of the suite, such as the number of values."""
    return response.json.readable


HTTP_1_0 = "HTTP/1.0"
"""One of the unusual spellings of a request (`Exchange.spelling`): with this version of HTTP."""
VALID = "valid"
"""The name of the credential that has to be accepted."""


class Purpose(Enum):
    """Why a request is sent, in words for people. Each scenario has the enum of its own purposes."""


@dataclass(frozen=True)
class Exchange:
    """One request to an operation and its outcome. It does not change once it is recorded."""

    number: int
    """Place in the order of sending, from 1; 0 if a limit kept the request from being sent."""
    operation: str
    """Its operationId; empty for an undocumented path."""
    request: Request
    response: Response | None = None
    failure: Failure | None = None
    credential: str = VALID
    """The name of the credential that was sent: "valid", or the name of an invalid one."""
    valid: bool = False
    """True if the interface document promises a success, because the request has a valid token and is documented. It is
    fixed when the request is sent."""
    started: float = 0.0
    """Seconds since 1970."""
    elapsed_s: float = 0.0
    beside: int = 0
    """Number of other requests of this run that were under way at some time while this request was under way; 0 if it
    was alone. An answer to one of several requests under way may be a consequence of their number."""
    generator: str = ""
    """Only for a generated request, what generated it: "sequences" for a drawn sequence of operations, or the name of
    the operation for a request that Schemathesis drew. Empty if a function of the suite wrote the request by hand."""
    spelling: tuple[str, ...] = ()
    """The unusual ways in which the request or its credential is written, such as two slashes in the path, or the
    scheme in lower case; empty if it is written as usual."""
    supersedes: int = 0
    """Number of an earlier exchange with the same request, whose doubtful answer is replaced by this one; 0 if none is.
    The earlier answer counts no more."""
    repeats: int = 0
    """Number of an earlier exchange with the same request, which was sent once more to see whether its answer stays the
    same; 0 if there is none. Both answers count."""
    purpose: Purpose | None = None
    """Why the request was sent, if a scenario sent it."""
    unusual: tuple[str, str] = ("", "")
    """The part of an invalid request that makes it invalid, and how, such as ("pixKey", "missing")."""
    excused: Container[int] = field(default=frozenset(), repr=False, compare=False)
    """Numbers of all exchanges of the run that were refused because the token had expired. All exchanges share this
    set, and the run adds to it later, when it learns that the token had expired."""

    @property
    def is_generated(self) -> bool:
        """True if Hypothesis or Schemathesis drew the request; False if a function of the suite wrote it by hand."""
        return self.generator != ""

    @property
    def was_alone(self) -> bool:
        """True if no other request of this run was under way at the same time."""
        return self.beside == 0

    @property
    def token_had_expired(self) -> bool:
        """True if the request was refused because the token had expired, which the run may learn only later."""
        return self.number in self.excused

    @property
    def expects_success(self) -> bool:
        """True if the interface document promises a success for this request.

        It promises a success for each valid request, unless the token had expired.
        """
        return self.valid and not self.token_had_expired


def media_type_for_report(media_type: str) -> str:
    """The media type for a report: its name if it is a common one, else "another media type".

    Other media types are not shown, because a service may write anything there, even a token.
    """
    if media_type in SHOWN_MEDIA_TYPES.split():  # one text with all names
        return media_type
    return "another media type" if media_type else "without a media type"
