"""Where the body of a request begins and ends on a connection (RFC 9112 section 6).

The whole body is read before the request is answered, so that the next request on the connection can follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from io import BufferedIOBase

from environments.sandbox.messages import MAX_BODY

DRAIN = 16 * MAX_BODY
"""Bytes of a body too large that are read and dropped, so that the client gets to read the refusal."""

BLOCK = 65_536


def read_body(stream: BufferedIOBase, headers: Message) -> bytes:
    """The body, or its first MAX_BODY + 1 bytes. ValueError where it is malformed or breaks off."""
    lengths = {value.strip() for value in headers.get_all("Content-Length", [])}
    codings = [value.strip().lower() for value in headers.get_all("Transfer-Encoding", [])]
    if codings:
        if codings != ["chunked"] or lengths:
            raise ValueError("one body has one length")
        return _first(_chunked(stream))
    return _first(_exactly(stream, _length(lengths)))


def _length(values: set[str]) -> int:
    """Content-Length; without one there is no body."""
    value = "".join(values) or "0"
    if len(values) > 1 or not (value.isascii() and value.isdigit()):
        raise ValueError("Content-Length is one number")
    return int(value)


def _first(blocks: Iterator[bytes]) -> bytes:
    """What is kept of a body; the rest is read and dropped, up to a limit."""
    kept, seen = bytearray(), 0
    for block in blocks:
        kept += block[: MAX_BODY + 1 - len(kept)]
        seen += len(block)
        if seen > DRAIN:
            break
    return bytes(kept)


def _exactly(stream: BufferedIOBase, size: int) -> Iterator[bytes]:
    while size:
        block = stream.read(min(size, BLOCK))
        if not block:
            raise ValueError("the body breaks off")
        size -= len(block)
        yield block


def _chunked(stream: BufferedIOBase) -> Iterator[bytes]:
    """The data of the chunks (RFC 9112 section 7.1); extensions and trailers are read over."""
    while size := int(_line(stream).split(b";")[0], 16):
        if size < 0:
            raise ValueError("a chunk has a negative size")
        yield from _exactly(stream, size)
        if _line(stream):
            raise ValueError("a chunk is longer than its size")
    while _line(stream):
        pass


def _line(stream: BufferedIOBase) -> bytes:
    line = stream.readline(1024)
    if not line.endswith(b"\n"):
        raise ValueError("a line breaks off or is too long")
    return line.strip()
