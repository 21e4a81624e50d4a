"""The files of events: signed, counted, and their owner's alone."""

import stat
from pathlib import Path

import pytest

from environments.door.event_log import DigestKey, JournalError, digest_of, event_in
from environments.door.journal import Journal
from environments.door.key_record import GONE, REGISTERED, KeyRecord
from tests.selftest.services.one_run import CODE


def test_a_record_sees_what_another_run_writes(tmp_path):
    """The key record is a file that says which keys runs registered. A run keeps its lines in memory until the file
    changes.

    Two runs with the same file register a key each, and the first run deletes its key. Both runs then see that only the
    key of the second one is left.
    """
    path, digest_key = tmp_path / "keys.jsonl", DigestKey(tmp_path / "key")
    record, record_of_other_run = KeyRecord(path, digest_key), KeyRecord(path, digest_key)
    record.note("ac-1", "EMAIL", "pixconf-1@example.com", REGISTERED, ours=True)
    record_of_other_run.note("ac-1", "EMAIL", "pixconf-2@example.com", REGISTERED, ours=True)
    record.note("ac-1", "EMAIL", "pixconf-1@example.com", GONE, ours=True)

    assert [event["key"] for event in record.events()] == ["pixconf-2@example.com"]
    assert record.events() == record_of_other_run.events()


def look_for_fault(journal):
    """Look for a fault in a journal, such as a missing line."""
    journal.fault()


def read_events(journal):
    """Read the events of a journal."""
    journal.events()


def write_event(journal):
    """Write an event to a journal."""
    journal.write(CODE, "sent")


@pytest.mark.parametrize("path", ["/dev/full", ".", "link"], ids=["a device", "a folder", "a symbolic link"])
@pytest.mark.parametrize("use_journal", [look_for_fault, read_events, write_event])
def test_a_journal_that_is_no_regular_file_is_an_error(use_journal, path, tmp_path):
    """The journal is the file of the transaction codes that runs sent. At its path is a device, a folder or a link.

    It is never read or written there, because a link could lead to a file that somebody else chose. What is at the path
    stays as it is: the target of the link, and the device.
    """
    target_of_link = tmp_path / "target"
    target_of_link.write_text("unchanged")
    (tmp_path / "link").symlink_to(target_of_link)
    journal = Journal(tmp_path / path, DigestKey(tmp_path / "key"))

    with pytest.raises(JournalError, match="is no file: name another place in journal"):
        use_journal(journal)
    assert target_of_link.read_text() == "unchanged"
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_line_with_all_members_is_an_event():
    """A line of a file of events is JSON with the members at, environment, digest and event, which are texts."""
    event = event_in('{"at": "", "environment": "", "digest": "", "event": "gone"}')

    assert event["event"] == "gone"


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "7", '{"at": "x"}', '{"at": 1, "environment": "", "digest": "", "event": ""}', "[" * 100_000],
    ids=["empty", "cut", "an array", "a number", "without three members", "a member that is no text", "too deep"],
)
def test_a_line_that_is_no_event_is_ignored(line):
    """An event is a JSON object with the members at, environment, digest and event, which are texts. These lines are
    none.
    """
    assert event_in(line) is None


def test_a_key_that_is_given_is_not_written_to_a_file(tmp_path):
    """A pipeline gives the key that signs the events of the journal in an environment variable.

    So the key must not be written to a file beside the journal. Here the given key is b"one".
    """
    given_key = DigestKey(tmp_path / "key", b"one")
    given_key.make()

    assert given_key.read() == b"one"
    assert not (tmp_path / "key").exists()
    assert DigestKey(tmp_path / "key").read() == b""  # no key is given, and the file has none


def test_two_keys_make_two_digests_of_the_same_code(tmp_path):
    """A journal (a file of the codes that runs sent) has a digest of each transaction code, and not the code itself.

    The digest depends on the key of the journal, so two journals with different keys have different digests.
    """
    digest_with_first_key = digest_of(b"one", "TX-1")
    digest_with_second_key = digest_of(b"two", "TX-1")

    assert digest_with_first_key != digest_with_second_key
