"""Real HTTP/1.1 for a service, on a port of this machine, in threads of this process: one for each connection.

It is http.server with three differences: connections are kept alive, nothing is printed, and a message that is not HTTP
is refused in JSON, like every other refusal. Where a body begins and ends on a connection says RFC 9112 section 6; the
whole body is read before the request is answered, so that the next request on the connection can follow.
"""

from __future__ import annotations

import json
import logging
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from typing import Any, Self
from urllib.parse import urlsplit

from environments.sandbox.messages import MAX_BODY, Request, Response
from environments.sandbox.protocol import HttpService

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


POLL_SECONDS = 0.005
"""How often the accepting thread looks whether to stop; half of it is the usual wait in `stop`."""

log = logging.getLogger(__name__)


class Server(socketserver.ThreadingTCPServer):
    """Serves from `start` to `stop`; a context manager. A port in use is an OSError."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, service: HttpService, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), _Handler)
        self.service = service
        self.connections: set[socket.socket] = set()
        serve = self.serve_forever
        self._thread = threading.Thread(target=serve, args=(POLL_SECONDS,), name="pix-sandbox", daemon=True)

    @property
    def base_url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop accepting, and close what is open. Returns within about POLL_SECONDS."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        self.server_close()
        for connection in tuple(self.connections):
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A fault of the service is worth a trace; a client may go away at any time."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("The sandbox failed")


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # so that the refusal of garbage has a status line, too
    disable_nagle_algorithm = True  # or a response waits 40 ms for a delayed acknowledgement
    timeout = 60  # seconds without a byte, after which the connection is closed

    def __getattr__(self, name: str) -> Any:
        """`do_GET` and all the others are one: the service knows which methods it has."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        try:
            request = self._request()
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        try:
            response = self.server.service.serve(request, self.connection)
        except Exception:
            log.exception("The sandbox failed")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
            return
        if response is not None:
            self._send(response)

    def _request(self) -> Request:
        """The request with its body; ValueError where the message is not HTTP."""
        body = read_body(self.rfile, self.headers)
        if len(body) > MAX_BODY:
            self.close_connection = True  # not all of it was read
        path, _, query = self.path.partition("?")
        if not path.startswith("/"):  # such as http://host/v1/accounts
            path = urlsplit(path).path
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            before = headers.get(name.lower())
            headers[name.lower()] = value if before is None else f"{before},{value}"
        return Request(self.command, path, query, headers, body)

    def _send(self, response: Response) -> None:
        """Send a response; its length is added where no header says where it ends."""
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        names = {name.lower() for name, _ in response.headers}
        bodiless = response.status in (204, 304)
        if not bodiless and not names & {"content-length", "transfer-encoding"}:
            self.send_header("Content-Length", str(len(response.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if not bodiless and self.command != "HEAD":
            self.wfile.write(response.body)

    def version_string(self) -> str:
        """The header Server."""
        return "pix-sandbox"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is not HTTP, and close the connection. The message would repeat what was sent.

        http.server answers an unknown version with 505; that is a client's mistake, too.
        """
        status = HTTPStatus(code if code <= HTTPStatus.INTERNAL_SERVER_ERROR else HTTPStatus.BAD_REQUEST)
        body = {"code": status.value, "data": {"error": f"{status.phrase}: {status.description}."}}
        self.close_connection = True
        self._send(Response(status, json.dumps(body).encode(), (("Content-Type", "application/json"),)))

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: requests hold secrets."""
