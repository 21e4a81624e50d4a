"""What a run says of itself while it sends: a true number, on a line that leaves no trace on a terminal."""

import os
import re
import signal

import pytest

from tests.selftest.services.running import write_profile
from tests.selftest.services.screens import Watched, in_log, on_terminal, seen_on

AT = 8
"""The request whose answer waits for the line: a read."""
LINE = re.compile(r"\d+ of at most \d+ requests sent")


def profile(folder, service):
    return write_profile(folder, service.base_url, limits={"parallel": 1})


def test_nothing_of_it_stays_on_a_terminal(tmp_path):
    """It is drawn while requests are sent, and gone in the end."""
    with Watched(AT) as service:
        status, output = on_terminal(service, profile(tmp_path, service))

    assert (status, service.shown.is_set()) == (0, True)
    assert not [line for line in seen_on(80, output) if LINE.search(line)]


def test_a_log_has_it_in_lines_of_its_own(tmp_path):
    """There are no control codes."""
    with Watched(AT) as service:
        status, output = in_log(service, profile(tmp_path, service))

    assert (status, service.shown.is_set(), "\x1b" in output, "\r" in output) == (0, True, False, False)
    assert all(LINE.fullmatch(line) for line in output.splitlines() if LINE.search(line))


@pytest.mark.parametrize("print_to", [on_terminal, in_log])
def test_quiet_is_quiet(print_to, tmp_path):
    """With -q there is none, neither on a terminal nor in a log."""
    with Watched(0) as service:
        _, output = print_to(service, profile(tmp_path, service), "-qq")

    assert not LINE.search(output)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_the_terminal_as_it_was(number, tmp_path):
    """After Ctrl-C the line is gone."""
    with Watched(AT, lambda pid: os.kill(pid, number)) as service:
        status, output = on_terminal(service, profile(tmp_path, service))

    assert (status, "INTERRUPTED" in output) == (2, True)
    assert not [line for line in seen_on(80, output) if LINE.search(line)]
