"""A service that names people wherever an answer has room for text, in small letters, capitals and pieces."""

import json
import socket

from environments.sandbox import Response
from tests.selftest.services.serving import SocketService, response_bytes

NAMES = ("Joaquim", "Zeferino", "Quintela", "cavalobateriagrampo", "conceição", "Иннокентий")
WHOLE_NAME = "Joaquim Zeferino Quintela"
JSON = (("Content-Type", "application/json"),)
REFUSALS = (
    "usuario zeferino.quintela sem acesso",
    "senha incorreta: cavalobateriagrampo",
    "conta de JOAQUIM ZEFERINO bloqueada",
    "conta inválida: ZeferinoConta, conta_quintela, jOAQUIM",
    "no account for conceição / Иннокентий",
)
NAMES_AS_STATUS = (
    WHOLE_NAME,
    WHOLE_NAME.upper(),
    WHOLE_NAME.lower(),
    "zeferino",
    "Quintela",
    "joaquim.quintela",
    "conta-zeferino",
)
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
    """Answers the first requests as the sandbox does, with names of people in status and type.

    Later answers are refusals and broken answers that name people, in turn.
    """

    NUMBER_OF_CONFORMING_ANSWERS = 12

    def answer(self, connection, request):
        """Send an answer with names of people in it. Which answer it is depends on the number of the request.

        The first twelve answers are those of the sandbox with a name as their status. Later ones are in turn refusals,
        such answers, and broken answers, after which the connection is closed.
        """
        number_of_request = len(self.received)
        name = NAMES_AS_STATUS[number_of_request % len(NAMES_AS_STATUS)]
        with_names = response_bytes(_with_name_in(self.sandbox.respond(request), name))
        if number_of_request <= self.NUMBER_OF_CONFORMING_ANSWERS:
            answer_bytes = with_names
        else:
            refusals = [response_bytes(refusal) for refusal in self._refusals(number_of_request)]
            later_answers = [*refusals, with_names, with_names, with_names, *BROKEN_ANSWERS]
            answer_bytes = later_answers[number_of_request % len(later_answers)]
        connection.sendall(_with_names_as_reason_phrase(answer_bytes))
        if answer_bytes in BROKEN_ANSWERS:
            connection.shutdown(socket.SHUT_RDWR)

    def _refusals(self, number_of_request):
        """Refusals that name people in a text of REFUSALS, in names of members, in a broken body and in HTML."""
        text = REFUSALS[number_of_request % len(REFUSALS)]
        problem = {"type": WHOLE_NAME, "status": "QUINTELA ZEFERINO", "title": text, "detail": {"zeferino": [*text]}}
        names_as_members = {name: {name: text, "status": name.lower()} for name in (*NAMES, WHOLE_NAME)}
        broken_json = json.dumps(names_as_members, ensure_ascii=False).encode()[:-9]
        yield Response(403, json.dumps({"message": text, "error": text, "code": text}).encode(), (*JSON, *HEADERS))
        yield Response(400, json.dumps(problem, ensure_ascii=False).encode(), (*JSON, *HEADERS))
        yield Response(200, json.dumps({"code": 0, "data": names_as_members}).encode(), (*JSON, *HEADERS))
        yield Response(422, broken_json, (*JSON, *HEADERS))
        yield Response(500, f"Traceback: {text} File '/home/zeferino/quintela.py'".encode(), HEADERS)
        yield Response(302, f"<p title='{text}'>{text}</p>".encode(), (("Content-Type", "text/zeferino"), *HEADERS))


BROKEN_ANSWERS = (
    b"HTTP/1.1 Joaquim Zeferino Quintela\r\n\r\n",
    b"joaquim zeferino quintela\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: quintela\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzeferino\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\njoaquim zeferino\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: quintela\r\nContent-Length: 2\r\n\r\n{}",
)


def _with_name_in(response, name):
    """The answer, whose data has the name of a person as its status and type, and in a message and an error.

    If the data has neither status nor type, a status is added.
    """
    body = json.loads(response.body or b"null")
    data = body.get("data") if isinstance(body, dict) else None
    if isinstance(data, dict):
        members = [member for member in ("status", "type") if member in data]
        for member in members or ["status"]:
            data[member] = name
        data["Message"] = f"chave de {name} recebida"
        data["error"] = f"erro {name}"
    return Response(response.status, json.dumps(body, ensure_ascii=False).encode(), (*response.headers, *HEADERS))


def _with_names_as_reason_phrase(answer_bytes):
    """The bytes of an answer whose status line ends with names: "HTTP/1.1 200 Quintela Zeferino"."""
    return answer_bytes.replace(b" \r\n", b" Quintela Zeferino\r\n", 1)
