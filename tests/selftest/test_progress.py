"""What a run says of itself while it sends: a line that leaves no trace on a terminal."""

import io
import threading
from contextlib import suppress

import pytest

from tests.harness import controller
from tests.selftest.services.waiting import HANGS_S


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
    with suppress(KeyError), controller.progress(screen, lambda: "3 of at most 9 requests"):
        assert screen.shown.wait(HANGS_S)
        raise KeyError
    return screen.getvalue()


def test_nothing_of_it_stays_on_a_terminal(at_once):
    """Each time the line is drawn anew; in the end it is erased, however that comes."""
    drawn, end = printed_while_something_fails(True), "\r\x1b[K"

    assert set(drawn.split(end)) == {"", "3 of at most 9 requests"}
    assert drawn.endswith(end)


def test_a_log_has_it_in_lines_of_its_own(at_once):
    """There are no control codes."""
    assert set(printed_while_something_fails(False).splitlines()) == {"3 of at most 9 requests"}
