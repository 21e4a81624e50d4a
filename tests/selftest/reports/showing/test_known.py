"""Known values in texts: in which forms they are found, and what is no match."""

import pytest

from environments.secret_values import Known
from reports.showing.known import KnownValues, encodings_of

SECRET = 'pa"ss\\wörd/+4'


def registry_of(*values: str, secret: bool = True) -> KnownValues:
    """The registry of these values, as tokens or as accounts."""
    return KnownValues([Known("token" if secret else "account", value, secret=secret) for value in values])


def test_a_value_has_these_forms():
    """Plain, percent-encoded with and without the slash, as JSON writes it with and without escapes for letters, as
    Python writes it, and in both alphabets of base64. None has the quotes around it.
    """
    assert list(encodings_of(SECRET)) == [
        'pa"ss\\wörd/+4',
        "pa%22ss%5Cw%C3%B6rd%2F%2B4",
        "pa%22ss%5Cw%C3%B6rd/%2B4",
        'pa\\"ss\\\\w\\u00f6rd/+4',
        'pa\\"ss\\\\wörd/+4',
        'pa"ss\\\\wörd/+4',
        "cGEic3Ncd8O2cmQvKz",
        "cGEic3Ncd8O2cmQvKz",
    ]


@pytest.mark.parametrize("form", dict.fromkeys(encodings_of(SECRET)))
def test_a_value_is_found_in_the_middle_of_a_text(form):
    """Other characters stand directly before and after it."""
    assert registry_of(SECRET).split(f"«{form}» ") == ["«", "<token>", "» "] or form.startswith("cGEi")
    assert registry_of(SECRET).has(f"x{form}x")


def test_a_short_account_is_no_part_of_a_longer_number():
    """A token is found anywhere. An account of few digits is found only between other characters."""
    assert registry_of("12345", secret=False).split("account 12345.") == ["account ", "<account>", "."]
    assert registry_of("12345", secret=False).split("at 9123456") == ["at 9123456"]
    assert registry_of("12345").split("at 9123456") == ["at 9", "<token>", "6"]


def test_the_longest_value_is_named_where_several_start():
    """Values of one kind are numbered in the order in which they became known."""
    assert registry_of("ac-0001", "ac-0001-b", secret=False).split("ac-0001-b ac-0001") == [
        "", "<account 2>", " ", "<account>", "",
    ]  # fmt: skip


def test_a_short_value_is_known_if_it_is_the_whole_text():
    """Letter case makes no difference. Within a longer text a short value is not found."""
    registry = registry_of("Ab1")

    assert registry.whole("aB1") == "<token>"
    assert registry.split("xx Ab1 xx") == ["xx Ab1 xx"]
    assert registry.whole("Ab") == ""
