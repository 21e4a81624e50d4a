"""What a run left out, and why, in a few words for the first screen."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from reports.formats.conformance_json import Document
from reports.headline import PERMISSIONS
from reports.verdicts import Verdict
from reports.wording import counted

_ANCHOR = {
    Verdict.NOT_EXERCISED: "not-tested",
    Verdict.OUT_OF_SCOPE: "out-of-scope",
    Verdict.UNTESTABLE: "requirements",
}
_NEEDED = re.compile(r"needs (.*) in allow")


def left_out(document: Document) -> list[dict[str, Any]]:
    """For each verdict that is no test: how many requirements have it, why, and where the page says more."""
    found, allow = document["requirements"], document["environment"]["allow"]
    tally = {verdict: [one for one in found if one["verdict"] == verdict] for verdict in _ANCHOR}
    return [
        {"verdict": verdict, "count": len(those), "why": "; ".join(_why(verdict, those, allow)), "anchor": anchor}
        for (verdict, those), anchor in zip(tally.items(), _ANCHOR.values(), strict=True)
        if those
    ]


def _why(verdict: Verdict, entries: list[dict[str, Any]], allow: Collection[str]) -> Iterator[str]:
    if verdict is Verdict.UNTESTABLE:
        yield "no exchange can show them"
        return
    if needed := dict.fromkeys(permission for one in entries for permission in _missing(one, allow)):
        yield f"not in allow: {', '.join(needed)}"
    if others := list(dict.fromkeys(one["message"] for one in entries if not _missing(one, allow))):
        yield others[0]
        if more := len(others) - 1:
            yield counted(more, "more reason")


def _missing(entry: dict[str, Any], allow: Collection[str]) -> list[str]:
    """The permissions that the requirement needs and the profile does not give."""
    told = _NEEDED.search(entry["message"] or "")
    return [name for name in PERMISSIONS if told and name not in allow and re.search(rf"\b{name}\b", told[1])]
