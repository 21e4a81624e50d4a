"""An entry of a HAR 1.2 file as an exchange, as browsers, mitmproxy, Playwright, Charles and converters write it.

A recording does not say whether a token was right: here any token may be, and `tally.py` counts it as valid once it was
granted something. If the answer is a page for people, the token may have expired.

A field that is not as in HAR 1.2 is lost, and not the entry. What is not recorded was not necessarily absent: `gaps`
says what the exchange lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from math import isfinite
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs

from environments.profiles.addresses import in_one_form
from reports.recorded.content import RecordedBody, body_of_request, body_of_response, members_of, number_of, text_of
from spec.answers import is_page
from spec.exchange import VALID, Exchange, Headers, Request, Response
from spec.interface import Operation, openapi, operations
from spec.message import Message, Text, say

UNKNOWN = "unknown"
"""The credential of an exchange whose token is not recorded, or was granted nothing."""
_ELSEWHERE, _UNDOCUMENTED = say("at another address"), say("to no documented operation")
NO_BODY = say("the body is not recorded as it was sent")
"""The reason why of an entry all but its body is judged."""
NO_REQUEST_BODY = say("without the body of the request")
NO_MEDIA_TYPE = say("without the Content-Type of the answer")
NO_TOKEN = say("without a token that was granted something before")
IN_PART = (NO_REQUEST_BODY, NO_MEDIA_TYPE, NO_TOKEN)
"""What the recording of an exchange lacks that is judged without it."""
NOT_OURS = (_ELSEWHERE, _UNDOCUMENTED, NO_BODY, *IN_PART)
"""Reasons why an entry is not judged, or not as a whole, that lie in no fault of the recording."""
_NO_ENTRY, _NO_RESPONSE = say("not as in HAR 1.2"), say("without a response")
_TOKEN = re.compile(r"Bearer +(?=[^ ]*[A-Za-z0-9])[A-Za-z0-9._~+/|:;,@$&!%#=-]+", re.IGNORECASE)
"""RFC 6750, section 2.1, and signs that tokens of some frameworks have besides, such as `12|AbCd`. Whatever has
brackets, asterisks or signs that no header can carry is no token: `[REDACTED]`, `<token>`, `***`."""
_USUAL_PORT = re.compile(r"^(http://[^/:]+):80(?=/|$)|^(https://[^/:]+):443(?=/|$)")


@dataclass(frozen=True)
class RecordedExchange(Exchange):
    """An exchange of a recording. `gaps` says what the recording lacks of it."""

    gaps: tuple[Message, ...] = ()


def exchange_of(entry: Any, number: int, base_url: str) -> RecordedExchange | Text:
    """The exchange of an entry, or why there is none to judge. `base_url` is as `address_of` gives it."""
    entry = members_of(entry)
    written, answer = members_of(entry.get("request")), members_of(entry.get("response"))
    method, url = written.get("method"), written.get("url")
    if not isinstance(method, str) or not isinstance(url, str):
        return _NO_ENTRY
    try:
        url = _absolute(url, base_url)
    except ValueError:
        return _NO_ENTRY
    if not url.startswith(f"{base_url}/"):
        return _ELSEWHERE
    path, _, query = url[len(base_url) :].partition("#")[0].partition("?")
    operation = _operation(method.upper(), path)
    if operation is None:
        return _UNDOCUMENTED
    status = number_of(answer.get("status")) or 0
    if not 100 <= status < 1_000:  # 0 and -1 stand for a request that was aborted
        return _NO_RESPONSE
    headers = _headers(written)
    by_name = named(headers)
    sent = body_of_request(written, by_name)
    request = Request(method.upper(), url, headers, sent.content)
    response = _response(answer, status)
    gaps = []
    if _schema_of(operation) is not None and not sent.is_recorded:
        gaps.append(NO_REQUEST_BODY)
    if not response.header("Content-Type") and not _says_that_no_media_type_was_sent(answer):
        gaps.append(NO_MEDIA_TYPE)
    media_type = _media_type(by_name, members_of(written.get("postData")))
    is_documented = _is_documented(operation, sent, media_type) and not (query and operation.result)
    credential = UNKNOWN if is_page(response) else _credential(by_name.get("authorization", ""))
    is_told = response.status != 200 or not response.cut  # else it may be a refusal in an envelope
    return RecordedExchange(
        number,
        operation.id,
        request,
        response,
        credential=credential,
        valid=credential == VALID and is_documented and is_told,
        started=_moment(entry.get("startedDateTime")),
        elapsed_s=_seconds(entry.get("time")),
        gaps=tuple(gaps),
    )


def address_of(url: str) -> str:
    """An address as it is compared: in one form, without the usual port."""
    return _USUAL_PORT.sub(r"\1\2", in_one_form(url))


@lru_cache(10_000)
def _credential(authorization: str) -> str:
    return VALID if _TOKEN.fullmatch(authorization.strip()) else UNKNOWN


def _moment(text: object) -> float:
    """Seconds of the epoch; 0 if no moment is recorded. Some recorders write the year 1 for a moment that they do not
    know. A moment without a time zone counts as UTC, so that a report says the same on every machine."""
    with suppress(ArithmeticError, OSError, TypeError, ValueError):
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]  # anything may stand there
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        if datetime.fromtimestamp(seconds, UTC).year >= _EARLIEST_YEAR:
            return seconds
    return 0.0


_EARLIEST_YEAR = 1990
"""There was no HTTP before."""


def _seconds(milliseconds: object) -> float:
    """A duration; 0 if none is recorded."""
    with suppress(ArithmeticError, TypeError, ValueError):
        seconds = float(milliseconds) / 1000  # type: ignore[arg-type]  # anything may stand there
        if isfinite(seconds):
            return min(max(0.0, seconds), 1e6)
    return 0.0


# -- requests -----------------------------------------------------------------------------------------------------


def _absolute(url: str, base_url: str) -> str:
    return url if url.startswith(f"{base_url}/") else address_of(urljoin(base_url, url))


@cache
def _paths() -> Mapping[Operation, re.Pattern[str]]:
    return {one: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(one.path))) for one in operations().values()}


def _operation(method: str, path: str) -> Operation | None:
    return next((one for one, form in _paths().items() if one.method == method and form.fullmatch(path)), None)


def _media_type(headers: Mapping[str, str], posted: Mapping[str, Any]) -> str:
    """The media type of a request, in lower case. Some recorders write it beside the body alone."""
    written = headers.get("content-type") or text_of(posted, "mimeType")
    return written.partition(";")[0].strip().lower()


def _is_documented(operation: Operation, body: RecordedBody, media_type: str) -> bool:
    """True if the body is as documented: with each documented member, as nothing says which may be left out. A body
    that is not recorded may have been."""
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
    """The validator of the body; None where the operation has none."""
    body = openapi()["paths"][operation.path][operation.method.lower()].get("requestBody")
    if body is None:
        return None
    name = body["content"]["application/json"]["schema"].get("$ref", "").rpartition("/")[2]
    schema = openapi()["components"]["schemas"].get(name, {})
    return jsonschema_rs.validator_for({**schema, "required": [*schema.get("properties", ())]})


# -- responses ----------------------------------------------------------------------------------------------------


def _response(answer: Mapping[str, Any], status: int) -> Response:
    headers = _headers(answer)
    by_name = named(headers)
    body = body_of_response(answer, status, by_name)
    media_type = text_of(members_of(answer.get("content")), "mimeType")
    # Recorders make up a media type if none was sent, but not that of JSON.
    is_known_by_content = media_type and (not headers or "json" in media_type.lower())
    if "content-type" not in by_name and is_known_by_content:
        headers = (*headers, ("Content-Type", media_type))
    return Response(status, headers, body.content, "" if body.is_recorded else str(NO_BODY), body.broken)


def _says_that_no_media_type_was_sent(answer: Mapping[str, Any]) -> bool:
    """True if there are headers, none of them is Content-Type, and the content has no media type either."""
    names = [text_of(members_of(header), "name").lower() for header in _listed(answer)]
    return bool(names) and "content-type" not in names and "mimeType" in members_of(answer.get("content"))


# -- headers --------------------------------------------------------------------------------------------------------


def _listed(message: Mapping[str, Any]) -> list[Any]:
    listed = message.get("headers")
    return listed if isinstance(listed, list) else []


def _headers(message: Mapping[str, Any]) -> Headers:
    """The headers, without those of HTTP/2 that are none, and without those that lack a name or a value."""
    headers = []
    for header in _listed(message):
        members = members_of(header)
        name, value = members.get("name"), members.get("value")
        if not isinstance(name, str) or not isinstance(value, str | int | float):
            continue
        if name[:1] != ":":
            headers.append((name, str(value)))
    return tuple(headers)


def named(headers: Headers) -> dict[str, str]:
    """The headers by their names in lower case."""
    return {name.lower(): value for name, value in headers}
