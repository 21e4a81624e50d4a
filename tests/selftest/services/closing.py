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


def never(connection):
    """The connection is kept."""
    return False


def at_once(connection):
    """It ends, and nobody is told."""
    return True


def by_a_reset(connection):
    """It is reset."""
    reset_connection(connection)
    return True


def when_a_code_arrives(connection):
    """It ends before a request with a real code is read."""
    return has_real_code(connection.recv(2_000, socket.MSG_PEEK).decode("latin-1").partition(" ")[2])


class ClosesConnections(SocketService):
    """`before` the next request, or `instead` of the answer to a real code, it may end a connection that was used.
    `carried` are the real codes that arrived on a connection that had carried another request, `reused` the paths of all
    that did. `ended` is released when a connection has."""

    before = instead = staticmethod(never)

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
        while not (is_used and self.before(connection)) and (request := read_request(stream)):
            self.received.append(request)
            self.reused += [request.path] * is_used
            if is_used and has_real_code(request.path):
                self.carried.append(normalized_path(request.path).removeprefix(EXECUTION_PATH))
                if self.instead(connection):
                    return
            self.answer(connection, request)
            is_used = True


class ClosesTheFirst(ClosesConnections):
    """Closes the first connection, and keeps the others."""

    def before(self, connection):
        return len(self.received) == 1
