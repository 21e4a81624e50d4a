"""Wording that every report shares."""

import pytest

from reports.sentences.wording import (
    capped,
    count_of_each_level,
    exchanges_in_words,
    first_few,
    grouped,
    joined_with_and,
    missing_permission,
    one_line,
    operations_in_words,
    permission_needed_for,
    published_moment,
    read_moment,
    shortened,
)
from spec.interface import operations
from spec.requirements import requirements


@pytest.mark.parametrize(
    ("parts", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_in_words(parts, text):
    """A list in a report has commas, and the word `and` before its last part."""
    assert str(joined_with_and(parts)) == text


@pytest.mark.parametrize(("names", "text"), [("abc", "a, b and c"), ("abcde", "a, b, c and 2 more")])
def test_of_many_names_the_first_three_are_named(names, text):
    """`first_few` names at most three of many names, and says how many more there are."""
    assert str(first_few(names)) == text


def test_of_many_lines_the_first_are_kept():
    """`capped` keeps as many lines as it is told, here one, and adds a line that counts the others."""
    lines = [str(line) for line in capped(["a", "b"], 1)]

    assert lines == ["a", "1 more"]


@pytest.mark.parametrize(("numbers", "text"), [([7], "exchange 7"), ([7, 9], "exchanges 7 and 9")])
def test_exchanges_are_named_by_their_numbers(numbers, text):
    """A report names an exchange, which is a request with its answer, by its number."""
    assert str(exchanges_in_words(numbers)) == text


def test_a_request_to_no_operation_is_to_an_undocumented_path():
    """If a request belongs to no operation of the interface document, a report says `undocumented paths` instead."""
    assert str(operations_in_words([])) == "undocumented paths"


def test_levels_are_counted_apart():
    """Requirements are counted for each level, in the fixed order of the levels. A level without requirement is left out."""
    text = str(count_of_each_level(["implied", "documented", "implied"]))

    assert text == "1 documented and 2 implied"


def test_a_line_is_never_a_command_of_a_ci_system():
    """A text with line ends and `##` is printed as one line with `# #`, so that no CI system takes it for a command.

    GitHub takes a command at the start of a line, other systems after two number signs.
    """
    printed = one_line("a\n::error::b\r\n##[error]c")

    assert printed == "a ::error::b # #[error]c"


@pytest.mark.parametrize(("text", "shown"), [("abcd", "abc…"), ("abc", "abc")], ids=["too long", "not too long"])
def test_a_long_text_is_cut_with_a_sign(text, shown):
    """A text that is longer than it may be, here 3 characters, is cut and ends with `…`. Another text stays whole."""
    assert shortened(text, 3) == shown


def test_the_permission_of_an_operation_in_words():
    """A report names the permission that an operation needs, and says if the operation may move money."""
    text_about_a_list = str(permission_needed_for(operations()["listAccounts"]))
    text_about_an_execution = str(permission_needed_for(operations()["executePix"]))

    assert text_about_a_list.endswith(": needs read in allow")
    assert "; it may move money" in text_about_an_execution


@pytest.mark.parametrize(
    ("permissions", "also_needed", "text"),
    [
        (
            {"read"},
            ["fuzz"],
            "would have sent GET /v1/execute/pix/{transactionId}; needs execute and fuzz in allow",
        ),
        ({"execute"}, [], ""),
        ({"execute"}, ["fuzz"], "needs fuzz in allow"),
    ],
    ids=["two permissions are missing", "none is missing", "one is missing"],
)
def test_why_a_requirement_is_out_of_scope(permissions, also_needed, text):
    """A requirement that needs a missing permission is out of scope, and the text names the request and the permissions.

    The requirement here needs `execute`, and `also_needed` if it has a value. If nothing is missing, the text is empty.
    """
    requirement = requirements()["executePix.status"]

    reason = missing_permission(requirement, permissions, also_needed)

    assert str(reason) == text


def test_items_are_grouped_in_their_order():
    """`grouped` puts items with the same key together, here letters of both cases, in the order of the first items."""
    groups = grouped("bAaB", str.lower)

    assert list(groups.items()) == [("b", ["b", "B"]), ("a", ["A", "a"])]


@pytest.mark.parametrize("moment", ["2026-11-20T09:30:00Z", "2026-11-20T06:30:00-03:00"])
def test_moments_are_utc(moment):
    """A moment in any time zone is written in UTC in a report."""
    assert published_moment(read_moment(moment)) == "2026-11-20T09:30:00Z"
