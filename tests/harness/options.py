"""Options of pytest in a conformance run: those that are refused, and those that only show something."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import entry_points
from typing import NoReturn

import pytest

from environments.credentials import NOT_FROM_A_VARIABLE
from environments.profiles.model import Profile
from reports.sentences.language import ENGLISH, catalogues

DEFAULT_EXAMPLES = 20
"""Valid registrations, and as many deletions. A fault in one answer of four is then missed once in 300 runs."""
_REFUSED = {
    "verify_base_url": "--verify-base-url bypasses the checks of the suite; leave it out, "
    "every run checks the target first",
    "htmlpath": "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR",
    "xmlpath": "--junitxml: a run writes its own junit.xml; leave it out, and name the folder with --report-dir=DIR",
    "debug": "--debug writes tokens and codes to a file; leave it out",
    "showlocals": "--showlocals prints answers of the service as they are; leave it out",
    "pastebin": "--pastebin publishes what is printed before known values are hidden; leave it out",
}
_NAMING = {"base_url": "--base-url", "report_dir": "--report-dir"}
"""Options that may be left out and never be empty: `--base-url="$STAGING"`, with that unset, would test the sandbox."""
LANGUAGES = (ENGLISH, *catalogues())
"""Of the report."""
HELPING = {"--help": "help", "--markers": "markers"}
"""With these pytest collects no tests. As below: options by the name of their value."""
PRINTING = {"--explain": "explain", "--list": "list", "--plan": "plan"}
"""With these the suite prints something in place of a run."""
SHOWING = {
    "--collect-only": "collectonly",
    "--setup-plan": "setupplan",
    "--fixtures": "showfixtures",
    "--fixtures-per-test": "show_fixtures_per_test",
    "--cache-show": "cacheshow",
}
"""With these pytest runs no test: no target is opened, and nothing is written."""


def add_group(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> pytest.OptionGroup:
    """Add the group that the options of the suite go into. A wrong option is one line; the option of pytest-xdist is
    refused in words of the suite where that is not loaded, too."""
    parser.optparser.error = partial(_refuse_usage, pluginmanager)  # type: ignore[method-assign]
    group = parser.getgroup("conformance")
    if not pluginmanager.hasplugin("xdist"):
        group._addoption("-n", "--numprocesses", help=SUPPRESS)
    return group


def _refuse_usage(pluginmanager: pytest.PytestPluginManager, message: str) -> NoReturn:
    """UsageError in one line, in place of argparse's own error, which has four. An option that is not known may be that
    of an installed plugin: only plugins that are named are loaded."""
    hint = "pytest --help lists the options"
    loaded = pluginmanager.has_plugin
    plugins = [plugin for plugin in entry_points(group="pytest11") if not loaded(plugin.value)]
    names = sorted(plugin.name for plugin in plugins if not loaded(plugin.name))
    if message.startswith("unrecognized arguments") and names:
        hint += f"; those of an installed plugin need its name: -p {' or -p '.join(names)}"
    raise pytest.UsageError(f"{message.removeprefix('argument ')}; {hint}")


def whole_number(least: int, most: int = 10**12) -> Callable[[str], int]:
    """Reads the number of an option."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
            up_to = f" to {most}" if most < 10**12 else ""
            raise ArgumentTypeError(f"expected a whole number from {least}{up_to}, got {text!r}")
        return int(text)

    return read


def examples_of(config: pytest.Config, profile: Profile, otherwise: int = DEFAULT_EXAMPLES) -> int:
    """The generated requests for each operation that the user or the profile asks for."""
    named: int | None = config.getoption("examples")
    return named or profile.limits.examples or otherwise


def refuse_options(config: pytest.Config) -> None:
    """UsageError for an option of pytest that a conformance run does not take, wherever it was given."""
    for name, why in _REFUSED.items():
        if config.getoption(name, None):
            raise pytest.UsageError(why)
    for name, option in _NAMING.items():
        if config.getoption(name, None) == "":
            raise pytest.UsageError(f"{option} is empty; give it a value, or leave it out")
    _refuse_a_hidden_address(config)
    if config.getoption("numprocesses", None) is not None or config.getoption("dist", "no") != "no":
        raise pytest.UsageError("-n: a run is one process; --parallel=N puts N requests on the wire at once")
    if config.getoption("setuponly", False) and not config.getoption("setupplan", False):
        raise pytest.UsageError(
            "--setup-only sends requests and judges no answer; use --plan to see what would be sent"
        )


def _refuse_a_hidden_address(config: pytest.Config) -> None:
    """UsageError for an address in PYTEST_ADDOPTS or in a configuration file of pytest: whoever reads the command line
    sees that of the profile. A file of arguments (@file) stands on the command line, too."""
    if not hasattr(config.option, "base_url"):  # without pytest-base-url there is neither the option nor the setting
        return
    on_the_command_line = any(str(word).startswith(("--base-url", "@")) for word in config.invocation_params.args)
    if config.getoption("base_url") and not on_the_command_line:
        raise pytest.UsageError(f"PYTEST_ADDOPTS {NOT_FROM_A_VARIABLE}")
    if config.getini("base_url"):
        raise pytest.UsageError(f"the setting base_url of pytest {NOT_FROM_A_VARIABLE}")


def options_given(config: pytest.Config, options: Mapping[str, str]) -> list[str]:
    """Given options that are on the command line."""
    return [option for option, name in options.items() if config.getoption(name, None) not in (None, False)]


def explains(config: pytest.Config) -> bool:
    """True if the command line asks for --explain or --list."""
    return not {"--explain", "--list"}.isdisjoint(options_given(config, PRINTING))
