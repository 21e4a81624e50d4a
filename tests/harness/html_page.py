"""Hooks of pytest-html: our page before its table of tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pytest_html.basereport import BaseReport

from reports.language import language
from reports.page.rendering import frame, page_title, requirements_from, summary_html
from reports.run import Run
from reports.show import printable
from reports.writing import reason, write


class HtmlPage:
    """Hooks that pytest-html calls while it makes its page."""

    def __init__(self, run: Run, path: Path) -> None:
        self.run, self.path = run, path
        self._page: Any = None

    def pytest_html_report_title(self, report: Any) -> None:
        """Keep the page, whose title needs the verdict; empty its environment, which has variables of the CI."""
        self._page = report
        report.set_data("environment", {})

    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """A row that a keyboard opens, too. pytest-html does not escape test ids."""
        cells[0] = cells[0].replace("<td ", '<td tabindex="0" ', 1)
        cells[1] = f'<td class="col-testId">{escape(printable(report.nodeid))}</td>'

    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """The reason of a skip, without its place on this machine."""
        if isinstance(report.longrepr, tuple):
            why = getattr(report, "why", "") or str(report.longrepr[-1]).partition(": ")[2]
            data[:] = [escape(language(self.run.profile.language).text(why))]

    def pytest_html_results_summary(self, prefix: list[str], session: pytest.Session) -> None:
        """The tests are over. pytest-html has no option for its page, whose own has no language, no width and its table
        in the middle; and it writes into a new file: one that only its owner reads, and no link."""
        self._page.title = language(self.run.profile.language).text(page_title(self.run))
        script = (files("pytest_html") / "resources" / "app.js").read_text("utf-8")
        for plugin in _pages(session.config):
            plugin._template = frame(script, self.run.profile.language)
        prefix.append(summary_html(self.run, requirements_from(self.path.parent)))
        write(self.path, "")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """A page that cannot be made or written does not take the verdict with it, and half of one is not left."""
        try:
            return (yield)
        except Exception as error:  # a fault of the suite in the page is no reason to lose the verdict of a run
            self.run.unwritten = self.run.unwritten or f"{self.path} cannot be written: {reason(error)}"
            with suppress(OSError):  # a folder that cannot be written holds no half of a page
                self.path.unlink()
            for plugin in _pages(session.config):  # pytest-html would still tell where the page is
                session.config.pluginmanager.unregister(plugin)
            return None


def _pages(config: pytest.Config) -> list[BaseReport]:
    return [plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, BaseReport)]
