"""The files of events: signed, counted, and their owner's alone."""

import stat
from pathlib import Path

import pytest

from environments.door.event_log import JournalError, LogKey
from environments.door.journal import Journal
from tests.selftest.services.one_run import (
    CODE,
)


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
