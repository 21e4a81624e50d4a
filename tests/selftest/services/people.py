"""A service that names people wherever an answer has room for text, in small letters, capitals and pieces."""

import json
import socket

from environments.sandbox import Response
from tests.selftest.services.serving import SocketService, response_bytes

NAMES = ("Joaquim", "Zeferino", "Quintela", "cavalobateriagrampo", "conceição", "Иннокентий")
WHOLE = "Joaquim Zeferino Quintela"
JSON = (("Content-Type", "application/json"),)
REFUSALS = (
    "usuario zeferino.quintela sem acesso",
    "senha incorreta: cavalobateriagrampo",
    "conta de JOAQUIM ZEFERINO bloqueada",
    "conta inválida: ZeferinoConta, conta_quintela, jOAQUIM",
    "no account for conceição / Иннокентий",
)
MISPLACED = (WHOLE, WHOLE.upper(), WHOLE.lower(), "zeferino", "Quintela", "joaquim.quintela", "conta-zeferino")
"""Values of status and type: the mapping of the service is off by one."""
HEADERS = (
    ("Server", "Joaquim/1.2"),
    ("X-Powered-By", "zeferino-quintela/3.1"),
    ("Location", "/usuarios/zeferino/quintela?senha=cavalobateriagrampo"),
    ("WWW-Authenticate", 'Bearer realm="zeferino quintela", error="JOAQUIM"'),
    ("Date", "Joaquim, 01 Quintela 2026"),
    ("Zeferino", "quintela"),
    ("Allow", "JOAQUIM"),
)


class NamesPeople(SocketService):
    """Answers the first requests as the sandbox does, with names in status and type.

    Later answers are refusals and broken answers that name people, in turn.
    """

    CONFORMING_AT_FIRST = 12

    def answer(self, connection, request):
        number = len(self.received)
        conforming = self.sandbox.respond(request)
        misplaced = _with_people_in(conforming, MISPLACED[number % len(MISPLACED)])
        answers = [*map(response_bytes, (*self._refusals(number), misplaced, misplaced, misplaced)), *BROKEN]
        answer_bytes = (
            response_bytes(misplaced) if number <= self.CONFORMING_AT_FIRST else answers[number % len(answers)]
        )
        connection.sendall(_with_a_reason(answer_bytes))
        if answer_bytes in BROKEN:
            connection.shutdown(socket.SHUT_RDWR)

    def _refusals(self, number):
        text = REFUSALS[number % len(REFUSALS)]
        problem = {"type": WHOLE, "status": "QUINTELA ZEFERINO", "title": text, "detail": {"zeferino": [*text]}}
        keyed = {name: {name: text, "status": name.lower()} for name in (*NAMES, WHOLE)}
        yield Response(403, json.dumps({"message": text, "error": text, "code": text}).encode(), (*JSON, *HEADERS))
        yield Response(400, json.dumps(problem, ensure_ascii=False).encode(), (*JSON, *HEADERS))
        yield Response(200, json.dumps({"code": 0, "data": keyed}).encode(), (*JSON, *HEADERS))
        yield Response(422, json.dumps(keyed, ensure_ascii=False).encode()[:-9], (*JSON, *HEADERS))
        yield Response(500, f"Traceback: {text} File '/home/zeferino/quintela.py'".encode(), HEADERS)
        yield Response(302, f"<p title='{text}'>{text}</p>".encode(), (("Content-Type", "text/zeferino"), *HEADERS))


BROKEN = (
    b"HTTP/1.1 Joaquim Zeferino Quintela\r\n\r\n",
    b"joaquim zeferino quintela\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: quintela\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzeferino\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\njoaquim zeferino\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: quintela\r\nContent-Length: 2\r\n\r\n{}",
)


def _with_people_in(response, name):
    """The answer, in which each status and type is the name."""
    body = json.loads(response.body or b"null")
    if isinstance(body, dict) and isinstance(body.get("data"), dict):
        places = {"status", "type"} & body["data"].keys() or {"status"}
        body["data"] |= dict.fromkeys(places, name) | {"Message": f"chave de {name} recebida", "error": f"erro {name}"}
    return Response(response.status, json.dumps(body, ensure_ascii=False).encode(), (*response.headers, *HEADERS))


def _with_a_reason(answer):
    return answer.replace(b" \r\n", b" Quintela Zeferino\r\n", 1)
