"""The files of events: signed, counted, and their owner's alone."""

import stat
from pathlib import Path

import pytest

from environments.door.event_log import JournalError, LogKey, digest_of, event_in
from environments.door.journal import Journal
from environments.door.key_record import GONE, REGISTERED, KeyRecord
from tests.selftest.services.one_run import (
    CODE,
)


def test_a_change_of_another_run_is_seen(tmp_path):
    """Parsed lines are kept in memory only as long as the file does not change."""
    record, record_of_another_run = (KeyRecord(tmp_path / "keys.jsonl", LogKey(tmp_path / "key")) for _ in range(2))
    record.note("ac-1", "EMAIL", "pixconf-1@example.com", REGISTERED, ours=True)
    record_of_another_run.note("ac-1", "EMAIL", "pixconf-2@example.com", REGISTERED, ours=True)
    record.note("ac-1", "EMAIL", "pixconf-1@example.com", GONE, ours=True)

    assert [event["key"] for event in record.events()] == ["pixconf-2@example.com"]
    assert record.events() == record_of_another_run.events()


@pytest.mark.parametrize("place", ["/dev/full", ".", "link"])
def test_a_journal_that_is_no_regular_file_is_an_error(place, tmp_path):
    """A device, a folder or a link as journal raises JournalError at each use and stays as it is.

    A link could lead to a file that somebody else chose.
    """
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    log = Journal(tmp_path / place, LogKey(tmp_path / "key"))

    for use in (log.fault, log.events, lambda: log.write(CODE, "sent")):
        with pytest.raises(JournalError, match="is no file: name another place in journal"):
            use()
    assert (tmp_path / "kept").read_text() == "kept"
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "7", '{"at": "x"}', '{"at": 1, "environment": "", "digest": "", "event": ""}']
)
def test_a_line_that_is_no_event_is_ignored(line):
    """A line that lacks a member of an event, or whose member has another type, is no event."""
    assert event_in(line) is None
    assert event_in('{"at": "", "environment": "", "digest": "", "event": "gone"}')["event"] == "gone"


def test_a_given_log_key_is_not_written_to_a_file(tmp_path):
    """LogKey uses the key that it is given. Two keys make two digests of the same code."""
    key_one, key_two = (LogKey(tmp_path / "key", key) for key in (b"one", b"two"))
    key_one.make()

    assert not (tmp_path / "key").exists()
    assert key_one.read() == b"one"
    assert digest_of(key_one.read(), "x") != digest_of(key_two.read(), "x")
    assert LogKey(tmp_path / "key").read() == b""
