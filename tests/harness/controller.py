"""Opens and checks the target, and ends the run."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Container, Generator, Sequence
from functools import partial
from pathlib import Path

import pytest

from environments.door.preflight import check
from environments.process import forget_variables
from environments.profiles.profile import Profile
from environments.profiles.target import open_target
from reports.formats.outputs import PAGE
from reports.handover import Note, NoteKind
from reports.provenance import ci_job
from reports.run import Run
from reports.writing import UnsafeFolderError, make_folder, run_folder
from tests.harness.beside_profile import BesideProfile, record_beside
from tests.harness.compare_with import comparison_of, named_run, run_before
from tests.harness.interruption import Interruption, hear_signals
from tests.harness.options import examples_of
from tests.harness.reporter import Reporter
from tests.harness.selection import selection
from tests.harness.session import SENT, Session, open_session

Send = Callable[[pytest.Config, Session, Sequence[pytest.Item]], object]
"""Sends all that the tests judge: tests/harness does not import tests/traffic."""


def open_controller(config: pytest.Config, profile: Profile, resend: Container[str], send: Send) -> Run:
    """Open the target, the folder of the report and the session. Gives the model of the run."""
    named, accepts = named_run(config), config.getoption("accept")
    record = record_beside(profile, accepts=accepts)
    target = open_target(profile)
    config.add_cleanup(target.stop)
    interruption = hear_signals(config)
    run = _run_of(config, profile, target.base_url)
    folder = _report_folder(config, run)
    reporter = Reporter(run, folder)
    config.pluginmanager.register(reporter, "conformance-reporter")
    session = open_session(config, profile, target, interruption, seed=run.seed, resend=resend)
    forget_variables(profile)
    run.ci_job = ci_job(os.environ, session.collector.display.foreign)
    clean = reporter.clean = session.collector.display.line
    reporter.consult_record = BesideProfile(record, clean, accepts=accepts)
    reporter.compare = partial(comparison_of, named=named, before=run_before(config, folder), clean=clean)
    config.pluginmanager.register(Controller(session, reporter, interruption, send), "conformance-controller")
    return run


def _run_of(config: pytest.Config, profile: Profile, base_url: str) -> Run:
    """The model of the run, as the command line and the profile want it."""
    given = config.getoption("seed")
    seed = secrets.randbelow(10**9) if given is None else given
    chosen, examples = selection(config), examples_of(config, profile)
    return Run(profile, base_url, selection=chosen.text, narrowed=chosen.narrowed, seed=seed, examples=examples)


def _report_folder(config: pytest.Config, run: Run) -> Path | None:
    """The folder of the report, which pytest-html writes to, too; None where no files are written."""
    if config.getoption("no_report"):
        return None
    named = config.getoption("report_dir")
    folder = Path(named).absolute() if named else run_folder(run.profile.name, run.started)
    try:
        make_folder(folder)
    except UnsafeFolderError as error:
        raise pytest.UsageError(f"--report-dir: {error}") from None
    except OSError as error:
        raise pytest.UsageError(f"--report-dir: {folder} cannot be written: {error.strerror}") from None
    if hasattr(config.option, "htmlpath"):
        config.option.htmlpath = str(folder / PAGE)
        config.option.self_contained_html = True
    return folder


class Controller:
    """Checks the target once, has everything sent, and takes over what was sent."""

    def __init__(self, session: Session, reporter: Reporter, interruption: Interruption, send: Send) -> None:
        self._session, self._reporter, self._interruption, self._send = session, reporter, interruption, send
        self._run = reporter.run

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._check_target()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Send everything before the first test judges; nothing where pytest runs no test."""
        if session.items and not session.testsfailed:
            session.config.stash[SENT] = self._send(session.config, self._session, session.items)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Take over what was sent, before the reports are written."""
        run = self._run
        run.add(self._session.end())
        run.interrupted |= self._interruption.was_asked
        self._reporter.finish(session, exitstatus)

    def _check_target(self) -> None:
        run, foreign = self._run, self._session.collector.display.foreign
        found = check(self._session.client, self._session.profile)
        run.said += [Note(NoteKind.SET_UP, note) for note in found.notes]
        if found.unreachable:
            run.unreachable = foreign(found.unreachable)
            why = f"{run.base_url} cannot be reached: {found.unreachable}; this is no verdict on the service"
            pytest.exit(foreign(why), returncode=7)
