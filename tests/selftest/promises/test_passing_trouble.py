"""A 503 answers nothing: what else the run saw of the endpoint counts, and another harmless request is tried. A drop
that passes is no fault.
"""

import re
import socket
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from environments.sandbox import Response, Service
from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.rules import Reproduction
from tests.harness.selection import ids_of
from tests.selftest.exchanges import answer, failed
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import CODE, PREPARE, Bank, journal_in, run_against
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes, is_real, reset


class NotReady(Service):
    """Answers the first so many requests with the token to one path with 503. `seen` are those."""

    def __init__(self, path, times):
        super().__init__()
        self.path, self.left, self.seen = path, times, []

    def respond(self, request):
        if request.path.startswith(self.path) and request.header("Authorization"):
            self.seen.append(request)
            self.left -= 1
            if self.left >= 0:
                return Response(503, b"", (("Retry-After", "0"),))
        return super().respond(request)


BY_A_GATEWAY = "1 of the answers are those of a gateway (502, 503, 504): what the service did is not seen"


@pytest.mark.parametrize(
    ("path", "operation"), [("/v1/pix", "createPix"), ("/v1/transfer/internal", "transferInternal")]
)
def test_one_503_of_what_may_move_money_leaves_no_question(path, operation):
    """The valid request is not repeated; a harmless one shows the endpoint."""
    service = NotReady(path, 1)
    trial = try_in_memory(service, ids={f"{operation}.exists"})
    bodies = [seen.body for seen in service.seen if seen.path == path]

    assert trial.exit_status == 0
    assert (bodies.count(b"{}"), len(bodies)) == (1, 2)
    assert str(trial.notes[-1]) == BY_A_GATEWAY


class IsDown(Raw):
    """Nothing but 503 is answered from the first registration of a phone number on, for some seconds."""

    SECONDS = 9.0

    def __init__(self):
        super().__init__()
        self.is_up_again = threading.Event()
        self.timer = threading.Timer(self.SECONDS, self.is_up_again.set)

    def answer(self, connection, request):
        if self.timer.ident is None and b'"PHONE"' in request.body and self.is_granted(request):
            self.timer.start()
        if self.timer.ident is not None and not self.is_up_again.is_set():
            connection.sendall(as_bytes(Response(503, b"{}", (("Content-Type", "application/json"),))))
        else:
            super().answer(connection, request)


class IsKilled(Raw):
    """It ends after some answers: no connection is accepted any more."""

    AFTER = 40

    def answer(self, connection, request):
        super().answer(connection, request)
        if len(self.seen) >= self.AFTER:
            self._stopped.set()
            self._listener.close()
            reset(connection)


@pytest.fixture(scope="module")
def after_an_outage(tmp_path_factory):
    """A run whose service was down for nine seconds while keys were registered."""
    with IsDown() as service:
        return run(
            write_profile(tmp_path_factory.mktemp("down"), service.base_url), "-k", "registerPixKey or getBalance"
        )


def test_an_outage_is_told_with_its_seconds(after_an_outage):
    """Neither a limit nor the profile is named: the service was not there."""
    told = " ".join([*after_an_outage.document["notes"], *after_an_outage.rows("not-exercised").values()])

    assert after_an_outage.status == 6, after_an_outage.output
    assert re.search(r"no answer but 503 for \d+ s: run it again", told)
    assert "limits.rate" not in after_an_outage.output


def test_an_outage_alone_is_the_cause_of_what_it_kept(after_an_outage):
    """Of no requirement of the operation something else is asked."""
    told = {why for name, why in after_an_outage.rows("not-exercised").items() if name.startswith("registerPixKey")}

    assert {re.sub(r"\d+ s", "N s", why) for why in told} == {"no answer but 503 for N s: run it again"}


def test_a_service_that_is_killed_is_the_cause_alone(tmp_path):
    """Of all that was not exercised, and of no other line."""
    with IsKilled() as service:
        ended = run(write_profile(tmp_path, service.base_url, limits={"timeout": 5, "parallel": 1}))
    why = set(ended.rows("not-exercised").values())

    assert ended.status == 7, ended.output
    assert why == {"the target cannot be reached: the connection is refused"}
    assert "exchange 0" not in ended.output
    assert "supply" not in ended.output
    assert re.search(r"the service ended after exchange \d+ \(|the service ended while exchange", ended.output)


CODE_44304 = Response(200, b'{"code": 44304, "data": {}}', (("Content-Type", "application/json"),))
MEDIA_TYPE = Response(415, b"{}", (("Content-Type", "application/json"),))


@pytest.mark.parametrize(
    ("response", "answer_told"), [(CODE_44304, "200 with code 44304, not 0"), (MEDIA_TYPE, "415 application/json")]
)
@pytest.mark.parametrize("sandbox", [True, False], ids=["a sandbox", "no sandbox"])
def test_refused_codes_are_told_by_the_answer(response, answer_told, sandbox, tmp_path):
    """And by no guess. A sandbox has no journal, so the line asks whether an earlier run executed them."""

    class Refuses(Raw):
        def answer(self, connection, request):
            is_execution = is_real(request.path) and self.is_granted(request)
            connection.sendall(as_bytes(response if is_execution else self.service.respond(request)))

    with Refuses() as service:
        changes = {} if sandbox else {"sandbox": None, "journal": str(tmp_path / "journal.jsonl")}
        journal_in(tmp_path)
        ended = run(write_profile(tmp_path, service.base_url, **changes), "-k", "executePix or listAccounts")
    question = "; did an earlier run execute these codes? transactions.prepare makes new codes for each run"
    told = ended.rows("not-exercised")

    line = f"1 of 1 transaction codes were refused: {answer_told}" + question * sandbox
    assert line in ended.document["notes"]
    assert told["executePix.json"] == f"no success to judge: {answer_told}"
    assert answer_told in told["executePix.request.sufficient"]
    assert answer_told in told["executePix.token.accepted"]


def test_codes_that_the_run_prepared_were_executed_by_no_earlier_run(tmp_path):
    """If they are refused like the supplied ones, nothing is asked, and no more of them are asked for."""

    class RefusesAll(Bank):
        def execute(self, request):
            return Response(400, b'{"code": 3, "data": {}}', (("Content-Type", "application/json"),))

    transactions = {"codes": [CODE], "prepare": PREPARE | {"count": 3}}
    ended = run_against(RefusesAll(), tmp_path, "executePix", transactions=transactions)
    line = next(note for note in ended.document["notes"] if "transaction codes were refused" in note)

    assert re.fullmatch(r"(\d+) of \1 transaction codes were refused: 400 with code 3", line)
    assert "set transactions.prepare.count" not in ended.output
    assert ended.rows("not-exercised")["executePix.request.sufficient"].endswith("(400 with code 3)")


class DropsRegistrations(Service):
    """Answers no registration, and a deletion of an unknown key like an undocumented path."""

    def serve(self, request, connection):
        if request.path.startswith("/v1/pix/keys/") and request.method == "POST":
            return None
        if request.path.startswith("/v1/pix/keys/") and request.method == "DELETE":
            request = replace(request, path="/v1/nothing")
        return super().serve(request, connection)


def test_registrations_that_are_dropped_are_the_cause_alone():
    """Neither another body nor a line of the profile is asked for."""
    trial = try_in_memory(DropsRegistrations(), ids=ids_of("registerPixKey or deletePixKey"))
    told = {str(trial.rows[name].message) for name in trial.not_exercised}

    assert "registerPixKey.connection" in trial.failing
    assert str(trial.rows["registerPixKey.body.pixKey"].message) == "no registration was answered (connection dropped)"
    assert str(trial.rows["deletePixKey.exists"].message) == "no key was registered: connection dropped"
    assert not [why for why in told if "expects another body" in why or "requests.deletePixKey" in why]


ANSWERED, DROPPED = answer("listEntries", {"code": 0, "data": {}}), failed(FailureKind.DROPPED, "listEntries")
REFUSED = failed(FailureKind.NO_CONNECTION, "listEntries")


@pytest.mark.parametrize(
    ("number", "again", "outcome"),
    [
        (2, ANSWERED, Conclusion.HOLDS),
        (2, DROPPED, Conclusion.DEVIATES),
        (1, None, Conclusion.HOLDS),
        (2, None, Conclusion.DEVIATES),
    ],
    ids=["answered", "dropped again", "one that is not sent again", "two"],
)
def test_a_drop_counts_where_it_was_seen_again_alone(number, again, outcome):
    """A service that allows one connection drops the next, beside others and right behind them, whatever is asked. Of
    requests that cannot be sent again two count: one may have been the network."""
    first = [replace(DROPPED, number=each, beside=2 * each * bool(again)) for each in range(number)]
    reproduction = Reproduction(first, dict.fromkeys(range(number), again))

    assert {reproduction.judge("listEntries.connection", one).conclusion for one in first} == {outcome}


@pytest.mark.parametrize(
    ("numbers", "outcome"),
    [((1, 3), Conclusion.HOLDS), ((1, 3, 5), Conclusion.DEVIATES), ((1, 2, 3, 4), Conclusion.HOLDS)],
    ids=["two", "three", "in a row"],
)
def test_three_drops_alone_count_although_each_is_answered_then(numbers, outcome):
    """With answers in between. Those in a row are one outage."""
    first = [replace(DROPPED, number=each) for each in numbers]
    reproduction = Reproduction(first, dict.fromkeys(numbers, ANSWERED))

    assert reproduction.judge("listEntries.connection", first[0]).conclusion is outcome


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        ([REFUSED], Conclusion.INCONCLUSIVE),
        ([REFUSED, ANSWERED], Conclusion.HOLDS),
        ([DROPPED], Conclusion.HOLDS),
    ],
    ids=["ended", "answered later", "dropped later"],
)
def test_a_drop_after_which_no_connection_is_accepted_shows_nothing(later, outcome):
    """Somebody may have stopped the service: the request could not be sent again."""
    before = replace(ANSWERED, number=1, started=0.0)
    first = replace(DROPPED, number=2, valid=False, started=1.0, elapsed_s=1.0)
    since = [replace(seen, number=number, started=float(number)) for number, seen in enumerate(later, 3)]
    exchanges = [before, first, *since]
    reproduction = Reproduction(exchanges, {seen.number: ANSWERED for seen in exchanges})

    assert reproduction.judge("listEntries.connection", first).conclusion is outcome


class EndsAtAKeyOfNull(Raw):
    """Its process ends when it is asked to register null: what is on its way is dropped, and no connection is
    accepted."""

    def __init__(self):
        super().__init__()
        self.connections = set()

    def greet(self, connection):
        self.connections.add(connection)
        return True

    def answer(self, connection, request):
        if request.method == "POST" and b'"pixKey": null' in request.body and self.is_granted(request):
            self.end()
        else:
            super().answer(connection, request)

    def end(self):
        with suppress(OSError):  # it has ended already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in tuple(self.connections):
            with suppress(OSError):
                reset(connection)


class IsStartedAgain(EndsAtAKeyOfNull):
    """A supervisor starts it again, on the same port."""

    AFTER_S = 0.2

    def __init__(self):
        super().__init__()
        self.address = self._listener.getsockname()

    def end(self):
        super().end()
        timer = threading.Timer(self.AFTER_S, self.start_again)
        timer.daemon = True
        timer.start()

    def start_again(self):
        if not self._stopped.is_set():
            self._listener = socket.create_server(self.address, backlog=64)
            self.__enter__()


def ended_at_a_key_of_null(make, folder):
    """A run against this service, and the registrations of null that it saw."""
    with make() as service:
        result = run(write_profile(folder, service.base_url), "-k", "registerPixKey.connection or listAccounts.json")
    return result, [request for request in service.seen if b'"pixKey": null' in request.body]


def test_a_service_that_ended_once_fails_in_nothing(tmp_path):
    """The request could not be sent again. The first alert names it, and whoever was on the way."""
    result, _ = ended_at_a_key_of_null(EndsAtAKeyOfNull, tmp_path)
    [cause] = [note for note in result.document["notes"] if "cannot be reached" in note]

    assert (result.status, result.document["verdict"]) == (7, "unreachable")
    assert result.rows("fail") == {}
    assert re.search(
        r"the service ended while exchanges? [\d, and]+ was on its way \(.*registerPixKey, an invalid", cause
    )


def test_a_run_whose_service_ends_beside_many_requests_ends_too(tmp_path):
    """Whoever looks for the service is not kept from the wire by those that wait to send again."""
    with IsKilled() as service:
        service.AFTER = 250
        ended = run(write_profile(tmp_path, service.base_url, limits={"timeout": 5}), "--examples=5")

    assert (ended.status, ended.rows("fail")) == (7, {})
    assert ended.document["traffic"]["requests"] < 2 * service.AFTER


def test_a_request_that_ends_the_service_again_is_a_failure(tmp_path):
    """The run waits until a supervisor has started the service again."""
    result, fatal = ended_at_a_key_of_null(IsStartedAgain, tmp_path)

    assert (result.status, result.document["verdict"]) == (1, "not-robust")
    assert result.rows("fail").keys() == {"registerPixKey.connection"}
    assert result.rows("pass").keys() == {"listAccounts.json"}
    assert len(fatal) > 1
