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
    """Lines are kept, so that a long file is not taken apart each time, and only as long as the file is the same."""
    one, other = (KeyRecord(tmp_path / "keys.jsonl", LogKey(tmp_path / "key")) for _ in range(2))
    one.note("ac-1", "EMAIL", "pixconf-1@example.com", REGISTERED, ours=True)
    other.note("ac-1", "EMAIL", "pixconf-2@example.com", REGISTERED, ours=True)
    one.note("ac-1", "EMAIL", "pixconf-1@example.com", GONE, ours=True)

    assert [event["key"] for event in one.events()] == ["pixconf-2@example.com"]
    assert one.events() == other.events()


@pytest.mark.parametrize("place", ["/dev/full", ".", "link"])
def test_what_is_no_file_is_neither_read_nor_written(place, tmp_path):
    """A device, a folder, and a link, which leads to what somebody else chose, stay what they are."""
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
def test_a_line_that_is_no_event_is_none(line):
    """Whoever wrote it."""
    assert event_in(line) is None
    assert event_in('{"at": "", "environment": "", "digest": "", "event": "gone"}')["event"] == "gone"


def test_a_key_of_the_environment_needs_no_file(tmp_path):
    """Another one gives other digests."""
    given, other = (LogKey(tmp_path / "key", key) for key in (b"one", b"two"))
    given.make()

    assert not (tmp_path / "key").exists()
    assert given.read() == b"one"
    assert digest_of(given.read(), "x") != digest_of(other.read(), "x")
    assert LogKey(tmp_path / "key").read() == b""
