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

from environments.profiles.model import path_in_messages
from reports.observed.behaviour import Behaviour, behaviour_of_data, drifts
from reports.observed.earlier_runs import (
    comparison_with_other_run,
    merged_behaviour,
    newest_comparable,
    record_of,
    run_in_folder,
    runs_of,
    write_record,
)
from reports.outputs.conformance_json import FILE, document_of, document_with_failed_output
from reports.outputs.github import append_to_summary, step_summary, workflow_commands
from reports.outputs.page.rendering import page_title, summary_html
from reports.outputs.page.templates import template_of_page
from reports.outputs.terminal import summary
from reports.outputs.writing import (
    PAGE,
    SUMS,
    point_latest,
    remove_outputs,
    runs_folder,
    why_not_written,
    write_outputs,
    write_private_file,
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
from tests.harness.pen import LineOfSuite
from tests.harness.process import reason_of_lost_output
from tests.harness.selection import remember_failed

Clean = Callable[[str], str]
"""Hides known values in a text about another run, a record or a path."""


class Reporter:
    """Writes the report of a run, and prints its summary. If `folder` is None, no files are written.

    The run is compared with the previous run, or with one that the command line names. With --accept the behaviour of
    the service is written to the record beside the profile.

    The runner of GitHub executes each printed line that begins with `::` as a command. A body of the service may have
    such a line, so the runner is asked to ignore commands while tests run.
    """

    def __init__(self, config: pytest.Config, run: Run, folder: Path | None, clean: Clean) -> None:
        """Prepare the report of a run. Nothing is written so far, and the run has no verdict.

        `folder` is the folder of the report. `clean` hides tokens, codes and other known values in a text.
        """
        self.run = run
        self.folder = folder
        self.page = HtmlPage(self)
        self._clean = clean
        self._accepts_behaviour = config.getoption("accept")
        # The earlier run that the user named, or None. It is no path: `read_command_line` has read the file.
        self._run_to_compare_with = config.getoption("compare_with")
        self._user_named_folder = bool(config.getoption("report_dir"))
        # `begin` removes the earlier report from a folder that the user named, so it is read before. Any other folder
        # is a new one.
        self._run_before = run_in_folder(folder) if self._user_named_folder else None
        self._document: RunDocument | None = None
        self._reason_of_missing_part = ""
        # `begin` asks the runner of GitHub to ignore commands until this word is printed. The word is random, so that
        # no answer of a service contains it.
        self._github_word = secrets.token_hex(16) if os.environ.get("GITHUB_ACTIONS") == "true" else ""

    def begin(self, config: pytest.Config) -> None:
        """Remove the files of an earlier run from the folder, and ask the runner of GitHub to ignore commands.

        The runner could otherwise execute a line that a service wrote. `::stop-commands::WORD` makes the runner ignore
        commands until `::WORD::` is printed.
        """
        if self.folder:
            remove_outputs(self.folder)
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if self._github_word and terminal is not None:
            terminal.write_line(LineOfSuite(f"::stop-commands::{self._github_word}"))

    def conclude(self, session: pytest.Session, exitstatus: int) -> None:
        """Give the run its final verdict, and make the document from which every file and the summary are made.

        The files are written later, so that all of them have the same verdict. `exitstatus` is the one that pytest
        would end with. The record is the file of behaviour that a user has accepted (--accept), and drift is what has
        changed since then.
        """
        run = self.run
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            run.interrupted = True
        if exitstatus == pytest.ExitCode.INTERNAL_ERROR and not run.errors:
            run.errors.append("pytest ended with an internal error: its output says where")
        stopped = session.shouldfail or session.shouldstop
        if stopped:
            # For each requirement whose test did not run, the reason is the same: pytest stopped before this test.
            run.stopped = say("pytest stopped before its test: {why}", why=str(stopped))
        self._reason_of_missing_part = reason_of_lost_output()  # a line that was not printed is a missing part, too
        if self._accepts_behaviour:  # then this run becomes the record, so it is not compared with the record
            trouble_with_record = accept_behaviour(run, self._clean)
            if trouble_with_record:
                self.note_missing_part(trouble_with_record)
        else:
            run.drift = drifts(_accepted_behaviour(run, self._clean), result_of_run(run).behaviour)
        run.close()
        document = document_of(run)
        _keep_failed_for_next_run(session.config, document)
        self._complete_document(document)

    def write_other_files(self) -> None:
        """Write the files of the report except report.html, and the summary of a job of GitHub.

        If one cannot be written, the others are written again, so that they say that a part of the report is missing.
        """
        self._rewrite_if_any_failed(self._write_files())
        self._rewrite_if_any_failed(self._write_summary_of_job())

    def remove_report(self) -> None:
        """Remove the files of the report after a wrong command line, because there was no run to report about.

        The folder is removed as well if it is empty then.
        """
        if self.folder:
            remove_outputs(self.folder)
            with suppress(OSError):  # a folder with other files of the user cannot be removed, and need not be
                self.folder.rmdir()

    def print_summary(self, session: pytest.Session) -> None:
        """Print the summary, and set the exit status of the process, so that it fits the verdict in the last line.

        If a part of the output cannot be printed, the files are written again, so that they say so.
        """
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.section("conformance")
            for line in self._last_lines():
                terminal.write_line(LineOfSuite(line))
        reason_of_loss = reason_of_lost_output()
        if reason_of_loss:
            if not self._reason_of_missing_part:
                self._rewrite_because(reason_of_loss)
            print(f"ERROR: {reason_of_loss}", file=sys.stderr)
        session.exitstatus = self.document.exit_status

    def _last_lines(self) -> Iterator[str]:
        """The lines of the summary, of which the verdict is the last.

        On GitHub, lines before the verdict make the runner accept commands again, and show the failures in the job.
        """
        *lines, verdict = summary(self.document, self.run, self._clean(self._report_in_words()))
        yield from lines
        if self._github_word:
            yield f"::{self._github_word}::"  # from here on the runner accepts commands again
            yield from workflow_commands(self.document)
        yield verdict

    def _report_in_words(self) -> str:
        """What the summary says about the report: its path, or why a part of it is missing; empty without a report.

        The path leads to report.html. If pytest-html is not installed, there is no report.html, and the path leads to
        conformance.json.
        """
        if self._reason_of_missing_part:
            return self._reason_of_missing_part
        if self.folder is None:
            return ""
        for path in (self.folder / PAGE, self.folder / FILE):
            if path.exists():
                return str(path)
        return ""

    @property
    def document(self) -> RunDocument:
        """All that is known about the run, in the structure of conformance.json. The run must be over."""
        assert self._document is not None, "the run is not over"
        return self._document

    def note_missing_part(self, why: str) -> None:
        """Remember why a part of the report cannot be written. Only the first reason is remembered.

        A run without its whole report must not be green, see `document_with_failed_output`.
        """
        if not self._reason_of_missing_part:
            self._reason_of_missing_part = why

    def _complete_document(self, document: RunDocument) -> None:
        """Set the document of this run, from which all outputs are made: `document` with its comparison to another run.

        The other run is the one that --compare-with names, or else the newest one of the same scope: environment,
        address, selection and permissions. Known secrets are hidden in its texts, because anybody may have written its
        file.

        If a part of the report is missing, the document says so, and its exit status is not 0.
        """
        if self._reason_of_missing_part:
            document = document_with_failed_output(document)
        self._run_before = self._run_before or self._newest_comparable(document)
        comparison = comparison_with_other_run(
            document, named=self._run_to_compare_with, before=self._run_before, clean=self._clean
        )
        self._document = document.model_copy(update={"comparison": comparison})

    def _newest_comparable(self, document: RunDocument) -> EarlierRun | None:
        """The newest earlier run of the same scope, with which this run can be compared.

        The scope is environment, address, selection and permissions. The run is looked for in the folder with
        the runs of the environment; None if there is none. None also if no files are written, or if the user named a
        folder for this run: that folder has no other runs.
        """
        if self.folder is None or self._user_named_folder:
            return None
        folder_of_environment = runs_folder(self.run.profile.name)
        # A generator, so that no more files are read than needed. The folder of this run is left out.
        other_runs = (run for folder, run in runs_of(folder_of_environment) if folder != self.folder)
        return newest_comparable(other_runs, document)

    def _write_files(self) -> dict[str, str]:
        """Write every file of the report except report.html, and the link `latest`.

        Returns the reason for each file that could not be written, by its name.
        """
        if self._reason_of_missing_part:  # perhaps report.html could not be written, and the document must say so
            self._complete_document(self.document)
        if self.folder is None:
            return {}
        reasons = write_outputs(self.folder, self.document)
        try:
            is_in_folder_of_environment = self.folder.parent.name == self.run.profile.name
            if is_in_folder_of_environment:  # such as reports/runs/staging, in which `latest` leads to the newest run
                point_latest(self.folder)
            write_sums(self.folder)
        except OSError as error:
            reasons[SUMS] = str(error.strerror)
        return reasons

    def _write_summary_of_job(self) -> dict[str, str]:
        """Append the result to the summary of a GitHub job, if the run is in such a job and writes files.

        Returns the reason by the name "the summary of the job" if that fails, else nothing.
        """
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        try:
            if self.folder and path:
                append_to_summary(path, step_summary(self.document))
        except OSError as error:
            return {"the summary of the job": str(error.strerror)}
        return {}

    def _rewrite_if_any_failed(self, reasons: dict[str, str]) -> None:
        """Write the files once more if one could not be written, because the others must say that it is missing.

        `reasons` has the reason for each file that could not be written, by its name. If another part of the report was
        missing before, the files say so already.
        """
        if not reasons or self._reason_of_missing_part:
            return
        names = list(reasons)
        first_reason = reasons[names[0]]
        self._rewrite_because(f"{first_few(names)} cannot be written to {self.folder}: {first_reason}")

    def _rewrite_because(self, why: str) -> None:
        """Remember why a part of the report is missing, and write the files again, so that they say so.

        They have another verdict then, because a run without its whole report must not be green.
        """
        self.note_missing_part(why)
        self._write_files()


def _keep_failed_for_next_run(config: pytest.Config, document: RunDocument) -> None:
    """Write to the cache of pytest which requirements failed, so that a later run with --last-failed selects them."""
    tested = [requirement.id for requirement in document.requirements if requirement.verdict in TESTED]
    failing = [requirement.id for requirement in document.requirements if requirement.fails]
    remember_failed(config, tested, failing)


def _accepted_behaviour(run: Run, clean: Clean) -> Behaviour:
    """The behaviour of the service that the user accepted after an earlier run (--accept).

    It is read from `<name>.observed.yaml`; empty if there is no such file. `clean` hides known values in its texts.
    """
    if run.record is None:
        return {}
    return behaviour_of_data(run.record.observations, clean)


def accept_behaviour(run: Run, clean: Clean) -> str:
    """Do what --accept asks for: write the behaviour that this run observed to `<name>.observed.yaml`.

    Later runs are compared with this file. What this run did not test is kept from the file as it was. Returns the
    reason if the file could not be written, else an empty text. `run.acceptance_in_words` becomes a line that says what
    was written, or why nothing was. After a run that could not observe the service completely, such as an interrupted
    one, nothing is written. `clean` hides known values, such as tokens, in a text.
    """
    result = result_of_run(run)
    name = clean(path_in_messages(run.profile.record))
    reason_against = _reason_not_to_accept(run, result)
    if reason_against:
        run.acceptance_in_words = f"not accepted: {reason_against}; {name} is not written"
        return ""
    behaviour = merged_behaviour(_accepted_behaviour(run, clean), result.behaviour)
    record = record_of(run.profile.name, behaviour)
    try:
        write_record(run.profile.record, record)
    except OSError as error:
        trouble = f"{name} cannot be written: {error.strerror}"
        run.acceptance_in_words = f"not accepted: {trouble}"
        return trouble
    requirements = say_many("{n} requirement", "{n} requirements", n=len(record.observations))
    run.record = record
    run.acceptance_in_words = f"accepted: {name} ({requirements})"
    return ""


def _reason_not_to_accept(run: Run, result: RunResult) -> str:
    """Why the behaviour that a run observed must not become the record for later runs; empty if it may.

    It must not if the run could not observe the service completely: the record would have gaps or refusals only.
    """
    if run.errors:
        return "the suite failed"
    if run.interrupted:
        return "the run was interrupted"
    if run.unreachable:
        return "the target could not be reached"
    # Without a valid token everything is refused, which is no behaviour to accept.
    why_nothing_succeeded = run.answers_to_valid_token.why_no_basis_for_a_verdict(result.operations)
    if why_nothing_succeeded:
        return str(why_nothing_succeeded)
    return "" if result.behaviour else "nothing was observed"


# -- report.html ------------------------------------------------------------------------------------------------------


class HtmlPage:
    """Changes the page that pytest-html writes to report.html of the suite. Unused if pytest-html is not installed."""

    def __init__(self, reporter: Reporter) -> None:
        """Begin without a page. `reporter` has the document of the run that the page shows."""
        self._reporter = reporter
        self._page: Any = None

    def begin(self, page: Any) -> None:
        """Remember the page object of pytest-html, because its title is set later, when the verdict is known.

        pytest-html would list environment variables. They are removed, because those of a CI system may name people.
        """
        self._page = page
        page.set_data("environment", {})

    def fill_row(self, report: Any, cells: list[str]) -> None:
        """Change a row in the table of tests: the keyboard can open it (`tabindex`), and the test id is escaped.

        pytest-html does not escape the id of a test, and its rows open only by mouse. The first cell has the result of
        the test, and the second cell its id.
        """
        cells[0] = cells[0].replace("<td ", '<td tabindex="0" ', 1)
        cells[1] = f'<td class="col-testId">{escape(printable(report.nodeid))}</td>'

    def show_reason_of_skip(self, report: Any, data: list[str]) -> None:
        """Show why a test was skipped, in the language of the page and without a path of this machine.

        pytest reports a skip as the triple (path, line, "Skipped: reason"). Other reports are not changed.
        """
        if isinstance(report.longrepr, tuple):
            text_of_pytest = str(report.longrepr[-1]).partition(": ")[2]  # without the word "Skipped"
            why = getattr(report, "why", "") or text_of_pytest
            page_language = language(self._reporter.run.profile.language)
            # pytest-html shows the lines of this list, so that its content is replaced.
            data[:] = [escape(page_language.text(why))]

    def add_page_of_suite(self, prefix: list[str], config: pytest.Config) -> None:
        """Add the part that the suite writes (verdict, findings, requests) to report.html, before the table of tests.

        pytest-html has no option for another template, and its own template states neither its language nor its width.
        So its private template is replaced by one of the suite, which holds the script of pytest-html that draws the
        table. An empty file is written first, so that pytest-html follows no symbolic link, and only the owner may read
        the page.
        """
        run = self._reporter.run
        document = self._reporter.document
        self._page.title = language(run.profile.language).text(page_title(document))
        app = (files("pytest_html") / "resources" / "app.js").read_text("utf-8")
        script = f"const drawTests = () => {{ {app}\n}};"  # a function, so that the page decides when it runs
        for plugin in _html_plugins(config):
            plugin._template = template_of_page(script, run.profile.language)
        prefix.append(summary_html(run, document))
        write_private_file(_path_of_page(config), "")

    @contextmanager
    def guard_writing(self, config: pytest.Config) -> Iterator[None]:
        """A context in which pytest-html writes report.html. An error in it does not end the run.

        Then the run is reported without the page, the reason is remembered, and a half-written page is removed.
        """
        if not _html_plugins(config):  # pytest-html is not installed, so no report.html is written
            yield
            return
        path = _path_of_page(config)
        try:
            yield
        except Exception as error:  # a fault of the suite in the page is no reason to lose the verdict of a run
            self._reporter.note_missing_part(f"{path} cannot be written: {why_not_written(error)}")
            with suppress(OSError):  # if the folder cannot be written, there is no half-written page in it
                path.unlink()
        finally:
            # Otherwise the plugin prints the path of the page, which the summary has already.
            for plugin in _html_plugins(config):
                config.pluginmanager.unregister(plugin)


def _html_plugins(config: pytest.Config) -> list[BaseReport]:
    """The plugins of pytest-html that write a page; an empty list if pytest-html is not installed."""
    return [plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, BaseReport)]


def _path_of_page(config: pytest.Config) -> Path:
    """The path of report.html, which pytest-html writes. The suite has set this option of pytest-html at its start."""
    return Path(config.option.htmlpath)
