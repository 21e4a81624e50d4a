"""The answers that the interface document does not describe: what the valid requests of the targeted tests got."""

from __future__ import annotations

from collections.abc import Iterable

from spec.answers import succeeded
from spec.exchange import Exchange
from spec.facts import Facts
from spec.interface import READS
from tests.traffic.answered import answer_of, head_of
from tests.traffic.scenario import Traffic
from tests.traffic.settled import counts


def answers_to(operation: str, traffic: Traffic) -> list[Exchange]:
    """Every success of the operation so far, without generated traffic. How a valid request is refused is left out: it
    is for its time, a limit or an account."""
    return [seen for seen in _valid(operation, traffic) if succeeded(seen)]


def _valid(operation: str, traffic: Traffic) -> list[Exchange]:
    return [seen for seen in traffic.targeted(operation) if seen.expects_success and counts(seen)]


def values_of(answers: Iterable[Exchange]) -> dict[str, list[Facts]]:
    """What the answers look like. Equal ones are looked at once."""
    different = {(head_of(seen.response), seen.response.kept): seen for seen in answers if seen.response}
    return {"": [answer_of(seen) for seen in different.values()]}


def no_answer(operation: str, traffic: Traffic) -> str:
    """Why no answer of the operation shows its shape, and what to supply."""
    supply = "accounts that the token may read" if operation in READS else f"requests.{operation}"
    refused = _valid(operation, traffic)
    if not refused:
        return f"no valid request was answered: supply {supply}"
    if not traffic.profile.accounts:
        supply = "accounts"
    return f"no valid request was granted ({refused[0].summary}): supply {supply}"
