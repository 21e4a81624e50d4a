"""A service that closes a connection which it kept, at whatever moment."""

import socket
import threading

from tests.selftest.services.serving import (
    EXECUTION_PATH,
    SocketService,
    has_real_code,
    normalized_path,
    read_request,
    reset_connection,
)


def keep_connection(connection):
    """Keep the connection. Returns False, because the connection does not end."""
    return False


def close_connection(connection):
    """End the connection. Returns True, so that the service closes it."""
    return True


def reset_and_close(connection):
    """Reset the connection, and end it. Returns True, so that the service closes it."""
    reset_connection(connection)
    return True


def close_if_a_real_code_arrives(connection):
    """End the connection if its next request has a real code, before that request is read.

    Returns True if so. A real code is one that the suite did not make up. The bytes are looked at and not consumed.
    """
    next_bytes = connection.recv(2_000, socket.MSG_PEEK).decode("latin-1")
    path_and_rest = next_bytes.partition(" ")[2]
    return has_real_code(path_and_rest)


class ClosesConnections(SocketService):
    """Keeps each connection after its first request, and closes it at a moment that a subclass or a test chooses.

    `ends_before_request` closes it before the next request is read. `ends_instead_of_answer` closes it when a request
    with a real code was read, so this request gets no answer. Each takes the connection, and returns True if it closes.
    `carried` are the real codes that arrived on a connection with an earlier request, `reused` the paths of all requests
    on such connections. `ended` is released whenever a connection ends.
    """

    ends_before_request = ends_instead_of_answer = staticmethod(keep_connection)

    def __init__(self):
        super().__init__()
        self.carried = []
        self.reused = []
        self.ended = threading.Semaphore(0)

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                self._answer_all(connection, stream)
        except (OSError, ValueError):  # the suite has hung up
            return
        finally:
            self.ended.release()

    def _answer_all(self, connection, stream):
        """Answer the requests of a connection, until the suite or this service ends it."""
        request = read_request(stream)
        if request is None:
            return
        self.received.append(request)
        self.answer(connection, request)
        while not self.ends_before_request(connection):
            request = read_request(stream)
            if request is None:
                return
            self.received.append(request)
            self.reused.append(request.path)
            if has_real_code(request.path):
                self.carried.append(normalized_path(request.path).removeprefix(EXECUTION_PATH))
                if self.ends_instead_of_answer(connection):
                    return
            self.answer(connection, request)


class ClosesTheFirst(ClosesConnections):
    """Closes the first connection, and keeps the others."""

    def ends_before_request(self, connection):
        return len(self.received) == 1
