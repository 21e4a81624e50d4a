"""Hooks of pytest-html: our page before its table of tests, and requirement and evidence in each row of the table."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import pytest

from reports.handover import unpacked
from reports.html import requirements_from, summary_html, visible
from reports.run import Run
from reports.verdicts import RequirementResult


class HtmlPage:
    """What pytest-html calls while it makes its page."""

    def __init__(self, run: Run, path: Path) -> None:
        self.run = run
        self.path = path
        self._tests: dict[str, RequirementResult] = {}
        self._page: Any = None

    def pytest_html_report_title(self, report: Any) -> None:
        """Keep the page, whose title needs the verdict; empty its environment, which has variables of the CI."""
        self._page = report
        report.set_data("environment", {})

    def pytest_runtest_logreport(self, report: Any) -> None:
        if data := getattr(report, "conformance", None):
            self._tests[report.nodeid] = unpacked(data).results[0]

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells[1:1] = [
            '<th class="sortable" data-column-type="requirement">Requirement</th>',
            '<th class="sortable" data-column-type="verdict">Verdict</th>',
        ]
        cells[-1] = "<th>Exchanges</th>"

    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Requirement, verdict and evidence of a test; pytest-html does not escape test ids."""
        found = self._tests.get(report.nodeid)
        row_id, verdict, numbers = (found.id, found.verdict, found.exchanges) if found else ("", "", ())
        test_id = escape(visible(report.nodeid)).replace("::", "::<wbr>").replace("[", "<wbr>[")
        cells[1] = f'<td class="col-testId">{test_id}</td>'
        cells[1:1] = [
            f'<td class="col-requirement">{row_id.replace(".", ".<wbr>")}</td>',
            f'<td class="col-verdict">{verdict}</td>',
        ]
        links = [f'<a href="#exchange-{number}">{number}</a>' for number in numbers if number in self.run.exchanges]
        cells[-1] = f'<td class="col-links">{" ".join(links)}</td>'

    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """The tests are over. The file is made before pytest-html writes it, so that only its owner ever reads it."""
        self._page.title = visible(f"PIX conformance: {self.run.profile.name}: {self.run.result().verdict}")
        prefix.append(summary_html(self.run, requirements_from(self.path.parent)))
        self.path.touch(mode=0o600)
        self.path.chmod(0o600)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """A page that cannot be written does not take the verdict with it, and half of one is not left."""
        try:
            return (yield)
        except OSError as error:
            self.run.unwritten = self.run.unwritten or f"{self.path} cannot be written: {error.strerror}"
            with suppress(OSError):  # a folder that cannot be written holds no half of a page
                self.path.unlink()
            session.exitstatus = session.exitstatus or 3
            return None
