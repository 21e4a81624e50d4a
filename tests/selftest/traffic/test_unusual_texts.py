"""Unusual texts: each shows many faults at once, and none hides another one."""

import unicodedata
from string import printable

from tests.traffic.unusual_texts import ALL_SPECIAL, ALL_UNUSUAL, HALF_A_PAIR, LONG_WITH_ALL_UNUSUAL, VERY_LONG


def test_each_sign_of_ascii_is_there():
    """Together, the text of special characters and the text of unusual ones have each printable sign of ASCII.

    A sign is neither a letter nor a digit. The hyphen is left out.
    """
    signs_of_ascii = {character for character in printable if not character.isalnum() and character.isprintable()}

    assert signs_of_ascii - {"-"} <= set(ALL_SPECIAL + ALL_UNUSUAL)


CATEGORIES_OF_UNICODE = {
    "Cc",  # control characters
    "Cf",  # invisible marks, such as one that reorders text
    "Mn",  # marks that combine with a letter
    "Lo",  # letters without capitals, such as those of Arabic
    "Nd",  # digits of other scripts
    "No",  # other numbers, such as ½
    "So",  # symbols, such as emoji
    "Zs",  # blanks of other widths
    "Zl",  # line separators
}
WRITING_DIRECTIONS = {
    "L",  # from left to right
    "R",  # from right to left
    "AN",  # Arabic numbers
}


def test_unusual_characters_are_of_many_sorts():
    """The text of unusual characters has characters of these categories of Unicode, and of both writing directions.

    It also has a character outside the basic plane of Unicode (above U+FFFF).
    """
    categories = {unicodedata.category(character) for character in ALL_UNUSUAL}
    directions = {unicodedata.bidirectional(character) for character in ALL_UNUSUAL}

    assert categories >= CATEGORIES_OF_UNICODE
    assert directions >= WRITING_DIRECTIONS
    assert max(ALL_UNUSUAL) > "\uffff"


def test_lengths_in_characters_and_in_bytes_differ():
    """The text of unusual characters has less than 255 characters and more than 255 bytes.

    So it fits into a database column of 255 characters, and not into one of 255 bytes.
    """
    length_in_bytes = len(ALL_UNUSUAL.encode())

    assert len(ALL_UNUSUAL) < 255 < length_in_bytes


def test_the_longest_text_is_longer_than_a_usual_buffer():
    """The longest text has more than 4,096 characters, because many programs read into a buffer of 4 KiB."""
    assert len(VERY_LONG) > 4096


def test_a_text_of_everything_has_an_encoding():
    """The text that is long, special and unusual can be encoded, because it has no half of a surrogate pair.

    A half has no encoding in UTF-8, so it is sent as a text of its own.
    """
    assert LONG_WITH_ALL_UNUSUAL.encode() != b""
    assert HALF_A_PAIR not in LONG_WITH_ALL_UNUSUAL
