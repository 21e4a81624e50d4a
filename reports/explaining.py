"""Why tests failed, on the terminal: each cause once, with its requirement and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from reports.verdicts import RequirementResult
from spec.exchange import Exchange
from spec.requirements import ledger

Explained = list[list[str]]
"""The failing requirements of one test, each with what was found and the whole explanation: plain data."""


Show = Callable[[Exchange], dict[str, Any]]
"""Gives the evidence of an exchange."""


def explained(
    failing: Sequence[RequirementResult],
    exchanges: Mapping[int, Exchange],
    redact: Callable[[str], str],
    show: Show,
    most: int,
) -> Explained:
    """The failing requirements of one test, redacted, each with `most` exchanges at most as `show` gives them."""
    return [
        [result.id, redact(result.message), redact("\n".join(_lines(result, exchanges, show, most)))]
        for result in failing
    ]


def whole(explanations: Explained) -> str:
    """All that one test has to say."""
    return "\n".join(text for *_, text in explanations)


def shorten(reports: Iterable[Any]) -> None:
    """Reduce each failing report to one line, for pytest's short summary."""
    for report in reports:
        if explanations := getattr(report, "explained", ()):
            report.longrepr = "; ".join(f"{row}: {message}" for row, message, _ in explanations)


class Once:
    """Chooses among failing reports, so that each cause is explained once."""

    def __init__(self, findings: Iterable[Mapping[str, Any]]) -> None:
        self._cause = {row: finding["cause"] for finding in findings for row in _rows(finding)}

    def told(self, reports: Sequence[Any]) -> list[Any]:
        """The reports to show: each cause is explained by the test of its leading requirement, or else by the first.

        A report without an explanation of ours, such as an error of the suite, is shown as it is.
        """
        teller = self._tellers(reports)
        return [report for report in reports if self._reduced(report, teller)]

    def _tellers(self, reports: Sequence[Any]) -> dict[str, tuple[str, str]]:
        """For each cause the test and the requirement that explain it."""
        found: dict[str, tuple[str, str]] = {}
        for report in reports:
            for row, *_ in getattr(report, "explained", ()):
                cause = self._cause.get(row, row)
                if cause not in found or (row == cause != found[cause][1]):
                    found[cause] = report.nodeid, row
        return found

    def _reduced(self, report: Any, teller: Mapping[str, tuple[str, str]]) -> bool:
        explanations = getattr(report, "explained", None)
        if not explanations:
            return True
        mine = [one for one in explanations if teller[self._cause.get(one[0], one[0])] == (report.nodeid, one[0])]
        if mine:
            report.longrepr = whole(mine)
        return bool(mine)


def _rows(finding: Mapping[str, Any]) -> Iterator[str]:
    yield from finding["requirements"]
    yield from finding["follows"]


def _lines(result: RequirementResult, exchanges: Mapping[int, Exchange], show: Show, most: int) -> Iterator[str]:
    requirement = ledger()[result.id]
    yield f"{requirement.id} ({requirement.level}): {requirement.text}"
    yield f"where: {requirement.section}"
    yield f"found: {result.message}"
    for number in result.exchanges[:most]:
        if number in exchanges:
            yield from _told(exchanges[number], show)
    yield ""


def _told(exchange: Exchange, show: Show) -> Iterator[str]:
    shown = show(exchange)
    response = shown.get("response")
    got = f"{response['status']} {response['body'][:1000]}" if response else shown.get("failure", "")
    yield ""
    yield f"exchange {exchange.number}: {shown['request']['method']} {shown['request']['url'][:2000]}"
    if shown["request"]["body"]:
        yield f"  sent: {shown['request']['body'][:500]}"
    yield f"  got: {got}"
    first, *others = shown["curl"].splitlines()
    yield f"  reproduce: {first}"
    yield from (f"  {line}" for line in others)
