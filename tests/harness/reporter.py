"""Verdict and reports of a run, what it is compared with, and the record beside the profile, which --accept writes; at
the end how our page gets before the table of pytest-html."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pytest_html.basereport import BaseReport

from environments.profiles.model import shown
from reports.observed.behaviour import behaviour_of, drifts
from reports.observed.earlier_runs import (
    accepting,
    comparison_of,
    newest_comparable,
    record_of,
    run_before,
    runs_of,
    write_record,
)
from reports.outputs.conformance_json import FILE, document_of, without_a_part_of_the_report
from reports.outputs.github import append_to_summary, step_summary, workflow_commands
from reports.outputs.page.rendering import page_title, summary_html
from reports.outputs.page.templates import frame
from reports.outputs.terminal import summary
from reports.outputs.writing import (
    PAGE,
    SUMS,
    point_latest,
    reason,
    remove_outputs,
    runs_folder,
    write,
    write_outputs,
    write_sums,
)
from reports.result.document import EarlierRun, RunDocument
from reports.result.run import Run
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import TESTED
from reports.sentences.language import language
from reports.sentences.wording import first_few
from reports.showing.show import printable
from spec.message import say, say_many
from tests.harness.pen import OurLine
from tests.harness.process import lost_output
from tests.harness.selection import keep_failed

Clean = Callable[[str], str]
"""Applied to what is shown of another run, of a record, and of paths."""


class Reporter:
    """The files go to `folder`, None for none. The command line may name the run to compare with, which was read, in
    place of the one before, and have what was observed written to the record.

    The runner of GitHub takes each line that begins with `::` for a command, and a body that a service sent may stand
    in such a line: while tests run, it is told to take none.
    """

    def __init__(self, config: pytest.Config, run: Run, folder: Path | None, clean: Clean) -> None:
        self.run, self.folder, self._clean, self._accepts = run, folder, clean, config.getoption("accept")
        self.page = HtmlPage(self)
        self._named = config.getoption("compare_with")
        self._is_in_a_folder_of_its_own = bool(config.getoption("report_dir"))
        self._before = run_before(folder) if self._is_in_a_folder_of_its_own else None
        self._document: RunDocument | None = None
        self._unwritten = ""
        self._github = secrets.token_hex(16) if os.environ.get("GITHUB_ACTIONS") == "true" else ""

    def begin(self, config: pytest.Config) -> None:
        """Remove the files of an earlier run from the folder, and have the runner of GitHub take no commands."""
        if self.folder:
            remove_outputs(self.folder)
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if self._github and terminal is not None:
            terminal.write_line(OurLine(f"::stop-commands::{self._github}"))

    def conclude(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the record, and make the document of the run: the verdict stands before any file is written."""
        run = self.run
        run.interrupted |= exitstatus == pytest.ExitCode.INTERRUPTED
        if exitstatus == pytest.ExitCode.INTERNAL_ERROR and not run.errors:
            run.errors.append("pytest ended with an internal error: its output says where")
        if stopped := session.shouldfail or session.shouldstop:
            run.stopped = say("pytest stopped before its test: {why}", why=str(stopped))
        self._unwritten = lost_output()
        if trouble := consult_record(run, self._clean, accepts=self._accepts):
            self.miss(trouble)
        run.close()
        document = document_of(run)
        _keep_failed(session.config, document)
        self._conclude(document)

    def write_the_rest(self) -> None:
        """Write what is not the page: the other files of the report, and the summary of a job."""
        self._rewrite_with(self._write_files())
        self._rewrite_with(self._write_summary_of_job())

    def leave_nothing(self) -> None:
        """Remove what was written. pytest says in one line what is wrong: there was no run."""
        if self.folder:
            remove_outputs(self.folder)
            with suppress(OSError):  # a folder of the user, with files of others
                self.folder.rmdir()

    def say_the_end(self, session: pytest.Session) -> None:
        """Print the summary, and end the process with the status of its last line."""
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.section("conformance")
            for line in self._last_lines():
                terminal.write_line(OurLine(line))
        if lost := lost_output():
            if not self._unwritten:
                self._rewrite_because(lost)
            print(f"ERROR: {lost}", file=sys.stderr)
        session.exitstatus = self.document.exit_status

    def _last_lines(self) -> Iterator[str]:
        *lines, verdict = summary(self.document, self.run, self._clean(self._report()))
        commands = (f"::{self._github}::", *workflow_commands(self.document)) if self._github else ()
        yield from (*lines, *commands, verdict)

    def _report(self) -> str:
        """What the summary says of the report: why a part of it is missing, or the path of its page; without
        pytest-html there is none, and conformance.json stands in its place."""
        if self._unwritten or not self.folder:
            return self._unwritten
        return next((str(path) for path in (self.folder / PAGE, self.folder / FILE) if path.exists()), "")

    @property
    def document(self) -> RunDocument:
        """The document of the run, which is over."""
        assert self._document is not None, "the run is not over"
        return self._document

    def miss(self, why: str) -> None:
        """Note that a part of the report cannot be written. The first reason stands."""
        self._unwritten = self._unwritten or why

    def _conclude(self, document: RunDocument) -> None:
        """Keep the document, compared with another run. If a part of the report is missing, the run is not green."""
        if self._unwritten:
            document = without_a_part_of_the_report(document)
        self._before = self._before or self._newest_comparable(document)
        comparison = comparison_of(document, named=self._named, before=self._before, clean=self._clean)
        self._document = document.model_copy(update={"comparison": comparison})

    def _newest_comparable(self, document: RunDocument) -> EarlierRun | None:
        """The run of the same environment and selection before this one, in the folder that has the runs of the
        environment. A run that the user gave a folder of its own has none there."""
        if self.folder is None or self._is_in_a_folder_of_its_own:
            return None
        runs = (run for folder, run in runs_of(runs_folder(self.run.profile.name)) if folder != self.folder)
        return newest_comparable(runs, document)

    def _write_files(self) -> dict[str, str]:
        """Write every file but the page. Gives why one could not be written, by its name."""
        if self._unwritten:  # learned while the page was written, perhaps
            self._conclude(self.document)
        if self.folder is None:
            return {}
        failed = write_outputs(self.folder, self.document)
        try:
            if self.folder.parent.name == self.run.profile.name:
                point_latest(self.folder)
            write_sums(self.folder)
        except OSError as error:
            failed[SUMS] = str(error.strerror)
        return failed

    def _write_summary_of_job(self) -> dict[str, str]:
        """Append to the summary of a job of GitHub, where there is one."""
        try:
            if self.folder and (path := os.environ.get("GITHUB_STEP_SUMMARY")):
                append_to_summary(path, step_summary(self.document))
        except OSError as error:
            return {"the summary of the job": str(error.strerror)}
        return {}

    def _rewrite_with(self, failed: dict[str, str]) -> None:
        """Write the files once more where one could not be written: the run is not green, and the others say so."""
        if failed and not self._unwritten:
            self._rewrite_because(
                f"{first_few([*failed])} cannot be written to {self.folder}: {next(iter(failed.values()))}"
            )

    def _rewrite_because(self, why: str) -> None:
        self.miss(why)
        self._write_files()


def _keep_failed(config: pytest.Config, document: RunDocument) -> None:
    tested = [requirement.id for requirement in document.requirements if requirement.verdict in TESTED]
    failing = [requirement.id for requirement in document.requirements if requirement.fails]
    keep_failed(config, tested, failing)


def consult_record(run: Run, clean: Clean, *, accepts: bool) -> str:
    """Compare the run with the record, or write what it observed. The results of the run stand. Gives why the record
    could not be written; empty if nothing went wrong."""
    result = result_of_run(run)
    accepted_before = behaviour_of(run.record.observations, clean) if run.record else {}
    name = clean(shown(run.profile.record))
    reasons = {  # why nothing is accepted; without a token everything looks refused
        "the suite failed": run.errors,
        "the run was interrupted": run.interrupted,
        "the target could not be reached": run.unreachable,
        (ungranted := run.grants.lacking(result.operations)): ungranted,
        "nothing was observed": not result.behaviour,
    }
    why = next((str(reason) for reason, applies in reasons.items() if applies), "")
    if not accepts:
        run.drift = drifts(accepted_before, result.behaviour)
        return ""
    if why:
        run.accepted = f"not accepted: {why}; {name} is not written"
        return ""
    record = record_of(run.profile.name, accepting(accepted_before, result.behaviour))
    try:
        write_record(run.profile.record, record)
    except OSError as error:
        trouble = f"{name} cannot be written: {error.strerror}"
        run.accepted = f"not accepted: {trouble}"
        return trouble
    requirements = say_many("{n} requirement", "{n} requirements", n=len(record.observations))
    run.record = record
    run.accepted = f"accepted: {name} ({requirements})"
    return ""


# -- report.html ------------------------------------------------------------------------------------------------------


class HtmlPage:
    """Makes the page of pytest-html ours, in a run in which that writes one."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._page: Any = None

    def begin(self, page: Any) -> None:
        """Keep the page, whose title needs the verdict; empty its environment, which has variables of the CI."""
        self._page = page
        page.set_data("environment", {})

    def fill_row(self, report: Any, cells: list[str]) -> None:
        """Make a row one that a keyboard opens, too. pytest-html does not escape test ids."""
        cells[0] = cells[0].replace("<td ", '<td tabindex="0" ', 1)
        cells[1] = f'<td class="col-testId">{escape(printable(report.nodeid))}</td>'

    def give_reason(self, report: Any, data: list[str]) -> None:
        """Give the reason of a skip, without its place on this machine."""
        if isinstance(report.longrepr, tuple):
            why = getattr(report, "why", "") or str(report.longrepr[-1]).partition(": ")[2]
            data[:] = [escape(language(self._reporter.run.profile.language).text(why))]

    def finish(self, prefix: list[str], config: pytest.Config) -> None:
        """Put our page before the table of the tests, which are over. pytest-html has no option for its page, whose own
        has no language, no width and its table in the middle; and it writes into a new file: one that only its owner
        reads, and no link."""
        run, document = self._reporter.run, self._reporter.document
        self._page.title = language(run.profile.language).text(page_title(document))
        script = f"const drawTests = () => {{ {(files('pytest_html') / 'resources' / 'app.js').read_text('utf-8')}\n}};"
        for plugin in _pages(config):
            plugin._template = frame(script, run.profile.language)
        prefix.append(summary_html(run, document))
        write(_path_of_page(config), "")

    @contextmanager
    def written(self, config: pytest.Config) -> Iterator[None]:
        """While pytest-html writes the page: one that cannot be made or written does not take the verdict with it, and
        half of one is not left."""
        if not _pages(config):
            yield
            return
        path = _path_of_page(config)
        try:
            yield
        except Exception as error:  # a fault of the suite in the page is no reason to lose the verdict of a run
            self._reporter.miss(f"{path} cannot be written: {reason(error)}")
            with suppress(OSError):  # a folder that cannot be written holds no half of a page
                path.unlink()
        finally:
            for plugin in _pages(config):  # the summary tells where the page is
                config.pluginmanager.unregister(plugin)


def _pages(config: pytest.Config) -> list[BaseReport]:
    return [plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, BaseReport)]


def _path_of_page(config: pytest.Config) -> Path:
    return Path(config.option.htmlpath)
