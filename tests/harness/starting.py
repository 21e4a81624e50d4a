"""Opens what a run needs: the target, its door, and the folder of the report; or what judges recorded traffic."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Container, Sequence
from pathlib import Path

import pytest

from environments.credentials import forget_variables, open_target
from environments.door.opening import open_client, open_door
from environments.profiles.model import Profile
from environments.secret_values import listed_secrets
from reports.observed.earlier_runs import read_record
from reports.outputs.writing import PAGE, UnsafeFolderError, make_folder, run_folder
from reports.recorded.reading import files_of, tally_of_all
from reports.recorded.recorded_run import recorded_profile, take_tally
from reports.result.provenance import ci_job
from reports.result.run import Recording, Run
from reports.showing.show import Display
from tests.harness.collector import Collector
from tests.harness.options import examples_of
from tests.harness.pen import Pen
from tests.harness.reporter import Reporter
from tests.harness.selection import selection
from tests.harness.session import SESSION, Interruption, Session
from tests.harness.watching import Watcher

CarryOut = Callable[[Session, Interruption], object]
"""Makes the plugin that sends: tests/harness does not import tests/traffic."""


def open_run(config: pytest.Config, profile: Profile, resend: Container[str], carry_out: CarryOut) -> Run:
    """Open the target and the folder of the report, and register what carries the run out. Gives its model."""
    target = open_target(profile)
    config.add_cleanup(target.stop)
    given, chosen = config.getoption("seed"), selection(config)
    run = Run(
        profile,
        target.base_url,
        chosen,
        narrowed=chosen is not None,
        seed=secrets.randbelow(10**9) if given is None else given,
        examples=examples_of(config, profile),
    )
    run.record = read_record(profile.record)
    door = open_door(profile, target, resend=resend)
    config.add_cleanup(door.close)
    interruption = Interruption(door.ending.stop)
    config.add_cleanup(interruption.restore)
    collector = Collector(run, target.secrets, door, shows=not config.getoption("no_report"))
    session = config.stash[SESSION] = Session(profile, run, door, open_client(door, profile), collector)
    carrying_out = {"watcher": Watcher(profile, collector), "controller": carry_out(session, interruption)}
    _register(config, run, collector.display, **carrying_out)
    forget_variables(profile)
    return run


def open_recorded(config: pytest.Config, profile: Profile) -> None:
    """Register what judges recorded traffic in place of a run: no target is opened, and no secret is fetched."""
    files, profile, chosen = files_of(config.getoption("recorded")), recorded_profile(profile), selection(config)
    run = Run(profile, profile.base_url, chosen, Recording(), narrowed=chosen is not None)
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

    def __init__(self, run: Run, files: Sequence[str]) -> None:
        self._run, self._files = run, files

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        tally = tally_of_all(self._files, self._run.profile, session.config.getoption("scheduler"))
        take_tally(self._run, tally)
        return True
