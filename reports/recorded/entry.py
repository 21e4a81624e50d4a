"""Exchange of an entry of a HAR 1.2 file, as browsers, mitmproxy, Playwright, Charles and converters write it.

- A recording does not say whether a token was valid. Here any token counts as valid. `tally.py` sets it to unknown
  until an answer granted that token something. If the answer is an HTML page for people, the token may have expired.
- A field that is not as in HAR 1.2 is ignored, and the rest of the entry is judged.
- A part that is not recorded may have been sent all the same: `gaps` says what the recording lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from math import isfinite
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs

from environments.profiles.addresses import normalized_address
from reports.recorded.content import RecordedBody, body_of_request, body_of_response, members_of, number_of, text_of
from spec.answers import is_page
from spec.exchange import VALID, Exchange, Headers, Request, Response
from spec.interface import Operation, openapi, operations
from spec.message import Message, Text, say

UNKNOWN = "unknown"
"""The credential of an exchange whose token is not recorded, or was granted nothing."""
_ELSEWHERE = say("at another address")
_UNDOCUMENTED = say("to no documented operation")
_NO_ENTRY = say("not as in HAR 1.2")
_NO_RESPONSE = say("without a response")
NO_BODY = say("the body is not recorded as it was sent")
"""The gap of an exchange without the body of its response: all but the body is judged."""
NO_REQUEST_BODY = say("without the body of the request")
NO_MEDIA_TYPE = say("without the Content-Type of the answer")
NO_TOKEN = say("without a token that was granted something before")
IN_PART = (NO_REQUEST_BODY, NO_MEDIA_TYPE, NO_TOKEN)
"""Gaps of an exchange that is judged in part."""
NOT_OURS = (_ELSEWHERE, _UNDOCUMENTED, NO_BODY, *IN_PART)
"""Reasons why an entry is not judged, or not as a whole, that are no fault of the recording."""
_TOKEN = re.compile(r"Bearer +(?=[^ ]*[A-Za-z0-9])[A-Za-z0-9._~+/|:;,@$&!%#=-]+", re.IGNORECASE)
"""A header with a token (RFC 6750 section 2.1). Further signs are permitted, because tokens of some frameworks have
them, such as `12|AbCd`. A text with brackets, asterisks or signs that no header can carry is no token but stands for
one: `[REDACTED]`, `<token>`, `***`."""
_USUAL_PORT = re.compile(r"^(http://[^/:]+):80(?=/|$)|^(https://[^/:]+):443(?=/|$)")
_EARLIEST_YEAR = 1990
"""Year of the first HTTP. An earlier moment is made up: some recorders write the year 1 for a moment that they do not
know."""
_LONGEST_DURATION_S = 1e6
"""Seconds of an exchange, eleven days. A longer duration is made up."""


@dataclass(frozen=True)
class RecordedExchange(Exchange):
    """An exchange of a recording."""

    gaps: tuple[Message, ...] = ()  # parts of it that are not recorded


def exchange_of(entry: Any, number: int, base_url: str) -> RecordedExchange | Text:
    """The exchange of an entry, or why there is none to judge.

    `number` is the place of the entry in the file, `base_url` the address of the service, as `address_of` gives it.
    """
    members = members_of(entry)
    recorded_request = members_of(members.get("request"))
    recorded_response = members_of(members.get("response"))
    method = recorded_request.get("method")
    recorded_url = recorded_request.get("url")
    if not isinstance(method, str) or not isinstance(recorded_url, str):
        return _NO_ENTRY
    try:
        url = _absolute(recorded_url, base_url)
    except ValueError:
        return _NO_ENTRY
    if not url.startswith(f"{base_url}/"):
        return _ELSEWHERE
    path, _, query = url[len(base_url) :].partition("#")[0].partition("?")
    operation = _operation(method.upper(), path)
    if operation is None:
        return _UNDOCUMENTED
    status = number_of(recorded_response.get("status")) or 0
    if not 100 <= status < 1_000:  # 0 and -1 stand for a request that was aborted
        return _NO_RESPONSE
    headers = _headers(recorded_request)
    body = body_of_request(recorded_request, headers_by_name(headers))
    response = _response(recorded_response, status)
    credential = _credential(headers, response)
    media_type = _media_type(headers, members_of(recorded_request.get("postData")))
    is_documented = _is_documented(operation, query, body, media_type)
    promises_success = is_documented and not _may_be_a_hidden_refusal(response)
    return RecordedExchange(
        number,
        operation.id,
        Request(method.upper(), url, headers, body.content),
        response,
        credential=credential,
        valid=credential == VALID and promises_success,
        started=_moment(members.get("startedDateTime")),
        elapsed_s=_seconds(members.get("time")),
        gaps=tuple(_gaps(operation, body, response, recorded_response)),
    )


def _may_be_a_hidden_refusal(response: Response) -> bool:
    """True for a 200 whose body is not recorded. It may have been a refusal, because an envelope with status 200
    may say no."""
    return response.status == 200 and bool(response.cut)


def _gaps(
    operation: Operation, body: RecordedBody, response: Response, recorded_response: Mapping[str, Any]
) -> Iterator[Message]:
    """Parts of an exchange that are not recorded, although it may have had them."""
    if _schema_of(operation) is not None and not body.is_recorded:
        yield NO_REQUEST_BODY
    if not response.header("Content-Type") and not _says_that_no_media_type_was_sent(recorded_response):
        yield NO_MEDIA_TYPE


def address_of(url: str) -> str:
    """An address in the form in which addresses are compared: without the usual port."""
    return _USUAL_PORT.sub(r"\1\2", normalized_address(url))


def _credential(headers: Headers, response: Response) -> str:
    """The credential of a request: valid if it has a token, else unknown.

    It is also unknown if the answer is a page for people, because the token has perhaps expired.
    """
    authorization = headers_by_name(headers).get("authorization", "")
    if is_page(response) or not _has_token(authorization):
        return UNKNOWN
    return VALID


@lru_cache(10_000)
def _has_token(authorization: str) -> bool:
    """True for an Authorization header with a token. A text that a recorder put in its place (`***`) is none."""
    return _TOKEN.fullmatch(authorization.strip()) is not None


def _moment(text: object) -> float:
    """Seconds of the epoch; 0 if no moment is recorded.

    A moment without a time zone counts as UTC, so that a report says the same on every machine.
    """
    with suppress(ArithmeticError, OSError, TypeError, ValueError):
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]  # anything may stand there
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp()
        if datetime.fromtimestamp(seconds, UTC).year >= _EARLIEST_YEAR:
            return seconds
    return 0.0


def _seconds(milliseconds: object) -> float:
    """A recorded duration in seconds; 0 if none is recorded. A negative one is 0, and one beyond 11 days is cut."""
    with suppress(ArithmeticError, TypeError, ValueError):
        seconds = float(milliseconds) / 1000  # type: ignore[arg-type]  # anything may stand there
        if isfinite(seconds):
            return min(max(0.0, seconds), _LONGEST_DURATION_S)
    return 0.0


# -- requests -----------------------------------------------------------------------------------------------------


def _absolute(url: str, base_url: str) -> str:
    """The whole address of a request. Some recorders write a path alone. ValueError for a text that is no address."""
    return url if url.startswith(f"{base_url}/") else address_of(urljoin(base_url, url))


@cache
def _path_patterns() -> Mapping[Operation, re.Pattern[str]]:
    """A pattern of the path of each operation, in which a parameter is any segment."""
    return {
        operation: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(operation.path)))
        for operation in operations().values()
    }


def _operation(method: str, path: str) -> Operation | None:
    """The operation that a request is to; None for an undocumented one."""
    for operation, pattern in _path_patterns().items():
        if operation.method == method and pattern.fullmatch(path):
            return operation
    return None


def _media_type(headers: Headers, posted: Mapping[str, Any]) -> str:
    """The media type of a request, in lower case. Some recorders write it only beside the body (`postData`)."""
    media_type = headers_by_name(headers).get("content-type") or text_of(posted, "mimeType")
    return media_type.partition(";")[0].strip().lower()


def _is_documented(operation: Operation, query: str, body: RecordedBody, media_type: str) -> bool:
    """True if a request is as documented: without a query, and with each documented member of the body.

    No member may be missing, because the interface document does not say which may be left out. A body that is not
    recorded counts as documented. A query is permitted if the interface document does not show the result.
    """
    if query and operation.result:
        return False
    schema = _schema_of(operation)
    if schema is None:
        return not body.content
    if not body.is_recorded:
        return media_type in ("", "application/json")
    with suppress(ValueError, RecursionError):
        return media_type == "application/json" and schema.is_valid(json.loads(body.content))
    return False


@cache
def _schema_of(operation: Operation) -> jsonschema_rs.Validator | None:
    """The validator of the body, in which each member is required; None if the operation has no body.

    A body that the interface document does not describe has no members in openapi.yaml, so that any body is valid.
    """
    body = openapi()["paths"][operation.path][operation.method.lower()].get("requestBody")
    if body is None:
        return None
    reference = body["content"]["application/json"]["schema"].get("$ref", "")  # `#/components/schemas/Transfer`
    schema = openapi()["components"]["schemas"].get(reference.rpartition("/")[2], {})
    members = list(schema.get("properties", ()))
    return jsonschema_rs.validator_for({**schema, "required": members})


# -- responses ----------------------------------------------------------------------------------------------------


def _response(recorded_response: Mapping[str, Any], status: int) -> Response:
    """The response of an entry of a HAR file.

    Some recorders write the media type only beside the body (`mimeType`). It becomes the header Content-Type if it is
    not made up by the recorder.
    """
    headers = _headers(recorded_response)
    by_name = headers_by_name(headers)
    body = body_of_response(recorded_response, status, by_name)
    media_type = text_of(members_of(recorded_response.get("content")), "mimeType")
    # Recorders make up a media type if none was sent, but never that of JSON.
    is_of_the_service = not headers or "json" in media_type.lower()
    header_is_missing = "content-type" not in by_name
    if media_type and header_is_missing and is_of_the_service:
        headers = (*headers, ("Content-Type", media_type))
    return Response(status, headers, body.content, "" if body.is_recorded else str(NO_BODY), body.broken)


def _says_that_no_media_type_was_sent(recorded_response: Mapping[str, Any]) -> bool:
    """True if the recording shows that the answer had no Content-Type.

    So it is if its headers are recorded without one. A media type beside the body (`mimeType`) is then made up by
    the recorder.
    """
    names = [text_of(members_of(header), "name").lower() for header in _recorded_headers(recorded_response)]
    if not names or "content-type" in names:
        return False
    return "mimeType" in members_of(recorded_response.get("content"))


# -- headers --------------------------------------------------------------------------------------------------------


def _recorded_headers(message: Mapping[str, Any]) -> list[Any]:
    """The entries for the headers of a message, as the recorder wrote them; none if it wrote no list."""
    headers = message.get("headers")
    return headers if isinstance(headers, list) else []


def _headers(message: Mapping[str, Any]) -> Headers:
    """The headers of a message. Those without a name or a value are left out.

    So are pseudo-headers of HTTP/2, such as `:status` (RFC 9113 section 8.3).
    """
    headers = []
    for header in _recorded_headers(message):
        members = members_of(header)
        name = members.get("name")
        value = members.get("value")
        if not isinstance(name, str) or not isinstance(value, str | int | float):
            continue
        if name[:1] != ":":
            headers.append((name, str(value)))
    return tuple(headers)


def headers_by_name(headers: Headers) -> dict[str, str]:
    """The headers by their names in lower case."""
    return {name.lower(): value for name, value in headers}
