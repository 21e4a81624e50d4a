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
    """A value that a `Verbatim` service writes as it stands, such as 1e2."""
    return f"⟨{number}⟩"


class WritesNumbersVerbatim(Service):
    """The sandbox, which writes numbers in any form of JSON."""

    def render(self, status, body, headers=()):
        response = super().render(status, body, headers)
        return Response(status, _VERBATIM.sub(rb"\1", response.body), response.headers)


def with_keys(service, **keys):
    """The service, where these keys of the first account, by their types, have been registered long ago."""
    with service.database.transaction() as ledger:
        for kind, key in keys.items():
            ledger.add_key(Key(key, kind, "ac-0001"))
    return service


def declined_registration(message, number=0):
    """The result of a registration that is declined."""
    return {"Success": "false", "Message": message, "Key": None, "DocumentNumber": number}


class RemembersThePast(Service):
    """The sandbox with a list of what it has to remember."""

    def __init__(self):
        super().__init__()
        self.past = []


class KnowsItsConnections(Service):
    """The sandbox, which counts the requests of each connection. One thread serves a connection from first to last."""

    ON_THE_WIRE = True

    def __init__(self):
        super().__init__()
        self.connection = threading.local()

    def serve(self, request, connection):
        response = super().serve(request, connection)
        self.connection.carried = self.carried + 1
        return response

    @property
    def carried(self):
        """How many requests the connection has carried before this one."""
        return getattr(self.connection, "carried", 0)


class ActsInTurn(Service):
    """The sandbox, which does something in another of its `WAYS` each time."""

    WAYS = ()

    def __init__(self):
        super().__init__()
        self.ways = itertools.cycle(self.WAYS)


class AddsFieldsInTurn(WritesNumbersVerbatim):
    """The sandbox, whose executions and registrations take these fields, in turn where there are several sets of them."""

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
    """The sandbox, which closes the connection in place of the answer `DROPPED`."""

    def serve(self, request, connection):
        response = self.respond(request)
        if response != DROPPED:
            return response
        connection.shutdown(socket.SHUT_RDWR)
        return None


class RefusesDifferently(Service):
    """The sandbox, where `say_no` answers every refusal that `refuses_so` picks."""

    def refuses_so(self, refusal):
        return True

    def refusal(self, refusal):
        return self.say_no(refusal) if self.refuses_so(refusal) else super().refusal(refusal)


class RefusesTokensDifferently(RefusesDifferently):
    """The sandbox, where `say_no` answers a request without the token."""

    def refuses_so(self, refusal):
        return refusal.status == 401


class RewritesAnswers(Service):
    """The sandbox, where `changed` sees the answers to the operations in `OPERATIONS`; to all where it is empty."""

    OPERATIONS = ()

    def finish(self, request, operation, response):
        meant = not self.OPERATIONS or operation in self.OPERATIONS
        return self.changed(request, response) if meant else response


class AddsHeaders(RewritesAnswers):
    """The sandbox with further headers in every answer."""

    FURTHER = ()

    def changed(self, request, response):
        return Response(response.status, response.body, (*response.headers, *self.FURTHER))


class ForgetsKeys(Service):
    """The sandbox, which registers no key that it says is registered."""

    def register(self, ledger, account_id, kind, value):
        registration = super().register(ledger, account_id, kind, value)
        if registration.accepted:
            ledger.remove_key(registration.key)
        return registration
