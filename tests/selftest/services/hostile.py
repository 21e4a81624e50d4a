"""Services that try to harm their callers. The name says how."""

import gzip
import json
import time

from environments.sandbox import Response
from tests.selftest.services.serving import SocketService, has_real_code, response_bytes

ESCAPES = "\x1b[31m\x1b]0;owned\x07\x9b2J\r\u202e"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def json_answer_bytes(body, *headers, status=200):
    """The bytes of an answer with a JSON body."""
    return response_bytes(Response(status, body, (("Content-Type", "application/json"), *headers)))


def drip_bytes(connection):
    """Send a blank each 0.05 seconds, for ever, so that no time-out between two bytes passes."""
    while True:
        connection.sendall(b" ")
        time.sleep(0.05)


def flood_bytes(connection):
    """Send on as fast as possible, for ever."""
    while True:
        connection.sendall(b"x" * 65_536)


GZIP_BOMB = json_answer_bytes(gzip.compress(b"0" * 1_000_000, 1) * 200, ("Content-Encoding", "gzip"))
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
LONG_HEADERS = json_answer_bytes(b"{}", *((f"X-{number}", "y" * 1_000) for number in range(70)))
MANY_HEADERS = json_answer_bytes(b"{}", *((f"X-{number}", "y") for number in range(10_000)))
TEXTS = (
    json_answer_bytes(b'{"code": 0, "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    json_answer_bytes(b'{"code": %b, "data": {"value": %b, "date": %b}}' % ((b"9" * 100_000,) * 3)),
    json_answer_bytes(b'{"code": 0, "data": {"id": "\\ud800", "Success": "\\udfff", "\\ud800": 1}}'),
    json_answer_bytes(
        b'{"code": 0, "data": {"id": "\\u0000", "Success": "\\u0000", "\\u0000": 1}}\x00', ("X-Nul", "a\0b")
    ),
    json_answer_bytes(
        json.dumps({"code": 0, "data": {"id": ESCAPES, ESCAPES: 1}}).encode(), ("X-Escape", "\x1b[31mred")
    ),
    json_answer_bytes(json.dumps({"code": 0, "data": {f"field{number}": number for number in range(5_000)}}).encode()),
)
"""Answers with deep nesting, long numbers, halves of surrogate pairs, NUL, escape sequences and many fields."""


def do_nothing(connection):
    """Leave the connection as it is."""


class GivesOneAnswerToEverything(SocketService):
    """Gives the same answer to every request, and then calls `act_after_answer` with the connection.

    That is a function such as `drip_bytes`.
    """

    def __init__(self, answer_bytes, act_after_answer=do_nothing):
        """`answer_bytes` is the whole answer, and `act_after_answer` is called with the connection after it."""
        super().__init__()
        self.answer_bytes = answer_bytes
        self.act_after_answer = act_after_answer

    def answer(self, connection, request):
        """Send the answer, and do what is to be done after it."""
        connection.sendall(self.answer_bytes)
        self.act_after_answer(connection)


class AnswersInHostileWays(SocketService):
    """Answers executions of real codes, and every second request, as the sandbox does.

    All other answers are hostile, in turn.
    """

    hostile_answers = GZIP_BOMB, MANY_HEADERS, *TEXTS

    def answer(self, connection, request):
        """Send the answer of the sandbox, or the next hostile answer."""
        number_of_request = len(self.received)
        is_every_second_request = number_of_request % 2 == 1
        if is_every_second_request or has_real_code(request.path):
            super().answer(connection, request)
        else:
            number_of_answer = number_of_request // 2
            connection.sendall(self.hostile_answers[number_of_answer % len(self.hostile_answers)])
