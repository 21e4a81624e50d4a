"""What Hypothesis is told before it draws is what it would find out."""

import sys

import pytest
from hypothesis.internal import charmap

from tests.traffic.generation.tuning import UTF_8, tune


@pytest.fixture(autouse=True)
def tuned(monkeypatch):
    """Hypothesis as a run has it."""
    monkeypatch.setattr(charmap, "intervals_from_codec", charmap.intervals_from_codec)
    tune.__wrapped__()


def test_what_utf_8_encodes():
    """Every character is in the intervals, or cannot be encoded."""
    known = {character for low, high in UTF_8.intervals for character in range(low, high + 1)}
    others = set(range(sys.maxunicode + 1)) - known

    assert "".join(map(chr, sorted(known))).encode().decode()
    assert [character for character in others if chr(character).encode(errors="ignore")] == []


def test_hypothesis_does_not_try_each_character():
    """It takes the answer for UTF-8, and finds out what other codecs encode."""
    latin, _ = charmap.intervals_from_codec("iso8859-1")

    assert charmap.intervals_from_codec("utf-8")[0] is UTF_8
    assert latin.intervals == ((0, 255),)
