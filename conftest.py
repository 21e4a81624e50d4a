"""The life of a run: every hook of pytest that the suite has, in the order in which pytest calls them.

A hook says when something happens, and calls a function that does it, in the module of its concept. The hooks stand
here because a reader of pytest looks for them in the conftest.py of the root, and because this file is outside the
chain of folders: it may call both tests/harness and tests/traffic, of which the first does not import the second.
Modules have no hooks, because the order of a run would then follow from the order in which plugins are registered.

One module is loaded before this file, `tests/harness/process.py`. It has no hook: its import guards the output.
"""

from __future__ import annotations

from environments import early_signals

# The first import decides what a signal does during all others.
# isort: split
from collections.abc import Generator
from typing import Any

import pytest

from reports.recorded.reading import tally_of_all
from reports.recorded.recorded_run import fill_run
from tests.harness.finishing import close_record, end_sending, keep_exchanges
from tests.harness.judging import DeviationError, Untested
from tests.harness.options import LANGUAGES, SHOWING, add_group, options_given, whole_number
from tests.harness.process import end_without_a_verdict
from tests.harness.reporter import Reporter
from tests.harness.selection import MARKERS, ids_tested, leave_out_unwanted
from tests.harness.session import SESSION
from tests.harness.starting import Opened, is_about_a_service, one_line_for_wrong_use, open_asked_run, read_command_line
from tests.harness.watching import begin_test, judge_test, note_end_of_phase
from tests.traffic.phases import check_target, send_showing_progress
from tests.traffic.planning import InPlaceOfTests, what_to_print

# -- every session, self-tests included ----------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The options of the suite."""
    add = add_group(parser, pluginmanager).addoption
    add(
        "--environment",
        default="sandbox",
        metavar="NAME",
        help="test the service of environments/NAME.yaml (or a path)",
    )
    add("--report-dir", metavar="DIR", help="write the report into this folder (default: reports/runs/NAME/TIME)")
    add("--compare-with", metavar="PATH", help="say what changed since the run in this folder, or conformance.json")
    add(
        "--report-language", choices=LANGUAGES, help="write report.html in this language (default: as the profile says)"
    )
    add("--seed", type=whole_number(0), metavar="N", help="repeat the generated requests of the run that printed this")
    add("--examples", type=whole_number(1), metavar="N", help="generate N requests for each operation")
    add("--parallel", type=whole_number(1, 64), metavar="N", help="send at most N requests at the same time")
    add("--no-report", action="store_true", help="print the results, and write no files")
    add("--recorded", action="append", metavar="PATH", help="judge this HAR file, folder or glob, and send nothing")
    add("--scheduler", metavar="ADDRESS", help="judge it on the Dask cluster with this scheduler: tcp://HOST:PORT")
    add("--accept", action="store_true", help="write what this run observes to NAME.observed.yaml, for later runs")
    add("--plan", action="store_true", help="print what the run would send, and send nothing")
    add("--explain", nargs="?", const="", metavar="ID", help="print how a requirement is tested, or the ids of a group")
    add("--list", action="store_true", help="print the requirements with their last verdicts, and send nothing")
    add("--resend-code", metavar="FILE", help="send the refused code in this file again (-: ask for the code)")
    add("--new-journal", action="store_true", help="start a journal of sent codes, if none can be read")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Open what the command line asks for, and register its hooks. Raises UsageError, in one line, for wrong use."""
    early_signals.end_if_interrupted()
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if is_about_a_service(config):
        with one_line_for_wrong_use(config):
            _register_what_is_asked(config)
    early_signals.restore()


def _register_what_is_asked(config: pytest.Config) -> None:
    """Register the hooks of a run, or of a session that prints something in the place of a run.

    With an option such as --collect-only there are no hooks, because pytest runs no test.
    """
    profile, resend = read_command_line(config)
    printing = what_to_print(config, profile, resend)
    if printing:
        config.pluginmanager.register(_Printing(printing), "conformance-printing")
    elif not options_given(config, SHOWING):
        config.pluginmanager.register(ConformanceRun(open_asked_run(config, profile, resend)), "conformance-run")


@pytest.hookimpl(optionalhook=True)
def pytest_metadata(metadata: dict[str, Any]) -> None:
    """Remove the variables of CI that pytest-metadata prints with -v, because some name people and projects."""
    metadata.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Register the last plugin. Its hooks wrap those of all others, so that it prints the last line."""
    plugins = session.config.pluginmanager
    conformance_run = plugins.get_plugin("conformance-run")
    plugins.register(_LastWord(conformance_run.reporter if conformance_run else None), "conformance-last-word")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that -k and --last-failed do not select."""
    leave_out_unwanted(config, items)


# -- --plan, --explain and --list ----------------------------------------------------------------------------------


class _Printing:
    """The hook of a session that prints something in the place of a run."""

    def __init__(self, printing: InPlaceOfTests) -> None:
        self._print = printing

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print it, and tell pytest that no test is to be run."""
        self._print(session)
        return True


# -- a run ------------------------------------------------------------------------------------------------------------


class ConformanceRun:
    """The hooks of a run. With --recorded it has no session, sends nothing, and judges files in the place of tests."""

    def __init__(self, opened: Opened) -> None:
        self.run = opened.run
        self.reporter = opened.reporter
        self._opened = opened
        self._pen = opened.pen
        self._session = opened.session

    def pytest_plugin_registered(self, plugin: Any, plugin_name: str) -> None:
        """Guard the terminal as soon as there is one, because it also prints errors before the session starts."""
        if plugin_name == "terminalreporter":
            self._pen.guard(plugin._tw)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin the report. From here on only the suite prints."""
        self.reporter.begin(session.config)
        self._pen.silence_pytest()

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Begin the page of pytest-html."""
        self.reporter.page.begin(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Let pytest print which test could not be imported."""
        if report.failed:
            self._pen.let_pytest_print()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the target, if there is a test. The run is about all selected tests, also if `-x` ends it early."""
        self.run.selected.update(ids_tested(session.items))  # before it ends: what is selected counts as not tested
        if self._session and session.items:
            check_target(self._session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Send everything before the first test judges. Then pytest runs the tests, because None is returned.

        With --recorded, the recorded traffic is judged in the place of the tests.
        """
        if self._session is None:
            tally = tally_of_all(self._opened.files, self.run.profile, session.config.getoption("scheduler"))
            fill_run(self.run, tally)
            return True
        if session.items and not session.testsfailed:
            send_showing_progress(self._session, session)
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin a test. It is skipped if the profile lacks a permission for it."""
        begin_test(item, self.run.profile)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Call a test, and give its requirement a verdict."""
        last_assertion = None
        try:
            yield
        except (DeviationError, Untested) as error:
            last_assertion = error
        judge_test(pyfuncitem, pyfuncitem.config.stash[SESSION], last_assertion)
        return True  # the test was called

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """After each phase of a test, explain in its report why it failed or was skipped, and record its results."""
        report: Any = yield
        note_end_of_phase(item, call, report, item.config.stash[SESSION])
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Fill the row of a test in the page."""
        self.reporter.page.fill_row(report, cells)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """Fill the part of the page below the row of a test."""
        self.reporter.page.show_reason_of_skip(report, data)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """End the sending, and write the report.

        1. The record is closed, and gets its verdict.
        2. pytest-html writes the page, with the verdict.
        3. The other files are written.

        After wrong use, such as a path that does not exist, no file is left.
        """
        if self._session:
            end_sending(self._session, was_interrupted=self._opened.was_interrupted)
            close_record(self._session)
            keep_exchanges(self._session, with_content=not session.config.getoption("no_report"))
        was_wrong_use = exitstatus == pytest.ExitCode.USAGE_ERROR
        if not was_wrong_use:
            self.reporter.conclude(session, exitstatus)
        result = None
        with self.reporter.page.guard_writing(session.config):
            result = yield
        if was_wrong_use:
            self.reporter.remove_report()
        else:
            self.reporter.write_other_files()
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str], session: pytest.Session) -> None:
        """Put the page of the suite before the table of tests, when pytest-html writes its page."""
        self.reporter.page.add_page_of_suite(prefix, session.config)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_terminal_summary(self) -> Generator[None, object, object]:
        """Let pytest and plugins print what the user asked for, such as --durations, or the summary of a plugin.

        The lines of pytest about tests come before and after it, and are not printed.
        """
        self._pen.let_pytest_print()
        try:
            return (yield)
        finally:
            self._pen.silence_pytest()

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Let pytest print what failed in pytest or in the suite."""
        self._pen.let_pytest_print()


# -- the end of every session -----------------------------------------------------------------------------------------


class _LastWord:
    """Prints the verdict as the last line, and sets the exit status, after all other plugins printed and decided."""

    def __init__(self, reporter: Reporter | None) -> None:
        self._reporter = reporter

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """Print the verdict when all files and the summaries of others are written. After wrong use there is none."""
        result = yield
        if self._reporter is None:
            end_without_a_verdict(session)
        elif exitstatus != pytest.ExitCode.USAGE_ERROR:
            self._reporter.print_summary(session)
        return result
