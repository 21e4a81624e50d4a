"""Services that try to harm their callers. The name says how."""

import gzip
import io
import json
import os
import socket

from environments.sandbox import Response
from tests.selftest.services.serving import Raw, as_bytes, reset

SCRIPT = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
ESCAPES = "\x1b[31m\x1b]0;owned\x07\x9b2J\r\u202e"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def in_json(body: bytes, *headers: tuple[str, str], status: int = 200) -> bytes:
    """A whole answer of JSON."""
    return as_bytes(Response(status, body, (("Content-Type", "application/json"), *headers)))


class Says(Raw):
    """Gives the same answer to everything."""

    said = b""

    def answer(self, connection, request):
        connection.sendall(self.said)


class AcceptsAndNeverAnswers(Raw):
    """Takes the connection and says nothing."""

    def greet(self, connection):
        self._stopped.wait()
        return False


class DripsItsHead(Says):
    """Sends the status line and the headers byte by byte."""

    drops = _HEAD + b"X-Pad: " + b"x" * 1000

    def answer(self, connection, request):
        super().answer(connection, request)
        for byte in self.drops:
            connection.sendall(bytes([byte]))
            self._stopped.wait(0.1)


class DripsItsBody(DripsItsHead):
    """Sends the head at once, and the body byte by byte."""

    said, drops = _HEAD + b"Content-Length: 1000\r\n\r\n", b" " * 1000


class NeverEnds(Says):
    """Sends a body without an end."""

    said = _HEAD + b"\r\n"

    def answer(self, connection, request):
        super().answer(connection, request)
        while not self._stopped.is_set():
            connection.sendall(b"x" * 65_536)


class NeverEndsItsHeaders(NeverEnds):
    """Sends one header without an end."""

    said = _HEAD + b"X-Endless: "


class SendsAGzipBomb(Says):
    """200 kilobytes that become 200 megabytes."""

    def __init__(self):
        super().__init__()
        bomb = io.BytesIO()
        with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=1) as file:
            for _ in range(200):
                file.write(b"0" * 1_000_000)
        self.said = in_json(bomb.getvalue(), ("Content-Encoding", "gzip"))


class PromisesMore(Says):
    """Content-Length says more than comes, and the connection ends."""

    said = _HEAD + b"Content-Length: 1000\r\n\r\n{}"

    def answer(self, connection, request):
        super().answer(connection, request)
        connection.shutdown(socket.SHUT_RDWR)


class CutsAChunkShort(PromisesMore):
    """A chunk ends before its size."""

    said = _HEAD + b'Transfer-Encoding: chunked\r\n\r\nff\r\n{"code": 0'


class ResetsInTheMiddle(Says):
    """Resets the connection while the body is on its way."""

    said = _HEAD + b'Content-Length: 100000\r\n\r\n{"code": 0'

    def answer(self, connection, request):
        super().answer(connection, request)
        reset(connection)


class SpeaksNoHttp(PromisesMore):
    """Sends noise."""

    said = b"\x00\xff\x1b[31m noise\r\n\r\n" * 100


class RedirectsInALoop(Raw):
    """Sends everybody back to where they come from."""

    def answer(self, connection, request):
        connection.sendall(as_bytes(Response(302, b"", (("Location", request.path),))))


class RedirectsElsewhere(Raw):
    """Sends everybody, and their token, to another port that keeps what it gets."""

    def __init__(self):
        super().__init__()
        self.elsewhere = Raw()

    def __enter__(self):
        self.elsewhere.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.elsewhere.__exit__(*error)

    def answer(self, connection, request):
        location = ("Location", f"{self.elsewhere.base_url}{request.path}")
        connection.sendall(as_bytes(Response(307, b"", (location,))))


class NestsDeeply(Says):
    """100,000 brackets."""

    said = in_json(b'{"code": 0, "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


class CountsHigh(Says):
    """A number of 100,000 digits, in each place that holds one."""

    said = in_json(b'{"code": %b, "data": {"value": %b, "date": %b}}' % ((b"9" * 100_000,) * 3))


class SendsHalvesOfPairs(Says):
    """Lone surrogates in names and texts."""

    said = in_json(b'{"code": 0, "data": {"id": "\\ud800", "Success": "\\udfff", "\\ud800": 1}}')


class SendsNul(Says):
    """NUL in names, texts and a header."""

    said = in_json(b'{"code": 0, "data": {"id": "\\u0000", "Success": "\\u0000", "\\u0000": 1}}\x00', ("X-Nul", "a\0b"))


class SendsEscapes(Says):
    """Escape sequences for terminals in names, texts and a header."""

    said = in_json(
        json.dumps({"code": 0, "data": {"id": ESCAPES, "Success": ESCAPES, ESCAPES: 1}}).encode(),
        ("X-Escape", "\x1b[31mred"),
    )


class SendsScript(Raw):
    """Lawful results in which every text, name, header and path is HTML with script."""

    def answer(self, connection, request):
        response = self.service.respond(request)
        body = json.loads(response.body) if response.body else {}
        body["data"] = {**{name: _scripted(value) for name, value in body.get("data", {}).items()}, SCRIPT: SCRIPT}
        headers = ("X-Script", SCRIPT), ("Location", f"/{SCRIPT}")
        connection.sendall(in_json(json.dumps(body).encode(), *headers, status=response.status))


def _scripted(value):
    return SCRIPT if isinstance(value, str) else value


class SendsMegabytes(Says):
    """A text of almost a megabyte in every answer, and no two answers are alike."""

    @property
    def said(self):
        return in_json(json.dumps({"code": 0, "data": {"text": os.urandom(480_000).hex()}}).encode())


class SendsManyHeaders(Says):
    """10,000 headers."""

    said = in_json(b"{}", *((f"X-{number}", "y") for number in range(10_000)))


class SendsManyFields(Raw):
    """Lawful results with 5,000 further fields."""

    def answer(self, connection, request):
        response = self.service.respond(request)
        body = json.loads(response.body)
        body["data"] = {**body["data"], **{f"field{number}": number for number in range(5_000)}}
        connection.sendall(in_json(json.dumps(body).encode(), status=response.status))


class DiesAfterTwentyRequests(Raw):
    """Lawful, until it is gone."""

    def greet(self, connection):
        if self.answered >= 20:
            self.__exit__()
        return self.answered < 20


class AlwaysAsksForPatience(Raw):
    """429 with a long Retry-After, whatever is asked."""

    def answer(self, connection, request):
        connection.sendall(as_bytes(Response(429, b"", (("Retry-After", "50"),))))
