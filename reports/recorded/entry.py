"""Exchange of an entry of a HAR 1.2 file, as browsers, mitmproxy, Playwright, Charles and converters write it.

- A recording does not say whether a token was valid. This module calls every token valid, except if the answer is an
  HTML page, because the token may have expired then. `counts.py` corrects that later: a token is unknown until an
  answer to it had data, such as an account.
- A field that is not as in HAR 1.2 is ignored, and the rest of the entry is judged.
- A part of an exchange that is not recorded may have been sent nevertheless. `missing_parts` names such parts, and what
  they would show is not judged.
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
from typing import Any, NamedTuple
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
# Reasons why an entry is not judged, or is judged only in part.
_ELSEWHERE = say("at another address")
_UNDOCUMENTED = say("to no documented operation")
_NOT_AS_IN_HAR = say("not as in HAR 1.2")
_NO_RESPONSE = say("without a response")
NO_BODY = say("the body is not recorded as it was sent")
"""The missing part of an exchange without the body of its response: everything except the body is judged."""
NO_REQUEST_BODY = say("without the body of the request")
NO_MEDIA_TYPE = say("without the Content-Type of the answer")
NO_TOKEN = say("without a token that was granted something before")
"""The missing part of an exchange whose token is not known to be valid."""
JUDGED_IN_PART = (NO_REQUEST_BODY, NO_MEDIA_TYPE, NO_TOKEN)
"""Parts without which an exchange is judged only in part."""
NO_FAULT_OF_RECORDING = (_ELSEWHERE, _UNDOCUMENTED, NO_BODY, *JUDGED_IN_PART)
"""Reasons why an entry is not judged, or only in part, that are no fault of the recording."""
_TOKEN = re.compile(r"Bearer +(?=[^ ]*[A-Za-z0-9])[A-Za-z0-9._~+/|:;,@$&!%#=-]+", re.IGNORECASE)
"""A header with a token (RFC 6750 section 2.1). Further signs are permitted, because tokens of some frameworks have
them, such as `12|AbCd`. A text with brackets, asterisks or signs that no header can carry is no token but stands for
one: `[REDACTED]`, `<token>`, `***`."""
_USUAL_PORT = re.compile(r"^(http://[^/:]+):80(?=/|$)|^(https://[^/:]+):443(?=/|$)")
"""An address with the port that its scheme has anyway. One of the two groups is the address up to the port."""
_EARLIEST_YEAR = 1990
"""Year of the first HTTP. An earlier moment is made up: some recorders write the year 1 for a moment that they do not
know."""
_LONGEST_DURATION_S = 1e6
"""Seconds of an exchange, eleven days. A longer duration is made up."""


@dataclass(frozen=True)
class RecordedExchange(Exchange):
    """An exchange of a recording."""

    missing_parts: tuple[Message, ...] = ()  # parts of it that are not recorded


def exchange_of(
    entry: Any, number: int, base_url: str, other_success_codes: frozenset[int] = frozenset()
) -> RecordedExchange | Text:
    """The exchange that an entry of a HAR file describes; or a text, which says why the entry cannot be judged.

    For example, the entry is for another service, or for an undocumented operation. `number` is the number of the entry
    in the file, and `base_url` the address of the service, as `address_of` writes it. `other_success_codes` has the
    values of `code`, beside 0, with which the service says that a request succeeded.
    """
    members = members_of(entry)
    recorded_request = members_of(members.get("request"))
    recorded_response = members_of(members.get("response"))
    request_line = _request_line_of(recorded_request, base_url)
    if not isinstance(request_line, _RequestLine):  # it is the reason why the entry cannot be judged
        return request_line
    operation = request_line.operation
    status = number_of(recorded_response.get("status")) or 0
    if not 100 <= status < 1_000:  # recorders write 0 or -1 for a request that was aborted
        return _NO_RESPONSE
    headers = _headers_of(recorded_request)
    body = body_of_request(recorded_request, headers_by_name(headers))
    response = _response_of(recorded_response, status, other_success_codes)
    credential = _credential(headers, response)
    media_type = _media_type(headers, members_of(recorded_request.get("postData")))
    is_documented = _is_documented(operation, request_line.query, body, media_type)
    # The request counts as valid only if two conditions are true: the interface document promises it a success, and the
    # recorded answer is complete enough to show whether it succeeded.
    promises_success = is_documented and not _may_be_a_hidden_refusal(response)
    return RecordedExchange(
        number,
        operation.id,
        Request(operation.method, request_line.url, headers, body.content),
        response,
        credential=credential,
        valid=credential == VALID and promises_success,
        started=_seconds_since_1970(members.get("startedDateTime")),
        elapsed_s=_duration_s(members.get("time")),
        missing_parts=tuple(_missing_parts(operation, body, response, recorded_response)),
    )


class _RequestLine(NamedTuple):
    """What a recorded request asks for."""

    operation: Operation
    url: str
    """The whole address, as `address_of` writes it."""
    query: str
    """The part behind the question mark."""


def _request_line_of(recorded_request: Mapping[str, Any], base_url: str) -> _RequestLine | Text:
    """The operation and the address of a recorded request; or a text, which says why the request cannot be judged."""
    method = recorded_request.get("method")
    recorded_url = recorded_request.get("url")
    if not isinstance(method, str) or not isinstance(recorded_url, str):
        return _NOT_AS_IN_HAR
    try:
        url = _whole_address(recorded_url, base_url)
    except ValueError:
        return _NOT_AS_IN_HAR
    if not url.startswith(f"{base_url}/"):
        return _ELSEWHERE
    path_and_query, _, _ = url[len(base_url) :].partition("#")  # without a fragment, which is never sent
    path, _, query = path_and_query.partition("?")
    operation = _operation_at(method.upper(), path)
    if operation is None:
        return _UNDOCUMENTED
    return _RequestLine(operation, url, query)


def _may_be_a_hidden_refusal(response: Response) -> bool:
    """True if the response may have been a refusal although its status is 200: its body is not recorded.

    A service may refuse with status 200 and a code in the body that is not 0.
    """
    body_is_not_recorded = response.cut != ""  # `cut` says why not the whole body is known
    return response.status == 200 and body_is_not_recorded


def _missing_parts(
    operation: Operation, body: RecordedBody, response: Response, recorded_response: Mapping[str, Any]
) -> Iterator[Message]:
    """Reasons why an exchange is judged only in part: parts that are not recorded, although they may have been sent."""
    if _validator_of_bodies(operation) is not None and not body.is_recorded:  # requests to the operation have a body
        yield NO_REQUEST_BODY
    if not response.header("Content-Type") and not _says_that_no_media_type_was_sent(recorded_response):
        yield NO_MEDIA_TYPE


def address_of(url: str) -> str:
    """An address in the form in which addresses are compared: https://bank.example for HTTPS://bank.example:443.

    The usual port is removed, because recorders write it or leave it out.
    """
    return _USUAL_PORT.sub(r"\1\2", normalized_address(url))


def _credential(headers: Headers, response: Response) -> str:
    """The credential of a recorded request: "valid" if the request has a token, else "unknown".

    It is also unknown if the answer is an HTML page, because this may be a page to log in after the token expired.
    """
    authorization = headers_by_name(headers).get("authorization", "")
    if is_page(response) or not _has_token(authorization):
        return UNKNOWN
    return VALID


@lru_cache(10_000)
def _has_token(authorization: str) -> bool:
    """True if an Authorization header has a token. Recorders may replace the token by a text such as `***`."""
    return _TOKEN.fullmatch(authorization.strip()) is not None


def _seconds_since_1970(text: object) -> float:
    """The moment of an entry (`startedDateTime`) in seconds since 1970; 0 if no moment is recorded.

    A moment before 1990 counts as not recorded: there was no HTTP, and some recorders write the year 1 for a moment
    that they do not know. A moment without a time zone counts as UTC, so that a report says the same on every machine.
    """
    with suppress(ArithmeticError, OSError, TypeError, ValueError):  # a value that is no date gives 0
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]  # the value may have any type
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp()
        if datetime.fromtimestamp(seconds, UTC).year >= _EARLIEST_YEAR:
            return seconds
    return 0.0


def _duration_s(milliseconds: object) -> float:
    """A recorded duration in seconds; 0 if none is recorded, or if it is negative.

    It is at most a million seconds (11 days), so that a senseless number does no harm.
    """
    with suppress(ArithmeticError, TypeError, ValueError):  # a value that is no number gives 0
        seconds = float(milliseconds) / 1000  # type: ignore[arg-type]  # the value may have any type
        if isfinite(seconds):
            return min(max(0.0, seconds), _LONGEST_DURATION_S)
    return 0.0


# -- requests -----------------------------------------------------------------------------------------------------


def _whole_address(url: str, base_url: str) -> str:
    """The whole address of a recorded request, such as `https://bank.example/v1/accounts`.

    Some recorders write only the path, or write the host in capitals or with the usual port (`:443`). The result starts
    with `base_url`, the address of the service, if the request was sent to the service. Raises ValueError for a text
    that is no address.
    """
    if url.startswith(f"{base_url}/"):
        return url  # nothing to change
    address = urljoin(base_url, url)  # only this raises the ValueError, for example for `http://[`
    return address_of(address)


@cache
def _path_patterns() -> Mapping[Operation, re.Pattern[str]]:
    """For each operation, a pattern of its paths: /v1/pix/keys/[^/]+ for /v1/pix/keys/{accountId}."""
    patterns = {}
    for operation in operations().values():
        escaped_path = re.escape(operation.path)  # which has `\{accountId\}`, with escaped braces
        patterns[operation] = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", escaped_path))
    return patterns


def _operation_at(method: str, path: str) -> Operation | None:
    """The operation with this method and path; None if the interface document has no such operation."""
    for operation, pattern in _path_patterns().items():
        if operation.method == method and pattern.fullmatch(path):
            return operation
    return None


def _media_type(headers: Headers, posted: Mapping[str, Any]) -> str:
    """The media type of the body of a request, in lower case; empty if none is recorded.

    `posted` is the member `postData` of the HAR entry. Some recorders write the media type only there.
    """
    media_type = headers_by_name(headers).get("content-type") or text_of(posted, "mimeType")
    return media_type.partition(";")[0].strip().lower()


def _is_documented(operation: Operation, query: str, body: RecordedBody, media_type: str) -> bool:
    """True if a request is as the interface document describes it, so that a success is promised.

    - It has no query. But if the interface document does not describe the result of the operation, it may not describe
      its query either. Then a query is permitted.
    - Its body is sent as application/json, and has every documented member, because the interface document does not say
      which may be left out.
    - A body that is not recorded counts as documented, unless another media type is recorded.
    """
    if query and operation.result:
        return False
    schema = _validator_of_bodies(operation)
    if schema is None:  # the operation has no body
        return not body.content
    if not body.is_recorded:
        return media_type in ("", "application/json")
    with suppress(ValueError, RecursionError):  # the body is no JSON, or is nested too deep to be parsed
        return media_type == "application/json" and schema.is_valid(json.loads(body.content))
    return False


@cache
def _validator_of_bodies(operation: Operation) -> jsonschema_rs.Validator | None:
    """The validator of the bodies of requests to an operation; None if its requests have no body.

    Each documented member is required. If the interface document does not describe the body, openapi.yaml has no
    members for it, and any body is valid.
    """
    body = openapi()["paths"][operation.path][operation.method.lower()].get("requestBody")
    if body is None:
        return None
    reference = body["content"]["application/json"]["schema"].get("$ref", "")  # `#/components/schemas/Transfer`
    name_of_schema = reference.rpartition("/")[2]
    schema = openapi()["components"]["schemas"].get(name_of_schema, {})
    members = list(schema.get("properties", ()))
    return jsonschema_rs.validator_for({**schema, "required": members})


# -- responses ----------------------------------------------------------------------------------------------------


def _response_of(recorded_response: Mapping[str, Any], status: int, other_success_codes: frozenset[int]) -> Response:
    """The response that an entry of a HAR file describes.

    Some recorders write the media type only beside the body (`mimeType`), and not as the header Content-Type. Then the
    header is added, except if the recorder has probably made the media type up.
    """
    headers = _headers_of(recorded_response)
    by_name = headers_by_name(headers)
    body = body_of_response(recorded_response, status, by_name)
    media_type = text_of(members_of(recorded_response.get("content")), "mimeType")
    # If the service sent no media type, recorders may make one up, but never that of JSON. If they recorded no header,
    # `mimeType` is the only place where they could write the media type that the service sent.
    was_sent = not headers or "json" in media_type.lower()
    header_is_missing = "content-type" not in by_name
    if media_type and header_is_missing and was_sent:
        headers = (*headers, ("Content-Type", media_type))
    why_cut = "" if body.is_recorded else str(NO_BODY)
    return Response(status, headers, body.content, why_cut, body.broken, other_success_codes)


def _says_that_no_media_type_was_sent(recorded_response: Mapping[str, Any]) -> bool:
    """True if the recording shows that the answer had no Content-Type: a missing header alone does not show it.

    | headers that are recorded | `mimeType` of the body | result |
    |---|---|---|
    | none | any | False: the recorder records no headers |
    | Content-Type and others | any | False: the answer had the header |
    | only others | missing | False: this recorder leaves out whatever it does not need, perhaps Content-Type, too |
    | only others | present | True: this recorder leaves nothing out. It made the `mimeType` up, as HAR demands one |
    """
    names = [text_of(members_of(header), "name").lower() for header in _recorded_headers(recorded_response)]
    if not names or "content-type" in names:
        return False
    return "mimeType" in members_of(recorded_response.get("content"))


# -- headers --------------------------------------------------------------------------------------------------------


def _recorded_headers(message: Mapping[str, Any]) -> list[Any]:
    """The list of headers of a request or response, as the recorder wrote it; empty if it wrote no list."""
    headers = message.get("headers")
    return headers if isinstance(headers, list) else []


def _headers_of(message: Mapping[str, Any]) -> Headers:
    """The headers of a request or response, as pairs of a name and a value.

    Headers without a name or a value are left out, and so are the pseudo-headers of HTTP/2, such as `:status` (RFC 9113
    section 8.3).
    """
    headers = []
    for header in _recorded_headers(message):
        members = members_of(header)
        name = members.get("name")
        value = members.get("value")
        if not isinstance(name, str) or not isinstance(value, str | int | float):
            continue
        is_pseudo_header = name[:1] == ":"
        if not is_pseudo_header:
            headers.append((name, str(value)))
    return tuple(headers)


def headers_by_name(headers: Headers) -> dict[str, str]:
    """The values of headers by their names in lower case. If a header is repeated, its last value counts."""
    return {name.lower(): value for name, value in headers}
