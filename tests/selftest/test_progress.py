"""What a run says of itself while it sends: a true number, on a line that leaves no trace on a terminal."""

import io
import re
import threading
from contextlib import suppress

import pytest

from environments.sandbox import Service
from tests.harness import controller
from tests.selftest.recorded_runs import record
from tests.selftest.services.waiting import HANGS_S

LINE = re.compile(r"\d+ of at most \d+ requests sent")


class Screen(io.StringIO):
    """A terminal, or a log; `shown` is set once something was printed."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal, self.shown = terminal, threading.Event()

    def isatty(self):
        return self.terminal

    def flush(self):
        self.shown.set()


@pytest.fixture
def at_once(monkeypatch):
    """The line is printed all the time."""
    monkeypatch.setenv("TERM", "xterm")
    for name in ("EVERY_S", "EVERY_S_IN_PLACE"):
        monkeypatch.setattr(controller, name, 0.001)


def printed_while_something_fails(terminal):
    """All that is printed while something goes on, which fails."""
    screen = Screen(terminal)
    with suppress(KeyError), controller.progress(screen, lambda: "3 of at most 9 requests sent"):
        assert screen.shown.wait(HANGS_S)
        raise KeyError
    return screen.getvalue()


def test_nothing_of_it_stays_on_a_terminal(at_once):
    """Each time the line is drawn anew; in the end it is erased, however that comes."""
    drawn, end = printed_while_something_fails(True), "\r\x1b[K"

    assert set(drawn.split(end)) == {"", "3 of at most 9 requests sent"}
    assert drawn.endswith(end)


def test_a_log_has_it_in_lines_of_its_own(at_once):
    """There are no control codes."""
    assert set(printed_while_something_fails(False).splitlines()) == {"3 of at most 9 requests sent"}


class Waits(Service):
    """It answers the first read, which only shows that it is there, and the others when a line was printed."""

    printed, reads = threading.Event(), 0

    def finish(self, request, operation, response):
        self.reads += 1
        return response if self.reads == 1 or self.printed.wait(HANGS_S) else None


@pytest.mark.parametrize(("options", "is_shown"), [((), True), (("-q",), False)], ids=["by default", "-q"])
def test_a_run_prints_it_unless_it_is_quiet(options, is_shown, tmp_path, at_once, monkeypatch):
    """With the number of requests by then."""
    monkeypatch.setattr(controller, "_print", lambda file, text: (file.write(text), Waits.printed.set()))
    Waits.printed.clear() if is_shown else Waits.printed.set()
    output = record(tmp_path, Waits, "-k", "listAccounts", *options, allow=["read"]).output
    lines = [line for line in output.splitlines() if LINE.search(line)]

    assert bool(lines) is is_shown
    assert all(LINE.fullmatch(line) for line in lines)
