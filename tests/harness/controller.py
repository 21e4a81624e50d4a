"""Opens and checks the target, has everything sent, with a line that says how far it is, and ends the run."""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TextIO

import pytest

from environments.credentials import forget_variables, open_target
from environments.door.opening import open_client, open_door
from environments.profiles.model import Profile
from environments.secret_values import listed_secrets
from reports.earlier_runs import read_record
from reports.provenance import ci_job
from reports.recorded.reading import files_of, tally_of_all
from reports.recorded.recorded_run import RecordedRun, recorded_profile
from reports.run import Run
from reports.show import Display
from reports.writing import PAGE, UnsafeFolderError, make_folder, run_folder
from tests.harness.collector import Collector
from tests.harness.judging import Watcher
from tests.harness.options import examples_of
from tests.harness.pen import OurLine, Pen
from tests.harness.reporter import Reporter
from tests.harness.selection import requirement_of, selection
from tests.harness.session import SENT, SESSION, Interruption, Session

EVERY_S, EVERY_S_IN_PLACE = 15.0, 0.25
_NEW_LINE = "\r\x1b[K"
"""Carriage return, and a line without text (ECMA-48, EL)."""
SendAll = Callable[[pytest.Config, Session, Sequence[pytest.Item]], object]
"""Sends all that the tests judge: tests/harness does not import tests/traffic."""


def open_run(config: pytest.Config, profile: Profile, resend: Container[str], send: SendAll) -> Run:
    """Open the target and the folder of the report, and register what carries the run out. Gives its model."""
    target = open_target(profile)
    config.add_cleanup(target.stop)
    given, chosen, examples = config.getoption("seed"), selection(config), examples_of(config, profile)
    seed = secrets.randbelow(10**9) if given is None else given
    run = Run(profile, target.base_url, chosen.text, narrowed=chosen.narrowed, seed=seed, examples=examples)
    run.record = read_record(profile.record)
    door = open_door(profile, target, resend=resend)
    config.add_cleanup(door.close)
    interruption = Interruption(door.ending.stop)
    config.add_cleanup(interruption.restore)
    collector = Collector(run, target.secrets, door, shows=not config.getoption("no_report"))
    session = config.stash[SESSION] = Session(profile, run, door, open_client(door, profile), collector)
    carrying_out = {"watcher": Watcher(profile, collector), "controller": Controller(session, interruption, send)}
    _register(config, run, collector.display, **carrying_out)
    forget_variables(profile)
    return run


def open_recorded(config: pytest.Config, profile: Profile) -> None:
    """Register what judges recorded traffic in place of a run: no target is opened, and no secret is fetched."""
    files, profile, chosen = files_of(config.getoption("recorded")), recorded_profile(profile), selection(config)
    run = RecordedRun(profile, profile.base_url, chosen.text, narrowed=chosen.narrowed)
    _register(config, run, Display(listed_secrets(profile)), controller=Judge(run, files))


def _register(config: pytest.Config, run: Run, display: Display, **carrying_out: object) -> None:
    pen = Pen(display, quiet=config.getoption("verbose", 0) <= 0)
    config.add_cleanup(pen.put_down)
    run.ci_job = ci_job(os.environ, display.foreign)
    reporter = Reporter(config, run, _report_folder(config, run), display.line)
    for name, plugin in {"pen": pen, "reporter": reporter, **carrying_out}.items():
        config.pluginmanager.register(plugin, f"conformance-{name}")


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


class Judge:
    """Judges recorded traffic in place of the tests."""

    def __init__(self, run: RecordedRun, files: Sequence[str]) -> None:
        self._run, self._files = run, files

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._run.selected.update(one.id for one in map(requirement_of, session.items) if one)
        self._run.take(tally_of_all(self._files, self._run.profile, session.config.getoption("scheduler")))
        return True


class Controller:
    """Checks the target once, has everything sent, and takes over what was sent."""

    def __init__(self, session: Session, interruption: Interruption, send: SendAll) -> None:
        self._session, self._interruption, self._send = session, interruption, send

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the target, where a test needs it."""
        if not session.items:
            return
        run, foreign = self._session.run, self._session.collector.display.foreign
        if unreachable := self._session.client.preflight():
            run.unreachable = foreign(unreachable)
            why = f"{run.base_url} cannot be reached: {unreachable}; this is no verdict on the service"
            pytest.exit(foreign(why), returncode=7)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Send everything before the first test judges; nothing where pytest runs no test."""
        if session.items and not session.testsfailed:
            terminal = session.config.pluginmanager.get_plugin("terminalreporter")
            is_shown = terminal is not None and terminal.verbosity >= 0
            say_line = terminal.write_line if terminal and is_shown else lambda line: None
            say_line(OurLine(f"sending to {self._session.run.base_url}: {self._progress()}"))
            with progress(sys.stdout, self._progress) if is_shown else nullcontext():
                session.config.stash[SENT] = self._send(session.config, self._session, session.items)
            say_line(OurLine(f"judging {len(self._session.door.exchanges)} answers"))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Send nothing more, and take over what was sent, before the reports are written."""
        run, ending = self._session.run, self._session.door.ending
        run.ended_by = ending.limit if ending.limit in self._session.door.unsent else ""
        run.interrupted |= self._interruption.was_asked
        ending.stop()
        self._session.collector.close()
        return (yield)

    def _progress(self) -> str:
        return f"{len(self._session.door.exchanges)} of at most {self._session.profile.limits.requests} requests"


# -- progress -------------------------------------------------------------------------------------------------------


@contextmanager
def progress(file: TextIO, line: Callable[[], str]) -> Iterator[None]:
    """Have a thread print the line while something else goes on that prints nothing; in the end nothing of it stays on
    a terminal."""
    in_place = file.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    stopped = threading.Event()

    def show() -> None:
        while not stopped.wait(EVERY_S_IN_PLACE if in_place else EVERY_S):
            _print(file, f"{_NEW_LINE}{line()}" if in_place else f"{line()}\n")

    thread = threading.Thread(target=show, name="pix-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        _print(file, _NEW_LINE * in_place)


def _print(file: TextIO, text: str) -> None:
    with suppress(OSError):  # nobody looks any more
        file.write(text)
        file.flush()
