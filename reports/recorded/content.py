"""The body of a message as a recorder wrote it down: as text, in base64, still compressed, in part, or not at all.

A recorder is the program that wrote the HAR file, such as a browser. It leaves bodies out, cuts them, undoes their
compression, and parses JSON and writes it again. So if a body is missing in a recording, the message may have had one
nevertheless: the body counts as empty only if the recording says so.

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
"""Most bytes that one body is decompressed to: far more than a service sends. A small hostile file could otherwise be
decompressed to more than the memory holds."""
_INFLATING = {"gzip": (31,), "x-gzip": (31,), "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS)}
"""The codings that zlib can undo, each with the values of `wbits` to try, which tell zlib the format: 31 for gzip,
MAX_WBITS for deflate with the header of zlib, and -MAX_WBITS for deflate without it, as some services send it."""
_BYTE_ORDER_MARK = 3
"""Number of bytes of a byte order mark in UTF-8. Some recorders count it in a size, but leave it out of the text."""
_REPLACEMENT_CHARACTERS = re.compile("[\ufffd\ud800-\udfff]")
"""Characters that recorders write for bytes that are not UTF-8."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that no text of a service has, and that compressed bytes have."""
_LIKE_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
"""Base64 or base64url, whole or cut."""
_BROKEN = say("the content coding is {coding}, the body is not")
"""What is wrong with a body that cannot be read with the content coding that its header names."""


@dataclass(frozen=True)
class RecordedBody:
    """A body, without its content coding."""

    content: bytes = b""
    is_recorded: bool = True  # false if the recorder left the body out, cut it, or could not write it as text
    broken: Text = ""  # why the bytes of the service are not in the coding of Content-Encoding; empty if they are


NOT_RECORDED = RecordedBody(is_recorded=False)
"""A body that the recorder left out, so that nothing is known about it."""
_EMPTY = RecordedBody()
"""A body of which the recording says that it was empty."""


def body_of_request(request: Mapping[str, Any], headers: Mapping[str, str]) -> RecordedBody:
    """The body of a request in a HAR file. `request` is its JSON object, `headers` are by their names in lower case.

    A recorder may leave the text of a body out: mitmproxy writes none for DELETE, and Playwright writes an empty one if
    it stores bodies in other files. So a body without a text was empty only if its recorded size is 0.
    """
    # HAR 1.2 has the body in `postData`; axios-har-tracker writes it into `content`.
    for content in (members_of(request.get("postData")), members_of(request.get("content"))):
        if text_of(content, "text"):
            body, is_exact = _bytes_of(content)  # `is_exact`: the bytes are those that were sent
            is_whole = is_exact and len(body) >= _announced_size(headers)  # else the recorder cut the body
            # JSON that was cut is no JSON any more. So JSON is whole, even if the recorder changed a few of its bytes.
            return RecordedBody(body, is_recorded=is_whole or _is_json(body))
    sizes = [number_of(headers.get("content-length")), number_of(request.get("bodySize"))]
    recorded_sizes = [size for size in sizes if size is not None]
    was_empty = bool(recorded_sizes) and recorded_sizes[0] == 0  # the size in Content-Length, if there is one
    return _EMPTY if was_empty else NOT_RECORDED


def body_of_response(answer: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> RecordedBody:
    """The body of a response in a HAR file. `answer` is its JSON object, `headers` are by their names in lower case.

    The content coding, such as gzip, is undone if the recorder has not done so. A body that the recorder left out, cut
    or could not write exactly has `is_recorded=False`. A body counts as cut if it has fewer bytes than Content-Length
    says, or fewer than the size that the recorder wrote. But some recorders write wrong sizes in a known way: then the
    body does not count as cut.
    """
    content = members_of(answer.get("content"))
    if not text_of(content, "text"):
        return _EMPTY if _is_empty(answer, content, status, headers) else NOT_RECORDED
    raw, is_exact = _bytes_of(content)
    codings = _codings(headers)
    if codings:  # then `_decoded` compares Content-Length with the compressed bytes
        body = _decoded(raw, codings, headers)
    else:
        body = RecordedBody(raw, is_recorded=not _is_cut_by_content_length(answer, content, headers, raw))
    if body.broken:  # the service sent bytes that are not in the coding it names: that is judged, and not the body
        return body
    is_cut = _is_cut_by_recorded_size(content, body.content) or _connection_broke_off(answer)
    return RecordedBody(body.content, is_recorded=body.is_recorded and is_exact and not is_cut)


def members_of(value: object) -> Mapping[str, Any]:
    """The value itself if it is a JSON object, else an empty object: a recorder may write any value, even null."""
    return value if isinstance(value, dict) else {}


def number_of(value: object) -> int | None:
    """A size or a status of a recording as an integer, also if the recorder wrote it as text; None for anything else.

    A negative number gives None, too, because HAR writes -1 for a size that is not known.
    """
    try:
        number = int(value)  # type: ignore[call-overload]  # the value may have any type
    except (ArithmeticError, TypeError, ValueError):
        return None
    return number if number >= 0 else None


def text_of(members: Mapping[str, Any], name: str) -> str:
    """The text of a member of a JSON object; empty if the member is missing or its value is no text."""
    text = members.get(name)
    return text if isinstance(text, str) else ""


def _bytes_of(content: Mapping[str, Any]) -> tuple[bytes, bool]:
    """The bytes of a recorded body, and True if they are exactly those that were sent.

    It is False if the recorder could not write the bytes as text, or if the base64 of the bytes is cut.
    """
    text = text_of(content, "text")
    if text_of(content, "encoding").lower() == "base64":
        compact = "".join(text.split())
        try:
            return b64decode(compact, validate=True), True
        except ValueError:
            if _LIKE_BASE64.fullmatch(compact):  # base64 that is cut: no JSON object has only these characters
                return b"", False
            # Else the recorder wrote plain text although it says base64.
    is_exact = not _REPLACEMENT_CHARACTERS.search(text)
    return text.encode("utf-8", "surrogatepass"), is_exact


def _is_empty(answer: Mapping[str, Any], content: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> bool:
    """True if the recording shows that the body of a response was empty.

    The status is one without a body, such as 204; or the header Content-Length is 0; or, without this header, both
    sizes that the recorder wrote are 0: `size` of the body, and `bodySize` as it was sent. An empty text alone does not
    show it, because recorders also write an empty text for a body that they left out, or that they store in a file.
    """
    if status in (204, 304):  # they have no body (RFC 9110 sections 15.3.5 and 15.4.5)
        return True
    content_length = number_of(headers.get("content-length"))
    size = number_of(content.get("size"))
    size_on_the_wire = number_of(answer.get("bodySize"))
    if content_length is not None:
        return content_length == 0
    is_stored_in_file = bool(content.get("_file"))  # Playwright names the file of a body so
    if is_stored_in_file or _connection_broke_off(answer):
        return False
    return size == 0 and size_on_the_wire == 0


def _connection_broke_off(answer: Mapping[str, Any]) -> bool:
    """True if the connection broke before the whole response had arrived."""
    return bool(answer.get("_error") or answer.get("_failureText"))  # so Chrome and Playwright record it


# -- whole or cut ---------------------------------------------------------------------------------------------------


def _is_json(body: bytes) -> bool:
    """True if the body is a JSON object or array. Then it was not cut, because a part of it would be no JSON."""
    return body.lstrip()[:1] in (b"{", b"[") and read_json(body).readable


def _announced_size(headers: Mapping[str, str]) -> int:
    """The number of bytes in the header Content-Length; 0 if there is no such header.

    A recorded body with fewer bytes was cut. It may have more bytes, because recorders undo compression.
    """
    return number_of(headers.get("content-length")) or 0


def _is_cut_by_content_length(
    answer: Mapping[str, Any], content: Mapping[str, Any], headers: Mapping[str, str], body: bytes
) -> bool:
    """True if the header Content-Length shows that the recorder cut a body: it names more bytes than were recorded.

    Two cases are no cut: the recorder wrote JSON in its own way, or it left out a byte order mark.
    """
    announced_size = _announced_size(headers)
    if announced_size <= len(body):
        return False
    is_whole = _is_rewritten_json(answer, content, body) or _lacks_only_byte_order_mark(body, announced_size)
    return not is_whole


def _is_cut_by_recorded_size(content: Mapping[str, Any], body: bytes) -> bool:
    """True if the size that the recorder wrote shows that it cut a body: the size is larger than the body.

    Two cases are no cut: the size is that of the body in base64, or it counts a byte order mark that is left out.
    """
    size = number_of(content.get("size")) or 0
    if size <= len(body):
        return False
    size_is_of_base64 = size == len(content["text"])  # some recorders write the length of the base64 as the size
    is_whole = size_is_of_base64 or _lacks_only_byte_order_mark(body, size)
    return not is_whole


def _lacks_only_byte_order_mark(body: bytes, size: int) -> bool:
    """True if the body is whole JSON, and the recorded size is larger by the three bytes of a byte order mark.

    Recorders leave this mark out of the text, but count it in the size. So the body was not cut.
    """
    return size == len(body) + _BYTE_ORDER_MARK and _is_json(body)


def _is_rewritten_json(answer: Mapping[str, Any], content: Mapping[str, Any], body: bytes) -> bool:
    """True if the body is JSON that the recorder parsed and wrote again, as axios-har-tracker does.

    Then the number of its bytes does not show whether the body was cut. Such a body is recognized by the two sizes that
    the recorder wrote: both are then the number of characters of the JSON, and not a number of bytes.
    """
    number_of_characters = len(content["text"])
    size_on_the_wire = number_of(answer.get("bodySize"))
    size = number_of(content.get("size"))
    both_count_characters = size_on_the_wire == number_of_characters and size == number_of_characters
    return both_count_characters and _is_json(body)


# -- content codings ------------------------------------------------------------------------------------------------


def _codings(headers: Mapping[str, str]) -> list[str]:
    """The content codings of a body, such as ["gzip"], in the order in which the service applied them."""
    codings = [coding.strip() for coding in headers.get("content-encoding", "").lower().split(",")]
    return [coding for coding in codings if coding not in ("", "identity")]


def _decoded(raw: bytes, codings: list[str], headers: Mapping[str, str]) -> RecordedBody:
    """The body after its content codings, such as gzip, are undone. Most recorders have undone them already.

    `raw` are the recorded bytes, and `codings` the names in Content-Encoding. If the bytes cannot be read with a
    coding, either the service or the recorder is at fault. It is the service in two cases:

    - The number of bytes is that of Content-Length, so the recorder has changed nothing.
    - The bytes begin as gzip does: a recorder undoes gzip or leaves it, but does not write it.

    Otherwise the body counts as not recorded.
    """
    if _is_text(raw):  # compressed bytes are no text, so the recorder has undone the codings
        return RecordedBody(raw)
    if _announced_size(headers) > len(raw):  # fewer bytes than were sent, so the recorder cut them
        return NOT_RECORDED
    is_as_sent = number_of(headers.get("content-length")) == len(raw)  # the recorder has changed nothing
    body = raw
    is_whole = True
    for coding in reversed(codings):  # the last coding that the service applied is undone first
        try:
            body, has_end = _without_coding(coding, body)
        except LookupError:  # the suite cannot undo this coding, so it cannot judge the body
            return NOT_RECORDED
        except _NotThisCodingError:
            is_gzip = coding in ("gzip", "x-gzip")  # two names of one coding (RFC 9110 section 8.4.1.3)
            begins_as_gzip = is_gzip and raw.startswith(b"\x1f\x8b")  # RFC 1952 section 2.3.1
            is_broken = is_as_sent or begins_as_gzip
            return RecordedBody(broken=_BROKEN.with_values(coding=coding)) if is_broken else NOT_RECORDED
        is_whole = is_whole and has_end
    # Compressed bytes without their end are a body that was cut. If they are as many as Content-Length says, the
    # service cut it, and not the recorder. Then the body is judged as it is.
    return RecordedBody(body, is_recorded=is_whole or is_as_sent)


class _NotThisCodingError(Exception):
    """Bytes that cannot be read with the content coding."""


def _without_coding(coding: str, body: bytes) -> tuple[bytes, bool]:
    """The body after one content coding, such as gzip, is undone; and True if the compressed bytes have their end.

    Raises _NotThisCodingError if the bytes are not in this coding, and LookupError if the suite does not know it.
    """
    for wbits in _INFLATING.get(coding, ()):  # zlib's number for a format; deflate is written in two, so both are tried
        inflating = zlib.decompressobj(wbits)
        try:
            return inflating.decompress(body, _LARGEST), inflating.eof
        except zlib.error:
            continue
    if coding in _INFLATING:
        raise _NotThisCodingError
    return _without_other_coding(coding, body)


def _without_other_coding(coding: str, body: bytes) -> tuple[bytes, bool]:
    """The body after br or zstd is undone, and True if it is whole, which is known only if it is JSON.

    urllib3 can undo these codings if their libraries are installed. Raises LookupError if they are not, and
    _NotThisCodingError if the bytes are not in this coding.
    """
    urllib3: Any = import_module("urllib3")  # imported only here, because reports import no library of the network
    if coding not in urllib3.HTTPResponse.CONTENT_DECODERS:
        raise LookupError(coding)
    decoding = urllib3.HTTPResponse(io.BytesIO(body), {"Content-Encoding": coding}, preload_content=False)
    try:
        content = decoding.read(_LARGEST, decode_content=True)
    except urllib3.exceptions.DecodeError:
        raise _NotThisCodingError from None
    return content, _is_json(content)


def _is_text(raw: bytes) -> bool:
    """True if the bytes are UTF-8 text without control characters, so that they cannot be compressed."""
    try:
        return not _CONTROL.search(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False
