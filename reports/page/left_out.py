"""What a run left out, and why, in a few words for the first screen."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from reports.formats.conformance_json import Document
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
    if needed := dict.fromkeys(permission for one in entries if (permission := _permission(one)) not in ("", *allow)):
        yield f"not in allow: {', '.join(needed)}"
    if others := [one["message"] for one in entries if _permission(one) in ("", *allow)]:
        yield first_few(list(dict.fromkeys(others)), 1)


def _permission(entry: dict[str, Any]) -> str:
    operation = operations().get(entry["operation"] or "")
    return operation.permission if operation else ""
