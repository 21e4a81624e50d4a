"""Options of a run: how numbers are read, and which of pytest's own are refused."""

from argparse import ArgumentTypeError
from types import SimpleNamespace

import pytest

from tests.harness import options
from tests.harness.options import (
    DEFAULT_EXAMPLES,
    add_group,
    number_of_examples,
    number_of_examples_asked_for,
    options_given,
    refuse_options,
    whole_number,
)


def config(arguments=(), setting="", **options):
    """A stand-in for the configuration of pytest, in which these options are set.

    `arguments` are those of the command line, `setting` is the value of each setting in pyproject.toml.
    """
    option = SimpleNamespace(**{"base_url": None, **options})
    return SimpleNamespace(
        option=option,
        getoption=lambda name, otherwise=None: getattr(option, name, otherwise),
        getini=lambda name: setting,
        invocation_params=SimpleNamespace(args=arguments),
    )


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("64", 64)])
def test_an_option_takes_the_least_and_the_greatest_whole_number(text, number):
    """An option such as --parallel takes whole numbers from 1 to 64. The text of the command line becomes a number."""
    assert whole_number(1, 64)(text) == number


@pytest.mark.parametrize("text", ["0", "65", "-1", "1.5", "", "²", "1_0"])
def test_an_option_that_is_no_whole_number_is_refused(text):
    """An option that takes whole numbers from 1 to 64 refuses any other text. The message says which numbers it takes."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 1 to 64, got "):
        whole_number(1, 64)(text)


def test_the_message_names_no_greatest_number_if_there_is_none():
    """An option that takes whole numbers from 7 on refuses other texts. The message has 7, and no greatest number."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 7, got 'x'$"):
        whole_number(7)("x")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"showlocals": True}, "--showlocals prints answers"),
        ({"xmlpath": "x"}, "--junitxml: a run writes its own"),
        ({"report_dir": ""}, "--report-dir is empty"),
        ({"base_url": ""}, "--base-url is empty"),
        ({"numprocesses": 0}, "-n: a run is one process"),
        ({"dist": "load"}, "-n: a run is one process"),
        ({"setuponly": True}, "--setup-only sends requests"),
        ({"base_url": "http://other.example"}, "PYTEST_ADDOPTS "),
        ({"setting": "http://other.example"}, "the setting base_url of pytest "),
    ],
    ids=[
        "--showlocals",
        "--junitxml=x",
        "--report-dir without a value",
        "--base-url without a value",
        "-n 0",
        "--dist=load, which is about -n",
        "--setup-only",
        "an address that is not on the command line",
        "an address in a setting of pytest",
    ],
)
def test_an_option_that_a_run_does_not_take_is_refused(options, reason):
    """Some options of pytest would show secrets or split a run. The error begins with the option and the reason.

    An address of the service (base_url) that comes from a variable (PYTEST_ADDOPTS) or a setting is refused, too.
    """
    with pytest.raises(pytest.UsageError, match=f"^{reason}"):
        refuse_options(config(**options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dist": "no"},
        {"setuponly": True, "setupplan": True},
        {"base_url": "http://other.example", "arguments": ["--base-url=http://other.example"]},
        {"base_url": "http://other.example", "arguments": ["@arguments"]},
    ],
    ids=[
        "no option",
        "--dist=no, as pytest-xdist sets it",
        "--setup-plan, which implies --setup-only and sends nothing",
        "an address on the command line",
        "an address in a file that the command line names",
    ],
)
def test_other_options_are_taken(options):
    """An address of the service (base_url) on the command line is taken, because whoever starts the run sees it.

    `@arguments` names a file with arguments, which may have the address. A refused option would raise UsageError.
    """
    refusal = refuse_options(config(**options))

    assert refusal is None


def test_an_option_is_given_if_it_has_a_value_even_an_empty_one():
    """`--explain` without an id has an empty text as its value, and is given. `--plan` is False, so it is not given."""
    given = options_given(config(explain="", plan=False), {"--explain": "explain", "--plan": "plan"})

    assert given == ["--explain"]


@pytest.mark.parametrize(
    ("examples_of_option", "examples_of_profile", "number"),
    [(3, 5, 3), (None, 5, 5), (None, None, DEFAULT_EXAMPLES)],
    ids=["the option says it", "only the profile says it", "neither says it"],
)
def test_the_number_of_examples_comes_from_the_option_or_else_from_the_profile(
    examples_of_option, examples_of_profile, number
):
    """The number of examples (requests that the property tests draw for an operation) comes from --examples, or else from
    the profile (the settings of the run), or else from the suite.
    """
    profile = SimpleNamespace(limits=SimpleNamespace(examples=examples_of_profile))

    assert number_of_examples(config(examples=examples_of_option), profile) == number


def test_nobody_asks_for_a_number_of_examples_unless_the_option_or_the_profile_does():
    """If neither the option nor the profile says how many requests the property tests draw, the number asked for is 0."""
    profile = SimpleNamespace(limits=SimpleNamespace(examples=None))

    assert number_of_examples_asked_for(config(examples=None), profile) == 0


def parser_of_pytest(options_added=None):
    """A stand-in for the parser of pytest. It appends the name of each option that is added to it to `options_added`.

    It knows one option, --environment.
    """
    names_added = [] if options_added is None else options_added
    group = SimpleNamespace(_addoption=lambda *names, **details: names_added.extend(names))
    known_options = {"--environment": SimpleNamespace(help="the service to ask")}
    return SimpleNamespace(optparser=SimpleNamespace(_option_string_actions=known_options), getgroup=lambda name: group)


def plugin_manager(*, is_xdist_loaded=True, names_of_loaded_plugins=()):
    """A stand-in for the plugin manager of pytest. It has two methods with nearly the same name.

    | method | what it is asked |
    |---|---|
    | `hasplugin` | if pytest-xdist is loaded |
    | `has_plugin` | if the plugin with this name or module is loaded |
    """
    return SimpleNamespace(
        hasplugin=lambda name: is_xdist_loaded, has_plugin=lambda name: name in names_of_loaded_plugins
    )


@pytest.mark.parametrize(
    ("is_xdist_loaded", "expected_options"),
    [(True, []), (False, ["-n", "--numprocesses"])],
    ids=["pytest-xdist has the option", "no plugin has the option"],
)
def test_the_option_n_exists_with_and_without_pytest_xdist(is_xdist_loaded, expected_options):
    """A run refuses -n in its own words, so pytest must know the option. The suite adds it if pytest-xdist does not."""
    options_added = []
    parser = parser_of_pytest(options_added)
    group_of_suite = add_group(parser, plugin_manager(is_xdist_loaded=is_xdist_loaded))

    assert group_of_suite is parser.getgroup("conformance")
    assert options_added == expected_options


def test_the_error_about_an_option_says_how_to_list_the_options():
    """An error about an option, here --seed without a number, ends with a hint at `pytest --help`."""
    parser = parser_of_pytest()
    add_group(parser, plugin_manager())

    with pytest.raises(pytest.UsageError, match=r"^--seed: expected a number; pytest --help lists the options$"):
        parser.optparser.error("argument --seed: expected a number")


def test_the_error_for_an_unknown_option_names_the_plugins_that_are_not_loaded(monkeypatch):
    """An unknown option may be that of a plugin that is installed and not loaded. The message says how to load it: -p NAME.

    Here four plugins are installed, and two of them (html and named) are loaded.
    """
    plugins = [SimpleNamespace(name=name, value=f"{name}.plugin") for name in ("xdist", "timeout", "html", "named")]
    monkeypatch.setattr(options, "entry_points", lambda group: plugins)
    # pytest knows a loaded plugin by its module (here html) or by its name (here named)
    parser = parser_of_pytest()
    add_group(parser, plugin_manager(names_of_loaded_plugins=("html.plugin", "named")))

    with pytest.raises(pytest.UsageError) as error_info:
        parser.optparser.error("unrecognized arguments: --reruns=3")

    assert str(error_info.value) == (
        "unrecognized arguments: --reruns=3; pytest --help lists the options; those of an installed plugin need its "
        "name: -p timeout or -p xdist"
    )


def test_the_error_for_an_unknown_option_names_the_nearest_known_one():
    """`--enviroment` is nearly `--environment`, so the message names that option, and no plugin."""
    parser = parser_of_pytest()
    add_group(parser, plugin_manager())

    with pytest.raises(pytest.UsageError) as error_info:
        parser.optparser.error("unrecognized arguments: --enviroment=staging")

    assert str(error_info.value) == (
        "unrecognized arguments: --enviroment=staging; the nearest option is --environment; pytest --help lists the options"
    )


def test_the_message_writes_a_large_number_in_digits():
    """The message of an option that takes whole numbers from 1 to 500000 has this number in digits, without separators."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 1 to 500000, got '0'$"):
        whole_number(1, 500_000)("0")
