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

# Each of these functions says if a service ends a connection: True if so.


def keep_connection(connection):
    """False, so the service keeps the connection."""
    return False


def close_connection(connection):
    """True, so the service closes the connection."""
    return True


def reset_and_close(connection):
    """Reset the connection, and return True, so the service closes it."""
    reset_connection(connection)
    return True


def close_if_a_real_code_arrives(connection):
    """True if the next request executes a real code, so the service closes the connection before it reads that request.

    A real code is one that the suite did not make up. The bytes of the request stay in the connection (MSG_PEEK).
    """
    next_bytes = connection.recv(2_000, socket.MSG_PEEK).decode("latin-1")
    path_and_rest = next_bytes.partition(" ")[2]
    return has_real_code(path_and_rest)


class ClosesConnections(SocketService):
    """Keeps each connection after its first request, and closes it at a moment that a subclass or a test chooses.

    Two functions choose the moment. Each takes the connection, and returns True if the service is to close it:
    - `ends_before_request` is asked before the next request is read.
    - `ends_instead_of_answer` is asked after a request with a real code was read, so this request gets no answer.
    """

    ends_before_request = ends_instead_of_answer = staticmethod(keep_connection)

    def __init__(self):
        """A service without connections."""
        super().__init__()
        # of requests that were not the first one of their connection: real codes, and the paths of all requests
        self.codes_on_kept_connections = []
        self.paths_on_kept_connections = []
        self.connection_ended = threading.Semaphore(0)  # released whenever a connection ends

    def _serve(self, connection):
        """Answer the requests of a connection until it ends, and release `connection_ended` then."""
        try:
            with connection, connection.makefile("rb") as stream:
                self._answer_all(connection, stream)
        except (OSError, ValueError):  # the suite has hung up
            return
        finally:
            self.connection_ended.release()

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
            self.paths_on_kept_connections.append(request.path)
            if has_real_code(request.path):
                code = normalized_path(request.path).removeprefix(EXECUTION_PATH)
                self.codes_on_kept_connections.append(code)
                if self.ends_instead_of_answer(connection):
                    return
            self.answer(connection, request)


class ClosesTheFirst(ClosesConnections):
    """Closes the first connection, and keeps the others."""

    def ends_before_request(self, connection):
        """True on the first connection, on which the first request of all has arrived."""
        return len(self.received) == 1
