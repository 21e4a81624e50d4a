"""The front door: the options of a run, and the modules that carry it out."""

from __future__ import annotations

from tests.harness.starting import starting

# isort: split
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from environments.profiles.profile import Profile
from reports.explaining.explanation import Exercised
from tests.harness.configuration import configure
from tests.harness.explaining import EXERCISES
from tests.harness.options import add_processes, whole_number
from tests.traffic.exercises import exercises_of
from tests.traffic.phases import send
from tests.traffic.planning import planned

pytest_plugins = ["tests.harness.plugin", "tests.traffic.fixtures"]


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    group = parser.getgroup("conformance")
    if not pluginmanager.hasplugin("xdist"):
        add_processes(group)
    seed = partial(whole_number, option="--seed", least=0)
    examples = partial(whole_number, option="--examples", least=1)
    group.addoption("--environment", default="sandbox", metavar="NAME", help="environments/NAME.yaml, or a path")
    group.addoption("--report-dir", metavar="DIR", help="where the files of the report go")
    group.addoption(
        "--compare-with", metavar="PATH", help="the conformance.json of a run to compare with, or its folder"
    )
    group.addoption("--report-language", metavar="TAG", help="the language of report.html: en, or pt-BR")
    group.addoption("--seed", type=seed, metavar="N", help="repeat the generated traffic of the run that reported N")
    group.addoption("--examples", type=examples, metavar="N", help="generated requests for each operation and phase")
    parallel = partial(whole_number, option="--parallel", least=1, most=64)
    group.addoption("--parallel", type=parallel, metavar="N", help="requests on the wire at once")
    group.addoption("--no-report", action="store_true", help="print the results, write no files")
    group.addoption("--accept", action="store_true", help="write what is observed to NAME.observed.yaml")
    group.addoption("--plan", action="store_true", help="print what the run would send, and send nothing")
    group.addoption(
        "--explain", nargs="?", const="", metavar="ID", help="explain a requirement or a group, and send nothing"
    )
    group.addoption(
        "--list",
        dest="list_requirements",
        action="store_true",
        help="print the requirements with the verdicts of the last run, and send nothing",
    )
    group.addoption(
        "--resend-code",
        metavar="FILE",
        help="send the code in this file although an earlier run sent it and it did not succeed; -: ask for the code",
    )
    group.addoption(
        "--new-journal", action="store_true", help="start a journal of the codes that are sent, where none can be read"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[EXERCISES] = _exercises
    starting.configuring = True
    configure(config, planned, send)
    starting.end()


def _exercises(profile: Profile) -> Mapping[str, Exercised]:
    """How each requirement is exercised: tests/harness and reports do not import the tests."""
    names = sorted(file.stem for file in Path(__file__).parent.glob("tests/conformance/test_*.py"))
    return exercises_of([import_module(f"tests.conformance.{name}") for name in names], profile)
