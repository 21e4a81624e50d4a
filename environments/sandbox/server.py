"""Real HTTP/1.1 for a WSGI application, on a port of this machine, in a thread of this process.

It is Werkzeug's threaded server with three differences: connections are kept alive (Werkzeug's own handler
closes each), nothing is printed, and a message that is not HTTP is refused in JSON like everything else.
"""

from __future__ import annotations

import io
import json
import logging
import socket
import sys
import threading
from collections.abc import Iterable
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from environments.sandbox.framing import read_body
from environments.sandbox.messages import MAX_BODY

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

POLL_SECONDS = 0.005
"""How often the accepting thread looks whether to stop; half of it is the usual wait in `stop`."""

log = logging.getLogger(__name__)


class Server:
    """Serves a WSGI application from `start` to `stop`; a context manager. A port in use is an OSError."""

    def __init__(self, service: WSGIApplication, host: str = "127.0.0.1", port: int = 0) -> None:
        self.service = service
        # Bound here, since Werkzeug ends the process where the port is in use.
        with socket.create_server((host, port), backlog=128) as listener:
            self._http = _HTTPServer(host, port, service, _Handler, fd=listener.fileno())
        serve = self._http.serve_forever
        self._thread = threading.Thread(target=serve, args=(POLL_SECONDS,), name="pix-sandbox", daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://{self._http.host}:{self._http.port}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop accepting, and close what is open. Returns within about POLL_SECONDS."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()
        self._http.close_connections()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stop()


class _HTTPServer(ThreadedWSGIServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is closed already

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Only a fault of the service is worth a trace; a client may go away at any time."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("The sandbox failed")


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # so that the refusal of garbage has a status line, too
    disable_nagle_algorithm = True  # or a response waits 40 ms for a delayed acknowledgement
    timeout = 60  # seconds without a byte, after which the connection is closed

    def run_wsgi(self) -> None:
        """Answer one request."""
        try:
            environ = self._environ()
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        head: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
            head[:] = status, headers

        try:
            pieces = self.server.app(environ, start_response)
        except Exception:
            log.exception("The sandbox failed")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
            return
        status, headers = head
        self._send(status, headers, pieces)

    def _environ(self) -> WSGIEnvironment:
        """The WSGI environment, with the whole body; ValueError where the message is not HTTP."""
        self.environ = self.make_environ()
        body = read_body(self.rfile, self.headers)
        if len(body) > MAX_BODY:
            self.close_connection = True  # not all of it was read
        return self.environ | {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}

    def _send(self, status: str, headers: list[tuple[str, str]], pieces: Iterable[bytes]) -> None:
        """Send a response. Where the application says how long it is, its pieces go out as they come."""
        code, _, phrase = status.partition(" ")
        bodiless = code in ("204", "304")
        if not bodiless and not {"content-length", "transfer-encoding"} & {name.lower() for name, _ in headers}:
            pieces = [b"".join(pieces)]
            headers = [*headers, ("Content-Length", str(len(pieces[0])))]
        self._send_head(int(code), phrase, headers)
        if not bodiless and self.command != "HEAD":
            for piece in pieces:
                self.wfile.write(piece)

    def _send_head(self, code: int, phrase: str, headers: list[tuple[str, str]]) -> None:
        self.send_response(code, phrase)
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def version_string(self) -> str:
        """The header Server."""
        return "pix-sandbox"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is not HTTP, and close the connection. The message would repeat what was sent.

        http.server answers an unknown version with 505; that is a client's mistake, too.
        """
        status = HTTPStatus(code)
        if status > HTTPStatus.INTERNAL_SERVER_ERROR:
            status = HTTPStatus.BAD_REQUEST
        body = {"code": status.value, "data": {"error": f"{status.phrase}: {status.description}."}}
        self.close_connection = True
        headers = [("Content-Type", "application/json")]
        self._send(f"{status.value} {status.phrase}", headers, [json.dumps(body).encode()])

    def log(self, type: str, message: str, *args: Any) -> None:
        """Nothing: what a service is sent is not printed."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing; Werkzeug's own parses the path again, and fails where that is broken."""
