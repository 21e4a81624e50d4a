"""Options of a run: how numbers are read, and which of pytest's own are refused."""

from argparse import ArgumentTypeError
from types import SimpleNamespace

import pytest

from tests.harness import options
from tests.harness.options import DEFAULT_EXAMPLES, add_group, examples_of, options_given, refuse_options, whole_number


def config(arguments=(), setting="", **options):
    """The configuration of a run with these options."""
    option = SimpleNamespace(**{"base_url": None, **options})
    return SimpleNamespace(
        option=option,
        getoption=lambda name, otherwise=None: getattr(option, name, otherwise),
        getini=lambda name: setting,
        invocation_params=SimpleNamespace(args=arguments),
    )


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("64", 64)])
def test_a_whole_number_is_read(text, number):
    """The least and the most are numbers of the option."""
    assert whole_number(1, 64)(text) == number


@pytest.mark.parametrize("text", ["0", "65", "-1", "1.5", "", "²", "1_0"])
def test_what_is_no_whole_number_is_named(text):
    """With what was expected."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 1 to 64, got "):
        whole_number(1, 64)(text)
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 7, got 'x'$"):
        whole_number(7)("x")


@pytest.mark.parametrize(
    ("options", "why"),
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
def test_an_option_that_a_run_does_not_take_is_refused(options, why):
    """Before anything is sent."""
    with pytest.raises(pytest.UsageError, match=f"^{why}"):
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
def test_others_are_taken(options):
    """An address on the command line is seen by whoever reads that."""
    refuse_options(config(**options))


def test_given_options_are_told_apart():
    """`--explain` without an id is given, too."""
    assert options_given(config(explain="", plan=False), {"--explain": "explain", "--plan": "plan"}) == ["--explain"]


def test_the_user_decides_on_examples_before_the_profile():
    """And the suite decides last."""
    profile = SimpleNamespace(limits=SimpleNamespace(examples=5))
    without = SimpleNamespace(limits=SimpleNamespace(examples=None))

    assert examples_of(config(examples=3), profile) == 3
    assert examples_of(config(examples=None), profile) == 5
    assert examples_of(config(examples=None), without) == DEFAULT_EXAMPLES
    assert examples_of(config(examples=None), without, 0) == 0


@pytest.mark.parametrize("is_loaded", [True, False])
def test_the_option_of_xdist_is_known_without_it(is_loaded):
    """So that -n is refused in words of the suite. pytest-xdist, where it is loaded, brings its own."""
    added = []
    group = SimpleNamespace(_addoption=lambda *names, **details: added.extend(names))
    parser = SimpleNamespace(optparser=SimpleNamespace(), getgroup=lambda name: group)
    plugins = SimpleNamespace(hasplugin=lambda name: is_loaded, has_plugin=lambda name: True)

    assert add_group(parser, plugins) is group
    assert added == ([] if is_loaded else ["-n", "--numprocesses"])
    with pytest.raises(pytest.UsageError, match=r"^--seed: expected a number; pytest --help lists the options$"):
        parser.optparser.error("argument --seed: expected a number")


def test_an_unknown_option_may_be_that_of_a_plugin_that_is_not_loaded(monkeypatch):
    """Only plugins that are named are loaded: the line says how to name it. Those that are loaded are no hint."""
    plugins = [SimpleNamespace(name=name, value=f"{name}.plugin") for name in ("xdist", "timeout", "html", "named")]
    monkeypatch.setattr(options, "entry_points", lambda group: plugins)
    is_loaded = {"html.plugin", "named"}.__contains__
    parser = SimpleNamespace(optparser=SimpleNamespace(), getgroup=lambda name: None)
    add_group(parser, SimpleNamespace(hasplugin=lambda name: True, has_plugin=is_loaded))

    with pytest.raises(pytest.UsageError) as ended:
        parser.optparser.error("unrecognized arguments: --reruns=3")
    assert str(ended.value) == (
        "unrecognized arguments: --reruns=3; pytest --help lists the options; those of an installed plugin need its "
        "name: -p timeout or -p xdist"
    )


def test_the_most_is_said_if_there_is_one():
    """Whatever its size."""
    with pytest.raises(ArgumentTypeError, match=r"^expected a whole number from 1 to 500000, got '0'$"):
        whole_number(1, 500_000)("0")
