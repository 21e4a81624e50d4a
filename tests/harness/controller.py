"""In the process that the user started: opens and checks the target, starts the workers, and ends the run."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from environments.door.liveness import UnreachableError
from environments.door.opening import BUDGET, Share
from environments.door.preflight import Preflight, check
from environments.profiles.profile import Profile
from environments.profiles.target import open_target
from reports.formats.outputs import PAGE
from reports.handover import Note, NoteKind, packed, unpacked
from reports.provenance import ci_job
from reports.run import Run
from reports.writing import make_folder, run_folder
from tests.harness.beside_profile import BesideProfile, record_beside
from tests.harness.compare_with import comparison_of, earlier_runs, named_run
from tests.harness.door_notes import unknown_to_all
from tests.harness.interruption import Interruption, hear_signals, stop_parallel_run
from tests.harness.options import examples_of
from tests.harness.reporter import Reporter
from tests.harness.selection import selection
from tests.harness.session import Session, open_session
from tests.harness.worker import GIVEN, HANDOVER, LEARNED, given_to_workers


def open_controller(config: pytest.Config, profile: Profile, resend: Container[str]) -> Run:
    """Open the target, the folder of the report and the session of this process. Gives the model of the run."""
    named, accepts = named_run(config), config.getoption("accept")
    record = record_beside(profile, accepts=accepts)
    target = open_target(profile)
    config.add_cleanup(target.stop)
    interruption = hear_signals(config)
    run = _run_of(config, profile, target.base_url)
    folder = _report_folder(config, run)
    reporter = Reporter(run, folder)
    config.pluginmanager.register(reporter, "conformance-reporter")
    share = _open_share(config)
    _configure_workers(config, share)
    interruption.stop_workers = lambda: _stop_workers(config, share)
    session = open_session(config, profile, target, share, interruption, seed=run.seed, resend=resend)
    run.ci_job = ci_job(os.environ, session.collector.redactor.text)
    clean = session.collector.redactor.line
    reporter.consult_record = BesideProfile(record, clean, accepts=accepts)
    reporter.compare = partial(comparison_of, named=named, earlier=earlier_runs(config, folder), clean=clean)
    config.pluginmanager.register(Controller(session, reporter, interruption), "conformance-controller")
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
    except OSError as error:
        raise pytest.UsageError(f"--report-dir: {folder} cannot be written: {error.strerror}") from None
    if hasattr(config.option, "htmlpath"):
        config.option.htmlpath = str(folder / PAGE)
        config.option.self_contained_html = True
    return folder


def _open_share(config: pytest.Config) -> Share:
    """A temporary folder for the counters that the processes of the run share, and for files of pytest."""
    share = Share(secrets.token_hex(8), Path(tempfile.mkdtemp(prefix="pix-conformance-")))
    config.add_cleanup(lambda: shutil.rmtree(share.folder, ignore_errors=True))
    return share


def _configure_workers(config: pytest.Config, share: Share) -> None:
    if getattr(config.option, "dist", "no") == "no":
        return
    config.option.basetemp = config.option.basetemp or str(share.folder / "pytest")
    if config.option.maxworkerrestart is None:
        config.option.maxworkerrestart = "0"  # what a worker that crashed sent last is unknown
    if config.option.dist == "load":
        config.option.dist = "loadgroup"


def _stop_workers(config: pytest.Config, share: Share) -> None:
    scheduler = config.pluginmanager.get_plugin("dsession")
    if scheduler is not None:
        stop_parallel_run(scheduler, share.folder)


class Controller:
    """Checks the target once, before the first request of a test; takes over what every process sent."""

    def __init__(self, session: Session, reporter: Reporter, interruption: Interruption) -> None:
        self._session, self._reporter, self._interruption = session, reporter, interruption
        self._run = reporter.run

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._check_target()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Check the target before the first worker starts: with workers, this process collects no tests."""
        budget = self._session.door.budget
        if not budget.is_shared:
            budget.share(self._session.share.folder / BUDGET)
            self._session.door.in_flight.share(self._session.share.folder)
            self._check_target()
        node.workerinput[GIVEN] = packed(given_to_workers(node.config, self._session))
        channel = node.workerinput[LEARNED] = node.gateway.newchannel()
        channel.setcallback(lambda data: self._session.target.secrets.hear(unpacked(data)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if data := getattr(node, "workeroutput", {}).pop(HANDOVER, None):
            self._run.add(unpacked(data))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report: pytest.TestReport) -> None:
        """What a worker was running when the run was stopped did not fail: xdist takes the worker for crashed."""
        if self._interruption.was_asked:
            report.outcome = "skipped"
            report.longrepr = (report.nodeid, 0, "Skipped: the run was stopped")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Take over what this process sent, before the reports are written."""
        run = self._run
        run.add(self._session.end(exitstatus))
        run.interrupted |= self._interruption.was_asked
        run.said += unknown_to_all(self._session.door.guard.unanswered(), run.said)
        self._reporter.redact_again(session.config, self._session.collector.redactor.again)
        self._reporter.finish(session, exitstatus)

    def _check_target(self) -> None:
        run, redact = self._run, self._session.collector.redactor.text
        found = self._run_preflight()
        run.said += [Note(NoteKind.SET_UP, redact(note)) for note in found.notes]
        if found.unreachable:
            run.unreachable = redact(found.unreachable)
            why = f"{run.base_url} cannot be reached: {found.unreachable}; this is no verdict on the service"
            pytest.exit(redact(why), returncode=7)

    def _run_preflight(self) -> Preflight:
        try:
            with self._interruption.step():
                return check(self._session.client, self._session.profile)
        except UnreachableError as error:
            return Preflight(str(error))
