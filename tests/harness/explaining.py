"""--explain and --list in place of a run: no target, no token, no report; they print what is required, and what the last
run saw.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from environments.profiles.model import Profile
from environments.secret_values import listed_secrets
from reports.explanation import explanation, last_run, listing
from reports.show import Display
from reports.writing import RUNS
from spec.requirements import requirements
from tests.harness.options import PRINTING, options_given
from tests.harness.selection import group_of, selection
from tests.harness.watcher import requirement_of

SCENARIOS = pytest.StashKey[Callable[[str], Sequence[str]]]()
"""Tells what is sent for a requirement: tests/harness does not import tests/traffic."""


def explains(config: pytest.Config) -> bool:
    """True if the command line asks for --explain or --list."""
    return not {"--explain", "--list"}.isdisjoint(options_given(config, PRINTING))


class Explainer:
    """UsageError, in one line, for an id that is not known."""

    def __init__(self, config: pytest.Config, profile: Profile) -> None:
        if len(asked := options_given(config, PRINTING)) > 1:
            raise pytest.UsageError(f"{' and '.join(asked)} each print something; name one of them")
        self._profile = profile
        self._named = set(requirements())
        if not config.getoption("list"):
            self._named &= group_of(config.getoption("explain"), "--explain")
        config.option.collectonly = False
        config.option.verbose = -2  # pytest prints nothing of its own

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print. A reader that closes the pipe has enough, also of what pytest ends with."""
        with suppress(BrokenPipeError):
            print("\n".join(self._lines(session)), flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True

    def _lines(self, session: pytest.Session) -> Iterator[str]:
        config, chosen = session.config, [one for one in requirements().values() if one.id in self._named]
        if selection(config).narrowed:
            selected = set(map(requirement_of, session.items))
            chosen = [one for one in chosen if one in selected]
        folder = Path(config.getoption("report_dir") or RUNS / self._profile.name / "latest")
        run = last_run(folder, Display(listed_secrets(self._profile)).line)
        if len(chosen) == 1:
            return explanation(chosen[0], config.stash[SCENARIOS](chosen[0].id), run)
        return listing(chosen, run)
