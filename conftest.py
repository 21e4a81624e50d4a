"""The course of a run: every hook of pytest that the suite has, in the order in which pytest calls them.

A hook only decides when something happens. The function that it calls does the work, in the module of its topic. The
hooks are here because a reader of pytest looks for them in the conftest.py of the root. Also, this file may import both
tests/harness and tests/traffic; a module of tests/harness must not import tests/traffic. No other module has hooks,
because the order of a run would then depend on the order in which plugins are registered.

pytest loads one module before this file: `tests/harness/process.py` (`addopts` in pyproject.toml). It has no hook. Its
import replaces sys.stdout and sys.stderr by streams that raise no error, so that a closed pipe or a full disk does not
end the process with exit status 1, which means that the service failed.
"""

from __future__ import annotations

from environments import early_signals

# `early_signals` is imported first: its import sets the handler of Ctrl-C and SIGTERM. With this handler, a signal
# during the imports below ends the process with one line instead of a traceback.
# isort: split
from collections.abc import Generator
from typing import Any

import pytest

from reports.recorded.reading import counts_of_files
from reports.recorded.recorded_run import fill_run
from tests.harness.finishing import close_record, end_sending, keep_exchanges
from tests.harness.judging import DeviationError, Untested
from tests.harness.options import LANGUAGES, OPTIONS_THAT_RUN_NO_TESTS, add_group, options_given, whole_number
from tests.harness.process import end_without_a_verdict
from tests.harness.reporter import Reporter
from tests.harness.selection import MARKERS, leave_out_unwanted, requirement_ids_of
from tests.harness.session import SESSION
from tests.harness.starting import (
    RunParts,
    is_about_a_service,
    one_line_for_wrong_use,
    open_asked_run,
    read_command_line,
)
from tests.harness.watching import begin_test, judge_test, note_end_of_phase
from tests.traffic.phases import check_target, send_showing_progress
from tests.traffic.planning import InPlaceOfTests, what_to_print

# -- every session, self-tests included ----------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options of the suite to the command line of pytest. pytest calls this first."""
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
    add("--scheduler", metavar="ADDRESS", help="judge the files of --recorded on a Dask cluster: tcp://HOST:PORT")
    add("--accept", action="store_true", help="write what this run observes to NAME.observed.yaml, for later runs")
    add("--plan", action="store_true", help="print what the run would send, and send nothing")
    add("--explain", nargs="?", const="", metavar="ID", help="print how a requirement is tested, or the ids of a group")
    add("--list", action="store_true", help="print the requirements with their last verdicts, and send nothing")
    add(
        "--resend-code",
        metavar="FILE",
        help="send the transaction code in this file again, which was refused (-: type it)",
    )
    add(
        "--new-journal",
        action="store_true",
        help="start a new journal (file of the codes that were sent), if none can be read",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Prepare what the command line asks for, and register hooks for it. pytest calls this before it collects tests.

    Raises UsageError, in one line, if the command line or the profile is wrong. Until the end of this function a signal
    such as Ctrl-C is only remembered; afterwards the parts of the run handle signals.
    """
    early_signals.end_if_interrupted()
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if is_about_a_service(config):  # not for --help, and not if only the suite's own tests are called
        with one_line_for_wrong_use(config):
            _register_what_is_asked(config)
    early_signals.restore()


def _register_what_is_asked(config: pytest.Config) -> None:
    """Register the hooks of a run, or of a session that only prints something (--plan, --explain, --list).

    With an option such as --collect-only no hooks are registered, because pytest runs no test.
    """
    profile, codes_to_resend = read_command_line(config)
    print_text = what_to_print(config, profile, codes_to_resend)  # a function that prints; None for a run
    if print_text:
        config.pluginmanager.register(_Printing(print_text), "conformance-printing")
    elif not options_given(config, OPTIONS_THAT_RUN_NO_TESTS):
        run_parts = open_asked_run(config, profile, codes_to_resend)
        config.pluginmanager.register(ConformanceRun(run_parts), "conformance-run")


@pytest.hookimpl(optionalhook=True)
def pytest_metadata(metadata: dict[str, Any]) -> None:
    """Remove the environment variables of CI systems that the plugin pytest-metadata would print with -v.

    Some of them name people and projects.
    """
    metadata.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Register the plugin that prints the verdict of the run as the last line.

    It is registered only now, after all other plugins, because pytest lets the plugin that was registered last finish
    last (its hook is a wrapper around those of the others).
    """
    plugins = session.config.pluginmanager
    conformance_run = plugins.get_plugin("conformance-run")  # None if the session only prints something, as with --plan
    reporter = conformance_run.reporter if conformance_run else None
    plugins.register(_VerdictPrinter(reporter), "conformance-verdict-printer")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of requirements that the user did not select with -k or --last-failed.

    pytest calls this after it has collected all tests.
    """
    leave_out_unwanted(config, items)


# -- --plan, --explain and --list ----------------------------------------------------------------------------------


class _Printing:
    """The hook of a session that prints something instead of running tests: --plan, --explain or --list."""

    def __init__(self, printing: InPlaceOfTests) -> None:
        """Begin with the function that prints the text."""
        self._print = printing

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print the text instead of running tests. True tells pytest that the tests are done."""
        self._print(session)
        return True


# -- a run ------------------------------------------------------------------------------------------------------------


class ConformanceRun:
    """The hooks of a run. With --recorded the run sends nothing, and judges files of recorded traffic."""

    def __init__(self, parts: RunParts) -> None:
        """Begin with the parts of the run."""
        self._parts = parts
        self.run = parts.run  # the record of the run: results, notes, exchanges
        self.reporter = parts.reporter  # writes the files of the report, and prints the summary
        self._pen = parts.pen  # decides what pytest prints, and hides tokens and codes in it
        self._suite_session = parts.session  # sends the requests; None with --recorded

    def pytest_plugin_registered(self, plugin: Any, plugin_name: str) -> None:
        """Hide tokens and codes in what pytest prints, as soon as pytest has its terminal.

        It is done this early because pytest prints some errors before the session starts.
        """
        if plugin_name == "terminalreporter":
            self._pen.hide_values_in(plugin._tw)  # the writer of pytest, which prints to the terminal

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin the report. From here on only the suite prints, because the lines of pytest would hide its result."""
        self.reporter.begin(session.config)
        self._pen.silence_pytest()

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Pass the page of pytest-html to the reporter, which sets its title later. pytest-html calls this first."""
        self.reporter.page.begin(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Let pytest print from now on if a test file could not be imported, because only pytest can say why."""
        if report.failed:
            self._pen.let_pytest_print()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record which requirements are selected, and check that the service can be reached, if there is a test.

        All selected requirements are recorded before the first test, so that a run which `-x` ends early reports the
        others as not tested.
        """
        self.run.selected.update(requirement_ids_of(session.items))
        if self._suite_session and session.items:
            check_target(self._suite_session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Send all requests of the run. Then pytest runs the tests, which judge the answers, because None is returned.

        With --recorded, files of recorded traffic are judged instead, perhaps on several machines. `counts` has the
        number of answers that meet each requirement, and of those that deviate. True tells pytest that no test is to
        run.
        """
        if self._suite_session is None:  # with --recorded
            # `--scheduler` is the address of a Dask cluster, whose machines share the files. None: this machine alone.
            dask_scheduler = session.config.getoption("scheduler")
            counts = counts_of_files(self._parts.files, self.run.profile, dask_scheduler)
            fill_run(self.run, counts)
            return True
        is_every_test_collected = session.testsfailed == 0
        if session.items and is_every_test_collected:
            send_showing_progress(self._suite_session, session)
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Prepare the record of a test. The test is skipped if the profile lacks a permission for it."""
        begin_test(item, self.run.profile)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Let pytest call a test function, and then decide by its assertions whether the test passes.

        The exception by which an assertion ended the test is passed on, because it has the findings or the reason.
        """
        last_assertion = None
        try:
            yield
        except (DeviationError, Untested) as error:
            last_assertion = error
        judge_test(pyfuncitem, pyfuncitem.config.stash[SESSION], last_assertion)
        return True  # the test was called

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """After each phase of a test (set-up, call, teardown), tell the report of pytest why it failed or was skipped.

        After the last phase the results of the test are recorded.
        """
        report: Any = yield
        note_end_of_phase(item, call, report, item.config.stash[SESSION])
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Change the row of a test in the table of report.html. pytest-html calls this for each row."""
        self.reporter.page.fill_row(report, cells)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """Show below the row of a skipped test in report.html why it was skipped. pytest-html calls this."""
        self.reporter.page.show_reason_of_skip(report, data)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """Stop sending requests, and write the report:

        1. The record of the run gets its last facts and its verdict.
        2. pytest-html, whose hook is called at `yield`, writes report.html with this verdict.
        3. The other files are written.

        After a wrong command line, such as a path that does not exist, the files are removed instead.
        """
        if self._suite_session:
            end_sending(self._suite_session, was_interrupted=self._parts.was_interrupted)
            close_record(self._suite_session)
            keep_exchanges(self._suite_session, with_content=not session.config.getoption("no_report"))
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
        """Add the part of the suite to report.html, before the table of tests. pytest-html calls this."""
        self.reporter.page.add_page_of_suite(prefix, session.config)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_terminal_summary(self) -> Generator[None, object, object]:
        """Let plugins print the summaries that the user asked for, such as the slowest tests (--durations).

        The list of failures is not printed, because the suite prints the results itself. In pytest a wrapper of this
        hook prints that list, before and after all other summaries. `trylast` makes this wrapper the innermost one, so
        pytest may print only while the other summaries are made.
        """
        self._pen.let_pytest_print()
        try:
            return (yield)
        finally:
            self._pen.silence_pytest()

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Let pytest print from now on: an exception in pytest or in the suite ends the session, and must be seen."""
        self._pen.let_pytest_print()


# -- the end of every session -----------------------------------------------------------------------------------------


class _VerdictPrinter:
    """Prints the verdict as the last line, and sets the exit status, after all other plugins printed and decided."""

    def __init__(self, reporter: Reporter | None) -> None:
        """Begin with the reporter, which prints the verdict; None in a session without a run, such as --plan."""
        self._reporter = reporter

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """Print the verdict after everything else: at `yield` all other plugins finish, and the files are written.

        After a wrong command line there is no verdict to print.
        """
        result = yield
        if self._reporter is None:
            end_without_a_verdict(session)
        elif exitstatus != pytest.ExitCode.USAGE_ERROR:
            self._reporter.print_summary(session)
        return result
