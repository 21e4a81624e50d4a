"""A service over raw sockets: lawful like the sandbox until a subclass lies. It keeps what it was sent."""

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
    """Listens on a free loopback port from `with` on. `seen` are the requests, in the order of their arrival."""

    host = "http://127.0.0.1"

    def __init__(self, token: str = "Tok-3n.Of-The_Service") -> None:
        self.sandbox = Service(token=token)
        self.received: list[Request] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._stopped = threading.Event()

    @property
    def base_url(self) -> str:
        return f"{self.host}:{self._listener.getsockname()[1]}"

    @property
    def executions(self) -> list[str]:
        """The codes that were sent with the valid token."""
        mine = [seen for seen in self.received if has_real_code(seen.path) and self.is_granted(seen)]
        return [seen.path.removeprefix(EXECUTION_PATH) for seen in mine]

    def is_granted(self, request: Request) -> bool:
        """Whether a request has the valid token."""
        return request.header("Authorization") == f"Bearer {self.sandbox.token}"

    def answer(self, connection: socket.socket, request: Request) -> None:
        """Say what a lawful service says; a lie overrides this."""
        connection.sendall(response_bytes(self.sandbox.respond(request)))

    def greet(self, connection: socket.socket) -> bool:
        """Whether a new connection is listened to."""
        return True

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # the end of the test
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while self.greet(connection) and (request := read_request(stream)):
                    self.received.append(request)
                    self.answer(connection, request)
        except (OSError, ValueError):  # the suite has hung up
            return


def served_by(*services: type[SocketService]) -> pytest.MarkDecorator:
    """Has the fixture `service` be each of these services."""
    return pytest.mark.parametrize("service", services, ids=lambda service: service.__name__, indirect=True)


def real_codes_received(service: SocketService) -> list[tuple[str, str]]:
    """The transaction codes that the suite did not make up, in the order of their arrival, with their credential."""
    sent = [(normalized_path(seen.path), seen.header("Authorization")) for seen in service.received]
    return [(path.removeprefix(EXECUTION_PATH), credential) for path, credential in sent if has_real_code(path)]


def has_real_code(path: str) -> bool:
    """Whether a path executes a code that the suite did not make up."""
    return normalized_path(path).startswith(EXECUTION_PATH) and "pixconf-" not in path


def normalized_path(path: str) -> str:
    """A path without what is unusual about it."""
    return re.sub("/+", "/", unquote(path)).rstrip("/")


def read_request(stream) -> Request | None:
    """One request with a Content-Length; None at the end of the connection. A proxy is asked for a whole address."""
    method, _, rest = stream.readline().decode("latin-1").partition(" ")
    headers = {}
    while line := stream.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if not rest:
        return None
    target = re.sub("^http://[^/]+", "", rest.rpartition(" ")[0])
    path, _, query = target.partition("?")
    body = stream.read(int(headers.get("content-length", 0)))
    while headers.get("transfer-encoding") and (size := int(stream.readline(), 16)):
        body += stream.read(size + 2)[:-2]
    stream.read(2 if headers.get("transfer-encoding") else 0)
    return Request(method, path, query, headers, body)


def response_bytes(response: Response) -> bytes:
    """A response with its length, as it goes over the wire."""
    headers = [*response.headers, ("Content-Length", str(len(response.body)))]
    lines = [f"HTTP/1.1 {response.status} ", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + response.body


def reset_connection(connection: socket.socket) -> None:
    """Close the connection so that the peer gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.shutdown(socket.SHUT_RD)
    connection.close()
