"""Options of pytest in a conformance run: which are refused, which only show something, and how numbers are read."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import NoReturn

import pytest

from environments.credentials import NOT_FROM_A_VARIABLE
from environments.profiles.model import Profile
from reports.sentences.language import ENGLISH, catalogues

DEFAULT_EXAMPLES = 16
"""Generated requests for each operation. A fault in one answer of four is then missed once in 100 runs: 0.75 ** 16."""
_REFUSED = {
    "verify_base_url": "--verify-base-url bypasses the checks of the suite; leave it out, "
    "every run checks the target first",
    "htmlpath": "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR",
    "xmlpath": "--junitxml: a run writes its own junit.xml; leave it out, and name the folder with --report-dir=DIR",
    "debug": "--debug writes tokens and codes to a file; leave it out",
    "showlocals": "--showlocals prints answers of the service as they are; leave it out",
    "pastebin": "--pastebin publishes what is printed before known values are hidden; leave it out",
}
"""By the name of its value, why an option is refused and what to do instead."""
_NEVER_EMPTY = {"base_url": "--base-url", "report_dir": "--report-dir"}
"""By the name of its value, an option that must not be empty: `--base-url="$STAGING"` would test the sandbox if the
variable is not set."""
LANGUAGES = (ENGLISH, *catalogues())
"""Languages of the report."""
HELPING = {"--help": "help", "--markers": "markers"}
"""Options, each with the name of its value, with which pytest collects no tests."""
PRINTING = {"--explain": "explain", "--list": "list", "--plan": "plan"}
"""Options with which the suite prints something in the place of a run."""
SHOWING = {
    "--collect-only": "collectonly",
    "--setup-plan": "setupplan",
    "--fixtures": "showfixtures",
    "--fixtures-per-test": "show_fixtures_per_test",
    "--cache-show": "cacheshow",
}
"""Options with which pytest runs no test. Then no target is opened, and no file is written."""


def add_group(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> pytest.OptionGroup:
    """Add the group for the options of the suite. A wrong option gives an error of one line.

    Without pytest-xdist its option is added here, so that it is refused in words of the suite, see `refuse_options`.
    """

    def refuse_usage(message: str) -> NoReturn:
        """In place of the method `error` of the parser."""
        _refuse_usage(pluginmanager, message)

    parser.optparser.error = refuse_usage  # type: ignore[method-assign]
    group = parser.getgroup("conformance")
    if not pluginmanager.hasplugin("xdist"):
        group._addoption("-n", "--numprocesses", help=SUPPRESS)
    return group


def _refuse_usage(pluginmanager: pytest.PytestPluginManager, message: str) -> NoReturn:
    """Raises UsageError in one line, because the error of argparse has four.

    An unknown option may be one of an installed plugin, because pytest loads only the plugins that are named.
    """
    hint = "pytest --help lists the options"
    names = sorted(_plugins_not_loaded(pluginmanager))
    if message.startswith("unrecognized arguments") and names:
        hint += f"; those of an installed plugin need its name: -p {' or -p '.join(names)}"
    raise pytest.UsageError(f"{message.removeprefix('argument ')}; {hint}")


def _plugins_not_loaded(pluginmanager: pytest.PytestPluginManager) -> Iterator[str]:
    """Names of the plugins that are installed and not loaded. pytest knows a plugin by its name or by its module."""
    for plugin in entry_points(group="pytest11"):
        is_loaded = pluginmanager.has_plugin(plugin.name) or pluginmanager.has_plugin(plugin.value)
        if not is_loaded:
            yield plugin.name


def whole_number(least: int, most: int = 10**12) -> Callable[[str], int]:
    """A function that reads a whole number of an option. It raises ArgumentTypeError for any other text."""

    def number_in(text: str) -> int:
        """The number that the text of the option writes."""
        is_number = text.isascii() and text.isdecimal()
        if not is_number or not least <= int(text) <= most:
            up_to = f" to {most}" if most < 10**12 else ""
            raise ArgumentTypeError(f"expected a whole number from {least}{up_to}, got {text!r}")
        return int(text)

    return number_in


def examples_of(config: pytest.Config, profile: Profile, otherwise: int = DEFAULT_EXAMPLES) -> int:
    """The number of generated requests for each operation, by the command line, else the profile, else `otherwise`."""
    on_command_line: int | None = config.getoption("examples")
    if on_command_line:
        return on_command_line
    return profile.limits.examples or otherwise


def refuse_options(config: pytest.Config) -> None:
    """Raises UsageError for an option of pytest that a conformance run does not take, wherever it was given."""
    for name, reason in _REFUSED.items():
        if config.getoption(name, None):
            raise pytest.UsageError(reason)
    for name, option in _NEVER_EMPTY.items():
        if config.getoption(name, None) == "":
            raise pytest.UsageError(f"{option} is empty; give it a value, or leave it out")
    _refuse_a_hidden_address(config)
    wants_processes = config.getoption("numprocesses", None) is not None
    if wants_processes or config.getoption("dist", "no") != "no":
        raise pytest.UsageError("-n: a run is one process; --parallel=N puts N requests on the wire at once")
    if config.getoption("setuponly", False) and not config.getoption("setupplan", False):
        raise pytest.UsageError(
            "--setup-only sends requests and judges no answer; use --plan to see what would be sent"
        )


def _refuse_a_hidden_address(config: pytest.Config) -> None:
    """Raises UsageError for an address of the target in PYTEST_ADDOPTS or in a configuration file of pytest.

    A person who reads the command line would believe that the run tests the address of the profile. A file of arguments
    (@file) is named on the command line, so it may have the address.
    """
    if not hasattr(config.option, "base_url"):  # without pytest-base-url there is neither the option nor the setting
        return
    on_the_command_line = any(str(word).startswith(("--base-url", "@")) for word in config.invocation_params.args)
    if config.getoption("base_url") and not on_the_command_line:
        raise pytest.UsageError(f"PYTEST_ADDOPTS {NOT_FROM_A_VARIABLE}")
    if config.getini("base_url"):
        raise pytest.UsageError(f"the setting base_url of pytest {NOT_FROM_A_VARIABLE}")


def options_given(config: pytest.Config, options: Mapping[str, str]) -> list[str]:
    """The options, among these, that the command line has."""
    return [option for option, name in options.items() if config.getoption(name, None) not in (None, False)]


def explains(config: pytest.Config) -> bool:
    """True if the command line asks for --explain or --list."""
    return not {"--explain", "--list"}.isdisjoint(options_given(config, PRINTING))
