"""A run on a terminal, and what its user sees there."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.selftest.services.forking import ROOT
from tests.selftest.services.running import TOKEN, arguments, environment
from tests.selftest.services.waiting import PausesAt

_ROWS = 24
_PIECE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


def seen_on(columns: int, output: str) -> list[str]:
    """The lines that stand on a terminal so wide in the end. AssertionError for control codes that it does not know."""
    lines, row, column = [""], 0, 0
    assert _PIECE.sub("", output) == ""
    for numbers, code, end, text in _PIECE.findall(output):
        if end == "\n":
            row += 1
        elif end == "\r":
            column = 0
        elif code == "A":
            row -= int(numbers or 1)
        elif code == "K":
            lines[row] = "" if numbers == "2" else lines[row][:column]
        elif code:
            assert (numbers, code) in {("?25", "l"), ("?25", "h")} or code == "m", (numbers, code)
        for sign in text:
            row, column = (row + 1, 0) if column == columns else (row, column)
            lines += [""] * (row + 1 - len(lines))
            lines[row] = lines[row].ljust(column)[:column] + sign + lines[row][column + 1 :]
            column += 1
        lines += [""] * (row + 1 - len(lines))
    return [line.rstrip() for line in lines]


class Watched(PausesAt):
    """Holds the answer to one request back until the user has seen how many went before it; `then` is called first with
    the id of the process."""

    def __init__(self, number: int, then: Callable[[int], None] = lambda pid: None) -> None:
        super().__init__(number)
        self.then, self.shown = then, threading.Event()

    def look(self, output: str, pid: int) -> None:
        """See what was printed by now."""
        counts = re.findall(r"(\d+) (?:of at most \d+ )?requests", output)
        if not self.shown.is_set() and any(int(count) >= self.number - 1 for count in counts):
            self.then(pid)
            self.shown.set()

    def answer(self, connection, request):
        if len(self.seen) == self.number:
            self.shown.wait()
        super(PausesAt, self).answer(connection, request)


def on_terminal(service: Watched, profile: Path, *options: str, columns: int = 80, **variables: str) -> tuple[int, str]:
    """The exit status of a run on a terminal so wide, and all that it printed."""
    terminal, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    return _watched(service, terminal, its_end, profile, options, variables)


def in_log(service: Watched, profile: Path, *options: str, **variables: str) -> tuple[int, str]:
    """The exit status of a run whose output goes elsewhere, and all that it printed."""
    return _watched(service, *os.pipe(), profile, options, variables)


def _watched(
    service: Watched, ours: int, its: int, profile: Path, options: tuple[str, ...], variables: dict[str, str]
) -> tuple[int, str]:
    always = ("-v", "-k", "executePix", "-p", "tests.selftest.services.impatient")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments(profile, *always, *options)],
        cwd=ROOT,
        env=_of_a_user() | TOKEN | variables,
        stdin=its if os.isatty(its) else subprocess.DEVNULL,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    output = ""
    for output in printed_on(ours):
        service.look(output, process.pid)
    return process.wait(), output


def _of_a_user() -> dict[str, str]:
    left_out = ("CI", "BUILD_NUMBER", "COLUMNS", "NO_COLOR")
    return {name: value for name, value in environment(TERM="xterm").items() if name not in left_out}


def printed_on(descriptor: int) -> Iterator[str]:
    """All that was printed by now, each time that there is more, until nobody has the other end open."""
    output = b""
    with os.fdopen(descriptor, "rb", buffering=0) as stream, suppress(OSError):  # which is the end of a terminal
        while piece := stream.read(65_536):
            output += piece
            yield output.decode(errors="replace")
