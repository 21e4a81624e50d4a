"""The door, through which every request of a run goes: repetitions, notes, and the token that all threads share."""

import threading
from itertools import count

import pytest

from environments.door.door import NoteSubject
from environments.door.outgoing import Intent
from tests.selftest.services.one_run import CODE, ManualRun
from tests.selftest.services.serving import SocketService, real_codes_received, served_by
from tests.traffic.case import Case, EncodedText
from tests.traffic.together import Together

OLD_TOKEN, NEW_TOKEN = "Tok-3n.Of-The_Service", "Lat3r.Tok-en_of-the-service"


def test_a_request_that_moves_no_money_can_be_sent_again_as_it_was(service, manual_run):
    """`send_again` sends a read and an invalid registration once more, exactly as they were.

    The invalid registration has bytes that are no text in its body and in a header.
    """
    read = manual_run.client.send("listAccounts", valid=True)
    invalid_registration = manual_run.client.send(
        "registerPixKey", "pixconf-1", body=b"{ \xe9", headers=[("X-Pixconf", "\xe9")]
    )
    second_read = manual_run.door.send_again(read)
    second_invalid_registration = manual_run.door.send_again(invalid_registration)
    _, first_arrival, _, second_arrival = service.received

    assert second_read.request == read.request
    assert second_invalid_registration.request == invalid_registration.request
    assert second_arrival == first_arrival


@pytest.mark.parametrize("operation", ["getBalance", "executePix"])
def test_a_broken_percent_encoding_arrives_as_it_was_written(operation, service, manual_run):
    """The libraries that send requests would encode the percent sign of `%zz`, so that the service would read `%zz`.

    Only a path that is written so gets there unchanged. Another percent sign is encoded as usual.
    """
    broken = Case(operation, path_parameter=EncodedText("pixconf-%zz")).send(manual_run.client)
    usual = Case(operation, path_parameter="pixconf-%zz").send(manual_run.client)
    arrived = [request.path.rpartition("/")[2] for request in service.received]

    assert arrived == ["pixconf-%zz", "pixconf-%25zz"]
    assert [exchange.request.url.rpartition("/")[2] for exchange in (broken, usual)] == arrived


@pytest.mark.parametrize(
    "send",
    [
        lambda manual_run: manual_run.execute(CODE),
        lambda manual_run: manual_run.execute(CODE, credential="a wrong token (of a JWT: another signature)"),
        lambda manual_run: manual_run.client.send("createPix", json={}, valid=True),
    ],
    ids=["an execution", "an execution with a wrong token", "the preparation of a transfer"],
)
def test_a_request_that_may_move_money_is_not_sent_again(send, service, manual_run):
    """An execution or a preparation of a transfer is sent once. Then `send_again` returns None and sends nothing.

    Neither does it repeat an execution with a wrong token, because a service may forget to check the token.
    """
    exchange = send(manual_run)
    repetition = manual_run.door.send_again(exchange)

    assert repetition is None
    assert len(service.received) == 1


def test_a_note_names_all_operations_that_are_cut_short_for_its_reason(manual_run):
    """The door notes for two operations that it sends no more to them, with the same reason. That is one note.

    A note about the set-up of the run names no operation.
    """
    for operation in ("executePix", "registerPixKey"):
        manual_run.door.note(NoteSubject.NOT_ALL_SENT, "locked out", operation)
    manual_run.door.note(NoteSubject.SET_UP, "look at the list")

    assert manual_run.operations_left_out == {"locked out": {"executePix", "registerPixKey"}}
    assert manual_run.notes == ["look at the list"]


# -- the token ----------------------------------------------------------------------------------------------------


class ExpiresUnderWay(SocketService):
    """The sandbox, whose token expires while the eight requests after the first one are on the wire. They are refused."""

    def __init__(self):
        """The sandbox. As soon as the eight requests after the first one have arrived, its token changes."""
        super().__init__()
        self._numbers = count(1)
        self._all_eight_are_there = threading.Barrier(8, action=self._let_token_expire)

    def _let_token_expire(self):
        """Accept another token from now on, and refuse the old one."""
        self.sandbox.token = NEW_TOKEN

    def answer(self, connection, request):
        """Hold the requests 2 to 9 until all of them are there, and the token has expired. Then answer."""
        number = next(self._numbers)
        if 2 <= number <= 9:
            self._all_eight_are_there.wait()
        super().answer(connection, request)


class RunWhoseTokenExpires:
    """A run that sends a read, and then eight reads at the same moment, which get 401, because the token expired.

    Its constructor does all this. `has_new_token` says if another token can be fetched.
    """

    def __init__(self, service, folder, *, has_new_token):
        """Send a read, and then eight reads at the same moment, during which the token expires."""
        self.has_new_token = has_new_token
        self.attempts_to_fetch = 0
        self.manual_run = ManualRun(service, folder, parallel=8, refresh=self.fetch)
        self.client, self.token_monitor = self.manual_run.client, self.manual_run.door.token_monitor
        self.manual_run.door.run_end.sleep = lambda seconds: None  # no pause takes time
        self.send_read()
        self.answers_of_the_eight = Together(self.client).send_all([self.send_read] * 8)

    def send_read(self):
        """Send a read with the token of the moment, and return the exchange."""
        return self.client.send("listAccounts", valid=True)

    def fetch(self):
        """Fetch a token: the new one, if there is one. Otherwise the old token again. Returns True if it is new."""
        self.attempts_to_fetch += 1
        token = NEW_TOKEN if self.has_new_token else OLD_TOKEN
        self.manual_run.secrets.learn_token(token)
        return self.has_new_token

    @property
    def numbers_of_refused_reads(self):
        """The numbers of the reads with the valid token that got 401."""
        numbers = set()
        for exchange in self.manual_run.exchanges:
            if exchange.valid and exchange.response.status == 401:
                numbers.add(exchange.number)
        return numbers

    @property
    def numbers_that_do_not_count(self):
        """The numbers of the refused reads that do not count against the service, because the token had expired."""
        return self.token_monitor.excused


@served_by(ExpiresUnderWay)
def test_a_token_that_expires_under_eight_requests_is_fetched_once(service, tmp_path):
    """Eight reads get 401 at the same time, because the token expired. One thread checks the token and fetches another.

    Then the eight reads are sent again with the new token, and they succeed. Their refusals do not count against the
    service.
    """
    run = RunWhoseTokenExpires(service, tmp_path, has_new_token=True)
    first_read, refused_reads, check_of_token, reads_sent_again = 1, 8, 1, 8

    assert run.attempts_to_fetch == 1
    assert len(run.token_monitor.notes) == 1
    assert {answer.expects_success for answer in run.answers_of_the_eight} == {True}
    assert len(service.received) == first_read + refused_reads + check_of_token + reads_sent_again
    assert len(run.numbers_of_refused_reads) == 8
    assert run.numbers_of_refused_reads <= run.numbers_that_do_not_count


@served_by(ExpiresUnderWay)
def test_a_run_goes_on_with_the_token_that_it_fetched(service, tmp_path):
    """The token expired and another one was fetched. Then a read with the token and a request without one are sent."""
    run = RunWhoseTokenExpires(service, tmp_path, has_new_token=True)
    service.received.clear()
    run.send_read()
    run.client.send("createPix", credential="no header")

    assert [request.path for request in service.received] == ["/v1/accounts", "/v1/pix"]
    assert run.attempts_to_fetch == 1


@served_by(ExpiresUnderWay)
def test_nothing_is_sent_after_a_token_that_expired_for_good(service, tmp_path):
    """Eight reads get 401 at the same time, because the token expired. The run asks for another token once, and gets
    none.

    The token is checked with a read and tried in three more reads. The eight reads are not sent again, no success is
    expected of them any more, and their refusals do not count against the service. Afterwards nothing is sent, with or
    without the token.
    """
    run = RunWhoseTokenExpires(service, tmp_path, has_new_token=False)
    first_read, refused_reads, check_of_token, tries_of_token = 1, 8, 1, 3
    run.send_read()
    run.client.send("createPix", credential="no header")

    assert run.attempts_to_fetch == 1
    assert len(run.token_monitor.notes) == 1
    assert {answer.expects_success for answer in run.answers_of_the_eight} == {False}
    assert len(service.received) == first_read + refused_reads + check_of_token + tries_of_token
    assert len(run.numbers_of_refused_reads) == 8
    assert run.numbers_of_refused_reads <= run.numbers_that_do_not_count


def test_a_code_that_was_refused_for_an_expired_token_is_not_sent_again(service, tmp_path):
    """The token expired, so the execution of the transaction code gets 401. Another token is fetched for later
    requests.

    The code itself is not sent again, because each code is sent at most once.
    """

    def fetch_token():
        """Fetch the new token. True, because it is another one."""
        manual_run.secrets.learn_token(NEW_TOKEN)
        return True

    manual_run = ManualRun(service, tmp_path, refresh=fetch_token)
    manual_run.client.send("listAccounts", valid=True)
    service.sandbox.token = NEW_TOKEN
    manual_run.execute(CODE)

    assert [code for code, _ in real_codes_received(service)] == [CODE]
    assert manual_run.secrets.token() == NEW_TOKEN


def test_a_request_is_sent_with_the_token_of_the_moment_at_which_it_is_sent(service, manual_run):
    """An execution is built with the old token and waits. Meanwhile a new token is fetched, and the service wants that
    one.

    The execution is sent with the new token. With the old one it would be refused, and its code could not be sent
    again.
    """
    waiting_execution = manual_run.client._request("GET", f"/v1/execute/pix/{CODE}")
    service.sandbox.token = NEW_TOKEN
    manual_run.secrets.learn_token(NEW_TOKEN)
    executed = manual_run.door.send(waiting_execution, Intent("executePix", valid=True))

    assert executed.response.status == 200
    assert service.executions_with_valid_token == [CODE]
    assert manual_run.outcomes_in_journal[0] == "sent"
