"""Options of pytest in a conformance run: which are refused, which run no tests, and how numbers are read."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import NoReturn

import pytest

from environments.credentials import MUST_NOT_NAME_THE_SERVICE
from environments.profiles.model import Profile
from reports.sentences.language import ENGLISH, catalogues

DEFAULT_EXAMPLES = 15
"""Generated requests for each operation. A fault in one answer of four is then missed once in 75 runs: 0.75 ** 15."""
_WHY_REFUSED = {
    "verify_base_url": "--verify-base-url bypasses the checks of the suite; leave it out, "
    "every run checks the target first",
    "htmlpath": "--html: a run writes its own report.html; leave it out, and name the folder with --report-dir=DIR",
    "xmlpath": "--junitxml: a run writes its own junit.xml; leave it out, and name the folder with --report-dir=DIR",
    "debug": "--debug writes tokens and codes to a file; leave it out",
    "showlocals": "--showlocals prints answers of the service as they are; leave it out",
    "pastebin": "--pastebin publishes what is printed before known values are hidden; leave it out",
}
"""Options that are refused: by the name under which pytest keeps the value of an option, the reason, and what to do."""
_MUST_NOT_BE_EMPTY = {"base_url": "--base-url", "report_dir": "--report-dir"}
"""Options that must not be empty, by the name under which pytest keeps their value. If the variable is not set,
`--base-url="$STAGING"` would test the sandbox."""
LANGUAGES = (ENGLISH, *catalogues())
"""Languages of the report."""
OPTIONS_THAT_COLLECT_NO_TESTS = {"--help": "help", "--markers": "markers"}
"""Options, each with the name of its value, with which pytest collects no tests."""
OPTIONS_THAT_PRINT_INSTEAD = {"--explain": "explain", "--list": "list", "--plan": "plan"}
"""Options with which the suite prints something instead of running tests, each with the name of its value."""
OPTIONS_THAT_RUN_NO_TESTS = {
    "--collect-only": "collectonly",
    "--setup-plan": "setupplan",
    "--fixtures": "showfixtures",
    "--fixtures-per-test": "show_fixtures_per_test",
    "--cache-show": "cacheshow",
}
"""Options, each with the name of its value, with which pytest runs no test. Then no service is contacted, and no file
is written."""


def add_group(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> pytest.OptionGroup:
    """Add a group for the options of the suite to the command line of pytest, and return the group.

    A wrong option then gives an error of one line instead of four. If pytest-xdist is not installed, its option -n is
    added here, so that `refuse_options` can explain why a conformance run does not accept -n.
    """

    def refuse_usage(message: str) -> NoReturn:
        """Replaces the method `error` of the parser, which prints several lines. Raises UsageError with one line."""
        # The items are pairs: an option such as "--seed", and what argparse knows about it.
        options_of_argparse = parser.optparser._option_string_actions.items()
        options_in_help = [option for option, action in options_of_argparse if action.help != SUPPRESS]
        hint = _hint_for_wrong_usage(message, options_in_help, sorted(_plugins_not_loaded(pluginmanager)))
        raise pytest.UsageError(f"{message.removeprefix('argument ')}; {hint}")

    parser.optparser.error = refuse_usage  # type: ignore[method-assign]
    group = parser.getgroup("conformance")
    if not pluginmanager.hasplugin("xdist"):
        # The public method `addoption` refuses short options in small letters, which pytest reserves for itself.
        group._addoption("-n", "--numprocesses", help=SUPPRESS)
    return group


def _hint_for_wrong_usage(message: str, known_options: Sequence[str], plugins_not_loaded: Sequence[str]) -> str:
    """What the user may do after an error of the command line, such as "unrecognized arguments: --sed".

    If the option is unknown, the hint names the most similar known option, such as "--seed". If none is similar, it
    names the plugins of pytest that are installed and not loaded, because the option may be one of theirs. (The suite
    has pytest load only plugins that are named with -p.)
    """
    hint = "pytest --help lists the options"
    unknown_option = re.search(r"--[\w-]+", message) if message.startswith("unrecognized arguments") else None
    if unknown_option is None:
        return hint
    most_similar = get_close_matches(unknown_option[0], known_options, n=1, cutoff=_LEAST_SIMILARITY)
    if most_similar:
        return f"the nearest option is {most_similar[0]}; {hint}"
    if plugins_not_loaded:
        return f"{hint}; those of an installed plugin need its name: -p {' or -p '.join(plugins_not_loaded)}"
    return hint


def _plugins_not_loaded(pluginmanager: pytest.PytestPluginManager) -> Iterator[str]:
    """Names of the pytest plugins that are installed but not loaded.

    pytest registers a plugin under its name or under its module (`plugin.value`), so both are looked up.
    """
    for plugin in entry_points(group="pytest11"):
        is_loaded = pluginmanager.has_plugin(plugin.name) or pluginmanager.has_plugin(plugin.value)
        if not is_loaded:
            yield plugin.name


_LEAST_SIMILARITY = 0.85
"""Share of characters that an unknown option must have in common with a known one that is named. A choice."""
_LARGEST_NUMBER = 10**12
"""The largest number that an option may have if it has no upper limit. It only keeps absurd numbers away. A choice."""


def whole_number(least: int, most: int = _LARGEST_NUMBER) -> Callable[[str], int]:
    """A function for argparse that turns the text of an option into a whole number from `least` to `most`.

    The function raises ArgumentTypeError for any other text, such as "-1" or "1e3".
    """

    def number_in(text: str) -> int:
        """The number in a text of the command line, such as 12 for "12". Raises ArgumentTypeError for another text."""
        is_number = text.isascii() and text.isdecimal()
        if is_number and least <= int(text) <= most:
            return int(text)
        has_upper_limit = most < _LARGEST_NUMBER
        up_to = f" to {most}" if has_upper_limit else ""
        raise ArgumentTypeError(f"expected a whole number from {least}{up_to}, got {text!r}")

    return number_in


def number_of_examples(config: pytest.Config, profile: Profile) -> int:
    """How many requests are generated for each operation. If nobody asks for a number, it is DEFAULT_EXAMPLES."""
    return number_of_examples_asked_for(config, profile) or DEFAULT_EXAMPLES


def number_of_examples_asked_for(config: pytest.Config, profile: Profile) -> int:
    """The number of requests to generate for each operation, as the command line says, else as the profile says.

    It is 0 if neither says it.
    """
    on_command_line: int | None = config.getoption("examples")
    return on_command_line or profile.limits.examples or 0


def refuse_options(config: pytest.Config) -> None:
    """Refuse options of pytest that would leak secrets or spoil a conformance run. Raises UsageError with the reason.

    Such an option is refused on the command line, in PYTEST_ADDOPTS, and in a configuration file.
    """
    for name, reason in _WHY_REFUSED.items():
        if config.getoption(name, None):
            raise pytest.UsageError(reason)
    for name, option in _MUST_NOT_BE_EMPTY.items():
        if config.getoption(name, None) == "":
            raise pytest.UsageError(f"{option} is empty; give it a value, or leave it out")
    _refuse_a_hidden_address(config)
    wants_processes = config.getoption("numprocesses", None) is not None
    if wants_processes or config.getoption("dist", "no") != "no":
        raise pytest.UsageError("-n: a run is one process; --parallel=N puts N requests on the wire at once")
    # --setup-plan sets `setuponly` as well, but it runs nothing, so that it is accepted.
    if config.getoption("setuponly", False) and not config.getoption("setupplan", False):
        raise pytest.UsageError(
            "--setup-only sends requests and judges no answer; use --plan to see what would be sent"
        )


def _refuse_a_hidden_address(config: pytest.Config) -> None:
    """Refuse an address of the service that is not visible on the command line. Raises UsageError.

    It is hidden in the variable PYTEST_ADDOPTS or in a configuration file of pytest. A person who reads the command
    line would believe that the run tests the address of the profile. A file of arguments (@file) is named on the
    command line, so it may have the address.
    """
    if not hasattr(config.option, "base_url"):  # without pytest-base-url there is neither the option nor the setting
        return
    words = [str(word) for word in config.invocation_params.args]  # the words of the command line
    is_on_the_command_line = any(word.startswith(("--base-url", "@")) for word in words)
    if config.getoption("base_url") and not is_on_the_command_line:
        raise pytest.UsageError(f"PYTEST_ADDOPTS {MUST_NOT_NAME_THE_SERVICE}")
    if config.getini("base_url"):
        raise pytest.UsageError(f"the setting base_url of pytest {MUST_NOT_NAME_THE_SERVICE}")


def options_given(config: pytest.Config, options: Mapping[str, str]) -> list[str]:
    """The options that the user gave, such as `["--plan"]`, of the options that are asked for.

    `options` has for each of these the name under which pytest stores its value: `{"--plan": "plan", …}`. The value is
    None or False if the user did not give the option.
    """
    given = []
    for option, name in options.items():
        value = config.getoption(name, None)
        if value is not None and value is not False:
            given.append(option)
    return given


def asks_about_requirements(config: pytest.Config) -> bool:
    """True if the user gave --explain or --list, which print facts about requirements instead of running tests."""
    given = options_given(config, OPTIONS_THAT_PRINT_INSTEAD)
    return "--explain" in given or "--list" in given
