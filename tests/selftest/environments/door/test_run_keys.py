"""What a run registers: which keys stay open, and why."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import requests

from environments.door.event_log import LogKey
from environments.door.key_record import LATER, MAYBE, REGISTERED, KeyRecord
from environments.door.key_states import KeyState
from environments.door.outgoing import Intent, Sending
from environments.door.run_keys import Keys
from environments.profiles.model import PixKey
from spec.exchange import Exchange, Failure, FailureKind, Request
from tests.selftest.exchanges import REGISTRATION, answer
from tests.selftest.services.keys_of_others import ACCOUNT, EMAIL, OLD_RANDOM


def test_a_registration_without_a_connection_is_closed():
    """Nothing was sent. A key that was perhaps registered before stays open."""
    keys = Keys(accounts=(ACCOUNT,))
    body = b'{"account": "ac-0001", "pixKeyType": "EMAIL", "pixKey": "pixconf-1@example.com"}'
    request = Request("POST", f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}", (), body)

    def register(kind, number):
        failure = Failure(kind, "no answer")
        exchange = Exchange(number, "registerPixKey", request, None, failure, valid=True)
        sending = SimpleNamespace(
            sent=request, request=request, intent=SimpleNamespace(operation="registerPixKey"), exchange=exchange
        )
        with keys.recording(sending):
            pass
        return [key.state for key in keys.not_cleaned_up()]

    states = [register(FailureKind.NO_CONNECTION, 1), register(FailureKind.TIMEOUT, 2)]

    assert [*states, register(FailureKind.NO_CONNECTION, 3)] == [[], [KeyState.MAYBE], [KeyState.MAYBE]]


@pytest.mark.parametrize(
    "number", ["-1e400", "1e999999", pytest.param("9" * 5000, id="long"), "1.50", "NaN", "-Infinity"]
)
def test_a_number_that_is_sent_as_a_key_is_named_as_it_was_written(number, a_run):
    """A float would be infinite, and an integer of 5000 digits an error: a report shows neither."""
    body = f'{{"pixKeyType": "EMAIL", "pixKey": {number}}}'
    a_run.client.send("registerPixKey", "pixconf-account", body=body.encode())
    [key] = a_run.door.keys._keys

    assert (key.value, str(key.name)) == (number, f"EMAIL {number}"[:80])


@pytest.mark.parametrize(("account", "beside"), [("ac-0001", 1), ("pixconf-account", 0)])
def test_a_list_beside_another_request_or_of_another_account_says_nothing(account, beside):
    """It may be older than the other request; and a key of the operator would count as one that the service made."""
    keys = Keys(accounts=("ac-0001",))
    for operation, of_account, seen in (
        ("listPixKeys", "ac-0001", answer("listPixKeys", {"code": 0, "data": [OLD_RANDOM]})),
        ("registerPixKey", "ac-0001", answer("registerPixKey", {}, status=422)),
        ("listPixKeys", account, answer("listPixKeys", {"code": 0, "data": []}, beside=beside)),
    ):
        request = requests.Request(
            "POST", f"http://127.0.0.1/v1/pix/keys/{of_account}", json={"pixKey": EMAIL}
        ).prepare()
        sending = Sending(request, Intent(operation, valid=True))
        sending.exchange = replace(seen, request=sending.sent)
        with keys.recording(sending):
            pass

    assert keys.was_there_before(OLD_RANDOM)
    assert [key.value for key in keys.not_cleaned_up()] == [EMAIL]


# -- what may be deleted ---------------------------------------------------------------------------------------------

MADE_UP = "pixconf-1a2b3c4d@example.com"
OF_THE_PROFILE = "qa@bank.example"


def listed(*keys):
    """The data of a list with these keys."""
    return {"keys": [{"pixKey": key} for key in keys]}


class Seen:
    """Keys that see one exchange after the other, at one account of the profile."""

    def __init__(self, *, disposable=True, is_sandbox=False, key_at="/data/keys/*/pixKey"):
        owned = (PixKey("EMAIL", OF_THE_PROFILE, disposable=disposable),)
        self.keys = Keys(owned, None, (ACCOUNT,), is_sandbox=is_sandbox, key_at=key_at)
        self._number = 0

    def list(self, data, *, status=200):
        """The list of the account is read."""
        return self._send("listPixKeys", "GET", None, {"code": 0, "data": data}, status)

    def register(self, key=OF_THE_PROFILE, *, status=200):
        """A key is registered at the account."""
        sent = {"account": ACCOUNT, "pixKeyType": "EMAIL", "pixKey": key}
        return self._send("registerPixKey", "POST", sent, {"code": 0, "data": REGISTRATION}, status)

    def delete(self, key, *, status=200):
        """A key is deleted at the account."""
        return self._send("deletePixKey", "DELETE", {"pixKey": key}, {"code": 0, "data": {}}, status)

    def _send(self, operation, method, sent, told, status):
        self._number += 1
        url = f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}"
        sending = Sending(requests.Request(method, url, json=sent).prepare(), Intent(operation, valid=True))
        seen = answer(operation, told, status=status)
        sending.exchange = replace(seen, request=sending.sent, number=self._number)
        with self.keys.recording(sending):
            pass
        return self


def test_a_disposable_key_that_was_not_there_before_may_be_deleted():
    """A whole list of before says that it was not there, and the list of now shows it."""
    seen = Seen().list(listed("mae@cliente.example")).register().list(listed("mae@cliente.example", OF_THE_PROFILE))

    assert seen.keys.may_be_deleted(OF_THE_PROFILE)


@pytest.mark.parametrize(
    "seen",
    [
        Seen(disposable=False).list(listed()).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed(OF_THE_PROFILE)).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed(OF_THE_PROFILE.upper())).register().list(listed(OF_THE_PROFILE)),
        Seen().register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed("qa***@bank.example")).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed() | {"hasMore": True}).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed()).register().list(listed("qa***@bank.example")),
        Seen().list(listed()).register().list(listed()),
        Seen().list(listed()).register().list(listed(OF_THE_PROFILE), status=503),
        Seen(key_at=None).list(listed()).register().list(listed(OF_THE_PROFILE)),
    ],
    ids=[
        "not disposable", "there before", "there before in capitals", "no list of before", "masked before",
        "a list of before that goes on", "masked now", "not shown now", "no list of now", "without key_at",
    ],
)  # fmt: skip
def test_a_key_of_the_profile_stays_unless_lists_tell(seen):
    """It is decided for the key, and against the deletion."""
    assert not seen.keys.may_be_deleted(OF_THE_PROFILE)


def test_a_key_that_the_run_made_up_may_be_deleted():
    """Unless a list showed it before."""
    assert Seen().list(listed()).register(MADE_UP).keys.may_be_deleted(MADE_UP)
    assert not Seen().list(listed(MADE_UP)).keys.may_be_deleted(MADE_UP)


@pytest.mark.parametrize("key", ["", "  ", "x" * 201, "pixconf-\x00", "pixconf-\x7f", "pixconf-\ud800"])
def test_a_key_that_a_service_may_read_as_another_one_stays(key):
    """Empty, long, or with signs that cannot be printed. A sandbox has nothing to lose."""
    assert not Seen().keys.may_be_deleted(key)
    assert Seen(is_sandbox=True).keys.may_be_deleted(key)


def test_on_a_sandbox_a_key_of_the_profile_is_deleted_without_a_list():
    """If it was registered for sure; with a list also if it was perhaps registered."""
    assert Seen(is_sandbox=True).register().keys.may_be_deleted(OF_THE_PROFILE)
    assert not Seen(is_sandbox=True).register(status=400).keys.may_be_deleted(OF_THE_PROFILE)
    assert Seen(is_sandbox=True).list(listed()).register(status=400).keys.may_be_deleted(OF_THE_PROFILE)


# -- what becomes of a key -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "states"),
    [
        (Seen().list(listed()).register(), [KeyState.REGISTERED]),
        (Seen().list(listed()).register(status=400), [KeyState.REFUSED]),
        (Seen().list(listed()).register(status=400).list(listed()), []),
        (Seen().list(listed()).register(status=400).list(listed(OF_THE_PROFILE)), [KeyState.MAYBE]),
        (Seen().list(listed()).register(status=504), [KeyState.MAYBE]),
        (Seen().list(listed()).register().delete(OF_THE_PROFILE), []),
        (Seen().list(listed()).register().delete("other@bank.example"), [KeyState.REGISTERED]),
        (Seen().list(listed()).register().delete(OF_THE_PROFILE, status=404), [KeyState.REGISTERED]),
        (Seen().list(listed()).register(status=400).delete(OF_THE_PROFILE, status=404), []),
        (Seen().list(listed()).register().delete(OF_THE_PROFILE).list(listed(OF_THE_PROFILE)), [KeyState.KEPT]),
        (Seen().list(listed(OF_THE_PROFILE)).register(), []),
    ],
)
def test_what_is_left_of_a_key(seen, states):
    """A refusal may have registered it until a list tells; a deletion is over if no list shows the key."""
    assert [key.state for key in seen.keys.not_cleaned_up()] == states


def test_a_granted_key_is_left_as_perhaps_later_if_no_list_shows_it():
    """It was granted, and is not there at the end."""
    seen = Seen().list(listed()).register().list(listed())
    seen.keys.set_last_states()

    assert [key.state for key in seen.keys.not_cleaned_up()] == [KeyState.LATER]


def test_a_key_is_gone_if_two_lists_lack_it():
    """One list may lag. One that a deletion named is not gone, and a list that goes on says nothing."""
    old, other = "old@bank.example", "other@bank.example"
    seen = Seen().list(listed(old, other)).delete(other).list(listed())
    assert seen.keys.lists.gone == frozenset()

    assert seen.list(listed()).keys.lists.gone == {old}
    assert seen.keys.lists.gone_after_a_deletion
    assert (
        Seen().list(listed(old)).delete(other).list(listed(old)).list(listed()).list(listed(old)).keys.lists.gone
        == frozenset()
    )
    more = listed() | {"next": "/v1/pix/keys?page=2"}
    assert Seen().list(listed(old)).delete(other).list(more).list(more).keys.lists.gone == frozenset()


# -- which key a request names, and what is written down --------------------------------------------------------------

NOBODY, OTHER_ACCOUNT = "pixconf-account", "ac-0002"
OLD = "mae@cliente.example"
CPF = "52998224725"
PROFILE_KEYS = (
    PixKey("RANDOM", ""),
    PixKey("EMAIL", OF_THE_PROFILE, disposable=True),
    PixKey("CPF", CPF),
)


class Recorded:
    """Keys with a record, that see one exchange after the other."""

    def __init__(self, record, *, owned=PROFILE_KEYS, is_sandbox=False, accounts=(ACCOUNT, OTHER_ACCOUNT)):
        self.record = record
        self.keys = Keys(owned, record, accounts, is_sandbox=is_sandbox, key_at="/data/keys/*/pixKey")
        self.written_before: list[list[str]] = []  # events in the record while each request was on the wire
        self.last = 0

    def register(
        self, key, *, key_type="EMAIL", account=ACCOUNT, status=200, body=None, result=REGISTRATION, **changes
    ):
        """A registration. Its body may be another one."""
        sent = {"account": account, "pixKeyType": key_type, "pixKey": key} if body is None else body
        return self._send("registerPixKey", "POST", account, sent, {"code": 0, "data": result}, status, **changes)

    def list(self, *keys, account=ACCOUNT, status=200, query="", more=False, **changes):
        """A list of keys, perhaps with more of them on another page. `changes` are those of the exchange."""
        answered = {"code": 0, "data": listed(*keys) | {"hasMore": more}}
        return self._send("listPixKeys", "GET", account + query, None, answered, status, **changes)

    def delete(self, *keys, account=ACCOUNT, status=200):
        """A deletion of these keys."""
        return self._send("deletePixKey", "DELETE", account, {"keys": [*keys]}, {"code": 0, "data": {}}, status)

    def _send(self, operation, method, account, sent, answered, status, **changes):
        self.last += 1
        url = f"http://127.0.0.1/v1/pix/keys/{account}"
        sending = Sending(requests.Request(method, url, json=sent).prepare(), Intent(operation, valid=True))
        exchange = answer(operation, answered, status=status)
        sending.exchange = replace(exchange, request=sending.sent, number=self.last, **changes)
        with self.keys.recording(sending):
            self.written_before.append(self.events)
        return self

    def start(self):
        """The door has read the lists before the run."""
        self.keys.lists.before_is_final = True
        return self

    @property
    def states(self):
        """The state of each key that may still be there, by its value."""
        return {key.value: key.state for key in self.keys.not_cleaned_up()}

    @property
    def events(self):
        """The events in the record, in their order."""
        return [event["event"] for event in self.record.events()] if self.record else []


@pytest.fixture
def record(tmp_path):
    """The key record of a run."""
    return KeyRecord(tmp_path / "keys.jsonl", LogKey(tmp_path / "key"), "staging", "one", base_url="https://b.example")


@pytest.fixture
def run(record):
    """Keys of a profile, whose record is empty."""
    return Recorded(record)


def test_a_registration_is_in_the_record_before_it_is_sent(run):
    """As perhaps registered; then as what became of it."""
    run.list().register(MADE_UP)

    assert run.written_before[-1] == [MAYBE]
    assert run.events == [REGISTERED]
    assert run.list(MADE_UP).delete(MADE_UP).events == []


def test_a_key_of_the_profile_is_recorded_as_registered_if_a_list_showed_that_it_was_absent(run):
    """Else it may have been there before."""
    assert run.register(OF_THE_PROFILE).events == [MAYBE]


def test_with_a_list_of_before_a_key_of_the_profile_is_recorded_as_registered(run):
    """The list did not show it."""
    assert run.list(OLD).register(OF_THE_PROFILE).events == [REGISTERED]


def test_a_key_that_was_there_before_is_not_recorded(run):
    """It is the operator's, whatever a registration is answered."""
    run.list(OF_THE_PROFILE).register(OF_THE_PROFILE)

    assert (run.events, run.states) == ([], {})
    assert run.keys.was_there_before(OF_THE_PROFILE)
    assert run.keys.key_of(Exchange(run.last, "registerPixKey", Request("POST", "", ()))) is None


def test_without_a_record_nothing_is_kept():
    """As for the embedded sandbox."""
    run = Recorded(None).list().register(MADE_UP)

    assert run.states == {MADE_UP: KeyState.REGISTERED}
    assert not run.keys.holds_an_unknown_key()
    assert [key.key for key in run.keys.keys_of_runs()] == [OF_THE_PROFILE, CPF, MADE_UP]


def test_keys_of_unknown_value_share_an_entry_that_is_closed_with_the_last(run):
    """Nobody can tell them apart. A service may make another one for each."""
    run.list().register("", key_type="RANDOM").register("", key_type="RANDOM")
    first, second = run.keys.not_cleaned_up()
    assert run.events == [REGISTERED]

    run.keys.learn_value(first, "made-1")
    assert sorted(run.events) == [REGISTERED, REGISTERED]
    run.delete("made-1")
    assert run.events == [REGISTERED]
    run.keys.learn_value(second, "made-2")
    assert run.delete("made-2").events == []


@pytest.mark.parametrize(
    "body",
    [
        {"pixKeyType": "EMAIL", "pixKey": OF_THE_PROFILE},
        {"pixKeyType": "CPF", "pixKey": {"value": OF_THE_PROFILE}},
        {"other": [OF_THE_PROFILE]},
    ],
)
def test_a_key_of_the_profile_is_named_wherever_it_stands_in_a_body(body, run):
    """A lenient service may find it."""
    run.list().register(None, body=body)

    assert run.states == {OF_THE_PROFILE: KeyState.REGISTERED}
    assert run.keys.lists.before_is_final


def test_a_number_that_is_a_key_of_the_profile_is_named(run):
    """A JSON number is compared as it is written."""
    assert run.list().register(int(CPF), key_type="CPF").states == {CPF: KeyState.REGISTERED}


def test_a_synthetic_key_is_another_one_at_each_account(run):
    """And the same one when it is sent again."""
    run.list().register(MADE_UP).register(MADE_UP).register(MADE_UP, account=NOBODY)

    assert [key.account for key in run.keys.not_cleaned_up()] == [ACCOUNT, NOBODY]
    assert not run.keys.not_cleaned_up()[0].is_for_nobody
    assert run.keys.not_cleaned_up()[1].is_for_nobody


@pytest.mark.parametrize(
    ("key_type", "key", "name"),
    [
        ("EMAIL", MADE_UP, f"EMAIL {MADE_UP}"),
        ("EVP", MADE_UP, f"key {MADE_UP}"),
        ("EMAIL", "pixconf-é" + "x" * 80, ("EMAIL pixconf-\\xe9" + "x" * 80)[:80]),
        ("RANDOM", "", "RANDOM, made by the service"),
        ("EVP", "", "a key that its request does not name"),
    ],
)
def test_the_name_of_a_key_that_the_run_made_up(key_type, key, name, run):
    """What it is for people, in ASCII, and not too long."""
    run.list().register(key, key_type=key_type)
    [made] = run.keys.not_cleaned_up()

    assert str(made.name) == name
    assert made.type == (key_type if key_type != "EVP" else "")


def test_the_name_of_a_key_of_the_profile_has_its_place(run):
    """Not its value."""
    assert str(run.list().register(CPF, key_type="CPF").keys.not_cleaned_up()[0].name) == "CPF, number 3 of pix_keys"


def test_the_keys_of_the_profile_come_first(run):
    """Whatever is sent first."""
    assert [*run.list().register(MADE_UP).register(CPF).register(OF_THE_PROFILE).states] == [
        OF_THE_PROFILE,
        CPF,
        MADE_UP,
    ]


def test_a_key_that_may_be_left_stays_at_its_account(run):
    """One that is gone moves to the account of its next registration."""
    run.list().register(OF_THE_PROFILE).register(OF_THE_PROFILE, account=NOBODY, status=400)
    [key] = run.keys.not_cleaned_up()
    assert (key.account, key.state) == (ACCOUNT, KeyState.REGISTERED)

    run.delete(OF_THE_PROFILE).register(OF_THE_PROFILE, account=NOBODY)
    assert key.account == NOBODY


# -- what is asked of the keys ---------------------------------------------------------------------------------------


def asks(operation, method="GET", account=ACCOUNT, sent=None):
    """A request that is not sent yet."""
    request = requests.Request(method, f"http://127.0.0.1/v1/pix/keys/{account}", json=sent).prepare()
    return Sending(request, Intent(operation))


def test_what_cleans_up(run):
    """The deletion of a key that may still be there, and a list of an account that may have one."""
    own_list, list_of_nobody = asks("listPixKeys"), asks("listPixKeys", account=NOBODY)
    deletion, other = (asks("deletePixKey", "DELETE", sent={"pixKey": key}) for key in (MADE_UP, OLD))
    registration = asks("registerPixKey", "POST", sent={"pixKey": MADE_UP})
    everything = (own_list, list_of_nobody, deletion, other, registration)
    assert not any(map(run.keys.may_be_cleaned_up_by, everything))

    run.list().register("", key_type="RANDOM").register(MADE_UP)
    assert [run.keys.may_be_cleaned_up_by(sending) for sending in everything] == [True, False, True, False, False]


def test_what_was_there_before(run):
    """What a list of before shows, and no key of the run."""
    run.list(OLD, MADE_UP).register(MADE_UP, status=504)

    assert [run.keys.was_there_before(key) for key in (OLD, "new@bank.example", None, "")] == [
        True,
        False,
        False,
        False,
    ]
    assert run.keys.was_there_before(MADE_UP)  # its registration found it there
    assert not run.keys.may_be_deleted(MADE_UP)


def test_a_key_of_the_run_was_not_there_before():
    """Although a list of before shows it: without a key of the profile that list is read after the registration."""
    run = Recorded(None, owned=()).register(MADE_UP).list(MADE_UP)

    assert run.keys.list_before_run is not None
    assert not run.keys.was_there_before(MADE_UP)
    assert run.keys.may_be_deleted(MADE_UP)


def test_a_random_key_of_unknown_value_is_held_until_it_is_known(run):
    """By this run or an earlier one."""
    run.list().register(MADE_UP).register("", key_type="EVP")
    assert not run.keys.holds_an_unknown_key()
    assert run.register("", key_type="RANDOM").keys.holds_an_unknown_key()
    assert Recorded(run.record).keys.holds_an_unknown_key()

    [*_, made] = run.keys.not_cleaned_up()
    run.keys.learn_value(made, "made-1")
    assert not run.keys.holds_an_unknown_key()
    assert not Recorded(run.record).keys.holds_an_unknown_key()


@pytest.mark.parametrize(
    ("status", "is_value"), [(200, True), (504, True), (400, False)], ids=["granted", "unknown", "refused"]
)
def test_the_values_of_keys_that_are_the_runs_own(status, is_value, run):
    """What was refused may be somebody else's."""
    run.list().register(MADE_UP, status=status)

    assert (MADE_UP in run.keys.values_sent) is is_value
    assert OF_THE_PROFILE not in run.keys.values_sent


def test_the_keys_of_runs_are_those_of_this_one_and_of_earlier_ones(run):
    """As far as their values are known."""
    run.list().register(MADE_UP).register("", key_type="RANDOM")
    later = Recorded(run.record, owned=()).list(MADE_UP).register("pixconf-2@example.com", status=400)

    assert {key.key for key in later.keys.keys_of_runs()} == {MADE_UP, "pixconf-2@example.com"}
    assert {key.type for key in later.keys.keys_of_runs()} == {"EMAIL"}


def test_a_deletion_whose_key_is_still_listed_was_not_kept_to(run):
    """The key is free again if a list lacks it."""
    run.list().register(MADE_UP).list(MADE_UP).delete(MADE_UP)
    deletion = answer("deletePixKey", {}, sent={"pixKey": MADE_UP})
    assert (run.keys.deletions_still_listed([deletion]), run.keys.seems_free(MADE_UP)) == ([], True)

    run.list(MADE_UP)
    assert (run.keys.deletions_still_listed([deletion]), run.keys.seems_free(MADE_UP)) == ([deletion], False)
    assert run.keys.deletions_still_listed([answer("deletePixKey", {}, sent={"pixKey": OLD})]) == []
    assert run.events == [REGISTERED]


def test_a_key_seems_free_unless_answers_say_that_it_is_registered(run):
    """One that nobody sent is free."""
    run.list(CPF).register(OF_THE_PROFILE).register(MADE_UP, status=400)

    assert [run.keys.seems_free(key) for key in (OF_THE_PROFILE, MADE_UP, CPF, "never-sent")] == [
        False,
        True,
        False,
        True,
    ]


def test_the_key_of_a_registration_is_found_by_its_number(run):
    """Of each registration that may have registered it."""
    run.list().register(MADE_UP, status=504).register(MADE_UP)
    numbers = [
        number
        for number in range(5)
        if run.keys.key_of(Exchange(number, "registerPixKey", Request("POST", "", ()))) is not None
    ]

    assert numbers == [2, 3]


def test_what_changes_nothing_of_a_key_is_no_exchange_of_it(run):
    """The refusal of a key that is registered, and a request that was not sent."""
    run.list().register(MADE_UP).register(MADE_UP, status=400)
    no_connection = Failure(FailureKind.NO_CONNECTION, "no answer")
    run.register("pixconf-2@example.com", status=504)
    run.register("pixconf-2@example.com", response=None, failure=no_connection)

    assert [key.exchanges for key in run.keys.not_cleaned_up()] == [[2], [4]]


def test_the_last_registration_is_known_by_its_number(run):
    """Nothing else counts, whatever it is."""
    assert run.list().keys.last_registration == 0
    assert run.register(MADE_UP, status=400).list().delete(MADE_UP).keys.last_registration == 2


def test_the_list_of_its_own_account_decides_whether_a_key_may_be_deleted(run):
    """Off a sandbox; that of another account says nothing of what was there."""
    run.list(OLD).list(OLD, account=OTHER_ACCOUNT, more=True).register(OF_THE_PROFILE, account=OTHER_ACCOUNT)
    assert not run.list(OF_THE_PROFILE, account=OTHER_ACCOUNT).keys.may_be_deleted(OF_THE_PROFILE)

    whole = Recorded(None).list(OLD).list(OLD, account=OTHER_ACCOUNT).register(OF_THE_PROFILE, account=OTHER_ACCOUNT)
    assert whole.list(OF_THE_PROFILE, account=OTHER_ACCOUNT).keys.may_be_deleted(OF_THE_PROFILE)


def test_on_a_sandbox_any_list_of_before_is_enough():
    """Nothing there is worth anything."""
    run = Recorded(None, is_sandbox=True).list().register(OF_THE_PROFILE, account=NOBODY, status=400)

    assert run.keys.may_be_deleted(OF_THE_PROFILE)


# -- a key of an earlier run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "recorded", "before", "is_taken"),
    [
        (PROFILE_KEYS[1], REGISTERED, OF_THE_PROFILE, True),
        (PROFILE_KEYS[1], MAYBE, OF_THE_PROFILE, False),
        (PROFILE_KEYS[1], "", OF_THE_PROFILE, False),
        (PROFILE_KEYS[1], REGISTERED, OLD, False),
        (PROFILE_KEYS[2], REGISTERED, CPF, False),
    ],
    ids=["registered", "perhaps", "not recorded", "not there", "not disposable"],
)
def test_a_key_that_an_earlier_run_registered_is_taken_over(key, recorded, before, is_taken, run):
    """If the record says so for sure, it is disposable, and its list shows it."""
    if recorded:
        run.record.note(ACCOUNT, key.type, key.key, recorded, ours=False)
    run.list(before)

    assert run.keys.take_over(key) is is_taken
    assert run.states == ({key.key: KeyState.REGISTERED} if is_taken else {})
    assert not Recorded(None).list(before).keys.take_over(key)


def test_a_key_is_not_taken_over_without_a_list_of_before(run):
    """It may be at another account by now."""
    run.record.note(ACCOUNT, "EMAIL", OF_THE_PROFILE, REGISTERED, ours=False)

    assert not run.keys.take_over(PROFILE_KEYS[1])


# -- the value of a key that the service made ------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["made-***", OF_THE_PROFILE, MADE_UP])
def test_what_is_no_value_of_a_key_that_was_made(value, run):
    """A masked one, a key of the profile, and the one that is known."""
    run.list().register(MADE_UP)
    [key] = run.keys.not_cleaned_up()
    run.keys.learn_value(key, value)

    assert (str(key.name), key.type, key.value) == (f"EMAIL {MADE_UP}", "EMAIL", MADE_UP)


def test_a_key_whose_value_is_learned_is_one_that_the_service_made(run):
    """A list showed it. Its state stays; the record has the new value in place of the old."""
    run.list().register(MADE_UP).list()
    [key] = run.keys.not_cleaned_up()
    run.keys.learn_value(key, "made-1")

    assert (str(key.name), key.type, key.value) == ("RANDOM, made by the service", "RANDOM", "made-1")
    assert (key.state, key.was_listed, key.was_missed) == (KeyState.REGISTERED, True, False)
    assert [event["key"] for event in run.record.events()] == ["made-1"]

    run.keys.learn_value(key, None)
    assert (key.value, key.was_listed) == (None, False)
    assert [event["key"] for event in run.record.events()] == [""]


@pytest.mark.parametrize(
    ("owned", "is_sandbox", "may_tell"),
    [
        ((PixKey("RANDOM", "", disposable=True),), False, True),
        ((PixKey("RANDOM", ""),), False, False),
        ((PixKey("EMAIL", OF_THE_PROFILE, disposable=True),), False, False),
        ((), True, True),
        ((), False, False),
    ],
)
def test_lists_alone_tell_a_random_key_if_nobody_else_registers_there(owned, is_sandbox, may_tell):
    """A disposable RANDOM entry says so."""
    assert Keys(owned, is_sandbox=is_sandbox).may_tell_random_by_lists is may_tell


# -- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "query"), [({"credential": "no header"}, ""), ({}, "?page=2")])
def test_a_list_that_was_not_asked_for_as_documented_says_nothing(changes, query, run):
    """Without the token, or with a query."""
    run.list().register(MADE_UP).delete(MADE_UP).list(MADE_UP, query=query, **changes)

    assert run.states == {}


@pytest.mark.parametrize(
    ("account", "was_read_before", "states"),
    [
        (OTHER_ACCOUNT, True, [(NOBODY, KeyState.REGISTERED), (OTHER_ACCOUNT, KeyState.MAYBE)]),
        (OTHER_ACCOUNT, False, [(NOBODY, KeyState.REGISTERED)]),
        ("ac-0009", True, [(NOBODY, KeyState.REGISTERED)]),
    ],
    ids=["at another account", "perhaps there before", "no account of the profile"],
)
def test_a_synthetic_key_may_be_registered_at_another_account(account, was_read_before, states, run):
    """Than the one that its request names: then it is one more key, which may be there."""
    run.list()
    if was_read_before:
        run.list(account=account)
    run.start().register(MADE_UP, account=NOBODY).list(MADE_UP, account=account).list(MADE_UP, account=account)

    assert [(key.account, key.state) for key in run.keys.not_cleaned_up()] == states


def test_a_key_of_somebody_else_is_not_taken_for_one_of_the_run(run):
    """One without the mark of the suite, and one of the profile."""
    run.list().list(account=OTHER_ACCOUNT).register("x@bank.example", account=NOBODY).register(OF_THE_PROFILE)
    run.list("x@bank.example", OF_THE_PROFILE, account=OTHER_ACCOUNT)

    assert [key.account for key in run.keys.not_cleaned_up()] == [ACCOUNT, NOBODY]


@pytest.mark.parametrize(
    ("account", "shown", "status", "is_left"),
    [
        (ACCOUNT, [], 400, False),
        (ACCOUNT, ["pix***@example.com"], 400, True),
        ("ac-0009", [], 400, True),
        (ACCOUNT, [], 504, True),
    ],
    ids=["absent", "masked", "no account of the profile", "unknown outcome"],
)
def test_a_refused_key_of_a_synthetic_account_is_gone_if_a_list_lacks_it(account, shown, status, is_left, run):
    """Of an account of the profile."""
    run.list().start().register(MADE_UP, account=NOBODY, status=status).list(*shown, account=account)

    assert bool(run.states) is is_left


def test_a_refused_key_of_another_account_is_not_gone_by_this_list(run):
    """Its own account may have it."""
    run.list().register(MADE_UP, account=OTHER_ACCOUNT, status=400).list()

    assert run.states == {MADE_UP: KeyState.REFUSED}


def test_before_it_is_sent_a_key_of_the_profile_may_be_at_any_account(run):
    """Then it is the operator's."""
    run.list().list(OF_THE_PROFILE, account=OTHER_ACCOUNT)

    assert run.keys.was_there_before(OF_THE_PROFILE)


@pytest.mark.parametrize(
    ("shown", "account", "is_left"),
    [
        ([], ACCOUNT, True),
        ([OLD], ACCOUNT, False),
        (["made-1"], ACCOUNT, True),
        ([MADE_UP], ACCOUNT, False),
        ([OLD], OTHER_ACCOUNT, True),
    ],
    ids=["nothing", "an old one", "a new one", "one of the run", "another account"],
)
def test_a_refused_key_without_a_value_is_gone_if_the_list_has_nothing_new(shown, account, is_left, run):
    """Nothing but keys that were there before, and those of the run. Of a list without a key at `key_at` each text may
    be a key, and those are new."""
    run.list(OLD).start().register(MADE_UP).register("", key_type="RANDOM", status=400).list(*shown, account=account)

    assert (None in run.states) is is_left


def test_a_key_without_a_value_may_be_as_old_as_its_first_registration(run):
    """What the service made at that time stands in the list when it is sent again."""
    run.list(OLD).start().register(MADE_UP, status=504).list(OLD, "made-1").register(MADE_UP, status=400)
    [key] = run.keys.not_cleaned_up()
    run.keys.learn_value(key, None)

    assert run.list(OLD, "made-1").states == {None: KeyState.REFUSED}
    assert run.list(OLD).states == {}


def test_without_a_list_of_before_nothing_is_known_to_be_new():
    """The refused key stays perhaps registered."""
    run = Recorded(None).delete(OLD).register("", key_type="RANDOM", status=400).list()

    assert run.states == {None: KeyState.REFUSED}


def test_the_list_of_another_account_says_nothing_of_a_key_that_was_sent(run):
    """It is at its own account, which may still show it."""
    run.list().list(account=OTHER_ACCOUNT).register(OF_THE_PROFILE).list(account=OTHER_ACCOUNT)
    [key] = run.keys.not_cleaned_up()

    assert (key.was_missed, key.was_listed) == (False, False)
    run.list(OF_THE_PROFILE, account=OTHER_ACCOUNT)
    assert not key.was_listed


def test_a_key_that_a_list_did_not_show_is_missed_only_once_it_was_granted(run):
    """What may be it in the list, of a key of the profile, is enough."""
    run.list().register(OF_THE_PROFILE).list(f"x-{OF_THE_PROFILE}").register(MADE_UP, status=504).list()
    own, made_up = run.keys.not_cleaned_up()

    assert (own.was_listed, own.was_missed) == (True, True)
    assert (made_up.was_listed, made_up.was_missed) == (False, False)


# -- the end ---------------------------------------------------------------------------------------------------------


def test_a_granted_key_that_no_list_showed_is_recorded_as_registered_later(run):
    """A refused one of a synthetic account is looked for in the lists."""
    run.list().register(MADE_UP).list().keys.set_last_states()
    assert run.events == [LATER]

    without_a_list = Recorded(None, owned=()).register(MADE_UP, account=NOBODY, status=400)
    without_a_list.keys.set_last_states()
    assert without_a_list.states == {}


def test_a_synthetic_key_that_the_service_cut_is_found(run):
    """It is counted as perhaps registered at the account whose list shows it, with the registrations that name it."""
    run.list().list(account=OTHER_ACCOUNT).start().register(MADE_UP, status=504).list("pixconf-1a2b3c4d")
    run.keys.add_changed_keys(ACCOUNT)
    [_, found] = run.keys.not_cleaned_up()

    assert (found.value, found.account, found.state) == ("pixconf-1a2b3c4d", ACCOUNT, KeyState.MAYBE)
    assert (found.type, found.exchanges, found.was_listed) == ("EMAIL", [3], True)
    run.keys.add_changed_keys(ACCOUNT)
    run.keys.add_changed_keys(OTHER_ACCOUNT)
    run.keys.add_changed_keys("ac-0009")
    assert len(run.states) == 2


def test_what_was_there_before_is_no_key_that_the_service_cut(run):
    """Nor is a text that has nothing to do with a key of the run."""
    run.list("pixconf-1a2b3c4d").start().register(MADE_UP).list("pixconf-1a2b3c4d", MADE_UP, OLD)
    run.keys.add_changed_keys(ACCOUNT)
    run.list(MADE_UP).keys.add_changed_keys(ACCOUNT)

    assert [*run.states] == [MADE_UP]


def test_a_deletion_begins_the_run_for_the_lists(run):
    """So does a registration of a key of the profile; one of a synthetic key does not."""
    run.register(MADE_UP)
    assert not run.keys.lists.before_is_final

    assert run.delete(OLD).keys.lists.before_is_final
    assert Recorded(None).register(OF_THE_PROFILE).keys.lists.before_is_final
