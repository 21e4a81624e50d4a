"""The exchanges on the page: which are shown whole, and what deviates in them."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from reports.conformance_json import Document
from reports.run import Run
from reports.verdicts import Verdict
from reports.wording import grouped

WHOLE = 400
"""How many exchanges are shown whole although no finding cites them: a report stays below some megabytes."""


def exchange_list(run: Run, document: Document) -> dict[str, Any]:
    """The exchanges, whole where a finding cites them and for the first WHOLE; and what deviates in them."""
    found: list[dict[str, Any]] = document["requirements"]
    cited = {number for one in found for number in one["exchanges"]}
    deviating = [one for one in found if one["verdict"] in (Verdict.FAIL, Verdict.WARN)]
    failures_first = sorted(deviating, key=lambda one: one["verdict"] != Verdict.FAIL)
    shows = [(number, one) for one in failures_first for number in one["exchanges"]]
    return {
        "exchanges": run.exchanges,
        "shown": set(run.exchanges) & {*sorted(run.exchanges)[:WHOLE], *cited},
        "deviating": {number: [one for _, one in group] for number, group in grouped(shows, itemgetter(0)).items()},
        "causes": {
            requirement_id: finding["cause"]
            for finding in document["findings"]
            for requirement_id in (*finding["requirements"], *finding["follows"])
        },
    }
