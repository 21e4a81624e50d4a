"""From the command line to a run: self-tests and --help need none, --plan, --explain and others send nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from environments.commands.sent_codes import code_from, code_to_resend, start_journal
from environments.credentials import protect
from environments.door.opening import journal_in_words
from environments.profiles.loading import load
from environments.profiles.model import Profile, ProfileError
from reports.earlier_runs import UnreadableError
from reports.plan import Plan, plan_lines
from reports.run import Note, NoteKind
from reports.wording import one_line
from tests.harness.controller import Send, open_run
from tests.harness.explaining import Explainer, explains
from tests.harness.options import HELPING, SHOWING, language_of, options_given, refuse_options
from tests.harness.selection import only_selftests, selection, take_ids

Planned = Callable[[Sequence[pytest.Item]], Plan]
PlanOf = Callable[[pytest.Config, Profile, Container[str], Sequence[pytest.Item]], Plan]
"""Makes the plan of a run: `planned` in tests/traffic, which tests/harness does not import."""


def configure(config: pytest.Config, plan_of: PlanOf, send: Send) -> None:
    """Register what the command line asks for. UsageError, in one line, for what is wrong in it or in the profile."""
    if options_given(config, HELPING) or (only_selftests(config) and not explains(config)):
        return
    refuse_options(config)
    take_ids(config)
    try:
        protect()
        _configure(config, plan_of, send)
    except (ProfileError, UnreadableError) as error:
        raise pytest.UsageError(one_line(str(error))) from None


def _configure(config: pytest.Config, plan_of: PlanOf, send: Send) -> None:
    profile, resend, where = _profile(config), frozenset[str](), config.getoption("resend_code")
    if where:
        resend = frozenset({code_to_resend(profile, code_from(where))})
    if explains(config):
        config.pluginmanager.register(Explainer(config, profile), "conformance-explainer")
    elif config.getoption("plan"):
        planner = Planner(profile, partial(plan_of, config, profile, resend))
        config.pluginmanager.register(planner, "conformance-planner")
    elif not options_given(config, SHOWING):
        _refuse_linked_cache(config)
        before = os.umask(0o077)  # what pytest and Hypothesis write is the owner's alone, too
        config.add_cleanup(lambda: _set_umask(before))
        started = start_journal(profile) if config.getoption("new_journal") else ""
        run = open_run(config, profile, resend, send)
        run.said += [Note(NoteKind.SET_UP, started)] * bool(started)


def _profile(config: pytest.Config) -> Profile:
    profile = load(config.getoption("environment"), base_url=config.getoption("base_url", None) or None)
    parallel = config.getoption("parallel") or profile.limits.parallel
    limits = replace(profile.limits, parallel=parallel)
    return replace(profile, limits=limits, language=language_of(config, profile))


def _refuse_linked_cache(config: pytest.Config) -> None:
    """UsageError where pytest would write its cache through a symbolic link."""
    if config.pluginmanager.has_plugin("cacheprovider"):
        folder = config.rootpath / os.path.expanduser(os.path.expandvars(config.getini("cache_dir")))
        for link in filter(Path.is_symlink, (folder, *folder.rglob("*"))):
            raise pytest.UsageError(f"cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider")


def _set_umask(mask: int) -> None:
    os.umask(mask)


class Planner:
    """`--plan` in place of a run: without a target, a token and a report, it prints what would be sent."""

    def __init__(self, profile: Profile, planned: Planned) -> None:
        self._profile, self._planned = profile, planned
        self.plan = Plan()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.plan = self._planned(session.items)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        terminalreporter.section("plan")
        journal, trouble, _ = journal_in_words(self._profile)
        for line in plan_lines(
            self.plan, self._profile, "; ".join(filter(None, (journal, trouble))), selection(config).text
        ):
            terminalreporter.write_line(line)
