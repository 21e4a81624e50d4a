"""Why a test failed, for a person at a terminal: the statement, what was found, what was sent and what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reports.evidence import evidence
from reports.verdicts import RowResult
from spec.exchange import Exchange
from spec.ledger import ledger
from spec.redaction import Redactor


def explained(failing: Sequence[RowResult], exchanges: Mapping[int, Exchange], redactor: Redactor, most: int) -> str:
    """The failing rows of one test, each with at most `most` exchanges as evidence; redacted."""
    return redactor.text("\n".join(line for result in failing for line in _lines(result, exchanges, redactor, most)))


def _lines(result: RowResult, exchanges: Mapping[int, Exchange], redactor: Redactor, most: int) -> Iterator[str]:
    row = ledger()[result.id]
    yield f"{row.id} ({row.level}): {row.text}"
    yield f"where: {row.section}"
    yield f"found: {result.message}"
    for number in result.exchanges[:most]:
        if number in exchanges:
            yield from _told(exchanges[number], redactor)
    yield ""


def _told(exchange: Exchange, redactor: Redactor) -> Iterator[str]:
    shown = evidence(exchange, redactor)
    response = shown.get("response")
    came = f"{response['status']} {response['body'][:1000]}" if response else shown.get("failure", "")
    yield ""
    yield f"exchange {exchange.number}: {shown['request']['method']} {shown['request']['url'][:2000]}"
    if shown["request"]["body"]:
        yield f"  sent: {shown['request']['body'][:500]}"
    yield f"  came: {came}"
    yield f"  again: {shown['curl']}"
