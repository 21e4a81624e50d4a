"""Hooks of pytest-html: our page before its table of tests, and requirement and evidence in each row of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pytest_html.basereport import BaseReport

from reports.formats.outputs import reason
from reports.language import language
from reports.page.exchange_list import LINKED
from reports.page.html import page_title, requirements_from, summary_html
from reports.page.rendering import frame
from reports.run import Run
from reports.show import printable
from reports.verdicts import RequirementResult
from reports.writing import write
from spec.message import say
from tests.harness.explaining import EXERCISES

HEADING = """<th scope="col" class="sortable" data-column-type="{0}">\
<button type="button" data-column-type="{0}">{1}</button></th>"""
COLUMNS = (
    ("result", "Result"),
    ("requirement", "Requirement"),
    ("verdict", "Verdict"),
    ("testId", "Test"),
    ("duration", "Duration"),
)
"""The columns that sort: the name that pytest-html takes from the class of their cells, and the heading."""

LAST = "Exchanges"
"""The heading of the last column."""


class HtmlPage:
    """What pytest-html calls while it makes its page."""

    def __init__(self, run: Run, path: Path) -> None:
        self.run = run
        self.path = path
        self._tests: dict[str, RequirementResult] = {}
        self._tests_of: Counter[str] = Counter()
        self._anchors: dict[str, str] = {}
        self._placed: set[str] = set()
        self._page: Any = None
        self._language = language(run.profile.language)

    def pytest_html_report_title(self, report: Any) -> None:
        """Keep the page, whose title needs the verdict; empty its environment, which has variables of the CI."""
        self._page = report
        report.set_data("environment", {})

    def pytest_runtest_logreport(self, report: Any) -> None:
        if of_test := getattr(report, "conformance", None):
            found = self._tests[report.nodeid] = of_test.results[0]
            self._tests_of[found.id] += 1
            number = f"-{self._tests_of[found.id]}" if self._tests_of[found.id] > 1 else ""
            self._anchors.setdefault(report.nodeid, f"test-{found.id}{number}")

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """A button in each heading that sorts, so that a keyboard sorts, too."""
        say = self._language.gettext
        cells[:] = [*(HEADING.format(name, say(title)) for name, title in COLUMNS), f'<th scope="col">{say(LAST)}</th>']

    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Requirement, verdict and evidence of a test; pytest-html does not escape test ids."""
        found = self._tests.get(report.nodeid)
        row_id, verdict, numbers = (found.id, found.verdict, found.exchanges) if found else ("", "", ())
        said = verdict.replace("-", " ")
        test_id = escape(printable(report.nodeid)).replace("::", "::<wbr>").replace("[", "<wbr>[")
        cells[0] = cells[0].replace("<td ", '<td tabindex="0" ', 1)
        cells[1] = f'<td class="col-testId"{self._anchor(report)}>{test_id}</td>'
        cells[1:1] = [
            f'<td class="col-requirement"><a href="#{row_id}">{row_id.replace(".", ".<wbr>")}</a></td>',
            f'<td class="col-verdict">{self._language.text(said)}</td>',
        ]
        shown = [number for number in numbers if number in self.run.exchanges]
        links = [f'<a href="#exchange-{number}">{number}</a>' for number in shown[:LINKED]]
        more = [self._language.text(say("and {n} more", n=len(shown) - LINKED))] * (len(shown) > LINKED)
        cells[-1] = f'<td class="col-links">{" ".join(links + more)}</td>'

    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """Why a test was skipped, without the place of the skip on this machine."""
        if isinstance(report.longrepr, tuple):
            why = getattr(report, "why", "") or str(report.longrepr[-1]).partition(": ")[2]
            data[:] = [escape(self._language.text(why))]

    def pytest_html_results_summary(self, prefix: list[str], session: pytest.Session) -> None:
        """The tests are over. pytest-html writes into a new file: one that only its owner reads, and no link."""
        self._page.title = self._language.text(page_title(self.run))
        self._frame(session)
        exercises = session.config.stash[EXERCISES](self.run.profile)
        page = summary_html(self.run, requirements_from(self.path.parent), self._tests_by_requirement(), exercises)
        prefix.append(page)
        write(self.path, "")

    def _frame(self, session: pytest.Session) -> None:
        """pytest-html has no option for its page, and its own has no language, no width and its table in the middle."""
        script = (files("pytest_html") / "resources" / "app.js").read_text("utf-8")
        for plugin in session.config.pluginmanager.get_plugins():
            if isinstance(plugin, BaseReport):
                plugin._template = frame(script, self.run.profile.language)

    def _anchor(self, report: Any) -> str:
        """The id of a row. pytest-html leaves a set-up and a teardown out that passed; only the first row has the id."""
        is_left_out = report.when in ("setup", "teardown") and report.outcome == "passed"
        anchor = "" if is_left_out else self._anchors.get(report.nodeid, "")
        if not anchor or anchor in self._placed:
            return ""
        self._placed.add(anchor)
        return f' id="{anchor}"'

    def _tests_by_requirement(self) -> dict[str, list[str]]:
        """The anchors of the tests of each requirement."""
        by_requirement: dict[str, list[str]] = {}
        for test, found in self._tests.items():
            by_requirement.setdefault(found.id, []).append(self._anchors[test])
        return by_requirement

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """A page that cannot be made or written does not take the verdict with it, and half of one is not left."""
        try:
            return (yield)
        except Exception as error:  # a fault of the suite in the page is no reason to lose the verdict of a run
            self.run.unwritten = self.run.unwritten or f"{self.path} cannot be written: {reason(error)}"
            with suppress(OSError):  # a folder that cannot be written holds no half of a page
                self.path.unlink()
            session.exitstatus = session.exitstatus or 3
            _say_no_page_was_written(session.config)
            return None


def _say_no_page_was_written(config: pytest.Config) -> None:
    """pytest-html would still tell where the page is."""
    for plugin in config.pluginmanager.get_plugins():
        if isinstance(plugin, BaseReport):
            config.pluginmanager.unregister(plugin)
