"""What Hypothesis and Schemathesis are told before they draw is what they would find out."""

import sys

import pytest
from hypothesis.internal import charmap
from schemathesis.specs.openapi.coverage import _schema

from tests.traffic.generation.tuning import UTF_8, tune


@pytest.fixture(autouse=True)
def tuned(monkeypatch):
    """Both libraries as a run has them."""
    for module, name in ((charmap, "intervals_from_codec"), (_schema, "_invalid_enum_candidates")):
        monkeypatch.setattr(module, name, getattr(module, name))
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


def test_schemathesis_draws_what_it_sends():
    """A value that is not in an enum is drawn where it is needed."""
    assert list(_schema._invalid_enum_candidates()) == []
