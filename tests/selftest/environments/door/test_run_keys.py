"""What a run registers: which keys are still to be cleaned up (deleted at the end of the run), and why.

`History` gives the keys of a run one request with its answer after the other. `list_shows(key, …)` is an answer to GET
/v1/pix/keys/{accountId} that shows these keys and no others, `list_is_empty()` is one that shows no key.
"""

from dataclasses import replace

import pytest
import requests

from environments.door.event_log import DigestKey
from environments.door.key_record import LATER, MAYBE, REGISTERED, KeyRecord
from environments.door.key_states import KeyState
from environments.door.outgoing import Intent, Sending
from environments.door.run_keys import Keys
from environments.profiles.model import PixKey
from spec.exchange import Exchange, Failure, FailureKind, Request
from tests.selftest.exchanges import REGISTRATION_RESULT, answer

ACCOUNT, OTHER_ACCOUNT, UNKNOWN_ACCOUNT = "ac-0001", "ac-0002", "ac-0009"
"""The account at which the run registers, another account of the profile, and an account that the profile lacks."""
MADE_UP_ACCOUNT = "pixconf-account"
"""An account that the suite made up, so it belongs to nobody."""
MADE_UP_KEY, SECOND_MADE_UP_KEY = "pixconf-1a2b3c4d@example.com", "pixconf-2@example.com"
"""Keys that the suite made up, so they belong to nobody."""
CUT_KEY = "pixconf-1a2b3c4d"
"""The made-up key as a service stores it that cuts keys to 16 characters."""
PROFILE_KEY, PROFILE_CPF = "qa@bank.example", "52998224725"
"""Keys in the profile (the settings of the run). They belong to people who test."""
CUSTOMER_KEY = "mae@cliente.example"
"""A key of a customer, with which the run has nothing to do."""
KEY_MADE_BY_SERVICE = "c0ffee00-0001-4000-8000-00000000000a"
DISPOSABLE_EMAIL = PixKey("EMAIL", PROFILE_KEY, disposable=True)
"""`disposable` says that the run may delete the key."""
CPF_TO_KEEP = PixKey("CPF", PROFILE_CPF)
PROFILE_KEYS = (PixKey("RANDOM", ""), DISPOSABLE_EMAIL, CPF_TO_KEEP)


class History:
    """A run whose requests about keys, and their answers, a test gives one after the other.

    Each method gives one of them and returns the history, so that calls chain. `keys` is the object that is tested: it
    knows the keys of the run. `record` is the file from which later runs know these keys, or None without such a file.
    """

    def __init__(
        self,
        record=None,
        *,
        profile_keys=(DISPOSABLE_EMAIL,),
        is_sandbox=False,
        accounts=(ACCOUNT, OTHER_ACCOUNT),
        key_at="/data/keys/*/pixKey",
    ):
        """An empty history of a run whose profile (its settings) has these keys and accounts.

        `key_at` says where a list has its keys.
        """
        self.record = record
        self.keys = Keys(profile_keys, record, accounts, is_sandbox=is_sandbox, key_at=key_at)
        self.events_while_on_the_wire: list[str] = []  # events in the record while the last request was on the wire
        self.number_of_last_request = 0

    def register(
        self, key, *, key_type="EMAIL", account=ACCOUNT, status=200, body=None, result=REGISTRATION_RESULT, failure=None
    ):
        """A registration and its answer, which has the member `data` with this `result`.

        `body` is sent in the place of the documented body. With a `failure`, such as a time-out, there is no answer.
        """
        sent = body or {"account": account, "pixKeyType": key_type, "pixKey": key}
        changes = {}
        if failure:
            changes = {"response": None, "failure": Failure(failure, "no answer")}
        return self._send("registerPixKey", "POST", account, sent, {"code": 0, "data": result}, status, **changes)

    def list_shows(self, *keys, account=ACCOUNT, status=200, query="", credential="valid", beside=0, **members):
        """A list of keys that shows these keys. `members` are further members of its `data`.

        `beside` is how many other requests were on their way at the same time.
        """
        data = {"keys": [{"pixKey": key} for key in keys], **members}
        body = {"code": 0, "data": data}
        changes = {"credential": credential, "beside": beside}
        return self._send("listPixKeys", "GET", account + query, None, body, status, **changes)

    def list_is_empty(self, **changes):
        """A list of keys that shows no key. `changes` are arguments of `list_shows`, such as `account`."""
        return self.list_shows(**changes)

    def delete(self, key, *, account=ACCOUNT, status=200):
        """A deletion that names this key, and its answer."""
        return self._send("deletePixKey", "DELETE", account, {"pixKey": key}, {"code": 0, "data": {}}, status)

    def begin_run(self):
        """From here on the run may have changed keys, so no later list counts as one from before the run."""
        self.keys.lists.run_may_have_changed_keys = True
        return self

    def learn_value(self, key, value):
        """Note that the service made this value for a key of the run."""
        self.keys.learn_value(key, value)
        return self

    def forget_value(self, key):
        """Note that the service did not register the key that was sent. It made another key, and no answer shows its
        value.
        """
        self.keys.learn_value(key, None)
        return self

    def end_run(self):
        """Nothing more is sent."""
        self.keys.set_last_states()
        return self

    def _send(self, operation, method, account, sent, answered, status, **changes):
        """Give `keys` a request with the body `sent`, and its answer with the body `answered`.

        In a run the request is sent inside the block of `recording`, which writes to the key record before and after
        it.
        """
        self.number_of_last_request += 1
        url = f"http://127.0.0.1/v1/pix/keys/{account}"
        request = requests.Request(method, url, json=sent).prepare()
        sending = Sending(request, Intent(operation, valid=True))
        exchange = answer(operation, answered, status=status)
        changes = {"request": sending.plain_request, "number": self.number_of_last_request, **changes}
        sending.exchange = replace(exchange, **changes)
        with self.keys.recording(sending):
            self.events_while_on_the_wire = self.events_in_record
        return self

    @property
    def keys_to_clean_up(self):
        """The keys that the run registered, or may have registered, and that may still be registered."""
        return self.keys.not_cleaned_up()

    @property
    def states_to_clean_up(self):
        """The state of each key that is to be cleaned up, by the value of the key."""
        return {key.value: key.state for key in self.keys_to_clean_up}

    @property
    def accounts_and_states_to_clean_up(self):
        """The account and the state of each key that is to be cleaned up."""
        return [(key.account, key.state) for key in self.keys_to_clean_up]

    @property
    def events_in_record(self):
        """The last event of each key in the key record, such as REGISTERED. Empty without a key record."""
        if self.record is None:
            return []
        return [event["event"] for event in self.record.events()]

    @property
    def values_in_record(self):
        """The value of each key in the key record; "" if it is unknown."""
        return [event["key"] for event in self.record.events()]

    @property
    def vanished_keys(self):
        """The keys that were there before the run and are gone, although no deletion named them."""
        return set(self.keys.lists.vanished)


@pytest.fixture
def record(tmp_path):
    """An empty key record: the file from which later runs know the keys that a run registered."""
    return KeyRecord(
        tmp_path / "keys.jsonl", DigestKey(tmp_path / "key"), "staging", "one", base_url="https://b.example"
    )


@pytest.fixture
def history(record):
    """The history of a run, to which a test adds one request with its answer after the other: `history.register(key)`.

    Its key record is empty: the file from which later runs know the keys of this run.
    """
    return History(record, profile_keys=PROFILE_KEYS)


def exchange_with_number(number):
    """The exchange of a registration that has this number in the run."""
    return Exchange(number, "registerPixKey", Request("POST", "", ()))


def test_a_registration_without_a_connection_changes_nothing():
    """A registration that found no connection was never sent, so it leaves no key to clean up.

    A key whose earlier registration got no answer (a time-out) stays perhaps registered.
    """
    never_sent = History().register(MADE_UP_KEY, failure=FailureKind.NO_CONNECTION)
    sent_once_before = History().register(MADE_UP_KEY, failure=FailureKind.TIMEOUT)
    sent_once_before.register(MADE_UP_KEY, failure=FailureKind.NO_CONNECTION)

    assert never_sent.states_to_clean_up == {}
    assert sent_once_before.states_to_clean_up == {MADE_UP_KEY: KeyState.MAYBE}


@pytest.mark.parametrize(
    "number", ["-1e400", "1e999999", pytest.param("9" * 5000, id="5000 digits"), "1.50", "NaN", "-Infinity"]
)
def test_a_number_that_is_sent_as_a_key_is_named_as_it_was_written(number, manual_run):
    """A JSON number in the place of a key keeps its digits as its value and name. A report cuts the name to 80
    characters.

    It is not parsed, because as a float it may be infinite, and an integer of 5000 digits is an error in Python.
    """
    body = f'{{"pixKeyType": "EMAIL", "pixKey": {number}}}'
    manual_run.client.send("registerPixKey", "pixconf-account", body=body.encode())
    [key] = manual_run.door.keys._keys

    assert key.value == number
    assert str(key.label) == f"EMAIL {number}"[:80]


def test_a_list_of_another_account_does_not_show_that_a_refused_key_is_not_registered():
    """A refused key counts as perhaps registered until a list of its own account lacks it.

    Here the list of another account lacks it, which says nothing.
    """
    history = History().list_is_empty().register(MADE_UP_KEY, status=422).list_is_empty(account=MADE_UP_ACCOUNT)

    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.REFUSED}


def test_a_list_that_is_read_beside_another_request_is_not_used():
    """A list is read while another request is on its way. It lacks a key that was refused, and a key from before the
    run.

    It may be older than the effect of the other request. So the refused key stays perhaps registered, and the older key
    still counts as one from before the run.
    """
    history = History().list_shows(KEY_MADE_BY_SERVICE).register(MADE_UP_KEY, status=422)
    history.list_is_empty(beside=1)

    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.REFUSED}
    assert history.keys.was_there_before(KEY_MADE_BY_SERVICE)


# -- what may be deleted ---------------------------------------------------------------------------------------------


def test_a_disposable_key_that_was_not_there_before_may_be_deleted():
    """The run may delete a key of its profile (its settings) if the list before its registration lacks the key, and a
    later list shows it.

    The profile also says that the key is `disposable`. The key of the customer makes no difference.
    """
    history = History().list_shows(CUSTOMER_KEY).register(PROFILE_KEY).list_shows(CUSTOMER_KEY, PROFILE_KEY)

    assert history.keys.may_be_deleted(PROFILE_KEY)


MASKED_PROFILE_KEY = "qa***@bank.example"


@pytest.mark.parametrize(
    "history",
    [
        History(profile_keys=(PixKey("EMAIL", PROFILE_KEY),))
        .list_is_empty()
        .register(PROFILE_KEY)
        .list_shows(PROFILE_KEY),
        History().list_shows(PROFILE_KEY).register(PROFILE_KEY).list_shows(PROFILE_KEY),
        History().list_shows(PROFILE_KEY.upper()).register(PROFILE_KEY).list_shows(PROFILE_KEY),
        History().register(PROFILE_KEY).list_shows(PROFILE_KEY),
        History().list_shows(MASKED_PROFILE_KEY).register(PROFILE_KEY).list_shows(PROFILE_KEY),
        History().list_is_empty(hasMore=True).register(PROFILE_KEY).list_shows(PROFILE_KEY),
        History().list_is_empty().register(PROFILE_KEY).list_shows(MASKED_PROFILE_KEY),
        History().list_is_empty().register(PROFILE_KEY).list_is_empty(),
        History().list_is_empty().register(PROFILE_KEY).list_shows(PROFILE_KEY, status=503),
        History(key_at=None).list_is_empty().register(PROFILE_KEY).list_shows(PROFILE_KEY),
    ],
    ids=[
        "the profile does not call it disposable",
        "the list before shows it",
        "the list before shows it in capitals",
        "no list was read before",
        "the list before may show it masked",
        "the list before has more pages",
        "the list afterwards shows it masked",
        "the list afterwards lacks it",
        "the list afterwards was refused",
        "the profile does not say where a list has its keys",
    ],
)
def test_a_key_of_the_profile_is_not_deleted_if_lists_leave_a_doubt(history):
    """The run deletes a key of its profile (its settings) only if a list before and a list afterwards show that this
    run registered the key.

    Each case is such a history of lists with one doubt. If in doubt, the key may have belonged to somebody before.
    """
    assert not history.keys.may_be_deleted(PROFILE_KEY)


def test_a_made_up_key_may_be_deleted_unless_it_was_there_before_the_run():
    """A key that the suite made up belongs to nobody, so no list has to show that the run registered it."""
    registered_by_run = History().list_is_empty().register(MADE_UP_KEY)
    there_before = History().list_shows(MADE_UP_KEY)

    assert registered_by_run.keys.may_be_deleted(MADE_UP_KEY)
    assert not there_before.keys.may_be_deleted(MADE_UP_KEY)


@pytest.mark.parametrize(
    "key",
    ["", "  ", "x" * 201, "pixconf-\x00", "pixconf-\x7f", "pixconf-\ud800"],
    ids=["empty", "blank", "201 characters", "with NUL", "with DEL", "with half a surrogate pair"],
)
def test_a_key_that_a_service_may_read_as_another_one_is_not_deleted(key):
    """No deletion names a key that is empty, too long, or has characters that cannot be printed, except on a sandbox.

    A service may change such a key, and so delete another one. On a sandbox (a test system) no key is worth anything.
    """
    assert not History().keys.may_be_deleted(key)
    assert History(is_sandbox=True).keys.may_be_deleted(key)


@pytest.mark.parametrize(
    ("history", "may_be_deleted"),
    [
        (History(is_sandbox=True).register(PROFILE_KEY), True),
        (History(is_sandbox=True).register(PROFILE_KEY, status=400), False),
        (History(is_sandbox=True).list_is_empty().register(PROFILE_KEY, status=400), True),
    ],
    ids=["registered, without a list", "refused, without a list", "refused, absent from a list before"],
)
def test_on_a_sandbox_a_list_or_a_success_is_enough_to_delete_a_key_of_the_profile(history, may_be_deleted):
    """On a sandbox (a test system) the run may delete a key whose registration succeeded, even if no list was read.

    A refused key may have been there before. The run may delete it only if a list before lacked it.
    """
    assert history.keys.may_be_deleted(PROFILE_KEY) is may_be_deleted


# -- what becomes of a key -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "states"),
    [
        (History().list_is_empty().register(PROFILE_KEY), [KeyState.REGISTERED]),
        (History().list_is_empty().register(PROFILE_KEY, status=400), [KeyState.REFUSED]),
        (History().list_is_empty().register(PROFILE_KEY, status=400).list_is_empty(), []),
        (History().list_is_empty().register(PROFILE_KEY, status=400).list_shows(PROFILE_KEY), [KeyState.MAYBE]),
        (History().list_is_empty().register(PROFILE_KEY, status=504), [KeyState.MAYBE]),
        (History().list_is_empty().register(PROFILE_KEY).delete(PROFILE_KEY), []),
        (History().list_is_empty().register(PROFILE_KEY).delete("other@bank.example"), [KeyState.REGISTERED]),
        (History().list_is_empty().register(PROFILE_KEY).delete(PROFILE_KEY, status=404), [KeyState.REGISTERED]),
        (History().list_is_empty().register(PROFILE_KEY, status=400).delete(PROFILE_KEY, status=404), []),
        (
            History().list_is_empty().register(PROFILE_KEY).delete(PROFILE_KEY).list_shows(PROFILE_KEY),
            [KeyState.STILL_LISTED],
        ),
        (History().list_shows(PROFILE_KEY).register(PROFILE_KEY), []),
    ],
    ids=[
        "registered",
        "refused",
        "refused, then absent from a list",
        "refused, but listed",
        "answered by a gateway (504)",
        "deleted",
        "another key was deleted",
        "its deletion found no key (404)",
        "refused, and its deletion found no key (404)",
        "deleted, but listed again",
        "there before the run",
    ],
)
def test_a_key_is_to_be_cleaned_up_until_answers_show_that_it_is_not_registered(history, states):
    """The run keeps a key on its list of keys to clean up, with the state that the answers so far permit.

    A refused key (REFUSED, MAYBE) may be registered all the same until a list lacks it. No state: nothing to clean up.
    """
    assert [key.state for key in history.keys_to_clean_up] == states


def test_a_registered_key_that_no_list_shows_is_reported_as_perhaps_registered_later():
    """The registration succeeded, but at the end of the run no list shows the key.

    The report then says that the key is perhaps registered later (LATER), because a service may be slow.
    """
    history = History().list_is_empty().register(MADE_UP_KEY).list_is_empty().end_run()

    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.LATER}


def test_a_key_has_vanished_only_if_two_lists_in_a_row_lack_it():
    """A key that was there before the run has vanished if two lists in a row lack it and no deletion named it.

    One list alone may show an older state. Here the run deletes another key before. That deletion may have deleted the
    vanished key, too, so the run reports it.
    """
    history = History().list_shows(CUSTOMER_KEY, PROFILE_KEY).delete(PROFILE_KEY)
    vanished_after_one_list = history.list_is_empty().vanished_keys
    vanished_after_two_lists = history.list_is_empty().vanished_keys

    assert vanished_after_one_list == set()
    assert vanished_after_two_lists == {CUSTOMER_KEY}
    assert history.keys.lists.key_vanished_after_deletion


def test_a_key_that_a_list_shows_again_has_not_vanished():
    """A customer's key was there before the run, and the run deletes another key.

    Of three lists afterwards the second one lacks the customer's key, and the third one shows it again. So the key is
    still there.
    """
    history = History().list_shows(CUSTOMER_KEY).delete(PROFILE_KEY)
    history.list_shows(CUSTOMER_KEY).list_is_empty().list_shows(CUSTOMER_KEY)

    assert history.vanished_keys == set()


def test_no_key_has_vanished_if_the_lists_have_more_pages():
    """A customer's key was there before the run, and the run deletes another key. Two lists afterwards lack both keys.

    But these lists have more pages (`next`), so the customer's key may be on another page. It has not vanished.
    """
    history = History().list_shows(CUSTOMER_KEY).delete(PROFILE_KEY)
    for _ in range(2):
        history.list_is_empty(next="/v1/pix/keys?page=2")

    assert history.vanished_keys == set()


# -- which key a request names, and what is written down --------------------------------------------------------------


def test_a_registration_is_in_the_record_before_it_is_sent(history):
    """The key record has the key as perhaps registered (MAYBE) while the request is on the wire, and then as
    registered.

    If the run is killed in between, a later run reads the record (a file) and can delete the key.
    """
    history.list_is_empty().register(MADE_UP_KEY)

    assert history.events_while_on_the_wire == [MAYBE]
    assert history.events_in_record == [REGISTERED]


def test_a_deleted_key_leaves_the_record(history):
    """The key record (a file) has the keys that a later run is to delete, so a deleted key is not in it any more."""
    history.list_is_empty().register(MADE_UP_KEY).list_shows(MADE_UP_KEY).delete(MADE_UP_KEY)

    assert history.events_in_record == []


@pytest.mark.parametrize(
    ("was_a_list_read", "event"), [(False, MAYBE), (True, REGISTERED)], ids=["no list before", "a list before"]
)
def test_a_key_of_the_profile_is_recorded_as_registered_only_if_a_list_before_lacked_it(
    was_a_list_read, event, history
):
    """A later run deletes a key of the profile (the settings of the run) if the key record (a file) calls it
    registered, and not if it says perhaps.

    Without a list from before the registration the key may have been there already, so the record says perhaps (MAYBE).
    """
    if was_a_list_read:
        history.list_shows(CUSTOMER_KEY)
    history.register(PROFILE_KEY)

    assert history.events_in_record == [event]


def test_a_key_that_was_there_before_the_run_is_not_recorded(history):
    """The list shows the key before its registration. So somebody uses the key, and the run must not delete it.

    The key is neither in the key record (a file for later runs) nor among the keys to clean up. `key_of` finds the key
    that a request registered, and here it finds none.
    """
    history.list_shows(PROFILE_KEY).register(PROFILE_KEY)
    registration = exchange_with_number(history.number_of_last_request)
    key_of_registration = history.keys.key_of(registration)

    assert history.events_in_record == []
    assert history.states_to_clean_up == {}
    assert key_of_registration is None
    assert history.keys.was_there_before(PROFILE_KEY)


def test_without_a_key_record_a_run_still_knows_its_keys():
    """The embedded sandbox (a test system inside the run) has no key record (a file for later runs).

    The run knows the keys of its profile (the settings of the run) that have a value, and the key that it registered.
    """
    history = History(None, profile_keys=PROFILE_KEYS).list_is_empty().register(MADE_UP_KEY)

    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.REGISTERED}
    assert [key.key for key in history.keys.keys_of_runs()] == [PROFILE_KEY, PROFILE_CPF, MADE_UP_KEY]


def test_random_keys_of_unknown_value_share_a_line_of_the_record(history):
    """A service makes the value of a RANDOM key. Until it is known, two such keys share a line of the key record (a
    file).

    When the value of the first key is learned, that key gets a line of its own.
    """
    history.list_is_empty().register("", key_type="RANDOM").register("", key_type="RANDOM")
    values_before = history.values_in_record
    first_key, _ = history.keys_to_clean_up
    history.learn_value(first_key, "made-1")

    assert values_before == [""]
    assert sorted(history.values_in_record) == ["", "made-1"]


def test_the_shared_line_of_random_keys_stays_until_the_last_of_them_is_known_and_deleted(history):
    """Two RANDOM keys of unknown value share a line of the key record (a file from which later runs delete keys).

    The values are learned one after the other, and each key is deleted as soon as its value is known.
    """
    history.list_is_empty().register("", key_type="RANDOM").register("", key_type="RANDOM")
    first_key, second_key = history.keys_to_clean_up
    history.learn_value(first_key, "made-1").delete("made-1")
    values_after_first_deletion = history.values_in_record
    history.learn_value(second_key, "made-2").delete("made-2")

    assert values_after_first_deletion == [""]
    assert history.values_in_record == []


@pytest.mark.parametrize(
    "body",
    [
        {"pixKeyType": "EMAIL", "pixKey": PROFILE_KEY},
        {"pixKeyType": "CPF", "pixKey": {"value": PROFILE_KEY}},
        {"other": [PROFILE_KEY]},
    ],
    ids=["as documented", "inside an object", "in a list under another name"],
)
def test_a_key_of_the_profile_anywhere_in_a_body_counts_as_registered(body, history):
    """The body of a successful registration has the key at an undocumented place. A lenient service may find it there.

    So the run has to clean it up, and no later list counts as one from before the run.
    """
    history.list_is_empty().register(None, body=body)

    assert history.states_to_clean_up == {PROFILE_KEY: KeyState.REGISTERED}
    assert history.keys.lists.run_may_have_changed_keys


def test_a_json_number_can_be_a_key_of_the_profile(history):
    """A registration names its key as a JSON number. Its digits are those of a key of the profile (the settings of the
    run).

    So the run has to clean that key up.
    """
    history.list_is_empty().register(int(PROFILE_CPF), key_type="CPF")

    assert history.states_to_clean_up == {PROFILE_CPF: KeyState.REGISTERED}


def test_a_made_up_key_counts_once_for_each_account_at_which_it_is_registered(history):
    """The key is registered twice at one account and once at another. The run has two keys to clean up.

    Each of them must be deleted at its own account.
    """
    history.list_is_empty().register(MADE_UP_KEY).register(MADE_UP_KEY).register(MADE_UP_KEY, account=MADE_UP_ACCOUNT)
    accounts = [(key.account, key.is_at_synthetic_account) for key in history.keys_to_clean_up]

    assert accounts == [(ACCOUNT, False), (MADE_UP_ACCOUNT, True)]


@pytest.mark.parametrize(
    ("key_type", "key", "name", "recorded_type"),
    [
        ("EMAIL", MADE_UP_KEY, f"EMAIL {MADE_UP_KEY}", "EMAIL"),
        ("EVP", MADE_UP_KEY, f"key {MADE_UP_KEY}", ""),
        ("EMAIL", "pixconf-é" + "x" * 80, ("EMAIL pixconf-\\xe9" + "x" * 80)[:80], "EMAIL"),
        ("RANDOM", "", "RANDOM, made by the service", "RANDOM"),
        ("EVP", "", "a key that its request does not name", ""),
    ],
    ids=[
        "an e-mail key",
        "a key of an undocumented type",
        "a long key with a letter outside ASCII",
        "a RANDOM key",
        "an empty key of an undocumented type",
    ],
)
def test_a_made_up_key_is_reported_with_its_type_and_value(key_type, key, name, recorded_type, history):
    """People read this name in a report, so it is ASCII and has at most 80 characters.

    A key type that the interface document does not name (EVP) is left out.
    """
    history.list_is_empty().register(key, key_type=key_type)
    [key_of_run] = history.keys_to_clean_up

    assert str(key_of_run.label) == name
    assert key_of_run.type == recorded_type


def test_a_key_of_the_profile_is_reported_with_its_type_and_place_only(history):
    """A report names a key of the profile by its type and its place in the list `pix_keys`, because its value is
    personal.

    The profile (the settings of the run) has three keys, and the CPF is the third one.
    """
    history.list_is_empty().register(PROFILE_CPF, key_type="CPF")
    [key_of_run] = history.keys_to_clean_up

    assert str(key_of_run.label) == "CPF, number 3 of pix_keys"


def test_keys_of_the_profile_are_listed_before_made_up_keys(history):
    """The profile (the settings of the run) has an e-mail key, and then a CPF. The run registers a made-up key, the CPF
    and the e-mail key.

    The keys to clean up are in the order of the profile, in whatever order they were registered.
    """
    history.list_is_empty().register(MADE_UP_KEY).register(PROFILE_CPF).register(PROFILE_KEY)

    assert list(history.states_to_clean_up) == [PROFILE_KEY, PROFILE_CPF, MADE_UP_KEY]


def test_a_refusal_at_another_account_does_not_move_a_registered_key(history):
    """A key of the profile (the settings of the run) is registered at one account, and its registration at another
    account is refused.

    It is to be cleaned up at the first account.
    """
    history.list_is_empty().register(PROFILE_KEY).register(PROFILE_KEY, account=MADE_UP_ACCOUNT, status=400)

    assert history.accounts_and_states_to_clean_up == [(ACCOUNT, KeyState.REGISTERED)]


def test_a_deleted_key_is_cleaned_up_at_the_account_of_its_next_registration(history):
    """A key of the profile (the settings of the run) is registered at one account, deleted, and then registered at
    another account.

    The list of keys is empty before, so the run knows that it registered the key itself and may delete it at its end.
    """
    history.list_is_empty().register(PROFILE_KEY).delete(PROFILE_KEY).register(PROFILE_KEY, account=MADE_UP_ACCOUNT)

    assert history.accounts_and_states_to_clean_up == [(MADE_UP_ACCOUNT, KeyState.REGISTERED)]


# -- what is asked of the keys ---------------------------------------------------------------------------------------


def request_for_keys(operation, method="GET", account=ACCOUNT, sent=None):
    """A request to the keys of an account that is not sent yet."""
    request = requests.Request(method, f"http://127.0.0.1/v1/pix/keys/{account}", json=sent).prepare()
    return Sending(request, Intent(operation))


@pytest.mark.parametrize(
    "sending",
    [request_for_keys("listPixKeys"), request_for_keys("deletePixKey", "DELETE", sent={"pixKey": MADE_UP_KEY})],
    ids=["the list of its account", "its deletion"],
)
def test_a_request_cleans_up_if_it_deletes_or_lists_a_key_that_the_run_registered(sending, history):
    """Some requests of a run are reserved for cleaning up at its end. `helps_to_clean_up` tells which requests do that.

    The deletion of a key that the run registered helps, and so does a list of the account of that key. Before the run
    registered a key, no request cleans up.
    """
    cleaned_up_before = history.keys.helps_to_clean_up(sending)
    history.list_is_empty().register("", key_type="RANDOM").register(MADE_UP_KEY)

    assert not cleaned_up_before
    assert history.keys.helps_to_clean_up(sending)


@pytest.mark.parametrize(
    "sending",
    [
        request_for_keys("listPixKeys", account=MADE_UP_ACCOUNT),
        request_for_keys("deletePixKey", "DELETE", sent={"pixKey": CUSTOMER_KEY}),
        request_for_keys("registerPixKey", "POST", sent={"pixKey": MADE_UP_KEY}),
    ],
    ids=[
        "the list of an account that the suite made up",
        "the deletion of another key",
        "another registration of the key",
    ],
)
def test_any_other_request_for_keys_does_not_clean_up(sending, history):
    """The run registered a key at its own account. These requests neither delete that key nor list that account."""
    history.list_is_empty().register("", key_type="RANDOM").register(MADE_UP_KEY)

    assert not history.keys.helps_to_clean_up(sending)


@pytest.mark.parametrize(
    ("key", "was_there"),
    [(CUSTOMER_KEY, True), ("new@bank.example", False), (None, False), ("", False)],
    ids=["listed", "not listed", "a key of unknown value", "an empty text"],
)
def test_a_key_was_there_before_if_the_list_before_the_run_shows_it(key, was_there, history):
    """A list is read before the run changes any key. A key was there before the run if this list shows it."""
    history.list_shows(CUSTOMER_KEY)

    assert history.keys.was_there_before(key) is was_there


def test_a_key_that_was_there_before_stays_so_after_the_run_registers_it(history):
    """The list before the run shows the key, and the run registers it without a clear answer (504).

    It must not be deleted, because it was somebody's before.
    """
    history.list_shows(MADE_UP_KEY).register(MADE_UP_KEY, status=504)

    assert history.keys.was_there_before(MADE_UP_KEY)
    assert not history.keys.may_be_deleted(MADE_UP_KEY)


def test_a_key_that_the_run_registered_before_the_first_list_was_not_there_before():
    """The profile (the settings of the run) has no keys, so the run reads its first list only after it registered a
    key. The list shows that key.

    It may be deleted, because the run knows that it registered the key itself.
    """
    history = History(profile_keys=()).register(MADE_UP_KEY).list_shows(MADE_UP_KEY)

    assert history.keys.list_before_run is not None
    assert not history.keys.was_there_before(MADE_UP_KEY)
    assert history.keys.may_be_deleted(MADE_UP_KEY)


def test_a_registered_random_key_is_unknown_until_its_value_is_learned(history):
    """A RANDOM key is made by the service, so its value is unknown until an answer shows it.

    The run registers no further RANDOM key until then. It asks `has_random_key_of_unknown_value`.
    """
    history.list_is_empty().register("", key_type="RANDOM")
    after_registration = history.keys.has_random_key_of_unknown_value()
    [random_key] = history.keys_to_clean_up
    history.learn_value(random_key, "made-1")
    after_learning = history.keys.has_random_key_of_unknown_value()

    assert after_registration
    assert not after_learning


def test_a_key_of_another_type_is_no_random_key_of_unknown_value(history):
    """The run registered an e-mail key, and sent an empty key with the type EVP, which the interface does not document.

    A service may make a key for EVP, too. But only a documented RANDOM key keeps the run from registering RANDOM keys.
    """
    history.list_is_empty().register(MADE_UP_KEY).register("", key_type="EVP")

    assert not history.keys.has_random_key_of_unknown_value()


def test_a_later_run_knows_of_a_random_key_of_unknown_value_by_the_record(history):
    """The key record is a file that later runs read. It says whether a RANDOM key without a known value is left.

    It is left after its registration, and not any more after its value was learned.
    """
    history.list_is_empty().register("", key_type="RANDOM")
    later_run_after_registration = History(history.record).keys.has_random_key_of_unknown_value()
    [random_key] = history.keys_to_clean_up
    history.learn_value(random_key, "made-1")
    later_run_after_learning = History(history.record).keys.has_random_key_of_unknown_value()

    assert later_run_after_registration
    assert not later_run_after_learning


@pytest.mark.parametrize(
    ("status", "perhaps_registered"),
    [(200, {MADE_UP_KEY}), (504, {MADE_UP_KEY}), (400, set())],
    ids=["registered", "answered by a gateway", "refused"],
)
def test_a_key_is_perhaps_registered_by_the_run_unless_its_registration_was_refused(
    status, perhaps_registered, history
):
    """`values_perhaps_registered` has the keys that the run registered, for certain or perhaps.

    A refused key is not among them, because it may be somebody else's. Neither are keys of the profile (the settings of
    the run) that were not sent.
    """
    history.list_is_empty().register(MADE_UP_KEY, status=status)

    assert history.keys.values_perhaps_registered == perhaps_registered


def test_a_later_run_knows_the_keys_that_earlier_runs_left(history):
    """An earlier run leaves its keys in the key record, a file. `keys_of_runs` gives these keys and those that this run
    sent, if their value is known.

    The earlier run left a made-up key, and a RANDOM key of unknown value, which is not given.
    """
    history.list_is_empty().register(MADE_UP_KEY).register("", key_type="RANDOM")
    later_run = History(history.record, profile_keys=())
    later_run.list_shows(MADE_UP_KEY).register(SECOND_MADE_UP_KEY, status=400)
    types_and_values = {(key.type, key.key) for key in later_run.keys.keys_of_runs()}

    assert types_and_values == {("EMAIL", MADE_UP_KEY), ("EMAIL", SECOND_MADE_UP_KEY)}


def test_a_deleted_key_that_a_list_still_shows_is_reported(history):
    """The deletion of the key succeeded, but a later list shows the key again: perhaps another key was deleted.

    `deletions_still_listed` gives such deletions. The key does not count as free, and stays in the key record (a file
    for later runs) as registered.
    """
    deletion = answer("deletePixKey", {}, sent={"pixKey": MADE_UP_KEY})
    deletion_of_other_key = answer("deletePixKey", {}, sent={"pixKey": CUSTOMER_KEY})
    history.list_is_empty().register(MADE_UP_KEY).list_shows(MADE_UP_KEY).delete(MADE_UP_KEY).list_shows(MADE_UP_KEY)
    still_listed = history.keys.deletions_still_listed([deletion, deletion_of_other_key])

    assert still_listed == [deletion]
    assert not history.keys.seems_free(MADE_UP_KEY)
    assert history.events_in_record == [REGISTERED]


def test_a_deleted_key_seems_free_until_a_list_shows_it(history):
    """A key that seems free can be registered again. After its deletion succeeded, and until a list shows it, it seems
    free.
    """
    history.list_is_empty().register(MADE_UP_KEY).list_shows(MADE_UP_KEY).delete(MADE_UP_KEY)
    deletion = answer("deletePixKey", {}, sent={"pixKey": MADE_UP_KEY})

    assert history.keys.seems_free(MADE_UP_KEY)
    assert history.keys.deletions_still_listed([deletion]) == []


@pytest.mark.parametrize(
    ("key", "seems_free"),
    [(PROFILE_KEY, False), (MADE_UP_KEY, True), (PROFILE_CPF, False), ("never-sent", True)],
    ids=["registered", "refused", "listed", "never sent"],
)
def test_a_key_seems_free_unless_answers_say_that_it_is_registered(key, seems_free, history):
    """A key seems free (its registration may succeed) if no success and no list says that it is registered.

    Here one key is registered, one is refused, and one is in the list.
    """
    history.list_shows(PROFILE_CPF).register(PROFILE_KEY).register(MADE_UP_KEY, status=400)

    assert history.keys.seems_free(key) is seems_free


def test_a_key_is_found_by_the_number_of_each_request_that_may_have_registered_it(history):
    """Exchanges have numbers. The first one here is a list, and the second and the third one register the same key.

    `key_of` finds the key by the number of either registration, and no key by the number of the list.
    """
    history.list_is_empty().register(MADE_UP_KEY, status=504).register(MADE_UP_KEY)
    key_of_list, first_key, second_key = [history.keys.key_of(exchange_with_number(number)) for number in (1, 2, 3)]

    assert key_of_list is None
    assert first_key.value == MADE_UP_KEY
    assert second_key is first_key


def test_a_key_remembers_the_requests_that_may_have_registered_it(history):
    """A report names these requests by their numbers, which begin with 1.

    The refusal of a key that is registered already (request 3) is not among them, nor is a registration that was never
    sent, because there was no connection (request 5).
    """
    history.list_is_empty().register(MADE_UP_KEY).register(MADE_UP_KEY, status=400)
    history.register(SECOND_MADE_UP_KEY, status=504)
    history.register(SECOND_MADE_UP_KEY, failure=FailureKind.NO_CONNECTION)
    numbers_of_requests = {key.value: key.exchanges for key in history.keys_to_clean_up}

    assert numbers_of_requests == {MADE_UP_KEY: [2], SECOND_MADE_UP_KEY: [4]}


def test_the_last_registration_is_known_by_its_number(history):
    """`last_registration` is the number of the last registration of the run, even if it was refused; 0 without one.

    Here the list is request 1, and the refused registration is request 2.
    """
    history.list_is_empty()
    before_a_registration = history.keys.last_registration
    history.register(MADE_UP_KEY, status=400).list_is_empty().delete(MADE_UP_KEY)

    assert before_a_registration == 0
    assert history.keys.last_registration == 2


@pytest.mark.parametrize("has_more_pages", [True, False])
def test_the_list_of_its_own_account_decides_whether_a_key_may_be_deleted(has_more_pages):
    """A key may be deleted only if the whole list of its own account lacked it before the run.

    The key is registered at the other account, whose list before the run has more pages or is complete. The complete
    list of the first account does not count.
    """
    history = History().list_shows(CUSTOMER_KEY)
    history.list_shows(CUSTOMER_KEY, account=OTHER_ACCOUNT, hasMore=has_more_pages)
    history.register(PROFILE_KEY, account=OTHER_ACCOUNT).list_shows(PROFILE_KEY, account=OTHER_ACCOUNT)

    assert history.keys.may_be_deleted(PROFILE_KEY) is not has_more_pages


def test_on_a_sandbox_the_list_of_any_account_is_enough_to_delete_a_key():
    """On a sandbox (a test system) the list of another account from before the run permits the deletion."""
    history = History(is_sandbox=True).list_is_empty().register(PROFILE_KEY, account=MADE_UP_ACCOUNT, status=400)

    assert history.keys.may_be_deleted(PROFILE_KEY)


# -- a key of an earlier run -----------------------------------------------------------------------------------------


def test_a_run_takes_over_a_key_that_an_earlier_run_registered(history):
    """A key of the profile (the settings of the run) that was there before the run may be deleted if an earlier run
    registered it and left it.

    The key record (a file) says that it was registered for sure, the profile calls it `disposable`, and the list before
    the run shows it. So the key counts as registered by this run.
    """
    history.record.note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)
    history.list_shows(PROFILE_KEY)
    was_taken_over = history.keys.count_as_registered_if_recorded(DISPOSABLE_EMAIL)

    assert was_taken_over
    assert history.states_to_clean_up == {PROFILE_KEY: KeyState.REGISTERED}


@pytest.mark.parametrize(
    ("key_of_profile", "events_of_earlier_run", "listed_key"),
    [
        (DISPOSABLE_EMAIL, [MAYBE], PROFILE_KEY),
        (DISPOSABLE_EMAIL, [], PROFILE_KEY),
        (DISPOSABLE_EMAIL, [REGISTERED], CUSTOMER_KEY),
        (CPF_TO_KEEP, [REGISTERED], PROFILE_CPF),
    ],
    ids=[
        "an earlier run perhaps registered it",
        "it is not in the record",
        "the list before the run lacks it",
        "the profile does not call it disposable",
    ],
)
def test_a_key_that_may_be_that_of_a_person_is_not_taken_over(
    key_of_profile, events_of_earlier_run, listed_key, history
):
    """A run takes over a key of an earlier run if three things hold. Here one of them does not hold.

    The key record (a file) says that the key was registered for sure. The profile (the settings of the run) calls it
    `disposable`, and the list before the run shows it.
    """
    for event in events_of_earlier_run:
        history.record.note(ACCOUNT, key_of_profile.type, key_of_profile.key, event, ours=False)
    history.list_shows(listed_key)
    was_taken_over = history.keys.count_as_registered_if_recorded(key_of_profile)

    assert not was_taken_over
    assert history.states_to_clean_up == {}


def test_without_a_key_record_no_key_of_an_earlier_run_is_taken_over():
    """A list before the run shows a key of the profile (the settings of the run). Only a key record (a file) could say
    that an earlier run registered it.

    Without the record the key may be somebody's, so it does not count as registered by a run.
    """
    history = History(record=None, profile_keys=PROFILE_KEYS).list_shows(PROFILE_KEY)

    assert not history.keys.count_as_registered_if_recorded(DISPOSABLE_EMAIL)


def test_a_key_is_not_taken_over_without_a_list_before_the_run(history):
    """A run takes over a key of an earlier run if the key record (a file) and the list before the run have the key.

    Here no list was read, so the key may be at another account by now.
    """
    history.record.note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)

    assert not history.keys.count_as_registered_if_recorded(DISPOSABLE_EMAIL)


# -- the value of a key that the service made ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "impossible_value",
    ["made-***", PROFILE_KEY, MADE_UP_KEY],
    ids=["a masked text", "a key of the profile", "a key that the run sent"],
)
def test_a_text_that_cannot_be_a_key_of_the_service_is_not_learned(impossible_value, history):
    """A service may register another key than the run sent. Its value is learned from an answer, and then deleted.

    A masked text and a key that the run has already are not such a value, so the key keeps its own.
    """
    history.list_is_empty().register(MADE_UP_KEY)
    [key] = history.keys_to_clean_up
    history.learn_value(key, impossible_value)

    assert str(key.label) == f"EMAIL {MADE_UP_KEY}"
    assert key.type == "EMAIL"
    assert key.value == MADE_UP_KEY


def test_a_key_with_a_learned_value_is_a_random_key(history):
    """The run sent one key, and the service registered another one, which it made (as for a RANDOM key).

    Once its value is learned, the key has that value and type, also in the key record (a file for later runs). It
    counts as registered, and as shown by a list.
    """
    history.list_is_empty().register(MADE_UP_KEY).list_is_empty()
    [key] = history.keys_to_clean_up
    history.learn_value(key, "made-1")

    assert str(key.label) == "RANDOM, made by the service"
    assert key.type == "RANDOM"
    assert key.value == "made-1"
    assert key.state is KeyState.REGISTERED
    assert key.was_listed
    assert not key.was_absent_after_acceptance
    assert history.values_in_record == ["made-1"]


def test_a_learned_value_can_become_unknown_again(history):
    """A learned value is forgotten if it turns out that no answer shows the value of the key.

    The key record (a file for later runs) then has the key without a value, and the key does not count as listed.
    """
    history.list_is_empty().register(MADE_UP_KEY).list_is_empty()
    [key] = history.keys_to_clean_up
    history.learn_value(key, "made-1").forget_value(key)

    assert key.value is None
    assert not key.was_listed
    assert history.values_in_record == [""]


@pytest.mark.parametrize(
    ("profile_keys", "is_sandbox", "is_key_of_run"),
    [
        ((PixKey("RANDOM", "", disposable=True),), False, True),
        ((PixKey("RANDOM", ""),), False, False),
        ((DISPOSABLE_EMAIL,), False, False),
        ((), True, True),
        ((), False, False),
    ],
    ids=["a disposable RANDOM entry", "a RANDOM entry", "a disposable e-mail key", "a sandbox", "no keys"],
)
def test_a_new_listed_key_is_the_random_key_of_the_run_only_if_nobody_else_registers_keys(
    profile_keys, is_sandbox, is_key_of_run
):
    """A new key in a second list is the RANDOM key of the run only if nobody else registers keys at the account
    meanwhile.

    A RANDOM entry in the profile (the settings of the run) that is `disposable` says so. On a sandbox (a test system)
    it is always assumed.
    """
    assert Keys(profile_keys, is_sandbox=is_sandbox).new_listed_key_is_of_run is is_key_of_run


# -- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("credential", "query"), [("no header", ""), ("valid", "?page=2")], ids=["without the token", "with a query"]
)
def test_a_list_that_was_not_requested_as_documented_is_not_used(credential, query, history):
    """The list shows a key after its deletion. It was requested without the token, or with a query, so it proves
    nothing.

    The key counts as deleted: nothing is to be cleaned up.
    """
    history.list_is_empty().register(MADE_UP_KEY).delete(MADE_UP_KEY)
    history.list_shows(MADE_UP_KEY, query=query, credential=credential)

    assert history.states_to_clean_up == {}


def test_a_key_that_the_service_registers_at_another_account_is_to_be_cleaned_up_there(history):
    """A service may register a key at another account than the request named. Then the run has to delete it there, too.

    Here a made-up key is registered for a made-up account. Afterwards two lists of an account of the profile (the
    settings of the run) show it, and the list from before the run lacked it. So it is perhaps registered (MAYBE) there.
    """
    history.list_is_empty().list_is_empty(account=OTHER_ACCOUNT).begin_run()
    history.register(MADE_UP_KEY, account=MADE_UP_ACCOUNT)
    history.list_shows(MADE_UP_KEY, account=OTHER_ACCOUNT).list_shows(MADE_UP_KEY, account=OTHER_ACCOUNT)

    assert history.accounts_and_states_to_clean_up == [
        (MADE_UP_ACCOUNT, KeyState.REGISTERED),
        (OTHER_ACCOUNT, KeyState.MAYBE),
    ]


def test_a_listed_key_of_another_account_may_be_older_than_the_run(history):
    """A key that the list of another account shows is not deleted there if no list of that account was read before the
    run.

    The key may have been there before. The run registered it for a made-up account. The list is read twice, because one
    list may show an older state.
    """
    history.list_is_empty().begin_run().register(MADE_UP_KEY, account=MADE_UP_ACCOUNT)
    history.list_shows(MADE_UP_KEY, account=OTHER_ACCOUNT).list_shows(MADE_UP_KEY, account=OTHER_ACCOUNT)

    assert history.accounts_and_states_to_clean_up == [(MADE_UP_ACCOUNT, KeyState.REGISTERED)]


def test_at_an_account_outside_the_profile_nothing_is_cleaned_up(history):
    """A run deletes nothing at an account that its profile (its settings) does not have, even if a list there shows its
    key.

    The key was registered for a made-up account. The list is read twice, because one list may show an older state.
    """
    history.list_is_empty().list_is_empty(account=UNKNOWN_ACCOUNT).begin_run()
    history.register(MADE_UP_KEY, account=MADE_UP_ACCOUNT)
    history.list_shows(MADE_UP_KEY, account=UNKNOWN_ACCOUNT).list_shows(MADE_UP_KEY, account=UNKNOWN_ACCOUNT)

    assert history.accounts_and_states_to_clean_up == [(MADE_UP_ACCOUNT, KeyState.REGISTERED)]


def test_only_a_made_up_key_is_cleaned_up_at_an_account_where_it_was_not_registered(history):
    """Two keys that may belong to somebody are registered, and the list of a third account shows them, too.

    They may be somebody's there, so the run cleans them up only at the accounts where it registered them.
    """
    history.list_is_empty().list_is_empty(account=OTHER_ACCOUNT)
    history.register("x@bank.example", account=MADE_UP_ACCOUNT).register(PROFILE_KEY)
    history.list_shows("x@bank.example", PROFILE_KEY, account=OTHER_ACCOUNT)

    assert [key.account for key in history.keys_to_clean_up] == [ACCOUNT, MADE_UP_ACCOUNT]


@pytest.mark.parametrize(
    ("account_of_list", "listed_keys", "status_of_registration", "is_gone"),
    [
        (ACCOUNT, [], 400, True),
        (ACCOUNT, ["pix***@example.com"], 400, False),
        (UNKNOWN_ACCOUNT, [], 400, False),
        (ACCOUNT, [], 504, False),
    ],
    ids=["absent", "perhaps masked", "the list of an account outside the profile", "not refused, but no answer (504)"],
)
def test_a_refused_key_of_a_made_up_account_is_gone_if_a_list_lacks_it(
    account_of_list, listed_keys, status_of_registration, is_gone, history
):
    """A made-up account has no list. So the list of an account of the profile (the settings of the run) tells whether
    its refused key was stored.

    A key that is gone need not be cleaned up. The key is not gone if the list may show it masked, if the list is of an
    account outside the profile, or if the service did not clearly refuse the key.
    """
    history.list_is_empty().begin_run()
    history.register(MADE_UP_KEY, account=MADE_UP_ACCOUNT, status=status_of_registration)
    history.list_shows(*listed_keys, account=account_of_list)
    nothing_is_to_be_cleaned_up = history.states_to_clean_up == {}

    assert nothing_is_to_be_cleaned_up is is_gone


def test_a_refused_key_of_another_account_is_not_gone_if_the_first_account_lacks_it(history):
    """The key was refused at the other account, whose list was not read. The list of the first account proves
    nothing."""
    history.list_is_empty().register(MADE_UP_KEY, account=OTHER_ACCOUNT, status=400).list_is_empty()

    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.REFUSED}


def test_a_key_of_the_profile_was_there_before_if_any_account_showed_it(history):
    """The list of another account shows the key before the run, so somebody uses it, and the run must not delete it."""
    history.list_is_empty().list_shows(PROFILE_KEY, account=OTHER_ACCOUNT)

    assert history.keys.was_there_before(PROFILE_KEY)


@pytest.mark.parametrize(
    "listed_key", [CUSTOMER_KEY, MADE_UP_KEY], ids=["a key from before the run", "a key that the run sent"]
)
def test_a_refused_random_key_is_gone_if_the_list_has_no_new_key(listed_key, history):
    """A RANDOM key was refused, so nobody knows its value (None). The list of its account shows only a key that is
    known.

    So the service has made no key, and there is no key of unknown value to clean up.
    """
    history.list_shows(CUSTOMER_KEY).begin_run().register(MADE_UP_KEY).register("", key_type="RANDOM", status=400)
    history.list_shows(listed_key)

    assert None not in history.states_to_clean_up


@pytest.mark.parametrize(
    ("listed_keys", "account_of_list"),
    [(["made-1"], ACCOUNT), ([], ACCOUNT), ([CUSTOMER_KEY], OTHER_ACCOUNT)],
    ids=[
        "a new key, which may be the refused one",
        "no key: perhaps key_at names the wrong place, and the new key stands elsewhere",
        "the list of another account, which says nothing",
    ],
)
def test_a_refused_random_key_stays_perhaps_registered_if_the_list_does_not_exclude_it(
    listed_keys, account_of_list, history
):
    """A RANDOM key was refused, so nobody knows its value (None). The list after it is no proof that it does not exist.

    `key_at` is the place in a list where its keys are, as the profile (the settings of the run) says.
    """
    history.list_shows(CUSTOMER_KEY).begin_run().register(MADE_UP_KEY).register("", key_type="RANDOM", status=400)
    history.list_shows(*listed_keys, account=account_of_list)

    assert history.states_to_clean_up[None] is KeyState.REFUSED


def test_a_new_key_in_a_list_after_the_first_of_two_registrations_may_be_the_key_of_the_run(history):
    """A key is registered without a clear answer (504), a list shows a new key, and its second registration is refused.

    The run finds out that the service makes a key of its own and does not store the text that was sent. So the value of
    the key is unknown (None). The new key in the list may be this key. While a list shows the new key, the key of the
    run may be registered. If a list lacks the new key, nothing is to be cleaned up.
    """
    history.list_shows(CUSTOMER_KEY).begin_run()
    history.register(MADE_UP_KEY, status=504).list_shows(CUSTOMER_KEY, "made-1").register(MADE_UP_KEY, status=400)
    [key] = history.keys_to_clean_up
    history.forget_value(key)
    states_while_listed = history.list_shows(CUSTOMER_KEY, "made-1").states_to_clean_up
    states_when_absent = history.list_shows(CUSTOMER_KEY).states_to_clean_up

    assert states_while_listed == {None: KeyState.REFUSED}
    assert states_when_absent == {}


def test_without_a_list_before_the_run_a_refused_random_key_may_be_registered():
    """A list after the refusal shows no keys. But no list was read before the run, so nobody can tell which keys are
    new.
    """
    history = History(profile_keys=PROFILE_KEYS)
    history.begin_run().register("", key_type="RANDOM", status=400).list_is_empty()

    assert history.states_to_clean_up == {None: KeyState.REFUSED}


@pytest.mark.parametrize("listed_keys", [[], [PROFILE_KEY]], ids=["lacks the key", "shows the key"])
def test_the_list_of_another_account_is_no_evidence_about_a_key_of_the_profile(listed_keys, history):
    """The key was registered at its own account. What the list of another account shows does not count for it.

    `was_listed` says that a list showed the key. `was_absent_after_acceptance` says that a list should have shown the
    key, and lacked it.
    """
    history.list_is_empty().list_is_empty(account=OTHER_ACCOUNT).register(PROFILE_KEY)
    history.list_shows(*listed_keys, account=OTHER_ACCOUNT)
    [key] = history.keys_to_clean_up

    assert not key.was_listed
    assert not key.was_absent_after_acceptance


def test_a_similar_text_in_a_list_may_be_a_key_of_the_profile(history):
    """The registration of a key of the profile (the settings of the run) succeeded. A list shows a text that contains
    the key, such as "x-a@b.example".

    That may be the key, so the key counts as listed (`was_listed`). A later list shows nothing, so a list has lacked
    the key although it was accepted (`was_absent_after_acceptance`).
    """
    history.list_is_empty().register(PROFILE_KEY)
    [key] = history.keys_to_clean_up
    history.list_shows(f"x-{PROFILE_KEY}")
    was_absent_after_similar_text = key.was_absent_after_acceptance
    history.list_is_empty()

    assert key.was_listed
    assert not was_absent_after_similar_text
    assert key.was_absent_after_acceptance


def test_a_list_does_not_count_against_a_key_whose_registration_got_no_clear_answer(history):
    """The registration got 504, so the service may not have registered the key, and a list may rightly lack it."""
    history.list_is_empty().register(MADE_UP_KEY, status=504).list_is_empty()
    [key] = history.keys_to_clean_up

    assert not key.was_absent_after_acceptance
    assert not key.was_listed


# -- the end ---------------------------------------------------------------------------------------------------------


def test_an_accepted_key_that_no_list_showed_is_recorded_as_perhaps_registered_later(history):
    """The registration was accepted, but the list is still empty. A slow service may register the key after the run.

    So the run writes the event LATER ("perhaps registered later") into the key record, a file. The next run then looks
    for the key.
    """
    history.list_is_empty().register(MADE_UP_KEY).list_is_empty().end_run()

    assert history.events_in_record == [LATER]


def test_a_refused_key_of_a_made_up_account_is_gone_at_the_end_if_no_list_was_read():
    """A made-up account does not exist, so a service that refuses a key for it stores none."""
    history = History(profile_keys=()).register(MADE_UP_KEY, account=MADE_UP_ACCOUNT, status=400).end_run()

    assert history.states_to_clean_up == {}


def test_a_key_whose_registration_got_no_clear_answer_stays_perhaps_registered(history):
    """An answer with status 200 and without `Success` is neither a success nor a refusal, so the key may be registered.

    That stays so after a refusal of the same key (409), after a deletion that finds no key (404), and after lists that
    lack the key.
    """
    history.list_is_empty().register(MADE_UP_KEY, result={}).list_is_empty()
    states_after_first_answer = history.states_to_clean_up
    history.register(MADE_UP_KEY, status=409).list_is_empty().delete(MADE_UP_KEY, status=404).list_is_empty()

    assert states_after_first_answer == {MADE_UP_KEY: KeyState.MAYBE}
    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.MAYBE}
    assert history.events_in_record == [MAYBE]


def test_a_deletion_does_not_prove_that_an_unclear_registration_comes_to_nothing(history):
    """The registration got no clear answer, its deletion succeeded, and no list ever showed the key.

    The service may register it later, so the key stays in the key record (a file) for later runs.
    """
    history.list_is_empty().register(MADE_UP_KEY, result={}).list_is_empty()
    history.delete(MADE_UP_KEY).list_is_empty().end_run()

    assert history.states_to_clean_up == {MADE_UP_KEY: KeyState.LATER}
    assert history.events_in_record == [LATER]


@pytest.mark.parametrize(
    ("member_before", "member_now", "shows_that_key_at_is_wrong"),
    [
        (None, PROFILE_KEY, True),
        (PROFILE_KEY, PROFILE_KEY, False),
        (None, MADE_UP_KEY, True),
        (MADE_UP_KEY, MADE_UP_KEY, True),
        (None, CUSTOMER_KEY, False),
    ],
    ids=[
        "a key of the profile, new",
        "a key of the profile, there before: perhaps the address of the account holder",
        "a made-up key, new",
        "a made-up key, there before: it can be nothing but a key that an earlier run registered",
        "a key of a customer, which the run did not register",
    ],
)
def test_a_key_of_a_run_elsewhere_in_a_list_shows_that_key_at_is_wrong(
    member_before, member_now, shows_that_key_at_is_wrong
):
    """`key_at` says in the profile (the settings of the run) where a list has its keys: here at /data/keys/*/pixKey.

    But the list has the text "EMAIL" there, and another text in the member `address`. If that text is a key of a run,
    `key_at` is wrong.
    """
    history = History(key_at="/data/keys/*/pixKey").list_shows("EMAIL", address=member_before).begin_run()
    history.register(MADE_UP_KEY).list_shows("EMAIL", address=member_now)

    assert history.keys.are_listed_outside_key_at(ACCOUNT) is shows_that_key_at_is_wrong
    assert not history.keys.are_listed_outside_key_at(OTHER_ACCOUNT)


def test_a_made_up_key_that_the_service_cut_is_found_in_the_list(history):
    """The list shows the beginning of the key that the run registered (request 3), because the service cuts long keys.

    `add_changed_keys` looks for such texts. The cut key then is a second key to clean up, with the request of the whole
    one.
    """
    history.list_is_empty().list_is_empty(account=OTHER_ACCOUNT).begin_run()
    history.register(MADE_UP_KEY, status=504).list_shows(CUT_KEY)
    history.keys.add_changed_keys(ACCOUNT)
    [_, cut_key] = history.keys_to_clean_up

    assert cut_key.value == CUT_KEY
    assert cut_key.account == ACCOUNT
    assert cut_key.type == "EMAIL"
    assert cut_key.state is KeyState.MAYBE
    assert cut_key.exchanges == [3]
    assert cut_key.was_listed


def test_a_made_up_key_that_the_service_cut_is_added_once(history):
    """`add_changed_keys` looks for cut keys in the last list of an account. Calling it again adds nothing.

    Neither does the list of another account, which lacks the cut key, nor an account without a list.
    """
    history.list_is_empty().list_is_empty(account=OTHER_ACCOUNT).begin_run()
    history.register(MADE_UP_KEY, status=504).list_shows(CUT_KEY)
    for account in (ACCOUNT, ACCOUNT, OTHER_ACCOUNT, UNKNOWN_ACCOUNT):
        history.keys.add_changed_keys(account)

    assert sorted(history.states_to_clean_up) == [CUT_KEY, MADE_UP_KEY]


def test_a_text_that_was_listed_before_the_run_is_no_cut_key_of_the_run(history):
    """A text that a list showed before the run is never deleted, even if it is the beginning of a key of the run.

    A service may cut a key when it stores it, and `add_changed_keys` looks for such texts. But this text was there
    before. A customer's key, which is unlike the key of the run, is not taken for a cut key, either.
    """
    history.list_shows(CUT_KEY).begin_run().register(MADE_UP_KEY).list_shows(CUT_KEY, MADE_UP_KEY, CUSTOMER_KEY)
    history.keys.add_changed_keys(ACCOUNT)
    history.list_shows(MADE_UP_KEY).keys.add_changed_keys(ACCOUNT)

    assert list(history.states_to_clean_up) == [MADE_UP_KEY]


@pytest.mark.parametrize(
    ("history", "begins_changes"),
    [
        (History().register(MADE_UP_KEY), False),
        (History().register(PROFILE_KEY), True),
        (History().delete(CUSTOMER_KEY), True),
    ],
    ids=["a made-up key is registered", "a key of the profile is registered", "a key is deleted"],
)
def test_lists_count_as_from_before_the_run_until_it_may_have_changed_a_key_of_somebody(history, begins_changes):
    """A list counts as one from before the run until the run may have changed a key that belongs to somebody.

    A deletion and the registration of a key of the profile (the settings of the run) may change such keys. The
    registration of a made-up key does not.
    """
    assert history.keys.lists.run_may_have_changed_keys is begins_changes
