"""From the command line to a run, or to what stands in its place: --plan, --explain and --list send nothing."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from environments.credentials import protect
from environments.door.journal import Outcome, canonical
from environments.door.opening import journal_in_words, journal_of
from environments.door.preflight import Preflight
from environments.profiles.loading import load
from environments.profiles.model import Profile, ProfileError
from environments.secret_values import listed_secrets
from reports.observed.earlier_runs import UnreadableError, read_run
from reports.outputs.github import append_to_summary, usage_error_summary
from reports.outputs.terminal import print_lines
from reports.outputs.writing import runs_folder
from reports.result.run import Note, NoteKind
from reports.sentences.explanation import LastRun, explanation, last_run, last_run_about, listing
from reports.sentences.plan import Plan, plan_lines, purposes_in_words
from reports.sentences.wording import one_line
from reports.showing.show import Display
from spec.message import Text, say
from spec.requirements import Requirement, requirements
from tests.harness.options import HELPING, PRINTING, SHOWING, options_given, refuse_options
from tests.harness.selection import group_of, only_selftests, requirement_of, selection, take_default_path, take_ids
from tests.harness.starting import CarryOut, open_recorded, open_run

Planned = Callable[[Sequence[pytest.Item]], Plan]
PlanOf = Callable[[pytest.Config, Profile, Container[str], Sequence[pytest.Item]], Plan]
"""Makes the plan of a run: `planned` in tests/traffic, which tests/harness does not import."""


def configure(config: pytest.Config, plan_of: PlanOf, carry_out: CarryOut) -> None:
    """Register what the command line asks for. UsageError, in one line, for what is wrong in it or in the profile. The
    summary of a job of GitHub has that line, too."""
    if options_given(config, HELPING) or (only_selftests(config) and not explains(config)):
        return
    try:
        _configure_or_refuse(config, plan_of, carry_out)
    except pytest.UsageError as error:
        if path := os.environ.get("GITHUB_STEP_SUMMARY"):
            with suppress(OSError):  # the terminal says it in any case
                append_to_summary(path, usage_error_summary(config.getoption("environment"), str(error)))
        raise


def _configure_or_refuse(config: pytest.Config, plan_of: PlanOf, carry_out: CarryOut) -> None:
    try:
        protect()
        refuse_options(config)
        take_default_path(config)
        take_ids(config)
        if (named := config.getoption("compare_with")) is not None:
            config.option.compare_with = read_run(Path(named))
        _configure(config, plan_of, carry_out)
    except (ProfileError, UnreadableError) as error:
        raise pytest.UsageError(one_line(str(error))) from None


def _configure(config: pytest.Config, plan_of: PlanOf, carry_out: CarryOut) -> None:
    profile, where = _profile(config), config.getoption("resend_code")
    resend = frozenset({code_to_resend(profile, code_from(where))} if where else ())
    if explains(config):
        config.pluginmanager.register(_Explainer(config, profile, plan_of), "conformance-explainer")
    elif config.getoption("plan"):
        planner = _Planner(config, profile, partial(plan_of, config, profile, resend))
        config.pluginmanager.register(planner, "conformance-planner")
    elif not options_given(config, SHOWING):
        _refuse_linked_cache(config)
        before = os.umask(0o077)  # what pytest and Hypothesis write is the owner's alone, too
        config.add_cleanup(lambda: os.umask(before))  # type: ignore[arg-type]  # what it returns is dropped
        if config.getoption("recorded"):
            open_recorded(config, profile)
            return
        started = [Note(NoteKind.SET_UP, start_journal(profile))] if config.getoption("new_journal") else []
        open_run(config, profile, resend, carry_out).notes += started


def code_from(where: str) -> str:
    """The code in a file, or, for `-`, the one that is typed. Raises ProfileError, which repeats nothing."""
    try:
        return (getpass.getpass("transaction code: ") if where == "-" else Path(where).read_text("utf-8")).strip()
    except (OSError, ValueError, EOFError):
        raise ProfileError("--resend-code: expected a file that holds one code, or - to be asked for it") from None


def code_to_resend(profile: Profile, code: str) -> str:
    """The code as the profile writes it. Raises ProfileError where it may not be sent again."""
    supplied = {canonical(one): one for one in profile.transactions.codes}.get(canonical(code))
    if profile.is_sandbox or supplied is None:
        raise ProfileError("--resend-code: no such code in transactions.codes, or a sandbox, which has no journal")
    entry = journal_of(profile).entry(supplied)
    if entry and entry.outcome is Outcome.SUCCESS:
        raise ProfileError(f"--resend-code: this code was executed at {entry.at}, the journal says: prepare a new one")
    if entry and (entry.is_unknown or entry.outcome is Outcome.SETTLED):
        raise ProfileError(
            f"--resend-code: this code was sent at {entry.at}, and its outcome is or was unknown: it may have moved "
            "money, so it is not sent again: prepare a new one"
        )
    return supplied


def start_journal(profile: Profile) -> Text:
    """Start a journal for the codes of a profile. Gives a line about it. Raises ProfileError where there is nothing to
    start."""
    if profile.is_sandbox:
        raise ProfileError("--new-journal: a sandbox has no journal; leave it out")
    journal = journal_of(profile)
    journal.start()
    return say("a new journal was started: {path}; an old one is kept beside it", path=str(journal.path))


def _profile(config: pytest.Config) -> Profile:
    profile = load(config.getoption("environment"), base_url=config.getoption("base_url", None) or None)
    limits = replace(profile.limits, parallel=config.getoption("parallel") or profile.limits.parallel)
    return replace(profile, limits=limits, language=config.getoption("report_language") or profile.language)


def _refuse_linked_cache(config: pytest.Config) -> None:
    """UsageError where pytest would write its cache through a symbolic link."""
    if config.pluginmanager.has_plugin("cacheprovider"):
        folder = config.rootpath / os.path.expanduser(os.path.expandvars(config.getini("cache_dir")))
        for link in filter(Path.is_symlink, (folder, *folder.rglob("*"))):
            raise pytest.UsageError(f"cache_dir: {link} is a symbolic link; delete it, or set -p no:cacheprovider")


class _Planner:
    """`--plan` in place of a run: without a target, a token and a report, it prints what would be sent."""

    def __init__(self, config: pytest.Config, profile: Profile, planned: Planned) -> None:
        self._profile, self._planned = profile, planned
        _silence_pytest(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print the plan, in place of a run."""
        config, plan = session.config, self._planned(session.items)
        journal, trouble, _ = journal_in_words(self._profile)
        if config.getoption("new_journal"):
            trouble = "--new-journal starts it, and what can be read of an old one still counts"
        about_the_journal = "; ".join(filter(None, (journal, trouble)))
        print_lines(plan_lines(plan, self._profile, about_the_journal, selection(config)))
        return True


def _silence_pytest(config: pytest.Config) -> None:
    """Have pytest collect the tests and print nothing of its own about it."""
    config.option.collectonly = False
    config.option.verbose = -2


def explains(config: pytest.Config) -> bool:
    """True if the command line asks for --explain or --list."""
    return not {"--explain", "--list"}.isdisjoint(options_given(config, PRINTING))


class _Explainer:
    """`--explain` and `--list` in place of a run: without a target, a token and a report, it prints what is required,
    and what the last run saw. UsageError, in one line, for an id that is not known."""

    def __init__(self, config: pytest.Config, profile: Profile, plan_of: PlanOf) -> None:
        if len(asked := options_given(config, PRINTING)) > 1:
            raise pytest.UsageError(f"{' and '.join(asked)} each print something; name one of them")
        self._profile, self._plan_of = profile, plan_of
        self._named = requirements() if config.getoption("list") else group_of(config.getoption("explain"), "--explain")
        _silence_pytest(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print what was asked for, in place of a run."""
        print_lines(self._lines(session))
        return True

    def _lines(self, session: pytest.Session) -> Iterator[str]:
        config, chosen = session.config, [one for one in requirements().values() if one.id in self._named]
        if selection(config):
            selected = set(map(requirement_of, session.items))
            chosen = [one for one in chosen if one in selected]
        run = self._last_run(config, [requirement.id for requirement in chosen])
        if len(chosen) == 1:
            return explanation(chosen[0], self._sent_for(chosen[0], session), run)
        return listing(chosen, run)

    def _sent_for(self, requirement: Requirement, session: pytest.Session) -> list[str]:
        """What a run sends to the embedded sandbox for a requirement, by operation and purpose."""
        tests = [item for item in session.items if requirement_of(item) == requirement]
        not_generated = [item for item in tests if not item.get_closest_marker("property")]
        plan = self._plan_of(session.config, load("sandbox"), (), not_generated)
        exchanges = [exchange for exchange in plan.exchanges if not isinstance(exchange.purpose, Preflight)]
        lines = list(purposes_in_words(exchanges))
        return lines if len(not_generated) == len(tests) else [*lines, "generated requests"]

    def _last_run(self, config: pytest.Config, ids: Collection[str]) -> LastRun:
        clean = Display(listed_secrets(self._profile)).line
        if named := config.getoption("report_dir"):
            return last_run(Path(named), clean)
        return last_run_about(ids, runs_folder(self._profile.name), clean)
