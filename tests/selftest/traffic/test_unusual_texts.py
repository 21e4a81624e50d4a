"""Unusual texts: each shows many faults at once, and none hides another one."""

import unicodedata
from string import printable

from tests.traffic.unusual_texts import ALL_SPECIAL, ALL_UNUSUAL, EVERYTHING, HALF_A_PAIR, VERY_LONG


def test_each_sign_of_ascii_is_there():
    """In one of two texts, the slash among the unusual characters."""
    signs = {sign for sign in printable if not sign.isalnum() and sign.isprintable()} - {"-"}

    assert signs <= set(ALL_SPECIAL + ALL_UNUSUAL)


def test_unusual_characters_are_of_many_sorts():
    """Controls, marks that combine, other scripts in both directions, and characters outside the basic plane."""
    categories = {unicodedata.category(character) for character in ALL_UNUSUAL}
    directions = {unicodedata.bidirectional(character) for character in ALL_UNUSUAL}

    assert {"Cc", "Cf", "Mn", "Lo", "Nd", "No", "So", "Zs", "Zl"} <= categories
    assert {"L", "R", "AN"} <= directions
    assert max(ALL_UNUSUAL) > "\uffff"


def test_lengths_in_characters_and_in_bytes_differ():
    """A column of 255 bytes is too short for a text that has room in 255 characters."""
    assert len(ALL_UNUSUAL) < 255 < len(ALL_UNUSUAL.encode())
    assert len(VERY_LONG) > 4096


def test_a_text_of_everything_has_an_encoding():
    """Half of a surrogate pair has none, so it stands alone."""
    assert EVERYTHING.encode()
    assert HALF_A_PAIR not in EVERYTHING
