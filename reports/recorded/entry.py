"""An entry of a HAR 1.2 file as an exchange, as browsers, mitmproxy, Playwright, Charles and converters write it.

A recording does not say whether a token was right: here one that is there in full may be, and `tally.py` counts it as
valid once it was granted something. Where the answer is a page for people, the token may have expired.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs

from environments.profiles.addresses import in_one_form
from spec.answers import is_page
from spec.exchange import VALID, Exchange, Headers, Request, Response
from spec.interface import Operation, openapi, operations
from spec.message import Text, say

UNKNOWN = "unknown"
"""The credential of an exchange whose token is not recorded, or is redacted."""
_ELSEWHERE, _UNDOCUMENTED = say("at another address"), say("to no documented operation")
NO_BODY = say("the body is not recorded as it was sent")
"""The reason why of an entry all but its body is judged."""
NOT_OURS = (_ELSEWHERE, _UNDOCUMENTED, NO_BODY)
"""Reasons why an entry is not judged that lie in no fault of the recording."""
_NO_ENTRY, _NO_RESPONSE = say("not as in HAR 1.2"), say("without a response")
_TOKEN = re.compile(r"Bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)
"""RFC 6750, section 2.1."""
_REDACTED = re.compile(r"redact|mask|filter|remov|hidden|sanit|omit|secret|token|xxx|\.\.\.|(.)\1{7}", re.IGNORECASE)
_USUAL_PORT = re.compile(r"^(http://[^/:]+):80(?=/|$)|^(https://[^/:]+):443(?=/|$)")
_GZIP, _GZIP_ALONE, _LARGEST = b"\x1f\x8b", 31, 50_000_000
_REPLACED = re.compile("[\ufffd\ud800-\udfff]")
"""What recorders write for bytes that are not UTF-8."""


def exchange_of(entry: Any, number: int, base_url: str) -> Exchange | Text:
    """The exchange of an entry, or why there is none to judge. `base_url` is as `address_of` gives it."""
    try:
        request = _request(entry["request"], base_url)
        if not request.url.startswith(f"{base_url}/"):
            return _ELSEWHERE
        path, _, query = request.url[len(base_url) :].partition("#")[0].partition("?")
        if (operation := _operation(request.method, path)) is None:
            return _UNDOCUMENTED
        answer = entry.get("response") or {}
        if not 0 < int(answer.get("status") or 0) < 1_000:  # a status has three digits
            return _NO_RESPONSE
        response = _response(answer)
        is_documented = _is_documented(operation, request) and not (query and operation.result)
        started, elapsed_s = _moment(entry.get("startedDateTime")), float(entry.get("time") or 0) / 1000
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, zlib.error):
        return _NO_ENTRY
    credential = UNKNOWN if is_page(response) else _credential(named(request.headers).get("authorization", ""))
    is_told = response.status != 200 or not response.cut  # else it may be a refusal in an envelope
    return Exchange(
        number,
        operation.id,
        request,
        response,
        credential=credential,
        valid=credential == VALID and is_documented and is_told,
        started=started,
        elapsed_s=min(max(0.0, elapsed_s), 1e6),
    )


def address_of(url: str) -> str:
    """An address as it is compared: in one form, without the usual port."""
    return _USUAL_PORT.sub(r"\1\2", in_one_form(url))


@lru_cache(10_000)
def _credential(authorization: str) -> str:
    token = _TOKEN.fullmatch(authorization.strip())
    return UNKNOWN if token is None or _REDACTED.search(token[1]) else VALID


def _moment(text: object) -> float:
    """Seconds of the epoch; 0 where no moment is recorded."""
    with suppress(ArithmeticError, OSError, TypeError, ValueError):
        return datetime.fromisoformat(text).timestamp()  # type: ignore[arg-type]  # anything may stand there
    return 0.0


# -- requests -----------------------------------------------------------------------------------------------------


def _request(written: Mapping[str, Any], base_url: str) -> Request:
    url = written["url"]
    if not url.startswith(f"{base_url}/"):
        url = address_of(urljoin(base_url, url))
    return Request(written["method"], url, _headers(written), _content(written.get("postData") or {})[0])


@cache
def _paths() -> Mapping[Operation, re.Pattern[str]]:
    return {one: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(one.path))) for one in operations().values()}


def _operation(method: str, path: str) -> Operation | None:
    return next((one for one, form in _paths().items() if one.method == method and form.fullmatch(path)), None)


def _is_documented(operation: Operation, request: Request) -> bool:
    """True if the body is as documented: with each documented member, as nothing says which may be left out."""
    if (schema := _schema_of(operation)) is None:
        return not request.body
    media_type = named(request.headers).get("content-type", "").partition(";")[0].strip().lower()
    with suppress(ValueError, RecursionError):
        return media_type == "application/json" and schema.is_valid(json.loads(request.body))
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


def _response(answer: Mapping[str, Any]) -> Response:
    """The response. Where no header is recorded, the media type is that of the content."""
    content, status = answer.get("content") or {}, int(answer["status"])
    headers = _headers(answer) or (("Content-Type", str(content.get("mimeType", ""))),)
    body, is_whole = _content(content)
    by_name = named(headers)
    coding, length = by_name.get("content-encoding", ""), by_name.get("content-length", "")
    if coding and body.startswith(_GZIP):
        inflating = zlib.decompressobj(_GZIP_ALONE)
        body, is_whole = inflating.decompress(body, _LARGEST), inflating.eof
    if "text" not in content:
        is_whole = length == "0" or status in (204, 304)
    elif length.isdecimal() and not coding:
        is_whole &= int(length) <= len(body)
    return Response(status, headers, body, cut="" if is_whole else str(NO_BODY))


def _headers(written: Mapping[str, Any]) -> Headers:
    """The headers, without those of HTTP/2 that are none."""
    listed = written.get("headers") or ()
    return tuple([(str(each["name"]), str(each["value"])) for each in listed if each["name"][:1] != ":"])


def named(headers: Headers) -> dict[str, str]:
    """The headers by their names in lower case."""
    return {name.lower(): value for name, value in headers}


def _content(content: Mapping[str, Any]) -> tuple[bytes, bool]:
    """The bytes of a body. False where the recorder could not write what was sent as text."""
    text = content.get("text") or ""
    if content.get("encoding") == "base64":
        return b64decode(text), True
    return text.encode("utf-8", "surrogatepass"), not _REPLACED.search(text)
