"""What a run left out, and why, in a few words for the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.conformance_json import Document
from reports.verdicts import Verdict
from reports.wording import first_few
from spec.interface import operations

_ANCHOR = {
    Verdict.NOT_EXERCISED: "not-tested",
    Verdict.OUT_OF_SCOPE: "out-of-scope",
    Verdict.UNTESTABLE: "requirements",
}


def left_out(document: Document) -> list[dict[str, Any]]:
    """For each verdict that is no test: how many requirements have it, why, and where the page says more."""
    found = document["requirements"]
    tally = {verdict: [one for one in found if one["verdict"] == verdict] for verdict in _ANCHOR}
    return [
        {"verdict": verdict, "count": len(those), "why": "; ".join(_why(verdict, those)), "anchor": _ANCHOR[verdict]}
        for verdict, those in tally.items()
        if those
    ]


def _why(verdict: Verdict, entries: list[dict[str, Any]]) -> Iterator[str]:
    if verdict is Verdict.UNTESTABLE:
        yield "no exchange can show them"
    elif verdict is Verdict.OUT_OF_SCOPE:
        known = operations()
        needed = dict.fromkeys(known[one["operation"]].permission for one in entries if one["operation"] in known)
        yield f"not in allow: {', '.join(needed)}"
    else:
        yield first_few(list(dict.fromkeys(one["message"] for one in entries)), 1)
