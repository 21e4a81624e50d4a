"""conformance-badge.svg: the verdict and its coverage as a badge, of words and numbers of the suite alone."""

from __future__ import annotations

from reports.formats.conformance_json import Document
from reports.verdicts import RunVerdict

LABEL = "PIX conformance"
GREEN, RED, GREY = "#1a7f37", "#b42318", "#57606a"
COLOURS = {
    RunVerdict.CONFORMANT: GREEN,
    RunVerdict.NON_CONFORMANT: RED,
    RunVerdict.NOT_ROBUST: RED,
    RunVerdict.DRIFTED: RED,
}
"""Of a verdict on the service; every other run is grey. White is readable on each (WCAG AA)."""
_OF_A_LETTER, _PADDING = 7, 10
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {text}">
<title>{label}: {text}</title>
<rect width="{left}" height="20" fill="#24292f"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{middle_left}" y="14" textLength="{letters_left}">{label}</text>
<text x="{middle_right}" y="14" textLength="{letters_right}">{text}</text>
</g>
</svg>
"""


def badge(document: Document) -> str:
    """The text of conformance-badge.svg for the content of a conformance.json."""
    text = _text(document)
    left, right = (len(part) * _OF_A_LETTER + 2 * _PADDING for part in (LABEL, text))
    return _SVG.format(
        label=LABEL,
        text=text,
        colour=COLOURS.get(document["verdict"], GREY),
        width=left + right,
        left=left,
        right=right,
        middle_left=left / 2,
        middle_right=left + right / 2,
        letters_left=left - 2 * _PADDING,
        letters_right=right - 2 * _PADDING,
    )


def _text(document: Document) -> str:
    covered = document["coverage"].get("documented")
    share = f", {covered['tested']}/{covered['testable']} tested" if covered else ""
    return f"{document['verdict']}{share}"
