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
    """Keep the connection. False, because it does not end."""
    return False


def close_connection(connection):
    """True, so that the service closes the connection without telling the peer."""
    return True


def reset_and_close(connection):
    """Reset the connection."""
    reset_connection(connection)
    return True


def close_if_a_real_code_arrives(connection):
    """End the connection before a request with a real code is read."""
    return has_real_code(connection.recv(2_000, socket.MSG_PEEK).decode("latin-1").partition(" ")[2])


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
        is_used = False
        while not (is_used and self.ends_before_request(connection)) and (request := read_request(stream)):
            self.received.append(request)
            if is_used:
                self.reused.append(request.path)
            if is_used and has_real_code(request.path):
                self.carried.append(normalized_path(request.path).removeprefix(EXECUTION_PATH))
                if self.ends_instead_of_answer(connection):
                    return
            self.answer(connection, request)
            is_used = True


class ClosesTheFirst(ClosesConnections):
    """Closes the first connection, and keeps the others."""

    def ends_before_request(self, connection):
        return len(self.received) == 1
