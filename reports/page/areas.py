"""The matrix on the page: operations and areas, with the verdict that matters most in each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from reports.verdicts import Entry, Verdict
from reports.wording import grouped
from spec.interface import operations

GENERAL = "general"
"""The row of what belongs to no operation."""

AREAS = ("exists", "status", "JSON", "envelope", "fields", "token", "request", "refusals", "robustness", "other")
"""The columns, from the outside of an answer to its inside, then what is sent."""

_AREA_OF = {
    "exists": "exists",
    "versionPrefix": "exists",
    "baseAddress": "exists",
    "json": "JSON",
    "envelope": "envelope",
    "shape": "envelope",
    "data": "envelope",
    "codeValues": "envelope",
    "token": "token",
    "tokenSource": "token",
    "tokenHistory": "token",
    "otherTokens": "token",
    "body": "request",
    "request": "request",
    "contentType": "request",
    "pixKeyType": "request",
    "pixKey": "request",
    "identifierFormat": "request",
    "sizeLimit": "request",
    "amountLimit": "request",
    "preparation": "request",
    "account.relation": "request",
    "refusal": "refusals",
    "unknownCode": "refusals",
    "repeated": "refusals",
    "rateLimit": "refusals",
}
"""The area by what an id says after its operation, or by the first part of that."""

_WORST_FIRST = (
    Verdict.FAIL,
    Verdict.WARN,
    Verdict.NOT_EXERCISED,
    Verdict.OUT_OF_SCOPE,
    Verdict.PASS,
    Verdict.OBSERVED,
    Verdict.UNTESTABLE,
)


def area_of(requirement: Entry) -> str:
    """The area that a requirement belongs to, from its level and its id."""
    if requirement["level"] == "robustness":
        return "robustness"
    _, what, *aspect = requirement["id"].split(".")
    if what == "status" and not aspect:
        return "status"
    by_part = _AREA_OF.get(what, "fields" if aspect and requirement["operation"] else "other")
    return _AREA_OF.get(".".join((what, *aspect)), by_part)


def matrix(requirements: Iterable[Entry]) -> dict[str, Any]:
    """The areas that occur, and a row for each operation that occurs, with a cell or None for each of these areas."""
    cells = grouped(requirements, lambda one: (one["operation"] or GENERAL, area_of(one)))
    areas = [area for area in AREAS if any(area == found for _, found in cells)]
    rows = [name for name in (*operations(), GENERAL) if any(name == found for found, _ in cells)]
    return {
        "areas": areas,
        "rows": {name: [_cell(name, area, cells.get((name, area), [])) for area in areas] for name in rows},
    }


def _cell(operation: str, area: str, found: list[Entry]) -> dict[str, Any] | None:
    """The verdict that matters most, how many of the requirements have it, and the first of these to go to."""
    if not found:
        return None
    tally = Counter(one["verdict"] for one in found)
    worst = next(verdict for verdict in _WORST_FIRST if tally[verdict])
    first = next(one["id"] for one in found if one["verdict"] == worst)
    id_ = f"cell-{operation}-{area}"
    return {"id": id_, "area": area, "verdict": worst, "count": tally[worst], "of": len(found), "first": first}
