"""What is wrong with the set-up is said first, in one line with what to do, and no row fails for it."""

import socket
from dataclasses import replace

import pytest

from environments.door.preflight import preflight
from environments.sandbox import Refusal, Response, Service
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import RunVerdict
from spec.exchange import Failure, FailureKind
from spec.interface import READS, operations
from spec.requirements import LEVELS
from spec.rules.robustness import never_answered
from tests.selftest.exchanges import answer
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import ADDRESS, BOTH, Bank, Run, bank_profile, notes_of, whole_run
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes, reset, served_by

CERTIFICATE = "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
NO_CERTIFICATE = Response(400, b"<html><center>No required SSL certificate was sent</center></html>")
EXPIRED = "the token expired during the run (exchange "
FORMS = {
    "401": Response(401, b"{}"),
    "login page": Response(302, b"", (("Location", "/login"),)),
    "another code": Response(200, b'{"code": 401, "data": {}}'),
}


class BreaksOneOperation(Raw):
    """It answers all requests but those to one operation: the list of accounts."""

    broken = "/v1/accounts"

    def answer(self, connection, request):
        if self.is_broken(request):
            self.break_off(connection)
        else:
            super().answer(connection, request)

    def is_broken(self, request):
        return request.path == self.broken


class Drops(BreaksOneOperation):
    def break_off(self, connection):
        reset(connection)


class Hangs(BreaksOneOperation):
    def break_off(self, connection):
        self._stopped.wait()


class HangsInTheMiddle(Hangs):
    """The balance, which is asked beside other reads for the first time."""

    broken = "/v1/accounts/balance/"

    def is_broken(self, request):
        return request.path.startswith(self.broken)


class AnswersNoHttp(BreaksOneOperation):
    def break_off(self, connection):
        connection.sendall(b"garbage\r\n\r\n")
        connection.shutdown(socket.SHUT_RDWR)


class AnswersTheExecutionAlone(Raw):
    """It answers only the execution of a code."""

    def answer(self, connection, request):
        if request.path.startswith("/v1/execute/"):
            super().answer(connection, request)
        else:
            reset(connection)


class Refuses(Service):
    """Refuses the token so, but for requests of these numbers."""

    def __init__(self, form, accepted):
        super().__init__()
        self.form, self.accepted, self.number, self.right = form, accepted, 0, self.token

    def respond(self, request):
        self.token = self.right if self.number in self.accepted else "another"
        self.number += 1
        return super().respond(request)

    def finish(self, request, operation, response):
        return self.form if response.status == 401 else response


@pytest.mark.parametrize(
    ("make", "operation", "connection", "why"),
    [
        (Drops, "listAccounts", "fail", "connection dropped"),
        (AnswersNoHttp, "listAccounts", "fail", "not HTTP"),
        (Hangs, "listAccounts", "warn", "no answer in time"),
        (HangsInTheMiddle, "getBalance", "warn", ""),  # those that hang first are perhaps not the valid one
    ],
)
def test_one_operation_that_is_not_answered_is_a_finding_about_it(make, operation, connection, why, tmp_path):
    """The others are tested. A service that hangs breaks no statement: the document does not say how long an answer
    takes. So that is a warning, and the run is incomplete."""
    with make() as service:
        limits = {"timeout": 2, "parallel": 4}
        profile = write_profile(tmp_path, service.base_url, limits=limits, fail_on=[*LEVELS[:-1]])
        ended = run(profile, "-k", "listAccounts or getBalance or registerPixKey.exists")
        asked = sum(service.is_broken(request) for request in service.seen)
    verdicts = {row["id"]: row["verdict"] for row in ended.document["requirements"]}
    of_others = {verdict for name, verdict in verdicts.items() if not name.startswith(operation)}

    assert ended.status == (1 if connection == "fail" else 6), ended.output
    assert verdicts[f"{operation}.connection"] == connection
    assert "not-exercised" not in of_others
    assert ended.rows("not-exercised")[f"{operation}.exists"].startswith(f"no valid request succeeded ({why}")
    assert connection == "fail" or f"none of {asked} requests was answered within limits.timeout" in ended.output


def test_an_operation_that_hangs_is_told_from_a_slow_moment():
    """Each of two requests or more hangs, one of them alone, and other operations answer after that. An execution has an
    unknown outcome instead."""
    hangs = {"failure": Failure(FailureKind.TIMEOUT, "late"), "response": None, "elapsed_s": 30.0}
    first, second = (replace(answer("getBalance", {}), started=at, **hangs) for at in (0.0, 40.0))
    other = replace(answer("listEntries", {}), started=50.0)
    executions = [replace(each, operation="executePix") for each in (first, second)]

    assert never_answered("getBalance", [first, second, other]) == [first, second]
    for exchanges in (
        [first, other],
        [first, second],
        [replace(other, started=10.0), first, second],
        [replace(first, beside=1), replace(second, beside=1), other],
        [first, replace(answer("getBalance", {}), started=40.0), other],
    ):
        assert never_answered("getBalance", exchanges) == []
    assert never_answered("executePix", [*executions, other]) == []


@served_by(AnswersTheExecutionAlone)
def test_a_target_that_executes_is_reached(service, a_run):
    """No read is answered, but a synthetic code is."""
    assert preflight(a_run.client) == ""


def test_a_target_that_answers_nothing_is_not_reached(tmp_path):
    """Whatever it is asked. The reason is that of the first request."""
    with Drops() as service:
        service.answer = lambda connection, request: reset(connection)
        run_of_all = Run(service, tmp_path)

        assert preflight(run_of_all.client) == "the connection was dropped without an answer"
        assert {exchange.operation for exchange in run_of_all.door.exchanges} == {*READS, "executePix"}


def test_a_read_that_breaks_later_does_not_end_the_run(tmp_path):
    """Another one is asked before the target counts as gone."""
    with Drops() as service:
        a_run = Run(service, tmp_path)
        service.break_off = lambda connection: connection.sendall(as_bytes(Response(200, b"{}")))
        a_run.client.send("getBalance", "ac-0001", valid=True)
        a_run.client.send("listAccounts", valid=True)
        del service.break_off
        for _ in range(12):
            a_run.client.send("listAccounts", valid=True)

        assert a_run.client.send("getBalance", "ac-0001").response.status == 200
        assert a_run.door.liveness.unreachable == ""


def test_a_fault_of_the_set_up_is_said_first():
    """One line with what to do. A gateway answers every path alike, which says nothing about the endpoints behind it: the
    run goes on, and blames no row."""
    service = Service()
    service.respond = lambda request: NO_CERTIFICATE
    trial = try_in_memory(service)

    assert trial.notes[0].startswith(CERTIFICATE)
    assert not trial.failing


@pytest.mark.parametrize(("form", "after"), [("login page", 30), ("another code", 90), ("401", 150)])
def test_a_token_that_expires_is_said_in_whatever_form_it_is_refused(form, after):
    """What was granted is refused, and so is a read that was granted: no 401 is needed to see it. The run is incomplete,
    however much was granted before."""
    trial = try_in_memory(Refuses(FORMS[form], range(after)))

    assert any(note.startswith(EXPIRED) for note in trial.notes)
    assert (trial.exit_status, trial.failing) == (RunVerdict.INCOMPLETE.exit_status, set())


def test_a_token_that_is_refused_for_a_while_has_not_expired():
    """It is accepted again, so nothing is excused for it."""
    trial = try_in_memory(Refuses(FORMS["401"], {*range(30), *range(34, 999)}))

    assert not any("expired" in note for note in trial.notes)


class TakesTheTokenFor(Bank):
    """It takes the token for these operations alone, and answers 401 to all others."""

    def __init__(self, *operations):
        super().__init__()
        self.operations = operations

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if operation not in self.operations:
            raise Refusal(401, "A valid access token is required.")

    @property
    def methods(self):
        return {request.method for request in self.seen}


@pytest.mark.parametrize(("status", "body"), [(302, b""), (403, b""), (200, b"<html>"), (200, b'{"code": 401}')])
def test_a_wrong_token_is_not_told_apart(status, body, tmp_path):
    """Nothing but reads is sent where each is answered as a wrong token is."""
    bank = TakesTheTokenFor()
    bank.finish = lambda *_: Response(status, body)
    whole_run(bank, bank_profile(tmp_path), among=BOTH)

    assert (bank.methods, len(bank.seen)) == ({"GET"}, 3 + len(READS))


def test_a_token_that_is_refused_everywhere_ends_the_run(tmp_path):
    """Two reads and more refuse it with 401: nothing is registered, prepared or executed, and one line says so."""
    service = TakesTheTokenFor()
    model = whole_run(service, bank_profile(tmp_path), among=BOTH)
    *names, last = asked = [name for name in operations() if name in (*READS, "executePix")]
    sent = ["listAccounts", "listAccounts", *asked]  # at first, and with a wrong token

    assert (service.methods, len(service.seen)) == ({"GET"}, len(sent))
    assert (service.executions, model.not_cleaned_up, model.not_executed) == ([], [], [])
    assert (result_of_run(model).verdict, [one.id for one, result in result_of_run(model).results if result.fails]) == (
        RunVerdict.INCOMPLETE,
        [],
    )
    assert notes_of(model) == [
        f"the token was refused with 401 by {', '.join(names)} and {last}: it is wrong, has expired, or is for "
        "another environment, check auth (PIX_TOKEN)"
    ]


@pytest.mark.parametrize(
    ("accepting", "expected"),
    [(name, ["registerPixKey.token.accepted"]) for name in ("listPixKeys", "getBalance", "listEntries")]
    + [("executePix", [])],  # a synthetic code, which is not granted
)
def test_a_token_that_one_operation_accepts_does_not(accepting, expected, tmp_path):
    """The others may want another scope, so everything is sent and judged: a 401 to a registration fails it."""
    service = TakesTheTokenFor(accepting)
    model = whole_run(service, bank_profile(tmp_path), "registerPixKey.token")
    failing = [one.id for one, result in result_of_run(model).results if result.fails]

    assert "POST" in service.methods
    assert failing == expected


def test_an_account_that_everything_refuses_is_named(tmp_path):
    """By its place in the profile; the run is incomplete."""
    profile = bank_profile(tmp_path, allow=["read", "fuzz"], accounts=["ac-0001", "2"])
    model = whole_run(Bank(), profile, "getBalance or listEntries", BOTH)

    said = "number 2 of accounts: refused by every operation (404 application/json): check accounts"
    assert notes_of(model) == [str(result_of_run(model).why)] == [said]


def test_an_account_list_of_another_scope_keeps_the_verdict(tmp_path):
    """It is 401 there alone: what the other operations show is judged, and passes."""
    service = TakesTheTokenFor(*(name for name in operations() if name != "listAccounts"))
    verdict = result_of_run(whole_run(service, bank_profile(tmp_path, sandbox=ADDRESS))).verdict

    assert verdict is RunVerdict.PARTIAL
