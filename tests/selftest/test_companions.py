"""Valid requests that do nothing are under way beside requests that must be refused."""

import threading
from functools import partial

import pytest

import tests.selftest.proof.mutants  # noqa: F401 - registers its services
from environments.door.in_flight import Meeting
from environments.door.liveness import UnreachableError
from environments.profiles.loading import load
from spec.answers import registered
from tests.harness.lanes import Lanes, Part
from tests.selftest.proof.registry import MUTANTS
from tests.selftest.services.one_run import Run
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import Raw, reset, served_by
from tests.traffic.beside import MOST_COMPANIONS, TRIES, Beside
from tests.traffic.registrations import register_all

EMAIL = "qa@example.com"
PROBED = pytest.mark.parametrize("operation", ["executePix", "registerPixKey"])


class HoldsProbes(Raw):
    """Answers what has no token when a request with the token has come."""

    def __init__(self):
        super().__init__()
        self.has_come = threading.Event()
        self.comes = self.has_come.set

    def answer(self, connection, request):
        if self.is_granted(request):
            self.comes()
        else:
            self.has_come.wait(HANGS_S)
        super().answer(connection, request)

    @property
    def probes(self):
        return [seen for seen in self.seen if not self.is_granted(seen)]

    @property
    def companions(self):
        return [seen for seen in self.seen if self.is_granted(seen)]


@pytest.fixture
def beside(service, tmp_path):
    a_run = Run(service, tmp_path, parallel=4)
    lanes = Lanes(a_run.door.in_flight)
    yield Beside(a_run.client, lanes)
    lanes.close()


def probe_of(beside, operation):
    return partial(beside._client.send, operation, "pixconf-1", credential="no header")


@served_by(HoldsProbes)
def test_what_met_its_companion_is_sent_once(service, beside, monkeypatch):
    """Both had left, and neither had its answer."""

    class Noticed(Meeting):
        def leave(self):
            super().leave()
            if self.took_place:
                service.has_come.set()

    monkeypatch.setattr("tests.traffic.beside.Meeting", Noticed)
    service.comes = lambda: None
    beside.send_each_with_companions("executePix", probe_of(beside, "executePix"), tries=TRIES)

    assert len(service.probes) == 1


@PROBED
@served_by(HoldsProbes)
def test_a_companion_has_the_token_and_names_nobody(operation, service, beside):
    """It goes to the same operation, with a synthetic code, or an empty body for a synthetic account."""
    [answer] = beside.send_each_with_companions(operation, probe_of(beside, operation))

    assert answer.response.status == 401
    assert 1 <= len(service.companions) <= MOST_COMPANIONS
    for companion in service.companions:
        assert companion.path.rpartition("/")[0] == service.probes[0].path.rpartition("/")[0]
        assert companion.path.rpartition("/")[2].startswith("pixconf-")
        assert companion.body == (b"" if operation == "executePix" else b"{}")


@served_by(HoldsProbes)
def test_a_request_that_the_run_sends_anyway_is_the_first_companion(service, beside):
    """One that was sent before is none."""
    parts = [Part(partial(beside._client.send, "executePix", f"pixconf-{name}")) for name in ("sent", "waits")]
    parts[0].run()
    service.has_come.clear()
    service.seen.clear()
    beside.offer("executePix", parts)
    beside.send_each_with_companions("executePix", probe_of(beside, "executePix"))

    assert service.companions[0].path.endswith("waits")


@pytest.mark.parametrize(("tries", "sent"), [(1, 1), (TRIES, TRIES)])
def test_what_met_no_companion_is_sent_again(tries, sent, service, beside):
    """A few times."""
    beside._send_companion = lambda operation: None
    beside.send_each_with_companions("executePix", probe_of(beside, "executePix"), tries=tries)

    assert len(service.seen) == sent


@pytest.mark.parametrize("send", [{}, {"credential": "no header"}], ids=["granted", "without an answer"])
def test_what_was_granted_or_lost_is_not_sent_again(send, service, beside):
    """It shows what it was to show."""
    beside._send_companion = lambda operation: None
    if send:
        service.answer = lambda connection, request: reset(connection)
        beside._client.door._decisions = ()
    answers = beside.send_each_with_companions(
        "listAccounts", partial(beside._client.send, "listAccounts", **send), tries=TRIES
    )

    assert len(service.seen) == len(answers) == 1


def test_so_many_are_sent_at_once_that_each_finds_room_for_its_companion(service, tmp_path):
    """With room for four on the wire, one at a time: other chains send, too."""
    together = {}
    for most in (2, 4, 8, 16):
        client = Run(service, tmp_path, parallel=most).client
        beside = Beside(client, Lanes(client.door.in_flight))
        together[most] = []
        beside.send_all = lambda sends, most=most: together[most].append(len(sends)) or [None] * len(sends)
        beside.send_each_with_companions("executePix", *[lambda: None] * 7)

    assert together == {2: [2] * 7, 4: [2] * 7, 8: [6, 6, 2], 16: [14]}


def test_a_companion_that_finds_the_target_gone_costs_the_other_request_nothing(service, beside):
    """Whether a code was spent is judged by the answer."""

    def gone(*_, **__):
        raise UnreachableError("the connection is refused")

    beside._client.send = gone

    assert beside.send_each_with_companions("executePix", lambda: "the answer") == ["the answer"]


# -- a read beside a registration ------------------------------------------------------------------------------


def registered_beside(name, service, tmp_path, parallel=4, **changes):
    """What a run registers that has one key, with a service that answers otherwise where a read meets a registration."""
    token, service.service = service.service.token, MUTANTS.specimens[name].make()
    service.service.token = token
    path = write_profile(tmp_path, service.base_url, pix_keys=[{"type": "EMAIL", "key": EMAIL}], **changes)
    a_run, profile = Run(service, tmp_path, parallel=parallel), load(str(path), folder=tmp_path)
    lanes = Lanes(a_run.door.in_flight)
    found = register_all(a_run.client, profile, a_run.secrets.token(), beside=Beside(a_run.client, lanes))
    lanes.close()
    return found


def is_a_page(exchange):
    return not exchange.response.json.readable


def test_the_list_is_read_while_a_registration_is_granted(service, tmp_path):
    """Also where the profile has one key, which no other one can be registered beside. No other list is read then."""
    found = registered_beside("ListIsAPageBesideARegistration", service, tmp_path)

    assert [(seen.operation, is_a_page(seen)) for seen in found.read_beside] == [("listPixKeys", True)]
    assert (found.lost, found.broken, found.suspected) == ([], {}, [])


@pytest.mark.parametrize(
    ("parallel", "changes"),
    [(1, {}), (4, {"allow": ["register-keys", "delete-keys"]})],
    ids=["one at a time", "no reads"],
)
def test_the_list_is_not_read_on_purpose(parallel, changes, service, tmp_path):
    """Where one request goes at a time, or the profile permits no read."""
    found = registered_beside("RegistrationIsTheListItMeets", service, tmp_path, parallel, **changes)

    assert found.read_beside == []
    assert all(map(registered, found.fresh))


# -- whether two requests have met ------------------------------------------------------------------------------


def in_a_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join(HANGS_S)


def test_two_requests_meet_where_both_have_left_and_neither_has_its_answer():
    """That is known at once."""
    meeting = Meeting()
    meeting.leave()
    before = meeting.took_place
    in_a_thread(meeting.leave)

    assert (before, meeting.took_place) == (False, True)


def test_a_request_that_leaves_after_the_answer_meets_nobody():
    """Nor does one that is sent after another one in the same thread."""
    meeting = Meeting()
    meeting.leave()
    meeting.leave()
    meeting.come_back()
    in_a_thread(meeting.leave)

    assert not meeting.took_place
