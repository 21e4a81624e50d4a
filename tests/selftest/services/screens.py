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
from collections.abc import Callable
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
    """Holds the answer to one request back until the user has seen a text; then it is called what comes next."""

    def __init__(self, number: int, text: str, then: Callable[[int], None] = lambda pid: None) -> None:
        super().__init__(number)
        self.text, self.then, self.shown = text, then, threading.Event()

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
    output = b""
    while piece := _read(ours):
        output += piece
        if service.text.encode() in output and not service.shown.is_set():
            service.then(process.pid)
            service.shown.set()
    os.close(ours)
    return process.wait(), output.decode()


def _of_a_user() -> dict[str, str]:
    left_out = ("CI", "BUILD_NUMBER", "COLUMNS", "NO_COLOR")
    return {name: value for name, value in environment(TERM="xterm").items() if name not in left_out}


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the end, on Linux
        return b""
