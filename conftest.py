"""The front door: the options of a run, and the modules that carry it out."""

from __future__ import annotations

from environments import early_signals

# The first import says what a signal does during all others.
# isort: split
import pytest

from tests.harness.configuration import configure
from tests.harness.options import LANGUAGES, add_group, whole_number
from tests.traffic.phases import Controller, planned

pytest_plugins = ["tests.harness.plugin"]


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    add = add_group(parser, pluginmanager).addoption
    add("--environment", default="sandbox", metavar="NAME", help="environments/NAME.yaml, or a path")
    add("--report-dir", metavar="DIR", help="where the files of the report go")
    add("--compare-with", help="a run to compare with: its folder, or its conformance.json")
    add("--report-language", choices=LANGUAGES, help="the language of report.html")
    add("--seed", type=whole_number(0), help="repeat the generated traffic of the run that reported SEED")
    add("--examples", type=whole_number(1), help="generated requests for each operation and phase")
    add("--parallel", type=whole_number(1, 64), help="requests on the wire at once")
    add("--no-report", action="store_true", help="print the results, write no files")
    add("--recorded", action="append", help="judge these HAR files, folders or globs, and send nothing")
    add("--scheduler", help="that of a Dask cluster, which judges them: tcp://HOST:PORT")
    add("--accept", action="store_true", help="write what is observed to NAME.observed.yaml")
    add("--plan", action="store_true", help="print what the run would send, and send nothing")
    add("--explain", nargs="?", const="", metavar="ID", help="explain a requirement, or list a group")
    add("--list", action="store_true", help="print the requirements with their last verdicts, and send nothing")
    add("--resend-code", metavar="FILE", help="send the one refused code in this file again; -: ask for it")
    add("--new-journal", action="store_true", help="start a journal of codes, where none can be read")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    early_signals.end_if_interrupted()
    configure(config, planned, Controller)
    early_signals.restore()
