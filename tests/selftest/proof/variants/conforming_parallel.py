"""Services that limit, lock or slow down under parallel requests, and conform.

Each request takes a moment, so that requests that are sent together are inside the service at the same time.
"""

import socket
import struct
import threading
import time
from collections import Counter

from environments.sandbox import Server, Service
from tests.selftest.proof.mutants.making_faults import json_members, without_self
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    DROPPED,
    DropsConnections,
    html_answer,
    json_answer,
    problem_answer,
    text_answer,
)
from tests.selftest.proof.variants.conforming_trouble import LocksCallersOut

SOON = (("Retry-After", "0"),)
IN_A_SECOND = (("Retry-After", "1"),)


class Limited(DropsConnections):
    """The sandbox, which takes `AT_ONCE` requests of one `scope` at a time, and answers `TOO_MANY` to all others.

    The scope of a request is a text such as its account. Requests with the scope None, and those that may not be refused
    (`may_be_refused`), are always taken.
    """

    AT_ONCE = 1
    TAKES_S = 0.005
    TOO_MANY = text_answer(429, "slow down")

    def __init__(self, **options):
        super().__init__(**options)
        self.lock = threading.Lock()
        self.inside = Counter()  # requests that are inside, by scope

    def respond(self, request):
        """Answer a request, which takes TAKES_S seconds, or refuse it because others of its scope are inside."""
        scope = self.scope(request)
        with self.lock:
            is_full = scope is not None and self.inside[scope] >= self.AT_ONCE
            if is_full and self.may_be_refused(request):
                return self.TOO_MANY
            self.inside[scope] += 1
        try:
            time.sleep(self.TAKES_S)
            return super().respond(request)
        finally:
            with self.lock:
                self.inside[scope] -= 1

    def scope(self, request):
        """The text by which requests are counted: the same for all, unless a variant says otherwise."""
        return "all"

    def may_be_refused(self, request):
        """True of the requests that are refused if too many are inside: all, unless a variant says otherwise."""
        return True


def _account(request):
    """The account in the path of a request, or else in its body. None if there is none."""
    if request.path.startswith(("/v1/pix/keys/", "/v1/accounts/")):
        return request.path.rsplit("/", 1)[-1]
    body = json_members(request)
    account = body.get("account") or body.get("from")
    return str(account) if account else None


def _account_of_registration(request):
    """The account at which a request registers a key. None if it does not register one."""
    is_registration = request.method == "POST" and "/keys/" in request.path
    return _account(request) if is_registration else None


SCOPES = {
    "OfAll": ("whatever they are", lambda request: "all"),
    "OfACaller": ("from one caller", lambda request: request.header("Authorization")),
    "OfAnAccount": ("to one account", _account),
    "OfAnOperation": ("to one operation", lambda request: (request.method, request.path.rsplit("/", 1)[0])),
    "ThatWrite": ("that write", lambda request: None if request.method == "GET" else "writes"),
    "ThatRead": ("that read", lambda request: "reads" if request.method == "GET" else None),
    "ThatExecute": ("that execute", lambda request: "execute" if "/execute/" in request.path else None),
    "ThatRegister": ("that register a key of one account", _account_of_registration),
}
ANSWERS = {
    "400": ("a 400 of problem+json", problem_answer(400, "Another request is being processed")),
    "401": ("a 401 of text", text_answer(401, "one at a time", headers=(("WWW-Authenticate", "Bearer"),))),
    "403": ("a 403 of problem+json", problem_answer(403, "Too many sessions")),
    "403Envelope": ("a 403 of the envelope", json_answer(403, {"code": 403, "data": {"error": "busy"}})),
    "409": ("a 409", json_answer(409, {"code": 409, "data": {"error": "busy"}})),
    "422": ("a 422", json_answer(422, {"errors": ["busy"]})),
    "423": ("a 423", text_answer(423, "locked")),
    "429": ("a 429", text_answer(429, "slow down")),
    "429AndSoon": ("a 429 with Retry-After: 0", text_answer(429, "slow down", headers=SOON)),
    "429AndWhen": ("a 429 with Retry-After: 1", text_answer(429, "slow down", headers=IN_A_SECOND)),
    "502": ("a 502", html_answer(502, "Bad gateway")),
    "503": ("a 503", html_answer(503, "Busy")),
    "503AndSoon": ("a 503 with Retry-After: 0", html_answer(503, "Busy", SOON)),
    "504": ("a 504", html_answer(504, "No answer in time")),
    "ACode": ("a 200 with code 1042", json_answer(200, {"code": 1042, "data": {"error": "busy"}})),
    "ADrop": ("no answer: the connection is closed", DROPPED),
}
LIMITS = {
    "OfAll": ("401", "ADrop", "400", "403", "429", "503", "ACode"),
    "OfACaller": ("401", "403Envelope", "409", "429AndSoon", "503AndSoon"),
    "OfAnAccount": ("409", "422", "423", "429", "403"),
    "OfAnOperation": ("429AndWhen", "502", "400", "423"),
    "ThatWrite": ("409", "503", "ADrop", "401"),
    "ThatRead": ("429", "504", "403", "ADrop"),
    "ThatExecute": ("409", "429AndSoon", "401", "404"),
    "ThatRegister": ("409", "400", "422", "ACode", "403"),
}
ANSWERS["404"] = ("a 404 of text", text_answer(404, "not found"))
for _scope, _answers in LIMITS.items():
    for _answer in _answers:
        (_which, _of), (_what, _response) = SCOPES[_scope], ANSWERS[_answer]
        declare_variant(
            "one at a time", f"OneAtATime{_scope}OrElse{_answer}",
            f"Of requests {_which}, one at a time is taken; the others get {_what}.", Limited, parallel=True,
            TOO_MANY=_response, scope=without_self(_of), hides=("executePix.value.matches",),
        )  # fmt: skip
for _answer in ("409", "429", "503", "ADrop"):
    declare_variant(
        "two at a time", f"TwoAtATimeOrElse{_answer}",
        f"Two requests at a time are taken; the others get {ANSWERS[_answer][0]}.", Limited, parallel=True,
        AT_ONCE=2, TOO_MANY=ANSWERS[_answer][1],
    )  # fmt: skip


# -- slow under load


class SlowsDown(Limited):
    """The sandbox, which takes longer the more requests are inside, but at most three seconds.

    It takes UNIT_S seconds times the square of their number: with 0.005 and ten requests half a second.
    """

    AT_ONCE = 1000
    TAKES_S = 0.0
    UNIT_S = 0.005

    def authorize(self, request, operation):
        """Wait, and then check the token."""
        number_inside = self.inside["all"]
        time.sleep(min(3.0, self.UNIT_S * number_inside**2))
        super().authorize(request, operation)


declare_variant(
    "slow under load",
    "SlowsDownALittle",
    "Answers take longer the more requests come.",
    SlowsDown,
    parallel=True,
    UNIT_S=0.002,
)
declare_variant(
    "slow under load", "SlowsDownALot", "Sixteen requests take more than a second.", SlowsDown, parallel=True, slow=True
)


@variant("slow under load", parallel=True)
class OneAfterTheOther(Service):
    """One request is answered after the other, and each takes a moment."""

    def __init__(self):
        super().__init__()
        self.turn = threading.Lock()

    def respond(self, request):
        """Wait until no other request is inside, and then answer."""
        with self.turn:
            time.sleep(0.005)
            return super().respond(request)


# -- few connections


class FewConnections(Server):
    """A server that closes a new connection as soon as it is opened, if `service.MOST` others are open."""

    def verify_request(self, request, client_address):
        """True if the connection, which `socketserver` calls a request, is taken. Otherwise it is closed or reset."""
        if len(self.connections) < self.service.MOST:
            return True
        if self.service.RESETS:
            closes_with_a_reset = struct.pack("ii", 1, 0)
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, closes_with_a_reset)
        return False


class TakesFewConnections(Service):
    """The sandbox behind a server that takes `MOST` connections at a time. Others are closed, or reset if `RESETS`."""

    ON_THE_WIRE = True
    SERVER = FewConnections
    MOST = 2
    RESETS = False


declare_variant(
    "few connections",
    "TakesTwoConnections",
    "Two connections are taken, others closed.",
    TakesFewConnections,
    parallel=True,
)
declare_variant(
    "few connections", "TakesTwoConnectionsAndResets", "Two connections are taken, others reset.", TakesFewConnections,
    parallel=True, RESETS=True,
)  # fmt: skip
declare_variant(
    "few connections",
    "TakesOneConnection",
    "One connection is taken, others closed.",
    TakesFewConnections,
    parallel=True,
    MOST=1,
)


# -- locks, and reads that lag


class LocksInCompany(Limited, LocksCallersOut):
    """The sandbox, which counts a wrong token only while other requests are in flight, and then locks the caller out."""

    AT_ONCE = 1000
    SECONDS = 0.3

    def count_wrong_token(self, scope, is_locked):
        """Count a wrong token if another request is inside."""
        if self.inside["all"] > 1:
            super().count_wrong_token(scope, is_locked)


for _status in (423, 429):
    declare_variant(
        "lock in parallel", f"LocksInCompanyWith{_status}",
        f"Three wrong tokens beside other requests lock the caller out for a moment: {_status}.", LocksInCompany,
        parallel=True, STATUS=_status,
    )  # fmt: skip
for _status in (423, 403):
    declare_variant(
        "lock in parallel", f"LocksInCompanyWith{_status}AndSaysWhen",
        f"Three wrong tokens beside other requests lock the caller out: {_status} with Retry-After.", LocksInCompany,
        parallel=True, STATUS=_status, HEADERS=IN_A_SECOND, SECONDS=0.1, slow=True,  # the door's second is a tenth
    )  # fmt: skip


class ReadsLag(Limited):
    """The sandbox, whose answers to reads do not show writes that are in flight.

    It is about the reads whose path has the text PATHS, such as the lists of keys.
    """

    AT_ONCE = 1000
    PATHS = "/keys/"

    def __init__(self):
        super().__init__()
        self.last_answers = {}  # to reads, by path

    def scope(self, request):
        return "read" if request.method == "GET" and "/execute/" not in request.path else "write"

    def finish(self, request, operation, response):
        """Give the last answer to the same read if a write is in flight. Otherwise keep this answer for later."""
        is_affected = self.scope(request) == "read" and self.PATHS in request.path
        if not is_affected or response.status != 200:
            return response
        if self.inside["write"] > 0:
            return self.last_answers.get(request.path, response)
        self.last_answers[request.path] = response
        return response


declare_variant(
    "lags in parallel",
    "KeyListsLag",
    "A list of keys is older than the writes that are in flight.",
    ReadsLag,
    parallel=True,
)
declare_variant(
    "lags in parallel",
    "EveryReadLags",
    "What is read is older than the writes that are in flight.",
    ReadsLag,
    parallel=True,
    PATHS="/",
)


@variant("lags in parallel", parallel=True)
class DeletesOneKeyAtATime(Limited):
    """While another request is in flight, a deletion does not find its key, although the key is there: 404."""

    TOO_MANY = json_answer(404, {"code": 404, "data": {"error": "The account has no such key."}})

    def may_be_refused(self, request):
        """True of deletions of keys."""
        return request.method == "DELETE" and "/keys/" in request.path
