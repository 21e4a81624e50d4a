"""--explain and --list in place of a run: no target, no token, no report; they print what is required, and what the last
run saw.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from environments.profiles.profile import Profile
from environments.secrets import listed_secrets
from reports.explaining.explanation import Exercised, explanation_of
from reports.explaining.on_terminal import HEADING, LastRun, Line, explanation_lines, last_run, list_lines
from reports.show import Display
from spec.requirements import Requirement, ledger
from tests.harness.options import PRINTING, options_given
from tests.harness.selection import group_of, selection
from tests.harness.watcher import requirement_of

Exercises = Callable[[Profile], Mapping[str, Exercised]]
EXERCISES = pytest.StashKey[Exercises]()
"""Tells how each requirement is exercised: tests/harness does not import the tests."""
_FEW = 3
"""So many requirements of a group are explained; more are listed."""
_STYLES: Mapping[str, dict[str, bool]] = {HEADING: {"bold": True}, "fail": {"red": True}, "warn": {"yellow": True}}


def explains(config: pytest.Config) -> bool:
    """Whether the command line asks for --explain or --list."""
    return not {"--explain", "--list"}.isdisjoint(options_given(config, PRINTING))


class Explainer:
    """UsageError, in one line, for an id that is not known."""

    def __init__(self, config: pytest.Config, profile: Profile) -> None:
        if len(asked := options_given(config, PRINTING)) > 1:
            raise pytest.UsageError(f"{' and '.join(asked)} each print something; name one of them")
        self._named = None if config.getoption("list_requirements") else _named(config.getoption("explain"))
        self._profile, self._exercises = profile, config.stash[EXERCISES]
        config.option.dist, config.option.collectonly = "no", False
        config.option.verbose = -2  # pytest prints nothing of its own

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        _print(session.config.get_terminal_writer(), self._lines(session))
        return True

    def _lines(self, session: pytest.Session) -> Iterator[Line]:
        run = self._last_run(session.config)
        chosen = list(ledger().values())
        if selection(session.config).narrowed:
            selected = set(map(requirement_of, session.items))
            chosen = [one for one in chosen if one in selected]
        if self._named is None:
            return list_lines(chosen, run)
        return self._explained([one for one in chosen if one.id in self._named], run)

    def _explained(self, chosen: Sequence[Requirement], run: LastRun) -> Iterator[Line]:
        if len(chosen) > _FEW:
            yield from list_lines(chosen, run)
            yield from (Line(), Line("pytest --explain ID explains one of them"))
            return
        exercises = self._exercises(self._profile)
        for number, requirement in enumerate(chosen):
            yield from [Line()] * bool(number)
            yield from explanation_lines(
                explanation_of(requirement, exercises[requirement.id], self._profile.fail_on), run
            )

    def _last_run(self, config: pytest.Config) -> LastRun:
        display = Display(listed_secrets(self._profile))
        folder = config.getoption("report_dir")
        return last_run(self._profile.name, Path(folder) if folder else None, display.line)


def _named(name: str) -> frozenset[str]:
    """The requirement of that name, or those of the group. UsageError for any other name."""
    return frozenset([name]) if name in ledger() else group_of(name, "--explain")


def _print(writer: Any, lines: Iterable[Line]) -> None:
    """Print the lines, wrapped on a terminal. A reader that closes the pipe has enough, also of what pytest ends with."""
    width = writer.fullwidth if sys.stdout.isatty() else None
    with suppress(BrokenPipeError):
        for line in lines:
            for text in line.wrapped(width):
                writer.line(text, **_STYLES.get(line.style, {}))
        writer.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
