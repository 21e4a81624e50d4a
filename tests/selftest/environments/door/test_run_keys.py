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
from tests.selftest.exchanges import REGISTRATION_RESULT, answer
from tests.selftest.services.keys_of_others import ACCOUNT, EMAIL, OLD_RANDOM


def test_a_registration_without_a_connection_is_closed():
    """Without a connection nothing was sent, so the key is gone. A key that was perhaps registered before stays so."""
    keys = Keys(accounts=(ACCOUNT,))
    body = b'{"account": "ac-0001", "pixKeyType": "EMAIL", "pixKey": "pixconf-1@example.com"}'
    request = Request("POST", f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}", (), body)

    def states_after_registration(kind, number):
        failure = Failure(kind, "no answer")
        exchange = Exchange(number, "registerPixKey", request, None, failure, valid=True)
        sending = SimpleNamespace(
            plain_request=request,
            request=request,
            intent=SimpleNamespace(operation="registerPixKey"),
            exchange=exchange,
        )
        with keys.recording(sending):
            pass
        return [key.state for key in keys.not_cleaned_up()]

    assert states_after_registration(FailureKind.NO_CONNECTION, 1) == []
    assert states_after_registration(FailureKind.TIMEOUT, 2) == [KeyState.MAYBE]
    assert states_after_registration(FailureKind.NO_CONNECTION, 3) == [KeyState.MAYBE]


@pytest.mark.parametrize(
    "number", ["-1e400", "1e999999", pytest.param("9" * 5000, id="long"), "1.50", "NaN", "-Infinity"]
)
def test_a_number_that_is_sent_as_a_key_has_a_short_name(number, manual_run):
    """A float would be infinite, and an integer of 5000 digits an error. A report shows neither."""
    body = f'{{"pixKeyType": "EMAIL", "pixKey": {number}}}'
    manual_run.client.send("registerPixKey", "pixconf-account", body=body.encode())
    [key] = manual_run.door.keys._keys

    assert (key.value, str(key.name)) == (number, f"EMAIL {number}"[:80])


@pytest.mark.parametrize(("account", "beside"), [("ac-0001", 1), ("pixconf-account", 0)])
def test_a_list_during_another_request_or_of_another_account_is_not_used(account, beside):
    """A list beside another request may be older than it.

    If the list of another account counted, a key of the operator would count as a key that the service made.
    """
    keys = Keys(accounts=("ac-0001",))
    for operation, account_in_path, exchange in (
        ("listPixKeys", "ac-0001", answer("listPixKeys", {"code": 0, "data": [OLD_RANDOM]})),
        ("registerPixKey", "ac-0001", answer("registerPixKey", {}, status=422)),
        ("listPixKeys", account, answer("listPixKeys", {"code": 0, "data": []}, beside=beside)),
    ):
        request = requests.Request(
            "POST", f"http://127.0.0.1/v1/pix/keys/{account_in_path}", json={"pixKey": EMAIL}
        ).prepare()
        sending = Sending(request, Intent(operation, valid=True))
        sending.exchange = replace(exchange, request=sending.plain_request)
        with keys.recording(sending):
            pass

    assert keys.was_there_before(OLD_RANDOM)
    assert [key.value for key in keys.not_cleaned_up()] == [EMAIL]


# -- what may be deleted ---------------------------------------------------------------------------------------------

MADE_UP = "pixconf-1a2b3c4d@example.com"
PROFILE_KEY = "qa@bank.example"


def listed(*keys):
    """The data of an answer that lists these keys."""
    return {"keys": [{"pixKey": key} for key in keys]}


class UnrecordedKeys:
    """Keys of a run without a key record, that see one exchange after the other at the account of the profile.

    Each method returns the object, so that calls chain.
    """

    def __init__(self, *, disposable=True, is_sandbox=False, key_at="/data/keys/*/pixKey"):
        keys_of_profile = (PixKey("EMAIL", PROFILE_KEY, disposable=disposable),)
        self.keys = Keys(keys_of_profile, None, (ACCOUNT,), is_sandbox=is_sandbox, key_at=key_at)
        self._number = 0

    def list(self, data, *, status=200):
        """A list that shows these keys, perhaps with more of them on another page.

        `changes` are those of the exchange.
        """
        return self._send("listPixKeys", "GET", None, {"code": 0, "data": data}, status)

    def register(self, key=PROFILE_KEY, *, status=200):
        """A registration, with `body` in place of the documented body, and its answer."""
        sent = {"account": ACCOUNT, "pixKeyType": "EMAIL", "pixKey": key}
        return self._send("registerPixKey", "POST", sent, {"code": 0, "data": REGISTRATION_RESULT}, status)

    def delete(self, key, *, status=200):
        """A deletion that names these keys, and its answer."""
        return self._send("deletePixKey", "DELETE", {"pixKey": key}, {"code": 0, "data": {}}, status)

    def _send(self, operation, method, request_body, answer_body, status):
        self._number += 1
        url = f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}"
        sending = Sending(requests.Request(method, url, json=request_body).prepare(), Intent(operation, valid=True))
        exchange = answer(operation, answer_body, status=status)
        sending.exchange = replace(exchange, request=sending.plain_request, number=self._number)
        with self.keys.recording(sending):
            pass
        return self


def test_a_disposable_key_that_was_not_there_before_may_be_deleted():
    """A complete list of before lacks the key, and the list of now shows it."""
    history = (
        UnrecordedKeys().list(listed("mae@cliente.example")).register().list(listed("mae@cliente.example", PROFILE_KEY))
    )

    assert history.keys.may_be_deleted(PROFILE_KEY)


@pytest.mark.parametrize(
    "history",
    [
        UnrecordedKeys(disposable=False).list(listed()).register().list(listed(PROFILE_KEY)),
        UnrecordedKeys().list(listed(PROFILE_KEY)).register().list(listed(PROFILE_KEY)),
        UnrecordedKeys().list(listed(PROFILE_KEY.upper())).register().list(listed(PROFILE_KEY)),
        UnrecordedKeys().register().list(listed(PROFILE_KEY)),
        UnrecordedKeys().list(listed("qa***@bank.example")).register().list(listed(PROFILE_KEY)),
        UnrecordedKeys().list(listed() | {"hasMore": True}).register().list(listed(PROFILE_KEY)),
        UnrecordedKeys().list(listed()).register().list(listed("qa***@bank.example")),
        UnrecordedKeys().list(listed()).register().list(listed()),
        UnrecordedKeys().list(listed()).register().list(listed(PROFILE_KEY), status=503),
        UnrecordedKeys(key_at=None).list(listed()).register().list(listed(PROFILE_KEY)),
    ],
    ids=[
        "not disposable", "there before", "there before in capitals", "no list of before", "masked before",
        "a list of before that goes on", "masked now", "not shown now", "no list of now", "without key_at",
    ],
)  # fmt: skip
def test_a_key_of_the_profile_stays_if_lists_leave_a_doubt(history):
    """A key of the profile is deleted only if lists show that this run registered it."""
    assert not history.keys.may_be_deleted(PROFILE_KEY)


def test_a_key_that_the_run_made_up_may_be_deleted():
    """A synthetic key stays only if a list showed it before the run."""
    assert UnrecordedKeys().list(listed()).register(MADE_UP).keys.may_be_deleted(MADE_UP)
    assert not UnrecordedKeys().list(listed(MADE_UP)).keys.may_be_deleted(MADE_UP)


@pytest.mark.parametrize("key", ["", "  ", "x" * 201, "pixconf-\x00", "pixconf-\x7f", "pixconf-\ud800"])
def test_a_key_that_a_service_may_read_as_another_one_stays(key):
    """Off a sandbox no deletion names a key that is empty, too long, or has characters that cannot be printed."""
    assert not UnrecordedKeys().keys.may_be_deleted(key)
    assert UnrecordedKeys(is_sandbox=True).keys.may_be_deleted(key)


def test_on_a_sandbox_a_key_of_the_profile_is_deleted_without_a_list():
    """Without a list of before the key must have been granted. With a list it may have been refused."""
    assert UnrecordedKeys(is_sandbox=True).register().keys.may_be_deleted(PROFILE_KEY)
    assert not UnrecordedKeys(is_sandbox=True).register(status=400).keys.may_be_deleted(PROFILE_KEY)
    assert UnrecordedKeys(is_sandbox=True).list(listed()).register(status=400).keys.may_be_deleted(PROFILE_KEY)


# -- what becomes of a key -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "states"),
    [
        (UnrecordedKeys().list(listed()).register(), [KeyState.REGISTERED]),
        (UnrecordedKeys().list(listed()).register(status=400), [KeyState.REFUSED]),
        (UnrecordedKeys().list(listed()).register(status=400).list(listed()), []),
        (UnrecordedKeys().list(listed()).register(status=400).list(listed(PROFILE_KEY)), [KeyState.MAYBE]),
        (UnrecordedKeys().list(listed()).register(status=504), [KeyState.MAYBE]),
        (UnrecordedKeys().list(listed()).register().delete(PROFILE_KEY), []),
        (UnrecordedKeys().list(listed()).register().delete("other@bank.example"), [KeyState.REGISTERED]),
        (UnrecordedKeys().list(listed()).register().delete(PROFILE_KEY, status=404), [KeyState.REGISTERED]),
        (UnrecordedKeys().list(listed()).register(status=400).delete(PROFILE_KEY, status=404), []),
        (UnrecordedKeys().list(listed()).register().delete(PROFILE_KEY).list(listed(PROFILE_KEY)), [KeyState.KEPT]),
        (UnrecordedKeys().list(listed(PROFILE_KEY)).register(), []),
    ],
)
def test_the_keys_that_are_not_cleaned_up(history, states):
    """A refused key stays perhaps registered until a list tells.

    A deletion is complete if no later list shows the key.
    """
    assert [key.state for key in history.keys.not_cleaned_up()] == states


def test_a_granted_key_is_left_as_perhaps_later_if_no_list_shows_it():
    """The service granted the registration, but at the end of the run no list shows the key."""
    history = UnrecordedKeys().list(listed()).register().list(listed())
    history.keys.set_last_states()

    assert [key.state for key in history.keys.not_cleaned_up()] == [KeyState.LATER]


def test_a_key_is_gone_if_two_lists_lack_it():
    """One list may lag behind. A key that a deletion named is not gone, and a list with more pages says nothing."""
    old, other = "old@bank.example", "other@bank.example"
    history = UnrecordedKeys().list(listed(old, other)).delete(other).list(listed())
    assert history.keys.lists.vanished == frozenset()

    assert history.list(listed()).keys.lists.vanished == {old}
    assert history.keys.lists.has_vanished_after_a_deletion
    came_back = (
        UnrecordedKeys()
        .list(listed(old))
        .delete(other)
        .list(listed(old))
        .list(listed())
        .list(listed(old))
        .keys.lists.vanished
    )
    assert came_back == frozenset()
    more = listed() | {"next": "/v1/pix/keys?page=2"}
    assert UnrecordedKeys().list(listed(old)).delete(other).list(more).list(more).keys.lists.vanished == frozenset()


# -- which key a request names, and what is written down --------------------------------------------------------------

NOBODY, OTHER_ACCOUNT = "pixconf-account", "ac-0002"
KEY_OF_BEFORE = "mae@cliente.example"
CPF = "52998224725"
PROFILE_KEYS = (
    PixKey("RANDOM", ""),
    PixKey("EMAIL", PROFILE_KEY, disposable=True),
    PixKey("CPF", CPF),
)


class RecordedKeys:
    """Keys of a run with a key record, that see one exchange after the other.

    Each method returns the object, so that calls chain.
    """

    def __init__(self, record, *, keys_of_profile=PROFILE_KEYS, is_sandbox=False, accounts=(ACCOUNT, OTHER_ACCOUNT)):
        self.record = record
        self.keys = Keys(keys_of_profile, record, accounts, is_sandbox=is_sandbox, key_at="/data/keys/*/pixKey")
        self.written_before: list[list[str]] = []  # events in the record while each request was on the wire
        self.last = 0

    def register(
        self, key, *, key_type="EMAIL", account=ACCOUNT, status=200, body=None, result=REGISTRATION_RESULT, **changes
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
        sending.exchange = replace(exchange, request=sending.plain_request, number=self.last, **changes)
        with self.keys.recording(sending):
            self.written_before.append(self.events)
        return self

    def begin_run(self):
        """The door has read the lists of before the run."""
        self.keys.lists.run_may_have_changed_keys = True
        return self

    @property
    def states(self):
        """The state of each key that is not cleaned up, by its value."""
        return {key.value: key.state for key in self.keys.not_cleaned_up()}

    @property
    def events(self):
        """The events in the record, in their order."""
        return [event["event"] for event in self.record.events()] if self.record else []


@pytest.fixture
def record(tmp_path):
    """The key record of a history."""
    return KeyRecord(tmp_path / "keys.jsonl", LogKey(tmp_path / "key"), "staging", "one", base_url="https://b.example")


@pytest.fixture
def history(record):
    """Keys of the profile with an empty key record. `history.register(key)` and the like add one exchange each."""
    return RecordedKeys(record)


def test_a_registration_is_in_the_record_before_it_is_sent(history):
    """The record has the key as perhaps registered while the request is on the wire.

    After the answer it has the new state.
    """
    history.list().register(MADE_UP)

    assert history.written_before[-1] == [MAYBE]
    assert history.events == [REGISTERED]
    assert history.list(MADE_UP).delete(MADE_UP).events == []


def test_without_a_list_of_before_a_key_of_the_profile_is_recorded_as_perhaps_registered(history):
    """Without a list nobody knows if the account had the key before the run."""
    assert history.register(PROFILE_KEY).events == [MAYBE]


def test_with_a_list_of_before_a_key_of_the_profile_is_recorded_as_registered(history):
    """The list of before lacks the key, so this run registered it."""
    assert history.list(KEY_OF_BEFORE).register(PROFILE_KEY).events == [REGISTERED]


def test_a_key_that_was_there_before_is_not_recorded(history):
    """A key in the list of before is the operator's, whatever a registration of it is answered."""
    history.list(PROFILE_KEY).register(PROFILE_KEY)

    assert history.events == []
    assert history.states == {}
    assert history.keys.was_there_before(PROFILE_KEY)
    assert history.keys.key_of(Exchange(history.last, "registerPixKey", Request("POST", "", ()))) is None


def test_without_a_record_nothing_is_kept():
    """The embedded sandbox has no key record. The run itself knows its keys."""
    history = RecordedKeys(None).list().register(MADE_UP)

    assert history.states == {MADE_UP: KeyState.REGISTERED}
    assert not history.keys.holds_an_unknown_key()
    assert [key.key for key in history.keys.keys_of_runs()] == [PROFILE_KEY, CPF, MADE_UP]


def test_keys_of_unknown_value_share_an_entry_that_is_closed_with_the_last(history):
    """RANDOM keys without a value cannot be told apart, so they share one entry of the record."""
    history.list().register("", key_type="RANDOM").register("", key_type="RANDOM")
    first, second = history.keys.not_cleaned_up()
    assert history.events == [REGISTERED]

    history.keys.learn_value(first, "made-1")
    assert sorted(history.events) == [REGISTERED, REGISTERED]
    history.delete("made-1")
    assert history.events == [REGISTERED]
    history.keys.learn_value(second, "made-2")
    assert history.delete("made-2").events == []


@pytest.mark.parametrize(
    "body",
    [
        {"pixKeyType": "EMAIL", "pixKey": PROFILE_KEY},
        {"pixKeyType": "CPF", "pixKey": {"value": PROFILE_KEY}},
        {"other": [PROFILE_KEY]},
    ],
)
def test_a_key_of_the_profile_under_any_member_counts_as_registered(body, history):
    """A lenient service may find the key under any member, so it counts as registered."""
    history.list().register(None, body=body)

    assert history.states == {PROFILE_KEY: KeyState.REGISTERED}
    assert history.keys.lists.run_may_have_changed_keys


def test_a_number_that_is_a_key_of_the_profile_is_named(history):
    """A JSON number is compared with a key as it is written."""
    assert history.list().register(int(CPF), key_type="CPF").states == {CPF: KeyState.REGISTERED}


def test_a_synthetic_key_is_another_one_at_each_account(history):
    """A synthetic key that is registered at two accounts counts as two keys.

    Sent again to one account it is the same key.
    """
    history.list().register(MADE_UP).register(MADE_UP).register(MADE_UP, account=NOBODY)

    assert [key.account for key in history.keys.not_cleaned_up()] == [ACCOUNT, NOBODY]
    assert [key.is_at_synthetic_account for key in history.keys.not_cleaned_up()] == [False, True]


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
def test_the_name_of_a_key_that_the_run_made_up(key_type, key, name, history):
    """The name is ASCII and at most 80 characters, because people read it in a report."""
    history.list().register(key, key_type=key_type)
    [made] = history.keys.not_cleaned_up()

    assert str(made.name) == name
    assert made.type == (key_type if key_type != "EVP" else "")


def test_the_name_of_a_key_of_the_profile_has_its_place(history):
    """The name gives the type and the place in `pix_keys`, and never the value."""
    assert (
        str(history.list().register(CPF, key_type="CPF").keys.not_cleaned_up()[0].name) == "CPF, number 3 of pix_keys"
    )


def test_the_keys_of_the_profile_come_first(history):
    """Keys of the profile stand before synthetic keys, in whatever order they were sent."""
    assert [*history.list().register(MADE_UP).register(CPF).register(PROFILE_KEY).states] == [
        PROFILE_KEY,
        CPF,
        MADE_UP,
    ]


def test_a_key_that_may_be_left_stays_at_its_account(history):
    """A key that is not cleaned up stays at its account.

    A key that is gone moves to the account of its next registration.
    """
    history.list().register(PROFILE_KEY).register(PROFILE_KEY, account=NOBODY, status=400)
    [key] = history.keys.not_cleaned_up()
    assert (key.account, key.state) == (ACCOUNT, KeyState.REGISTERED)

    history.delete(PROFILE_KEY).register(PROFILE_KEY, account=NOBODY)
    assert key.account == NOBODY


# -- what is asked of the keys ---------------------------------------------------------------------------------------


def request_for_keys(operation, method="GET", account=ACCOUNT, sent=None):
    """A request to the keys of an account that is not sent yet."""
    request = requests.Request(method, f"http://127.0.0.1/v1/pix/keys/{account}", json=sent).prepare()
    return Sending(request, Intent(operation))


def test_the_requests_that_clean_up(history):
    """The deletion of a key that may be registered cleans up, and so does the list of an account that may have such
    a key.
    """
    own_list, list_of_nobody = request_for_keys("listPixKeys"), request_for_keys("listPixKeys", account=NOBODY)
    deletion, deletion_of_other_key = (
        request_for_keys("deletePixKey", "DELETE", sent={"pixKey": key}) for key in (MADE_UP, KEY_OF_BEFORE)
    )
    registration = request_for_keys("registerPixKey", "POST", sent={"pixKey": MADE_UP})
    everything = (own_list, list_of_nobody, deletion, deletion_of_other_key, registration)
    assert not any(map(history.keys.may_be_cleaned_up_by, everything))

    history.list().register("", key_type="RANDOM").register(MADE_UP)
    assert [history.keys.may_be_cleaned_up_by(sending) for sending in everything] == [True, False, True, False, False]


def test_the_keys_that_were_there_before(history):
    """A key that the list of before shows was there before, even if the run registers it later."""
    history.list(KEY_OF_BEFORE, MADE_UP).register(MADE_UP, status=504)

    assert [history.keys.was_there_before(key) for key in (KEY_OF_BEFORE, "new@bank.example", None, "")] == [
        True,
        False,
        False,
        False,
    ]
    assert history.keys.was_there_before(MADE_UP)  # its registration found it there
    assert not history.keys.may_be_deleted(MADE_UP)


def test_a_key_of_the_run_was_not_there_before():
    """Without a key of the profile the first list is read after the registration, so it shows the run's own key."""
    history = RecordedKeys(None, keys_of_profile=()).register(MADE_UP).list(MADE_UP)

    assert history.keys.list_before_run is not None
    assert not history.keys.was_there_before(MADE_UP)
    assert history.keys.may_be_deleted(MADE_UP)


def test_a_random_key_of_unknown_value_is_held_until_it_is_known(history):
    """A RANDOM key without a value is held, whether this run or an earlier one registered it."""
    history.list().register(MADE_UP).register("", key_type="EVP")
    assert not history.keys.holds_an_unknown_key()
    assert history.register("", key_type="RANDOM").keys.holds_an_unknown_key()
    assert RecordedKeys(history.record).keys.holds_an_unknown_key()

    [*_, made] = history.keys.not_cleaned_up()
    history.keys.learn_value(made, "made-1")
    assert not history.keys.holds_an_unknown_key()
    assert not RecordedKeys(history.record).keys.holds_an_unknown_key()


@pytest.mark.parametrize(
    ("status", "is_value"), [(200, True), (504, True), (400, False)], ids=["granted", "unknown", "refused"]
)
def test_the_values_of_keys_that_are_the_runs_own(status, is_value, history):
    """The value of a refused key is not the run's own, because it may be somebody else's."""
    history.list().register(MADE_UP, status=status)

    assert (MADE_UP in history.keys.values_perhaps_registered) is is_value
    assert PROFILE_KEY not in history.keys.values_perhaps_registered


def test_keys_of_runs_are_those_of_this_run_and_of_earlier_runs(history):
    """`of_runs` gives the keys with a known value that this run or an earlier one registered."""
    history.list().register(MADE_UP).register("", key_type="RANDOM")
    later = RecordedKeys(history.record, keys_of_profile=()).list(MADE_UP).register("pixconf-2@example.com", status=400)

    assert {key.key for key in later.keys.keys_of_runs()} == {MADE_UP, "pixconf-2@example.com"}
    assert {key.type for key in later.keys.keys_of_runs()} == {"EMAIL"}


def test_a_deletion_whose_key_is_listed_again_had_no_effect(history):
    """After the deletion the key seems free, until a list shows it again."""
    history.list().register(MADE_UP).list(MADE_UP).delete(MADE_UP)
    deletion = answer("deletePixKey", {}, sent={"pixKey": MADE_UP})
    assert history.keys.deletions_still_listed([deletion]) == []
    assert history.keys.seems_free(MADE_UP)

    history.list(MADE_UP)
    assert history.keys.deletions_still_listed([deletion]) == [deletion]
    assert not history.keys.seems_free(MADE_UP)
    assert history.keys.deletions_still_listed([answer("deletePixKey", {}, sent={"pixKey": KEY_OF_BEFORE})]) == []
    assert history.events == [REGISTERED]


def test_a_key_seems_free_unless_answers_say_that_it_is_registered(history):
    """A granted key and a listed key are not free. A refused key, and a key that nobody sent, are free."""
    history.list(CPF).register(PROFILE_KEY).register(MADE_UP, status=400)

    assert [history.keys.seems_free(key) for key in (PROFILE_KEY, MADE_UP, CPF, "never-sent")] == [
        False,
        True,
        False,
        True,
    ]


def test_the_key_of_a_registration_is_found_by_its_number(history):
    """`key_of` finds a key by the number of each exchange that may have registered it."""
    history.list().register(MADE_UP, status=504).register(MADE_UP)
    numbers = [
        number
        for number in range(5)
        if history.keys.key_of(Exchange(number, "registerPixKey", Request("POST", "", ()))) is not None
    ]

    assert numbers == [2, 3]


def test_exchanges_of_a_key_are_those_that_may_have_changed_it(history):
    """The refusal of a registered key does not belong to the exchanges of that key, nor does a request that was not
    sent.
    """
    history.list().register(MADE_UP).register(MADE_UP, status=400)
    no_connection = Failure(FailureKind.NO_CONNECTION, "no answer")
    history.register("pixconf-2@example.com", status=504)
    history.register("pixconf-2@example.com", response=None, failure=no_connection)

    assert [key.exchanges for key in history.keys.not_cleaned_up()] == [[2], [4]]


def test_the_last_registration_is_known_by_its_number(history):
    """`last_registration` is the number of the last registration, whatever its answer."""
    assert history.list().keys.last_registration == 0
    assert history.register(MADE_UP, status=400).list().delete(MADE_UP).keys.last_registration == 2


def test_the_list_of_its_own_account_decides_whether_a_key_may_be_deleted(history):
    """Off a sandbox the list of another account does not say if the account of the key had it before."""
    history.list(KEY_OF_BEFORE).list(KEY_OF_BEFORE, account=OTHER_ACCOUNT, more=True).register(
        PROFILE_KEY, account=OTHER_ACCOUNT
    )
    assert not history.list(PROFILE_KEY, account=OTHER_ACCOUNT).keys.may_be_deleted(PROFILE_KEY)

    whole = (
        RecordedKeys(None)
        .list(KEY_OF_BEFORE)
        .list(KEY_OF_BEFORE, account=OTHER_ACCOUNT)
        .register(PROFILE_KEY, account=OTHER_ACCOUNT)
    )
    assert whole.list(PROFILE_KEY, account=OTHER_ACCOUNT).keys.may_be_deleted(PROFILE_KEY)


def test_on_a_sandbox_any_list_of_before_is_enough():
    """On a sandbox a list of any account of before permits the deletion."""
    history = RecordedKeys(None, is_sandbox=True).list().register(PROFILE_KEY, account=NOBODY, status=400)

    assert history.keys.may_be_deleted(PROFILE_KEY)


# -- a key of an earlier run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "recorded", "before", "is_taken"),
    [
        (PROFILE_KEYS[1], REGISTERED, PROFILE_KEY, True),
        (PROFILE_KEYS[1], MAYBE, PROFILE_KEY, False),
        (PROFILE_KEYS[1], "", PROFILE_KEY, False),
        (PROFILE_KEYS[1], REGISTERED, KEY_OF_BEFORE, False),
        (PROFILE_KEYS[2], REGISTERED, CPF, False),
    ],
    ids=["registered", "perhaps", "not recorded", "not there", "not disposable"],
)
def test_a_key_that_an_earlier_run_registered_is_taken_over(key, recorded, before, is_taken, history):
    """The key is taken over if the record says that it was registered for sure, the profile says `disposable`, and
    the list of before shows it.
    """
    if recorded:
        history.record.note(ACCOUNT, key.type, key.key, recorded, ours=False)
    history.list(before)

    assert history.keys.count_as_registered_if_recorded(key) is is_taken
    assert history.states == ({key.key: KeyState.REGISTERED} if is_taken else {})
    assert not RecordedKeys(None).list(before).keys.count_as_registered_if_recorded(key)


def test_a_key_is_not_taken_over_without_a_list_of_before(history):
    """Without a list the key may be at another account by now."""
    history.record.note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)

    assert not history.keys.count_as_registered_if_recorded(PROFILE_KEYS[1])


# -- the value of a key that the service made ------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["made-***", PROFILE_KEY, MADE_UP])
def test_an_impossible_value_of_a_key_is_not_learned(value, history):
    """A masked text, a key of the profile and a known key of the run are not the value of a key that the service
    made.
    """
    history.list().register(MADE_UP)
    [key] = history.keys.not_cleaned_up()
    history.keys.learn_value(key, value)

    assert str(key.name) == f"EMAIL {MADE_UP}"
    assert (key.type, key.value) == ("EMAIL", MADE_UP)


def test_a_key_with_a_learned_value_is_a_random_key(history):
    """The service made another key than the run sent.

    The key counts as listed and keeps its state, and the record has the new value in place of the old one.
    """
    history.list().register(MADE_UP).list()
    [key] = history.keys.not_cleaned_up()
    history.keys.learn_value(key, "made-1")

    assert (str(key.name), key.type, key.value) == ("RANDOM, made by the service", "RANDOM", "made-1")
    assert (key.state, key.was_listed, key.was_missed) == (KeyState.REGISTERED, True, False)
    assert [event["key"] for event in history.record.events()] == ["made-1"]

    history.keys.learn_value(key, None)
    assert (key.value, key.was_listed) == (None, False)
    assert [event["key"] for event in history.record.events()] == [""]


@pytest.mark.parametrize(
    ("keys_of_profile", "is_sandbox", "may_tell"),
    [
        ((PixKey("RANDOM", "", disposable=True),), False, True),
        ((PixKey("RANDOM", ""),), False, False),
        ((PixKey("EMAIL", PROFILE_KEY, disposable=True),), False, False),
        ((), True, True),
        ((), False, False),
    ],
)
def test_lists_alone_show_a_random_key_if_nobody_else_registers_keys(keys_of_profile, is_sandbox, may_tell):
    """A disposable RANDOM entry of the profile says that nobody else registers keys at the account.

    A sandbox needs no such entry.
    """
    assert Keys(keys_of_profile, is_sandbox=is_sandbox).may_tell_random_by_lists is may_tell


# -- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "query"), [({"credential": "no header"}, ""), ({}, "?page=2")])
def test_a_list_from_an_invalid_request_is_not_used(changes, query, history):
    """A list without the token, or with a query, says nothing about a key."""
    history.list().register(MADE_UP).delete(MADE_UP).list(MADE_UP, query=query, **changes)

    assert history.states == {}


@pytest.mark.parametrize(
    ("account", "was_read_before", "states"),
    [
        (OTHER_ACCOUNT, True, [(NOBODY, KeyState.REGISTERED), (OTHER_ACCOUNT, KeyState.MAYBE)]),
        (OTHER_ACCOUNT, False, [(NOBODY, KeyState.REGISTERED)]),
        ("ac-0009", True, [(NOBODY, KeyState.REGISTERED)]),
    ],
    ids=["at another account", "perhaps there before", "no account of the profile"],
)
def test_a_synthetic_key_may_be_registered_at_another_account(account, was_read_before, states, history):
    """A service may register the key at an account of the profile that its request does not name.

    The run then has one more key there, perhaps registered.
    """
    history.list()
    if was_read_before:
        history.list(account=account)
    history.begin_run().register(MADE_UP, account=NOBODY).list(MADE_UP, account=account).list(MADE_UP, account=account)

    assert [(key.account, key.state) for key in history.keys.not_cleaned_up()] == states


def test_a_registered_key_at_another_account_is_not_one_of_the_run(history):
    """Two keys that the run registered are listed at another account, too.

    The run has them to clean up only at the accounts where it registered them.
    """
    history.list().list(account=OTHER_ACCOUNT).register("x@bank.example", account=NOBODY).register(PROFILE_KEY)
    history.list("x@bank.example", PROFILE_KEY, account=OTHER_ACCOUNT)

    assert [key.account for key in history.keys.not_cleaned_up()] == [ACCOUNT, NOBODY]


@pytest.mark.parametrize(
    ("account", "shown", "status", "may_still_exist"),
    [
        (ACCOUNT, [], 400, False),
        (ACCOUNT, ["pix***@example.com"], 400, True),
        ("ac-0009", [], 400, True),
        (ACCOUNT, [], 504, True),
    ],
    ids=["absent", "masked", "no account of the profile", "unknown outcome"],
)
def test_a_refused_key_of_a_synthetic_account_is_gone_if_a_list_lacks_it(
    account, shown, status, may_still_exist, history
):
    """The list must be of an account of the profile and have no masked keys, and the service must have refused the
    key.
    """
    history.list().begin_run().register(MADE_UP, account=NOBODY, status=status).list(*shown, account=account)

    assert bool(history.states) is may_still_exist


def test_a_list_without_a_refused_key_of_another_account_proves_nothing(history):
    """The account of the key may have it, and the list of that account was not read."""
    history.list().register(MADE_UP, account=OTHER_ACCOUNT, status=400).list()

    assert history.states == {MADE_UP: KeyState.REFUSED}


def test_before_it_is_sent_a_key_of_the_profile_may_be_at_any_account(history):
    """A key of the profile that any account showed before the run is the operator's."""
    history.list().list(PROFILE_KEY, account=OTHER_ACCOUNT)

    assert history.keys.was_there_before(PROFILE_KEY)


@pytest.mark.parametrize(
    ("shown", "account", "may_still_exist"),
    [
        ([], ACCOUNT, True),
        ([KEY_OF_BEFORE], ACCOUNT, False),
        (["made-1"], ACCOUNT, True),
        ([MADE_UP], ACCOUNT, False),
        ([KEY_OF_BEFORE], OTHER_ACCOUNT, True),
    ],
    ids=["nothing", "an old one", "a new one", "one of the run", "another account"],
)
def test_a_refused_key_without_a_value_is_gone_if_the_list_has_nothing_new(shown, account, may_still_exist, history):
    """The list may show keys of before and keys of the run, and no new one.

    In a list without a key at `key_at` each text may be a new key.
    """
    history.list(KEY_OF_BEFORE).begin_run().register(MADE_UP).register("", key_type="RANDOM", status=400).list(
        *shown, account=account
    )

    assert (None in history.states) is may_still_exist


def test_a_key_without_a_value_may_be_as_old_as_its_first_registration(history):
    """A key that the service made for the first registration may stand in the list when the registration is sent
    again.
    """
    history.list(KEY_OF_BEFORE).begin_run().register(MADE_UP, status=504).list(KEY_OF_BEFORE, "made-1").register(
        MADE_UP, status=400
    )
    [key] = history.keys.not_cleaned_up()
    history.keys.learn_value(key, None)

    assert history.list(KEY_OF_BEFORE, "made-1").states == {None: KeyState.REFUSED}
    assert history.list(KEY_OF_BEFORE).states == {}


def test_without_a_list_of_before_nothing_is_known_to_be_new():
    """The refused key stays perhaps registered, because no list tells which keys are new."""
    history = RecordedKeys(None).delete(KEY_OF_BEFORE).register("", key_type="RANDOM", status=400).list()

    assert history.states == {None: KeyState.REFUSED}


def test_the_list_of_another_account_is_no_evidence_about_a_key(history):
    """The key is at its own account, so the other list neither misses nor shows it."""
    history.list().list(account=OTHER_ACCOUNT).register(PROFILE_KEY).list(account=OTHER_ACCOUNT)
    [key] = history.keys.not_cleaned_up()

    assert not key.was_missed
    assert not key.was_listed
    history.list(PROFILE_KEY, account=OTHER_ACCOUNT)
    assert not key.was_listed


def test_a_key_that_a_list_did_not_show_is_missed_only_once_it_was_granted(history):
    """A list misses a key only after a granted registration.

    A similar text in the list counts as the key of the profile.
    """
    history.list().register(PROFILE_KEY).list(f"x-{PROFILE_KEY}").register(MADE_UP, status=504).list()
    own, made_up = history.keys.not_cleaned_up()

    assert (own.was_listed, own.was_missed) == (True, True)
    assert (made_up.was_listed, made_up.was_missed) == (False, False)


# -- the end ---------------------------------------------------------------------------------------------------------


def test_a_granted_key_that_no_list_showed_is_recorded_as_registered_later(history):
    """At the end the record says that the key may be registered later.

    Without a list a refused key of a synthetic account is gone.
    """
    history.list().register(MADE_UP).list().keys.set_last_states()
    assert history.events == [LATER]

    without_a_list = RecordedKeys(None, keys_of_profile=()).register(MADE_UP, account=NOBODY, status=400)
    without_a_list.keys.set_last_states()
    assert without_a_list.states == {}


def test_a_key_whose_registration_got_no_clear_answer_stays_in_the_record(history):
    """An answer without `Success` is no refusal. A list that lacks the key does not close its entry.

    Neither does a refusal of the same key, nor a deletion that is granted or finds no key.
    """
    history.list().register(MADE_UP, result={}).list()
    assert history.states == {MADE_UP: KeyState.MAYBE}
    assert history.events == [MAYBE]

    history.register(MADE_UP, status=409).list().delete(MADE_UP, status=404).list()
    assert history.states == {MADE_UP: KeyState.MAYBE}

    history.delete(MADE_UP).list().keys.set_last_states()
    assert history.states == {MADE_UP: KeyState.LATER}
    assert history.events == [LATER]


@pytest.mark.parametrize(
    ("members_before", "members", "is_elsewhere"),
    [
        ({}, {"own": PROFILE_KEY}, True),
        ({"own": PROFILE_KEY}, {"own": PROFILE_KEY}, False),
        ({}, {"made": MADE_UP}, True),
        ({"made": MADE_UP}, {"made": MADE_UP}, True),
        ({}, {"other": KEY_OF_BEFORE}, False),
    ],
)
def test_a_key_of_a_run_elsewhere_in_a_list_shows_that_key_at_is_wrong(members_before, members, is_elsewhere):
    """A key of the profile that stands there since before the run may be a member of the holder."""
    history = UnrecordedKeys().list(listed("EMAIL") | members_before)
    history.keys.lists.run_may_have_changed_keys = True
    history.register(MADE_UP).list(listed("EMAIL", "EMAIL") | members)

    assert history.keys.are_listed_elsewhere(ACCOUNT) is is_elsewhere
    assert not history.keys.are_listed_elsewhere(OTHER_ACCOUNT)


def test_a_synthetic_key_that_the_service_cut_is_found(history):
    """A list shows a shortened form of the key.

    It counts as perhaps registered there, with the exchanges of the whole key.
    """
    history.list().list(account=OTHER_ACCOUNT).begin_run().register(MADE_UP, status=504).list("pixconf-1a2b3c4d")
    history.keys.add_changed_keys(ACCOUNT)
    [_, shortened] = history.keys.not_cleaned_up()

    assert (shortened.value, shortened.account) == ("pixconf-1a2b3c4d", ACCOUNT)
    assert shortened.state is KeyState.MAYBE
    assert (shortened.type, shortened.exchanges, shortened.was_listed) == ("EMAIL", [3], True)
    history.keys.add_changed_keys(ACCOUNT)
    history.keys.add_changed_keys(OTHER_ACCOUNT)
    history.keys.add_changed_keys("ac-0009")
    assert len(history.states) == 2


def test_a_text_of_the_list_before_is_no_shortened_key_of_the_run(history):
    """A text that is unlike the keys of the run is none, either."""
    history.list("pixconf-1a2b3c4d").begin_run().register(MADE_UP).list("pixconf-1a2b3c4d", MADE_UP, KEY_OF_BEFORE)
    history.keys.add_changed_keys(ACCOUNT)
    history.list(MADE_UP).keys.add_changed_keys(ACCOUNT)

    assert [*history.states] == [MADE_UP]


def test_a_deletion_begins_the_run_for_the_lists(history):
    """A deletion, or a registration of a key of the profile, begins the changes of the run.

    The registration of a synthetic key does not.
    """
    history.register(MADE_UP)
    assert not history.keys.lists.run_may_have_changed_keys

    assert history.delete(KEY_OF_BEFORE).keys.lists.run_may_have_changed_keys
    assert RecordedKeys(None).register(PROFILE_KEY).keys.lists.run_may_have_changed_keys
