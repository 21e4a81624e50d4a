"""The reporter: verdict and report of a run, its comparison with an earlier run and with the record of behaviour.

The record of behaviour (`<name>.observed.yaml` beside the profile) is what earlier runs observed and somebody accepted.

The hooks of `ConformanceRun` in the conftest.py of the root call it. `HtmlPage`, at the end, puts the page of the suite
before the table of tests that pytest-html writes.

Self-tests: promises/test_exit_status.py.
"""

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
from reports.observed.behaviour import Behaviour, behaviour_of_data, drifts
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
from reports.result.run_verdict import RunResult, result_of_run
from reports.result.verdicts import TESTED
from reports.sentences.language import language
from reports.sentences.wording import first_few
from reports.showing.show import printable
from spec.message import say, say_many
from tests.harness.pen import OurLine
from tests.harness.process import reason_of_lost_output
from tests.harness.selection import keep_failed

Clean = Callable[[str], str]
"""Hides known values in a text about another run, a record or a path."""


class Reporter:
    """Writes the report of a run, and prints its summary. Without a `folder` no files are written.

    The command line may name a run to compare with, in the place of the run before. With --accept the behaviour of the
    service is written to the record beside the profile.

    The runner of GitHub takes each line that begins with `::` for a command. The body of a service may have such a
    line, so the runner is told to take no commands while tests run.
    """

    def __init__(self, config: pytest.Config, run: Run, folder: Path | None, clean: Clean) -> None:
        self.run = run
        self.folder = folder
        self.page = HtmlPage(self)
        self._clean = clean
        self._accepts = config.getoption("accept")
        self._named_run = config.getoption("compare_with")  # it was read when the command line was
        self._has_folder_of_its_own = bool(config.getoption("report_dir"))
        self._run_before = run_before(folder) if self._has_folder_of_its_own else None
        self._document: RunDocument | None = None
        self._reason_of_missing_part = ""
        # `begin` has the runner of GitHub stop to take commands, and this word has it take them again. It is random, so
        # that no answer of a service contains it.
        self._github_word = secrets.token_hex(16) if os.environ.get("GITHUB_ACTIONS") == "true" else ""

    def begin(self, config: pytest.Config) -> None:
        """Remove the files of an earlier run from the folder, and tell the runner of GitHub to take no commands."""
        if self.folder:
            remove_outputs(self.folder)
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if self._github_word and terminal is not None:
            terminal.write_line(OurLine(f"::stop-commands::{self._github_word}"))

    def conclude(self, session: pytest.Session, exitstatus: int) -> None:
        """End the run, and make its document, from which all outputs are made.

        From here on the verdict is final. Files are written later, so that no file has another verdict. `exitstatus` is
        that of pytest.
        """
        run = self.run
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            run.interrupted = True
        if exitstatus == pytest.ExitCode.INTERNAL_ERROR and not run.errors:
            run.errors.append("pytest ended with an internal error: its output says where")
        stopped = session.shouldfail or session.shouldstop
        if stopped:
            run.stopped = say("pytest stopped before its test: {why}", why=str(stopped))
        self._reason_of_missing_part = reason_of_lost_output()  # a line that was not printed is a missing part, too
        if self._accepts:
            trouble_with_record = accept_behaviour(run, self._clean)
            if trouble_with_record:
                self.note_missing_part(trouble_with_record)
        else:
            run.drift = drifts(_accepted_behaviour(run, self._clean), result_of_run(run).behaviour)
        run.close()
        document = document_of(run)
        _keep_failed_for_next_run(session.config, document)
        self._keep_document(document)

    def write_other_files(self) -> None:
        """Write the files of the report other than the page, and the summary of a job of GitHub."""
        self._rewrite_if_any_failed(self._write_files())
        self._rewrite_if_any_failed(self._write_summary_of_job())

    def remove_report(self) -> None:
        """Remove the files of the report after wrong use, because there was no run. pytest says what is wrong."""
        if self.folder:
            remove_outputs(self.folder)
            with suppress(OSError):  # the folder has other files of the user
                self.folder.rmdir()

    def print_summary(self, session: pytest.Session) -> None:
        """Print the summary, and end the process with the status of its last line."""
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.section("conformance")
            for line in self._last_lines():
                terminal.write_line(OurLine(line))
        reason_of_loss = reason_of_lost_output()
        if reason_of_loss:
            if not self._reason_of_missing_part:
                self._rewrite_because(reason_of_loss)
            print(f"ERROR: {reason_of_loss}", file=sys.stderr)
        session.exitstatus = self.document.exit_status

    def _last_lines(self) -> Iterator[str]:
        """The lines of the summary. The commands for the runner of GitHub stand before the last one, the verdict."""
        *lines, verdict = summary(self.document, self.run, self._clean(self._report_in_words()))
        yield from lines
        if self._github_word:
            yield f"::{self._github_word}::"
            yield from workflow_commands(self.document)
        yield verdict

    def _report_in_words(self) -> str:
        """The reason why a part of the report is missing, else the path of its page; empty if there is no report.

        Without pytest-html there is no page, and the path is that of conformance.json.
        """
        if self._reason_of_missing_part or not self.folder:
            return self._reason_of_missing_part
        for path in (self.folder / PAGE, self.folder / FILE):
            if path.exists():
                return str(path)
        return ""

    @property
    def document(self) -> RunDocument:
        """The document of the run. The run must be over."""
        assert self._document is not None, "the run is not over"
        return self._document

    def note_missing_part(self, why: str) -> None:
        """Note the reason why a part of the report cannot be written. The first reason is kept, later ones are not."""
        if not self._reason_of_missing_part:
            self._reason_of_missing_part = why

    def _keep_document(self, document: RunDocument) -> None:
        """Keep the document, with its comparison with another run.

        If a part of the report is missing, the document says so, and its exit status is not 0.
        """
        if self._reason_of_missing_part:
            document = without_a_part_of_the_report(document)
        self._run_before = self._run_before or self._newest_comparable(document)
        comparison = comparison_of(document, named=self._named_run, before=self._run_before, clean=self._clean)
        self._document = document.model_copy(update={"comparison": comparison})

    def _newest_comparable(self, document: RunDocument) -> EarlierRun | None:
        """The newest earlier run of the same environment and selection, in the folder with the runs of the environment.

        None if the user gave this run a folder of its own.
        """
        if self.folder is None or self._has_folder_of_its_own:
            return None
        runs = (run for folder, run in runs_of(runs_folder(self.run.profile.name)) if folder != self.folder)
        return newest_comparable(runs, document)

    def _write_files(self) -> dict[str, str]:
        """Write every file but the page. Returns the reasons why files could not be written, by their names."""
        if self._reason_of_missing_part:  # perhaps the page could not be written, which the document does not say yet
            self._keep_document(self.document)
        if self.folder is None:
            return {}
        reasons = write_outputs(self.folder, self.document)
        try:
            if self.folder.parent.name == self.run.profile.name:
                point_latest(self.folder)
            write_sums(self.folder)
        except OSError as error:
            reasons[SUMS] = str(error.strerror)
        return reasons

    def _write_summary_of_job(self) -> dict[str, str]:
        """Append to the summary of a job of GitHub, if there is one. Returns the reason if that fails, like
        `_write_files`."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        try:
            if self.folder and path:
                append_to_summary(path, step_summary(self.document))
        except OSError as error:
            return {"the summary of the job": str(error.strerror)}
        return {}

    def _rewrite_if_any_failed(self, reasons: dict[str, str]) -> None:
        """Write the files once more if one could not be written, because the others must say that the run is not
        green.

        `reasons` has the reason for each file that could not be written, by its name. If a part of the report was
        missing before, the files say so already.
        """
        if not reasons or self._reason_of_missing_part:
            return
        first_reason, *_ = reasons.values()
        self._rewrite_because(f"{first_few([*reasons])} cannot be written to {self.folder}: {first_reason}")

    def _rewrite_because(self, why: str) -> None:
        """Note why a part of the report is missing, and write the files again, so that they say so."""
        self.note_missing_part(why)
        self._write_files()


def _keep_failed_for_next_run(config: pytest.Config, document: RunDocument) -> None:
    """Write to the cache of pytest which requirements failed. --last-failed of a later run selects them."""
    tested = [requirement.id for requirement in document.requirements if requirement.verdict in TESTED]
    failing = [requirement.id for requirement in document.requirements if requirement.fails]
    keep_failed(config, tested, failing)


def _accepted_behaviour(run: Run, clean: Clean) -> Behaviour:
    """The accepted behaviour that the run is compared with, from `<name>.observed.yaml`; empty if there is no file."""
    return behaviour_of_data(run.record.observations, clean) if run.record else {}


def accept_behaviour(run: Run, clean: Clean) -> str:
    """Write the observed behaviour of a run to the record beside the profile, for --accept.

    Returns the reason if the file could not be written, else an empty text. `run.accepted` gets a line that says what
    was written, or why nothing was. Nothing is written after a run that failed to observe the service, such as an
    interrupted one.
    """
    result = result_of_run(run)
    name = clean(shown(run.profile.record))
    reason_against = _reason_not_to_accept(run, result)
    if reason_against:
        run.accepted = f"not accepted: {reason_against}; {name} is not written"
        return ""
    record = record_of(run.profile.name, accepting(_accepted_behaviour(run, clean), result.behaviour))
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


def _reason_not_to_accept(run: Run, result: RunResult) -> str:
    """Reason why the observed behaviour of a run must not be accepted; empty if there is none."""
    if run.errors:
        return "the suite failed"
    if run.interrupted:
        return "the run was interrupted"
    if run.unreachable:
        return "the target could not be reached"
    missing_basis = run.grants.missing_basis(result.operations)  # without a valid token everything is refused
    if missing_basis:
        return str(missing_basis)
    return "" if result.behaviour else "nothing was observed"


# -- report.html ------------------------------------------------------------------------------------------------------


class HtmlPage:
    """Makes the page of pytest-html the page of the suite, in a run with pytest-html."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._page: Any = None

    def begin(self, page: Any) -> None:
        """Keep the page of pytest-html, because its title needs the verdict, and remove the variables of CI from it."""
        self._page = page
        page.set_data("environment", {})

    def fill_row(self, report: Any, cells: list[str]) -> None:
        """Let the keyboard open a row, too, and escape the test id, which pytest-html does not."""
        cells[0] = cells[0].replace("<td ", '<td tabindex="0" ', 1)
        cells[1] = f'<td class="col-testId">{escape(printable(report.nodeid))}</td>'

    def show_reason_of_skip(self, report: Any, data: list[str]) -> None:
        """Show the reason of a skip in the row, without a path of this machine."""
        if isinstance(report.longrepr, tuple):
            why = getattr(report, "why", "") or str(report.longrepr[-1]).partition(": ")[2]
            data[:] = [escape(language(self._reporter.run.profile.language).text(why))]

    def add_page_of_suite(self, prefix: list[str], config: pytest.Config) -> None:
        """Put the page of the suite before the table of the tests.

        pytest-html has no option for another template, and its own has neither a language nor a width. So its private
        template is replaced. An empty file is written first, so that pytest-html follows no link and only the owner
        may read the page.
        """
        run = self._reporter.run
        document = self._reporter.document
        self._page.title = language(run.profile.language).text(page_title(document))
        app = (files("pytest_html") / "resources" / "app.js").read_text("utf-8")
        script = f"const drawTests = () => {{ {app}\n}};"  # a function, so that the page decides when it runs
        for plugin in _pages(config):
            plugin._template = frame(script, run.profile.language)
        prefix.append(summary_html(run, document))
        write(_path_of_page(config), "")

    @contextmanager
    def guard_writing(self, config: pytest.Config) -> Iterator[None]:
        """Guard the time in which pytest-html writes the page.

        If that fails, the run keeps its verdict, a part of the report is missing, and no half page is left.
        """
        if not _pages(config):
            yield
            return
        path = _path_of_page(config)
        try:
            yield
        except Exception as error:  # a fault of the suite in the page is no reason to lose the verdict of a run
            self._reporter.note_missing_part(f"{path} cannot be written: {reason(error)}")
            with suppress(OSError):  # in a folder that cannot be written there is no half page
                path.unlink()
        finally:
            for plugin in _pages(config):  # else it prints the path of the page, which the summary does
                config.pluginmanager.unregister(plugin)


def _pages(config: pytest.Config) -> list[BaseReport]:
    """The plugins of pytest-html that write a page; none without pytest-html."""
    return [plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, BaseReport)]


def _path_of_page(config: pytest.Config) -> Path:
    """The path of the file that pytest-html writes."""
    return Path(config.option.htmlpath)
