"""Options of a run: how numbers are read, and which of pytest's own are refused."""

from argparse import ArgumentTypeError
from types import SimpleNamespace

import pytest

from tests.harness import options
from tests.harness.options import DEFAULT_EXAMPLES, add_group, examples_of, options_given, refuse_options, whole_number


def config(arguments=(), setting="", **options):
    """The configuration of pytest with these options.

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
def test_a_whole_number_is_read(text, number):
    """1 and 64 are the least and the greatest number that the option takes."""
    assert whole_number(1, 64)(text) == number


@pytest.mark.parametrize("text", ["0", "65", "-1", "1.5", "", "²", "1_0"])
def test_an_option_that_is_no_whole_number_is_refused(text):
    """The message says which numbers are expected. It names a greatest number only if there is one."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 1 to 64, got "):
        whole_number(1, 64)(text)
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
    ids=str,
)
def test_an_option_that_a_run_does_not_take_is_refused(options, reason):
    """The error begins with the option and the reason. An address that comes from no command line is refused, too."""
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
    ids=str,
)
def test_other_options_are_taken(options):
    """No error is raised. An address on the command line is taken, because whoever starts the run sees it.

    `@arguments` is a file with arguments, which may have the address.
    """
    refuse_options(config(**options))


def test_options_given_are_those_with_a_value_even_an_empty_one():
    """`--explain` without an id has an empty text as its value, and is given. `--plan` is False, so it is not given."""
    assert options_given(config(explain="", plan=False), {"--explain": "explain", "--plan": "plan"}) == ["--explain"]


def test_the_number_of_examples_comes_from_the_option_or_else_from_the_profile():
    """If neither says it, the default of the suite counts, or the default that the caller names."""
    profile = SimpleNamespace(limits=SimpleNamespace(examples=5))
    profile_without_examples = SimpleNamespace(limits=SimpleNamespace(examples=None))

    assert examples_of(config(examples=3), profile) == 3
    assert examples_of(config(examples=None), profile) == 5
    assert examples_of(config(examples=None), profile_without_examples) == DEFAULT_EXAMPLES
    assert examples_of(config(examples=None), profile_without_examples, 0) == 0


@pytest.mark.parametrize("is_loaded", [True, False])
def test_the_option_n_exists_with_and_without_pytest_xdist(is_loaded):
    """A run refuses -n in its own words, so the suite adds the option, unless pytest-xdist is loaded and has added it.

    An error in another option is a usage error that says how to list the options.
    """
    options_added = []
    group = SimpleNamespace(_addoption=lambda *names, **details: options_added.extend(names))
    parser = SimpleNamespace(optparser=SimpleNamespace(), getgroup=lambda name: group)
    plugins = SimpleNamespace(hasplugin=lambda name: is_loaded, has_plugin=lambda name: True)

    assert add_group(parser, plugins) is group
    assert options_added == ([] if is_loaded else ["-n", "--numprocesses"])
    with pytest.raises(pytest.UsageError, match=r"^--seed: expected a number; pytest --help lists the options$"):
        parser.optparser.error("argument --seed: expected a number")


def test_the_error_for_an_unknown_option_names_the_plugins_that_are_not_loaded(monkeypatch):
    """Four plugins are installed, and two of them are loaded. The option may be one of the other two.

    The message says how to load these: -p and the name.
    """
    plugins = [SimpleNamespace(name=name, value=f"{name}.plugin") for name in ("xdist", "timeout", "html", "named")]
    monkeypatch.setattr(options, "entry_points", lambda group: plugins)
    is_loaded = {"html.plugin", "named"}.__contains__
    parser = SimpleNamespace(optparser=SimpleNamespace(), getgroup=lambda name: None)
    add_group(parser, SimpleNamespace(hasplugin=lambda name: True, has_plugin=is_loaded))

    with pytest.raises(pytest.UsageError) as error_info:
        parser.optparser.error("unrecognized arguments: --reruns=3")
    assert str(error_info.value) == (
        "unrecognized arguments: --reruns=3; pytest --help lists the options; those of an installed plugin need its "
        "name: -p timeout or -p xdist"
    )


def test_the_message_has_the_greatest_number():
    """The message names the greatest number that the option takes, if there is one."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 1 to 500000, got '0'$"):
        whole_number(1, 500_000)("0")
