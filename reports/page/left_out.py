"""What a run left out, and why, in a few words for the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.formats.conformance_json import Document
from reports.verdicts import Verdict
from spec.message import Text, joined, leaves_of, say, say_many

_COUNTED = {
    Verdict.NOT_EXERCISED: say_many("{n} not exercised", "{n} not exercised"),
    Verdict.OUT_OF_SCOPE: say_many("{n} out of scope", "{n} out of scope"),
    Verdict.UNTESTABLE: say_many("{n} untestable", "{n} untestable"),
}
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
        {
            "verdict": verdict,
            "counted": _COUNTED[verdict].of(n=len(those)),
            "why": joined(_why(verdict, those)),
            "anchor": anchor,
        }
        for (verdict, those), anchor in zip(tally.items(), _ANCHOR.values(), strict=True)
        if those
    ]


def _why(verdict: Verdict, entries: list[dict[str, Any]]) -> Iterator[Text]:
    if verdict is Verdict.UNTESTABLE:
        yield say("no exchange can show them")
        return
    if needed := dict.fromkeys(name for one in entries for name in _needed(one["message"])):
        yield say("not in allow: {permissions}", permissions=", ".join(needed))
    if others := list(dict.fromkeys(one["message"] for one in entries if not _needed(one["message"]))):
        yield others[0]
        if more := len(others) - 1:
            yield say_many("{n} more reason", "{n} more reasons", n=more)


def _needed(why: Text) -> list[str]:
    """The permissions that a requirement out of scope needs and the profile does not give."""
    return list(leaves_of(why, "needed"))
