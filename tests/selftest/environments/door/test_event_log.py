"""The files of events: signed, counted, and their owner's alone."""

import stat
from pathlib import Path

import pytest

from environments.door.event_log import DigestKey, JournalError, digest_of, event_in
from environments.door.journal import Journal
from environments.door.key_record import GONE, REGISTERED, KeyRecord
from tests.selftest.services.one_run import CODE


def test_a_record_sees_what_another_run_writes(tmp_path):
    """A record keeps its parsed lines in memory, but only as long as the file does not change.

    Two runs register a key each, and the first one deletes its own. Both see that only the key of the second is left.
    """
    record, record_of_other_run = (KeyRecord(tmp_path / "keys.jsonl", DigestKey(tmp_path / "key")) for _ in range(2))
    record.note("ac-1", "EMAIL", "pixconf-1@example.com", REGISTERED, ours=True)
    record_of_other_run.note("ac-1", "EMAIL", "pixconf-2@example.com", REGISTERED, ours=True)
    record.note("ac-1", "EMAIL", "pixconf-1@example.com", GONE, ours=True)

    assert [event["key"] for event in record.events()] == ["pixconf-2@example.com"]
    assert record.events() == record_of_other_run.events()


def ask_for_its_fault(journal):
    """Ask what is wrong with a journal."""
    journal.fault()


def read_it(journal):
    """Read the events of a journal."""
    journal.events()


def write_to_it(journal):
    """Write an event to a journal."""
    journal.write(CODE, "sent")


@pytest.mark.parametrize("path", ["/dev/full", ".", "link"], ids=["a device", "a folder", "a symbolic link"])
@pytest.mark.parametrize("use", [ask_for_its_fault, read_it, write_to_it])
def test_a_journal_that_is_no_regular_file_is_an_error(use, path, tmp_path):
    """The journal is the file of the transaction codes that runs sent. At its path is a device, a folder or a link.

    It is never read or written there, because a link could lead to a file that somebody else chose. What is at the path
    stays as it is: the target of the link, and the device.
    """
    target_of_link = tmp_path / "target"
    target_of_link.write_text("unchanged")
    (tmp_path / "link").symlink_to(target_of_link)
    journal = Journal(tmp_path / path, DigestKey(tmp_path / "key"))

    with pytest.raises(JournalError, match="is no file: name another place in journal"):
        use(journal)
    assert target_of_link.read_text() == "unchanged"
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_line_with_all_members_is_an_event():
    """A line of a file of events is JSON with the members at, environment, digest and event, which are texts."""
    event = event_in('{"at": "", "environment": "", "digest": "", "event": "gone"}')

    assert event["event"] == "gone"


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "7", '{"at": "x"}', '{"at": 1, "environment": "", "digest": "", "event": ""}'],
    ids=["empty", "cut", "an array", "a number", "without three members", "a member that is no text"],
)
def test_a_line_that_is_no_event_is_ignored(line):
    """A line of a file of events is JSON with the members at, environment, digest and event, which are texts."""
    assert event_in(line) is None


def test_a_key_that_is_given_is_not_written_to_a_file(tmp_path):
    """A pipeline gives the key that signs the events in a variable, so it must not be written beside the journal."""
    given_key = DigestKey(tmp_path / "key", b"one")
    given_key.make()

    assert given_key.read() == b"one"
    assert not (tmp_path / "key").exists()
    assert DigestKey(tmp_path / "key").read() == b""  # no key is given, and the file has none


def test_two_keys_make_two_digests_of_the_same_code(tmp_path):
    """A journal has a digest of each transaction code, which depends on the key of the journal."""
    digests = {digest_of(DigestKey(tmp_path / "key", key).read(), "TX-1") for key in (b"one", b"two")}

    assert len(digests) == 2
