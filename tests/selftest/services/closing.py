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
    """Keep the connection. False, because it does not end."""
    return False


def at_once(connection):
    """End the connection without telling the peer."""
    return True


def by_a_reset(connection):
    """Reset the connection."""
    reset_connection(connection)
    return True


def when_a_code_arrives(connection):
    """End the connection before a request with a real code is read."""
    return has_real_code(connection.recv(2_000, socket.MSG_PEEK).decode("latin-1").partition(" ")[2])


class ClosesConnections(SocketService):
    """Ends a connection that has carried a request, if `before` says so for the next request, or `instead` in the
    place of an answer to a real code.  `carried` are the real codes that arrived on a connection with an earlier
    request, `reused` the paths of all requests on such connections. `ended` is released whenever a connection ends.
    """

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
            if is_used:
                self.reused.append(request.path)
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
