"""A service over raw sockets, for faults that only a socket shows.

It answers as the sandbox does until a subclass overrides `answer`, and keeps the requests that arrive.
"""

import re
import socket
import struct
import threading
from typing import Self
from urllib.parse import unquote

import pytest

from environments.sandbox import Request, Response, Service

EXECUTION_PATH = "/v1/execute/pix/"


class SocketService:
    """Listens on a free loopback port inside a `with` statement.

    `received` are the requests in the order of their arrival, `sandbox` is the service that answers them.
    """

    host = "http://127.0.0.1"

    def __init__(self, token: str = "Tok-3n.Of-The_Service") -> None:
        """A service that is not started. `token` is the valid token. Its port is taken already, so it has an address."""
        self.sandbox = Service(token=token)
        self.received: list[Request] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._stopped = threading.Event()

    @property
    def base_url(self) -> str:
        """The address of the service, such as "http://127.0.0.1:43210"."""
        return f"{self.host}:{self._listener.getsockname()[1]}"

    @property
    def executions_with_valid_token(self) -> list[str]:
        """The codes of executions that arrived with the valid token, whatever the answer was."""
        codes = []
        for request in self.received:
            if has_real_code(request.path) and self.has_valid_token(request):
                codes.append(request.path.removeprefix(EXECUTION_PATH))
        return codes

    def has_valid_token(self, request: Request) -> bool:
        """True if a request has the valid token."""
        return request.header("Authorization") == f"Bearer {self.sandbox.token}"

    def answer(self, connection: socket.socket, request: Request) -> None:
        """Send the answer of the sandbox. A subclass with a fault overrides this."""
        connection.sendall(response_bytes(self.sandbox.respond(request)))

    def is_ready_to_read(self, connection: socket.socket) -> bool:
        """True, so the service reads the next request from this connection. A subclass may wait here, or return False."""
        return True

    def __enter__(self) -> Self:
        """Start the service."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the service."""
        self._stopped.set()
        self._listener.close()

    def _accept(self) -> None:
        """Accept connections until the service is stopped, and answer each in a thread of its own."""
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # the end of the test
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer the requests of a connection until the suite or the service hangs up."""
        try:
            with connection, connection.makefile("rb") as stream:
                while self.is_ready_to_read(connection):
                    request = read_request(stream)
                    if request is None:
                        return
                    self.received.append(request)
                    self.answer(connection, request)
        except (OSError, ValueError):  # the suite has hung up
            return


def served_by(*services: type[SocketService]) -> pytest.MarkDecorator:
    """A mark for a test: the test runs once with each of these services as its fixture `service`.

    A service is started before the test, and stopped after it.
    """
    names = [service.__name__ for service in services]
    return pytest.mark.parametrize("service", services, ids=names, indirect=True)


def real_codes_received(service: SocketService) -> list[tuple[str, str]]:
    """The executions of real codes that arrived, in this order. A real code is one that the suite did not make up.

    Each is a pair of the code and the Authorization header: ("TX-1", "Bearer …").
    """
    codes_and_credentials = []
    for request in service.received:
        path = normalized_path(request.path)
        if has_real_code(path):
            codes_and_credentials.append((path.removeprefix(EXECUTION_PATH), request.header("Authorization")))
    return codes_and_credentials


def has_real_code(path: str) -> bool:
    """True if a path executes a real code. A code with "pixconf-" is none, because the suite has made it up."""
    return normalized_path(path).startswith(EXECUTION_PATH) and "pixconf-" not in path


def normalized_path(path: str) -> str:
    """A path without repeated slashes, percent-encoding, and a slash or `.json` at its end.

    It is "/v1/pix/a" for "//v1/pix/%61/" and for "/v1/pix/a.json".
    """
    return re.sub("/+", "/", unquote(path)).rstrip("/").removesuffix(".json")


def read_request(stream) -> Request | None:
    """The next request of a connection; None at the end of the connection.

    A request to a proxy has a whole address in the place of the path, such as "http://bank.example/v1/pix". Only the
    path of the address is returned.
    """
    method, _, target_and_version = stream.readline().decode("latin-1").partition(" ")
    headers = _read_headers(stream)
    connection_has_ended = not target_and_version
    if connection_has_ended:
        return None
    target = target_and_version.rpartition(" ")[0]
    target_without_host = re.sub("^http://[^/]+", "", target)
    path, _, query = target_without_host.partition("?")
    if headers.get("transfer-encoding"):
        body = _read_chunks(stream)
    else:
        body = stream.read(int(headers.get("content-length", 0)))
    return Request(method, path, query, headers, body)


def _read_headers(stream) -> dict[str, str]:
    """The headers up to an empty line, by name in small letters."""
    headers = {}
    line = stream.readline().decode("latin-1").strip()
    while line:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
        line = stream.readline().decode("latin-1").strip()
    return headers


def _read_chunks(stream) -> bytes:
    """A body that is sent in chunks (RFC 9112 section 7.1): each has its size on a line, and the last has the size 0."""
    body = b""
    size = int(stream.readline(), 16)
    while size > 0:
        body += stream.read(size)
        stream.readline()  # the line end behind the chunk
        size = int(stream.readline(), 16)
    stream.readline()  # the empty line behind the last chunk
    return body


def response_bytes(response: Response) -> bytes:
    """The bytes of a response, with its Content-Length."""
    headers = [*response.headers, ("Content-Length", str(len(response.body)))]
    header_lines = [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join([f"HTTP/1.1 {response.status} ", *header_lines, "", ""])
    return head.encode("latin-1", "replace") + response.body


def reset_connection(connection: socket.socket) -> None:
    """Close the connection so that the peer gets a reset."""
    linger_for_no_time = struct.pack("ii", 1, 0)  # closing with this option sends a reset (RST)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_for_no_time)
    connection.shutdown(socket.SHUT_RD)
    connection.close()
