"""The body of a message as a recorder wrote it down: as text, in base64, still compressed, in part, or not at all.

A recorder leaves bodies out, cuts them, decodes them, and writes JSON anew. So a body that is missing in a recording
was not necessarily missing on the wire: it counts as empty only if the recording says so.

Self-tests: reports/recorded/test_entry.py.
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
"""Bytes of a body that are decompressed: far more than a service sends, and less than a hostile file could make."""
_INFLATING = {"gzip": (31,), "x-gzip": (31,), "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS)}
"""Values of `wbits` to try for a content coding: some services send deflate without its zlib header."""
_BYTE_ORDER_MARK = 3
"""Bytes of a mark that a recorder may leave out at the start of a text, although it counts them in its sizes."""
_REPLACED = re.compile("[\ufffd\ud800-\udfff]")
"""Characters that recorders write for bytes that are not UTF-8."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that no text of a service has, and that compressed bytes have."""
_LIKE_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_BROKEN = say("the content coding is {coding}, the body is not")


@dataclass(frozen=True)
class RecordedBody:
    """A body, without its content coding."""

    content: bytes = b""
    is_recorded: bool = True  # false if the recorder left the body out, cut it, or could not write it as text
    broken: Text = ""  # what is wrong with the content coding, if the bytes are recorded as they were sent


NOT_RECORDED = RecordedBody(is_recorded=False)
_EMPTY = RecordedBody()


def body_of_request(request: Mapping[str, Any], headers: Mapping[str, str]) -> RecordedBody:
    """The body of a request. `headers` are by their names in lower case.

    A text may be missing although there was a body: mitmproxy writes none for DELETE, and Playwright writes an empty
    one if it keeps bodies apart. Without a text, a size of 0 says that the body was empty. axios-har-tracker writes the
    body into `content`.
    """
    for content in (members_of(request.get("postData")), members_of(request.get("content"))):
        if text_of(content, "text"):
            body, is_exact = _bytes_of(content)
            is_whole = is_exact and len(body) >= _announced_size(headers)
            return RecordedBody(body, is_recorded=is_whole or _is_json(body))
    sizes = [number_of(headers.get("content-length")), number_of(request.get("bodySize"))]
    recorded_sizes = [size for size in sizes if size is not None]
    was_empty = recorded_sizes[:1] == [0]  # the first size that is recorded counts
    return _EMPTY if was_empty else NOT_RECORDED


def body_of_response(answer: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> RecordedBody:
    """The body of a response. `headers` are by their names in lower case."""
    content = members_of(answer.get("content"))
    if not text_of(content, "text"):
        return _EMPTY if _is_empty(answer, content, status, headers) else NOT_RECORDED
    raw, is_exact = _bytes_of(content)
    codings = _codings(headers)
    if codings:
        body = _decoded(raw, codings, headers)
    else:
        announced_size = _announced_size(headers)
        is_whole = announced_size <= len(raw) or _is_written_anew(answer, content, raw)
        body = RecordedBody(raw, is_recorded=is_whole or _lacks_only_byte_order_mark(raw, announced_size))
    if body.broken:
        return body
    size = number_of(content.get("size")) or 0
    counts_base64 = size == len(content["text"])  # some recorders write the length of the base64 as the size
    may_be_smaller = counts_base64 or _lacks_only_byte_order_mark(body.content, size)
    is_cut = size > len(body.content) and not may_be_smaller
    is_whole = not is_cut and not _broke_off(answer)
    is_recorded = body.is_recorded and is_exact
    return RecordedBody(body.content, is_recorded and is_whole)


def members_of(value: object) -> Mapping[str, Any]:
    """The members of an object of a recording; none if the value is no object."""
    return value if isinstance(value, dict) else {}


def number_of(value: object) -> int | None:
    """A size or a status of a recording; None if there is none. HAR writes -1 for a size that is not known."""
    try:
        number = int(value)  # type: ignore[call-overload]  # anything may stand there
    except (ArithmeticError, TypeError, ValueError):
        return None
    return number if number >= 0 else None


def text_of(members: Mapping[str, Any], name: str) -> str:
    """The text of a member; empty if the member is missing or no text."""
    text = members.get(name)
    return text if isinstance(text, str) else ""


def _bytes_of(content: Mapping[str, Any]) -> tuple[bytes, bool]:
    """The bytes of a recorded body, and true if they are exactly those that were sent.

    It is false if the recorder could not write the bytes as text, or cut their base64.
    """
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
    """True if the recording says that the body was empty: by its Content-Length, or by both of its sizes.

    An empty text says nothing: recorders write one for a body that they left out, or keep in a file.
    """
    if status in (204, 304):  # they have no body (RFC 9110 sections 15.3.5 and 15.4.5)
        return True
    content_length = number_of(headers.get("content-length"))
    size = number_of(content.get("size"))
    size_on_the_wire = number_of(answer.get("bodySize"))
    if content_length is not None:
        return content_length == 0
    if content.get("_file") or _broke_off(answer):
        return False
    return size == 0 and size_on_the_wire == 0


def _broke_off(answer: Mapping[str, Any]) -> bool:
    """True if the answer did not arrive as a whole, as Chrome and Playwright write it."""
    return bool(answer.get("_error") or answer.get("_failureText"))


# -- whole or cut ---------------------------------------------------------------------------------------------------


def _is_json(body: bytes) -> bool:
    """True for a JSON object or array. Then the body is whole, whatever its recorded size: a part of it is no JSON."""
    return body.lstrip()[:1] in (b"{", b"[") and read_json(body).readable


def _announced_size(headers: Mapping[str, str]) -> int:
    """Number of bytes that the sender announced in Content-Length; 0 if it announced none.

    A recording with fewer bytes is not whole. It may have more, because a recorder undoes compression.
    """
    return number_of(headers.get("content-length")) or 0


def _lacks_only_byte_order_mark(body: bytes, size: int) -> bool:
    """True for whole JSON whose recorded `size` is larger only by a byte order mark, which the recorder left out."""
    return size == len(body) + _BYTE_ORDER_MARK and _is_json(body)


def _is_written_anew(answer: Mapping[str, Any], content: Mapping[str, Any], body: bytes) -> bool:
    """True for JSON that the recorder read and wrote again in its own form, as axios-har-tracker does.

    Both of its sizes are then the number of characters that it wrote.
    """
    sizes = {number_of(answer.get("bodySize")), number_of(content.get("size"))}
    return sizes == {len(content["text"])} and _is_json(body)


# -- content codings ------------------------------------------------------------------------------------------------


def _codings(headers: Mapping[str, str]) -> list[str]:
    """The content codings of a body, in the order in which the service applied them."""
    codings = [coding.strip() for coding in headers.get("content-encoding", "").lower().split(",")]
    return [coding for coding in codings if coding not in ("", "identity")]


def _decoded(raw: bytes, codings: list[str], headers: Mapping[str, str]) -> RecordedBody:
    """The body without its content codings, such as gzip. Most recorders have undone them already.

    `raw` are the recorded bytes, and `codings` those that Content-Encoding names. A coding that does not fit the bytes
    is a fault of the service only if these are the bytes that it sent: they are as many as Content-Length says, or they
    begin as gzip does.
    """
    if _is_text(raw):  # compressed bytes are no text, so the recorder has undone the codings
        return RecordedBody(raw)
    if _announced_size(headers) > len(raw):  # fewer bytes than were sent: the recorder cut them
        return NOT_RECORDED
    is_as_sent = number_of(headers.get("content-length")) == len(raw)
    body = raw
    is_whole = True
    for coding in reversed(codings):
        try:
            body, has_end = _without_coding(coding, body)
        except LookupError:  # the suite cannot undo this coding, so it cannot judge the body
            return NOT_RECORDED
        except _NotThisCodingError:
            begins_as_gzip = coding.endswith("gzip") and raw.startswith(b"\x1f\x8b")
            is_broken = is_as_sent or begins_as_gzip
            return RecordedBody(broken=_BROKEN.of(coding=coding)) if is_broken else NOT_RECORDED
        is_whole = is_whole and has_end
    # Compressed bytes without their end are a body that was cut. If they are as many as Content-Length says, it was the
    # service that cut it, and not the recorder, so the body is judged as it is.
    return RecordedBody(body, is_recorded=is_whole or is_as_sent)


class _NotThisCodingError(Exception):
    """Bytes that cannot be read with the content coding."""


def _without_coding(coding: str, body: bytes) -> tuple[bytes, bool]:
    """The body without a content coding. False if its end is missing.

    Raises _NotThisCodingError, and LookupError for a coding that the suite cannot undo.
    """
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
    """The body without br or zstd, which urllib3 can undo if their libraries are installed."""
    urllib3: Any = import_module("urllib3")  # loaded only now: reports load no library of the network
    if coding not in urllib3.HTTPResponse.CONTENT_DECODERS:
        raise LookupError(coding)
    decoding = urllib3.HTTPResponse(io.BytesIO(body), {"Content-Encoding": coding}, preload_content=False)
    try:
        content = decoding.read(_LARGEST, decode_content=True)
    except urllib3.exceptions.DecodeError:
        raise _NotThisCodingError from None
    return content, _is_json(content)


def _is_text(raw: bytes) -> bool:
    """True for UTF-8 text without control characters: bytes that are not compressed."""
    try:
        return not _CONTROL.search(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False
