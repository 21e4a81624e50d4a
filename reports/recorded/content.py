"""The body of a message as a recorder wrote it down: as text, in base64, still compressed, in part, or not at all.

A recorder leaves bodies out, cuts them, decodes them, and writes JSON anew. So a body that is missing in a recording
was not necessarily missing on the wire: it counts as empty only if the recording says so.
"""

from __future__ import annotations

import io
import re
import zlib
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from spec.json_text import read_json
from spec.message import Text, say

_LARGEST = 50_000_000
"""Bytes of a body that are decompressed."""
_INFLATING = {"gzip": (31,), "x-gzip": (31,), "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS)}
"""Values of `wbits` to try for a content coding: some services send deflate without its zlib header."""
_BYTE_ORDER_MARK = 3
"""Bytes that a recorder may leave away at the start of a text: they count in its sizes, and not in its text."""
_REPLACED = re.compile("[\ufffd\ud800-\udfff]")
"""What recorders write for bytes that are not UTF-8."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that no text of a service has, and that compressed bytes have."""
_LIKE_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_BROKEN = say("the content coding is {coding}, the body is not")


@dataclass(frozen=True)
class RecordedBody:
    """A body, without its content coding.

    `is_recorded` is False if the recorder left the body out, cut it, or could not write it as text. `broken` says what
    is wrong with the content coding, if the bytes are recorded as they were sent.
    """

    content: bytes = b""
    is_recorded: bool = True
    broken: Text = ""


NOT_RECORDED = RecordedBody(is_recorded=False)
_EMPTY = RecordedBody()


def body_of_request(request: Mapping[str, Any], headers: Mapping[str, str]) -> RecordedBody:
    """The body of a request. `headers` are by their names in lower case.

    mitmproxy writes none for DELETE, Playwright writes an empty text if it keeps bodies apart, and axios-har-tracker
    writes a `content` besides.
    """
    for content in (members_of(request.get("postData")), members_of(request.get("content"))):
        if text_of(content, "text"):
            body, is_exact = _bytes_of(content)
            is_whole = is_exact and _least_size(headers) <= len(body)
            return RecordedBody(body, is_whole or _is_json(body))
    sizes = [number_of(headers.get("content-length")), number_of(request.get("bodySize"))]
    recorded_size = next((size for size in sizes if size is not None), None)
    return _EMPTY if recorded_size == 0 else NOT_RECORDED


def body_of_response(answer: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> RecordedBody:
    """The body of a response. `headers` are by their names in lower case."""
    content = members_of(answer.get("content"))
    if not text_of(content, "text"):
        return _EMPTY if _is_empty(answer, content, status, headers) else NOT_RECORDED
    raw, is_exact = _bytes_of(content)
    codings = [coding.strip() for coding in headers.get("content-encoding", "").lower().split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if codings:
        body = _decoded(raw, codings, headers)
    else:
        is_whole = _least_size(headers) <= len(raw) or _is_written_anew(answer, content, raw)
        body = RecordedBody(raw, is_whole or _lacks_a_mark_alone(raw, _least_size(headers)))
    if body.broken:
        return body
    size = number_of(content.get("size")) or 0
    counts_base64 = size == len(content["text"])
    is_cut = size > len(body.content) and not counts_base64 and not _lacks_a_mark_alone(body.content, size)
    is_whole = is_exact and not is_cut and not _broke_off(answer)
    return RecordedBody(body.content, body.is_recorded and is_whole)


def members_of(value: object) -> Mapping[str, Any]:
    """The members of an object of a recording; none where anything else stands."""
    return value if isinstance(value, dict) else {}


def number_of(value: object) -> int | None:
    """A size or a status of a recording; None where there is none. HAR writes -1 for a size that is not known."""
    try:
        number = int(value)  # type: ignore[call-overload]  # anything may stand there
    except (ArithmeticError, TypeError, ValueError):
        return None
    return number if number >= 0 else None


def text_of(members: Mapping[str, Any], name: str) -> str:
    """The text of a member; empty where anything else stands."""
    text = members.get(name)
    return text if isinstance(text, str) else ""


def _bytes_of(content: Mapping[str, Any]) -> tuple[bytes, bool]:
    """The bytes of a text. False where the recorder could not write what was sent as text."""
    text = text_of(content, "text")
    if text_of(content, "encoding").lower() == "base64":
        compact = "".join(text.split())
        try:
            return b64decode(compact, validate=True), True
        except ValueError:
            if _LIKE_BASE64.fullmatch(compact):
                return b"", False  # cut short: no JSON object is made of these characters alone
    return text.encode("utf-8", "surrogatepass"), not _REPLACED.search(text)


def _is_empty(answer: Mapping[str, Any], content: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> bool:
    """True if the recording says that the body was empty."""
    if status in (204, 304):
        return True
    length, size, sent = map(number_of, (headers.get("content-length"), content.get("size"), answer.get("bodySize")))
    if length is not None:
        return length == 0
    if size or sent or _broke_off(answer):
        return False
    return content.get("text") == "" or (size == 0 and sent == 0)


def _broke_off(answer: Mapping[str, Any]) -> bool:
    """True if the answer did not arrive as a whole, as Chrome and Playwright write it."""
    return bool(answer.get("_error") or answer.get("_failureText"))


# -- whole or cut ---------------------------------------------------------------------------------------------------


def _is_json(body: bytes) -> bool:
    """True for a JSON object or array. It is whole, whatever its recorded size: no part of one is JSON."""
    return body.lstrip()[:1] in (b"{", b"[") and read_json(body).readable


def _least_size(headers: Mapping[str, str]) -> int:
    """Bytes that the body had at least, as the header says."""
    return number_of(headers.get("content-length")) or 0


def _lacks_a_mark_alone(body: bytes, size: int) -> bool:
    return size == len(body) + _BYTE_ORDER_MARK and _is_json(body)


def _is_written_anew(answer: Mapping[str, Any], content: Mapping[str, Any], body: bytes) -> bool:
    """True for JSON that the recorder read and wrote again, in its own form, as axios-har-tracker does. Then its sizes
    are those of what it wrote, in characters."""
    sizes = {number_of(answer.get("bodySize")), number_of(content.get("size"))}
    return sizes == {len(content["text"])} and _is_json(body)


# -- content codings ------------------------------------------------------------------------------------------------


def _decoded(raw: bytes, codings: list[str], headers: Mapping[str, str]) -> RecordedBody:
    """The body without its content codings, which most recorders have undone."""
    if _is_plain(raw):
        return RecordedBody(raw)
    if _least_size(headers) > len(raw):
        return NOT_RECORDED
    is_as_sent = number_of(headers.get("content-length")) == len(raw)
    body, is_whole = raw, True
    for coding in reversed(codings):
        try:
            body, is_end = _without(coding, body)
        except LookupError:
            return NOT_RECORDED
        except _NotThisCodingError:
            is_known_by_its_start = coding.endswith("gzip") and raw.startswith(b"\x1f\x8b")
            is_broken = is_as_sent or is_known_by_its_start
            return RecordedBody(broken=_BROKEN.of(coding=coding)) if is_broken else NOT_RECORDED
        is_whole = is_whole and is_end
    return RecordedBody(body, is_whole or is_as_sent)


class _NotThisCodingError(Exception):
    """The bytes are not of the content coding."""


def _without(coding: str, body: bytes) -> tuple[bytes, bool]:
    """The body without a content coding; False if its end is not there. LookupError for a coding that cannot be
    undone."""
    for wbits in _INFLATING.get(coding, ()):
        inflating = zlib.decompressobj(wbits)
        try:
            return inflating.decompress(body, _LARGEST), inflating.eof
        except zlib.error:
            continue
    if coding in _INFLATING:
        raise _NotThisCodingError
    return _without_other_coding(coding, body)


def _without_other_coding(coding: str, body: bytes) -> tuple[bytes, bool]:
    """The body without br or zstd, which urllib3 undoes if their libraries are installed."""
    urllib3: Any = import_module("urllib3")  # loaded only now: reports load no library of the network
    if coding not in urllib3.HTTPResponse.CONTENT_DECODERS:
        raise LookupError(coding)
    decoding = urllib3.HTTPResponse(io.BytesIO(body), {"Content-Encoding": coding}, preload_content=False)
    try:
        content = decoding.read(_LARGEST, decode_content=True)
    except urllib3.exceptions.DecodeError:
        raise _NotThisCodingError from None
    return content, _is_json(content)


def _is_plain(raw: bytes) -> bool:
    """True for text: then the recorder has undone the content coding."""
    try:
        return not _CONTROL.search(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False
