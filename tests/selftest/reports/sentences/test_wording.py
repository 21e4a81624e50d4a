"""Wording that every report shares."""

import pytest

from reports.sentences.wording import (
    capped,
    exchanges_in_words,
    first_few,
    grouped,
    level_by_level,
    listed,
    missing_permission,
    needed_for,
    one_line,
    operations_in_words,
    published_moment,
    read_moment,
    shortened,
)
from spec.interface import operations
from spec.requirements import requirements

MOMENT = "2026-11-20T09:30:00Z"


@pytest.mark.parametrize(
    ("parts", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_in_words(parts, text):
    """A word links the last two parts."""
    assert str(listed(parts)) == text


def test_of_many_the_first_are_named():
    """The text says how many more there are."""
    assert str(first_few("abc")) == "a, b and c"
    assert str(first_few("abcde")) == "a, b, c and 2 more"
    assert [str(text) for text in capped(["a", "b"], 1)] == ["a", "1 more"]
    assert str(exchanges_in_words([7])) == "exchange 7"
    assert str(exchanges_in_words([7, 9])) == "exchanges 7 and 9"
    assert str(operations_in_words([])) == "undocumented paths"


def test_levels_are_counted_apart():
    """The levels stand in their order, without those that have no requirement."""
    assert str(level_by_level(["implied", "documented", "implied"])) == "1 documented and 2 implied"


def test_a_line_is_never_a_command_of_a_ci_system():
    """GitHub takes a command at the start of a line, others after two number signs.

    So a text becomes one line, and number signs are parted.
    """
    assert one_line("a\n::error::b\r\n##[error]c") == "a ::error::b # #[error]c"


def test_a_long_text_is_cut_with_a_sign():
    """A text that fits stays whole."""
    assert shortened("abcd", 3) == "abc…"
    assert shortened("abc", 3) == "abc"


def test_the_permission_of_an_operation_in_words():
    """The text names the permission, and says if the operation may move money."""
    assert str(needed_for(operations()["listAccounts"])).endswith(": needs read in allow")
    assert "; it may move money" in str(needed_for(operations()["executePix"]))


def test_why_a_requirement_is_out_of_scope():
    """The text names the request that would be sent and the missing permissions. It is empty if nothing is missing."""
    requirement = requirements()["executePix.status"]

    assert str(missing_permission(requirement, {"read"}, ["fuzz"])) == (
        "would have sent GET /v1/execute/pix/{transactionId}; needs execute and fuzz in allow"
    )
    assert missing_permission(requirement, {"execute"}) == ""
    assert str(missing_permission(requirement, {"execute"}, ["fuzz"])) == "needs fuzz in allow"


def test_items_are_grouped_in_their_order():
    """Items keep their order, and groups have the order of their first items."""
    assert list(grouped("bAaB", str.lower).items()) == [("b", ["b", "B"]), ("a", ["A", "a"])]


def test_moments_are_utc():
    """A moment is written in UTC, and is read as it is written."""
    assert published_moment(read_moment(MOMENT)) == MOMENT
    assert published_moment(read_moment("2026-11-20T06:30:00-03:00")) == MOMENT
