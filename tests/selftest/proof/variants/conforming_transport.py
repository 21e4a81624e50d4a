"""How answers travel: codings, framing, connections, speed, and headers that no request asked for."""

import gzip
import socket
import time
import zlib

from environments.sandbox import Response, Service
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    ActsInTurn,
    AddsHeaders,
    KnowsItsConnections,
    RewritesAnswers,
)


def _raw_deflate(content):
    """The content compressed with deflate, without the header of zlib that RFC 9110 asks for. Some servers send that."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


CODINGS = {
    "Gzip": ("gzip", gzip.compress),
    "GzipInUpperCase": ("GZIP", gzip.compress),
    "GzipInTwoMembers": ("gzip", lambda content: gzip.compress(content[:9]) + gzip.compress(content[9:])),
    "XGzip": ("x-gzip", gzip.compress),
    "Deflate": ("deflate", zlib.compress),
    "RawDeflate": ("deflate", _raw_deflate),
    "Identity": ("identity", lambda content: content),
}


class CodedInTurn(RewritesAnswers, ActsInTurn):
    """Answers are compressed in another way each time, as their Content-Encoding says."""

    ON_THE_WIRE = True

    WAYS = tuple(CODINGS.values())

    def changed_answer(self, request, response):
        coding, compress = next(self.ways)
        headers = (*response.headers, ("Content-Encoding", coding))
        return Response(response.status, compress(response.body), headers)


variant("coding")(CodedInTurn)
for _name in ("Gzip", "Deflate"):
    declare_variant(
        "coding", f"Answers{_name}", f"Every answer is coded as {_name}.", CodedInTurn, WAYS=(CODINGS[_name],)
    )


def head_of(response, *more):
    """The bytes of the status line and the headers of a response, with more headers at the end."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in (*response.headers, *more))
    return f"HTTP/1.1 {response.status} \r\n{lines}\r\n".encode("latin-1")


class SendsChunks(Service):
    """The sandbox, whose answers come in chunks (RFC 9112 section 7.1). `FRAMING` are the headers that say so."""

    ON_THE_WIRE = True
    FRAMING = (("Transfer-Encoding", "chunked"),)

    def serve(self, request, connection):
        """Send the answer in chunks. Returns None, because the answer was sent already."""
        response = self.respond(request)
        connection.sendall(head_of(response, *self.FRAMING))
        for chunk in self.chunks(response.body):
            connection.sendall(chunk)
        if ("connection", "close") in self.FRAMING:
            connection.shutdown(socket.SHUT_WR)

    def chunks(self, body):
        """Chunks of seven bytes, each with an extension (name=value), and the last chunk with a trailer (X-Checksum)."""
        for start in range(0, len(body), 7):
            part = body[start : start + 7]
            yield b"%x;name=value\r\n%s\r\n" % (len(part), part)
        yield b"0\r\nX-Checksum: 17\r\n\r\n"


declare_variant(
    "framing", "AnswersInChunks", "Every answer comes in chunks of seven bytes, with a trailer.", SendsChunks
)
declare_variant(
    "framing", "AnswersInChunksAndCloses", "Every answer comes in chunks, on a connection that is closed.", SendsChunks,
    FRAMING=(("transfer-encoding", "Chunked"), ("connection", "close")),
)  # fmt: skip


class OverTheSocket(Service):
    """The sandbox, which writes an unusual HEAD to the socket: everything before the headers of the answer."""

    ON_THE_WIRE = True
    HEAD = "HTTP/1.0 {status} OK\r\n"

    def serve(self, request, connection):
        """Send the answer and close the connection. Returns None, because the answer was sent already."""
        response = self.respond(request)
        lines = "".join(f"{name}: {value}\r\n" for name, value in response.headers)
        head = self.HEAD.format(status=response.status) + lines
        connection.sendall(f"{head}\r\n".encode("latin-1") + response.body)
        connection.shutdown(socket.SHUT_WR)


declare_variant(
    "connection",
    "ClosesEachConnection",
    "Every answer says Connection: close.",
    AddsHeaders,
    FURTHER=(("Connection", "close"),),
)


class ClosesWithoutAWord(KnowsItsConnections):
    """The sandbox, which closes a connection after `MOST` answers, and does not say so in a header."""

    MOST = 1

    def serve(self, request, connection):
        """The answer to a request. None if it was sent already, or if the connection was closed before."""
        if self.carried == self.MOST:
            return None
        response = super().serve(request, connection)
        is_last_answer = self.carried == self.MOST
        if not is_last_answer:
            return response
        connection.sendall(head_of(response, ("Content-Length", str(len(response.body)))) + response.body)
        connection.shutdown(socket.SHUT_RDWR)
        return None


for _most in (1, 2, 3):
    declare_variant(
        "connection", f"ClosesWithoutAWordAfter{_most}", f"A connection is closed after {_most} answers, unannounced.",
        ClosesWithoutAWord, MOST=_most,
    )  # fmt: skip
declare_variant(
    "connection", "KeepsConnectionsForASecond", "Every answer says how long its connection is kept.", AddsHeaders,
    FURTHER=(("Connection", "keep-alive"), ("Keep-Alive", "timeout=1, max=3")),
)  # fmt: skip


@variant("slow")
class ExecutesSlowly(Service):
    """An execution takes 0.2 seconds."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def confirm(self, code):
        time.sleep(0.2)
        return super().confirm(code)


CLOSE = "HTTP/1.1 {status} \r\nConnection: close\r\n"
HEADS = {
    "AnswersInHttp10": ("HTTP/1.0 {status} OK\r\n", "Answers are HTTP/1.0, and end where the connection ends."),
    "HasNoReasonPhrase": (CLOSE, "The status line has no reason phrase, and no length is named."),
    "SaysContinueFirst": (f"HTTP/1.1 100 Continue\r\n\r\n{CLOSE}", "Each answer follows a 100 Continue."),
    "SendsEarlyHints": (f"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n{CLOSE}", "Each answer follows a 103."),
    "EndsLinesWithLfOnly": (CLOSE.replace("\r\n", "\n"), "Some lines of the head end with LF alone."),
}
for _name, (_head, _fact) in HEADS.items():
    declare_variant("framing", _name, _fact, OverTheSocket, HEAD=_head)

SETS = {
    "Cookies": (("Set-Cookie", "JSESSIONID=1; Path=/; Secure; HttpOnly"), ("Set-Cookie", "lb=7; Max-Age=-1")),
    "90Headers": tuple((f"X-Further-{number}", "value") for number in range(88)),
    "ALongHeader": (("X-Long", "v" * 60_000),),
    "OddValues": (
        ("X-Empty", ""),
        ("X-Latin", "não é ASCII"),
        ("X-Odd", ' "\t,;='),
        ("X_Under", "1"),
        ("!#$%&'*+-.^`|~", "t"),
    ),
    "HeadersTwice": (("X-Request-Id", "1"), ("X-Request-Id", "2"), ("Date", "yesterday")),
    "Caching": (("ETag", 'W/"1"'), ("Age", "77"), ("Cache-Control", "max-age=600"), ("Last-Modified", "never")),
    "RetryAfter": (("Retry-After", "3600"), ("X-RateLimit-Remaining", "0"), ("RateLimit-Reset", "60")),
    "ALocation": (("Location", "https://elsewhere.example.test/"), ("Refresh", "0; url=/login"), ("Link", "</next>")),
    "AnUpgrade": (("Upgrade", "h2c"), ("Alt-Svc", 'h3=":443"'), ("Trailer", "X-Sum"), ("Accept-Ranges", "bytes")),
    "ALanguage": (("Content-Language", "pt-BR"), ("Vary", "*"), ("Content-Disposition", "attachment; filename=x.json")),
}
ALONE = ("Cookies", "90Headers", "ALongHeader", "OddValues", "RetryAfter", "ALocation")
declare_variant(
    "header", "SendsManySorts", "Every answer has headers of many sorts.", AddsHeaders,
    FURTHER=tuple(header for name, headers in SETS.items() if name not in ALONE for header in headers),
)  # fmt: skip
for _name, _headers in ((name, SETS[name]) for name in ALONE):
    declare_variant(
        "header", f"Sends{_name}", f"Every answer has {_name}.", AddsHeaders, FURTHER=_headers, GETS_THE_REQUESTS_OF_THE_SANDBOX=_name != "Cookies"
    )  # fmt: skip


@variant("header")
class HeaderNamesInUpperCase(RewritesAnswers):
    """The names of headers are written in capital letters, Content-Length too."""

    ON_THE_WIRE = True

    def changed_answer(self, request, response):
        headers = tuple((name.upper(), value) for name, value in response.headers)
        return Response(response.status, response.body, (*headers, ("CONTENT-LENGTH", str(len(response.body)))))


@variant("header")
class RepeatsTheRequestsHeaders(RewritesAnswers):
    """Every answer repeats the headers of its request, such as X-Echo-accept, but not the token."""

    def changed_answer(self, request, response):
        repeated_headers = [
            (f"X-Echo-{name}", value)
            for name, value in request.headers.items()
            if name != "authorization" and value.isascii()
        ]
        return Response(response.status, response.body, (*response.headers, *repeated_headers))
