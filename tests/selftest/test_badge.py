"""conformance-badge.svg: an image of the verdict that is readable for people and programs."""

from xml.etree import ElementTree

import pytest

from reports.formats.badge import COLOURS, GREY, badge
from reports.verdicts import RunVerdict

SVG = "{http://www.w3.org/2000/svg}"


def drawn(verdict, **coverage):
    return ElementTree.fromstring(badge({"verdict": verdict, "coverage": coverage}))


@pytest.mark.parametrize("verdict", RunVerdict)
def test_the_badge_of_a_verdict(verdict):
    """The text is in the picture, in its title and in its label; it has a width for each letter."""
    image = drawn(verdict, documented={"tested": 5, "testable": 117})
    texts = [text.text for text in image.iter(f"{SVG}text")]
    widths = [int(part.get("width")) for part in image.iter(f"{SVG}rect")]

    assert texts == ["PIX conformance", f"{verdict}, 5/117 tested"]
    assert image.find(f"{SVG}title").text == image.get("aria-label") == ": ".join(texts)
    assert sum(widths) == int(image.get("width"))


def test_a_run_that_tested_nothing_has_no_numbers():
    """The verdict alone."""
    assert [text.text for text in drawn("nothing-selected").iter(f"{SVG}text")][1] == "nothing-selected"


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colour", [*COLOURS.values(), GREY, "#24292f"])
def test_white_is_readable_on_each_colour(colour):
    """WCAG AA: a contrast of 4.5 at least."""
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_green_is_a_conformant_run_alone():
    """No other verdict looks like a pass."""
    assert [verdict for verdict, colour in COLOURS.items() if colour == COLOURS[RunVerdict.CONFORMANT]] == [
        "conformant"
    ]
