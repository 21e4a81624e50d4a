"""Gathers what all tests found, gives the verdict, writes the reports."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reports.formats.conformance_json import Document, document_of
from reports.formats.outputs import PAGE, SUMS, write_outputs, write_sums
from reports.run import Run
from reports.terminal import Once, shorten, summary
from reports.wording import first_few
from reports.writing import point_latest
from tests.harness.github_actions import GitHubActions
from tests.harness.html_page import HtmlPage
from tests.harness.pen import OurLine

_SUMMED_UP_BY_PYTEST = (0, 1, 2, 4, 5)
"""Exit statuses after which pytest asks for a summary: a target that is gone at the start and an internal error have
none of its own."""


class Reporter:
    """Gathers into `run`; the files go to `folder`, None for none. `compare` gives the comparison with another run,
    `consult_record` compares with the record beside the profile, or writes it; `clean` hides known values in a path."""

    def __init__(self, run: Run, folder: Path | None) -> None:
        self.run = run
        self.folder = folder
        self.compare: Callable[[Document], Document | None] = lambda document: None
        self.consult_record: Callable[[Run], bool] = lambda run: True
        self.clean: Callable[[str], str] = lambda text: text
        self._failed: list[Any] = []
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._document: Document = {}
        self._sums = ""
        self._github = GitHubActions(os.environ)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if self.folder is not None and hasattr(session.config.option, "htmlpath"):
            page = HtmlPage(self.run, self.folder / PAGE)
            session.config.pluginmanager.register(page, "conformance-html")
        self._github.stop_commands(session.config.pluginmanager.get_plugin("terminalreporter"))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._took_s[report.nodeid] += getattr(report, "duration", 0.0)
        if found := getattr(report, "conformance", None):
            self.run.add_found(found, report.nodeid, self._took_s.pop(report.nodeid))

    def finish(self, session: pytest.Session, exitstatus: int) -> None:
        """The tests are over: give the verdict and write the files."""
        self.run.interrupted |= exitstatus == pytest.ExitCode.INTERRUPTED
        if exitstatus == pytest.ExitCode.INTERNAL_ERROR and not self.run.errors:
            self.run.errors.append("pytest ended with an internal error: its output says where")
        self.run.close()
        unwritten = 0 if self.consult_record(self.run) else 3
        if exitstatus in (0, 1, 6, 7):
            session.exitstatus = self.run.result().verdict.exit_status or unwritten
        self._conclude()
        self._write_files(session)
        self._tell_each_cause_once(session)

    def _conclude(self) -> None:
        document = document_of(self.run)
        self.run.comparison = self.compare(document)
        self._document = document | {"comparison": self.run.comparison}

    def _write_files(self, session: pytest.Session) -> None:
        if self.folder is None:
            return
        failed = write_outputs(self.folder, self._document)
        try:
            if self.folder.parent.name == self.run.profile.name:
                point_latest(self.folder)
        except OSError as error:
            failed["latest"] = str(error.strerror)
        self._tell_unwritten(session, failed)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """All files are written, that of pytest-html, too: list their digests. Then pytest asks for a summary, or never
        does."""
        result = yield
        self._write_sums(session)
        self._say_what_is_missing()
        self._write_summary(session)
        self._say_what_is_missing()
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and exitstatus not in _SUMMED_UP_BY_PYTEST:
            terminal.ensure_newline()
            self.pytest_terminal_summary(terminal)
        return result

    def _write_sums(self, session: pytest.Session) -> None:
        try:
            self._sums = write_sums(self.folder) if self.folder else ""
        except OSError as error:
            self._tell_unwritten(session, {SUMS: str(error.strerror)})

    def _write_summary(self, session: pytest.Session) -> None:
        if self.folder and self._document and (why := self._github.write_summary(self._document)):
            self._tell_unwritten(session, {"the summary of the job": why})

    def _say_what_is_missing(self) -> None:
        """Where a part of the report could not be written, and the others were written before that was known: write them
        once more, with a verdict that is not green."""
        if self._document and self._document["verdict"] != self.run.result().verdict:
            self._conclude()
            if self.folder:
                write_outputs(self.folder, self._document)
                with suppress(OSError):
                    self._sums = write_sums(self.folder)

    def _tell_unwritten(self, session: pytest.Session, failed: dict[str, str]) -> None:
        """One line for the files that failed, with the reason of the first; the run is not green."""
        if failed:
            why = f"{first_few([*failed])} cannot be written to {self.folder}: {next(iter(failed.values()))}"
            self.run.unwritten = self.run.unwritten or why
            session.exitstatus = session.exitstatus or 3

    def _tell_each_cause_once(self, session: pytest.Session) -> None:
        """Show one failing test for each cause. Then restore the full list for pytest's counts."""
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and terminal.stats.get("failed"):
            self._failed = terminal.stats["failed"]
            terminal.stats["failed"] = Once(self._document["findings"]).told(self._failed)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        report = self.run.unwritten or (str(self.folder / PAGE) if self.folder else "")
        if self._failed:
            shorten(self._failed)
            terminalreporter.stats["failed"] = self._failed
        terminalreporter.section("conformance")
        for line in summary(self._document, self.run, self.clean(report), self._sums):
            terminalreporter.write_line(OurLine(line))
        self._github.annotate(terminalreporter, self._document)
