"""Says how far the run is while it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any, TextIO

import pytest

from environments.door.budget import Budget
from reports.progress import Progress, RecentRate
from reports.run import Run
from tests.harness.screen import Log, Screen
from tests.harness.watcher import requirement_of

_OF_CI = ("CI", "BUILD_NUMBER")
"""Variables by which pytest, too, knows a CI system: some show a terminal and keep what is printed as a log."""


class Feedback:
    """Shows the progress of `run`, of which `budget` counts the requests."""

    def __init__(self, config: pytest.Config, run: Run, budget: Budget) -> None:
        self._config, self._run, self._budget = config, run, budget
        self._screen: Screen | None = None
        self._rate, self._at_hand = RecentRate(), ""
        self._most = run.profile.limits.requests

    @pytest.hookimpl(tryfirst=True)
    def pytest_plugin_registered(self, plugin: Any, plugin_name: str) -> None:
        """Stand between pytest and its file: before the pen does, which then hides known values in what comes here."""
        if plugin_name == "terminalreporter" and plugin.verbosity >= 0 and _has_descriptor(plugin._tw._file):
            plugin._tw._file = self._screen = _screen_of(plugin._tw._file, self._config)(plugin._tw._file, self._line)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """However the tests end, nothing is shown after them."""
        if self._screen is None:
            return (yield)
        try:
            self._rate.at(time.monotonic(), self._budget.requests_sent)
            self._screen.start()
            return (yield)
        finally:
            self._screen.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        requirement = requirement_of(item)
        self._at_hand = requirement.id if requirement else ""

    def pytest_enter_pdb(self) -> None:
        """A debugger has the terminal to itself."""
        if self._screen is not None:
            self._screen.stop()

    def _line(self) -> str:
        sent = self._budget.requests_sent
        rate = self._rate.at(time.monotonic(), sent)
        return str(Progress(sent, self._most, rate, self._run.verdicts_so_far(), self._at_hand))


def _has_descriptor(file: TextIO) -> bool:
    try:
        return file.fileno() >= 0
    except OSError:
        return False


def _screen_of(file: TextIO, config: pytest.Config) -> type[Screen]:
    if not _is_terminal(file, config):
        return Log
    from tests.harness.live_line import Terminal  # it draws with Rich, which costs other runs more than it gives

    return Terminal


def _is_terminal(file: TextIO, config: pytest.Config) -> bool:
    """Whether a line can be drawn and taken away again: with -s, tests print to the terminal themselves."""
    shared = config.getoption("capture") == "no" or any(map(os.environ.get, _OF_CI))
    return file.isatty() and not shared and os.environ.get("TERM", "dumb") != "dumb"
