"""The file of the journal: it is found to be edited, shortened or emptied."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from environments.door.event_log import JournalError, LogKey
from environments.door.journal import Journal, canonical

SUBJECT, OTHER = "TX-SUBJECT-1", "TX-OTHER-2"


def log_in(folder, *, given=None, run="one"):
    """The log of a run, with the key of the folder or with one that is given."""
    return Journal(folder / "log.jsonl", LogKey(folder / "log.key", given), environment="staging", run=run)


def events_of(log, code):
    """The events of one code."""
    return [event for event in log.events() if event["digest"] == log.digest(canonical(code))]


@pytest.fixture
def log(tmp_path):
    """A log with three events of two subjects."""
    log = log_in(tmp_path)
    for subject, event in ((SUBJECT, "sent"), (OTHER, "sent"), (SUBJECT, "success")):
        log.write(subject, event)
    return log


def test_events_are_read_back_by_their_subject(log, tmp_path):
    """By a later run, too; environment and time stand beside them, and what else is given."""
    log.write(OTHER, "refused", exchange="7")
    [first, second] = events_of(log_in(tmp_path, run="two"), OTHER)

    assert (first["event"], second["event"], second["exchange"]) == ("sent", "refused", "7")
    assert (first["environment"], first["run"]) == ("staging", "one")
    assert len(log.events()) == 4
    assert log.fault() == ""


def test_no_subject_is_written_and_the_files_are_private(log, tmp_path):
    """Log, key, count and lock are their owner's alone."""
    files = list(tmp_path.iterdir())

    assert SUBJECT.encode() not in b"".join(file.read_bytes() for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files} == {0}


def edited(text):
    """Another outcome in the first line."""
    return text.replace('"event": "sent"', '"event": "refused"', 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "", "it has 0 lines and had 3"),
        (lambda text: "".join(text.splitlines(keepends=True)[:2]), "it has 2 lines and had 3"),
        (lambda text: "".join(text.splitlines(keepends=True)[1:]), "it has 2 lines and had 3"),
        (edited, "line 1 was edited, or written with another key"),
        (lambda text: text + "{\n", "line 4 was edited, or written with another key"),
        (lambda text: text * 2, "it has 6 lines and had 3"),
    ],
    ids=["emptied", "cut at a line end", "without its first line", "edited", "with a broken line", "twice"],
)
def test_an_accident_is_found(change, said, log):
    """It stays found when more is written, and what can be read is read."""
    log.path.write_text(change(log.path.read_text()))
    before = log.fault()
    log.write(OTHER, "unknown")

    assert before == said
    assert log.fault() != ""
    assert events_of(log, OTHER)[-1]["event"] == "unknown"


@pytest.mark.parametrize("name", ["log.jsonl", "log.key", "log.count"])
def test_a_file_that_is_gone_is_found(name, log, tmp_path):
    """None of the three is made anew without a word."""
    (tmp_path / name).unlink()

    assert log.fault() != ""
    log.write(OTHER, "unknown")
    assert log.fault() != ""


def test_another_key_is_found(log, tmp_path):
    """Every digest differs with it."""
    assert log_in(tmp_path, given=b"another").fault() == "line 1 was edited, or written with another key"


def test_a_key_that_is_given_is_not_written(tmp_path):
    """No file of a key lies beside the log."""
    log_in(tmp_path, given=b"from the environment").write(SUBJECT, "sent")

    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.count", "log.jsonl", "log.jsonl.lock"]
    assert log_in(tmp_path, given=b"from the environment").fault() == ""


def test_a_run_that_was_killed_between_two_writes_leaves_a_whole_log(log):
    """One line more than the count is right; half a line is cut, because nothing was sent for it."""
    log.path.with_suffix(".count").write_text("2")
    with log.path.open("a") as file:
        file.write('{"at": "2026-')

    assert log.fault() == ""
    log.write(OTHER, "success")
    assert len(log.events()) == 4
    assert all(line.endswith("}") for line in log.path.read_text().splitlines())


def test_what_is_written_is_on_the_disk(tmp_path, monkeypatch):
    """It outlasts the machine: the line is forced there before the count."""
    forced, log = [], log_in(tmp_path)
    read = lambda: log.path.read_text() if log.path.exists() else ""  # noqa: E731
    monkeypatch.setattr(os, "fsync", lambda descriptor: forced.append((read(), (tmp_path / "log.count").exists())))
    log.write(SUBJECT, "sent")

    assert (read(), False) in forced


def test_a_full_disk_leaves_the_log_as_it_was(log, monkeypatch):
    """The error is one line; half of what was to be written is taken back."""
    before = log.path.read_text()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match="No space left on device"):
        log.write(OTHER, "sent")

    assert log.path.read_text() == before
    assert log.fault() == ""


def test_nothing_is_written_through_a_symbolic_link(tmp_path):
    """Who may put one there would choose what is overwritten."""
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "log.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(JournalError):
        log_in(tmp_path).write(SUBJECT, "sent")
    assert (tmp_path / "elsewhere").read_text() == "kept"


def test_runs_that_write_at_once_leave_a_whole_log(tmp_path):
    """Each line is chained to the one before, also where another run wrote that."""
    logs = [log_in(tmp_path, run=str(number)) for number in range(4)]
    threads = [threading.Thread(target=lambda log=log: [log.write(SUBJECT, "sent") for _ in range(5)]) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert logs[0].fault() == ""
    assert len(events_of(logs[0], SUBJECT)) == 20


@pytest.mark.parametrize("place", ["/dev/full", "/dev/null", "."])
def test_what_is_no_file_keeps_nothing(place, tmp_path):
    """A device or a folder is refused before anything is read or written, and stays what it is."""
    path = Path(place) if place != "." else tmp_path
    kind = stat.S_IFMT(path.stat().st_mode)
    log = Journal(path, LogKey(tmp_path / "log.key"), environment="staging", run="one")

    for use in (log.fault, log.events, lambda: log.write("subject", "event")):
        with pytest.raises(JournalError, match="is no file: name another place in journal"):
            use()
    assert stat.S_IFMT(path.stat().st_mode) == kind
