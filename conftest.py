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
    add("--environment", default="sandbox", metavar="NAME", help="use the profile environments/NAME.yaml, or a path")
    add("--report-dir", metavar="DIR", help="folder for the files of the report")
    add("--compare-with", help="compare with this run: its folder, or its conformance.json")
    add("--report-language", choices=LANGUAGES, help="language of report.html")
    add("--seed", type=whole_number(0), help="repeat the generated traffic of the run that reported SEED")
    add("--examples", type=whole_number(1), help="number of generated requests for each operation")
    add("--parallel", type=whole_number(1, 64), help="most requests at once")
    add("--no-report", action="store_true", help="print the results, write no files")
    add("--recorded", action="append", help="judge these HAR files, folders or globs, and send nothing")
    add("--scheduler", help="judge them on the Dask cluster with this scheduler: tcp://HOST:PORT")
    add("--accept", action="store_true", help="write what is observed to NAME.observed.yaml")
    add("--plan", action="store_true", help="print what the run would send, and send nothing")
    add("--explain", nargs="?", const="", metavar="ID", help="explain a requirement, or list a group")
    add("--list", action="store_true", help="print the requirements with their last verdicts, and send nothing")
    add("--resend-code", metavar="FILE", help="send again the one refused code in this file (-: ask for the code)")
    add("--new-journal", action="store_true", help="start a journal of codes, if none can be read")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    early_signals.end_if_asked()
    configure(config, planned, Controller)
    early_signals.restore()
