"""The key record: the last event of each key that a run registered."""

import stat

import pytest

from environments.door.event_log import LogKey
from environments.door.key_record import GONE, MAYBE, REGISTERED, KeyRecord

ACCOUNT, EMAIL, SYNTHETIC = "ac-0001", "qa@bank.example", "pixconf-1a2b3c4d@example.com"


@pytest.fixture
def record(tmp_path):
    """Opens the key record of a run of this name, at the address of a bank."""

    def open_record(run="one", base_url="https://bank.example"):
        return KeyRecord(tmp_path / "keys.jsonl", LogKey(tmp_path / "key"), "staging", run, base_url=base_url)

    return open_record


def test_the_record_has_the_last_event_of_a_key(record):
    """An event `gone` closes the entry of a key."""
    record().note(ACCOUNT, "EMAIL", EMAIL, MAYBE, ours=False)
    record().note(ACCOUNT, "EMAIL", EMAIL, REGISTERED, ours=False)
    record().note(ACCOUNT, "EMAIL", SYNTHETIC, REGISTERED, ours=True)
    assert record("two").state(ACCOUNT, "EMAIL", EMAIL) == REGISTERED
    assert len(record().events()) == 2

    record("two").note(ACCOUNT, "EMAIL", EMAIL, GONE, ours=False)
    assert record().state(ACCOUNT, "EMAIL", EMAIL) == ""
    assert [event["key"] for event in record().events()] == [SYNTHETIC]


def test_a_key_of_the_profile_stands_in_the_record_by_its_digest_alone(record, tmp_path):
    """A synthetic key stands in clear, because nothing else could name it later. Only the owner can read the file."""
    record().note(ACCOUNT, "EMAIL", EMAIL, REGISTERED, ours=False)
    record().note(ACCOUNT, "EMAIL", SYNTHETIC, REGISTERED, ours=True)
    text = (tmp_path / "keys.jsonl").read_text()

    assert EMAIL not in text
    assert ACCOUNT not in text
    assert SYNTHETIC in text
    assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in tmp_path.iterdir()} == {0}


def test_a_record_belongs_to_an_address_and_an_account(record):
    """At another address the same key may be a customer's.

    A record does not act on entries of another address, and keeps them.
    """
    record().note(ACCOUNT, "EMAIL", SYNTHETIC, REGISTERED, ours=True)
    record_of_other_address = record(base_url="https://other.example")
    record_of_other_address.note("ac-0002", "EMAIL", SYNTHETIC, MAYBE, ours=True)

    assert record_of_other_address.state(ACCOUNT, "EMAIL", SYNTHETIC) == ""
    assert record_of_other_address.state("ac-0002", "EMAIL", SYNTHETIC) == MAYBE
    assert [account for account, _ in record_of_other_address.remaining_keys([ACCOUNT])] == [""]
    assert [account for account, _ in record().remaining_keys([ACCOUNT, "ac-0002"])] == [ACCOUNT]
    assert list(record().remaining_keys([])) == [("", record().events()[0])]
    assert len(record().events()) == 2


def test_keys_of_the_profile_are_not_among_those_that_are_left(record):
    """The profile names its own keys, so `remaining_keys` gives only keys that the run made up."""
    record().note(ACCOUNT, "EMAIL", EMAIL, REGISTERED, ours=False)

    assert list(record().remaining_keys([ACCOUNT])) == []


def test_one_event_stands_for_all_unknown_keys_of_a_run(record):
    """RANDOM keys without a value share one entry for each run.

    A record without a run closes the entries of all runs.
    """
    for run in ("one", "one", "two"):
        record(run).note(ACCOUNT, "RANDOM", None, MAYBE, ours=True)
    assert [event["run"] for event in record().events()] == ["one", "two"]

    record("two").note(ACCOUNT, "RANDOM", None, GONE, ours=True)
    assert record("two").state(ACCOUNT, "RANDOM", None) == MAYBE
    record("").note(ACCOUNT, "RANDOM", None, GONE, ours=True)
    assert record().events() == []


def test_half_a_line_is_not_read(record, tmp_path):
    """A killed run may leave half a line. Nothing was sent for it."""
    record().note(ACCOUNT, "EMAIL", SYNTHETIC, REGISTERED, ours=True)
    with (tmp_path / "keys.jsonl").open("a") as file:
        file.write(record().path.read_text().rstrip("\n"))

    assert len(record().events()) == 1
