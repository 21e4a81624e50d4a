"""Real HTTP/1.1 for a service, on a port of this machine, in threads of this process, one for each connection.

It is http.server with three differences: connections are kept alive, nothing is printed, and a message that is not HTTP
is refused in JSON, like every other refusal. A body has a Content-Length (RFC 9112 section 6) and is read before the
request is answered, so that the next request on the connection can follow.

Self-tests: environments/test_sandbox.py.
"""

from __future__ import annotations

import logging
import re
import socket
import socketserver
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from environments.sandbox.protocol import MAX_BODY, HttpService, Request, Response

MAX_BYTES_READ = 16 * MAX_BODY
"""Bytes of a body that are read at most, although a body of more than MAX_BODY is refused. A client may read the
refusal only after it has sent the whole body. A body of more than this size would take too long: its connection is
closed."""
POLL_SECONDS = 0.005
"""Seconds after which the accepting thread looks again whether to stop. `stop` waits half as long on average."""

log = logging.getLogger(__name__)


class Server(socketserver.ThreadingTCPServer):
    """Serves from its creation until `stop`, or to the end of a `with` block. Raises OSError if the port is in use."""

    allow_reuse_address = True  # so that the same port can be used right after another server ended
    daemon_threads = True  # threads of open connections do not keep the process alive,
    block_on_close = False  # and `stop` does not wait for them, because it closes their connections itself
    request_queue_size = 128  # connections that may wait to be accepted: more than any run opens at once

    def __init__(self, service: HttpService, port: int = 0) -> None:
        """Start to serve on this port of 127.0.0.1, in a thread. Port 0 means any free port."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.service = service
        self.connections: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The address of the server, such as `http://127.0.0.1:41234`."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        """Accept no further connection, and close the open ones. Returns within about POLL_SECONDS."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        for connection in tuple(self.connections):
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *_: object) -> None:
        """Stop the server at the end of a `with` block."""
        self.stop()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a new connection, in a thread of its own, and remember it, so that `stop` can close it.

        socketserver calls the connection `request`.
        """
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and no longer remember it as open. socketserver calls the connection `request`."""
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_: Any) -> None:
        """Log an exception of the service with its traceback. socketserver calls this.

        An OSError is not logged, because it only says that a client closed its connection, which it may do.
        """
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            log.exception("The sandbox failed")


class _Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection, and sends the responses of the service."""

    server: Server
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # so that the refusal of garbage has a status line, too
    disable_nagle_algorithm = True  # or a response waits 40 ms for a delayed acknowledgement
    timeout = 60  # seconds without a byte, after which the connection is closed
    server_version, sys_version = "pix-sandbox", ""
    error_message_format = '{"code": %(code)d, "data": {"error": "%(explain)s."}}'
    error_content_type = "application/json"

    def __getattr__(self, name: str) -> Any:
        """The function that http.server calls for a request: `do_GET` for GET, `do_BREW` for BREW, and so on.

        It is `_answer` for every HTTP method, because the service itself refuses methods that it does not have.
        """
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        """Read one request from the connection, and send the response of the service.

        A request whose body cannot be read is refused with 400. If the service raises an exception, which is a fault of
        the sandbox, the response is 500.
        """
        body = self._body()
        if body is None:
            self.send_error(400)
            return
        path, _, query = self.path.partition("?")
        headers = {}
        for name in self.headers:
            values = self.headers.get_all(name, [])  # several if the header occurs several times
            headers[name.lower()] = ",".join(values)
        try:
            request = Request(self.command, path, query, headers, body, self.request_version)
            response = self.server.service.serve(request, self.connection)
        except Exception:
            log.exception("The sandbox failed")
            self.send_error(500)
            return
        # It is None if the service wrote to the connection itself, as broken services of self-tests do.
        if response is not None:
            self._send(response)

    def _body(self) -> bytes | None:
        """Read the body of the request. None if its length is not clear, or if fewer bytes come.

        Of a body that is too large, more than MAX_BODY bytes are returned, so that the service refuses the request.
        """
        length = ",".join(self.headers.get_all("Content-Length", ["0"]))  # two such headers give "1,2": no number
        is_number = re.fullmatch("[0-9]{1,18}", length)  # no body is longer, and int() fails for thousands of digits
        if not is_number or "Transfer-Encoding" in self.headers:
            return None
        size = min(int(length), MAX_BYTES_READ)
        if size > MAX_BODY:
            self.close_connection = True  # otherwise the rest of the body would be read as the next request
        body = self.rfile.read(size)
        return body if len(body) == size else None

    def _send(self, response: Response) -> None:
        """Send a response. Content-Length is added if no header says where the body ends.

        No body is sent with the statuses 204 and 304, and in the answer to HEAD: a client would take such a body for
        the next response on this connection.
        """
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        names = {name.lower() for name, _ in response.headers}
        has_an_end = "content-length" in names or "transfer-encoding" in names
        has_no_body = response.status in (204, 304)  # RFC 9110 sections 15.3.5 and 15.4.5
        if not has_no_body and not has_an_end:
            self.send_header("Content-Length", str(len(response.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if not has_no_body and self.command != "HEAD":
            self.wfile.write(response.body)

    def send_error(self, code: int, *_: Any, **__: Any) -> None:
        """Refuse a message that is not HTTP with this status, and close the connection.

        http.server calls this with a text that repeats the request. The text is left out.
        """
        super().send_error(code)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing, although http.server prints a line for each request: requests have secrets."""
