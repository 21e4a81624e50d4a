"""Services that close a connection which they kept, at whatever moment. `carried` are the real codes that arrived on a
connection that had carried another request, `reused` the paths of all that did, and `torn` how many requests they did not
live to read."""

import socket
import threading
import time

from tests.selftest.services.serving import EXECUTION, Raw, is_real, read_request, reset


class Closes(Raw):
    """Closes no connection by itself."""

    def __init__(self):
        super().__init__()
        self.carried: list[str] = []
        self.reused: list[str] = []
        self.torn = 0

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                answered = 0
                while not (answered and self.before_a_request(connection)) and (request := read_request(stream)):
                    self.seen.append(request)
                    self.reused += [request.path] if answered else []
                    if answered and is_real(request.path):
                        self.carried.append(request.path.removeprefix(EXECUTION))
                        if self.instead_of_an_answer(connection):
                            return
                    self.answer(connection, request)
                    answered += 1
        except (OSError, ValueError):  # the suite has hung up
            return

    def before_a_request(self, connection):
        """Whether a connection that was used ends before its next request."""
        return False

    def instead_of_an_answer(self, connection):
        """Whether a connection that was used ends when a real code was read."""
        return False


class ClosesAtOnce(Closes):
    """Closes each connection after its answer, and does not say so."""

    def before_a_request(self, connection):
        return True


class ClosesTheFirst(Closes):
    """Closes the first connection after its answer, and does not say so. `ended` is set when it has done so."""

    def __init__(self):
        super().__init__()
        self.ended = threading.Event()

    def before_a_request(self, connection):
        return not self.ended.is_set()

    def _serve(self, connection):
        super()._serve(connection)
        self.ended.set()


class ClosesALittleLater(Closes):
    """Closes each connection two milliseconds after its answer."""

    def before_a_request(self, connection):
        time.sleep(0.002)
        return True


class ResetsAtOnce(Closes):
    """Resets each connection after its answer."""

    def before_a_request(self, connection):
        reset(connection)
        return True


class ClosesWithoutReading(Closes):
    """Sees that a real code arrives, and closes the connection before it has read it."""

    def before_a_request(self, connection):
        arrived = connection.recv(2_000, socket.MSG_PEEK).decode("latin-1")
        torn = is_real(arrived.partition(" ")[2])
        self.torn += torn
        return torn


class ClosesInTheMiddle(ClosesWithoutReading):
    """Reads the beginning of a request with a real code, and closes the connection."""

    def before_a_request(self, connection):
        torn = super().before_a_request(connection)
        if torn:
            connection.recv(len("GET /v1"))
        return torn


class ClosesWhenItHasRead(Closes):
    """Reads a request with a real code, and closes the connection instead of an answer."""

    def instead_of_an_answer(self, connection):
        connection.shutdown(socket.SHUT_RDWR)
        return True


class ResetsWhenItHasRead(Closes):
    """Reads a request with a real code, and resets the connection."""

    def instead_of_an_answer(self, connection):
        reset(connection)
        return True
