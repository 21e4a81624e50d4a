"""How variants are made: from a table, and with answers that are not the sandbox's own."""

import itertools
import json
import re
import socket
import threading
from pathlib import Path

from environments.sandbox import Key, Response, Service

_VERBATIM = re.compile(rb'"\xe2\x9f\xa8(.*?)\xe2\x9f\xa9"', re.DOTALL)


def profile_path(name):
    """The path of a profile beside this file."""
    return str(Path(__file__).with_name("profiles") / f"{name}.yaml")


def empty_answer(status, headers=()):
    """An answer without a body."""
    return Response(status, b"", headers)


def text_answer(status, content, media_type="text/plain; charset=utf-8", headers=()):
    """An answer of text under any media type."""
    return Response(status, content.encode(), (("Content-Type", media_type), *headers))


def html_answer(status, title, headers=()):
    """An answer of HTML."""
    content = f"<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return text_answer(status, content, "text/html; charset=utf-8", headers)


def json_answer(status, value, media_type="application/json", headers=()):
    """An answer of JSON."""
    return text_answer(status, json.dumps(value), media_type, headers)


def problem_answer(status, title):
    """A problem detail (RFC 9457)."""
    return json_answer(status, {"type": "about:blank", "title": title, "status": status}, "application/problem+json")


def number_as_written(number):
    """A value that `WritesNumbersVerbatim` writes into JSON as it stands, such as 1e2 in the place of 100.0."""
    return f"⟨{number}⟩"


class WritesNumbersVerbatim(Service):
    """The sandbox, which writes numbers in any form of JSON, as `number_as_written` gives them."""

    def render(self, status, body, headers=()):
        """An answer with a JSON body. A text "⟨1e2⟩" in it becomes the number 1e2."""
        response = super().render(status, body, headers)
        return Response(status, _VERBATIM.sub(rb"\1", response.body), response.headers)


def with_keys(service, **keys):
    """The service, after these keys were registered at its first account: `EMAIL="a@bank.example"`."""
    with service.database.transaction() as ledger:
        for key_type, key in keys.items():
            ledger.add_key(Key(key, key_type, "ac-0001"))
    return service


def declined_registration(message, number=0):
    """The result of a registration that is declined."""
    return {"Success": "false", "Message": message, "Key": None, "DocumentNumber": number}


class RemembersThePast(Service):
    """The sandbox with the list `past`, in which a subclass notes what it must remember, such as deleted keys."""

    def __init__(self):
        super().__init__()
        self.past = []


class KnowsItsConnections(Service):
    """The sandbox, which counts the requests of each connection.

    One thread serves a connection from its first request to its last, so the count is an attribute of the thread.
    """

    ON_THE_WIRE = True

    def __init__(self):
        super().__init__()
        self.connection = threading.local()

    def serve(self, request, connection):
        """Answer a request, and then count it for its connection."""
        response = super().serve(request, connection)
        self.connection.carried = self.carried + 1
        return response

    @property
    def carried(self):
        """How many requests the connection has carried before this one."""
        return getattr(self.connection, "carried", 0)


class ActsInTurn(Service):
    """The sandbox, which does something in each of its `WAYS` in turn: `next(self.ways)` is the next way."""

    WAYS = ()

    def __init__(self):
        super().__init__()
        self.ways = itertools.cycle(self.WAYS)


class AddsFieldsInTurn(WritesNumbersVerbatim):
    """The sandbox, which adds fields to the results of executions and registrations: each set of fields in turn."""

    EXECUTIONS = ({},)
    REGISTRATIONS = ({},)

    def __init__(self):
        super().__init__()
        self.executed = itertools.cycle(self.EXECUTIONS)
        self.registered = itertools.cycle(self.REGISTRATIONS)

    def execution_result(self, transfer):
        return super().execution_result(transfer) | next(self.executed)

    def registration_result(self, registration):
        return super().registration_result(registration) | next(self.registered)


DROPPED = Response(0, b"")


class DropsConnections(Service):
    """The sandbox, which closes the connection in the place of the answer `DROPPED`."""

    def serve(self, request, connection):
        """The answer to a request. None if there is none, because the connection was closed."""
        response = self.respond(request)
        if response != DROPPED:
            return response
        connection.shutdown(socket.SHUT_RDWR)
        return None


class RefusesDifferently(Service):
    """The sandbox, where `answer_to_refusal` makes the answer to the refused requests of which `is_affected` is true."""

    def is_affected(self, refusal):
        """True of the refusals that are answered differently: all, unless a variant says otherwise."""
        return True

    def refusal(self, refusal):
        """The answer to a refused request."""
        return self.answer_to_refusal(refusal) if self.is_affected(refusal) else super().refusal(refusal)


class RefusesTokensDifferently(RefusesDifferently):
    """The sandbox, where `answer_to_refusal` makes the answer to a request without the valid token."""

    def is_affected(self, refusal):
        return refusal.status == 401


class RewritesAnswers(Service):
    """The sandbox, where `changed_answer` changes each answer to `OPERATIONS`, or each answer at all if it is empty."""

    OPERATIONS = ()

    def finish(self, request, operation, response):
        is_affected = not self.OPERATIONS or operation in self.OPERATIONS
        return self.changed_answer(request, response) if is_affected else response


class AddsHeaders(RewritesAnswers):
    """The sandbox with further headers in every answer."""

    FURTHER = ()

    def changed_answer(self, request, response):
        return Response(response.status, response.body, (*response.headers, *self.FURTHER))


class ForgetsKeys(Service):
    """The sandbox, which says that a key is registered, and does not keep it."""

    def register(self, ledger, account_id, key_type, value):
        """Register the key, and remove it at once. The answer is still a success."""
        registration = super().register(ledger, account_id, key_type, value)
        if registration.accepted:
            ledger.remove_key(registration.key)
        return registration
