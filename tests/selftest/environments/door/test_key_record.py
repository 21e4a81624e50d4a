"""The key record: a file with the last event of each key that a run registered. Later runs read it."""

import stat

import pytest

from environments.door.event_log import DigestKey
from environments.door.key_record import GONE, MAYBE, REGISTERED, KeyRecord

ACCOUNT, OTHER_ACCOUNT = "ac-0001", "ac-0002"
PROFILE_KEY, MADE_UP_KEY = "qa@bank.example", "pixconf-1a2b3c4d@example.com"
"""A key of the profile (the settings of the run), and one that the suite made up."""
OTHER_ADDRESS = "https://other.example"


@pytest.fixture
def open_record(tmp_path):
    """A function that opens the key record (the file of the keys that runs registered).

    It opens the file as the run of this name does, for a service at this address.
    """

    def open_record_of_run(run="one", base_url="https://bank.example"):
        """The key record as the run of this name opens it, for the service at this address."""
        return KeyRecord(tmp_path / "keys.jsonl", DigestKey(tmp_path / "key"), "staging", run, base_url=base_url)

    return open_record_of_run


def keys_in(record):
    """The keys that have an event in the record."""
    return [event["key"] for event in record.events()]


def accounts_of_remaining_keys(record, known_accounts):
    """The accounts of the made-up keys that earlier runs left. An account that is not in `known_accounts` is ""."""
    return [account for account, _ in record.remaining_keys(known_accounts)]


def test_a_later_run_reads_the_last_event_of_a_key(open_record):
    """One run notes first that the key is perhaps registered (MAYBE), and then that it is registered.

    A later run reads only the second event.
    """
    open_record("one").note(ACCOUNT, "EMAIL", PROFILE_KEY, MAYBE, ours=False)
    open_record("one").note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)
    record_of_later_run = open_record("two")

    assert record_of_later_run.last_event_of(ACCOUNT, "EMAIL", PROFILE_KEY) == REGISTERED
    assert len(record_of_later_run.events()) == 1


def test_a_key_that_is_gone_leaves_the_record(open_record):
    """Two keys are registered. A later run notes that one of them is gone, so only the other one is left."""
    open_record("one").note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)
    open_record("one").note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    open_record("two").note(ACCOUNT, "EMAIL", PROFILE_KEY, GONE, ours=False)

    assert open_record().last_event_of(ACCOUNT, "EMAIL", PROFILE_KEY) == ""
    assert keys_in(open_record()) == [MADE_UP_KEY]


def test_a_key_of_the_profile_is_not_readable_in_the_record(open_record, tmp_path):
    """The file has only a digest of a key of the profile (the settings of the run) and of its account, because both are
    personal.

    A key that the suite made up is readable, because nothing else could name it later.
    """
    open_record().note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)
    open_record().note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    text = (tmp_path / "keys.jsonl").read_text()

    assert PROFILE_KEY not in text
    assert ACCOUNT not in text
    assert MADE_UP_KEY in text


def test_only_the_owner_can_read_the_files_of_the_record(open_record, tmp_path):
    """The record and the key that signs it have no permission for the group or for others (0o077)."""
    open_record().note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    permissions_of_others = {file.name: stat.S_IMODE(file.stat().st_mode) & 0o077 for file in tmp_path.iterdir()}

    assert {"keys.jsonl", "key"} <= set(permissions_of_others)
    assert set(permissions_of_others.values()) == {0}


def test_a_record_belongs_to_an_address(open_record):
    """A key was registered at one address. At another address the same key may be a customer's, so it has no state
    there.

    A run at the other address keeps the entry in the file, but the key is not among the keys that it may delete.
    """
    open_record().note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    record_of_other_address = open_record(base_url=OTHER_ADDRESS)

    assert record_of_other_address.last_event_of(ACCOUNT, "EMAIL", MADE_UP_KEY) == ""
    assert accounts_of_remaining_keys(record_of_other_address, [ACCOUNT]) == []
    assert len(record_of_other_address.events()) == 1


def test_a_remaining_key_is_given_with_its_account_if_the_run_knows_the_account(open_record):
    """The record has only a digest of the account. `remaining_keys` compares it with the accounts that the run knows.

    If the run knows the account, the key is given with it. Otherwise the key is given with an empty account.
    """
    open_record().note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    [event] = open_record().events()
    remaining_keys = list(open_record().remaining_keys([ACCOUNT, OTHER_ACCOUNT]))
    remaining_keys_of_unknown_account = list(open_record().remaining_keys([]))

    assert remaining_keys == [(ACCOUNT, event)]
    assert remaining_keys_of_unknown_account == [("", event)]


def test_the_same_key_has_an_entry_for_each_address_and_account(open_record):
    """The key record (a file) has an entry of its own for the same key at another address and account.

    The key is registered at one address, and perhaps registered at another one. Each run sees the entry of its address.
    """
    record = open_record()
    record.note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    record_of_other_address = open_record(base_url=OTHER_ADDRESS)
    record_of_other_address.note(OTHER_ACCOUNT, "EMAIL", MADE_UP_KEY, MAYBE, ours=True)
    both_accounts = [ACCOUNT, OTHER_ACCOUNT]

    assert record.last_event_of(ACCOUNT, "EMAIL", MADE_UP_KEY) == REGISTERED
    assert record_of_other_address.last_event_of(OTHER_ACCOUNT, "EMAIL", MADE_UP_KEY) == MAYBE
    assert accounts_of_remaining_keys(record, both_accounts) == [ACCOUNT]
    assert accounts_of_remaining_keys(record_of_other_address, both_accounts) == [OTHER_ACCOUNT]
    assert len(record.events()) == 2


def test_the_remaining_keys_are_only_those_that_were_made_up(open_record):
    """`remaining_keys` gives the made-up keys of earlier runs, which only the key record (a file) can name.

    A key of the profile (the settings of the run) is not among them.
    """
    open_record().note(ACCOUNT, "EMAIL", PROFILE_KEY, REGISTERED, ours=False)

    assert list(open_record().remaining_keys([ACCOUNT])) == []


def test_the_random_keys_of_a_run_share_an_entry(open_record):
    """A service makes the value of a RANDOM key, which may stay unknown (None). The keys of unknown value of a run are
    one entry.

    Here the run `one` notes two such keys, and the run `two` notes one. So there are two entries.
    """
    for run in ("one", "one", "two"):
        open_record(run).note(ACCOUNT, "RANDOM", None, MAYBE, ours=True)
    runs_with_an_entry = [event["run"] for event in open_record().events()]

    assert runs_with_an_entry == ["one", "two"]


def test_a_run_removes_its_own_entry_of_random_keys_alone(open_record):
    """Two runs have RANDOM keys of unknown value. The second run notes that its keys are gone; the entry of the first
    stays.

    A record that is opened for no run ("") removes the entries of all runs, as `python -m environments cleanup` does.
    """
    for run in ("one", "two"):
        open_record(run).note(ACCOUNT, "RANDOM", None, MAYBE, ours=True)
    open_record("two").note(ACCOUNT, "RANDOM", None, GONE, ours=True)
    state_after_second_run = open_record("two").last_event_of(ACCOUNT, "RANDOM", None)
    open_record("").note(ACCOUNT, "RANDOM", None, GONE, ours=True)

    assert state_after_second_run == MAYBE
    assert open_record().events() == []


def test_a_line_without_its_end_is_not_read(open_record, tmp_path):
    """The key record is a file with a line for each event. A line without its end is ignored.

    The run was killed while it wrote the line, so it did not send the request that the line is about.
    """
    open_record().note(ACCOUNT, "EMAIL", MADE_UP_KEY, REGISTERED, ours=True)
    whole_line = open_record().path.read_text()
    with (tmp_path / "keys.jsonl").open("a") as file:
        file.write(whole_line.rstrip("\n"))

    assert len(open_record().events()) == 1
